"""The Dirichlet-process mixture: exact by enumeration, seating by hand, and the estimator."""

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ChainsDisagreeWarning
from arbora.forest.sharing import share
from arbora.inference.diagnostics import NEW_GROUP
from arbora.models.hidden_tree import completed_counts as bg
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.dp_samplers import ProcessPrior, Seats, StochasticEM
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs, draw_priors
from arbora.models.hidden_tree.kernels import draw_states, split_bags
from arbora.models.hidden_tree.lanes import Workspace
from arbora.models.hidden_tree.passes import Batch
from tests import examples
from tests.reference import hidden_tree as twin
from tests.reference import infinite as reference

READINGS = [("bottom", "branching"), ("slot", None), ("literal", "branching"), ("renormalised", None)]


@pytest.fixture(scope="module")
def tiny():
    """Three trees of three nodes, two of them alike."""
    trees = [("0", ["1", "1"]), ("0", ["1", "1"]), ("2", ["2", "0"])]
    return ab.Forest.from_nested(trees, vocabulary=["0", "1", "2"])


@pytest.fixture(scope="module")
def five():
    """Five trees of one to three nodes, one of them with a single child."""
    trees = [("0", ["1", "1"]), ("0", ["1"]), ("2", ["2"]), "0", "2"]
    return ab.Forest.from_nested(trees, vocabulary=["0", "1", "2"])


@pytest.fixture(scope="module")
def chains():
    """Three chains of five nodes: their states matter, so merging them needs a correspondence of states."""
    lines = ["00112", "00111", "22010"]
    parent = [u + 1 if u % 5 < 4 else -1 for u in range(15)]
    label = [int(x) for line in lines for x in reversed(line)]
    return ab.Forest.from_parents(parent, label, tree=np.repeat([0, 1, 2], 5), vocabulary=["0", "1", "2"])


@pytest.fixture(scope="module")
def asymmetric():
    return make_asymmetric_trees(40, random_state=0)


def sampler(kind, forest, absent="bottom", structure=None, n_states=2, alpha=1.0, rates=(), **setting):
    spec = tm.SwitchingTree.of_labels(max(1, forest.n_slots), forest.n_labels, n_states, absent, structure, rates=rates)
    batch = Batch(spec, share(forest.arrays, spec.n_slots), None, 1)
    return kind(batch, ProcessPrior(tm.Priors(*[alpha] * 5), **setting), None, 1)


def partition_frequencies(chain, n_sweeps, seed, seating=True):
    """How often each partition comes up; without seating, splits and merges alone move trees."""
    rng = np.random.default_rng(seed)
    state = chain.init(rng)
    seen = {}
    for _ in range(n_sweeps):
        if seating:
            label, params = chain._seat(rng, state)
            state = state._replace(label=label, params=params)
        state, _ = chain._refresh(rng, state)
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
@pytest.mark.parametrize(("absent", "structure"), [("literal", "branching"), ("renormalised", None)])
def test_exact_sampler_matches_the_enumerated_posterior(five, absent, structure):
    """All 52 partitions of five trees; independent draws, as many, would be 0.07 away."""
    trees = [twin.nodes_of(five, t) for t in range(5)]
    exact = reference.partition_posterior(trees, 2, 2, 3, absent, 1.0, 1.0, structure is not None)
    assert len(exact) == 52
    chain = sampler(ExactGibbs, five, absent, structure, concentration=1.0)
    assert distance(partition_frequencies(chain, 1200, 0), exact) < 0.13


