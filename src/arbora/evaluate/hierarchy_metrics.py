"""How good a hierarchy is: tight and separate nodes (Huang et al. 2021), agreement with known classes, Dasgupta's cost.

`levels` has the group of each datum on each level below the root, [level, datum], coarse to fine.  Groups of a level
are its nodes; their parents are the groups of the level above.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage
from sklearn.utils.validation import check_array

from ..inference.diagnostics import cut_levels
from .hierarchy import Hierarchy
from .stored_hierarchy import HierarchyError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Separation(NamedTuple):
    """Distances of Huang et al. 2021, section 5, of one tree; all squared, as there."""

    inner: float  # AID: mean over nodes of the mean squared distance of two members, 0 for a node of one
    inner_shared: float  # the same over nodes of two members or more: cutting data apart does not improve it
    outer: float  # AOD: mean over pairs of siblings of the squared distance of centroids; nan without siblings
    n_nodes: int
    n_single: int  # nodes of one datum


def separation(X: ArrayLike, levels: ArrayLike) -> Separation:
    """Average inner and outer distances of a tree, by level counts of nodes included; the root is left out.

    >>> separation([[0.0], [2.0], [9.0]], [[0, 0, 1]])
    Separation(inner=2.0, inner_shared=4.0, outer=64.0, n_nodes=2, n_single=1)
    """
    rows = np.asarray(X, np.float64)
    table = _check_levels(levels, len(rows))
    rows = rows - rows.mean(axis=0)
    inner, sizes, pairs, gaps = [], [], 0, 0.0
    above = np.zeros(len(rows), np.int64)
    for row in table:
        _, first, group = np.unique(row, return_index=True, return_inverse=True)
        size = np.bincount(group)
        centre = _sums(rows, group, len(size)) / size[:, None]
        scatter = _sums((rows - centre[group]) ** 2, group, len(size)).sum(axis=1)
        inner.append(2.0 * scatter / np.maximum(size - 1, 1))
        sizes.append(size)
        parent = above[first]
        # Squared distances of all pairs among m points are m times their scatter.
        n_children = np.bincount(parent)
        middle = _sums(centre, parent, len(n_children)) / np.maximum(n_children, 1)[:, None]
        spread = np.bincount(parent, ((centre - middle[parent]) ** 2).sum(axis=1))
        gaps += float(n_children @ spread)
        pairs += int((n_children * (n_children - 1) // 2).sum())
        above = group
    within, size = np.concatenate(inner), np.concatenate(sizes)
    shared = within[size > 1]
    return Separation(
        float(within.mean()),
        float(shared.mean()) if len(shared) else 0.0,
        gaps / pairs if pairs else float("nan"),
        len(size),
        int((size == 1).sum()),
    )


def f_measure(target: ArrayLike, labels: ArrayLike) -> float:
    """Class-weighted best F of any group (Steinbach, Karypis and Kumar 2000), as Huang et al. 2021 reports it.

    >>> round(f_measure(["a", "a", "b"], [0, 0, 0]), 3)
    0.7
    """
    _, c = np.unique(np.asarray(target), return_inverse=True)
    _, g = np.unique(np.asarray(labels), return_inverse=True)
    if len(c) != len(g) or len(c) == 0:
        raise ValueError(f"{len(c)} classes for {len(g)} labels; wanted one of each for every datum")
    table = np.zeros((c.max() + 1, g.max() + 1))
    np.add.at(table, (c, g), 1.0)
    f = 2.0 * table / (table.sum(axis=1, keepdims=True) + table.sum(axis=0))  # the harmonic mean, 1/n cancelled
    return float(table.sum(axis=1) @ f.max(axis=1) / len(c))


def level_f_measure(target: ArrayLike, levels: ArrayLike) -> Floats:
    """`f_measure` of each level."""
    return np.array([f_measure(target, row) for row in np.asarray(levels)])


def tree_purity(target: ArrayLike, tree: Hierarchy) -> float:
    """Dendrogram purity: of two data of one class, the share of that class below the node that joins them, on average.

    1 if and only if every class is a node or a union of data joined inside one; a tree that joins all data at once has
    the purity of chance.
    """
    _, c = np.unique(np.asarray(target), return_inverse=True)
    if len(c) != tree.n_data:
        raise ValueError(f"{len(c)} classes for {tree.n_data} data; wanted one for each")
    count = np.zeros((tree.n_nodes, c.max() + 1))  # data of each class at or below a node
    np.add.at(count, (tree.leaf, c), 1.0)
    for z in range(tree.n_nodes - 1, 0, -1):
        count[tree.parent[z]] += count[z]
    pairs = count * (count - 1.0) / 2.0
    met = pairs.copy()  # pairs of a class that meet first at a node: those below it, less those below its children
    for z in range(1, tree.n_nodes):
        met[tree.parent[z]] -= pairs[z]
    share = count / count.sum(axis=1, keepdims=True)
    return float((met * share).sum() / met.sum()) if met.sum() > 0 else 1.0


def dasgupta_cost(similarity: ArrayLike, tree: Hierarchy) -> float:
    """Sum over pairs of similarity times the data below the node that joins them (Dasgupta 2016); low is good.

    The tree is taken as it is: a node of many children joins all its pairs at once, so binary trees have an advantage.
    """
    w = check_array(similarity, dtype=np.float64)
    if w.shape != (tree.n_data, tree.n_data):
        raise ValueError(f"similarity has shape {w.shape}; wanted one for each pair of {tree.n_data} data")
    w = 0.5 * (w + w.T)
    members: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for n, z in enumerate(tree.leaf.tolist()):
        members[z].append(n)
    inside = np.zeros(tree.n_nodes)  # similarity of all pairs at or below a node
    met = np.zeros(tree.n_nodes)
    for z in range(tree.n_nodes - 1, -1, -1):
        mine = np.array(members[z], np.int64)
        block = w[np.ix_(mine, mine)]
        inside[z] = (block.sum() - np.trace(block)) / 2.0
        met[z] += inside[z]
        if z:
            met[tree.parent[z]] -= inside[z]
            members[tree.parent[z]].extend(members[z])
            members[z] = []
    return float(met @ tree.size)


def similarity(X: ArrayLike) -> Floats:
    """exp(-squared distance / its mean over pairs): a similarity for Dasgupta's cost."""
    rows = np.asarray(X, np.float64)
    rows = rows - rows.mean(axis=0)
    squares = (rows**2).sum(axis=1)
    distance = np.maximum(squares[:, None] + squares - 2.0 * rows @ rows.T, 0.0)
    n = len(rows)
    typical = distance.sum() / max(n * (n - 1), 1)
    return np.asarray(np.exp(-distance / typical)) if typical > 0 else np.ones((n, n))


