"""The Dirichlet-process mixture: exact by enumeration, seating by hand, and the estimator."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ChainsDisagreeWarning
from arbora.kernels import draw_states
from arbora.models import bags as bg
from arbora.models import tree_model as tm
from arbora.models.batch import Batch
from arbora.models.dp_samplers import Seats, Setting, StochasticEM
from arbora.models.exact_gibbs import ExactGibbs
from arbora.models.infinite import NEW_GROUP
from arbora.sharing import share
from tests import examples
from tests.reference import hidden_tree as twin
from tests.reference import infinite as reference

READINGS = [("bottom", None), ("bottom", "branching"), ("slot", None), ("literal", None)]


@pytest.fixture(scope="module")
def tiny():
    """Three trees of three nodes, two of them alike."""
    trees = [("0", ["1", "1"]), ("0", ["1", "1"]), ("2", ["2", "0"])]
    return ab.Forest.from_nested(trees, vocabulary=["0", "1", "2"])


@pytest.fixture(scope="module")
def asymmetric():
    return make_asymmetric_trees(40, random_state=0)


def sampler(kind, forest, absent="bottom", structure=None, n_states=2, alpha=1.0, **setting):
    spec = tm.Spec(max(1, forest.n_slots), forest.n_labels, n_states, absent, structure)
    batch = Batch(spec, share(forest.arrays, spec.n_slots), None, 1)
    return kind(batch, Setting(tm.Priors(*[alpha] * 5), **setting), None, 1)


def partition_frequencies(chain, n_sweeps, seed):
    rng = np.random.default_rng(seed)
    state = chain.init(rng)
    seen = {}
    for _ in range(n_sweeps):
        label, params = chain._seat(rng, state)
        state, _ = chain._refresh(rng, state._replace(label=label, params=params))
        number: dict[int, int] = {}
        key = tuple(number.setdefault(int(k), len(number)) for k in state.label)
        seen[key] = seen.get(key, 0) + 1
    return {key: count / n_sweeps for key, count in seen.items()}


def distance(frequencies, exact):
    """Total variation."""
    return 0.5 * sum(abs(frequencies.get(key, 0.0) - p) for key, p in exact.items())


def test_enumeration_gives_the_figures_of_the_note(tiny):
    """Posterior of the five partitions of three trees, concentration and priors one."""
    trees = [twin.nodes_of(tiny, t) for t in range(3)]
    exact = reference.partition_posterior(trees, 2, 2, 3, "bottom", 1.0, 1.0)
    np.testing.assert_allclose(list(exact.values()), [0.2151, 0.3935, 0.0964, 0.0964, 0.1985], atol=1e-4)


@pytest.mark.compiled
@pytest.mark.parametrize(("absent", "structure"), READINGS)
def test_exact_sampler_matches_the_enumerated_posterior(tiny, absent, structure):
    trees = [twin.nodes_of(tiny, t) for t in range(3)]
    exact = reference.partition_posterior(trees, 2, 2, 3, absent, 1.0, 1.0, structure is not None)
    chain = sampler(ExactGibbs, tiny, absent, structure, concentration=1.0)
    assert distance(partition_frequencies(chain, 3000, 0), exact) < 0.04


@pytest.mark.compiled
def test_the_papers_procedure_and_a_planted_bug_miss_the_posterior(tiny):
    """What the check above must be able to catch: Algorithm 2, and new groups with twice their weight."""
    trees = [twin.nodes_of(tiny, t) for t in range(3)]
    exact = reference.partition_posterior(trees, 2, 2, 3, "bottom", 1.0, 1.0)
    assert distance(partition_frequencies(sampler(StochasticEM, tiny, concentration=1.0), 1500, 0), exact) > 0.2
    assert distance(partition_frequencies(sampler(ExactGibbs, tiny, concentration=2.0), 1500, 0), exact) > 0.1


@pytest.mark.compiled
@pytest.mark.parametrize("absent", tm.ABSENT)
def test_drawn_counts_average_to_the_expected_ones(absent):
    forest = examples.random_forest(n_trees=6, max_nodes=9, n_labels=3, seed=2)
    rng = np.random.default_rng(0)
    spec = tm.Spec(3, 3, 2, absent)
    params = tm.draw_params(rng, spec, 1)
    (shard,) = share(forest.arrays, 3)
    flow = tm.as_flow(spec, params)
    messages, _ = tm.upward(flow, shard, 1, tm.Workspace())
    n_draws = 20_000
    roots = np.repeat(shard.tree_root[shard.tree_id], n_draws)
    at = bg.layout_of(spec)
    offsets = (*at[:4], at.leaf_width, at.end)
    start, cell, count = draw_states.draw_bags(rng, shard.units, flow, messages.up, roots, offsets)
    assert (np.diff(np.sort(np.repeat(np.arange(len(roots)), np.diff(start)) * at.end + cell)) > 0).all()  # unique
    drawn = bg.as_counts(spec, np.bincount(cell, count, at.end)[None])
    theta = twin.Theta(
        params.leaf[..., 0], params.emission[..., 0].T, params.switch[:, 0], params.transition[..., 0], None, absent
    )
    parts = [twin.upward_downward(twin.nodes_of(forest, t), theta) for t in range(6)]
    np.testing.assert_allclose(drawn.leaf[:, :2, 0] / n_draws, sum(p.leaf[:, :2] for p in parts), atol=0.05)
    np.testing.assert_allclose(drawn.emission[..., 0] / n_draws, sum(p.emission for p in parts).T, atol=0.05)
    np.testing.assert_allclose(drawn.transition[..., 0] / n_draws, sum(p.transition for p in parts), atol=0.05)
    np.testing.assert_allclose(drawn.switch[:, 0], drawn.transition.sum(axis=(1, 2, 3)))


def test_restricted_shards_hold_what_their_trees_need():
    forest = examples.random_forest(n_trees=50, max_nodes=10, seed=3)
    (shard,) = share(forest.arrays, forest.n_slots)
    chosen = np.array([3, 4, 3, 40, 17])
    part = shard.restrict(chosen)
    (wanted,) = share(forest.take(chosen).arrays, forest.n_slots)
    assert part.n_units == wanted.n_units
    spec = tm.Spec(forest.n_slots, forest.n_labels, 2)
    params = tm.draw_params(np.random.default_rng(0), spec, 2)
    a, b = (Batch(spec, [x], None, 1).log_likelihood(params) for x in (part, wanted))
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_seating_follows_the_restaurant_weights():
    """One tree among fixed others: frequencies of its seat against count times likelihood."""
    log_lik = np.log(np.array([[0.2, 0.5, 0.1]] * 6))  # two groups and an empty one
    label = np.array([0, 0, 0, 1, 1, 0])
    rng = np.random.default_rng(0)
    hits = np.zeros(3)
    for _ in range(4000):
        seats = Seats(label, log_lik, n_empty=1)
        seats.seat(rng, 5, np.log(2.0), False)
        hits[seats.label[5]] += 1
    weight = np.array([3 * 0.2, 2 * 0.5, 2.0 * 0.1])
    np.testing.assert_allclose(hits / 4000, weight / weight.sum(), atol=0.03)


def test_concentration_is_drawn_from_its_conditional():
    """Given a fixed number of groups, the average over the conditional, by numerical integration."""
    from scipy.special import gammaln

    forest = examples.random_forest(n_trees=30, max_nodes=3, seed=0)
    chain = sampler(ExactGibbs, forest, concentration=1.0, concentration_prior=(2.0, 0.5))
    rng = np.random.default_rng(0)
    value, total = 1.0, 0.0
    for _ in range(20_000):
        value = chain._draw_concentration(rng, value, 7)
        total += value
    grid = np.linspace(1e-3, 60, 200_000)
    log_density = (2.0 - 1 + 7) * np.log(grid) - 0.5 * grid + gammaln(grid) - gammaln(grid + 30)
    density = np.exp(log_density - log_density.max())
    assert total / 20_000 == pytest.approx((grid * density).sum() / density.sum(), rel=0.03)


@pytest.mark.compiled
@pytest.mark.parametrize("update", ["em", "gibbs"])
def test_the_three_kinds_are_found(asymmetric, update):
    from sklearn.metrics import adjusted_rand_score

    model = ab.InfiniteHiddenTreeMixture(4, update=update, random_state=0).fit(asymmetric)
    assert model.n_components_ == 3
    assert adjusted_rand_score(asymmetric.target, model.labels_) > 0.9
    assert adjusted_rand_score(asymmetric.target, model.predict(asymmetric)) > 0.9
    assert model.trace_.info["n_groups"].shape == (1, 30)
    estimate = model.point_estimate()
    assert adjusted_rand_score(asymmetric.target, estimate.labels) > 0.9
    assert (np.diff(model.group_size_) <= 0).all()


@pytest.mark.compiled
def test_strange_trees_are_recognised(asymmetric):
    model = ab.InfiniteHiddenTreeMixture(4, random_state=0).fit(asymmetric)
    strange = ab.Forest.from_nested([("3", ["0"] * 3 + [("3", ["0"] * 40)])] * 2, vocabulary=asymmetric.vocabulary)
    assert (model.predict(asymmetric) != NEW_GROUP).mean() > 0.95
    assert model.predict_proba(strange)[:, -1].min() >= 0.0
    np.testing.assert_allclose(model.predict_proba(asymmetric).sum(axis=1), 1.0)
    eager = ab.InfiniteHiddenTreeMixture(4, random_state=0, novelty=0.0).fit(asymmetric)
    assert (eager.predict(asymmetric) == NEW_GROUP).sum() >= (model.predict(asymmetric) == NEW_GROUP).sum()
    labels = model.resample_labels(asymmetric, random_state=0)
    assert (labels == model.predict(asymmetric)).mean() > 0.9


@pytest.mark.compiled
def test_seed_chains_and_files(asymmetric, tmp_path):
    settings = {"n_iter": 6, "burn_in": 3, "random_state": 3, "update": "gibbs"}
    a = ab.InfiniteHiddenTreeMixture(2, **settings).fit(asymmetric)
    b = ab.InfiniteHiddenTreeMixture(2, **settings).fit(asymmetric)
    assert np.array_equal(a.draws(), b.draws())
    a.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(loaded.predict(asymmetric), a.predict(asymmetric))
    assert loaded.score(asymmetric) == a.score(asymmetric)
    resumed = ab.InfiniteHiddenTreeMixture(2, **settings, checkpoint=tmp_path / "c").fit(asymmetric)
    again = ab.InfiniteHiddenTreeMixture(2, **settings, checkpoint=tmp_path / "c").fit(asymmetric)
    assert np.array_equal(resumed.draws(), a.draws())
    assert np.array_equal(again.draws(), a.draws())
    longer = ab.InfiniteHiddenTreeMixture(2, **{**settings, "n_iter": 8}, checkpoint=tmp_path / "c")
    assert longer.fit(asymmetric).trace_.info["n_groups"].shape == (1, 8)


@pytest.mark.compiled
def test_chains_that_disagree_are_reported(asymmetric):
    """Few sweeps from a single group: the chains have not met."""
    pytest.importorskip("arviz", reason="arviz is not installed; it is in the `mcmc` extra")
    model = ab.InfiniteHiddenTreeMixture(2, update="gibbs", n_chains=3, n_iter=10, n_start=1, random_state=1)
    with pytest.warns(ChainsDisagreeWarning, match="chains disagree"):
        model.fit(asymmetric)


def test_not_fitted_is_said(asymmetric):
    model = ab.InfiniteHiddenTreeMixture(2)
    for method in ("predict", "predict_proba", "score", "score_samples", "transform", "resample_labels"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(asymmetric)
    for method in ("draws", "co_clustering", "point_estimate", "n_components_posterior", "chain_report", "sample"):
        with pytest.raises(NotFittedError):
            getattr(model, method)()


@pytest.mark.parametrize("update", ["em", "gibbs"])
def test_odd_forests_are_fitted(update):
    for trees in ([(None, [None]), None] * 3, [("a", ["b"])], ["a", "b", "a"]):
        model = ab.InfiniteHiddenTreeMixture(2, update=update, n_iter=4, random_state=0).fit(trees)
        assert np.isfinite(model.trace_.info["log_joint"]).all()
        assert len(model.predict(trees)) == len(trees)


def test_bad_settings_are_named(asymmetric):
    for setting, value in (
        ("update", "magic"),
        ("concentration", 0.0),
        ("n_iter", 0),
        ("burn_in", 99),
        ("novelty", 2.0),
        ("n_auxiliary", 0),
        ("concentration_prior", (0.0, 1.0)),
        ("prior", 0.3),
    ):
        with pytest.raises(ValueError, match=setting):
            ab.InfiniteHiddenTreeMixture(2).set_params(**{setting: value}).fit(asymmetric)
