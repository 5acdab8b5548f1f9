"""Matching two unordered trees so that ancestry is kept both ways: the mappings of the unordered edit distance.

The best matching below a pair of nodes is a set of pairs no two of which are comparable in either tree: a clique of
largest weight in the graph of compatible pairs.  Weights are known bottom-up: that of a pair is its own gain and the
clique below it.  A pair that is worth no more than a pair below it is dropped, since the deeper one leaves more room.

Cliques are found exactly (`edit`), by replicator dynamics (`relaxation`, as in Torsello and Hancock 2003), or greedily
with swaps (`greedy`).  Exact search bounds a set of pairs by a linear programme: the pairs on a path from a leaf to the
root exclude each other, so at most one is taken for every leaf of either tree.  The programme is often integral, and
its reduced costs discard most pairs where it is not.
"""

from typing import NamedTuple

import numpy as np

from ....forest.kernels.tree_shape import Match
from ....jit import jit
from .clique_search import exact_clique, replicate
from .pair_cliques import CLOSE, NONE, Pairs, copy_into, extend, in_post_order, largest_first, swap
from .tree_repair import repair

__all__ = ["BUDGET", "edit", "greedy", "propagate", "relaxation", "repair"]

EXACT, GREEDY, RELAXATION = np.int64(0), np.int64(1), np.int64(2)
BUDGET = 200_000  # of the search of one exact matching: sets of pairs bounded, large ones counted by the work they are
SCAN = 1_000  # pairs of nodes that may be looked at for each of the budget; past that, only the best below children are


# ---- propagation ----------------------------------------------------------------------------------------------------