@pytest.mark.compiled
def test_a_branching_prior_by_slot_is_the_one_that_is_sampled(five):
    """Beta(strength rate, strength (1 - rate)), both below one in a slot: seating, splits and draws all follow it."""
    trees = [twin.nodes_of(five, t) for t in range(5)]
    exact = reference.partition_posterior(trees, 2, 2, 3, "literal", 1.0, 1.0, [(0.9, 0.1), (0.05, 0.95)])
    chain = sampler(ExactGibbs, five, "literal", "branching", rates=(0.9, 0.05), concentration=1.0)
    assert distance(partition_frequencies(chain, 1200, 0), exact) < 0.1
    symmetric = sampler(ExactGibbs, five, "literal", "branching", concentration=1.0)
    assert distance(partition_frequencies(symmetric, 600, 0), exact) > 0.17


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("absent", "structure"), READINGS)
def test_every_reading_matches_the_enumerated_posterior(five, absent, structure):
    trees = [twin.nodes_of(five, t) for t in range(5)]
    exact = reference.partition_posterior(trees, 2, 2, 3, absent, 1.0, 1.0, structure is not None)
    chain = sampler(ExactGibbs, five, absent, structure, concentration=1.0)
    assert distance(partition_frequencies(chain, 20_000, 0), exact) < 0.035


class Careless(ExactGibbs):
    """Splits and merges by a concentration that is not the model's."""

    def _split_merge(self, rng, state, bags):
        return super()._split_merge(rng, state._replace(concentration=2.0 * state.concentration), bags)


@pytest.mark.compiled
def test_splits_and_merges_alone_sample_the_posterior(chains):
    """With 20,000 sweeps total variation 0.005; 0.031 if states of merged groups are left as they are numbered."""
    trees = [twin.nodes_of(chains, t) for t in range(3)]
    exact = reference.partition_posterior(trees, 2, 1, 3, "bottom", 1.0, 1.0)
    chain = sampler(ExactGibbs, chains, concentration=1.0, n_split_merge=2)
    assert distance(partition_frequencies(chain, 2000, 0, seating=False), exact) < 0.04
    wrong = sampler(Careless, chains, concentration=1.0, n_split_merge=2)
    assert distance(partition_frequencies(wrong, 2000, 0, seating=False), exact) > 0.08


@pytest.mark.compiled
def test_splits_alone_find_the_three_kinds(asymmetric):
    """From a single group, no tree ever reseated on its own."""
    from sklearn.metrics import adjusted_rand_score

    chain = sampler(ExactGibbs, asymmetric, "literal", "branching", 4, 1.5, concentration=10.0)
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    assert (state.label == 0).all()
    for _ in range(8):
        state, _ = chain._refresh(rng, state)
    assert adjusted_rand_score(asymmetric.target, state.label) > 0.9


def test_counts_of_bags_have_the_marginal_probability_of_the_reference():
    """Dirichlet-multinomials of random counts, row by row, in the slot reading, whose root has one cell less."""
    spec = tm.SwitchingTree.of_labels(2, 3, 2, "slot", "branching")
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 5, (2, bg.layout_of(spec).end)).astype(float)
    cells[:, bg.layout_of(spec).emission - 1] = 0.0
    priors = tm.Priors(0.5, 1.5, 2.0, 0.7, 1.2)
    counts = bg.as_counts(spec, cells)
    wanted = np.zeros(5)

    def row(x, alpha):
        return gammaln(len(x) * alpha) - gammaln(len(x) * alpha + x.sum()) + (gammaln(alpha + x) - gammaln(alpha)).sum()

    for k in range(2):
        for l in range(3):
            wanted[0] += row(counts.leaf[l, : 2 if l == 2 else 3, k], priors.leaf)
        for i in range(2):
            wanted[1] += row(counts.emission[:, i, k], priors.emission)
        wanted[2] += row(counts.switch[:, k], priors.switch)
        for l in range(2):
            for j in range(3):
                wanted[3] += row(counts.transition[l, j, :, k], priors.transition)
            hits, tries = counts.branching[:, l, k]
            wanted[4] += row(np.array([hits, tries - hits]), priors.branching)
    np.testing.assert_allclose(bg.log_marginal(bg.table_of(spec, priors), bg.kinds_of(spec), cells), wanted, rtol=1e-12)
    table = bg.table_of(spec, priors)
    whole = [int(x) for x in cells.sum(axis=0)]
    rows = np.bincount(table.row, whole).astype(np.int64)
    one = split_bags._log_marginal(np.array(whole), rows, table)
    every = bg.log_marginal(table, bg.kinds_of(spec), np.array([whole], float))
    np.testing.assert_allclose(one, every.sum(), rtol=1e-12)


