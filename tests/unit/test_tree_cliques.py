"""Matchings of unordered trees against enumeration, an integer programme, and what each method promises."""

import numpy as np
import pytest

from arbora.forest.kernels.tree_shape import make_shape
from arbora.models.edit.kernels import tree_cliques, tree_repair
from tests.reference import tree_union as twin

METHODS = {"edit": tree_cliques.edit, "greedy": tree_cliques.greedy, "relaxation": tree_cliques.relaxation}


def random_gain(rng, n, m):
    """Gains of the kinds that occur: all equal, few values, any; some of them negative."""
    kind = rng.integers(3)
    if kind == 0:
        return np.full((n, m), 2.0)
    if kind == 1:
        return rng.choice([-1.0, 1.0, 2.0], size=(n, m))
    return rng.normal(0.7, 1.0, (n, m))


def random_pairs(seed, n_pairs, largest):
    rng = np.random.default_rng(seed)
    for _ in range(n_pairs):
        n, m = rng.integers(1, largest + 1, 2)
        draw = twin.random_parents if rng.random() < 0.7 else twin.random_forest_parents
        yield draw(rng, n), draw(rng, m), random_gain(rng, n, m)


def assert_legal(parent_1, parent_2, gain, match, union=False):
    pairs = [tuple(pair) for pair in match.pairs.tolist()]
    above_1, above_2 = twin.is_above(parent_1), twin.is_above(parent_2)
    assert twin.keeps_hierarchy(above_1, above_2, pairs)
    assert pairs == sorted(pairs)
    assert all(gain[pair] > 0 for pair in pairs)
    assert match.value == pytest.approx(sum(gain[pair] for pair in pairs), abs=1e-12)
    if union:
        assert twin.has_union(above_1, above_2, pairs)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_is_legal_and_none_beats_enumeration(method):
    shortfall = 0.0
    for parent_1, parent_2, gain in random_pairs(1, 120, 6):
        match = METHODS[method](make_shape(parent_1), make_shape(parent_2), gain)
        assert_legal(parent_1, parent_2, gain, match)
        best = twin.best_by_enumeration(parent_1, parent_2, gain, union=False)
        assert match.value <= best + 1e-10
        if match.exact:
            assert match.value == pytest.approx(best, abs=1e-10)
        shortfall += best - match.value
    if method == "edit":
        assert shortfall == pytest.approx(0.0, abs=1e-9)
    if method == "relaxation":
        assert shortfall > 0.1  # otherwise this test could not tell an exact method from another


def check_against_milp(seed, n_pairs, largest):
    for parent_1, parent_2, gain in random_pairs(seed, n_pairs, largest):
        match = tree_cliques.edit(make_shape(parent_1), make_shape(parent_2), gain)
        assert match.exact
        assert_legal(parent_1, parent_2, gain, match)
        assert match.value == pytest.approx(twin.best_by_milp(parent_1, parent_2, gain, union=False), abs=1e-8)


@pytest.mark.compiled
def test_exact_matching_equals_an_integer_programme():
    check_against_milp(2, 150, 8)


@pytest.mark.slow
def test_exact_matching_equals_an_integer_programme_on_many_pairs():
    check_against_milp(3, 600, 9)
    check_against_milp(4, 60, 11)


@pytest.mark.compiled
def test_larger_trees_are_matched_exactly_and_at_least_as_well_as_by_any_other_method():
    rng = np.random.default_rng(5)
    for n in (20, 30, 40):
        for _ in range(4):
            parent_1, parent_2 = twin.random_parents(rng, n), twin.random_parents(rng, n)
            gain = random_gain(rng, n, n)
            a, b = make_shape(parent_1), make_shape(parent_2)
            match = tree_cliques.edit(a, b, gain)
            assert match.exact
            assert_legal(parent_1, parent_2, gain, match)
            assert match.value >= tree_cliques.greedy(a, b, gain).value - 1e-9
            flipped = tree_cliques.edit(b, a, np.ascontiguousarray(gain.T))
            assert flipped.value == pytest.approx(match.value, abs=1e-8)


