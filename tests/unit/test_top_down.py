"""The top-down hidden tree: passes, counts, draws and samplers against enumeration, slow twins and peers."""

from itertools import product

import numpy as np
import pytest

import arbora as ab
from arbora import Forest
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ArboraError, SettingError
from arbora.forest.sharing import share
from arbora.models.hidden_tree import node_posteriors as nodes
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.dp_samplers import ProcessPrior
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.top_down_nodes import growth
from arbora.models.hidden_tree.top_down_params import Priors
from arbora.models.hidden_tree.top_down_tree import TopDownTree, of_labels
from tests.reference import top_down as twin
from tests.reference.hidden_tree import nodes_of
from tests.unit.test_tree_model import random_forest

OPTIONS = [(structure, tied) for structure in (None, "branching", "state") for tied in (False, True)]
options = pytest.mark.parametrize(("structure", "tied"), OPTIONS)
PARTITIONS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]


def theta_of(model, params, k):
    transition = params.transition[..., k]
    if model.tied:
        transition = np.repeat(transition, model.n_slots, axis=0)
    branching = params.branching[..., k] if model.structure else None
    return twin.Theta(params.root[:, k], transition, params.emission[..., k].T, branching, model.pooled)


def counts_of(model, params, forest, shared=True):
    batch = Batch(model, share(forest.arrays, model.n_slots, shared=shared), None, 1)
    n = params.root.shape[1]
    return batch.expected_counts(MixtureParams(np.full(n, 1 / n), params), np.ones((forest.n_trees, n)))[0].tree


def same(actual, expected, tolerance=1e-13):
    np.testing.assert_allclose(actual, np.asarray(expected, np.float64), rtol=tolerance, atol=tolerance)


@options
@pytest.mark.parametrize(("n_slots", "n_components"), [(3, 2), (2, 1), (2, 2)])  # with two, the third slot is pooled
def test_everything_equals_enumeration_in_exact_fractions(structure, tied, n_slots, n_components):
    rng = np.random.default_rng(7)
    forest = random_forest(rng, n_trees=12, max_nodes=5)
    model = of_labels(n_slots, 3, 2, structure=structure, tied=tied, pooled=n_slots < 3)
    params = model.draw(rng, n_components)
    batch = Batch(model, share(forest.arrays, n_slots), None, 1)
    log_prob, root = batch.log_likelihood(params), batch.root_posterior(params)
    by_node = nodes.posterior(model, params, forest, np.ones((forest.n_trees, n_components)))
    for k in range(n_components):
        theta = twin.exact(theta_of(model, params, k))
        best = nodes.decode(model, params, forest, np.full(forest.n_trees, k))
        for t in range(forest.n_trees):
            tree, rows = nodes_of(forest, t), slice(forest.tree_start[t], forest.tree_start[t + 1])
            exact = twin.enumerate_tree(tree, theta)
            same(log_prob[t, k], np.log(float(exact.prob)))
            same(root[t, :, k], exact.root)
            same(by_node[rows, k], exact.node)
            same(float(twin.joint(tree, best[rows], theta)), exact.best)
            counts = counts_of(model, params, forest[[t]])
            transition = exact.transition.sum(axis=0, keepdims=True) if tied else exact.transition
            same(counts.root[:, k], exact.root)
            same(counts.emission[..., k], exact.emission.T)
            same(counts.transition[..., k], transition)
            if structure == "state":
                same(counts.branching[0, ..., k], exact.hits)
                same(counts.branching[1, ..., k], exact.hits + exact.misses)
            elif structure == "branching":
                same(counts.branching[0, ..., k], exact.hits.sum(axis=1))
                same(counts.branching[1, ..., k], (exact.hits + exact.misses).sum(axis=1))


def shared_case():
    rng = np.random.default_rng(3)
    forest = random_forest(rng, n_trees=40, max_nodes=12, n_slots=3, n_labels=2)
    model = of_labels(3, 2, 3, structure="state")
    return forest.take(np.append(np.arange(40), [3, 3, 17])), model, model.draw(rng, 2)