def test_dirichlet_parameters_are_drawn_from_their_conditional():
    """Mean of the emission's, given counts, against a sum over a grid."""
    spec = tm.SwitchingTree.of_labels(1, 3, 2, "bottom")
    cells = np.zeros((1, bg.layout_of(spec).end))
    at = bg.layout_of(spec)
    cells[0, at.emission : at.switch] = [9, 0, 1, 4, 0, 6]
    rng = np.random.default_rng(0)
    bags = bg.SwitchingBags(Batch(spec, [], None, 1))
    priors, total = tm.Priors(), 0.0
    for _ in range(600):
        priors = draw_priors(rng, bags, priors, cells, (2.0, 1.0))
        total += priors.emission
    grid = np.linspace(1e-3, 15, 500)
    tables = [bg.table_of(spec, tm.Priors(emission=a)) for a in grid]
    logs = np.array([bg.log_marginal(table, bg.kinds_of(spec), cells)[1] for table in tables]) + np.log(grid) - grid
    weight = np.exp(logs - logs.max())
    assert total / 600 == pytest.approx((grid * weight).sum() / weight.sum(), rel=0.12)


@pytest.mark.compiled
def test_the_papers_procedure_and_a_planted_bug_miss_the_posterior(tiny):
    """What the check above must be able to catch: Algorithm 2, and new groups with twice their weight."""
    trees = [twin.nodes_of(tiny, t) for t in range(3)]
    exact = reference.partition_posterior(trees, 2, 2, 3, "bottom", 1.0, 1.0)
    assert distance(partition_frequencies(sampler(StochasticEM, tiny, concentration=1.0), 800, 0), exact) > 0.2
    assert distance(partition_frequencies(sampler(ExactGibbs, tiny, concentration=2.0), 800, 0), exact) > 0.1


@pytest.mark.compiled
@pytest.mark.parametrize("n_slots", [3, 2])  # with two, children crowd in the last
@pytest.mark.parametrize("absent", tm.ABSENT)
def test_drawn_counts_average_to_the_expected_ones(absent, n_slots):
    forest = examples.random_forest(n_trees=6, max_nodes=9, n_labels=3, seed=2)
    rng = np.random.default_rng(0)
    spec = tm.SwitchingTree.of_labels(n_slots, 3, 2, absent)
    params = spec.draw(rng, 1)
    (shard,) = share(forest.arrays, n_slots)
    assert len(shard.units.crowd) == 0 or shard.units.crowd.max() > 1
    flow = spec.prepare(params)
    messages, _ = spec.upward(flow, params, shard, Workspace())
    n_draws = 20_000
    roots = np.repeat(shard.tree_root[shard.tree_id], n_draws)
    at = bg.layout_of(spec)
    offsets = (*at[:4], at.leaf_width, at.end)
    start, cell, count = draw_states.draw_bags(rng, shard.units, flow, messages.used.up, roots, offsets)
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


