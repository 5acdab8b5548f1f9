"""Partitions of data, compared through the sizes of the intersections of their groups; nothing is N x N.

Variation of information and Binder's loss are both  sum_k f(n_k) + sum_g f(n_g) - 2 sum_kg f(n_kg)  up to a factor,
with f(n) = n log n and f(n) = n^2: `value[n]` holds f, and every kernel here serves both.  Groups are int32, numbered
0, 1, ... within a draw by their first member.
"""

from typing import NamedTuple

import numpy as np

from ...jit import jit

NOWHERE = np.int64(-1)  # a literal would compile `_move` once more


class Target(NamedTuple):
    """What a partition is fitted to: distinct draws with their weights, and the f of the loss."""

    row: np.ndarray  # int32 [datum, draw]: row of the table for the group of the datum in the draw
    weight: np.ndarray  # float64 [draw], sums to one
    row_weight: np.ndarray  # float64 [row]: weight of the draw the row belongs to
    value: np.ndarray  # float64: f(0), f(1), ..., f(n_data)
    step: np.ndarray  # float64: f(n + 1) - f(n)
    least: float  # a smaller change is rounding; so each step goes down for good and the search ends


class Fit(NamedTuple):
    """A partition under way, with its contingency tables against all draws; a group of size 0 is a free slot."""

    group: np.ndarray  # int32 [datum]; -1: not seated yet
    size: np.ndarray  # int64 [group]
    table: np.ndarray  # int32 [row, group]: data of the row's group that are in this one


# ---- whole partitions -----------------------------------------------------------------------------------------------


@jit
def number_groups(names, n_names, group_out):
    """Number the groups of each draw by first member; names are 0..n_names - 1.  Returns how many each draw has."""
    n_draws, n_data = names.shape
    number = np.full(n_names, -1, np.int32)
    n_groups = np.zeros(n_draws, np.int64)
    for s in range(n_draws):
        for n in range(n_data):
            if number[names[s, n]] < 0:
                number[names[s, n]] = n_groups[s]
                n_groups[s] += 1
            group_out[s, n] = number[names[s, n]]
        for n in range(n_data):
            number[names[s, n]] = -1
    return n_groups


@jit
def sort_by_size(group, n_groups, group_out):
    """Number the groups of each draw by decreasing size; groups of one size stay in the order they had."""
    n_draws, n_data = group.shape
    first = np.zeros(n_data + 2, np.int64)  # by size: the number of the first group that has it
    for s in range(n_draws):
        size = np.zeros(n_groups[s], np.int64)
        for n in range(n_data):
            size[group[s, n]] += 1
        for k in range(n_groups[s]):
            first[size[k]] += 1
        above = 0
        for z in range(n_data, -1, -1):
            above += first[z]
            first[z] = above - first[z]
        number = np.empty(n_groups[s], np.int32)
        for k in range(n_groups[s]):
            number[k] = first[size[k]]
            first[size[k]] += 1
        for n in range(n_data):
            group_out[s, n] = number[group[s, n]]
        first[:] = 0


@jit
def own_sums(group, value):
    """sum_g f(n_g) over the groups of each draw, and the size of its largest group."""
    n_draws, n_data = group.shape
    total = np.zeros(n_draws)
    largest = np.zeros(n_draws, np.int64)
    size = np.zeros(n_data, np.int64)
    for s in range(n_draws):
        for n in range(n_data):
            size[group[s, n]] += 1
        for k in range(n_data):
            if size[k] == 0:  # numbers have no gaps
                break
            total[s] += value[size[k]]
            largest[s] = max(largest[s], size[k])
            size[k] = 0
    return total, largest


@jit
def joint_sums(order, start, group, n_groups, value):
    """sum_kg f(n_kg) of one partition with each draw; its group k is order[start[k]]..order[start[k + 1] - 1]."""
    n_draws, n_data = group.shape
    total = np.zeros(n_draws)
    shared = np.zeros(n_data, np.int64)  # members of k in each group of the draw; zero between groups
    for s in range(n_draws):
        joint = 0.0
        for k in range(start.shape[0] - 1):
            for x in range(start[k], start[k + 1]):
                shared[group[s, order[x]]] += 1
            if n_groups[s] < start[k + 1] - start[k]:  # look where there is less to look at
                for g in range(n_groups[s]):
                    joint += value[shared[g]]
                    shared[g] = 0
            else:
                for x in range(start[k], start[k + 1]):
                    g = group[s, order[x]]
                    joint += value[shared[g]]  # f(0) = 0: only the first visit counts
                    shared[g] = 0
        total[s] = joint
    return total


@jit
def add_together(group, weight, rows, share_out):
    """Add to share_out[r, n] the weights of the draws in which datum rows[r] and datum n share a group."""
    n_draws, n_data = group.shape
    for r in range(rows.shape[0]):
        for s in range(n_draws):
            mine = group[s, rows[r]]
            for n in range(n_data):
                share_out[r, n] += weight[s] if group[s, n] == mine else 0.0


# ---- search for the partition of least expected loss ----------------------------------------------------------------


@jit
def _move(n, to, target, fit):
    """Take a datum out of its group, if it has one, and put it into another, unless `to` is -1; O(draws)."""
    k = fit.group[n]
    fit.group[n] = to
    if k >= 0:
        fit.size[k] -= 1
        for s in range(target.weight.shape[0]):
            fit.table[target.row[n, s], k] -= 1
    if to >= 0:
        fit.size[to] += 1
        for s in range(target.weight.shape[0]):
            fit.table[target.row[n, s], to] += 1