def test_counts_equal_the_twin_shared_and_plain():
    forest, model, params = shared_case()
    shared, plain = counts_of(model, params, forest), counts_of(model, params, forest, shared=False)
    tm.mapped(lambda a, b: same(a, b, 1e-11), shared, plain)
    for k in range(2):
        trees = [nodes_of(forest, t) for t in range(forest.n_trees)]
        log_prob, (root, transition, emission, hits, n_nodes) = twin.shared_passes(trees, theta_of(model, params, k))
        same(Batch(model, share(forest.arrays, 3), None, 1).log_likelihood(params)[:, k], log_prob, 1e-11)
        same(shared.root[:, k], root, 1e-11)
        same(shared.transition[..., k], transition, 1e-11)
        same(shared.emission[..., k], emission.T, 1e-11)
        same(shared.branching[0, ..., k], hits, 1e-11)
        same(shared.branching[1, ..., k], np.tile(n_nodes, (3, 1)), 1e-11)


@pytest.mark.parametrize("bug", twin.BUGS)
def test_planted_errors_are_seen(bug):
    """The comparison above notices each error in the twin, so it would notice it in the kernels."""
    forest, model, params = shared_case()
    trees = [nodes_of(forest, t) for t in range(forest.n_trees)]
    theta = theta_of(model, params, 0)
    good, bad = twin.shared_passes(trees, theta), twin.shared_passes(trees, theta, bug)
    parts = [np.abs(good[0] - bad[0]).max(), *(np.abs(a - b).max() for a, b in zip(good[1], bad[1], strict=True))]
    assert max(parts) > 1e-3


@options
def test_labellings_sum_to_the_shape_and_zeros_are_allowed(structure, tied):
    rng = np.random.default_rng(1)
    model = of_labels(3, 2, 2, structure=structure, tied=tied)
    params = model.draw(rng, 2)
    transition = params.transition.copy()
    transition[0, 0] = [[0.0, 1.0], [1.0, 0.0]]
    params = params._replace(transition=transition, root=np.array([[0.0, 1.0], [1.0, 0.0]]))
    shape = ("x", [{"label": "x", "slot": 1, "children": ["x", {"label": "x", "slot": 2}]}, {"label": "x", "slot": 2}])
    forest = Forest.from_nested([shape] * 32, vocabulary=["x", "y"])
    every = np.array(list(product((0, 1), repeat=5)), np.int32).ravel()
    forest = Forest(forest.parent, forest.slot, every, forest.tree_start, ("x", "y"))
    total = np.exp(Batch(model, share(forest.arrays, 3), None, 1).log_likelihood(params)).sum(axis=0)
    blank = Forest(forest.parent[:5], forest.slot[:5], np.full(5, -2, np.int32), forest.tree_start[:2], ("x", "y"))
    of_shape = np.exp(Batch(model, share(blank.arrays, 3), None, 1).log_likelihood(params)[0])
    same(total, of_shape, 1e-12)
    if structure is None:
        same(total, np.ones(2), 1e-12)


def test_counts_are_derivatives_of_the_log_likelihood():
    forest, model, params = shared_case()
    batch, counts = Batch(model, share(forest.arrays, 3), None, 1), counts_of(model, params, forest)
    rng = np.random.default_rng(0)
    for name in ("root", "transition", "emission"):
        values = getattr(params, name)
        for _ in range(4):
            at = tuple(int(rng.integers(n)) for n in values.shape)
            step = 1e-5 * values[at]
            high, low = values.copy(), values.copy()
            high[at], low[at] = values[at] + step, values[at] - step
            logs = [batch.log_likelihood(params._replace(**{name: x}))[:, at[-1]].sum() for x in (high, low)]
            same(values[at] * (logs[0] - logs[1]) / (2 * step), getattr(counts, name)[at], 1e-6)


@options
@pytest.mark.parametrize("prior", [1.0, 1.5])
def test_em_never_falls(structure, tied, prior):
    forest = make_asymmetric_trees(8, random_state=0)
    for n_components in (1, 3):
        model = ab.HiddenTreeMixture(n_components, 3, direction="down", structure=structure, tied=tied, prior=prior)
        model.set_params(init="kmeans", max_iter=25, tol=0, random_state=0).fit(forest)
        assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])


