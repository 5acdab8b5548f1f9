"""Split and merge groups of a Dirichlet-process mixture of products of Dirichlet-multinomials (Jain and Neal 2004).

A datum is a bag: unique cells with counts; cells belong to rows, and each row is a multinomial whose probabilities,
Dirichlet a priori, are integrated out.  It may hold numbers too, whose sums by state are enough.  Groups of hidden-tree
counts number their states each in its own way: a merge therefore draws which states correspond, and the reverse split
knows the probability of that draw.

The counts of all groups are kept.  So most mergers are refused at once: the chance of the reverse split is at most one,
and that alone bounds the ratio.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import inlined, jit
from .bag_sides import AGAIN, FIRST, TOLD, Launch, move_bag, new_sides, scan
from .bags import CellTable, Layout
from .log_rises import log_rise
from .number_marginals import N_MOMENTS, number_marginal
from .state_numbers import renumber_states, renumbered

REJECTED, SPLIT, MERGED = 0, 1, 2


class Cells(NamedTuple):
    """What counts mean."""

    table: CellTable
    layout: Layout


class GroupSums(NamedTuple):
    """What the bags of each group add up to; groups without bags are slots for new ones."""

    in_cell: NDArray[np.float64]  # [group, cell]
    in_row: NDArray[np.float64]  # [group, row]
    size: NDArray[np.int64]  # [group]
    sums: NDArray[np.float64]  # [group, cell of numbers, moment]
    log_marginal: NDArray[np.float64]  # [group]: log P(all bags of it), up to what splits and merges leave alone


class Effort(NamedTuple):
    """Settings of a proposal to split or merge."""

    log_concentration: float
    n_scans: int


class Task(NamedTuple):
    """A proposal to split or merge, begun with two data."""

    log_concentration: float
    n_scans: int
    n_data: int
    pair: tuple[int, int]


@jit
def sum_groups(label, bags, table, n_slots):
    """Sums of all groups, with room for so many."""
    n_cells, n_rows, n_numbers = table.row.shape[0], table.row_prior.shape[0], table.numbers.shape[0]
    groups = GroupSums(
        np.zeros((n_slots, n_cells)),
        np.zeros((n_slots, n_rows)),
        np.zeros(n_slots, np.int64),
        np.zeros((n_slots, n_numbers, N_MOMENTS)),
        np.zeros(n_slots),
    )
    numbers = bags.moments
    for t in range(label.shape[0]):
        k = label[t]
        groups.size[k] += 1
        for x in range(bags.start[t], bags.stop[t]):
            groups.in_cell[k, bags.cell[x]] += bags.times[x]
        if numbers.n_cells > 0:
            for x in range(numbers.start[t], numbers.stop[t]):
                for y in range(N_MOMENTS):
                    groups.sums[k, numbers.cell[x], y] += numbers.value[x, y]
    for k in range(n_slots):
        _complete(groups, table, k)
    return groups


@jit
def _complete(groups, table, k):
    """Rows and marginal of a group from its cells."""
    in_row = groups.in_row[k]
    in_row[:] = 0.0
    for c in range(table.row.shape[0]):
        in_row[table.row[c]] += groups.in_cell[k, c]
    marginal = _log_marginal(groups.in_cell[k], in_row, table) + _number_marginals(groups.sums[k], table)
    groups.log_marginal[k] = marginal


@jit
def _log_marginal(in_cell, in_row, table):
    """log P(all bags of a group), up to what splits and merges leave alone."""
    prior, row_prior = table.prior, table.row_prior
    total = 0.0
    for c in range(in_cell.shape[0]):
        if in_cell[c] > 0:
            total += log_rise(prior[c], in_cell[c])
    for r in range(in_row.shape[0]):
        if in_row[r] > 0:
            total -= log_rise(row_prior[r], in_row[r])
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
def _word_gain(one, two, table, layout, i, j):
    """Gain from pooling the counts of what state i of one group and state j of the other emit."""
    n_states, row, prior = layout.n_states, table.row, table.prior
    gain, total_0, total_1 = 0.0, 0.0, 0.0
    last = layout.switch - n_states
    for c in range(layout.emission, layout.switch, n_states):
        a, b = one[c + i], two[c + j]
        total_0 += a
        total_1 += b
        if a > 0 and b > 0:
            gain += log_rise(prior[c] + a, b) - log_rise(prior[c], b)
        if c == last or row[c + n_states] != row[c]:  # the end of a column of words
            if total_0 > 0 and total_1 > 0:
                base = table.row_prior[row[c]]
                gain -= log_rise(base + total_0, total_1) - log_rise(base, total_1)
            total_0 = total_1 = 0.0
    return gain


@inlined
def _number_gain(one, two, table, layout, i, j):
    """Gain from pooling the numbers of state i of one group and of state j of the other."""
    gain = 0.0
    for c in range(0, one.shape[0], layout.n_states):
        a, b = one[c + i], two[c + j]
        if a[0] > 0.0 and b[0] > 0.0:
            prior = table.numbers[c + i]
            gain += number_marginal(prior, a[0] + b[0], a[1] + b[1], a[2] + b[2])
            gain -= number_marginal(prior, a[0], a[1], a[2]) + number_marginal(prior, b[0], b[1], b[2])
    return gain


@jit
def _align(rng, groups, pair, cells, match, draw):
    """Log probability of the correspondence of states in `match` (first of the pair -> second), drawn if asked.

    States are matched one after another in proportion to exp(gain from pooling what they emit).
    """
    table, layout = cells
    one, two = pair
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
            gain[j] = _word_gain(groups.in_cell[one], groups.in_cell[two], table, layout, i, j)
            gain[j] += _number_gain(groups.sums[one], groups.sums[two], table, layout, i, j)
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
def _copy_renumbered(groups, cells, pair, new):
    """The counts of the first of the pair, its state j called new[j], as those of the second."""
    table, layout = cells
    one, two = pair
    for c in range(table.row.shape[0]):
        groups.in_cell[two, renumbered(c, new, layout)] = groups.in_cell[one, c]
    for c in range(table.numbers.shape[0]):
        column, i = divmod(c, layout.n_states)
        groups.sums[two, column * layout.n_states + new[i]] = groups.sums[one, c]
    groups.size[two] = groups.size[one]
    _complete(groups, table, two)


@jit
def _add(groups, table, pair, total):
    """The counts of a pair of groups, as those of a third."""
    one, two = pair
    groups.in_cell[total] = groups.in_cell[one] + groups.in_cell[two]
    groups.sums[total] = groups.sums[one] + groups.sums[two]
    groups.size[total] = groups.size[one] + groups.size[two]
    _complete(groups, table, total)


@jit
def _move_group(groups, source, goal):
    """Put a group into another slot; its own is then empty."""
    groups.in_cell[goal] = groups.in_cell[source]
    groups.in_row[goal] = groups.in_row[source]
    groups.sums[goal] = groups.sums[source]
    groups.size[goal] = groups.size[source]
    groups.log_marginal[goal] = groups.log_marginal[source]
    groups.size[source] = 0


@jit
def _split_value(groups, layout, task, halves, whole):
    """log posterior of two groups less that as one, with the chances of the pair and the ways to name states."""
    one, two = halves
    n_one, n_two = float(groups.size[one]), float(groups.size[two])
    n_others = task.n_data - n_one  # of which the second datum of a merger is one
    value = math.log(n_one + n_two - 1.0) - math.log(n_others)  # the chance of the pair there over that here
    value += task.log_concentration + math.lgamma(n_one) + math.lgamma(n_two) - math.lgamma(n_one + n_two)
    value += groups.log_marginal[one] + groups.log_marginal[two] - groups.log_marginal[whole]
    return value + math.lgamma(layout.n_states + 1.0)


@jit
def choose_pair(rng, label):
    """A datum, and with even chances another of its group or one of another group; (-1, -1) if there is none.

    Two data at random would seldom share one of many groups, and few splits would be tried.
    """
    n = label.shape[0]
    first = rng.integers(0, n)
    together = rng.random() < 0.5
    n_fit = 0
    for t in range(n):
        n_fit += t != first and (label[t] == label[first]) == together
    if n_fit == 0:
        return -1, -1
    left = rng.integers(0, n_fit)
    second = -1
    while left >= 0:
        second += 1
        left -= second != first and (label[second] == label[first]) == together
    return first, second


@jit
def _others(rng, label, first, second):
    """The other data of the groups of two, in random order."""
    one, two = label[first], label[second]
    n_others = 0
    for t in range(label.shape[0]):
        n_others += label[t] in (one, two) and t not in (first, second)
    others = np.empty(n_others, np.int64)
    x = 0
    for t in range(label.shape[0]):
        if label[t] in (one, two) and t not in (first, second):
            others[x] = t
            x += 1
    for x in range(n_others - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    return others


@jit
def _launched(rng, bags, table, pair, launch, n_scans):
    """Two sides that each start from one of the pair; others join one after another and are reseated some times."""
    sides = new_sides(table)
    move_bag(bags, table, sides, pair[0], 0, 1)
    move_bag(bags, table, sides, pair[1], 1, 1)
    scan(rng, bags, table, sides, launch, FIRST)
    for _ in range(n_scans - 1):
        scan(rng, bags, table, sides, launch, AGAIN)
    return sides


@inlined
def _spare(groups):
    """Two slots without bags."""
    one = 0
    while groups.size[one] > 0:
        one += 1
    two = one + 1
    while groups.size[two] > 0:
        two += 1
    return one, two


@jit
def _split(rng, label, bags, groups, cells, task):
    """Propose to split the group of two data, which `task.pair` names."""
    table, layout = cells
    first, second = task.pair
    whole, halves = label[first], _spare(groups)
    log_u = math.log(1.0 - rng.random())
    others = _others(rng, label, first, second)
    side = np.zeros(others.shape[0], np.int64)
    launch = Launch(others, side, side)
    sides = _launched(rng, bags, table, task.pair, launch, task.n_scans)
    log_q = scan(rng, bags, table, sides, launch, AGAIN)
    for x in range(2):
        groups.in_cell[halves[x]] = sides.in_cell[:, x]
        groups.sums[halves[x]] = sides.sums[x]
        groups.size[halves[x]] = sides.size[x]
        _complete(groups, table, halves[x])
    # The new group may number its states in n_states! ways; the reverse merge must find the one that fits.
    same = np.arange(layout.n_states)
    log_ratio = _split_value(groups, layout, task, halves, whole) - log_q
    log_ratio += _align(rng, groups, halves, cells, same, False)
    if log_u >= log_ratio:
        groups.size[halves[0]] = groups.size[halves[1]] = 0
        return REJECTED
    _move_group(groups, halves[0], whole)
    label[second] = halves[1]
    for x in range(others.shape[0]):
        if side[x] == 1:
            label[others[x]] = halves[1]
    return SPLIT


@jit
def _merge(rng, label, bags, groups, cells, task):
    """Propose to merge the groups of two data, which `task.pair` names.

    States of the second group may be renumbered even when nothing else happens: their numbers mean nothing.
    """
    table, layout = cells
    first, second = task.pair
    one, two = label[first], label[second]
    log_u = math.log(1.0 - rng.random())
    alike, whole = _spare(groups)
    match, new = np.empty(layout.n_states, np.int64), np.empty(layout.n_states, np.int64)
    log_align = _align(rng, groups, (one, two), cells, match, True)
    new[match] = np.arange(layout.n_states)
    _copy_renumbered(groups, cells, (two, alike), new)
    _add(groups, table, (one, alike), whole)
    lost = _split_value(groups, layout, task, (one, alike), whole) + log_align
    if log_u >= -lost:  # the chance of the reverse split is at most one
        groups.size[alike] = groups.size[whole] = 0
        return REJECTED
    renumber_states(bags, np.flatnonzero(label == two), new, layout)
    _move_group(groups, alike, two)
    others = _others(rng, label, first, second)
    launch = Launch(others, np.zeros(others.shape[0], np.int64), (label[others] == two).astype(np.int64))
    sides = _launched(rng, bags, table, task.pair, launch, task.n_scans)
    log_q = scan(rng, bags, table, sides, launch, TOLD)
    if log_u >= log_q - lost:
        groups.size[whole] = 0
        return REJECTED
    _move_group(groups, whole, one)
    groups.size[two] = 0
    label[second] = one
    for x in range(others.shape[0]):
        label[others[x]] = one
    return MERGED


@jit
def split_or_merge(rng, label, bags, groups, cells, effort):
    """Pick two data; propose to split their group or to merge their two; REJECTED, SPLIT or MERGED.

    `label` and the sums of groups, which need two slots to spare, are updated in place; a new group takes one of them.
    The proposal starts from the two data, seats the others one after another and reseats them effort.n_scans times; the
    last scan is the one whose probability counts.
    """
    pair = choose_pair(rng, label)
    if pair[0] < 0:
        return REJECTED
    task = Task(effort.log_concentration, effort.n_scans, label.shape[0], pair)
    if label[pair[0]] == label[pair[1]]:
        return _split(rng, label, bags, groups, cells, task)
    return _merge(rng, label, bags, groups, cells, task)
