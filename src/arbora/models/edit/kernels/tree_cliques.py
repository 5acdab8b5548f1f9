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
from .tree_repair import repair

__all__ = ["BUDGET", "edit", "greedy", "propagate", "relaxation", "repair"]

# Not plain numbers: in a call, each of those would be compiled as a type of its own.
NONE = np.int64(0)
EXACT, GREEDY, RELAXATION = np.int64(0), np.int64(1), np.int64(2)
BUDGET = 200_000  # of the search of one exact matching: sets of pairs bounded, large ones counted by the work they are
STEP = 100_000  # cells of a tableau changed that count as one more bounded set
SCAN = 1_000  # pairs of nodes that may be looked at for each of the budget; past that, only the best below children are
MAX_CELLS = 4_000_000  # of one linear programme: a larger one is not set up, and the matching is not exact
CLOSE = 1e-9  # values closer than this, relative to the largest gain, are the same


class Order(NamedTuple):
    """The nodes of a shape in post-order, the virtual root last, so that what is below a node is a range."""

    node: np.ndarray  # int64: the node as the shape numbers it
    first: np.ndarray  # int64: below x are first[x] .. x - 1
    leaf: np.ndarray  # int64 one longer: number of leaves before x


class Trees(NamedTuple):
    """Many trees as the distances take them; nodes as in the forest, numbered from the first of their tree."""

    start: np.ndarray  # int64 by tree and one more
    parent: np.ndarray  # int64; the number of nodes of the tree at its root
    label: np.ndarray  # int32
    delete: np.ndarray  # float64: cost of leaving the node out when its tree is the first of a pair
    insert: np.ndarray  # float64: the same when its tree is the second


class Pairs(NamedTuple):
    """Candidates for a clique: node u[c] of one tree with v[c] of the other (in post-order), worth weight[c]."""

    u: np.ndarray  # int64
    v: np.ndarray  # int64
    weight: np.ndarray  # float64


@jit
def _in_post_order(parent):
    """Post-order of a shape without recursion: sizes upwards, then places downwards."""
    n = parent.shape[0]
    size = np.ones(n + 1, np.int64)
    for u in range(n):
        size[parent[u]] += size[u]
    node, first, leaf = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(n + 2, np.int64)
    begin = np.zeros(n + 1, np.int64)  # first place below the node that is still free
    for u in range(n, -1, -1):
        if u < n:
            begin[u] = begin[parent[u]]
            begin[parent[u]] += size[u]
        place = begin[u] + size[u] - 1
        node[place], first[place] = u, begin[u]
    for x in range(n + 1):
        leaf[x + 1] = leaf[x] + (first[x] == x)
    return Order(node, first, leaf)


@jit
def _largest_first(value):
    """Places of the values from the largest to the smallest, ties in order (a heap sort: numpy's compiles slowly)."""
    n = value.shape[0]
    heap = np.arange(n)  # the last of the order on top
    size = n
    start = n // 2
    while size > 1:
        if start > 0:
            start -= 1
        else:
            size -= 1
            heap[0], heap[size] = heap[size], heap[0]
        at = start
        while 2 * at + 1 < size:
            low = 2 * at + 1
            if low + 1 < size and _later(value, heap[low + 1], heap[low]):
                low += 1
            if not _later(value, heap[low], heap[at]):
                break
            heap[at], heap[low] = heap[low], heap[at]
            at = low
    return heap


@jit
def _later(value, x, y):
    """Whether place x comes after place y."""
    return value[x] < value[y] or (value[x] == value[y] and x > y)


@jit
def _clash(a, b, pairs, c, d):
    """Whether two pairs cannot be in one clique: their nodes are comparable, or the same, in either tree."""
    u, v = max(pairs.u[c], pairs.u[d]), min(pairs.u[c], pairs.u[d])
    if a.first[u] <= v:
        return True
    u, v = max(pairs.v[c], pairs.v[d]), min(pairs.v[c], pairs.v[d])
    return b.first[u] <= v


@jit
def _copy(source, n, out):
    """The first n entries (a slice on the left of an assignment takes seconds to compile)."""
    for x in range(n):
        out[x] = source[x]


@jit
def _extend(a, b, pairs, order, n_chosen, chosen_out):
    """Add pairs to a clique, in this order, as long as they fit; its size and weight."""
    for c in order:
        fits = True
        for x in range(n_chosen):
            if _clash(a, b, pairs, c, chosen_out[x]):
                fits = False
                break
        if fits:
            chosen_out[n_chosen] = c
            n_chosen += 1
    total = 0.0
    for x in range(n_chosen):
        total += pairs.weight[chosen_out[x]]
    return n_chosen, total


