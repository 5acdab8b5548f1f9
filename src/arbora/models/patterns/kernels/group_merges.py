"""Splits and merges of groups of patterns: proposals of a sampler, and the best merges first."""

import math

import numpy as np

from ....inference.kernels.draws import draw_side
from ....inference.kernels.two_data import choose_two
from ....jit import jit
from .group_sweeps import (
    LEFT,
    MERGED,
    PUT,
    REJECTED,
    RIGHT,
    SPLIT,
    UNDRAWN,
    Groups,
    log_with,
    move_tree,
    n_groups_of,
    two_columns,
)


@jit
def log_predictive(rows, tables, sides, n, side):
    """log p(tree n | trees of a side), unweighted."""
    total = 0.0
    for e in range(rows.start[n], rows.start[n + 1]):
        total += sides.logs[rows.column[e], side]
    for f in range(rows.size.shape[1]):
        before = sides.total[f, side]
        total += tables.rise[f, before] - tables.rise[f, before + rows.size[n, f]]
    return total


@jit
def joined_marginal(tables, count, total, a, b):
    """log M of two slots together less log M of each, unweighted: zero but for patterns that both have."""
    out = 0.0
    for j in range(count.shape[0]):
        x, y = count[j, a], count[j, b]
        if x > 0 and y > 0:
            alpha = tables.alpha[j]
            gain = math.lgamma(alpha + x + y) - math.lgamma(alpha + x) - math.lgamma(alpha + y) + math.lgamma(alpha)
            out += tables.times[j] * gain
    for f in range(total.shape[0]):
        out += _joined_total(tables.strength[f], total[f, a], total[f, b])
    return out


@jit
def _joined_total(strength, x, y):
    """What totals of two groups add to log M when they are joined."""
    return math.lgamma(strength + x) + math.lgamma(strength + y) - math.lgamma(strength + x + y) - math.lgamma(strength)


@jit
def log_sizes(tables, x, y, n_groups):
    """log prior of two groups of these sizes less that of one group of both, which makes n_groups."""
    e = tables.size_shift  # no table: sizes of fitted groups have no bound
    weight = math.lgamma(x + e) + math.lgamma(y + e) - math.lgamma(x + y + e) - math.lgamma(1.0 + e)
    return weight + tables.log_part[n_groups + 1] - tables.log_part[n_groups]


@jit
def split_or_merge(rng, rows, tables, groups, n_slots):
    """Pick two trees; propose to split their group, or to merge their two (Dahl 2005); REJECTED, SPLIT or MERGED.

    Members are put to one of two sides one after another, with the chances of their predictives; needs an empty slot.
    """
    first, second, others = choose_two(rng, groups.label)
    one, two = groups.label[first], groups.label[second]
    splitting = one == two
    blank = Groups(
        np.full(1, -1, np.int64),
        np.zeros((tables.alpha.shape[0], 2), np.int32),
        two_columns(tables.log_alpha),
        np.zeros((rows.size.shape[1], 2), np.int64),
        np.zeros(2, np.int64),
    )
    side = np.zeros(others.shape[0], np.int64)
    move_tree(rows, tables, blank, first, LEFT, PUT)
    move_tree(rows, tables, blank, second, RIGHT, PUT)
    log_q = 0.0
    for x in range(others.shape[0]):
        n = others[x]
        gain = tables.power * (
            log_predictive(rows, tables, blank, n, RIGHT) - log_predictive(rows, tables, blank, n, LEFT)
        )
        for s in range(2):
            m = blank.size[s]
            gain += (2 * s - 1) * (tables.log_weight[m + 1] - tables.log_weight[m])
        side[x], log_chance = draw_side(rng, gain, UNDRAWN if splitting else np.int64(groups.label[n] == two))
        log_q += log_chance
        move_tree(rows, tables, blank, n, side[x], PUT)
    n_merged = n_groups_of(groups, n_slots) - (0 if splitting else 1)
    log_ratio = log_sizes(tables, blank.size[0], blank.size[1], n_merged) - log_q
    log_ratio -= tables.power * joined_marginal(tables, blank.count, blank.total, LEFT, RIGHT)
    if math.log(1.0 - rng.random()) >= (log_ratio if splitting else -log_ratio):
        return REJECTED
    if splitting:
        new = 0
        while groups.size[new] > 0:
            new += 1
        put_group(groups, blank, LEFT, one)
        put_group(groups, blank, RIGHT, np.int64(new))
        groups.label[second] = new
        for x in range(others.shape[0]):
            if side[x] == 1:
                groups.label[others[x]] = new
        return SPLIT
    absorb_group(tables, groups, one, two)
    return MERGED


