"""The alignment of two trees: against the plain recursion, enumeration and an integer programme, and at the edges."""

import time

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from arbora.forest.kernels.tree_shape import find_kinds, make_shape
from arbora.models.unions.kernels.transport import transport
from arbora.models.unions.kernels.tree_alignment import align
from tests.reference import tree_union as ref


def random_pair(rng, most, forest=False):
    make = ref.random_forest_parents if forest else ref.random_parents
    return make(rng, int(rng.integers(1, most + 1))), make(rng, int(rng.integers(1, most + 1)))


def random_gain(rng, kind, n, m):
    """Gains with many ties, with none, of rank one as those of unions, and with negative entries."""
    return {
        "ones": lambda: np.ones((n, m)),
        "normal": lambda: rng.normal(size=(n, m)),
        "counts": lambda: np.outer(rng.integers(1, 3, n), rng.integers(1, 3, m)).astype(float),
        "signed": lambda: rng.integers(-1, 4, (n, m)).astype(float),
    }[kind]()


GAINS = ("ones", "normal", "counts", "signed")


def check_legal(parent_1, parent_2, gain, match):
    """The pairs are legal, have a union, and are worth what is said."""
    pairs = [tuple(pair) for pair in match.pairs]
    above_1, above_2 = ref.is_above(parent_1), ref.is_above(parent_2)
    assert ref.keeps_hierarchy(above_1, above_2, pairs)
    assert ref.has_union(above_1, above_2, pairs)
    assert all(gain[pair] > 0 for pair in pairs)
    assert match.value == pytest.approx(sum(gain[pair] for pair in pairs), abs=1e-10)
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("kind", GAINS)
def test_alignment_equals_the_plain_recursion(kind):
    rng = np.random.default_rng(GAINS.index(kind))
    for k in range(60):
        p, q = random_pair(rng, 8, forest=k % 3 == 0)
        gain = random_gain(rng, kind, len(p), len(q))
        match = align(make_shape(p), make_shape(q), gain)
        assert match.exact
        assert match.value == pytest.approx(ref.best_by_recursion(p, q, gain), abs=1e-10)
        check_legal(p, q, gain, match)


def test_alignment_is_the_best_of_all_matchings_that_have_a_union():
    rng = np.random.default_rng(10)
    for k in range(120):
        p, q = random_pair(rng, 5, forest=k % 2 == 0)
        gain = random_gain(rng, GAINS[k % 4], len(p), len(q))
        match = align(make_shape(p), make_shape(q), gain)
        assert match.value == pytest.approx(ref.best_by_enumeration(p, q, gain), abs=1e-10)


def test_alignment_equals_an_integer_programme():
    rng = np.random.default_rng(11)
    for k in range(100):
        p, q = random_pair(rng, 6)
        gain = random_gain(rng, GAINS[k % 4], len(p), len(q))
        assert align(make_shape(p), make_shape(q), gain).value == pytest.approx(ref.best_by_milp(p, q, gain), abs=1e-6)


@pytest.mark.slow
def test_alignment_equals_an_integer_programme_on_larger_trees():
    rng = np.random.default_rng(12)
    for k in range(300):
        p, q = random_pair(rng, 9)
        gain = random_gain(rng, GAINS[k % 4], len(p), len(q))
        assert align(make_shape(p), make_shape(q), gain).value == pytest.approx(ref.best_by_milp(p, q, gain), abs=1e-6)


def test_oracles_tell_edit_matchings_from_unions():
    """The smallest trees whose best matching has no union: six nodes against five."""
    p = nested_parents([[[], [], []], [[]]])
    q = nested_parents([[[[]], []], [], []])
    gain = np.ones((len(p), len(q)))
    assert ref.best_by_milp(p, q, gain, union=False) == pytest.approx(6.0)
    assert ref.best_by_milp(p, q, gain) == pytest.approx(5.0)
    assert align(make_shape(p), make_shape(q), gain).value == 5.0


def nested_parents(tree):
    parent = []

    def walk(node):
        kids = [walk(kid) for kid in node]
        parent.append(-1)
        for kid in kids:
            parent[kid] = len(parent) - 1
        return len(parent) - 1

    walk(tree)
    return np.array(parent)