@jit
def _swap(a, b, pairs, order, chosen_out):
    """While that gains: put in a pair, take out those it excludes, and fill up; size and weight of the clique."""
    n_chosen, total = _extend(a, b, pairs, order, NONE, chosen_out)
    trial = np.empty(order.shape[0], np.int64)
    improved = True
    while improved:
        improved = False
        for c in order:
            trial[0] = c
            n_trial = NONE + 1
            for x in range(n_chosen):
                if not _clash(a, b, pairs, c, chosen_out[x]):
                    trial[n_trial] = chosen_out[x]
                    n_trial += 1
            n_trial, value = _extend(a, b, pairs, order, n_trial, trial)
            if value > total * (1.0 + CLOSE):
                n_chosen, total, improved = n_trial, value, True
                _copy(trial, n_trial, chosen_out)
    return n_chosen, total


# ---- the linear programme -------------------------------------------------------------------------------------------


@jit
def _leaf_range(order, node, live):
    """First leaf below these nodes, and how many there are from it to the last."""
    low, high = order.leaf[-1], 0
    for c in live:
        low = min(low, order.leaf[order.first[node[c]]])
        high = max(high, order.leaf[node[c] + 1])
    return low, high - low


@jit
def _set_up(a, b, pairs, live, table_out):
    """Tableau of: the most weight of the pairs listed in `live`, with at most one on the way up from every leaf.

    Row r is a leaf of either tree, column x the pair live[x], the last row the objective, the last column the bounds.
    """
    a_leaf, n_a = _leaf_range(a, pairs.u, live)
    b_leaf, n_b = _leaf_range(b, pairs.v, live)
    n_rows, n_columns = n_a + n_b, live.shape[0]
    table = table_out[: (n_rows + 1) * (n_columns + 1)].reshape(n_rows + 1, n_columns + 1)
    for r in range(n_rows + 1):
        for x in range(n_columns):
            table[r, x] = 0.0
        table[r, n_columns] = 1.0
    table[n_rows, n_columns] = 0.0
    for x in range(n_columns):
        u, v = pairs.u[live[x]], pairs.v[live[x]]
        for r in range(a.leaf[a.first[u]] - a_leaf, a.leaf[u + 1] - a_leaf):
            table[r, x] = 1.0
        for r in range(b.leaf[b.first[v]] - b_leaf + n_a, b.leaf[v + 1] - b_leaf + n_a):
            table[r, x] = 1.0
        table[n_rows, x] = -pairs.weight[live[x]]
    return table


@jit
def _pivot(table, r, x):
    """Exchange the variable of row r with that of column x."""
    inverse = 1.0 / table[r, x]
    table[r, x] = 1.0
    for y in range(table.shape[1]):
        table[r, y] *= inverse
    for s in range(table.shape[0]):
        factor = table[s, x]
        if s == r or factor == 0.0:
            continue
        table[s, x] = 0.0
        for y in range(table.shape[1]):
            table[s, y] -= factor * table[r, y]


@jit
def _simplex(table, basis_out, outside_out):
    """Solve the tableau in place; the number of pivots, and False if it takes too long.

    basis_out[r] and outside_out[x] are the variables of rows and columns: a pair if below the number of columns, else
    the slack of a row.  The largest fall is taken until many steps in a row gain nothing; then the lowest numbers are,
    which cannot go round in circles.
    """
    n_rows, n_columns = table.shape[0] - 1, table.shape[1] - 1
    scale = 0.0
    for x in range(n_columns):
        outside_out[x] = x
        scale = max(scale, -table[n_rows, x])
    for r in range(n_rows):
        basis_out[r] = n_columns + r
    idle = 0
    most = 50 * (n_rows + 10)
    for step in range(most):
        enter, least = NONE - 1, -1e-11 * scale
        for x in range(n_columns):
            if table[n_rows, x] < least:
                if idle < 20:
                    enter, least = x, table[n_rows, x]
                elif enter < 0 or outside_out[x] < outside_out[enter]:
                    enter = x
        if enter < 0:
            return step, True
        leave, ratio = NONE - 1, np.inf
        for r in range(n_rows):
            if table[r, enter] > 1e-9:
                here = max(table[r, n_columns], 0.0) / table[r, enter]
                if leave < 0 or here < ratio - 1e-12 or (here < ratio + 1e-12 and basis_out[r] < basis_out[leave]):
                    leave, ratio = r, here
        if leave < 0:  # cannot be: every pair is bounded; rounding has spoilt the table
            return step, False
        idle = idle + 1 if ratio < 1e-12 else 0
        _pivot(table, leave, enter)
        basis_out[leave], outside_out[enter] = outside_out[enter], basis_out[leave]
    return most, False