@jit
def put_group(groups, source, side, k):
    """Copy one side into a slot."""
    for j in range(groups.count.shape[0]):
        groups.count[j, k] = source.count[j, side]
        groups.logs[j, k] = source.logs[j, side]
    for f in range(groups.total.shape[0]):
        groups.total[f, k] = source.total[f, side]
    groups.size[k] = source.size[side]


@jit
def absorb_group(tables, groups, a, b):
    """Add slot b to slot a, and leave it empty."""
    for j in range(groups.count.shape[0]):
        if groups.count[j, b] > 0:
            groups.count[j, a] += groups.count[j, b]
            groups.logs[j, a] = log_with(tables, j, np.int64(groups.count[j, a]))
            groups.count[j, b] = 0
            groups.logs[j, b] = tables.log_alpha[j]
    for f in range(groups.total.shape[0]):
        groups.total[f, a] += groups.total[f, b]
        groups.total[f, b] = 0
    groups.size[a] += groups.size[b]
    groups.size[b] = 0
    for n in range(groups.label.shape[0]):
        if groups.label[n] == b:
            groups.label[n] = a


@jit
def _joined_with(tables, groups, a, n_slots, gain_out):
    """`joined` of slot a with every other of the first slots, in gain_out[a] and its column."""
    for k in range(n_slots):
        gain_out[a, k] = 0.0
    for j in range(groups.count.shape[0]):
        x = groups.count[j, a]
        if x == 0:
            continue
        alpha, times = tables.alpha[j], tables.times[j]
        mine = math.lgamma(alpha) - math.lgamma(alpha + x)
        for k in range(n_slots):
            y = groups.count[j, k]
            if y > 0 and k != a:
                if y == 1:
                    gain_out[a, k] += times * math.log((alpha + x) / alpha)
                else:
                    gain_out[a, k] += times * (math.lgamma(alpha + x + y) - math.lgamma(alpha + y) + mine)
    for k in range(n_slots):
        for f in range(groups.total.shape[0]):
            if k != a:
                gain_out[a, k] += _joined_total(tables.strength[f], groups.total[f, a], groups.total[f, k])
        gain_out[k, a] = gain_out[a, k]


def merge_best(tables, groups, n_slots, least, always):
    """Merge the pair that raises log P most, again and again; pairs (kept, gone) and the gain of each.

    Ends at `least` groups, or where no merge gains anything unless `always`.
    """
    return merge_allowed(tables, groups, np.zeros((n_slots, n_slots), np.bool_), least, always)


@jit
def merge_allowed(tables, groups, apart_out, least, always):
    """As `merge_best`, but pairs of slots in `apart_out` are not merged; it follows the merges."""
    n_slots = apart_out.shape[0]
    joined = np.zeros((n_slots, n_slots))
    for a in range(n_slots):
        if groups.size[a] > 0:
            _joined_with(tables, groups, a, a, joined)
    pair = np.empty((n_slots, 2), np.int64)
    gain = np.empty(n_slots)
    n_done = 0
    n_groups = n_groups_of(groups, n_slots)
    while n_groups > max(least, 1):
        best, x, y = -np.inf, -1, -1
        for a in range(n_slots):
            for b in range(a + 1, n_slots):
                if groups.size[a] > 0 and groups.size[b] > 0 and not apart_out[a, b]:
                    now = tables.power * joined[a, b]
                    now -= log_sizes(tables, groups.size[a], groups.size[b], n_groups - 1)
                    if now > best:
                        best, x, y = now, a, b
        if x < 0 or (best <= 0.0 and not always):
            break
        absorb_group(tables, groups, x, y)
        for k in range(n_slots):
            apart_out[x, k] |= apart_out[y, k]
            apart_out[k, x] = apart_out[x, k]
        _joined_with(tables, groups, x, n_slots, joined)
        pair[n_done, 0], pair[n_done, 1], gain[n_done] = x, y, best
        n_done += 1
        n_groups -= 1
    return pair[:n_done].copy(), gain[:n_done].copy()