def test_children_that_crowd_in_a_slot_decide_equally_often():
    """Two children in one slot, whose labels all but say their states: each state is drawn from half of the time."""
    forest = ab.Forest.from_nested([("0", ["1", "2"])], vocabulary=["0", "1", "2"])
    spec = tm.SwitchingTree.of_labels(1, 3, 2, "literal")
    emission = np.array([[0.02, 0.02], [0.97, 0.01], [0.01, 0.97]])[:, :, None]
    params = spec.uniform()._replace(emission=emission)
    (shard,) = share(forest.arrays, 1)
    flow, rng, n_draws = spec.prepare(params), np.random.default_rng(0), 1000
    messages, _ = spec.upward(flow, params, shard, Workspace())
    at = bg.layout_of(spec)
    roots = np.repeat(shard.tree_root[shard.tree_id], n_draws)
    offsets = (*at[:4], at.leaf_width, at.end)
    _, cell, count = draw_states.draw_bags(rng, shard.units, flow, messages.used.up, roots, offsets)
    drawn = bg.as_counts(spec, np.bincount(cell, count, at.end)[None])
    by_child_state = drawn.transition.sum(axis=(0, 2, 3)) / n_draws
    np.testing.assert_allclose(by_child_state[:2], [0.5, 0.5], atol=0.06)


def test_switches_rejected_before_the_drawn_one_average_to_their_expectation():
    """Each node rejects absent slots phi / (mass of those present) times on average."""
    forest = examples.random_forest(n_trees=3, max_nodes=8, n_labels=2, seed=5)
    spec = tm.SwitchingTree.of_labels(3, 2, 2, "renormalised")
    shards = share(forest.arrays, 3)
    drawer = bg.SwitchingBags(Batch(spec, shards, None, 1))
    phi, rng, n_draws = np.array([0.5, 0.3, 0.2]), np.random.default_rng(0), 2000
    wanted = np.zeros((3, 3))
    for t in range(3):
        tree = twin.nodes_of(forest, t)
        for u in range(len(tree)):
            present = list(twin.children_of(tree, u, 3))
            absent = [l for l in range(3) if present and l not in present]
            wanted[t, absent] += phi[absent] / phi[present].sum()
    total = sum(drawer._draw_rejected(rng, phi, shards[0], np.arange(3)).toarray() for _ in range(n_draws))
    at = drawer.layout.switch
    assert wanted.max() > 1
    np.testing.assert_allclose(total[:, at : at + 3] / n_draws, wanted, rtol=0.15)
    assert total.sum() == total[:, at : at + 3].sum()


@pytest.mark.parametrize("absent", ["bottom", "slot"])
@pytest.mark.parametrize("pooled", [False, True])
def test_counts_of_shapes_in_bags_are_those_of_the_m_step(absent, pooled):
    forest = examples.random_forest(n_trees=12, max_nodes=9, n_labels=2, seed=6)
    spec = tm.SwitchingTree.of_labels(2 if pooled else 3, 2, 2, absent, "branching", pooled=pooled)
    (shard,) = share(forest.arrays, spec.n_slots)
    wanted = spec.shape_counts(spec.uniform(), shard, shard.sum_by_tree(None)[:, None])
    cells = bg._shape_counts(spec, shard)[shard.tree_id].sum(axis=0)
    found = bg.as_counts(spec, np.asarray(cells, float).reshape(1, -1))
    np.testing.assert_allclose(found.branching, wanted.branching)
    if absent == "slot":
        np.testing.assert_allclose(found.leaf[:-1, -1], wanted.nothing)


def test_restricted_shards_hold_what_their_trees_need():
    forest = examples.random_forest(n_trees=50, max_nodes=10, seed=3)
    (shard,) = share(forest.arrays, forest.n_slots)
    chosen = np.array([3, 4, 3, 40, 17])
    part = shard.restrict(chosen)
    (wanted,) = share(forest.take(chosen).arrays, forest.n_slots)
    assert part.n_units == wanted.n_units
    spec = tm.SwitchingTree.of_labels(forest.n_slots, forest.n_labels, 2)
    params = spec.draw(np.random.default_rng(0), 2)
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