class Stack(NamedTuple):
    """Sets of pairs still to be searched, one after another in a pool: first the pairs taken, then the open ones."""

    start: np.ndarray  # int64 by set and one more: where it begins in the pool
    n_fixed: np.ndarray  # int64 by set: pairs taken
    pool: np.ndarray  # int64


@jit
def _push(stack, at, fixed, live):
    """Put a set on the stack as its `at`-th; the stack, moved to a larger place if need be."""
    n_fixed, n_live = fixed.shape[0], live.shape[0]
    start, pool = stack.start, stack.pool
    count = stack.n_fixed
    if at + 1 >= start.shape[0]:
        start, count = np.empty(2 * at + 4, np.int64), np.empty(2 * at + 4, np.int64)
        _copy(stack.start, at + 1, start)
        _copy(stack.n_fixed, at, count)
    low = start[at]
    if low + n_fixed + n_live > pool.shape[0]:
        pool = np.empty(2 * (low + n_fixed + n_live), np.int64)
        _copy(stack.pool, low, pool)
    for x in range(n_fixed):
        pool[low + x] = fixed[x]
    for x in range(n_live):
        pool[low + n_fixed + x] = live[x]
    count[at] = n_fixed
    start[at + 1] = low + n_fixed + n_live
    return Stack(start, count, pool)


@jit
def _exact_clique(a, b, pairs, grain, budget, n_chosen, chosen_out):
    """Improve a clique until none is heavier; its size and weight, sets of pairs bounded, and whether that was enough.

    All weights are multiples of `grain` if it is not zero, so that bounds may be rounded down to one.
    """
    heaviest, best = 0.0, 0.0
    for weight in pairs.weight:
        heaviest = max(heaviest, weight)
    for x in range(n_chosen):
        best += pairs.weight[chosen_out[x]]
    close = CLOSE * heaviest
    stack = Stack(np.zeros(16, np.int64), np.zeros(16, np.int64), np.empty(64, np.int64))
    stack = _push(stack, NONE, np.empty(0, np.int64), np.arange(pairs.u.shape[0]))
    table = np.empty(0)
    trial = np.empty(pairs.u.shape[0], np.int64)
    n_stack, n_bounded = 1, 0
    while n_stack > 0:
        n_stack -= 1
        start, n_fixed = stack.start[n_stack], stack.n_fixed[n_stack]
        fixed = stack.pool[start : start + n_fixed].copy()
        live = stack.pool[start + n_fixed : stack.start[n_stack + 1]].copy()
        base = 0.0
        for c in fixed:
            base += pairs.weight[c]
        if base > best + close:
            n_chosen, best = n_fixed, base
            _copy(fixed, n_fixed, chosen_out)
        if live.shape[0] == 0:
            continue
        if n_bounded >= budget:
            return n_chosen, best, n_bounded, False
        n_bounded += 1
        if table.shape[0] == 0:  # the first set is the largest
            n_rows = _leaf_range(a, pairs.u, live)[1] + _leaf_range(b, pairs.v, live)[1]
            if (n_rows + 1) * (live.shape[0] + 1) > MAX_CELLS:
                return n_chosen, best, n_bounded, False
            table = np.empty((n_rows + 1) * (live.shape[0] + 1))
        here = _set_up(a, b, pairs, live, table)
        basis, outside = np.empty(here.shape[0] - 1, np.int64), np.empty(live.shape[0], np.int64)
        n_steps, solved = _simplex(here, basis, outside)
        n_bounded += n_steps * here.shape[0] * here.shape[1] // STEP
        share = np.zeros(live.shape[0])  # of each pair in the solution
        cost = np.zeros(live.shape[0])  # by which the bound falls if the pair must be in
        bound = np.inf
        if solved:
            bound = base + here[-1, -1]
            for r in range(basis.shape[0]):
                if basis[r] < live.shape[0]:
                    share[basis[r]] = here[r, -1]
            for x in range(live.shape[0]):
                if outside[x] < live.shape[0]:
                    cost[outside[x]] = here[-1, x]
            if grain > 0.0:
                bound = np.floor((bound + close) / grain) * grain
            if bound <= best + close:
                continue
        order = _largest_first(share)
        for x in range(order.shape[0]):
            order[x] = live[order[x]]
        n_trial, value = _extend(a, b, pairs, order, NONE, trial)
        if base + value > best + close:
            best = base + value
            n_chosen = n_fixed + n_trial
            _copy(fixed, n_fixed, chosen_out)
            _copy(trial, n_trial, chosen_out[n_fixed:])
            if bound <= best + close:
                continue
        split = 0
        most = -1.0
        for x in range(live.shape[0]):
            fraction = min(share[x], 1.0 - share[x]) * pairs.weight[live[x]] if solved else pairs.weight[live[x]]
            if fraction > most:
                split, most = x, fraction
        taken = live[split]
        n_rest, n_with = 0, 0
        rest, beside = np.empty(live.shape[0], np.int64), np.empty(live.shape[0], np.int64)
        for x in range(live.shape[0]):
            if x != split and bound - cost[x] > best + close:
                rest[n_rest] = live[x]
                n_rest += 1
                if not _clash(a, b, pairs, live[x], taken):
                    beside[n_with] = live[x]
                    n_with += 1
        more = np.empty(n_fixed + 1, np.int64)
        _copy(fixed, n_fixed, more)
        more[n_fixed] = taken
        stack = _push(stack, n_stack, fixed, rest[:n_rest])
        stack = _push(stack, n_stack + 1, more, beside[:n_with])
        n_stack += 2
    return n_chosen, best, n_bounded, True


