"""Split and merge groups of a Dirichlet-process mixture of products of Dirichlet-multinomials (Jain and Neal 2004).

A datum is a bag: unique cells with counts; cells belong to rows, and each row is a multinomial whose probabilities,
Dirichlet a priori, are integrated out.  It may hold numbers too, whose sums by state are enough.  Groups of hidden-tree
counts number their states each in its own way: a merge therefore draws which states correspond, and the reverse split
knows the probability of that draw.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....inference.kernels.two_data import choose_two
from ....jit import inlined, jit
from .number_marginals import N_MOMENTS, number_marginal

REJECTED, SPLIT, MERGED = 0, 1, 2
# Up to so many factors are multiplied before the product is looked at; beyond, lgamma is quicker.
FEW = 16
SMALL, LARGE = 1e-100, 1e100


class Chosen(NamedTuple):
    """Two data and the other members of their groups."""

    first: int
    second: int
    others: NDArray[np.int64]  # in random order
    side: NDArray[np.int64]  # 0: with the first


class Effort(NamedTuple):
    """Settings of a proposal to split or merge."""

    log_concentration: float
    n_scans: int


@inlined
def _log_rise(a, n):
    """log of a (a + 1) ... (a + n - 1)."""
    if n == 1:
        return math.log(a)
    if n <= 8 and n == int(n):
        product = a
        for x in range(1, int(n)):
            product *= a + x
        return math.log(product)
    return math.lgamma(a + n) - math.lgamma(a)


@inlined
def _move(bags, table, t, side, sign, groups):
    """Add the bag of t to a side (sign 1) or take it away (-1)."""
    row, cell, count = table.row, bags.cell, bags.times
    in_cell, in_row, size, sums = groups
    for x in range(bags.start[t], bags.stop[t]):
        in_cell[side, cell[x]] += sign * count[x]
        in_row[side, row[cell[x]]] += sign * count[x]
    numbers = bags.moments
    if numbers.n_cells > 0:
        for x in range(numbers.start[t], numbers.stop[t]):
            for y in range(N_MOMENTS):
                sums[side, numbers.cell[x], y] += sign * numbers.value[x, y]
    size[side] += sign
    return 0


@inlined
def _number_odds(bags, table, t, sums):
    """The part of `_log_odds` that numbers have."""
    numbers, odds = bags.moments, 0.0
    for x in range(numbers.start[t], numbers.stop[t]):
        c = numbers.cell[x]
        n, first, second = numbers.value[x, 0], numbers.value[x, 1], numbers.value[x, 2]
        for side in range(2):
            m = sums[side, c]
            gain = number_marginal(table.numbers[c], m[0] + n, m[1] + first, m[2] + second)
            gain -= number_marginal(table.numbers[c], m[0], m[1], m[2])
            odds += gain if side == 0 else -gain
    return odds


@inlined
def _risen(ratio, odds, a, b, n):
    """`ratio` times the rises of a by n over those of b; what would leave its range goes into `odds` as a logarithm."""
    if n <= FEW and n == int(n):
        for y in range(int(n)):
            ratio *= (a + y) / (b + y)
    else:
        odds += _log_rise(a, n) - _log_rise(b, n)
    if not SMALL < ratio < LARGE:
        odds += math.log(ratio)
        ratio = 1.0
    return ratio, odds


@inlined
def _log_odds(bags, table, t, groups, scratch):
    """log of P(t joins side 0) / P(t joins side 1), t being in neither."""
    row, prior, row_prior = table.row, table.prior, table.row_prior
    cell, count = bags.cell, bags.times
    in_cell, in_row, size, sums = groups
    touched, row_count = scratch
    odds = _number_odds(bags, table, t, sums) if bags.moments.n_cells > 0 else 0.0
    ratio = size[0] / size[1]  # a product of many factors, its log taken as seldom as its range allows
    n_touched = 0
    for x in range(bags.start[t], bags.stop[t]):
        c, n = cell[x], count[x]
        if in_cell[0, c] != in_cell[1, c]:
            a, b = prior[c] + in_cell[0, c], prior[c] + in_cell[1, c]
            ratio, odds = _risen(ratio, odds, a, b, n)
        r = row[c]
        if row_count[r] == 0:
            touched[n_touched] = r
            n_touched += 1
        row_count[r] += n
    for x in range(n_touched):
        r = touched[x]
        n = row_count[r]
        row_count[r] = 0
        if in_row[0, r] != in_row[1, r]:
            a, b = row_prior[r] + in_row[0, r], row_prior[r] + in_row[1, r]
            ratio, odds = _risen(ratio, odds, b, a, n)
    return odds + math.log(ratio)


@inlined
def _log_sides(odds):
    """(log P(side 0), log P(side 1)) from log odds, without overflow."""
    if odds > 0:
        low = -math.log1p(math.exp(-odds))
        return low, low - odds
    low = -math.log1p(math.exp(odds))
    return low + odds, low


@jit
def _scan(rng, bags, table, chosen, work, mode):
    """One restricted scan over the other members; log probability of the sides chosen.  `work` is (groups, scratch).

    mode 0 seats them for the first time, 1 reseats them, 2 moves them to the sides they are told (in `side`, + 2).
    """
    others, side = chosen.others, chosen.side
    groups, scratch = work
    log_q = 0.0
    for x in range(others.shape[0]):
        t = others[x]
        if mode != 0:
            _move(bags, table, t, side[x] & 1, -1, groups)
        log_0, log_1 = _log_sides(_log_odds(bags, table, t, groups, scratch))
        if mode == 2:
            side[x] = side[x] >> 1
        else:
            side[x] = 0 if math.log(1.0 - rng.random()) < log_0 else 1
        log_q += log_0 if side[x] == 0 else log_1
        _move(bags, table, t, side[x], 1, groups)
    return log_q


@jit
def _log_marginal(in_cell, in_row, table):
    """log P(all bags of a group), up to what splits and merges leave alone."""
    prior, row_prior = table.prior, table.row_prior
    total = 0.0
    for c in range(in_cell.shape[0]):
        if in_cell[c] > 0:
            total += _log_rise(prior[c], in_cell[c])
    for r in range(in_row.shape[0]):
        if in_row[r] > 0:
            total -= _log_rise(row_prior[r], in_row[r])
    return total


@jit
def _number_marginals(sums, table):
    """log density of all numbers of a group, up to what splits and merges leave alone."""
    total = 0.0
    for c in range(sums.shape[0]):
        if sums[c, 0] > 0.0:
            total += number_marginal(table.numbers[c], sums[c, 0], sums[c, 1], sums[c, 2])
    return total


@inlined
def _word_gain(in_cell, table, layout, i, j):
    """Gain from pooling the counts of what state i of side 0 and state j of side 1 emit."""
    n_states, row, prior = layout.n_states, table.row, table.prior
    gain, total_0, total_1 = 0.0, 0.0, 0.0
    last = layout.switch - n_states
    for c in range(layout.emission, layout.switch, n_states):
        a, b = in_cell[0, c + i], in_cell[1, c + j]
        total_0 += a
        total_1 += b
        if a > 0 and b > 0:
            gain += _log_rise(prior[c] + a, b) - _log_rise(prior[c], b)
        if c == last or row[c + n_states] != row[c]:  # the end of a column of words
            if total_0 > 0 and total_1 > 0:
                base = table.row_prior[row[c]]
                gain -= _log_rise(base + total_0, total_1) - _log_rise(base, total_1)
            total_0 = total_1 = 0.0
    return gain


@inlined
def _number_gain(sums, table, layout, i, j):
    """Gain from pooling the numbers of state i of side 0 and of state j of side 1."""
    gain = 0.0
    for c in range(0, sums.shape[1], layout.n_states):
        a, b = sums[0, c + i], sums[1, c + j]
        if a[0] > 0.0 and b[0] > 0.0:
            prior = table.numbers[c + i]
            gain += number_marginal(prior, a[0] + b[0], a[1] + b[1], a[2] + b[2])
            gain -= number_marginal(prior, a[0], a[1], a[2]) + number_marginal(prior, b[0], b[1], b[2])
    return gain


@jit
def _align(rng, groups, table, layout, match, draw):
    """Log probability of the correspondence of states in `match` (state of side 0 -> state of side 1), drawn if asked.

    States are matched one after another in proportion to exp(gain from pooling what they emit).
    """
    n_states = layout.n_states
    gain = np.zeros(n_states)
    free = np.ones(n_states, np.bool_)
    log_q = 0.0
    for i in range(n_states):
        top = -np.inf
        for j in range(n_states):
            gain[j] = 0.0
            if not free[j]:
                continue
            gain[j] = _word_gain(groups[0], table, layout, i, j) + _number_gain(groups[3], table, layout, i, j)
            top = max(top, gain[j])
        total = 0.0
        for j in range(n_states):
            if free[j]:
                total += math.exp(gain[j] - top)
        if draw:
            left = rng.random() * total
            match[i] = -1
            for j in range(n_states):
                if free[j]:
                    match[i] = j
                    left -= math.exp(gain[j] - top)
                    if left < 0.0:
                        break
        free[match[i]] = False
        log_q += gain[match[i]] - top - math.log(total)
    return log_q


@jit
def renumber_states(bags, trees, new, layout):
    """Call state j of these trees new[j], in place."""
    n_states, n_pairs, width = layout.n_states, layout.n_pairs, layout.leaf_width
    cell = bags.cell
    for t in trees:
        for x in range(bags.start[t], bags.stop[t]):
            c = cell[x]
            if c < layout.emission:
                l, i = divmod(c - layout.leaf, width)
                if i < n_states:
                    cell[x] = layout.leaf + l * width + new[i]
            elif c < layout.switch:
                m, i = divmod(c - layout.emission, n_states)
                cell[x] = layout.emission + m * n_states + new[i]
            elif layout.transition <= c < layout.shape:
                pair, i = divmod(c - layout.transition, n_states)
                l, j = divmod(pair, n_pairs)
                child = new[j] if j < n_states else j
                cell[x] = layout.transition + (l * n_pairs + child) * n_states + new[i]
        if bags.moments.n_cells > 0:
            numbers = bags.moments
            for x in range(numbers.start[t], numbers.stop[t]):
                column, i = divmod(numbers.cell[x], n_states)
                numbers.cell[x] = column * n_states + new[i]


@jit
def _choose(rng, label):
    """Two data at random."""
    first, second, others = choose_two(rng, label)
    return Chosen(first, second, others, (label[others] != label[first]).astype(np.int64))


@jit
def _call_alike(rng, bags, table, layout, chosen):
    """Renumber the states of the second side after those of the first that they are drawn to correspond to."""
    first, second, others, side = chosen
    groups = _empty_groups(table)
    _move(bags, table, first, 0, 1, groups)
    _move(bags, table, second, 1, 1, groups)
    for x in range(others.shape[0]):
        _move(bags, table, others[x], side[x], 1, groups)
    match = np.empty(layout.n_states, np.int64)
    _align(rng, groups, table, layout, match, True)
    new = np.empty(layout.n_states, np.int64)
    new[match] = np.arange(layout.n_states)
    renumber_states(bags, np.append(others[side == 1], second), new, layout)


@jit
def _empty_groups(table):
    """Nothing in the cells, rows and sums of two sides."""
    n_cells, n_rows, n_numbers = table.row.shape[0], table.row_prior.shape[0], table.numbers.shape[0]
    return np.zeros((2, n_cells)), np.zeros((2, n_rows)), np.zeros(2, np.int64), np.zeros((2, n_numbers, N_MOMENTS))


@jit
def split_or_merge(rng, label, bags, table, layout, effort):
    """Pick two data; propose to split their group, or to merge their two; REJECTED, SPLIT or MERGED.

    `label` is updated in place; a new group gets the number max + 1.  The proposal starts from the two data, seats the
    others one after another and reseats them effort.n_scans times; the last scan is the one whose probability counts.
    States of the second group may be renumbered even when nothing else happens: their numbers mean nothing.
    """
    if label.shape[0] < 2:
        return REJECTED
    chosen = _choose(rng, label)
    first, second, others, now = chosen
    splitting = label[first] == label[second]
    if not splitting:
        _call_alike(rng, bags, table, layout, chosen)
    groups = _empty_groups(table)
    work = (groups, (np.empty(table.row_prior.shape[0], np.int64), np.zeros(table.row_prior.shape[0])))
    side = np.zeros(others.shape[0], np.int64)
    launched = Chosen(first, second, others, side)
    _move(bags, table, first, 0, 1, groups)
    _move(bags, table, second, 1, 1, groups)
    _scan(rng, bags, table, launched, work, 0)
    for _ in range(effort.n_scans - 1):
        _scan(rng, bags, table, launched, work, 1)
    if not splitting:
        side += 2 * now
    log_q = _scan(rng, bags, table, launched, work, 1 if splitting else 2)
    in_cell, in_row, size, sums = groups
    log_ratio = effort.log_concentration + math.lgamma(size[0]) + math.lgamma(size[1]) - math.lgamma(size[0] + size[1])
    for x in range(2):
        log_ratio += _log_marginal(in_cell[x], in_row[x], table) + _number_marginals(sums[x], table)
    log_ratio -= _log_marginal(in_cell[0] + in_cell[1], in_row[0] + in_row[1], table) + log_q
    log_ratio -= _number_marginals(sums[0] + sums[1], table)
    # The new group may number its states in n_states! ways; the reverse merge must find the one that fits.
    same = np.arange(layout.n_states)
    log_ratio += math.lgamma(layout.n_states + 1.0) + _align(rng, groups, table, layout, same, False)
    if math.log(1.0 - rng.random()) >= (log_ratio if splitting else -log_ratio):
        return REJECTED
    joined = label.max() + 1 if splitting else label[first]
    label[second] = joined
    for x in range(others.shape[0]):
        if side[x] == 1:
            label[others[x]] = joined
    return SPLIT if splitting else MERGED