@pytest.mark.parametrize("limit", [4, 8, 16])
def test_large_degrees_are_legal_and_flagged(limit):
    rng = np.random.default_rng(limit)
    n_inexact = 0
    for k in range(80):
        p, q = random_pair(rng, 9, forest=k % 2 == 0)
        gain = random_gain(rng, GAINS[k % 4], len(p), len(q))
        best = align(make_shape(p), make_shape(q), gain)
        match = align(make_shape(p), make_shape(q), gain, limit)
        check_legal(p, q, gain, match)
        assert match.value <= best.value + 1e-10
        if match.exact:
            assert match.value == pytest.approx(best.value, abs=1e-10)
        n_inexact += not match.exact
    assert n_inexact > 5


def test_stars_of_interchangeable_leaves_are_exact():
    p, q = np.append(np.full(400, 400), -1), np.append(np.full(300, 300), -1)
    match = align(make_shape(p), make_shape(q), np.ones((401, 301)))
    assert match.exact
    assert match.value == 301.0


def test_many_different_leaves_are_assigned_exactly():
    rng = np.random.default_rng(0)
    n = 40
    p = np.append(np.full(n, n), -1)
    gain = rng.random((n + 1, n + 1)) + 0.1
    match = align(make_shape(p), make_shape(p), gain)
    rows, columns = linear_sum_assignment(gain[:n, :n], maximize=True)
    assert match.exact
    assert match.value == pytest.approx(gain[rows, columns].sum() + gain[n, n])


def test_groups_are_assigned_as_their_members_are():
    """Interchangeable children are one row with a count; the value is that of the assignment child by child."""
    rng = np.random.default_rng(1)
    for k in range(200):
        n, m = rng.integers(1, 7, 2)
        supply, demand = rng.integers(0, 9, n), rng.integers(0, 9, m)
        weight = rng.integers(0, 4, (n, m)).astype(float) if k % 2 else rng.random((n, m))
        flow = transport(weight, supply, demand)
        assert (flow >= 0).all()
        assert (flow.sum(1) <= supply).all()
        assert (flow.sum(0) <= demand).all()
        one_by_one = np.repeat(np.repeat(weight, supply, 0), demand, 1)
        best = one_by_one[linear_sum_assignment(one_by_one, maximize=True)].sum()
        assert (flow * weight).sum() == pytest.approx(best, abs=1e-10)


def star_among_others(n):
    """A root of n leaves and six larger subtrees."""
    return nested_parents([*([[]] * (2 + k) for k in range(6)), *([[]] * n)])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("make", "shared"), [(lambda n: np.append(np.full(n, n), -1), 1), (star_among_others, 1 + sum(range(3, 9)))]
)
def test_work_on_identical_children_grows_no_faster_than_the_table_of_gains(make, shared):
    def seconds(n):
        p, q = make(n), make(n // 2)
        gain = np.ones((len(p), len(q)))
        start = time.process_time()
        match = align(make_shape(p), make_shape(q), gain)
        assert match.value == n // 2 + shared
        return time.process_time() - start

    seconds(10)
    # A table 16 times as large; the assignment of one child after the other took some 300 times as long.
    assert seconds(2000) < 40 * max(min(seconds(500) for _ in range(3)), 0.005)


@pytest.mark.compiled
def test_deep_trees_need_no_recursion():
    n = 1500
    chain = make_shape(np.append(np.arange(1, n), -1))
    shorter = make_shape(np.append(np.arange(1, 1000), -1))
    match = align(chain, shorter, np.ones((n, 1000)))
    assert match.value == 1000.0
    assert (np.diff(match.pairs, axis=0) > 0).all()


def test_nothing_to_match():
    shape = make_shape(np.array([1, -1]))
    match = align(shape, shape, np.full((2, 2), -1.0))
    assert match.pairs.shape == (0, 2)
    assert match.value == 0.0
    assert match.exact
    empty = align(make_shape(np.zeros(0, np.int64)), shape, np.zeros((0, 2)))
    assert empty.value == 0.0


def test_kinds_are_isomorphism_classes():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = ref.random_parents(rng, 12)
        row = rng.integers(0, 2, 12)
        kind = find_kinds(make_shape(p), row)[0]
        above = ref.is_above(p)

        def name(u, p=p, row=row):
            return (int(row[u]), tuple(sorted(name(v) for v in np.flatnonzero(p == u))))

        names = [name(u) for u in range(12)]
        for u in range(12):
            for v in range(12):
                assert (kind[u] == kind[v]) == (names[u] == names[v])
        assert above.any()
