"""The best set of pairs that may stay together: branch and bound, or replicator dynamics."""

from typing import NamedTuple

import numpy as np

from ....jit import jit
from .linear_programme import leaf_range, set_up, simplex
from .pair_cliques import CLOSE, NONE, clash, copy_into, extend, largest_first

# Not plain numbers: in a call, each of those would be compiled as a type of its own.


STEP = 100_000  # cells of a tableau changed that count as one more bounded set


MAX_CELLS = 4_000_000  # of one linear programme: a larger one is not set up, and the matching is not exact


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
        copy_into(stack.start, at + 1, start)
        copy_into(stack.n_fixed, at, count)
    low = start[at]
    if low + n_fixed + n_live > pool.shape[0]:
        pool = np.empty(2 * (low + n_fixed + n_live), np.int64)
        copy_into(stack.pool, low, pool)
    for x in range(n_fixed):
        pool[low + x] = fixed[x]
    for x in range(n_live):
        pool[low + n_fixed + x] = live[x]
    count[at] = n_fixed
    start[at + 1] = low + n_fixed + n_live
    return Stack(start, count, pool)


@jit
def exact_clique(a, b, pairs, grain, budget, n_chosen, chosen_out):
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
            copy_into(fixed, n_fixed, chosen_out)
        if live.shape[0] == 0:
            continue
        if n_bounded >= budget:
            return n_chosen, best, n_bounded, False
        n_bounded += 1
        if table.shape[0] == 0:  # the first set is the largest
            n_rows = leaf_range(a, pairs.u, live)[1] + leaf_range(b, pairs.v, live)[1]
            if (n_rows + 1) * (live.shape[0] + 1) > MAX_CELLS:
                return n_chosen, best, n_bounded, False
            table = np.empty((n_rows + 1) * (live.shape[0] + 1))
        here = set_up(a, b, pairs, live, table)
        basis, outside = np.empty(here.shape[0] - 1, np.int64), np.empty(live.shape[0], np.int64)
        n_steps, solved = simplex(here, basis, outside)
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
        order = largest_first(share)
        for x in range(order.shape[0]):
            order[x] = live[order[x]]
        n_trial, value = extend(a, b, pairs, order, NONE, trial)
        if base + value > best + close:
            best = base + value
            n_chosen = n_fixed + n_trial
            copy_into(fixed, n_fixed, chosen_out)
            copy_into(trial, n_trial, chosen_out[n_fixed:])
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
                if not clash(a, b, pairs, live[x], taken):
                    beside[n_with] = live[x]
                    n_with += 1
        more = np.empty(n_fixed + 1, np.int64)
        copy_into(fixed, n_fixed, more)
        more[n_fixed] = taken
        stack = _push(stack, n_stack, fixed, rest[:n_rest])
        stack = _push(stack, n_stack + 1, more, beside[:n_with])
        n_stack += 2
    return n_chosen, best, n_bounded, True


@jit
def replicate(a, b, pairs):
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
            if clash(a, b, pairs, c, d):
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
    return largest_first(share)
