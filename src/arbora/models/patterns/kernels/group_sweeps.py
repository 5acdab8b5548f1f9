"""Groups of trees as sums of pattern rows: Gibbs sweeps, splits and merges, best merges, marginals; see note.md.

Groups sit in slots: arrays are [pattern, slot], slots innermost, so that a tree is scored against all groups at once.
An empty slot has no counts, so its score is that of a new group; the last slot in use is always empty.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....inference.kernels.draws import draw_by_logs
from ....jit import jit

REJECTED, SPLIT, MERGED = 0, 1, 2
# Of one type with numbers that are computed: for each literal, a kernel would compile once more.
PUT, TAKE, UNDRAWN = np.int64(1), np.int64(-1), np.int64(-1)
LEFT, RIGHT = np.int64(0), np.int64(1)  # the two sides of a split


class Rows(NamedTuple):
    """Patterns of each tree: column[start[n] : start[n + 1]]."""

    start: NDArray[np.int64]
    column: NDArray[np.int32]
    size: NDArray[np.int64]  # [tree, family]: patterns of the tree in each family


class Tables(NamedTuple):
    """What the model says, given strengths, power and the prior of the partition."""

    alpha: NDArray[np.float64]  # [pattern]: strength of its family times background share
    times: NDArray[np.float64]  # [pattern]: how many patterns of the same trees it stands for
    log_alpha: NDArray[np.float64]  # times log(alpha)
    strength: NDArray[np.float64]  # [family]
    rise: NDArray[np.float64]  # [family, count]: log Gamma(strength + count)
    log_weight: NDArray[np.float64]  # [size]: log W(size) of the prior
    log_part: NDArray[np.float64]  # [number of groups]
    size_shift: float  # e of W(m) = Gamma(m + e) / Gamma(1 + e)
    power: float  # by which every log marginal is multiplied: power / number of families
    log_start: NDArray[np.int64]  # [pattern]: where its logarithms start, and their end
    log_at: NDArray[np.float64]  # times log(alpha + 0), times log(alpha + 1), ... of one pattern after another


class Groups(NamedTuple):
    """Trees in groups, in place."""

    label: NDArray[np.int64]  # [tree]
    count: NDArray[np.int32]  # type: ignore[assignment]  # [pattern, slot]
    logs: NDArray[np.float64]  # [pattern, slot]: times log(alpha + count)
    total: NDArray[np.int64]  # [family, slot]
    size: NDArray[np.int64]  # [slot]: trees


@jit
def logs_by_count(alpha, times, log_start):
    """Times log(alpha + count) of every pattern, for counts from 0 on."""
    out = np.empty(log_start[-1])
    for j in range(alpha.shape[0]):
        for c in range(log_start[j + 1] - log_start[j]):
            out[log_start[j] + c] = times[j] * math.log(alpha[j] + c)
    return out


@jit
def log_with(tables, j, c):
    """Times log(alpha + count) of a pattern; computed where the table ends, which is made for given trees."""
    at = tables.log_start[j] + c
    return tables.log_at[at] if at < tables.log_start[j + 1] else tables.times[j] * math.log(tables.alpha[j] + c)


@jit
def seat(rows, tables, label, n_slots):
    """Groups of these trees, with room for so many."""
    n_patterns, n_families = tables.alpha.shape[0], rows.size.shape[1]
    count = np.zeros((n_patterns, n_slots), np.int32)
    total = np.zeros((n_families, n_slots), np.int64)
    size = np.zeros(n_slots, np.int64)
    for n in range(label.shape[0]):
        k = label[n]
        size[k] += 1
        for f in range(n_families):
            total[f, k] += rows.size[n, f]
        for e in range(rows.start[n], rows.start[n + 1]):
            count[rows.column[e], k] += 1
    logs = np.empty((n_patterns, n_slots))
    for j in range(n_patterns):
        for k in range(n_slots):
            c = count[j, k]
            logs[j, k] = log_with(tables, j, np.int64(c)) if c > 0 else tables.log_alpha[j]
    return label.copy(), count, logs, total, size


@jit
def two_columns(x):
    """The same column twice."""
    out = np.empty((x.shape[0], 2))
    for j in range(x.shape[0]):
        out[j, 0] = out[j, 1] = x[j]
    return out


@jit
def move_tree(rows, tables, groups, n, k, sign):
    """Put tree n into slot k (+1) or take it out (-1)."""
    for e in range(rows.start[n], rows.start[n + 1]):
        j = np.int64(rows.column[e])
        groups.count[j, k] += sign
        c = np.int64(groups.count[j, k])
        groups.logs[j, k] = log_with(tables, j, c) if c > 0 else tables.log_alpha[j]
    for f in range(rows.size.shape[1]):
        groups.total[f, k] += sign * rows.size[n, f]
    groups.size[k] += sign


@jit
def score_groups(rows, tables, groups, n, n_slots, score_out):
    """log p(tree n | slot), unweighted; its own group without it."""
    for k in range(n_slots):
        score_out[k] = 0.0
    own = groups.label[n]
    mine = 0.0
    for e in range(rows.start[n], rows.start[n + 1]):
        j = np.int64(rows.column[e])
        for k in range(n_slots):
            score_out[k] += groups.logs[j, k]
        if own >= 0:
            mine += log_with(tables, j, np.int64(groups.count[j, own]) - 1)
    if own >= 0:
        score_out[own] = mine
    for f in range(rows.size.shape[1]):
        t = rows.size[n, f]
        for k in range(n_slots):
            before = groups.total[f, k] - (t if k == own else 0)
            score_out[k] += tables.rise[f, before] - tables.rise[f, before + t]


@jit
def n_groups_of(groups, n_slots):
    n = 0
    for k in range(n_slots):
        n += groups.size[k] > 0
    return n


@jit
def sweep(rng, rows, tables, groups, todo, mode):
    """Draw the group of each tree in `todo` given all others (Neal's Algorithm 3); how many were done, and moved.

    mode[0]: take the best group in place of a draw.  mode[1]: no new groups, and none is left empty.  mode[2]: slots
    in use, the last of them empty.  Ends early when no empty slot is left.
    """
    greedy, closed, n_slots = mode
    score = np.empty(groups.size.shape[0])
    n_moved = 0
    n_groups = n_groups_of(groups, n_slots)
    for x in range(todo.shape[0]):
        n = todo[x]
        own = groups.label[n]
        alone = groups.size[own] == 1
        if closed and alone:
            continue
        score_groups(rows, tables, groups, n, n_slots, score)
        others = n_groups - 1 if alone else n_groups
        empty = own if alone else -1  # where a new group would sit
        for k in range(n_slots):
            m = groups.size[k] - (1 if k == own else 0)
            if m > 0:
                score[k] = tables.power * score[k] + tables.log_weight[m + 1] - tables.log_weight[m]
            elif not closed and (empty < 0 or empty == k):
                empty = k
                prior = tables.log_part[others + 1] - tables.log_part[others] + tables.log_weight[1]
                score[k] = tables.power * score[k] + prior
            else:
                score[k] = -np.inf
        new = own
        if greedy:
            for k in range(n_slots):
                if score[k] > score[new] + 1e-9:
                    new = k
        else:
            new = draw_by_logs(rng, score, n_slots)
        if new == own:
            continue
        n_moved += 1
        n_groups = others + (1 if groups.size[new] == 0 else 0)
        move_tree(rows, tables, groups, n, own, TAKE)
        move_tree(rows, tables, groups, n, new, PUT)
        groups.label[n] = new
        if n_groups == n_slots:
            return x + 1, n_moved
    return todo.shape[0], n_moved


@jit
def score_all(rows, tables, groups, n_slots):
    """log p(tree | slot), unweighted, [tree, slot]; a tree with a group is left out of it."""
    out = np.empty((rows.start.shape[0] - 1, n_slots))
    for n in range(out.shape[0]):
        score_groups(rows, tables, groups, n, n_slots, out[n])
    return out