@pytest.mark.parametrize("n_auxiliary", [1, 3])
def test_the_exact_sampler_seats_by_the_concentration(n_auxiliary):
    """Two trees that every component gives probability one: together with probability 1 / (1 + concentration).

    A new group that weighs three times too much would be 0.25 away.
    """
    forest = ab.Forest.from_nested(["a", "a"])
    chain = sampler(ExactGibbs, forest, concentration=1.0, n_auxiliary=n_auxiliary)
    rng = np.random.default_rng(0)
    state, n_together = chain.init(rng), 0
    for _ in range(1500):
        label, params = chain._seat(rng, state)
        state = state._replace(label=label, params=params)
        n_together += label[0] == label[1]
    assert n_together / 1500 == pytest.approx(0.5, abs=0.06)


def test_concentration_is_drawn_from_its_conditional():
    """Given a fixed number of groups, the average over the conditional, by numerical integration."""
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
@pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
@pytest.mark.parametrize("update", ["em", "gibbs"])
def test_the_three_kinds_are_found(asymmetric, update):
    from sklearn.metrics import adjusted_rand_score

    model = ab.InfiniteHiddenTreeMixture(4, update=update, random_state=0).fit(asymmetric)
    assert model.n_components_ == 3
    assert adjusted_rand_score(asymmetric.target, model.labels_) > 0.9
    assert adjusted_rand_score(asymmetric.target, model.predict(asymmetric)) > 0.9
    assert model.trace_.info["n_groups"].shape == (4, 30)
    agree = (model.draws()[:, -1] == model.labels_).mean()
    assert agree > 0.9  # draws are called after the fitted groups
    estimate = model.point_estimate()
    assert adjusted_rand_score(asymmetric.target, estimate.labels) > 0.9
    assert (np.diff(model.group_size_) <= 0).all()


@pytest.mark.compiled
def test_strange_trees_are_recognised(asymmetric):
    model = ab.InfiniteHiddenTreeMixture(4, n_chains=1, random_state=0).fit(asymmetric)
    strange = ab.Forest.from_nested([("3", ["0"] * 3 + [("3", ["0"] * 40)])] * 2, vocabulary=asymmetric.vocabulary)
    some, few = asymmetric[::2], asymmetric[::12]  # the evidence of a new group takes a tenth of a second a tree
    labels = model.predict(some)
    assert (labels != NEW_GROUP).mean() > 0.95
    assert (model.resample_labels(some, random_state=0) == labels).mean() > 0.9
    assert np.isfinite(model.new_group_evidence(strange).log_prob).all()
    np.testing.assert_allclose(model.predict_proba(few).sum(axis=1), 1.0)
    assert (model.set_params(novelty=0.0).predict(few) == NEW_GROUP).mean() > 0.95


@pytest.mark.compiled
def test_seed_chains_and_files(asymmetric, tmp_path):
    settings = {"n_iter": 6, "burn_in": 3, "n_chains": 1, "random_state": 3, "update": "gibbs"}
    a = ab.InfiniteHiddenTreeMixture(2, **settings).fit(asymmetric)
    b = ab.InfiniteHiddenTreeMixture(2, **settings).fit(asymmetric)
    assert np.array_equal(a.draws(), b.draws())
    a.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(loaded.predict(asymmetric[::12]), a.predict(asymmetric[::12]))
    assert loaded.score(asymmetric[::12]) == a.score(asymmetric[::12])
    resumed = ab.InfiniteHiddenTreeMixture(2, **settings, checkpoint=tmp_path / "c").fit(asymmetric)
    again = ab.InfiniteHiddenTreeMixture(2, **settings, checkpoint=tmp_path / "c").fit(asymmetric)
    assert np.array_equal(resumed.draws(), a.draws())
    assert np.array_equal(again.draws(), a.draws())
    longer = ab.InfiniteHiddenTreeMixture(2, **{**settings, "n_iter": 8}, checkpoint=tmp_path / "c")
    assert longer.fit(asymmetric).trace_.info["n_groups"].shape == (1, 8)