def test_wide_nodes_need_logarithms_and_deep_trees_do_not_recurse():
    """10,000 children for one state, then 4,000 stronger ones for the other."""
    label = np.append(np.repeat([0, 1], [10_000, 4_000]), 2).astype(np.int32)
    parent = np.append(np.full(14_000, 14_000), -1)
    wide = Forest.from_parents(parent, label, vocabulary=["0", "1", "2"])
    emission = np.array([[0.4, 0.2, 0.4], [0.3, 0.36, 0.34]])
    for n_components in (1, 3):
        many = {name: np.stack([x] * n_components) for name, x in wide_parameters(emission).items()}
        model = ab.HiddenTreeMixture.from_parameters(weight=np.full(n_components, 1 / n_components), **many)
        sent = wide_parameters(emission)["transition_prob"][0] @ emission
        logs = np.log(0.5 * emission[:, 2]) + 10_000 * np.log(sent[:, 0]) + 4_000 * np.log(sent[:, 1])
        wanted = np.logaddexp(*logs)
        same(model.score_samples(wide), [wanted], 1e-12)
        posterior = model.posterior(wide)[-1].sum(axis=0)
        same(np.log(posterior), logs - wanted, 1e-9)
    rng = np.random.default_rng(0)
    n = 10_000
    chain = Forest.from_parents(np.append(np.arange(1, n), -1), rng.integers(0, 3, n), vocabulary=["0", "1", "2"])
    one = wide_parameters(emission)
    alpha, total = one["root_prob"] * emission[:, chain.label[-1]], 0.0
    for m in chain.label[-2::-1]:
        total += np.log(alpha.sum())
        alpha = (alpha / alpha.sum()) @ one["transition_prob"][0] * emission[:, m]
    same(ab.HiddenTree.from_parameters(**one).score_samples(chain), [total + np.log(alpha.sum())], 1e-13)


def wide_parameters(emission):
    transition = np.array([[[0.9, 0.1], [0.25, 0.75]]])
    return {"root_prob": np.array([0.5, 0.5]), "transition_prob": transition, "emission_prob": emission}


def test_impossible_trees_are_minus_infinity_in_their_lane_alone():
    one = {"root_prob": [[0.5, 0.5]] * 2, "transition_prob": [np.full((1, 2, 2), 0.5)] * 2}
    emission = np.array([[[1.0, 0.0]] * 2, [[0.5, 0.5]] * 2])
    model = ab.HiddenTreeMixture.from_parameters(weight=[0.5, 0.5], emission_prob=emission, **one)
    proba = model.predict_proba([("1", ["0"]), ("0", ["0"])])
    same(proba, [[0, 1], [0.8, 0.2]])
    assert np.isfinite(model.posterior([("1", ["0"])])).all()


def test_chains_equal_hmmlearn_read_from_the_root():
    hmmlearn = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed; it is in the `peers` group")
    rng = np.random.default_rng(0)
    n_states, n_labels = 3, 4
    start, transition, emission = (rng.dirichlet(np.ones(n), k) for n, k in ((3, 1), (3, 3), (4, 3)))
    peer = hmmlearn.CategoricalHMM(n_states, n_features=n_labels, n_iter=1, init_params="", tol=-np.inf)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = start[0], transition, emission
    words = [rng.integers(0, n_labels, int(rng.integers(1, 30))) for _ in range(60)]
    parent = np.concatenate([np.append(np.arange(1, len(w)), -1) for w in words])
    shift = np.repeat(np.cumsum([0] + [len(w) for w in words[:-1]]), [len(w) for w in words])
    label = np.concatenate([w[::-1] for w in words])  # the root, last in a forest, is the first of its word
    forest = Forest.from_parents(np.where(parent < 0, -1, parent + shift), label, vocabulary=list("0123"))
    ours = ab.HiddenTree.from_parameters(root_prob=start[0], transition_prob=transition[None], emission_prob=emission)
    same(ours.score_samples(forest), [peer.score(w[:, None]) for w in words], 1e-12)
    same(ours.posterior(forest), np.concatenate([peer.predict_proba(w[:, None])[::-1] for w in words]), 1e-11)
    states = np.split(ours.decode(forest), np.cumsum([len(w) for w in words])[:-1])  # of equal paths, either will do
    for word, found in zip(words, (s[::-1] for s in states), strict=True):
        steps = np.log(transition[found[:-1], found[1:]]).sum() + np.log(emission[found, word]).sum()
        same(np.log(start[0][found[0]]) + steps, peer.decode(word[:, None])[0], 1e-12)
    peer.fit(np.concatenate(words)[:, None], [len(w) for w in words])
    ours.set_params(warm_start=True, max_iter=1, tol=0, prior=1.0).fit(forest)
    order = [int(np.argmin(np.abs(ours.emission_prob_ - row).sum(axis=1))) for row in peer.emissionprob_]
    same(ours.emission_prob_[order], peer.emissionprob_, 1e-12)
    same(ours.root_prob_[order], peer.startprob_, 1e-12)
    same(ours.transition_prob_[0][order][:, order], peer.transmat_, 1e-12)


