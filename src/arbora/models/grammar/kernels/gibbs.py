"""Collapsed Gibbs sweeps and sequentially allocated splits and merges of bags with Dirichlet-multinomial rows.

A bag is a tree's counts of cells.  The log marginal of a group is a sum over cells and rows, closed because what rows
lean on is fixed.  Counts are whole numbers with known bounds, so every term is looked up in a table.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....inference.kernels.draws import draw_by_logs
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


class Rises(NamedTuple):
    """log of a (a + 1) ... (a + n - 1) of every cell and row, for n from 0 to its count in all trees."""

    cell: NDArray[np.float64]  # cell c, count n at cell_start[c] + n
    cell_start: NDArray[np.int64]
    row: NDArray[np.float64]
    row_start: NDArray[np.int64]


class Groups(NamedTuple):
    """Sums of the bags of every group, and how many there are; places innermost, so that one tree meets all groups."""

    cell: NDArray[np.int64]  # [cell, place]
    row: NDArray[np.int64]  # [row, place]
    size: NDArray[np.int64]  # [place]; 0 where the place is free


@jit
def log_rises(first, most):
    """The table of one kind, and where each entry of `first` (Dirichlet parameters) starts in it."""
    start = np.zeros(len(first) + 1, np.int64)
    for x in range(len(first)):
        start[x + 1] = start[x] + most[x] + 1
    table = np.zeros(start[-1])
    for x in range(len(first)):
        total = 0.0
        for n in range(most[x]):
            total += math.log(first[x] + n)
            table[start[x] + n + 1] = total
    return table, start


@inlined
def _move(bags, t, groups, g, sign):
    """Put a bag into a group, or (sign -1) take it out."""
    for x in range(bags.start[t], bags.start[t + 1]):
        groups.cell[bags.cell[x], g] += sign * bags.times[x]
    for x in range(bags.row_start[t], bags.row_start[t + 1]):
        groups.row[bags.row[x], g] += sign * bags.row_times[x]
    groups.size[g] += sign


@jit
def log_predictives(bags, rises, t, groups, log_prob_out):
    """log P(bag | the bags of the group) of every place, rows integrated out."""
    n_places = len(groups.size)
    for g in range(n_places):
        log_prob_out[g] = 0.0
    for x in range(bags.start[t], bags.start[t + 1]):
        c, times = bags.cell[x], bags.times[x]
        first = rises.cell_start[c]
        for g in range(n_places):
            at = first + groups.cell[c, g]
            log_prob_out[g] += rises.cell[at + times] - rises.cell[at]
    for x in range(bags.row_start[t], bags.row_start[t + 1]):
        r, times = bags.row[x], bags.row_times[x]
        first = rises.row_start[r]
        for g in range(n_places):
            at = first + groups.row[r, g]
            log_prob_out[g] -= rises.row[at + times] - rises.row[at]


@jit
def fill(bags, label, groups_out):
    """Add all bags to their groups."""
    for t in range(len(label)):
        _move(bags, t, groups_out, label[t], 1)


@jit
def sweep(rng, bags, rises, todo, concentration, seats_out):
    """Draw the group of every tree of `todo` given all others (Neal's Algorithm 3); how many were done.

    It ends before a tree if no place is free, for then a new group could not be opened.  `seats_out` is (group of each
    tree, groups).
    """
    label_out, groups_out = seats_out
    n_places = len(groups_out.size)
    log_weight = np.empty(n_places)  # of each group for the tree at hand
    for done in range(len(todo)):
        t = todo[done]
        free = -1
        for g in range(n_places):
            if groups_out.size[g] == 0:
                free = g
        if free < 0:
            return done
        _move(bags, t, groups_out, label_out[t], -1)
        log_predictives(bags, rises, t, groups_out, log_weight)
        for g in range(n_places):
            if groups_out.size[g] > 0:
                log_weight[g] += math.log(groups_out.size[g])
            elif g == free:
                log_weight[g] += math.log(concentration)
            else:
                log_weight[g] = -np.inf
        chosen = draw_by_logs(rng, log_weight, n_places)
        label_out[t] = chosen
        _move(bags, t, groups_out, chosen, 1)
    return len(todo)


@jit
def _allocate(rng, bags, rises, others, pair, sides):
    """Seat trees one after the other beside two first ones; log-probability of the sides taken, drawn where -1."""
    log_q = 0.0
    log_prob = np.empty(2)  # of the tree at hand on either side
    for x in range(len(others)):
        t = others[x]
        log_predictives(bags, rises, t, pair, log_prob)
        a = math.log(pair.size[0]) + log_prob[0]
        b = math.log(pair.size[1]) + log_prob[1]
        top = max(a, b)
        log_total = top + math.log(math.exp(a - top) + math.exp(b - top))
        if sides[x] < 0:
            sides[x] = 0 if math.log(1.0 - rng.random()) < a - log_total else 1
        log_q += (a if sides[x] == 0 else b) - log_total
        _move(bags, t, pair, sides[x], 1)
    return log_q


@jit
def log_marginals(rises, groups):
    """Log probability of the sums of every group, rows integrated out, [place]."""
    n_places = len(groups.size)
    total = np.zeros(n_places)
    for c in range(len(groups.cell)):
        for g in range(n_places):
            total[g] += rises.cell[rises.cell_start[c] + groups.cell[c, g]]
    for r in range(len(groups.row)):
        for g in range(n_places):
            total[g] -= rises.row[rises.row_start[r] + groups.row[r, g]]
    return total


@jit
def _log_joined(rises, pair):
    """log marginal of two groups together."""
    total = 0.0
    for c in range(len(pair.cell)):
        total += rises.cell[rises.cell_start[c] + pair.cell[c, 0] + pair.cell[c, 1]]
    for r in range(len(pair.row)):
        total -= rises.row[rises.row_start[r] + pair.row[r, 0] + pair.row[r, 1]]
    return total


@jit
def _chosen(rng, label):
    """Two trees, and the other members of their groups in random order."""
    n_trees = len(label)
    i = rng.integers(0, n_trees)
    j = rng.integers(0, n_trees - 1)
    if j >= i:
        j += 1
    others = np.empty(n_trees, np.int64)
    n = 0
    for t in range(n_trees):
        if (label[t] == label[i] or label[t] == label[j]) and t != i and t != j:
            others[n] = t
            n += 1
    for x in range(n - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    return i, j, others[:n]


@jit
def split_merge(rng, bags, rises, log_concentration, label_out, groups_out):
    """Propose to split the group of two random trees, or to merge theirs; what came of it.

    Sides are allocated sequentially; the ratio is that of the note, section 7, for the Dirichlet process.
    """
    i, j, others = _chosen(rng, label_out)
    gi, gj = label_out[i], label_out[j]
    free = -1
    for g in range(len(groups_out.size)):
        if groups_out.size[g] == 0:
            free = g
    if gi == gj and free < 0:
        return REJECTED
    sides = np.zeros(len(others), np.int64)
    for x in range(len(others)):
        sides[x] = -1 if gi == gj else 0 if label_out[others[x]] == gi else 1
    pair = Groups(
        np.zeros((len(groups_out.cell), 2), np.int64),
        np.zeros((len(groups_out.row), 2), np.int64),
        np.zeros(2, np.int64),
    )
    _move(bags, i, pair, 0, 1)
    _move(bags, j, pair, 1, 1)
    log_q = _allocate(rng, bags, rises, others, pair, sides)
    log_ratio = (
        log_marginals(rises, pair).sum()
        - _log_joined(rises, pair)
        + math.lgamma(pair.size[0])
        + math.lgamma(pair.size[1])
        - math.lgamma(pair.size[0] + pair.size[1])
        + log_concentration
        - log_q
    )
    log_u = math.log(1.0 - rng.random())
    if gi == gj:
        if log_u >= log_ratio:
            return REJECTED
        for side, g in ((0, gi), (1, free)):
            groups_out.cell[:, g], groups_out.row[:, g] = pair.cell[:, side], pair.row[:, side]
            groups_out.size[g] = pair.size[side]
        label_out[j] = free
        for x in range(len(others)):
            if sides[x] == 1:
                label_out[others[x]] = free
        return SPLIT
    if log_u >= -log_ratio:
        return REJECTED
    groups_out.cell[:, gi] += groups_out.cell[:, gj]
    groups_out.row[:, gi] += groups_out.row[:, gj]
    groups_out.size[gi] += groups_out.size[gj]
    groups_out.cell[:, gj], groups_out.row[:, gj], groups_out.size[gj] = 0, 0, 0
    label_out[j] = gi
    for x in range(len(others)):
        label_out[others[x]] = gi
    return MERGED
