"""Measures of hierarchies, against sums written out over all pairs."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import f1_score

from arbora.evaluate.hierarchy import Hierarchy
from arbora.evaluate.hierarchy_metrics import (
    dasgupta_cost,
    f_measure,
    from_linkage,
    level_f_measure,
    linkage_levels,
    separation,
    similarity,
    tree_purity,
)
from arbora.evaluate.stored_hierarchy import HierarchyError


def some_levels(rng, n=25, depth=3):
    rows = [rng.integers(0, 3, n)]
    for _ in range(depth - 1):
        rows.append(rows[-1] * 3 + rng.integers(0, 3, n))
    return np.array(rows)


def twin_separation(X, levels):
    """Section 5 of Huang et al. 2021, letter by letter."""
    nodes = [(l, tuple(np.flatnonzero(row == g))) for l, row in enumerate(levels) for g in np.unique(row)]
    inner = {}
    for node in nodes:
        pairs = list(itertools.combinations(node[1], 2))
        inner[node] = np.mean([((X[i] - X[j]) ** 2).sum() for i, j in pairs]) if pairs else 0.0
    outer = []
    for (a, one), (b, other) in itertools.combinations(nodes, 2):
        if a == b and (a == 0 or levels[a - 1][one[0]] == levels[a - 1][other[0]]):
            outer.append(((X[list(one)].mean(axis=0) - X[list(other)].mean(axis=0)) ** 2).sum())
    shared = [inner[node] for node in nodes if len(node[1]) > 1]
    return np.mean(list(inner.values())), np.mean(shared), np.mean(outer) if outer else np.nan


@pytest.mark.parametrize("seed", range(4))
def test_separation_is_the_papers(seed):
    rng = np.random.default_rng(seed)
    X, levels = rng.standard_normal((25, 3)) + 100.0, some_levels(rng)
    found = separation(X, levels)
    np.testing.assert_allclose(found[:3], twin_separation(X, levels), rtol=1e-9)
    assert found.n_nodes == sum(len(np.unique(row)) for row in levels)
    assert found.n_single == sum((np.unique(row, return_counts=True)[1] == 1).sum() for row in levels)


def test_a_single_path_has_no_outer_distance():
    found = separation(np.arange(4.0)[:, None], np.zeros((2, 4), int))
    assert np.isnan(found.outer)
    assert found.inner == pytest.approx(10.0 / 3.0)


def test_cutting_data_apart_improves_one_inner_distance_only():
    X = np.random.default_rng(0).standard_normal((20, 2))
    whole, apart = separation(X, np.zeros((1, 20), int)), separation(X, np.arange(20)[None])
    assert apart.inner == 0.0 < whole.inner
    assert separation(X, [[0] * 18 + [1, 2]]).inner < 0.5 * whole.inner
    assert separation(X, [[0] * 18 + [1, 2]]).inner_shared > 0.8 * whole.inner


def test_f_measure_by_hand():
    rng = np.random.default_rng(1)
    target, labels = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    expected = sum(
        (target == c).mean() * max(f1_score(target == c, labels == g, zero_division=0) for g in range(5))
        for c in range(4)
    )
    assert f_measure(target, labels) == pytest.approx(expected)
    assert f_measure(list("aabb"), [1, 1, 0, 0]) == 1.0
    np.testing.assert_allclose(level_f_measure(target, [labels, target]), [expected, 1.0])
    with pytest.raises(ValueError, match="one of each"):
        f_measure([0, 1], [0])


def joins(tree):
    """For each pair of data, the members of the lowest node that holds both."""
    members = [set(tree.members(z).tolist()) for z in range(tree.n_nodes)]
    return {
        (i, j): min((m for m in members if i in m and j in m), key=len)
        for i, j in itertools.combinations(range(tree.n_data), 2)
    }


@pytest.mark.parametrize("kind", ["levels", "linkage"])
def test_purity_and_cost_over_all_pairs(kind):
    rng = np.random.default_rng(2)
    X, target = rng.standard_normal((15, 2)), rng.integers(0, 3, 15)
    tree = Hierarchy.from_levels(some_levels(rng, 15)) if kind == "levels" else from_linkage(linkage(X, "average"))
    below, near = joins(tree), similarity(X)
    purity = [np.mean([target[m] == target[i] for m in below[i, j]]) for i, j in below if target[i] == target[j]]
    assert tree_purity(target, tree) == pytest.approx(np.mean(purity))
    cost = sum(near[i, j] * len(m) for (i, j), m in below.items())
    assert dasgupta_cost(near, tree) == pytest.approx(cost)
    with pytest.raises(ValueError, match="15 data"):
        tree_purity(target[:3], tree)
    with pytest.raises(ValueError, match="15 data"):
        dasgupta_cost(near[:3, :3], tree)


def test_similarity_is_in_units_of_the_mean_over_pairs():
    X = np.random.default_rng(0).standard_normal((7, 2)) + 50.0
    squares = np.array([[((a - b) ** 2).sum() for b in X] for a in X])
    mean = np.mean([squares[i, j] for i, j in itertools.combinations(range(7), 2)])
    np.testing.assert_allclose(similarity(X), np.exp(-squares / mean), rtol=1e-9)
    np.testing.assert_array_equal(similarity(np.ones((3, 2))), np.ones((3, 3)))


def test_pure_trees_have_purity_one():
    tree = Hierarchy.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]])
    assert tree_purity(list("aabc"), tree) == 1.0
    assert tree_purity(list("abcd"), tree) == 1.0  # no pair to judge
    assert tree_purity(list("abba"), tree) < 1.0


def test_linkage_as_a_hierarchy():
    X = np.random.default_rng(3).standard_normal((12, 2))
    matrix = linkage(X, "ward")
    tree = from_linkage(matrix)
    assert tree.n_nodes == 11
    assert sorted(tree.size.tolist()) == sorted(matrix[:, 3].astype(int).tolist())
    levels = linkage_levels(X, [2, 5])
    for row, k in zip(levels, (2, 5), strict=True):
        other = fcluster(matrix, k, "maxclust")
        assert len(set(zip(row.tolist(), other.tolist(), strict=True))) == k
    assert linkage_levels(X[:1], [1, 1]).tolist() == [[0], [0]]


def test_levels_of_the_wrong_shape_are_refused():
    with pytest.raises(HierarchyError, match=r"wanted integers \[level, datum\] for 3 data"):
        separation(np.zeros((3, 1)), [0, 0, 1])
