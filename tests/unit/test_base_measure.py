"""How probable a tree is in a group never seen: by enumeration, by other seeds, and what the mixture makes of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import arbora as ab
from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.errors import ModelFileError
from arbora.files.container import read_container, write_container
from arbora.forest.sharing import share
from arbora.inference.diagnostics import NEW_GROUP
from arbora.models.hidden_tree import base_measure, dp_mixture
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.slot_rates import pooled_rates
from arbora.models.hidden_tree.structure_terms import structure_log_prob
from tests.reference import hidden_tree as twin
from tests.reference import infinite as reference

TREES = [
    "0",
    ("1", ["1"]),
    ("0", ["1", "1"]),
    ("0", [("1", ["2"]), "1"]),
    ("0", [("1", ["2", "2"]), ("1", ["2"])]),
    ("2", [("2", [("0", ["1"])]), ("2", ["0"])]),
    ("0", [("1", [("0", ["1", None]), "0"]), ("1", ["2"])]),
]
RATES = (0.7, 0.2)
PRIORS = tm.Priors(1.5, 1.5, 1.5, 1.5, 2.0)


def evidence(forest, spec, priors=PRIORS):
    return base_measure.evidence(spec, Batch(spec, share(forest.arrays, spec.n_slots), None, 1), priors)


@pytest.mark.compiled
@pytest.mark.parametrize("absent", tm.ABSENT)
def test_evidence_equals_enumeration_within_its_error(absent):
    """Every state and switch of trees of one to eight nodes; the branching by slot, in closed form."""
    forest = ab.Forest.from_nested(TREES, vocabulary=["0", "1", "2"])
    assert forest.sizes.tolist() == [1, 2, 3, 4, 6, 6, 8]
    found = evidence(forest, tm.SwitchingTree.of_labels(2, 3, 2, absent, "branching", rates=RATES))
    betas = [(2.0 * rate, 2.0 * (1.0 - rate)) for rate in RATES]
    trees = [twin.nodes_of(forest, t) for t in range(len(forest))]
    exact = np.array([reference.log_marginal([tree], 2, 2, 3, absent, 1.5, betas) for tree in trees])
    assert (found.error <= base_measure.SMALL_ERROR).all()
    assert (np.abs(found.log_prob - exact) < 5.0 * found.error + 1e-9).all()
    assert found.error[:2].max() < 1e-9  # one node, or two: states do not matter, or all particles agree
    assert found.error[-1] > 0.0


def test_evidence_of_one_state_is_exact():
    """Given a single state nothing is hidden: products of Dirichlet-multinomials."""
    forest = ab.Forest.from_nested(TREES, vocabulary=["0", "1", "2"])
    found = evidence(forest, tm.SwitchingTree.of_labels(2, 3, 1, "bottom", None), tm.Priors(1.0, 0.5, 1.0, 1.0, 1.0))
    assert (found.error < 1e-9).all()
    trees = [twin.nodes_of(forest, t) for t in range(len(forest))]
    for t, tree in enumerate(trees):
        count = np.bincount([m for _, _, m in tree if m >= 0], minlength=3)
        value = reference_row(count, 0.5)
        assert found.log_prob[t] == pytest.approx(value, abs=1e-9)


def reference_row(count, alpha):
    """Log probability of a sequence of labels under one Dirichlet-multinomial, one label after another."""
    seen, total = np.zeros(len(count)), 0.0
    for m, times in enumerate(count):
        for _ in range(times):
            total += np.log((seen[m] + alpha) / (seen.sum() + alpha * len(count)))
            seen[m] += 1
    return total


@pytest.mark.compiled
@pytest.mark.parametrize("absent", tm.ABSENT)
def test_evidence_is_the_mean_over_draws_from_the_prior_where_these_suffice(absent, monkeypatch):
    """Small trees, children pooled into the last of three slots: what enumeration leaves out."""
    nested = [("0", ["1", "1", "0", "1", "0"]), ("1", ["0", ("1", ["0", "0"]), {"label": "1", "slot": 6}])]
    forest = ab.Forest.from_nested(nested, vocabulary=["0", "1"])
    (shard,) = share(forest.arrays, 3)
    priors = tm.Priors(0.7, 0.4, 0.6, 0.3, 4.0)
    monkeypatch.setattr(base_measure, "N_PARTICLES", (1024, 1024))
    for structure in (None, "branching"):
        spec = tm.SwitchingTree.of_labels(3, 2, 2, absent, structure, True, (0.5, 0.4, 0.3) if structure else ())
        params = spec.draw(np.random.default_rng(0), 50_000, priors)
        if structure is None:
            drawn, found = Batch(spec, [shard], None, 1).log_likelihood(params), evidence(forest, spec, priors)
            value, error = found.log_prob, found.error
        else:  # the shape alone, of which the other part may say something too
            bare = structure_log_prob(replace(spec, structure=None, rates=()), params, shard)
            shape = structure_log_prob(spec, params, shard) - bare
            drawn = shape[shard.tree_id]
            value, error = base_measure.branching_evidence(spec, priors, shard)[shard.tree_id], 0.0
        weight = np.exp(drawn)
        spread = weight.std(axis=1) / weight.mean(axis=1) / np.sqrt(weight.shape[1])
        assert np.max(np.hypot(spread, error)) < 0.03
        assert (np.abs(value - np.log(weight.mean(axis=1))) < 5.0 * np.hypot(spread, error)).all()


def test_the_branching_of_pooled_and_of_later_slots_is_integrated_out():
    """Three children where one slot is told apart: geometric if slots were pooled in training, else a plain power."""
    forest = ab.Forest.from_nested([("0", ["0", "0", "0"]), "0"])
    (shard,) = share(forest.arrays, 1)
    for pooled, misses in ((True, [4, 1]), (False, [3, 1])):
        spec = tm.SwitchingTree.of_labels(1, 1, 1, "literal", "branching", pooled, (0.4,))
        found = base_measure.branching_evidence(spec, tm.Priors(branching=2.0), shard)
        wanted = [betaln(0.8 + k, 1.2 + n) - betaln(0.8, 1.2) for k, n in zip([3, 0], misses, strict=True)]
        np.testing.assert_allclose(found[shard.tree_id], wanted, rtol=1e-12)


@pytest.mark.compiled
def test_two_seeds_agree_on_larger_trees_and_a_tree_has_one_estimate(monkeypatch):
    forest = make_asymmetric_trees(2, random_state=0)
    spec = tm.SwitchingTree.of_labels(3, forest.n_labels, 4, "literal", "branching", rates=(0.4, 0.3, 0.3))
    one = evidence(forest, spec)
    turned = evidence(forest[::-1], spec)
    assert np.array_equal(one.log_prob[::-1], turned.log_prob)
    monkeypatch.setattr(base_measure, "_SEED", 1)
    other = evidence(forest, spec)
    assert forest.sizes.max() > 70
    assert np.abs(one.log_prob - other.log_prob).max() > 0.0
    assert (np.abs(one.log_prob - other.log_prob) < 5.0 * np.hypot(one.error, other.error) + 1e-6).all()
    assert max(one.error.max(), other.error.max()) < 1.0


def test_rates_are_those_of_all_trees_together():
    forest = ab.Forest.from_nested([("a", ["a", "a", "a"]), ("a", ["a"]), "a"])
    spec = tm.SwitchingTree.of_labels(3, 1, 2, "literal", "branching")
    np.testing.assert_allclose(pooled_rates(forest, spec), np.array([2.5, 1.5, 1.5]) / 8.0)
    pooled = replace(spec, n_slots=2, pooled=True)
    np.testing.assert_allclose(pooled_rates(forest, pooled), [2.5 / 8.0, 2.5 / 10.0])
    assert pooled_rates(forest, replace(spec, structure=None)) == ()


def test_small_dirichlet_parameters_give_distributions():
    """Gamma draws of shape 0.001 vanish; every row must sum to one all the same, and be as sharp as it should."""
    rng = np.random.default_rng(0)
    spec = tm.SwitchingTree.of_labels(2, 3, 4, "slot", "branching", rates=(1e-6, 0.5))
    params = spec.draw(rng, 500, tm.Priors(*[1e-3] * 5))
    for name in ("leaf", "emission", "switch", "transition"):
        total = getattr(params, name).sum(axis=getattr(spec.tables, name).sums_along)
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)
    assert (params.leaf[-1, -1] == 0.0).all()  # a root is never absent
    assert (params.emission.max(axis=0) > 0.999).mean() > 0.98
    np.testing.assert_allclose(params.emission.mean(axis=(1, 2)), 1 / 3, atol=0.05)
    moderate = tm.SwitchingTree.of_labels(1, 2, 2).draw(rng, 20_000, tm.Priors(emission=0.05)).emission[0, 0]
    assert (moderate**2).mean() == pytest.approx(0.5 * 1.05 / 1.1, abs=0.01)  # of Beta(0.05, 0.05)


def test_the_density_of_the_branching_is_that_of_its_log_odds():
    spec = tm.SwitchingTree.of_labels(1, 1, 1, "literal", "branching", rates=(0.01,))
    odds = np.linspace(-3000, 60, 400_000)
    chance = 1.0 / (1.0 + np.exp(-np.maximum(odds, -230.0)))
    params = spec.draw(np.random.default_rng(0), 1)
    grid = tm.Params(*(np.repeat(x, len(odds), axis=-1) for x in params))._replace(branching=chance[None])
    bare, without = replace(spec, structure=None, rates=()), grid._replace(branching=chance[None][:0])
    priors = tm.Priors(branching=2.0)
    density = spec.log_prior_density(grid, priors) - bare.log_prior_density(without, priors)
    inside = odds > -230.0
    mass = np.exp(density[inside]).sum() * (odds[1] - odds[0])
    assert mass == pytest.approx(1.0 - np.exp(-230.0 * 0.02), rel=1e-2)  # all but what lies below 1e-100


# ---- the mixture ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documents():
    return make_documents(20, random_state=0)


@pytest.fixture(scope="module")
def fitted(documents):
    known = documents[documents.target != documents.target[0]]
    return ab.InfiniteHiddenTreeMixture(2, n_iter=10, n_chains=1, random_state=1).fit(known)


@pytest.mark.compiled
def test_proba_is_bayes_rule_with_group_sizes_and_concentration(fitted, documents):
    """Weights in proportion to the trees of a group, and the concentration for a new one."""
    assert len(set(fitted.group_size_)) > 1
    some = documents[::7]
    parts = fitted.mixture_._log_joint(some) - np.log(fitted.mixture_.weight_)
    new = fitted.new_group_evidence(some).log_prob
    # Labels of the class that was held out are not in the vocabulary.
    lost = [sum(word not in fitted.vocabulary_ for word in words(tree)) for tree in some]
    known = parts + np.log(fitted.group_size_) - np.outer(lost, [np.log(fitted.n_nodes_seen_)])
    new = new + np.log(fitted.concentration_) - np.array(lost) * np.log(len(fitted.vocabulary_) + 1)
    joint = np.column_stack([known, new])
    total = logsumexp(joint, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(some), np.exp(joint - total[:, None]), rtol=1e-9, atol=1e-8)
    mass = np.log(fitted.group_size_.sum() + fitted.concentration_)
    np.testing.assert_allclose(fitted.score_samples(some), total - mass, rtol=1e-9)


def words(tree):
    """Labels of a nested tree."""
    if isinstance(tree, str):
        return [tree]
    label, children = (tree["label"], tree.get("children", ())) if isinstance(tree, dict) else tree
    return [label, *(word for child in children for word in words(child))]


@pytest.mark.compiled
@pytest.mark.parametrize("hasty", [False, True])
def test_rough_estimates_stay_only_where_they_cannot_matter(fitted, documents, hasty, monkeypatch):
    """Against estimates that are all refined; a floor that rises by 60 nats is found."""
    some = documents[::3]
    monkeypatch.setattr(dp_mixture, "MATTERS", np.inf)
    fine = fitted._log_joint(some)
    monkeypatch.setattr(dp_mixture, "MATTERS", -40.0 if hasty else 20.0)
    found = fitted._log_joint(some)
    assert np.array_equal(found[:, :-1], fine[:, :-1])
    rough = found[:, -1] != fine[:, -1]
    behind = fine[:, :-1].max(axis=1) - fine[:, -1]
    assert rough.any()
    assert (behind[rough] > 20.0).all() != hasty


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["right", "symmetric"])
def test_trees_of_a_class_held_out_are_mostly_new_and_others_are_not(kind):
    """A mean over draws from the prior, which lack the tree's shape, would call none of them new."""
    forest = make_asymmetric_trees(40, random_state=0)
    held = forest.target == kind
    model = ab.InfiniteHiddenTreeMixture(4, prior=1.5, n_iter=20, n_chains=1, random_state=0).fit(forest[~held])
    some = np.arange(0, len(forest), 3)
    found, held = model.predict(forest[some]), held[some]
    assert (found[held] == NEW_GROUP).mean() > 0.8
    assert (found[~held] == NEW_GROUP).mean() < 0.05