# ---- agglomerative trees for comparison -----------------------------------------------------------------------------


def linkage_levels(X: ArrayLike, n_groups: ArrayLike, method: str = "ward") -> Ints:
    """Cuts of an agglomerative tree at these numbers of groups, coarse to fine, [level, datum]."""
    rows, wanted = np.asarray(X, np.float64), np.asarray(n_groups, np.int64)
    if len(rows) < 2:
        return np.zeros((len(wanted), len(rows)), np.int64)
    tree = linkage(rows, method)
    return cut_levels(tree, np.clip(wanted, 1, len(rows)))


def from_linkage(matrix: ArrayLike, names: Any = None) -> Hierarchy:
    """SciPy's linkage matrix as a Hierarchy: one node for each merger, the last is the root; levels count its depth."""
    rows = np.asarray(matrix, np.float64)
    n = len(rows) + 1
    parent = np.full(n - 1, -1, np.int64)  # merger m is node n - 2 - m, so that parents come first
    leaf = np.zeros(n, np.int64)
    for m, (a, b) in enumerate(rows[:, :2].astype(np.int64)):
        for x in (a, b):
            if x < n:
                leaf[x] = n - 2 - m
            else:
                parent[2 * n - 2 - x] = n - 2 - m
    level = np.zeros(n - 1, np.int64)
    for z in range(1, n - 1):
        level[z] = level[parent[z]] + 1
    told = tuple(str(x) for x in (range(n) if names is None else names))
    return Hierarchy(parent, level, leaf, told)


def _sums(rows: Floats, group: Ints, n_groups: int) -> Floats:
    total = np.zeros((n_groups, rows.shape[1]))
    np.add.at(total, group, rows)
    return total


def _check_levels(levels: ArrayLike, n_data: int) -> Ints:
    table = np.asarray(levels)
    if table.ndim != 2 or table.dtype.kind not in "iu" or table.shape[1] != n_data:
        raise HierarchyError(
            f"levels: {table.dtype} of shape {table.shape}; wanted integers [level, datum] for {n_data} data"
        )
    return table.astype(np.int64)