@jit
def _candidates(a, b, weight, u, v):
    """Live pairs strictly below u and v."""
    n = 0
    for x in range(a.first[u], u):
        for y in range(b.first[v], v):
            n += weight[x, y] > 0.0
    pairs = Pairs(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
    n = 0
    for x in range(a.first[u], u):
        for y in range(b.first[v], v):
            if weight[x, y] > 0.0:
                pairs.u[n], pairs.v[n], pairs.weight[n] = x, y, weight[x, y]
                n += 1
    return pairs


@jit
def _grain(gain):
    """The smallest positive gain if all others are multiples of it, else 0."""
    least = np.inf
    for value in gain.ravel():
        if 0.0 < value < least:
            least = value
    for value in gain.ravel():
        if value > 0.0 and abs(value / least - np.round(value / least)) > 1e-12:
            return 0.0
    return least if least < np.inf else 0.0


@jit
def _clique(method, a, b, pairs, limits, chosen_out):
    """A heavy set of pairs that go together: its size, the sets bounded, and whether it is certainly the heaviest."""
    if method == RELAXATION:
        n_chosen, _ = extend(a, b, pairs, replicate(a, b, pairs), NONE, chosen_out)
        return n_chosen, 0, pairs.u.shape[0] < 2
    order = largest_first(pairs.weight)
    if method == GREEDY:
        n_chosen, _ = swap(a, b, pairs, order, chosen_out)
        return n_chosen, 0, pairs.u.shape[0] < 2
    n_chosen, _ = extend(a, b, pairs, order, NONE, chosen_out)
    n_chosen, _, n_bounded, exact = exact_clique(a, b, pairs, limits, n_chosen, chosen_out)
    return n_chosen, n_bounded, exact


class Below(NamedTuple):
    """What is known of pairs of nodes (in post-order) and of what is below them."""

    weight: np.ndarray  # float64 (n, m): gain of the pair and of the clique below; 0 where a pair is not live
    deep: np.ndarray  # float64 (n, m): largest weight weakly below
    deep_at: np.ndarray  # int64 (n, m): where, as u * m + v; -1 where nothing is live
    inner: np.ndarray  # float64 (n + 1, m + 1): weight of the clique strictly below
    kept: np.ndarray  # int64 (n + 1, m + 1): where that clique begins in the pool; -1 where it was not wanted


@jit
def _deepest(a, b, u, v, below):
    """Fill in the largest weight below u and v, the pair itself left out."""
    x, y = u - 1, v - 1
    while x >= a.first[u]:  # the children of u
        if below.deep[x, v] > below.deep[u, v]:
            below.deep[u, v], below.deep_at[u, v] = below.deep[x, v], below.deep_at[x, v]
        x = a.first[x] - 1
    while y >= b.first[v]:
        if below.deep[u, y] > below.deep[u, v]:
            below.deep[u, v], below.deep_at[u, v] = below.deep[u, y], below.deep_at[u, y]
        y = b.first[y] - 1


@jit
def _both_roots(a, b, u, v):
    """Whether u and v are the virtual roots of two shapes with one root each."""
    n, m = a.node.shape[0] - 1, b.node.shape[0] - 1
    return u == n and v == m and n > 0 and m > 0 and a.first[n - 1] == 0 and b.first[m - 1] == 0


@jit
def _inherit(a, b, u, v, below):
    """The best clique known below a child of u and v, or u and a child of v, as these two nodes; -1 if none is."""
    if _both_roots(a, b, u, v):
        return u - 1, v - 1
    best, at, other = 0.0, -1, -1
    x, y = u - 1, v - 1
    while x >= a.first[u]:
        if below.kept[x, v] >= 0 and below.inner[x, v] > best:
            best, at, other = below.inner[x, v], x, v
        x = a.first[x] - 1
    while y >= b.first[v]:
        if below.kept[u, y] >= 0 and below.inner[u, y] > best:
            best, at, other = below.inner[u, y], u, y
        y = b.first[y] - 1
    return at, other


@jit
def _single_pair(a, b, u, v, below):
    """Where u or v has one child only: the pair of that child that is worth most below u and v, if nothing else counts.

    A clique below u is then that pair alone, or below the child.  Node -1 where neither has one child, or cliques below
    it are not known; node -2 where no pair is live.
    """
    c, d = u - 1, v - 1
    best, at, other = 0.0, -2, -2
    if _both_roots(a, b, u, v):  # a pair with a root in it stands alone; all others are below both
        m = below.weight.shape[1]
        at = below.deep_at[c, d]
        return (at // m, at % m) if at >= 0 else (-2, -2)
    if c >= 0 and a.first[c] == a.first[u] and c >= a.first[u] and below.kept[c, v] >= 0:
        for y in range(b.first[v], v):
            if below.weight[c, y] > best:
                best, at, other = below.weight[c, y], c, y
        return at, other
    if d >= 0 and b.first[d] == b.first[v] and d >= b.first[v] and below.kept[u, d] >= 0:
        for x in range(a.first[u], u):
            if below.weight[x, d] > best:
                best, at, other = below.weight[x, d], x, d
        return at, other
    return -1, -1


@jit
def _coarse_candidates(a, b, u, v, below):
    """The best pair below each pair of children: a choice of candidates that stays small in any tree."""
    m = below.weight.shape[1]
    n, x = 0, u - 1
    pairs = Pairs(np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16))
    while x >= a.first[u]:
        y = v - 1
        while y >= b.first[v]:
            if below.deep_at[x, y] >= 0:
                if n == pairs.u.shape[0]:
                    more = Pairs(np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n))
                    copy_into(pairs.u, n, more.u)
                    copy_into(pairs.v, n, more.v)
                    for z in range(n):
                        more.weight[z] = pairs.weight[z]
                    pairs = more
                at = below.deep_at[x, y]
                pairs.u[n], pairs.v[n], pairs.weight[n] = at // m, at % m, below.deep[x, y]
                n += 1
            y = b.first[y] - 1
        x = a.first[x] - 1
    return Pairs(pairs.u[:n], pairs.v[:n], pairs.weight[:n])