@pytest.mark.parametrize("structure", [None, "branching", "state"])
def test_surprise_of_nodes_is_what_their_labels_add(structure):
    rng = np.random.default_rng(2)
    forest = random_forest(rng, n_trees=6, max_nodes=7)
    model = of_labels(2, 3, 2, structure=structure, pooled=True)
    params = model.draw(rng, 2)
    emission = params.emission.copy()
    emission[:, 0, 0] = [0.0, 0.5, 0.5]  # a state that cannot have a label
    fitted = ab.HiddenTreeMixture(2, 2, direction="down", structure=structure)
    fitted.spec_, fitted.n_slots_, fitted.vocabulary_ = model, 2, ("0", "1", "2")
    fitted._set_fitted_params(MixtureParams(np.array([0.3, 0.7]), params._replace(emission=emission)))
    surprise, score = fitted.node_surprise(forest), fitted.score_samples(forest)
    for t in range(forest.n_trees):
        lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
        for u in range(lo, hi):
            label = forest.label[lo:hi].copy()
            below = [u]
            for v in range(u - 1, lo - 1, -1):
                below += [v] if forest.parent[v] in below else []
            label[np.array(below) - lo] = -2
            arrays = (forest.parent[lo:hi] - np.where(forest.parent[lo:hi] < 0, 0, lo), forest.slot[lo:hi], label)
            blank = Forest(*arrays, np.array([0, hi - lo]), forest.vocabulary)
            same(surprise[u], fitted.score_samples(blank)[0] - score[t], 1e-11)


def test_drawn_trees_have_the_probabilities_of_the_model():
    rng = np.random.default_rng(0)
    model = of_labels(2, 2, 2, structure="state")
    params = model.draw(rng, 1)._replace(
        branching=np.array([[0.5, 0.1], [0.2, 0.4]])[..., None],
        transition=np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]])[..., None],
        emission=np.array([[0.9, 0.2], [0.1, 0.8]])[..., None],
    )
    fitted = ab.HiddenTreeMixture(1, 2, direction="down", structure="state")
    fitted.spec_, fitted.n_slots_, fitted.vocabulary_ = model, 2, ("0", "1")
    fitted._set_fitted_params(MixtureParams(np.ones(1), params))
    n = 20_000
    drawn = fitted.sample(n, random_state=1)
    (shard,) = share(drawn.arrays, 2)
    seen = np.bincount(shard.tree_id)
    expected = n * np.exp(fitted.score_samples(drawn.take(shard.tree_first)))
    often = expected > 20
    assert often.sum() > 15
    z = (seen - expected)[often] / np.sqrt(expected * (1 - expected / n))[often]
    assert np.abs(z).max() < 4.0
    assert 0.4 < (z**2).mean() < 2.0
    wrong = params._replace(transition=params.transition[:, ::-1])  # planted: the parent's states exchanged
    fitted._set_fitted_params(MixtureParams(np.ones(1), wrong))
    other = n * np.exp(fitted.score_samples(drawn.take(shard.tree_first)))
    assert ((seen - other)[often] ** 2 / other[often]).mean() > 5.0
    given = fitted.sample(skeleton=drawn[:100], random_state=0)
    np.testing.assert_array_equal(given.parent, drawn[:100].parent)