def test_a_budget_too_small_is_said_and_the_result_is_still_legal():
    rng = np.random.default_rng(6)
    told = 0
    for _ in range(20):
        parent_1, parent_2 = twin.random_parents(rng, 12), twin.random_parents(rng, 12)
        gain = rng.random((12, 12)) + 0.1
        a, b = make_shape(parent_1), make_shape(parent_2)
        match = tree_cliques.edit(a, b, gain, budget=3)
        assert_legal(parent_1, parent_2, gain, match)
        told += not match.exact
        assert match.value <= tree_cliques.edit(a, b, gain).value + 1e-10
    assert told > 15


def test_matching_a_tree_with_itself_takes_every_node():
    rng = np.random.default_rng(7)
    for n in (1, 2, 9, 14):
        shape = make_shape(twin.random_parents(rng, n))
        match = tree_cliques.edit(shape, shape, np.ones((n, n)))
        assert match.exact
        assert match.value == n


def test_nothing_to_match():
    empty, one = make_shape(np.empty(0, np.int64)), make_shape(np.array([-1]))
    for method in METHODS.values():
        for a, b, gain in (
            (empty, one, np.ones((0, 1))),
            (one, one, -np.ones((1, 1))),
            (empty, empty, np.ones((0, 0))),
        ):
            match = method(a, b, gain)
            assert match.pairs.shape == (0, 2)
            assert match.value == 0.0
            assert match.exact


@pytest.mark.compiled
def test_deep_and_wide_trees():
    chain, star = (
        make_shape(np.arange(1, 121) % 120 - (np.arange(120) == 119)),
        make_shape(np.append(np.full(79, 79), -1)),
    )
    assert tree_cliques.edit(chain, chain, np.ones((120, 120))).value == 120
    assert tree_cliques.edit(star, star, np.ones((80, 80))).value == 80
    assert tree_cliques.edit(chain, star, np.ones((120, 80))).value == 2


@pytest.mark.compiled
def test_trees_too_large_to_search_are_matched_coarsely():
    rng = np.random.default_rng(9)
    for make in (twin.random_parents, caterpillar):
        parent_1, parent_2 = make(rng, 150), make(rng, 140)
        gain = np.ones((150, 140))
        match = tree_cliques.edit(make_shape(parent_1), make_shape(parent_2), gain, budget=1)
        assert not match.exact
        assert_legal(parent_1, parent_2, gain, match)
        assert match.value > 50
        same = tree_cliques.edit(make_shape(parent_1), make_shape(parent_1), np.ones((150, 150)), budget=1)
        assert same.value > 100


def caterpillar(_, n):
    """A chain with a leaf at every node; n is even."""
    parent = np.arange(n) + np.where(np.arange(n) % 2, 2, 1)
    return np.where(parent < n, parent, -1)


# ---- repair ---------------------------------------------------------------------------------------------------------


def test_the_smallest_conflict_is_repaired():
    # r(x(b, c), d) and r(b, y(c, d)): with r, b, c, d matched, x and y would have to cross.
    parent_1, parent_2 = np.array([2, 2, 4, 4, -1]), np.array([4, 3, 3, 4, -1])
    a, b = make_shape(parent_1), make_shape(parent_2)
    gain = np.ones((5, 5))
    pairs = np.array([[0, 0], [1, 1], [3, 2], [4, 4]])
    assert not tree_repair.compatible(a, b, pairs)
    mended = tree_cliques.repair(a, b, gain, pairs)
    assert_legal(parent_1, parent_2, gain, mended, union=True)
    assert mended.value == 3.0  # one of b, c, d goes, and nothing takes its place
    assert tree_repair.compatible(a, b, mended.pairs)


@pytest.mark.compiled
def test_repair_gives_a_union_and_leaves_one_that_is_there_alone():
    rng = np.random.default_rng(8)
    n_broken = 0
    for _ in range(300):
        parent_1, parent_2 = twin.random_parents(rng, 11), twin.random_parents(rng, 12)
        gain = rng.random((11, 12)) + 0.5
        a, b = make_shape(parent_1), make_shape(parent_2)
        found = tree_cliques.edit(a, b, gain)
        legal = twin.has_union(twin.is_above(parent_1), twin.is_above(parent_2), found.pairs.tolist())
        assert tree_repair.compatible(a, b, found.pairs) == legal
        mended = tree_cliques.repair(a, b, gain, found.pairs)
        assert_legal(parent_1, parent_2, gain, mended, union=True)
        assert mended.value <= found.value + 1e-10
        if legal:
            assert np.array_equal(mended.pairs, found.pairs)
        n_broken += not legal
    assert n_broken > 5