@jit
def place_all(group, target, fit):
    """Seat every datum in the group it is given."""
    for n in range(group.shape[0]):
        _move(n, np.int64(group[n]), target, fit)


@jit
def _price(n, target, fit, price_out):
    """Change of the objective from seating an unseated datum in each of the slots 0..len(price_out) - 1."""
    n_slots = price_out.shape[0]
    for k in range(n_slots):
        price_out[k] = target.step[fit.size[k]]
    for s in range(target.weight.shape[0]):
        g, twice = target.row[n, s], 2.0 * target.weight[s]
        for k in range(n_slots):
            price_out[k] -= twice * target.step[fit.table[g, k]]


@jit
def _n_slots(fit):
    """Slots worth a look: all up to the last one in use, and a free one after it if there is room."""
    n = fit.size.shape[0]
    while n > 0 and fit.size[n - 1] == 0:
        n -= 1
    return min(n + 1, fit.size.shape[0])


@jit
def _seat(n, target, fit):
    """Move a datum to the group where it costs least, a new one included; returns the change of the objective."""
    old = fit.group[n]
    _move(n, NOWHERE, target, fit)
    price = np.empty(_n_slots(fit) if old < 0 else max(_n_slots(fit), old + 1))
    _price(n, target, fit, price)
    best = old if old >= 0 else 0
    for k in range(price.shape[0]):
        if price[k] < price[best] - target.least:
            best = k
    _move(n, best, target, fit)
    return price[best] - price[old] if old >= 0 else price[best]


@jit
def seat_all(order, target, fit):
    """Seat the data one after the other, each where it costs least; returns the change of the objective."""
    change = 0.0
    for n in order:
        change += _seat(n, target, fit)
    return change


@jit
def _merge_best(target, fit):
    """Merge the two groups whose merger lowers the objective most, if any does; returns the change."""
    n_slots, value = _n_slots(fit), target.value
    joint = np.zeros((n_slots, n_slots))  # expected gain of sum_kg f(n_kg); only rows that two groups share add to it
    met = np.empty(n_slots, np.int64)
    for g in range(fit.table.shape[0]):
        row, n_met = fit.table[g], 0
        for k in range(n_slots):
            if row[k] > 0:
                for x in range(n_met):
                    j = met[x]
                    joint[j, k] += target.row_weight[g] * (value[row[j] + row[k]] - value[row[j]] - value[row[k]])
                met[n_met] = k
                n_met += 1
    best, into, gone = -target.least, -1, -1
    for j in range(n_slots):
        for k in range(j + 1, n_slots):
            a, b = fit.size[j], fit.size[k]
            if a > 0 and b > 0:
                change = value[a + b] - value[a] - value[b] - 2.0 * joint[j, k]
                if change < best:
                    best, into, gone = change, j, k
    if into < 0:
        return 0.0
    for n in range(fit.group.shape[0]):
        if fit.group[n] == gone:
            _move(n, into, target, fit)
    return best


@jit
def shuffle(rng, order_out):
    """Put an order into random order, all equally likely."""
    for x in range(order_out.shape[0] - 1, 0, -1):
        y = int(rng.random() * (x + 1))
        order_out[x], order_out[y] = order_out[y], order_out[x]


@jit
def _rival(members, target):
    """The member that is with the first one in the fewest draws."""
    first, best, least = members[0], members[0], np.inf
    for n in members:
        together = 0.0
        for s in range(target.weight.shape[0]):
            if target.row[n, s] == target.row[first, s]:
                together += target.weight[s]
        if together < least:
            best, least = n, together
    return best


@jit
def _break_up(rng, k, target, fit):
    """Dissolve group k around two of its members who disagree, and seat the rest anew; undone unless it pays."""
    if fit.size[k] < 2:
        return 0.0
    members = np.empty(fit.size[k], np.int64)
    x = 0
    for n in range(fit.group.shape[0]):
        if fit.group[n] == k:
            members[x] = n
            x += 1
    shuffle(rng, members)
    rival = _rival(members, target)
    if rival == members[0]:  # they are together in every draw
        return 0.0
    change = -target.value[members.shape[0]]
    for g in range(fit.table.shape[0]):
        change += 2.0 * target.row_weight[g] * target.value[fit.table[g, k]]
    for n in members:
        _move(n, NOWHERE, target, fit)
    x = 0
    for free in range(fit.size.shape[0]):
        if fit.size[free] == 0 and x < 2:  # k is free now
            _move(rival if x == 1 else members[0], free, target, fit)
            change -= target.value[1]  # a datum alone: f(1) - 2 f(1)
            x += 1
    for again in range(2):  # seat the rest, then let each think again
        for n in members:
            if again == 1 or fit.group[n] < 0:
                change += _seat(n, target, fit)
    if change < -target.least:
        return change
    for n in members:
        _move(n, k, target, fit)
    return 0.0


@jit
def descend(rng, target, fit):
    """Lower the objective by moves of one datum, mergers and break-ups until none of them helps."""
    order = np.arange(fit.group.shape[0])
    while True:
        shuffle(rng, order)
        while seat_all(order, target, fit) < -target.least:
            pass
        n_merged = 0
        while _merge_best(target, fit) < 0.0:
            n_merged += 1
        if n_merged > 0:
            continue
        change = 0.0
        for k in range(_n_slots(fit)):
            change += _break_up(rng, k, target, fit)
        if change == 0.0:
            return