def test_labels_of_given_shapes_are_drawn_given_the_shapes():
    """Where shapes depend on states, a shape says something of its labels."""
    arrays = {"root_prob": [0.5, 0.5], "emission_prob": np.eye(2), "transition_prob": [np.eye(2)]}
    model = ab.HiddenTree.from_parameters(**arrays, branching_prob=[[0.1, 0.4]])
    drawn = model.sample(skeleton=Forest.from_nested([("0", ["0"])] * 4000), random_state=0)
    assert abs((drawn.label == 1).mean() - 0.24 / (0.24 + 0.09)) < 0.03
    assert (drawn.label[::2] == drawn.label[1::2]).all()


def test_fitted_growth_is_subcritical_and_matches_the_size_of_the_trees():
    forest = make_asymmetric_trees(20, random_state=0)
    fit = ab.HiddenTree(3, direction="down", structure="state", prior=1.0, max_iter=5, tol=0, random_state=0).fit(
        forest
    )
    params = fit._fitted_params().tree
    assert growth(fit.spec_, params)[0] < 1.0
    offspring = (params.branching[:, :, None] * params.transition).sum(axis=0)[..., 0]
    size = np.linalg.solve(np.eye(3) - offspring, np.ones(3))
    same(params.root[:, 0] @ size, forest.sizes.mean(), 1e-9)
    endless = ab.HiddenTree.from_parameters(
        root_prob=[1.0], transition_prob=[[[1.0]]] * 2, emission_prob=[[1.0]], branching_prob=[[0.6], [0.5]]
    )
    with pytest.raises(ArboraError, match=r"1\.10 children in the long run"):
        endless.sample(1)
    with pytest.raises(ArboraError, match="does not describe shapes"):
        ab.HiddenTree(2, direction="down", structure=None, random_state=0).fit(forest).sample(1)


def tree_of(nested):
    return nodes_of(Forest.from_nested([nested], vocabulary=["0", "1", "2"]), 0)


@options
def test_evidence_of_a_new_group_equals_the_sum_over_states(structure, tied):
    trees = [("0", ["1", "1"]), ("0", [("1", ["2"])])]
    forest = Forest.from_nested(trees, vocabulary=["0", "1", "2"])
    model = of_labels(2, 3, 2, structure=structure, tied=tied)
    batch = Batch(model, share(forest.arrays, 2), None, 1)
    for alpha in (1.0, 0.3):
        found = model.evidence(batch, Priors(*[alpha] * 4))
        for t, tree in enumerate(trees):
            exact = twin.log_evidence([tree_of(tree)], 2, 2, 3, alpha, structure, tied)
            assert abs(found.log_prob[t] - exact) < 4 * max(found.error[t], 0.02)
            assert found.error[t] < 0.3


def test_the_note_has_the_evidence_of_three_nodes():
    assert np.exp(twin.log_evidence([tree_of(("0", ["1", "1"]))], 2, 2, 3, 1.0)) == pytest.approx(0.03611, abs=5e-6)


@pytest.mark.parametrize("structure", [None, "state"])
@pytest.mark.parametrize("tied", [False, True])
def test_bags_are_draws_of_states_given_labels(structure, tied):
    """Means of the drawn counts of five nodes against expected counts; a planted error is seen."""
    forest = Forest.from_nested([("0", [("1", ["0", "1"]), "1"])] * 3000, vocabulary=["0", "1"])
    model = of_labels(2, 2, 2, structure=structure, tied=tied)
    rng = np.random.default_rng(0)
    params = model.draw(rng, 1)
    batch = Batch(model, share(forest.arrays, 2), None, 1)
    drawer = model.completed(batch)
    bags = drawer.draw(rng, np.zeros(3000, np.int64), params)
    entry = np.repeat(np.arange(3000), bags.stop - bags.start)
    cells = np.zeros((3000, drawer.layout.end))
    np.add.at(cells, (entry, bags.cell), bags.times)
    expected = tm.named(counts_of(model, params, forest[:1]))
    for name, total in tm.named(drawer.counts(cells.sum(axis=0)[None])).items():
        one = tm.named(drawer.counts(cells))[name]
        error = one.std(axis=-1, keepdims=True) / np.sqrt(3000)
        z = (total / 3000 - expected[name])[error > 1e-9] / error[error > 1e-9]
        assert np.abs(z).max(initial=0.0) < 4.5
        same((total / 3000)[error <= 1e-9], expected[name][error <= 1e-9], 1e-9)
    turned = expected["transition"].transpose(0, 2, 1, 3)
    assert np.abs(turned - drawer.counts(cells.sum(axis=0)[None]).transition / 3000).max() > 0.03


