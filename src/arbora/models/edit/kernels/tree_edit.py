"""Ordered tree edit distance (Zhang and Shasha 1989), with the mapping behind it.

A tree is read in post-order.  The distance of two subtrees needs the distances of the forests to the left of each of
their nodes, and the subtrees of *key* nodes (the root, and every node with a sibling before it) are enough to reach
all pairs: the time of a pair is the product of the two sums of key subtree sizes.  Mirroring both trees changes
the sums and not the distance, so every tree is prepared both ways and each pair takes the cheaper one.
"""

from typing import NamedTuple

import numpy as np

from ....jit import jit

NONE = np.int64(0)  # a plain 0 in a call would be compiled as a type of its own


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
    node: np.ndarray  # int64: what the caller calls the node


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
def _forest_distances(a, s, b, t, keys, bench):
    """Distances of the forests that begin at the leaves of two nodes, `keys`, and end at each node up to them.

    Row i + 1 of bench.forest ends with the i-th node from there.  Where both forests are whole subtrees of nodes on
    the leftmost paths, their distance is also put into bench.subtree, which must know the subtrees off these paths.
    """
    k, l = keys
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
            _forest_distances(a, s, b, t, (np.int64(a.key[p]), np.int64(b.key[q])), bench)
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
def _trace_back(one, two, table):
    """A cheapest mapping between the only trees of two readings, and its cost."""
    n, m = one.label.shape[0], two.label.shape[0]
    bench = Bench(np.empty((n, m)), np.empty((n + 1, m + 1)), np.empty((n, m)))
    cost = _pair(one, NONE, two, NONE, table, bench)
    matched = np.empty((min(n, m), 2), np.int64)
    todo = np.empty((min(n, m) + 1, 2), np.int64)  # pairs of subtrees still to be mapped, all of them disjoint
    todo[0, 0], todo[0, 1] = n - 1, m - 1
    n_todo, n_matched = 1, 0
    while n_todo > 0:
        n_todo -= 1
        k, l = todo[n_todo, 0], todo[n_todo, 1]
        i0, j0 = one.first[k], two.first[l]
        _forest_distances(one, NONE, two, NONE, (k, l), bench)
        i, j = k, l
        while i >= i0 and j >= j0:  # what is left of either tree after that is left out
            x, y = i - i0, j - j0
            here = bench.forest[x + 1, y + 1]
            before, until = one.first[i] - i0, two.first[j] - j0
            # Each choice repeats the sum that made the cell, so equality is exact; the order decides between equals.
            if here == bench.forest[x, y + 1] + one.delete[i]:
                i -= 1
            elif here == bench.forest[x + 1, y] + two.insert[j]:
                j -= 1
            elif before == 0 and until == 0:
                matched[n_matched, 0] = one.node[i]
                matched[n_matched, 1] = two.node[j]
                n_matched += 1
                i, j = i - 1, j - 1
            else:
                todo[n_todo, 0], todo[n_todo, 1] = i, j
                n_todo += 1
                i, j = one.first[i] - 1, two.first[j] - 1
    return matched[:n_matched].copy(), cost


@jit
def _places(forest, t, mirrored):
    """Post-order place of each node of a tree whose siblings are stored by slot, of it or of its mirror image.

    A place of -1 at the root says that siblings are not stored by slot.
    """
    lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
    size = np.ones(hi - lo, np.int64)
    last = np.full(hi - lo, -1, np.int64)  # slot of the last child met
    place = np.empty(hi - lo, np.int64)
    for u in range(lo, hi - 1):
        p = forest.parent[u] - lo
        size[p] += size[u - lo]
        if forest.slot[u] <= last[p]:
            place[-1] = -1
            return place
        last[p] = forest.slot[u]
    free = np.empty(hi - lo, np.int64)  # first place of the subtree not given away, or one past the last
    free[-1] = 0 if mirrored else hi - lo - 1
    place[-1] = hi - lo - 1
    for u in range(hi - 2, lo - 1, -1):  # siblings come last to first
        p = forest.parent[u] - lo
        n = size[u - lo]
        if mirrored:
            begin = free[p]
            free[p] += n
            free[u - lo] = begin
        else:
            free[p] -= n
            begin = free[p]
            free[u - lo] = begin + n - 1
        place[u - lo] = begin + n - 1
    return place


@jit
def _read_tree(forest, t, place, number, costs):
    """The reading of one tree from the post-order places of its nodes; they are called by `number`."""
    lo, n = forest.tree_start[t], place.shape[0]
    parent, order, start = np.empty(n, np.int64), np.empty(n, np.int64), np.array([0, n])
    label, delete, insert = np.empty(n, np.int32), np.empty(n), np.empty(n)
    node = np.empty(n, np.int64)
    for u in range(n):
        x = place[u]
        order[x] = u
        parent[u] = forest.parent[lo + u] - lo if u < n - 1 else -1
        label[x] = forest.label[lo + u]
        delete[x], insert[x] = costs.delete[label[x] + 2], costs.insert[label[x] + 2]
        node[x] = number[u]
    first, key_start, key, work = read_order(parent, order, start)
    return Reading(start, label, first, delete, insert, key_start, key, work, node)


@jit
def mapping(one, s, two, t, costs):
    """A cheapest mapping of tree s of a forest onto tree t of another, its cost, and whether it could be found.

    Rows are (node, node), both counted in post-order.  It cannot be found where siblings are not stored by slot.
    """
    left_1, left_2 = _places(one, s, False), _places(two, t, False)
    if left_1[-1] < 0 or left_2[-1] < 0:
        return np.empty((0, 2), np.int64), 0.0, False
    a, b = _read_tree(one, s, left_1, left_1, costs), _read_tree(two, t, left_2, left_2, costs)
    c = _read_tree(one, s, _places(one, s, True), left_1, costs)
    d = _read_tree(two, t, _places(two, t, True), left_2, costs)
    if a.work[0] * b.work[0] <= c.work[0] * d.work[0]:
        pairs, cost = _trace_back(a, b, costs.rename)
    else:
        pairs, cost = _trace_back(c, d, costs.rename)
    return pairs, cost, True
