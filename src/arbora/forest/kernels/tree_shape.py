"""The bare shape of a tree or of a union of trees, as every matcher takes it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit import jit

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


class Kinds(NamedTuple):
    """The distinct subtrees of a shape: two subtrees are of one kind if they are isomorphic, rows included."""

    kind: Ints  # [n + 1] kind of each node; the virtual root is the only one of the last kind
    row: Ints  # [n_kinds] row of the table of gains that the root of the subtree uses; -1 for the virtual root
    size: Ints  # [n_kinds] nodes of the subtree
    kid_start: Ints  # [n_kinds + 1] distinct kinds among the children, larger subtrees first
    kid: Ints
    kid_count: Ints  # how many children are of that kind


@jit
def _kinds_below(u, shape, kind, size):
    """Kinds of the children of u; larger subtrees first, so that the core of a node of large degree is a prefix."""
    _, child_start, child = shape
    mine = np.sort(kind[child[child_start[u] : child_start[u + 1]]])
    key = np.empty(mine.shape[0], np.int64)
    for x in range(mine.shape[0]):
        key[x] = -size[mine[x]]
    return mine[np.argsort(key, kind="mergesort")]


@jit
def find_kinds(shape, row):
    """Number the distinct subtrees, children's kinds before parents'; row[u] says which nodes are interchangeable."""
    n = shape.parent.shape[0]
    kind = np.empty(n + 1, np.int64)
    row_out = np.empty(n + 1, np.int64)
    size = np.empty(n + 1, np.int64)
    start = np.zeros(n + 2, np.int64)
    kid = np.empty(n, np.int64)
    count = np.empty(n, np.int64)
    mark = np.empty(n + 1, np.uint64)  # hash of a kind; keys are compared in full
    n_kinds = 0
    for u in range(n + 1):
        mine = _kinds_below(u, shape, kind, size)
        at = start[n_kinds]
        top = at
        total = 1
        h = np.uint64(row[u] + 1 if u < n else 0) * np.uint64(0x9E3779B97F4A7C15)
        for x in range(mine.shape[0]):
            total += size[mine[x]]
            h = (h ^ np.uint64(mine[x] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
            if top > at and kid[top - 1] == mine[x]:
                count[top - 1] += 1
            else:
                kid[top] = mine[x]
                count[top] = 1
                top += 1
        found = -1
        if u < n:
            for d in range(n_kinds):
                if mark[d] == h and row_out[d] == row[u] and start[d + 1] - start[d] == top - at:
                    same = True
                    for x in range(top - at):
                        if kid[start[d] + x] != kid[at + x] or count[start[d] + x] != count[at + x]:
                            same = False
                            break
                    if same:
                        found = d
                        break
        if found < 0:
            found = n_kinds
            row_out[found] = row[u] if u < n else -1
            size[found] = total
            mark[found] = h
            start[found + 1] = top
            n_kinds += 1
        kind[u] = found
    top = start[n_kinds]
    return (
        kind,
        row_out[:n_kinds].copy(),
        size[:n_kinds].copy(),
        start[: n_kinds + 1].copy(),
        kid[:top].copy(),
        count[:top].copy(),
    )