@pytest.mark.compiled
def test_labels_never_seen_speak_for_a_new_group(fitted, documents):
    """Each costs a known group as much as one of the nodes seen, a new one as much as one more label."""
    forest = documents[documents.target != documents.target[0]][:1]
    for n in (1, 5):
        joint = []
        for code in (-2, -1):  # missing, unseen
            label = forest.label.copy()
            label[:n] = code
            tree = ab.Forest(forest.parent, forest.slot, label, forest.tree_start, forest.vocabulary)
            joint.append(fitted._log_joint(tree)[0])
        cost = joint[0] - joint[1]
        np.testing.assert_allclose(cost[:-1], n * np.log(fitted.n_nodes_seen_), rtol=1e-9)
        assert cost[-1] == pytest.approx(n * np.log(len(fitted.vocabulary_) + 1))
    strange = [("zebra", ["lion", ("gnu", ["emu"])])]
    assert fitted.predict(strange)[0] == NEW_GROUP
    assert fitted.predict_proba(strange)[0, -1] > 0.99


@pytest.mark.compiled
def test_files_from_before_the_rates_are_read(fitted, documents, tmp_path):
    fitted.save(tmp_path / "new.arbora")
    again = ab.load(tmp_path / "new.arbora")
    assert again.spec_ == fitted.spec_
    assert len(again.spec_.rates) == again.spec_.n_slots
    assert np.array_equal(again.predict_proba(documents[::8]), fitted.predict_proba(documents[::8]))
    header, arrays = read_container(tmp_path / "new.arbora", "model")[-2:]
    header = json.loads(json.dumps(header))
    header["attributes"]["spec_"] = header["attributes"]["spec_"][:6]
    del header["attributes"]["n_nodes_seen_"]
    write_container(tmp_path / "old.arbora", kind="model", version=1, header=header, arrays=arrays)
    old = ab.load(tmp_path / "old.arbora")
    assert old.spec_ == replace(fitted.spec_, rates=())
    assert old.n_nodes_seen_ == fitted.n_nodes_seen_
    assert np.isfinite(old.score_samples(documents[::8])).all()
    header["attributes"]["spec_"] = [*header["attributes"]["spec_"], [2.0]]
    write_container(tmp_path / "forged.arbora", kind="model", version=1, header=header, arrays=arrays)
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "forged.arbora")
