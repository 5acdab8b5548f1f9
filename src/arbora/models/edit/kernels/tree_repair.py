"""Making a hierarchy-preserving matching one that has a tree union (models/tree_union.md).

Let S(x) be the matched pairs strictly below node x.  Some tree order extends both trees exactly if the sets S(x) of
both are laminar: no node x of one tree and y of the other may have pairs below both, below x alone and below y alone.
"""

import numpy as np

from ....forest.kernels.tree_shape import Match
from ....jit import jit

MOST_CONFLICTS = 200  # compared at once; more are left for the next round


@jit
def _above(parent):
    """above[x, u]: x is strictly above u."""
    n = parent.shape[0]
    above = np.zeros((n, n), np.bool_)
    for u in range(n):
        x = parent[u]
        while x < n:
            above[x, u] = True
            x = parent[x]
    return above


@jit
def _part(above_a, above_b, pairs, x, y, c):
    """Of pair c: 1 if it is below x alone, 2 below both x and y, 3 below y alone, 0 below neither."""
    if above_a[x, pairs[c, 0]]:
        return 2 if above_b[y, pairs[c, 1]] else 1
    return 3 if above_b[y, pairs[c, 1]] else 0


@jit
def _conflicts(above_a, above_b, pairs, alive, most):
    """Nodes x, y whose sets of pairs cross, at most so many of them."""
    found = np.empty((most, 2), np.int64)
    n_found = 0
    for x in range(above_a.shape[0]):
        for y in range(above_b.shape[0]):
            one = both = two = False
            for c in range(pairs.shape[0]):
                if alive[c]:
                    part = _part(above_a, above_b, pairs, x, y, c)
                    one, both, two = one or part == 1, both or part == 2, two or part == 3
            if one and both and two:
                found[n_found, 0], found[n_found, 1] = x, y
                n_found += 1
                if n_found == most:
                    return found
    return found[:n_found].copy()


@jit
def _n_solved(above_a, above_b, pairs, alive, conflicts, dropped):
    """How many conflicts end if the pairs of a part of a conflict, (conflict, part), are dropped."""
    q, part = dropped
    x, y = conflicts[q, 0], conflicts[q, 1]
    n_solved = 0
    for r in range(conflicts.shape[0]):
        one = both = two = False
        for c in range(pairs.shape[0]):
            if alive[c] and _part(above_a, above_b, pairs, x, y, c) != part:
                other = _part(above_a, above_b, pairs, conflicts[r, 0], conflicts[r, 1], c)
                one, both, two = one or other == 1, both or other == 2, two or other == 3
        n_solved += not (one and both and two)
    return n_solved


@jit
def _drop_until_laminar(above_a, above_b, gain, pairs, alive_out):
    """Drop the lightest part of a conflict, by weight for each conflict it ends, until none is left."""
    while True:
        conflicts = _conflicts(above_a, above_b, pairs, alive_out, MOST_CONFLICTS)
        if conflicts.shape[0] == 0:
            return
        best, worst_of, drop = np.inf, 0, 0
        for q in range(conflicts.shape[0]):
            for part in range(1, 4):
                weight = 0.0
                for c in range(pairs.shape[0]):
                    if alive_out[c] and _part(above_a, above_b, pairs, conflicts[q, 0], conflicts[q, 1], c) == part:
                        weight += gain[pairs[c, 0], pairs[c, 1]]
                price = weight / _n_solved(above_a, above_b, pairs, alive_out, conflicts, (q, part))
                if price < best:
                    best, worst_of, drop = price, q, part
        x, y = conflicts[worst_of, 0], conflicts[worst_of, 1]
        for c in range(pairs.shape[0]):
            if alive_out[c] and _part(above_a, above_b, pairs, x, y, c) == drop:
                alive_out[c] = False


@jit
def _fits(above_a, above_b, pairs, n_pairs, u, v):
    """Whether u and v are free and stand to every pair alike."""
    for c in range(n_pairs):
        x, y = pairs[c, 0], pairs[c, 1]
        if x == u or y == v or above_a[x, u] != above_b[y, v] or above_a[u, x] != above_b[v, y]:
            return False
    return True


@jit
def compatible(a, b, pairs):
    """Whether some tree order extends both shapes with these pairs of nodes made one."""
    alive = np.ones(pairs.shape[0], np.bool_)
    return _conflicts(_above(a.parent), _above(b.parent), pairs, alive, 1).shape[0] == 0


@jit
def repaired_pairs(a, b, gain, pairs):
    """Drop pairs until the rest has a tree union, then put in others, the best first, that leave it one."""
    above_a, above_b = _above(a.parent), _above(b.parent)
    alive = np.ones(pairs.shape[0], np.bool_)
    _drop_until_laminar(above_a, above_b, gain, pairs, alive)
    n, m = gain.shape
    kept = np.empty((min(n, m), 2), np.int64)
    n_kept = 0
    for c in range(pairs.shape[0]):
        if alive[c]:
            kept[n_kept, 0], kept[n_kept, 1] = pairs[c, 0], pairs[c, 1]
            n_kept += 1
    tried = np.zeros((n, m), np.bool_)  # a pair that does not fit now fits even less later
    while n_kept < min(n, m):
        best, u, v = 0.0, -1, -1
        for x in range(n):
            for y in range(m):
                if not tried[x, y] and gain[x, y] > best:
                    tried[x, y] = not _fits(above_a, above_b, kept, n_kept, x, y)
                    if not tried[x, y]:
                        best, u, v = gain[x, y], x, y
        if u < 0:
            break
        tried[u, v] = True
        kept[n_kept, 0], kept[n_kept, 1] = u, v
        trial = kept[: n_kept + 1]
        n_crossing = _conflicts(above_a, above_b, trial, np.ones(n_kept + 1, np.bool_), 1).shape[0]
        n_kept += n_crossing == 0
    partner = np.full(n, -1, np.int64)
    for c in range(n_kept):
        partner[kept[c, 0]] = kept[c, 1]
    out = np.empty((n_kept, 2), np.int64)
    at = 0
    for u in range(n):
        if partner[u] >= 0:
            out[at, 0], out[at, 1] = u, partner[u]
            at += 1
    return out


def repair(a, b, gain, pairs):
    """A matching with a tree union from one that only preserves the hierarchy; other pairs take what place is left."""
    mended = repaired_pairs(a, b, gain, pairs)
    return Match(mended, float(gain[mended[:, 0], mended[:, 1]].sum()), False)
