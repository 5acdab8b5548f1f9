"""Label paths of trees: which paths from the root each tree has, and how often."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..forest.forest import Forest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DEPTH = 16  # levels that are looked at
MOST_PATHS = 20_000  # different paths; the rarest beyond are left out, with all below them


class LabelPaths(NamedTuple):
    """Different paths of labels from a root down; a path comes after the path above it.

    Nodes without a label, or with one never seen, have no path, and neither has what is below them.
    """

    above: Ints  # [path]: the path without its last label; -1 at a root
    label: Ints  # [path]: its last label
    place: Floats  # [path]: mean slot of its nodes, to put siblings in order
    count: sp.csr_array  # [tree, path]: nodes of the tree that have the path
    vocabulary: tuple[str, ...]

    @property
    def has(self) -> sp.csr_array:
        """[tree, path]: 1.0 where the tree has the path."""
        found = self.count.copy()
        found.data = np.ones_like(found.data)
        return found

    def labels(self, path: int) -> tuple[str, ...]:
        """The labels of a path, the root's first."""
        found: list[str] = []
        while path >= 0:
            found.append(self.vocabulary[self.label[path]])
            path = int(self.above[path])
        return tuple(reversed(found))


def label_paths(forest: Forest, most_depth: int = MOST_DEPTH) -> LabelPaths:
    """The label paths of a forest, level by level.

    >>> paths = label_paths(Forest.from_nested([("a", ["b", "b"]), ("a", ["c"])]))
    >>> [paths.labels(p) for p in range(3)], paths.count.toarray().tolist()
    ([('a',), ('a', 'b'), ('a', 'c')], [[1, 2, 0], [1, 0, 1]])
    """
    tree_of = np.repeat(np.arange(forest.n_trees), forest.sizes)
    path_of = np.full(forest.n_nodes, -1, np.int64)
    above, label, place = [], [], []
    rows, columns = [], []
    order = np.argsort(forest.parent, kind="stable")  # children of a node side by side
    first = np.searchsorted(forest.parent[order], np.arange(forest.n_nodes + 1))
    level = forest.tree_start[1:] - 1
    n_paths = 0
    for _ in range(most_depth):
        level = level[forest.label[level] >= 0]
        if not len(level):
            break
        parent = forest.parent[level]
        key = np.where(parent >= 0, path_of[parent], -1) * forest.n_labels + forest.label[level]
        found, number = np.unique(key, return_inverse=True)
        kept = _most_frequent(number, len(found), MOST_PATHS - n_paths)
        level, number = level[kept[number] >= 0], kept[number][kept[number] >= 0]
        found = found[kept >= 0]
        if not len(found):
            break
        above.append(np.floor_divide(found, forest.n_labels))
        label.append(np.mod(found, forest.n_labels))
        n_here = np.bincount(number, minlength=len(found))
        place.append(np.bincount(number, np.maximum(forest.slot[level], 0), len(found)) / n_here)
        path_of[level] = n_paths + number
        rows.append(tree_of[level])
        columns.append(path_of[level])
        n_paths += len(found)
        level = _children(level, order, first)
    row, column = (np.concatenate(part) if part else np.zeros(0, np.int64) for part in (rows, columns))
    count = sp.coo_array((np.ones(len(row), np.int64), (row, column)), shape=(forest.n_trees, n_paths)).tocsr()
    joined = (np.concatenate(part) if part else np.zeros(0) for part in (above, label, place))
    one, two, three = joined
    return LabelPaths(one.astype(np.int64), two.astype(np.int64), three, count, tuple(forest.vocabulary))


def _most_frequent(number: Ints, n_found: int, most: int) -> Ints:
    """New numbers of the paths of a level, -1 for the rarest where there are too many."""
    if n_found <= most:
        return np.arange(n_found)
    chosen = np.sort(np.argsort(-np.bincount(number, minlength=n_found), kind="stable")[: max(most, 0)])
    kept = np.full(n_found, -1)
    kept[chosen] = np.arange(len(chosen))
    return kept


def _children(level: Ints, order: Ints, first: Ints) -> Ints:
    """Nodes below those of a level, in order."""
    n = first[level + 1] - first[level]
    start = np.repeat(first[level], n)
    inside = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
    return np.asarray(order[start + inside], np.int64)
