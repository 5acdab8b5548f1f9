"""Collapsed Gibbs sweeps and sequentially allocated splits and merges of bags with Dirichlet-multinomial rows.

A bag is a tree's counts of cells; a group's log marginal is a sum over rows, closed because what rows lean on is fixed.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import inlined, jit

REJECTED, SPLIT, MERGED = 0, 1, 2


class Bags(NamedTuple):
    """Counts of trees, and the rows that they use."""

    start: NDArray[np.int64]
    cell: NDArray[np.int64]
    times: NDArray[np.int64]
    row_start: NDArray[np.int64]
    row: NDArray[np.int64]
    row_times: NDArray[np.int64]


class Prior(NamedTuple):
    """Dirichlet parameters of cells, and their sums by row."""

    cell: NDArray[np.float64]
    row: NDArray[np.float64]


class Groups(NamedTuple):
    """Sums of the bags of every group, and how many there are; all counts are whole numbers."""

    cell: NDArray[np.float64]  # [group, cell]
    row: NDArray[np.float64]  # [group, row]
    size: NDArray[np.int64]  # [group]; 0 where the place is free


@inlined
def _log_rise(a, n):
    """log of a (a + 1) ... (a + n - 1)."""
    if n == 1:
        return math.log(a)
    if n <= 8:
        product = a
        for x in range(1, n):
            product *= a + x
        return math.log(product)
    return math.lgamma(a + n) - math.lgamma(a)


@jit
def _move(bags, t, groups, g, sign):
    """Put a bag into a group, or (sign -1) take it out."""
    for x in range(bags.start[t], bags.start[t + 1]):
        groups.cell[g, bags.cell[x]] += sign * bags.times[x]
    for x in range(bags.row_start[t], bags.row_start[t + 1]):
        groups.row[g, bags.row[x]] += sign * bags.row_times[x]
    groups.size[g] += sign
    return 0


@jit
def _log_predictive(bags, prior, t, groups, g):
    """log P(bag | the bags of the group), rows integrated out."""
    total = 0.0
    for x in range(bags.start[t], bags.start[t + 1]):
        c = bags.cell[x]
        total += _log_rise(prior.cell[c] + groups.cell[g, c], bags.times[x])
    for x in range(bags.row_start[t], bags.row_start[t + 1]):
        r = bags.row[x]
        total -= _log_rise(prior.row[r] + groups.row[g, r], bags.row_times[x])
    return total


@jit
def fill(bags, label, groups_out):
    """Add all bags to their groups."""
    for t in range(len(label)):
        _move(bags, t, groups_out, label[t], 1)
    return 0


@jit
def sweep(rng, bags, prior, order, concentration, label_out, groups_out):
    """Draw the group of every tree of `order` given all others (Neal's Algorithm 3); where it stopped.

    It stops before a tree if no place is free, for then a new group could not be opened.
    """
    n_places = len(groups_out.size)
    log_weight = np.empty(n_places)  # of each group for the tree at hand
    for done in range(len(order)):
        t = order[done]
        n_free = 0
        free = -1
        for g in range(n_places):
            if groups_out.size[g] == 0:
                n_free += 1
                free = g
        if n_free == 0:
            return done
        _move(bags, t, groups_out, label_out[t], -1)
        if groups_out.size[label_out[t]] == 0:
            free = label_out[t]
        top = -np.inf
        for g in range(n_places):
            log_weight[g] = -np.inf
            if groups_out.size[g] > 0:
                log_weight[g] = math.log(groups_out.size[g]) + _log_predictive(bags, prior, t, groups_out, g)
            elif g == free:
                log_weight[g] = math.log(concentration) + _log_predictive(bags, prior, t, groups_out, g)
            top = max(top, log_weight[g])
        total = 0.0
        for g in range(n_places):
            log_weight[g] = math.exp(log_weight[g] - top)
            total += log_weight[g]
        point = rng.random() * total
        chosen = -1
        for g in range(n_places):
            if log_weight[g] > 0.0:
                chosen = g
                point -= log_weight[g]
                if point < 0.0:
                    break
        label_out[t] = chosen
        _move(bags, t, groups_out, chosen, 1)
    return len(order)


@jit
def _allocate(rng, bags, prior, others, pair, sides, given):
    """Seat trees one after the other beside two first ones; log-probability of the sides taken, drawn or given."""
    log_q = 0.0
    for x in range(len(others)):
        t = others[x]
        a = math.log(pair.size[0]) + _log_predictive(bags, prior, t, pair, 0)
        b = math.log(pair.size[1]) + _log_predictive(bags, prior, t, pair, 1)
        top = max(a, b)
        log_total = top + math.log(math.exp(a - top) + math.exp(b - top))
        if not given:
            sides[x] = 0 if math.log(rng.random()) < a - log_total else 1
        log_q += (a if sides[x] == 0 else b) - log_total
        _move(bags, t, pair, sides[x], 1)
    return log_q


@jit
def log_marginal(prior, cell_count, row_count):
    """Log probability of the sums of a group: rows integrated out."""
    total = 0.0
    for c in range(len(cell_count)):
        if cell_count[c] > 0:
            total += math.lgamma(prior.cell[c] + cell_count[c]) - math.lgamma(prior.cell[c])
    for r in range(len(row_count)):
        if row_count[r] > 0:
            total -= math.lgamma(prior.row[r] + row_count[r]) - math.lgamma(prior.row[r])
    return total


@jit
def split_merge(rng, bags, prior, log_concentration, label_out, groups_out):
    """Propose to split the group of two random trees, or to merge theirs; what came of it.

    Sides are allocated sequentially; the ratio is that of the note, section 8, for the Dirichlet process.
    """
    n_trees, n_places = len(label_out), len(groups_out.size)
    i = rng.integers(0, n_trees)
    j = rng.integers(0, n_trees - 1)
    if j >= i:
        j += 1
    gi, gj = label_out[i], label_out[j]
    free = -1
    for g in range(n_places):
        if groups_out.size[g] == 0:
            free = g
    if gi == gj and free < 0:
        return REJECTED
    others = np.empty(groups_out.size[gi] + (0 if gi == gj else groups_out.size[gj]) - 2, np.int64)
    n = 0
    for t in range(n_trees):
        if (label_out[t] == gi or label_out[t] == gj) and t != i and t != j:
            others[n] = t
            n += 1
    for x in range(n - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    sides = np.zeros(n, np.int64)
    for x in range(n):
        sides[x] = 0 if label_out[others[x]] == gi else 1
    n_cells, n_rows = groups_out.cell.shape[1], groups_out.row.shape[1]
    pair = Groups(np.zeros((2, n_cells)), np.zeros((2, n_rows)), np.zeros(2, np.int64))
    _move(bags, i, pair, 0, 1)
    _move(bags, j, pair, 1, 1)
    log_q = _allocate(rng, bags, prior, others, pair, sides, gi != gj)
    log_ratio = (
        log_marginal(prior, pair.cell[0], pair.row[0])
        + log_marginal(prior, pair.cell[1], pair.row[1])
        - log_marginal(prior, pair.cell[0] + pair.cell[1], pair.row[0] + pair.row[1])
        + math.lgamma(pair.size[0])
        + math.lgamma(pair.size[1])
        - math.lgamma(pair.size[0] + pair.size[1])
        + log_concentration
        - log_q
    )
    if gi == gj:
        if math.log(rng.random()) >= log_ratio:
            return REJECTED
        groups_out.cell[gi], groups_out.row[gi], groups_out.size[gi] = pair.cell[0], pair.row[0], pair.size[0]
        groups_out.cell[free], groups_out.row[free], groups_out.size[free] = pair.cell[1], pair.row[1], pair.size[1]
        label_out[j] = free
        for x in range(n):
            if sides[x] == 1:
                label_out[others[x]] = free
        return SPLIT
    if math.log(rng.random()) >= -log_ratio:
        return REJECTED
    groups_out.cell[gi] += groups_out.cell[gj]
    groups_out.row[gi] += groups_out.row[gj]
    groups_out.size[gi] += groups_out.size[gj]
    groups_out.cell[gj], groups_out.row[gj], groups_out.size[gj] = 0.0, 0.0, 0
    label_out[j] = gi
    for x in range(n):
        label_out[others[x]] = gi
    return MERGED
