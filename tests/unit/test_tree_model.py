"""The passes, counts and M-step of the hidden tree model against enumeration and the slow twin."""

import numpy as np
import pytest

from arbora import Forest
from arbora.forest.sharing import share
from arbora.models.hidden_tree import distributions as dist
from arbora.models.hidden_tree import node_posteriors as nodes
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from tests.reference import hidden_tree as twin

READINGS = [(absent, structure) for absent in tm.ABSENT for structure in (None, "branching")]
reading = pytest.mark.parametrize(("absent", "structure"), READINGS)


def random_forest(rng, n_trees, max_nodes, n_slots=3, n_labels=3, missing=0.2):
    """Trees with gaps in their slots and missing labels; children attached at random."""
    parent, slot, tree = [], [], []
    for t in range(n_trees):
        free = []
        size = int(rng.integers(1, max_nodes + 1))
        base = len(parent)
        for u in range(size):
            if u == 0:
                parent.append(-1)
                slot.append(-1)
            else:
                p, s = free.pop(int(rng.integers(len(free))))
                parent.append(p)
                slot.append(s)
            tree.append(t)
            free += [(base + u, s) for s in range(n_slots)]
    label = rng.integers(0, n_labels, len(parent)).astype(np.int32)
    label[rng.random(len(parent)) < missing] = -2
    words = [str(m) for m in range(n_labels)]
    return Forest.from_parents(parent, label, slot=slot, tree=tree, vocabulary=words)


def draw(rng, spec, n_components=2):
    """Parameters with some exact zeros among them."""
    params = spec.draw(rng, n_components)
    emission = np.where(rng.random(params.emission.shape) < 0.1, 0.0, params.emission)
    emission /= np.maximum(emission.sum(axis=0), 1e-300)
    return params._replace(emission=emission)


def theta_of(spec, params, k):
    branching = params.branching[:, k] if spec.structure else None
    leaf, emission, switch, transition = params.leaf, params.emission, params.switch, params.transition
    arrays = (leaf[..., k], emission[..., k].T, switch[:, k], transition[..., k])
    return twin.Theta(*arrays, branching, spec.absent, spec.pooled)


def counts_of(spec, params, forest, resp, shared=True):
    """Expected counts with given weights [tree, component]."""
    batch = Batch(spec, share(forest.arrays, spec.n_slots, shared=shared), None, 1)
    mixture = MixtureParams(np.full(resp.shape[1], 1.0 / resp.shape[1]), params)
    return batch.expected_counts(mixture, resp)[0].tree


