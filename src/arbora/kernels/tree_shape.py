"""The bare shape of a tree or of a union of trees, as every matcher takes it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import jit

Ints = NDArray[np.int64]


class Shape(NamedTuple):
    """An unordered forest of n nodes, children before parents; node n stands for the virtual root above all roots."""

    parent: Ints  # [n]; n at a root, so that climbing ends at the virtual root
    child_start: Ints  # [n + 2] children of u: child[child_start[u] : child_start[u + 1]], u = n included
    child: Ints  # [n] ascending within each node


class Match(NamedTuple):
    """Matched nodes of two shapes."""

    pairs: Ints  # [n_pairs, 2] (node of the first, node of the second), ascending by the first
    value: float  # sum of the gains of the pairs
    exact: bool  # whether no legal matching is worth more


@jit
def list_children(parent):
    """Offsets and children of every node and of the virtual root n; a root's parent is n."""
    n = parent.shape[0]
    start = np.zeros(n + 2, np.int64)
    for u in range(n):
        start[parent[u] + 1] += 1
    for u in range(n + 1):
        start[u + 1] += start[u]
    fill = start.copy()
    child = np.empty(n, np.int64)
    for u in range(n):
        p = parent[u]
        child[fill[p]] = u
        fill[p] += 1
    return start, child


def make_shape(parent: Ints) -> Shape:
    """A shape from parents, children before parents; -1 or n at a root."""
    n = len(parent)
    up = np.where(parent < 0, n, parent).astype(np.int64)
    return Shape(up, *list_children(up))