@jit
def _store(pool, n_pool, pairs, n_chosen, chosen):
    """Write a clique into the pool, its size before it; the pool, moved to a larger place if need be."""
    if n_pool + n_chosen + 1 > pool.shape[0]:
        larger = np.empty((2 * (n_pool + n_chosen + 1), 2), np.int64)
        for x in range(n_pool):
            larger[x, 0], larger[x, 1] = pool[x, 0], pool[x, 1]
        pool = larger
    pool[n_pool, 0] = n_chosen
    for x in range(n_chosen):
        pool[n_pool + 1 + x, 0], pool[n_pool + 1 + x, 1] = pairs.u[chosen[x]], pairs.v[chosen[x]]
    return pool


@jit
def propagate(parent_1, parent_2, gain, method, budget):
    """Match two shapes bottom-up: matched pairs in the shapes' numbers, and whether no legal matching is worth more."""
    a, b = in_post_order(parent_1), in_post_order(parent_2)
    n, m = a.node.shape[0] - 1, b.node.shape[0] - 1
    table = np.zeros((n + 1, m + 1))
    kept = np.full((n + 1, m + 1), -1, np.int64)
    below = Below(np.zeros((n, m)), np.zeros((n, m)), np.full((n, m), -1, np.int64), table, kept)
    pool = np.empty((64, 2), np.int64)
    n_pool, n_scanned, exact, grain = 0, 0, True, _grain(gain)
    most_scanned = SCAN * (budget if method == EXACT else BUDGET)
    for u in range(n + 1):
        for v in range(m + 1):
            top = u == n and v == m
            if not top and (u == n or v == m):
                continue
            if not top:
                _deepest(a, b, u, v, below)
                if gain[a.node[u], b.node[v]] <= 0.0 and (u < n - 1 or v < m - 1):
                    continue
            at, other = _single_pair(a, b, u, v, below) if method != RELAXATION else (-1, -1)
            sure, n_bounded = True, 0
            if at != -1:
                one = 1 if at >= 0 else 0
                pairs = Pairs(np.empty(one, np.int64), np.empty(one, np.int64), np.empty(one))
                if one:
                    pairs.u[0], pairs.v[0], pairs.weight[0] = at, other, below.weight[at, other]
            elif n_scanned > most_scanned:
                pairs, sure = _coarse_candidates(a, b, u, v, below), False
            else:
                pairs = _candidates(a, b, below.weight, u, v)
                n_scanned += (u - a.first[u]) * (v - b.first[v])
            chosen = np.empty(pairs.u.shape[0], np.int64)
            n_chosen, total = NONE, 0.0
            if not sure:
                n_chosen, _ = extend(a, b, pairs, largest_first(pairs.weight), NONE, chosen)
            elif pairs.u.shape[0]:
                n_chosen, n_bounded, sure = _clique(method, a, b, pairs, (grain, budget), chosen)
            budget -= n_bounded
            exact = exact and sure
            for x in range(n_chosen):
                total += pairs.weight[chosen[x]]
            x, y = _inherit(a, b, u, v, below) if method != RELAXATION else (-1, -1)
            if x >= 0 and below.inner[x, y] > total:
                total = below.inner[x, y]
                kept[u, v] = kept[x, y]
            else:
                pool = _store(pool, n_pool, pairs, n_chosen, chosen)
                kept[u, v] = n_pool
                n_pool += n_chosen + 1
            below.inner[u, v] = total
            if not top and gain[a.node[u], b.node[v]] > 0.0:
                total += gain[a.node[u], b.node[v]]
                if total > below.deep[u, v] * (1.0 + CLOSE):
                    below.weight[u, v] = below.deep[u, v] = total
                    below.deep_at[u, v] = u * m + v
    return _trace_back(a, b, kept, pool), exact


