"""Groups of trees as sums of pattern rows: Gibbs sweeps, splits and merges, best merges, marginals; see note.md.

Groups sit in slots: arrays are [pattern, slot], slots innermost, so that a tree is scored against all groups at once.
An empty slot has no counts, so its score is that of a new group; the last slot in use is always empty.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import jit

REJECTED, SPLIT, MERGED = 0, 1, 2


class Rows(NamedTuple):
    """Patterns of each tree: column[start[n] : start[n + 1]]."""

    start: NDArray[np.int64]
    column: NDArray[np.int32]
    size: NDArray[np.int64]  # [tree, family]: patterns of the tree in each family


class Tables(NamedTuple):
    """What the model says, given strengths, power and the prior of the partition."""

    alpha: NDArray[np.float64]  # [pattern]: strength of its family times background share
    log_alpha: NDArray[np.float64]
    strength: NDArray[np.float64]  # [family]
    rise: NDArray[np.float64]  # [family, count]: log Gamma(strength + count)
    log_weight: NDArray[np.float64]  # [size]: log W(size) of the prior
    log_part: NDArray[np.float64]  # [number of groups]
    size_shift: float  # e of W(m) = Gamma(m + e) / Gamma(1 + e)
    power: float  # by which every log marginal is multiplied: power / number of families


class Groups(NamedTuple):
    """Trees in groups, in place."""

    label: NDArray[np.int64]  # [tree]
    count: NDArray[np.int32]  # type: ignore[assignment]  # [pattern, slot]
    logs: NDArray[np.float64]  # [pattern, slot]: log(alpha + count)
    total: NDArray[np.int64]  # [family, slot]
    size: NDArray[np.int64]  # [slot]: trees


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
            logs[j, k] = math.log(tables.alpha[j] + c) if c > 0 else tables.log_alpha[j]
    return label.copy(), count, logs, total, size


@jit
def _move(rows, tables, groups, n, k, sign):
    """Put tree n into slot k (+1) or take it out (-1)."""
    for e in range(rows.start[n], rows.start[n + 1]):
        j = rows.column[e]
        groups.count[j, k] += sign
        c = groups.count[j, k]
        groups.logs[j, k] = math.log(tables.alpha[j] + c) if c > 0 else tables.log_alpha[j]
    for f in range(rows.size.shape[1]):
        groups.total[f, k] += sign * rows.size[n, f]
    groups.size[k] += sign


@jit
def _score(rows, tables, groups, n, n_slots, score_out):
    """log p(tree n | slot), unweighted; its own group without it."""
    for k in range(n_slots):
        score_out[k] = 0.0
    own = groups.label[n]
    mine = 0.0
    for e in range(rows.start[n], rows.start[n + 1]):
        j = rows.column[e]
        for k in range(n_slots):
            score_out[k] += groups.logs[j, k]
        if own >= 0:
            mine += math.log(tables.alpha[j] + (groups.count[j, own] - 1))
    if own >= 0:
        score_out[own] = mine
    for f in range(rows.size.shape[1]):
        t = rows.size[n, f]
        for k in range(n_slots):
            before = groups.total[f, k] - (t if k == own else 0)
            score_out[k] += tables.rise[f, before] - tables.rise[f, before + t]


@jit
def _n_groups(groups, n_slots):
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
    n_groups = _n_groups(groups, n_slots)
    for x in range(todo.shape[0]):
        n = todo[x]
        own = groups.label[n]
        alone = groups.size[own] == 1
        if closed and alone:
            continue
        _score(rows, tables, groups, n, n_slots, score)
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
            top = -np.inf
            for k in range(n_slots):
                top = max(top, score[k])
            sum_all = 0.0
            for k in range(n_slots):
                score[k] = math.exp(score[k] - top)
                sum_all += score[k]
            left = rng.random() * sum_all
            for k in range(n_slots):
                if score[k] > 0.0:
                    new = k
                    left -= score[k]
                    if left < 0.0:
                        break
        if new == own:
            continue
        n_moved += 1
        n_groups = others + (1 if groups.size[new] == 0 else 0)
        _move(rows, tables, groups, n, own, -1)
        _move(rows, tables, groups, n, new, 1)
        groups.label[n] = new
        if n_groups == n_slots:
            return x + 1, n_moved
    return todo.shape[0], n_moved


@jit
def score_all(rows, tables, groups, n_slots):
    """log p(tree | slot), unweighted, [tree, slot]; a tree with a group is left out of it."""
    out = np.empty((rows.start.shape[0] - 1, n_slots))
    for n in range(out.shape[0]):
        _score(rows, tables, groups, n, n_slots, out[n])
    return out


# ---- splits and merges ----------------------------------------------------------------------------------------------


@jit
def _choose(rng, label):
    """Two trees, and the other members of their groups in random order."""
    n = label.shape[0]
    first = rng.integers(0, n)
    second = rng.integers(0, n - 1)
    second += second >= first
    others = np.empty(n, np.int64)
    n_others = 0
    for t in range(n):
        if t not in (first, second) and label[t] in (label[first], label[second]):
            others[n_others] = t
            n_others += 1
    others = others[:n_others].copy()
    for x in range(n_others - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    return first, second, others


@jit
def _predictive(rows, tables, sides, n, side):
    """log p(tree n | trees of a side), unweighted."""
    total = 0.0
    for e in range(rows.start[n], rows.start[n + 1]):
        total += sides.logs[rows.column[e], side]
    for f in range(rows.size.shape[1]):
        before = sides.total[f, side]
        total += tables.rise[f, before] - tables.rise[f, before + rows.size[n, f]]
    return total


@jit
def _joined(tables, count, total, a, b):
    """log M of two slots together less log M of each, unweighted: zero but for patterns that both have."""
    out = 0.0
    for j in range(count.shape[0]):
        x, y = count[j, a], count[j, b]
        if x > 0 and y > 0:
            alpha = tables.alpha[j]
            out += math.lgamma(alpha + x + y) - math.lgamma(alpha + x) - math.lgamma(alpha + y) + math.lgamma(alpha)
    for f in range(total.shape[0]):
        out += _joined_total(tables.strength[f], total[f, a], total[f, b])
    return out


@jit
def _joined_total(strength, x, y):
    """What totals of two groups add to log M when they are joined."""
    return math.lgamma(strength + x) + math.lgamma(strength + y) - math.lgamma(strength + x + y) - math.lgamma(strength)


@jit
def _log_sizes(tables, x, y, n_groups):
    """log prior of two groups of these sizes less that of one group of both, which makes n_groups."""
    e = tables.size_shift  # no table: sizes of fitted groups have no bound
    weight = math.lgamma(x + e) + math.lgamma(y + e) - math.lgamma(x + y + e) - math.lgamma(1.0 + e)
    return weight + tables.log_part[n_groups + 1] - tables.log_part[n_groups]


@jit
def split_or_merge(rng, rows, tables, groups, n_slots):
    """Pick two trees; propose to split their group, or to merge their two (Dahl 2005); REJECTED, SPLIT or MERGED.

    Members are put to one of two sides one after another, with the chances of their predictives; needs an empty slot.
    """
    first, second, others = _choose(rng, groups.label)
    one, two = groups.label[first], groups.label[second]
    splitting = one == two
    blank = Groups(
        np.full(1, -1, np.int64),
        np.zeros((tables.alpha.shape[0], 2), np.int32),
        np.column_stack((tables.log_alpha, tables.log_alpha)),
        np.zeros((rows.size.shape[1], 2), np.int64),
        np.zeros(2, np.int64),
    )
    side = np.zeros(others.shape[0], np.int64)
    _move(rows, tables, blank, first, 0, 1)
    _move(rows, tables, blank, second, 1, 1)
    log_q = 0.0
    for x in range(others.shape[0]):
        n = others[x]
        gain = tables.power * (_predictive(rows, tables, blank, n, 1) - _predictive(rows, tables, blank, n, 0))
        for s in range(2):
            m = blank.size[s]
            gain += (2 * s - 1) * (tables.log_weight[m + 1] - tables.log_weight[m])
        if splitting:
            side[x] = 1 if rng.random() < 1.0 / (1.0 + math.exp(-min(max(gain, -700.0), 700.0))) else 0
        else:
            side[x] = 1 if groups.label[n] == two else 0
        toward = gain if side[x] == 1 else -gain
        log_q -= math.log1p(math.exp(-toward)) if toward > -700.0 else -toward
        _move(rows, tables, blank, n, side[x], 1)
    n_merged = _n_groups(groups, n_slots) - (0 if splitting else 1)
    log_ratio = _log_sizes(tables, blank.size[0], blank.size[1], n_merged) - log_q
    log_ratio -= tables.power * _joined(tables, blank.count, blank.total, 0, 1)
    if math.log(1.0 - rng.random()) >= (log_ratio if splitting else -log_ratio):
        return REJECTED
    if splitting:
        new = 0
        while groups.size[new] > 0:
            new += 1
        _put(groups, blank, 0, one)
        _put(groups, blank, 1, new)
        groups.label[second] = new
        for x in range(others.shape[0]):
            if side[x] == 1:
                groups.label[others[x]] = new
        return SPLIT
    _absorb(tables, groups, one, two)
    return MERGED


@jit
def _put(groups, source, side, k):
    """Copy one side into a slot."""
    for j in range(groups.count.shape[0]):
        groups.count[j, k] = source.count[j, side]
        groups.logs[j, k] = source.logs[j, side]
    for f in range(groups.total.shape[0]):
        groups.total[f, k] = source.total[f, side]
    groups.size[k] = source.size[side]


@jit
def _absorb(tables, groups, a, b):
    """Add slot b to slot a, and leave it empty."""
    for j in range(groups.count.shape[0]):
        if groups.count[j, b] > 0:
            groups.count[j, a] += groups.count[j, b]
            groups.logs[j, a] = math.log(tables.alpha[j] + groups.count[j, a])
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


# ---- best merges first ----------------------------------------------------------------------------------------------


@jit
def _joined_with(tables, groups, a, gain_out):
    """`_joined` of slot a with every other, in gain_out[a] and its column."""
    n_slots = gain_out.shape[0]
    for k in range(n_slots):
        gain_out[a, k] = 0.0
    for j in range(groups.count.shape[0]):
        x = groups.count[j, a]
        if x == 0:
            continue
        alpha = tables.alpha[j]
        mine = math.lgamma(alpha) - math.lgamma(alpha + x)
        for k in range(n_slots):
            y = groups.count[j, k]
            if y > 0 and k != a:
                if y == 1:
                    gain_out[a, k] += math.log((alpha + x) / alpha)
                else:
                    gain_out[a, k] += math.lgamma(alpha + x + y) - math.lgamma(alpha + y) + mine
    for k in range(n_slots):
        for f in range(groups.total.shape[0]):
            if k != a:
                gain_out[a, k] += _joined_total(tables.strength[f], groups.total[f, a], groups.total[f, k])
        gain_out[k, a] = gain_out[a, k]


@jit
def merge_best(tables, groups, n_slots, least, always):
    """Merge the pair that raises log P most, again and again; pairs (kept, gone) and the gain of each.

    Ends at `least` groups, or where no merge gains anything unless `always`.
    """
    joined = np.zeros((n_slots, n_slots))
    for a in range(n_slots):
        if groups.size[a] > 0:
            _joined_with(tables, groups, a, joined)
    pair = np.empty((n_slots, 2), np.int64)
    gain = np.empty(n_slots)
    n_done = 0
    n_groups = _n_groups(groups, n_slots)
    while n_groups > max(least, 1):
        best, x, y = -np.inf, -1, -1
        for a in range(n_slots):
            for b in range(a + 1, n_slots):
                if groups.size[a] > 0 and groups.size[b] > 0:
                    now = tables.power * joined[a, b]
                    now -= _log_sizes(tables, groups.size[a], groups.size[b], n_groups - 1)
                    if now > best:
                        best, x, y = now, a, b
        if best <= 0.0 and not always:
            break
        _absorb(tables, groups, x, y)
        _joined_with(tables, groups, x, joined)
        pair[n_done, 0], pair[n_done, 1], gain[n_done] = x, y, best
        n_done += 1
        n_groups -= 1
    return pair[:n_done].copy(), gain[:n_done].copy()


# ---- marginals ------------------------------------------------------------------------------------------------------


@jit
def _log_rise(alpha, c):
    """log Gamma(alpha + c) - log Gamma(alpha)."""
    if c > 8:
        return math.lgamma(alpha + c) - math.lgamma(alpha)
    product = 1.0
    for i in range(c):
        product *= alpha + i
    return math.log(product)


@jit
def log_marginal(tables, groups, k):
    """log M of a slot, unweighted."""
    out = 0.0
    for j in range(groups.count.shape[0]):
        if groups.count[j, k] > 0:
            out += _log_rise(tables.alpha[j], groups.count[j, k])
    for f in range(groups.total.shape[0]):
        out += math.lgamma(tables.strength[f]) - math.lgamma(tables.strength[f] + groups.total[f, k])
    return out


@jit
def score_new(rows, logs, total, strength):
    """log p(tree | group), unweighted, [tree, group], of trees that are in none; logs[pattern, group] as in Groups."""
    n_groups, n_families = total.shape[1], total.shape[0]
    start = np.empty((n_families, n_groups))
    for f in range(n_families):
        for k in range(n_groups):
            start[f, k] = math.lgamma(strength[f] + total[f, k])
    out = np.zeros((rows.start.shape[0] - 1, n_groups))
    for n in range(out.shape[0]):
        for e in range(rows.start[n], rows.start[n + 1]):
            j = rows.column[e]
            for k in range(n_groups):
                out[n, k] += logs[j, k]
        for f in range(n_families):
            t = rows.size[n, f]
            if t > 0:
                for k in range(n_groups):
                    out[n, k] += start[f, k] - math.lgamma(strength[f] + total[f, k] + t)
    return out


@jit
def strength_evidence(share, count, total, strength):
    """Sum over groups of log M of one family at a strength, from the counts that are not zero and their shares."""
    out = 0.0
    for e in range(count.shape[0]):
        out += _log_rise(strength * share[e], count[e])
    for k in range(total.shape[0]):
        if total[k] > 0:
            out += math.lgamma(strength) - math.lgamma(strength + total[k])
    return out