def same(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@reading
@pytest.mark.parametrize("n_slots", [3, 2])  # with two, the trees' third slot is pooled into the second
def test_likelihood_posteriors_and_pairs_equal_full_enumeration(absent, structure, n_slots):
    rng = np.random.default_rng(7)
    forest = random_forest(rng, n_trees=110, max_nodes=8)
    spec = tm.SwitchingTree.of_labels(
        n_slots, n_labels=3, n_states=2, absent=absent, structure=structure, pooled=n_slots < 3
    )
    params = draw(rng, spec)
    batch = Batch(spec, share(forest.arrays, n_slots), None, 1)
    log_prob = batch.log_likelihood(params)
    root = batch.root_posterior(params)
    by_node = nodes.posterior(spec, params, forest, np.ones((forest.n_trees, 2)))
    for t in range(forest.n_trees):
        one = np.ones((1, 2))
        counts = counts_of(spec, params, forest[[t]], one)
        for k in range(2):
            exact = twin.enumerate_tree(twin.nodes_of(forest, t), theta_of(spec, params, k))
            same(log_prob[t, k], exact.log_prob)
            if not np.isfinite(exact.log_prob):
                assert (counts.emission[..., k] == 0).all()
                continue
            same(root[t, :, k], exact.node[-1])
            same(by_node[forest.tree_start[t] : forest.tree_start[t + 1], k], exact.node)
            same(counts.leaf[..., k], exact.leaf)
            same(counts.emission[..., k], exact.emission.T)
            same(counts.transition[..., k], exact.transition)
            same(counts.switch[:, k], exact.switch)


@reading
def test_counts_equal_the_twin_shared_and_plain(absent, structure):
    rng = np.random.default_rng(3)
    forest = random_forest(rng, n_trees=40, max_nodes=25, n_slots=4, n_labels=2)
    forest = forest.take(np.append(np.arange(40), [3, 3, 17]))  # some trees occur again
    spec = tm.SwitchingTree.of_labels(n_slots=4, n_labels=2, n_states=3, absent=absent, structure=structure)
    params = spec.draw(rng, 2)
    resp = rng.random((forest.n_trees, 2))
    shared = counts_of(spec, params, forest, resp)
    plain = counts_of(spec, params, forest, resp, shared=False)
    for a, b in zip(shared, plain, strict=True):
        same(a, b)
    for k in range(2):
        theta = theta_of(spec, params, k)
        parts = [twin.upward_downward(twin.nodes_of(forest, t), theta) for t in range(forest.n_trees)]
        for name, order in (("leaf", None), ("emission", (1, 0)), ("switch", None), ("transition", None)):
            total = sum(w * getattr(part, name) for w, part in zip(resp[:, k], parts, strict=True))
            same(getattr(shared, name)[..., k], total if order is None else total.transpose(order))
    log_prob = Batch(spec, share(forest.arrays, 4), None, 1).log_likelihood(params)
    same(log_prob, Batch(spec, share(forest.arrays, 4, shared=False), None, 1).log_likelihood(params))


@reading
def test_label_model_is_proper_where_the_note_says_so(absent, structure):
    """Sum over all labellings of one shape: 1, or the structure factor times the defect of literal switches."""
    rng = np.random.default_rng(0)
    spec = tm.SwitchingTree.of_labels(n_slots=3, n_labels=2, n_states=2, absent=absent, structure=structure)
    params = spec.draw(rng, 1)
    shape = ("x", [{"label": "x", "slot": 1, "children": ["x", {"label": "x", "slot": 2}]}, {"label": "x", "slot": 2}])
    forest = Forest.from_nested([shape] * 32, vocabulary=["x", "y"])
    every = np.array(np.unravel_index(np.arange(32), (2,) * 5), np.int32).T.ravel()
    forest = Forest(forest.parent, forest.slot, every, forest.tree_start, ("x", "y"))
    batch = Batch(spec, share(forest.arrays, 3), None, 1)
    total = np.exp(batch.log_likelihood(params)).sum()
    theta = theta_of(spec, params, 0)
    expected = np.exp(twin.structure_log_prob(twin.nodes_of(forest, 0), theta))
    if absent == "literal":
        phi = params.switch[:, 0]
        expected *= phi[[1, 2]].sum() * phi[[0, 2]].sum()
    if absent == "slot":  # leaves carry the chance that their slot is not empty
        expected *= np.prod([1 - params.leaf[l, -1, 0] for l in (0, 2, 2)])
    same(total, expected)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
@reading
def test_one_em_step_equals_the_twin(absent, structure, alpha):
    rng = np.random.default_rng(11)
    forest = random_forest(rng, n_trees=15, max_nodes=12)
    spec = tm.SwitchingTree.of_labels(3, 3, 2, absent, structure)
    params = spec.draw(rng, 1)
    counts = counts_of(spec, params, forest, np.ones((15, 1)))
    new = spec.m_step(counts, params, tm.Priors(*[alpha] * 5))
    parts = [twin.upward_downward(twin.nodes_of(forest, t), theta_of(spec, params, 0)) for t in range(15)]
    total = {name: sum(getattr(p, name) for p in parts) for name in ("leaf", "emission", "switch", "transition")}
    leaf = twin.normalise(total["leaf"], alpha)
    if absent == "slot":
        leaf[-1] = np.append(twin.normalise(total["leaf"][-1, :-1], alpha), 0.0)
    same(new.leaf[..., 0], leaf)
    same(new.emission[..., 0], twin.normalise(total["emission"], alpha).T)
    same(new.transition[..., 0], twin.normalise(total["transition"], alpha))
    if absent != "renormalised":
        same(new.switch[:, 0], twin.normalise(total["switch"], alpha))
    if structure:
        in_slot = np.bincount(forest.slot[forest.slot >= 0], minlength=3)
        same(new.branching[:, 0], (in_slot + alpha - 1) / (forest.n_nodes + 2 * (alpha - 1)))
    same(new.switch.sum(), 1.0)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
@pytest.mark.parametrize("n_slots", [6, 2])  # with two, up to five children share the last slot
@reading
def test_em_never_decreases_its_objective(absent, structure, n_slots, alpha):
    rng = np.random.default_rng(5)
    forest = random_forest(rng, n_trees=60, max_nodes=20, n_slots=6, missing=0.1)
    spec = tm.SwitchingTree.of_labels(n_slots, 3, 3, absent, structure, pooled=n_slots < 6)
    priors = tm.Priors(*[alpha] * 5)
    batch = Batch(spec, share(forest.arrays, n_slots), None, 1)
    params = MixtureParams(np.full(3, 1 / 3), spec.draw(rng, 3))
    objective = []
    for _ in range(40):
        counts, log_likelihood = batch.expected_counts(params)
        objective.append(log_likelihood + spec.log_prior(params.tree, priors).sum())
        params = MixtureParams(counts.weight / counts.weight.sum(), spec.m_step(counts.tree, params.tree, priors))
    gain = np.diff(objective)
    assert gain.min() >= -1e-9 * abs(objective[-1])
    assert gain[0] > 1.0


def test_the_monotonicity_check_catches_the_published_e_step():
    """Planted bug: without the (1 - s) term of the child's posterior the likelihood falls; with it, it does not."""
    rng = np.random.default_rng(5)
    forest = random_forest(rng, n_trees=12, max_nodes=15, missing=0.0)
    trees = [twin.nodes_of(forest, t) for t in range(forest.n_trees)]
    spec = tm.SwitchingTree.of_labels(3, 3, 2)
    theta = theta_of(spec, spec.draw(rng, 1), 0)
    assert np.diff(twin.em(trees, theta, 25)).min() >= -1e-9
    assert np.diff(twin.em(trees, theta, 25, leaky=True)).min() < -1e-3


def test_fit_follows_the_twin_step_by_step():
    rng = np.random.default_rng(6)
    forest = random_forest(rng, n_trees=12, max_nodes=15)
    spec = tm.SwitchingTree.of_labels(3, 3, 2)
    params = spec.draw(rng, 1)
    expected = twin.em([twin.nodes_of(forest, t) for t in range(12)], theta_of(spec, params, 0), 6)
    batch = Batch(spec, share(forest.arrays, 3), None, 1)
    found = []
    for _ in range(6):
        counts, log_likelihood = batch.expected_counts(MixtureParams(np.ones(1), params))
        found.append(log_likelihood)
        params = spec.m_step(counts.tree, params, tm.Priors())
    same(found, expected)


def test_pooled_branching_is_proper_and_its_estimate_the_best():
    """One slot for all children: the number of children is geometric, and a grid finds nothing better than the fit."""
    spec = tm.SwitchingTree.of_labels(1, 1, 1, "bottom", "branching", pooled=True)
    stars = Forest.from_nested([("a", ["a"] * 5)] * 10)
    batch = Batch(spec, share(stars.arrays, 1), None, 1)
    params = spec.uniform()
    counts, _ = batch.expected_counts(MixtureParams(np.ones(1), params))
    rho = spec.m_step(counts.tree, params, tm.Priors()).branching[0, 0]
    same(rho, 50 / (50 + 60))
    grid = np.linspace(0.01, 0.99, 99)
    scores = [batch.log_likelihood(params._replace(branching=np.array([[x]])))[0, 0] for x in grid]
    assert abs(grid[int(np.argmax(scores))] - rho) < 0.01
    # An ordered tree of n nodes has n - 1 children taken and n chances that failed; there are Catalan(n - 1) of them.
    tree = Forest.from_nested([("a", ["a", ("a", ["a"])])])
    one = Batch(spec, share(tree.arrays, 1), None, 1).log_likelihood(params._replace(branching=np.array([[0.3]])))
    same(np.exp(one[0, 0]), 0.3**3 * 0.7**4)
    total = sum(catalan * 0.3 ** (n - 1) * 0.7**n for n, catalan in enumerate((1, 1, 2, 5, 14, 42, 132, 429), start=1))
    assert 0.97 < total < 1.0


def test_exposure_of_a_slot_is_its_share_of_every_node_that_has_it():
    """A node exposes each slot with a child to 1 / (weight of all such slots) switches, counted node by node."""
    rng = np.random.default_rng(5)
    forest = random_forest(rng, n_trees=12, max_nodes=8, n_slots=3, n_labels=2)
    spec = tm.SwitchingTree.of_labels(3, 2, 2, "renormalised")
    params = spec.draw(rng, 2)
    (shard,) = share(forest.arrays, 3)
    weight = rng.random((shard.n_distinct_trees, 2))
    wanted = np.zeros((3, 2))
    for t in range(forest.n_trees):
        if shard.tree_first[shard.tree_id[t]] == t:  # the first of its kind
            tree = twin.nodes_of(forest, t)
            for u in range(len(tree)):
                here = list(twin.children_of(tree, u, 3))
                if here:
                    wanted[here] += weight[shard.tree_id[t]] / params.switch[here].sum(axis=0)
    same(spec.shape_counts(params, shard, weight).exposure, wanted)


def test_switch_step_of_the_renormalised_reading_solves_its_equation():
    rng = np.random.default_rng(2)
    wins, exposure = rng.random((4, 6)) * 10, rng.random((4, 6)) * 20
    for alpha in (1.2, 3.0):
        switch = dist.switch_mm_step(wins, exposure, np.full((4, 6), 0.25), alpha)
        same(switch.sum(axis=0), 1.0)
        # (wins + alpha - 1) / switch - exposure is the multiplier, the same for every slot
        multiplier = (wins + alpha - 1) / switch - exposure
        same(multiplier, np.broadcast_to(multiplier[0], multiplier.shape), 1e-7)


def test_a_tree_no_component_can_produce_has_log_probability_minus_infinity_and_no_counts():
    forest = Forest.from_nested([("a", ["a", "a"]), ("b", ["a"])])
    spec = tm.SwitchingTree.of_labels(2, 2, 2)
    params = spec.draw(np.random.default_rng(0), 2)
    params.emission[0], params.emission[1] = 1.0, 0.0
    batch = Batch(spec, share(forest.arrays, 2), None, 1)
    log_prob = batch.log_likelihood(params)
    assert np.isfinite(log_prob[0]).all()
    assert (log_prob[1] == -np.inf).all()
    counts, total = batch.expected_counts(MixtureParams(np.full(2, 0.5), params))
    same(counts.weight.sum(), 1.0)
    same(counts.tree.emission.sum(), 3.0)
    same(total, np.log(np.exp(log_prob[0]).mean()))
    assert all(np.isfinite(x).all() for x in counts.tree)


def test_absurdly_small_probabilities_give_no_nan():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, 50, 30)
    for scale in (1e-90, 1e-160, 1e-250, 1e-320):
        spec = tm.SwitchingTree.of_labels(3, 3, 2)
        params = spec.draw(rng, 2)
        params.emission[:, 0] *= scale
        params.transition[:, :, 0] *= scale
        batch = Batch(spec, share(forest.arrays, 3), None, 1)
        counts, total = batch.expected_counts(MixtureParams(np.full(2, 0.5), params))
        assert np.isfinite(total)
        assert all(np.isfinite(x).all() for x in counts.tree)


