"""Ordered tree edit distance (Zhang and Shasha 1989), with the mapping behind it.

A tree is read in post-order.  The distance of two subtrees needs the distances of the forests to the left of each of
their nodes, and the subtrees of *key* nodes (the root, and every node with a sibling before it) are enough to reach
all pairs: the time of a pair is the product of the two sums of key subtree sizes.  Mirroring both trees changes
the sums and not the distance, so every tree is prepared both ways and each pair takes the cheaper one.
"""

from typing import NamedTuple

import numpy as np

from ..jit import jit


class Reading(NamedTuple):
    """All trees of a forest in post-order; node numbers count from the first node of the tree."""

    start: np.ndarray  # int64 by tree and one more: its places in the columns below
    label: np.ndarray  # int32
    first: np.ndarray  # int32: leftmost leaf below the node
    delete: np.ndarray  # float64: cost of leaving the node out when its tree is the first of a pair
    insert: np.ndarray  # float64: the same when its tree is the second
    key_start: np.ndarray  # int64 by tree and one more
    key: np.ndarray  # int32: key nodes of each tree, ascending
    work: np.ndarray  # float64 by tree: sum of the sizes of the key subtrees
    node: np.ndarray  # int64: the node as the forest numbers it


class Bench(NamedTuple):
    """Scratch of one thread, large enough for its largest pair."""

    subtree: np.ndarray  # float64 (n, m): distance of the subtrees of two nodes
    forest: np.ndarray  # float64 (n + 1, m + 1): distance of two forests that begin at the leaves of the key nodes
    rename: np.ndarray  # float64 (n, m)


@jit
def read_order(parent, order, start):
    """Leftmost leaves, key nodes and the work of every tree, from a post-order of its nodes."""
    n_nodes, n_trees = order.shape[0], start.shape[0] - 1
    place = np.empty(n_nodes, np.int64)
    for x in range(n_nodes):
        place[order[x]] = x
    first = np.full(n_nodes, -1, np.int32)
    key = np.empty(n_nodes, np.int32)
    key_start = np.zeros(n_trees + 1, np.int64)
    work = np.zeros(n_trees)
    n_keys = 0
    for t in range(n_trees):
        lo, hi = start[t], start[t + 1]
        for x in range(lo, hi):
            if first[x] < 0:  # a leaf: no child has told its leftmost leaf
                first[x] = x - lo
            above = parent[order[x]]
            if above >= 0 and first[place[above]] < 0:
                first[place[above]] = first[x]
            # A node is key unless its parent begins at the same leaf; children come first, so the parent knows by now.
            if above < 0 or first[place[above]] != first[x]:
                key[n_keys] = x - lo
                n_keys += 1
                work[t] += x - lo - first[x] + 1
        key_start[t + 1] = n_keys
    return first, key_start, key[:n_keys].copy(), work


@jit
def _rename_costs(a, s, b, t, table, cost_out):
    """Cost of matching each node of tree s with each of tree t, from a table by label + 2 or, if 1 x 1, one price."""
    for i in range(a.start[s + 1] - a.start[s]):
        mine = a.label[a.start[s] + i]
        for j in range(b.start[t + 1] - b.start[t]):
            other = b.label[b.start[t] + j]
            if table.shape[0] > 1:
                cost_out[i, j] = table[mine + 2, other + 2]
            else:
                cost_out[i, j] = 0.0 if mine == other else table[0, 0]


@jit
def _forest_distances(a, s, b, t, k, l, bench):
    """Distances of the forests that begin at the leaves of nodes k and l and end at each node up to them.

    Row i + 1 of bench.forest ends with the i-th node from there.  Where both forests are whole subtrees of nodes on
    the leftmost paths, their distance is also put into bench.subtree, which must know the subtrees off these paths.
    """
    lo, other = a.start[s], b.start[t]
    i0, j0 = np.int64(a.first[lo + k]), np.int64(b.first[other + l])
    forest, subtree, rename = bench.forest, bench.subtree, bench.rename
    forest[0, 0] = 0.0
    for j in range(j0, l + 1):
        forest[0, j - j0 + 1] = forest[0, j - j0] + b.insert[other + j]
    for i in range(i0, k + 1):
        x = i - i0
        delete = a.delete[lo + i]
        before = a.first[lo + i] - i0  # the forest without the subtree of i
        left = forest[x, 0] + delete
        forest[x + 1, 0] = left
        for j in range(j0, l + 1):
            y = j - j0
            until = b.first[other + j] - j0  # the forest without the subtree of j
            left += b.insert[other + j]
            removed = forest[x, y + 1] + delete
            if removed < left:
                left = removed
            if before == 0 and until == 0:  # two whole subtrees: their roots may be matched
                matched = forest[x, y] + rename[i, j]
                if matched < left:
                    left = matched
                subtree[i, j] = left
            else:
                matched = forest[before, until] + subtree[i, j]
                if matched < left:
                    left = matched
            forest[x + 1, y + 1] = left