def partition_distance(structure, tied, concentration, n_sweeps, seed=0, **setting):
    """Total variation between the partitions that the sampler visits and the enumerated posterior."""
    forest = Forest.from_nested([("0", ["1", "1"])] * 2 + [("2", ["2", "0"])], vocabulary=["0", "1", "2"])
    trees = [nodes_of(forest, t) for t in range(3)]
    logs = []
    for partition in PARTITIONS:
        groups = [[trees[t] for t in range(3) if partition[t] == g] for g in range(max(partition) + 1)]
        own = sum(twin.log_evidence(group, 2, 2, 3, 1.0, structure, tied) for group in groups)
        logs.append(own + sum(np.log(float(np.prod(np.arange(1, len(group))))) for group in groups))
    exact = np.exp(np.array(logs) - max(logs))
    exact /= exact.sum()
    model = of_labels(2, 3, 2, structure=structure, tied=tied)
    batch = Batch(model, share(forest.arrays, 2), None, 1)
    chain = ExactGibbs(batch, ProcessPrior(Priors(), concentration, **setting), None, 1)
    rng, count = np.random.default_rng(seed), np.zeros(5)
    state = chain.init(rng)
    for _ in range(n_sweeps):
        state, _ = chain.step(rng, state)
        _, first = np.unique(state.label, return_index=True)
        order = np.argsort(np.argsort(first))
        count[PARTITIONS.index(tuple(int(order[k]) for k in state.label))] += 1
    return exact, 0.5 * np.abs(count / count.sum() - exact).sum()


@pytest.mark.compiled
def test_the_sampler_draws_from_the_enumerated_posterior_and_a_planted_bug_does_not():
    exact, distance = partition_distance(None, False, 1.0, 2000)
    np.testing.assert_allclose(exact, [0.2186, 0.3958, 0.0951, 0.0951, 0.1953], atol=5e-5)
    assert distance < 0.05
    assert partition_distance(None, False, 3.0, 2000)[1] > 0.1  # as if new groups weighed more than they should


@pytest.mark.slow
@options
def test_every_option_draws_from_the_enumerated_posterior(structure, tied):
    assert partition_distance(structure, tied, 1.0, 15_000)[1] < 0.02
    assert partition_distance(structure, tied, 1.0, 15_000, n_split_merge=20)[1] < 0.02


def test_settings_of_the_other_direction_are_refused():
    trees = [("a", ["b", "c"])] * 3
    for settings in ({"absent": "slot"}, {"leaf_prior": 1.5}, {"switch_prior": 2.0}, {"structure": "shape"}):
        with pytest.raises(SettingError, match=next(iter(settings))):
            ab.HiddenTree(2, direction="down", **settings).fit(trees)
    for settings in ({"tied": True}, {"root_prior": 1.5}, {"structure": "state"}, {"direction": "left"}):
        with pytest.raises(SettingError, match=next(iter(settings))):
            ab.HiddenTree(2, **settings).fit(trees)
    with pytest.raises(ValueError, match="root_prob of a top-down one"):
        ab.HiddenTree.from_parameters(emission_prob=np.eye(2), transition_prob=np.eye(2)[None])
    with pytest.raises(ValueError, match="does not read absent children"):
        ab.HiddenTree.from_parameters(
            root_prob=[1.0], emission_prob=[[1.0]], transition_prob=[[[1.0]]], absent="bottom"
        )


