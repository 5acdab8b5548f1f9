"""Slow, obvious twins for tree unions: matchings by enumeration, by integer programming and by the plain recursion."""

from functools import cache
from itertools import combinations
from math import lgamma, log, pi

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def random_parents(rng, n):
    """A random recursive tree: parents, children before parents, -1 at the root."""
    parent = [-1] + [int(rng.integers(u)) for u in range(1, n)]
    return np.array([-1 if p < 0 else n - 1 - p for p in reversed(parent)])


def random_forest_parents(rng, n):
    """As random_parents, with several roots."""
    parent = [int(rng.integers(-1, u)) for u in range(n)]
    return np.array([-1 if p < 0 else n - 1 - p for p in reversed(parent)])


def is_above(parent):
    """above[x, y]: x is a proper ancestor of y."""
    n = len(parent)
    above = np.zeros((n, n), bool)
    for y in range(n):
        x = parent[y]
        while 0 <= x < n:
            above[x, y] = True
            x = parent[x]
    return above


def keeps_hierarchy(above_1, above_2, pairs):
    """One to one, and u above u' exactly if v above v'."""
    for (u, v), (x, y) in combinations(pairs, 2):
        if u == x or v == y or above_1[u, x] != above_2[v, y] or above_1[x, u] != above_2[y, v]:
            return False
    return True


def has_union(above_1, above_2, pairs):
    """Whether the sets of matched nodes below each node of both trees are laminar."""
    sets = [frozenset(k for k, (u, _) in enumerate(pairs) if above_1[x, u]) for x in range(len(above_1))]
    sets += [frozenset(k for k, (_, v) in enumerate(pairs) if above_2[y, v]) for y in range(len(above_2))]
    return all(not s & t or s <= t or t <= s for s, t in combinations(sets, 2))


def best_by_enumeration(parent_1, parent_2, gain, union=True):
    """Greatest value of a legal matching, by trying all of them."""
    above_1, above_2 = is_above(parent_1), is_above(parent_2)
    best = 0.0

    def extend(u, pairs, value):
        nonlocal best
        if u == len(parent_1):
            if value > best and (not union or has_union(above_1, above_2, pairs)):
                best = value
            return
        extend(u + 1, pairs, value)
        for v in range(len(parent_2)):
            if gain[u, v] > 0 and keeps_hierarchy(above_1, above_2, [*pairs, (u, v)]):
                extend(u + 1, [*pairs, (u, v)], value + gain[u, v])

    extend(0, [], 0.0)
    return best


def best_by_milp(parent_1, parent_2, gain, union=True):
    """Greatest value of a legal matching by an integer programme; triples that conflict are cut off as they appear."""
    above_1, above_2 = is_above(parent_1), is_above(parent_2)
    pairs = [(u, v) for u in range(len(parent_1)) for v in range(len(parent_2)) if gain[u, v] > 0]
    if not pairs:
        return 0.0
    rows = [
        _row(len(pairs), (x, y))
        for x, y in combinations(range(len(pairs)), 2)
        if not keeps_hierarchy(above_1, above_2, [pairs[x], pairs[y]])
    ]
    limits = [1.0] * len(rows)
    weight = np.array([gain[p] for p in pairs])
    while True:
        constraints = [LinearConstraint(np.array(rows), -np.inf, np.array(limits))] if rows else []
        found = milp(-weight, constraints=constraints, integrality=np.ones(len(pairs)), bounds=Bounds(0, 1))
        chosen = np.flatnonzero(found.x > 0.5)
        conflicts = _conflicts(above_1, above_2, pairs, chosen) if union else []
        if not conflicts:
            return float(weight[chosen].sum())
        for triple in conflicts:
            rows.append(_row(len(pairs), triple))
            limits.append(2.0)


def _row(n, members):
    row = np.zeros(n)
    row[list(members)] = 1.0
    return row


def _conflicts(above_1, above_2, pairs, chosen):
    """Triples of chosen pairs resolved differently: two below a node of the first tree, two others in the second."""
    out = []
    for triple in combinations(chosen, 3):
        for b, c, d in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            first, second = [pairs[k][0] for k in triple], [pairs[k][1] for k in triple]
            in_1 = (above_1[:, first[b]] & above_1[:, first[c]] & ~above_1[:, first[d]]).any()
            in_2 = (above_2[:, second[c]] & above_2[:, second[d]] & ~above_2[:, second[b]]).any()
            if in_1 and in_2:
                out.append(triple)
                break
    return out


def best_by_recursion(parent_1, parent_2, gain):
    """The alignment recursion over nodes and sets of children, as written in models/tree_union.md."""
    kids_1, kids_2 = _children(parent_1), _children(parent_2)

    @cache
    def tree(i, j):
        return max(
            max(0.0, gain[i, j]) + forest(kids_1[i], kids_2[j]),
            *(tree(r, j) for r in kids_1[i]),
            *(tree(i, s) for s in kids_2[j]),
            0.0,
        )

    @cache
    def forest(a, b):
        if not a or not b:
            return 0.0
        r = min(a)
        rest = a - {r}
        best = forest(rest, b)
        for some in _subsets(b):
            if len(some) == 1:
                best = max(best, tree(r, min(some)) + forest(rest, b - some))
            elif some:
                best = max(best, forest(kids_1[r], some) + forest(rest, b - some))
        for s in b:
            for some in _subsets(rest):
                if some:
                    best = max(best, forest(some | {r}, kids_2[s]) + forest(rest - some, b - {s}))
        return best

    return forest(kids_1[-1], kids_2[-1])


def _children(parent):
    kids = {u: [] for u in range(-1, len(parent))}
    for u, p in enumerate(parent):
        kids[int(p) if 0 <= p < len(parent) else -1].append(u)
    return {u: frozenset(v) for u, v in kids.items()}


def _subsets(items):
    items = sorted(items)
    for size in range(len(items) + 1):
        for some in combinations(items, size):
            yield frozenset(some)


# ---- description length ---------------------------------------------------------------------------------------------


def code_length(code, n, p):
    """Length in nats of saying which p of n samples have a node."""
    if code == "ml":
        return sum(-x * log(x / n) for x in (p, n - p) if x > 0)
    return log(pi) + lgamma(n + 1) - lgamma(p + 0.5) - lgamma(n - p + 0.5)


def label_length(counts, prior, strength=1.0):
    """Dirichlet-multinomial code of the labels of a node, one observation after the other."""
    total, seen = 0.0, {}
    for m, c in counts.items():
        for _ in range(c):
            total -= log((seen.get(m, 0) + strength * prior[m]) / (sum(seen.values()) + strength))
            seen[m] = seen.get(m, 0) + 1
    return total


def node_length(code, n, count, labels, prior, node_cost=1.0, noise_cost=np.inf):
    """Length of one node: kept in the union, or told with each sample."""
    kept = node_cost + code_length(code, n, count) + label_length(labels, prior)
    told = noise_cost * count - sum(c * log(prior[m]) for m, c in labels.items())
    return min(kept, told)


def description_length(unions, code, prior, node_cost=1.0, noise_cost=np.inf):
    """Length of a mixture from lists of (number of samples, [(count, labels) of each node]), Eq. (2)."""
    n = sum(size for size, _ in unions)
    total = n * log(n)
    for size, nodes in unions:
        total -= size * log(size)
        total += sum(node_length(code, size, count, labels, prior, node_cost, noise_cost) for count, labels in nodes)
    return total