@jit
def _pair(a, s, b, t, table, bench):
    """Edit distance of tree s of a reading and tree t of another; fills bench.subtree and bench.rename."""
    _rename_costs(a, s, b, t, table, bench.rename)
    for p in range(a.key_start[s], a.key_start[s + 1]):
        for q in range(b.key_start[t], b.key_start[t + 1]):
            _forest_distances(a, s, b, t, a.key[p], b.key[q], bench)
    return bench.subtree[a.start[s + 1] - a.start[s] - 1, b.start[t + 1] - b.start[t] - 1]


@jit
def _room(a, rows, b, columns):
    """Scratch for the largest of these pairs."""
    n, m = 0, 0
    for s in rows:
        n = max(n, a.start[s + 1] - a.start[s])
    for t in columns:
        m = max(m, b.start[t + 1] - b.start[t])
    return Bench(np.empty((n, m)), np.empty((n + 1, m + 1)), np.empty((n, m)))


@jit
def distances(pairs, a, b, table, distance_out):
    """Edit distance of every pair of trees (pairs[x, 0] of a, pairs[x, 1] of b); a and b hold both readings."""
    bench = _room(a[0], pairs[:, 0], b[0], pairs[:, 1])
    for x in range(pairs.shape[0]):
        s, t = pairs[x, 0], pairs[x, 1]
        if a[0].work[s] * b[0].work[t] <= a[1].work[s] * b[1].work[t]:
            distance_out[x] = _pair(a[0], s, b[0], t, table, bench)
        else:
            distance_out[x] = _pair(a[1], s, b[1], t, table, bench)


@jit
def mapping(s, t, a, b, table):
    """A cheapest mapping of tree s onto tree t as rows (node, node), numbered as in their forests, and its cost."""
    left = a[0].work[s] * b[0].work[t] <= a[1].work[s] * b[1].work[t]
    one, two = (a[0], b[0]) if left else (a[1], b[1])
    bench = _room(one, np.array([s]), two, np.array([t]))
    cost = _pair(one, s, two, t, table, bench)
    lo, other = one.start[s], two.start[t]
    n, m = one.start[s + 1] - lo, two.start[t + 1] - other
    matched = np.empty((min(n, m), 2), np.int64)
    todo = np.empty((min(n, m) + 1, 2), np.int64)  # pairs of subtrees still to be mapped, all of them disjoint
    todo[0, 0], todo[0, 1] = n - 1, m - 1
    n_todo, n_matched = 1, 0
    while n_todo > 0:
        n_todo -= 1
        k, l = todo[n_todo]
        i0, j0 = one.first[lo + k], two.first[other + l]
        _forest_distances(one, s, two, t, k, l, bench)
        i, j = k, l
        while i >= i0 and j >= j0:  # what is left of either tree after that is left out
            x, y = i - i0, j - j0
            here = bench.forest[x + 1, y + 1]
            before, until = one.first[lo + i] - i0, two.first[other + j] - j0
            # Each choice repeats the sum that made the cell, so equality is exact; the order decides between equals.
            if here == bench.forest[x, y + 1] + one.delete[lo + i]:
                i -= 1
            elif here == bench.forest[x + 1, y] + two.insert[other + j]:
                j -= 1
            elif before == 0 and until == 0:
                matched[n_matched, 0] = one.node[lo + i]
                matched[n_matched, 1] = two.node[other + j]
                n_matched += 1
                i, j = i - 1, j - 1
            else:
                todo[n_todo, 0], todo[n_todo, 1] = i, j
                n_todo += 1
                i, j = one.first[lo + i] - 1, two.first[other + j] - 1
    return matched[:n_matched].copy(), cost