@pytest.mark.compiled
def test_chains_that_disagree_are_reported(asymmetric):
    """Few sweeps from a single group: the chains have not met."""
    model = ab.InfiniteHiddenTreeMixture(2, n_chains=3, n_iter=10, n_start=1, n_split_merge=0, random_state=1)
    with pytest.warns(ChainsDisagreeWarning, match="disagree"):
        model.fit(asymmetric)


def test_not_fitted_is_said(asymmetric):
    model = ab.InfiniteHiddenTreeMixture(2)
    for method in ("predict", "predict_proba", "score", "score_samples", "transform", "resample_labels"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(asymmetric)
    for method in ("draws", "co_clustering", "point_estimate", "n_groups_posterior", "chain_report", "sample"):
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
        ("hyperprior", (1.0, 0.0)),
        ("n_split_merge", -1),
        ("prior", 0.0),
        ("branching_prior", -1.0),
    ):
        with pytest.raises(ValueError, match=setting):
            ab.InfiniteHiddenTreeMixture(2).set_params(**{setting: value}).fit(asymmetric)


def test_chains_start_from_numbers_of_their_own():
    forest = ab.datasets.make_documents(16, random_state=0)
    settings = {"n_iter": 1, "burn_in": 0, "n_chains": 8, "n_split_merge": 0, "random_state": 0}
    seen = {}
    for init in ("patterns", "kmeans"):
        model = ab.InfiniteHiddenTreeMixture(2, n_start=8, init=init, **settings)
        features, n_start, spread = model._starts(forest, model._new_model(forest))
        seen[init] = (n_start, spread, features.shape)
    assert seen["patterns"][:2] == (8, True)
    assert seen["kmeans"][:2] == (8, False)
    numbers = []
    for seed in range(8):
        sampler = ExactGibbs.__new__(ExactGibbs)  # only what the start looks at
        sampler.features, sampler.n_start, sampler.spread = np.random.default_rng(1).normal(size=(60, 3)), 8, True
        sampler.batch = type("Trees", (), {"n_trees": 60})()
        numbers.append(len(np.unique(sampler._first_groups(np.random.default_rng(seed)))))
    assert min(numbers) >= 4
    assert max(numbers) <= 16
    assert len(set(numbers)) > 3


@pytest.mark.compiled
def test_chains_end_when_they_have_settled():
    trees = [("a", ["b", "c"])] * 6 + [("x", ["y"])] * 6
    settings = {"prior": 1.5, "n_start": 2, "n_iter": 200, "random_state": 0}
    ruled = ab.InfiniteHiddenTreeMixture(2, **settings).fit(trees)
    fixed = ab.InfiniteHiddenTreeMixture(2, **settings, until="n_iter").fit(trees)
    end = ruled.trace_.n_sweeps[0]
    assert ruled.settled_
    assert end < 200
    assert ruled.verdict().level == "sound"
    assert f"settled after {end} of at most 200 sweeps" in ruled.verdict().reason
    assert fixed.settled_ is None
    assert np.array_equal(ruled.trace_.info["log_joint"], fixed.trace_.info["log_joint"][:, :end])
    for settings in ({"update": "em"}, {"n_chains": 1}):  # there is nothing to compare, or no posterior
        assert ab.InfiniteHiddenTreeMixture(2, n_iter=6, **settings).fit(trees).settled_ is None
    with pytest.raises(ValueError, match="until"):
        ab.InfiniteHiddenTreeMixture(2, until="noon").fit(trees)


@pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
def test_sharp_priors_of_renormalised_switches_are_counted():
    """A switch that all but never hits a child: the rejections of all patterns of a tree exceed 32 bits."""
    forest = ab.datasets.make_documents(20, random_state=0)
    settings = {"absent": "renormalised", "prior": 0.05, "n_chains": 1, "n_iter": 2, "random_state": 0}
    model = ab.InfiniteHiddenTreeMixture(4, **settings).fit(forest)
    assert np.isfinite(model.trace_.info["log_joint"]).all()