def test_a_long_chain_does_not_underflow():
    n = 100_000
    rng = np.random.default_rng(1)
    forest = Forest.from_parents(np.arange(n) - 1, rng.integers(0, 5, n), vocabulary=list("abcde"))
    spec = tm.SwitchingTree.of_labels(1, 5, 2)
    params = spec.draw(rng, 1)
    log_prob = Batch(spec, share(forest.arrays, 1), None, 1).log_likelihood(params)
    assert -5 * n < log_prob[0, 0] < -n


def test_shards_and_threads_change_nothing_but_rounding():
    rng = np.random.default_rng(9)
    forest = random_forest(rng, 300, 30)
    spec = tm.SwitchingTree.of_labels(3, 3, 3, "slot", "branching")
    params = MixtureParams(np.array([0.2, 0.8]), spec.draw(rng, 2))
    whole, log_whole = Batch(spec, share(forest.arrays, 3), None, 1).expected_counts(params)
    shards = share(forest.arrays, 3, max_units=200)
    assert len(shards) > 5
    with Batch(spec, shards, None, 1) as one, Batch(spec, shards, None, 3) as three:
        split, log_split = one.expected_counts(params)
        threaded, log_threaded = three.expected_counts(params)
    same(log_whole, log_split)
    assert log_split == log_threaded
    for a, b, c in zip(whole.tree, split.tree, threaded.tree, strict=True):
        same(a, b)
        assert np.array_equal(b, c)