@jit
def _trace_back(a, b, kept, pool):
    """All pairs under the virtual roots, by node of the first shape."""
    n, m = a.node.shape[0] - 1, b.node.shape[0] - 1
    partner = np.full(n + 1, -1, np.int64)
    todo = np.empty((min(n, m) + 1, 2), np.int64)
    todo[0, 0], todo[0, 1] = n, m
    n_todo, n_matched = 1, 0
    while n_todo > 0:
        n_todo -= 1
        at = kept[todo[n_todo, 0], todo[n_todo, 1]]
        for x in range(at + 1, at + 1 + pool[at, 0]):
            partner[a.node[pool[x, 0]]] = b.node[pool[x, 1]]
            n_matched += 1
            todo[n_todo, 0], todo[n_todo, 1] = pool[x, 0], pool[x, 1]
            n_todo += 1
    matched = np.empty((n_matched, 2), np.int64)
    at = 0
    for u in range(n):
        if partner[u] >= 0:
            matched[at, 0], matched[at, 1] = u, partner[u]
            at += 1
    return matched


@jit
def _rename_cost(a, u, b, v, table):
    """Cost of matching two nodes: by label + 2 from the table, or, if it is 1 x 1, one price for different labels."""
    mine, other = a.label[u], b.label[v]
    if table.shape[0] > 1:
        return table[mine + 2, other + 2]
    return 0.0 if mine == other else table[0, 0]


@jit
def map_trees(a, s, b, t, table, budget):
    """Matched nodes of a cheapest edit of tree s into tree t, its cost, and whether it certainly is the cheapest."""
    lo, other = a.start[s], b.start[t]
    n, m = a.start[s + 1] - lo, b.start[t + 1] - other
    gain = np.empty((n, m))  # what matching two nodes saves over leaving both out
    for i in range(n):
        for j in range(m):
            rename = _rename_cost(a, lo + i, b, other + j, table)
            gain[i, j] = a.delete[lo + i] + b.insert[other + j] - rename
    matched, exact = propagate(a.parent[lo : lo + n], b.parent[other : other + m], gain, EXACT, budget)
    stays_1, stays_2 = np.zeros(n, np.bool_), np.zeros(m, np.bool_)
    cost = 0.0  # added up, not taken off the whole, so that equal trees are at exactly 0
    for c in range(matched.shape[0]):
        i, j = matched[c, 0], matched[c, 1]
        stays_1[i] = stays_2[j] = True
        cost += _rename_cost(a, lo + i, b, other + j, table)
    for i in range(n):
        if not stays_1[i]:
            cost += a.delete[lo + i]
    for j in range(m):
        if not stays_2[j]:
            cost += b.insert[other + j]
    return matched, cost, exact


@jit
def distances(pairs, a, b, table, budget, found_out):
    """Unordered edit distance of every pair of trees (pairs[x, 0] of a, pairs[x, 1] of b), and whether it is exact.

    `found_out` holds both, a pair of arrays.
    `table` holds the cost of a rename by label + 2, or, if it is 1 x 1, the one price of them all.
    """
    distance_out, exact_out = found_out
    for x in range(pairs.shape[0]):
        _, distance_out[x], exact_out[x] = map_trees(a, pairs[x, 0], b, pairs[x, 1], table, budget)


def edit(a, b, gain, budget=BUDGET):
    """The matching of an unordered edit distance, exact if the budget of bounded sets is enough."""
    return _match(a, b, gain, EXACT, budget)


def greedy(a, b, gain):
    """A matching from greedy cliques improved by swaps."""
    return _match(a, b, gain, GREEDY, 0)


def relaxation(a, b, gain):
    """A matching from cliques by replicator dynamics, as in Torsello and Hancock 2003."""
    return _match(a, b, gain, RELAXATION, 0)


def _match(a, b, gain, method, budget):
    pairs, exact = propagate(a.parent, b.parent, gain, method, budget)
    return Match(pairs, float(gain[pairs[:, 0], pairs[:, 1]].sum()), bool(exact))