def test_a_change_of_direction_leaves_no_old_arrays_and_files_keep_the_rest(tmp_path):
    forest = make_asymmetric_trees(6, random_state=0)
    model = ab.HiddenTreeMixture(2, 2, max_iter=3, tol=0, random_state=0).fit(forest)
    model.set_params(direction="down", structure="state", tied=True).fit(forest)
    assert not hasattr(model, "leaf_prob_")
    assert model.transition_prob_.shape == (2, 1, 2, 2)
    model.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    np.testing.assert_array_equal(loaded.predict_proba(forest), model.predict_proba(forest))
    assert vars(loaded).keys() >= {"root_prob_", "branching_prob_"}
    assert not hasattr(loaded, "switch_prob_")
    assert loaded.partial_fit(forest).n_batches_ == 2
    with pytest.raises(ValueError, match="make no sense"):
        TopDownTree.from_header(["down", 0, 3, 2, None, False, False, []])
    given = ab.HiddenTreeMixture.from_parameters(
        weight=model.weight_,
        root_prob=model.root_prob_,
        emission_prob=model.emission_prob_,
        transition_prob=model.transition_prob_,
        branching_prob=model.branching_prob_,
        vocabulary=model.vocabulary_,
    )
    assert given.tied
    np.testing.assert_array_equal(given.predict_proba(forest), model.predict_proba(forest))


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_stores_threads_and_clusters_give_the_same(tmp_path):
    dask = pytest.importorskip("distributed")
    forest = make_asymmetric_trees(10, random_state=0)
    store = ab.ForestStore.write(forest, tmp_path / "trees.store", shard_nodes=200)
    settings = {"direction": "down", "structure": "state", "random_state": 0, "tol": 0, "max_iter": 3}
    here = ab.HiddenTreeMixture(3, 2, **settings).fit(store)
    np.testing.assert_array_equal(
        ab.HiddenTreeMixture(3, 2, n_jobs=2, **settings).fit(store).emission_prob_, here.emission_prob_
    )
    np.testing.assert_allclose(
        ab.HiddenTreeMixture(3, 2, **settings).fit(forest).emission_prob_, here.emission_prob_, rtol=1e-9
    )
    cluster = dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    with cluster, dask.Client(cluster) as client, ab.distributed(client):
        there = ab.HiddenTreeMixture(3, 2, **settings).fit(ab.ForestStore(store.path))
    np.testing.assert_array_equal(there.emission_prob_, here.emission_prob_)


def test_reports_and_pictures_show_what_a_top_down_model_has():
    from arbora.plot import parameters
    from arbora.report.gather import gather

    forest = make_asymmetric_trees(6, random_state=0)
    for structure in (None, "branching", "state"):
        fitted = ab.HiddenTreeMixture(2, 2, direction="down", structure=structure, random_state=0, max_iter=3, tol=0)
        shown = gather(fitted.fit(forest), forest)["parameters"]
        assert shown["direction"] == "down"
        one = shown["components"][0]
        np.testing.assert_allclose(np.sum(one["transition"], axis=1), 1.0, atol=2e-3)
        np.testing.assert_allclose(np.sum(one["root"]), 1.0, atol=2e-3)
        assert len(one["slots"]) == {None: 0, "branching": 1, "state": 2}[structure]
        for what in ("root_prob_", "transition_prob_"):
            pytest.importorskip("matplotlib")
            parameters(fitted, what)
        with pytest.raises(SettingError, match="root_prob_"):
            parameters(fitted, "leaf_prob_")


def test_the_command_line_has_both_ways_and_refuses_what_does_not_fit(tmp_path):
    from typer.testing import CliRunner

    from arbora.cli import app

    path = tmp_path / "trees.jsonl"
    ab.write_jsonl(make_asymmetric_trees(6, random_state=0), path)
    fast = ["cluster", str(path), "--model", "mixture", "-k", "2", "--states", "2", "--max-iter", "3"]
    options = ["--direction", "down", "--structure", "state", "--tied", "--save", str(tmp_path / "m.arbora")]
    assert CliRunner().invoke(app, [*fast, *options]).exit_code == 0
    saved = ab.load(tmp_path / "m.arbora")
    assert (saved.direction, saved.structure, saved.tied) == ("down", "state", True)
    for wrong in (["--tied"], ["--structure", "state"], ["--direction", "down", "--absent", "slot"]):
        done = CliRunner().invoke(app, [*fast, *wrong])
        assert done.exit_code != 0
        assert "direction" in done.output