@jit
def _replicate(a, b, pairs):
    """Order of the pairs after replicator dynamics on the clique problem (Bomze's regularised quadratic form)."""
    n = pairs.u.shape[0]
    half = np.empty(n)
    total = 0.0
    for c in range(n):
        half[c] = 0.5 / pairs.weight[c]
        total += pairs.weight[c]
    largest = 0.0
    cost = np.zeros((n, n))
    for c in range(n):
        cost[c, c] = half[c]
        largest = max(largest, half[c])
        for d in range(c):
            if _clash(a, b, pairs, c, d):
                cost[c, d] = cost[d, c] = half[c] + half[d]
                largest = max(largest, cost[c, d])
    share = np.empty(n)
    for c in range(n):
        share[c] = pairs.weight[c] / total
    for _ in range(1000):
        fitness = np.empty(n)
        mean = 0.0
        for c in range(n):
            total = 0.0
            for d in range(n):
                total += cost[c, d] * share[d]
            fitness[c] = largest - total
            mean += fitness[c] * share[c]
        if mean <= 0.0:  # one pair, or all as good: nothing moves
            break
        moved = 0.0
        for c in range(n):
            new = share[c] * fitness[c] / mean
            moved += abs(new - share[c])
            share[c] = new
        if moved < 1e-8:
            break
    return _largest_first(share)


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
def _clique(method, a, b, pairs, grain, budget, chosen_out):
    """A heavy set of pairs that go together: its size, the sets bounded, and whether it is certainly the heaviest."""
    if method == RELAXATION:
        n_chosen, _ = _extend(a, b, pairs, _replicate(a, b, pairs), NONE, chosen_out)
        return n_chosen, 0, pairs.u.shape[0] < 2
    order = _largest_first(pairs.weight)
    if method == GREEDY:
        n_chosen, _ = _swap(a, b, pairs, order, chosen_out)
        return n_chosen, 0, pairs.u.shape[0] < 2
    n_chosen, _ = _extend(a, b, pairs, order, NONE, chosen_out)
    n_chosen, _, n_bounded, exact = _exact_clique(a, b, pairs, grain, budget, n_chosen, chosen_out)
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
                    _copy(pairs.u, n, more.u)
                    _copy(pairs.v, n, more.v)
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
    a, b = _in_post_order(parent_1), _in_post_order(parent_2)
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
                n_chosen, _ = _extend(a, b, pairs, _largest_first(pairs.weight), NONE, chosen)
            elif pairs.u.shape[0]:
                n_chosen, n_bounded, sure = _clique(method, a, b, pairs, grain, budget, chosen)
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
def distances(pairs, a, b, table, budget, distance_out, exact_out):
    """Unordered edit distance of every pair of trees (pairs[x, 0] of a, pairs[x, 1] of b), and whether it is exact.

    `table` holds the cost of a rename by label + 2, or, if it is 1 x 1, the one price of them all.
    """
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
