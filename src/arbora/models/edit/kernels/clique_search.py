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
def _relax(a, b, pairs, live, table):
    """How much the open pairs add at most, by the relaxed problem: inf if it was not solved.

    Also the share of each pair in that, by how much it falls if the pair must be in, and the work in sets of pairs.
    """
    here = set_up(a, b, pairs, live, table)
    basis, outside = np.empty(here.shape[0] - 1, np.int64), np.empty(live.shape[0], np.int64)
    n_steps, solved = simplex(here, basis, outside)
    share, cost = np.zeros(live.shape[0]), np.zeros(live.shape[0])
    if solved:
        for r in range(basis.shape[0]):
            if basis[r] < live.shape[0]:
                share[basis[r]] = here[r, -1]
        for x in range(live.shape[0]):
            if outside[x] < live.shape[0]:
                cost[outside[x]] = here[-1, x]
    return here[-1, -1] if solved else np.inf, share, cost, n_steps * here.shape[0] * here.shape[1] // STEP


@jit
def _most_open(pairs, live, share, solved):
    """The pair whose share leaves most open, as a place in `live`."""
    split = 0
    most = -1.0
    for x in range(live.shape[0]):
        fraction = min(share[x], 1.0 - share[x]) * pairs.weight[live[x]] if solved else pairs.weight[live[x]]
        if fraction > most:
            split, most = x, fraction
    return split


@jit
def _beside(a, b, pairs, rest, taken):
    """Those of the pairs that go together with the one taken."""
    n = 0
    beside = np.empty(rest.shape[0], np.int64)
    for x in range(rest.shape[0]):
        if not clash(a, b, pairs, rest[x], taken):
            beside[n] = rest[x]
            n += 1
    return beside[:n]


@jit
def exact_clique(a, b, pairs, limits, n_chosen, chosen_out):
    """Improve a clique until none is heavier; its size and weight, sets of pairs bounded, and whether that was enough.

    `limits` is (grain, budget of sets).  All weights are multiples of the grain if it is not zero, so that bounds may
    be rounded down to one.
    """
    grain, budget = limits
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
        most, share, cost, work = _relax(a, b, pairs, live, table)
        n_bounded += work
        bound = base + most
        if grain > 0.0 and most < np.inf:
            bound = np.floor((bound + close) / grain) * grain
        if bound <= best + close:
            continue
        n_trial, value = extend(a, b, pairs, live[largest_first(share)], NONE, trial)
        if base + value > best + close:
            best = base + value
            n_chosen = n_fixed + n_trial
            copy_into(fixed, n_fixed, chosen_out)
            copy_into(trial, n_trial, chosen_out[n_fixed:])
            if bound <= best + close:
                continue
        split = _most_open(pairs, live, share, most < np.inf)
        stays = bound - cost > best + close
        stays[split] = False
        rest, taken = live[stays], live[split : split + 1]
        stack = _push(stack, n_stack, fixed, rest)
        stack = _push(stack, n_stack + 1, np.append(fixed, taken), _beside(a, b, pairs, rest, taken[0]))
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
