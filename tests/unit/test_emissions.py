"""Emissions: numbers as contents of nodes, against enumeration and plain formulas, with bugs that must be found."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from arbora import Forest
from arbora.errors import ArboraError
from arbora.forest.sharing import Contents, share
from arbora.inference.em import EMResult
from arbora.models.hidden_tree import fitting
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions import emission_of
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.gaussian import Gaussian, Moments, Normal
from arbora.models.hidden_tree.emissions.labels import Labels
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.switching_tree import Priors, SwitchingTree

FAMILY = Gaussian(0.5, 1.0, 0.1, 3.0)
CONTENT = Columns((("length", FAMILY), ("weight", Gaussian(0.0, 2.0))))
KEY = {"length": "c0", "weight": "c1"}
NESTED = [("0", ["1", "2"]), ("3", [("1", ["4"]), "0"]), "2", ("4", [("0", ["1", "2"])]), ("0", ["1", "2"])]
LENGTH = np.array([0.1, -2.0, np.nan, 40.0, 1.5])
WEIGHT = np.array([1.0, 3.0, -1.0, np.nan, 0.0])


def shards():
    """Trees whose labels are rows of contents, as a forest with columns shares them."""
    forest = Forest.from_nested(NESTED, vocabulary=["0", "1", "2", "3", "4"])
    contents = Contents({"length": LENGTH, "weight": WEIGHT})
    return forest, [replace(shard, contents=contents) for shard in share(forest.arrays, 2)]


def enumerated(forest, model, params, k):
    """Log P(contents) of each tree: the sum over all states, reading "bottom" with switches summed out."""
    out = []
    for t in range(forest.n_trees):
        tree = forest[[t]]
        total = 0.0
        for states in product(range(model.n_states), repeat=tree.n_nodes):
            p = 1.0
            for u in range(tree.n_nodes):
                children = {int(tree.slot[v]): v for v in range(tree.n_nodes) if tree.parent[v] == u}
                i = states[u]
                if not children:
                    p *= params.leaf[tree.slot[u] if tree.slot[u] >= 0 else model.n_slots, i, k]
                else:
                    below = [states[children[l]] if l in children else model.n_states for l in range(model.n_slots)]
                    p *= sum(params.switch[l, k] * params.transition[l, j, i, k] for l, j in enumerate(below))
                for column, values in (("length", LENGTH), ("weight", WEIGHT)):
                    x = values[tree.label[u]]
                    normal = params.emission[KEY[column]]
                    if not np.isnan(x):
                        p *= stats.norm.pdf(x, normal.mean[i, k], np.sqrt(normal.variance[i, k]))
            total += p
        out.append(np.log(total))
    return np.array(out)


@pytest.mark.parametrize("n_components", [1, 2])
def test_likelihood_of_numbers_equals_enumeration(n_components):
    forest, parts = shards()
    model = SwitchingTree(2, CONTENT, 2)
    params = model.draw(np.random.default_rng(0), n_components)
    found = Batch(model, parts, None, 1).log_likelihood(params)
    for k in range(n_components):
        np.testing.assert_allclose(found[:, k], enumerated(forest, model, params, k), rtol=1e-10)


def test_counts_are_derivatives_and_em_never_falls():
    _, parts = shards()
    model = SwitchingTree(2, CONTENT, 2, "bottom", "branching")
    rng = np.random.default_rng(1)
    batch = Batch(model, parts, None, 1)
    one = model.draw(rng, 1)
    counts, _ = batch.expected_counts(MixtureParams(np.ones(1), one))
    moments, normal = counts.tree.emission["c0"], one.emission["c0"]
    step = 1e-6
    for i in range(2):  # d log P / d mean = (sum of x - n mean) / variance
        shifted = []
        for sign in (1, -1):
            mean = normal.mean.copy()
            mean[i] += sign * step
            moved = one._replace(emission={**one.emission, "c0": Normal(mean, normal.variance)})
            shifted.append(batch.log_likelihood(moved).sum())
        n, first = moments.weight[i, 0], moments.first[i, 0] + moments.weight[i, 0] * FAMILY.centre
        wanted = (first - n * normal.mean[i, 0]) / normal.variance[i, 0]
        assert (shifted[0] - shifted[1]) / (2 * step) == pytest.approx(wanted, rel=1e-5, abs=1e-5)
    start = MixtureParams(np.full(2, 0.5), model.draw(rng, 2))
    result = fitting.run(batch, EMResult(start, [], False, False), Priors(*[1.1] * 5), 30, 0.0, False)
    assert np.diff(result.history).min() >= -1e-9 * abs(result.history[-1])


def test_mode_is_a_mode_and_planted_bugs_are_not():
    rng = np.random.default_rng(2)
    x, weight = rng.normal(3.0, 2.0, 40), rng.random((40, 1, 1))
    statistics = tm.mapped(lambda table: np.zeros((*table.shape, 1)), FAMILY.statistics_tables(1))
    FAMILY.add_statistics(x, weight, statistics)

    def objective(params):
        return float((FAMILY.log_density(x, params) * weight).sum() + FAMILY.log_prior(params, 1.0).sum())

    def best(mode):
        moves = [(a, b) for a in (-1e-3, 0.0, 1e-3) for b in (-1e-3, 0.0, 1e-3)]
        return objective(mode) >= max(objective(Normal(mode.mean + a, mode.variance * (1 + b))) for a, b in moves)

    mode = FAMILY.mode(statistics, None, 1.0)
    assert best(mode)
    _, mean, shape, rate = FAMILY._posterior(statistics)
    assert not best(Normal(mean, rate / (shape + 1.0)))  # the mode of the variance alone
    raw = Moments(statistics.weight, statistics.first + 0.5 * statistics.weight, statistics.second)
    assert not best(FAMILY.mode(raw, None, 1.0))  # sums that are not centred


def test_draws_have_the_moments_of_the_posterior():
    rng = np.random.default_rng(3)
    n = 40_000
    given = Moments(*(np.full((1, n), value) for value in (6.0, 9.0, 30.0)))
    drawn = FAMILY.draw(rng, 1, n, 1.0, given)
    strength, mean, shape, rate = (x[0, 0] for x in FAMILY._posterior(given))
    assert drawn.variance.mean() == pytest.approx(rate / (shape - 1.0), rel=0.03)
    assert drawn.mean.mean() == pytest.approx(mean, abs=0.02)
    assert drawn.mean.var() == pytest.approx(rate / (shape - 1.0) / strength, rel=0.05)


def test_headers_orders_and_what_is_refused():
    assert emission_of(CONTENT.header()) == CONTENT
    assert emission_of(4) == Labels(4)
    with pytest.raises(ValueError, match="no emission"):
        emission_of("labels")
    with pytest.raises(ValueError, match="above zero"):
        emission_of({"x": ["gaussian", 0.0, 0.0]})
    with pytest.raises(ValueError, match="no families"):
        emission_of({"x": ["colour", 1.0]})
    model = SwitchingTree(2, CONTENT, 2)
    params = model.draw(np.random.default_rng(0), 1)
    turned = model.reorder_states(params, np.array([1, 0]))
    np.testing.assert_array_equal(turned.emission["c0"].mean[::-1], params.emission["c0"].mean)
    forest, parts = shards()
    np.testing.assert_allclose(
        Batch(model, parts, None, 1).log_likelihood(turned), Batch(model, parts, None, 1).log_likelihood(params)
    )
    with pytest.raises(ArboraError, match="no column 'length'"):
        Batch(model, share(forest.arrays, 2), None, 1).log_likelihood(params)
    assert model.n_free_parameters() == SwitchingTree.of_labels(2, 1, 2).n_free_parameters() + 8
    shown = CONTENT.shown(params.emission, (), 3)
    assert shown.columns == ["length, mean", "length, deviation", "weight, mean"]
    assert shown.values.shape == (2, 3)
