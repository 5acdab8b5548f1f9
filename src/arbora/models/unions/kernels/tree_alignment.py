"""Alignment of two unordered trees: the matching of greatest gain whose nodes fit into one tree (models/tree_union.md).

    tree(i, j)   = max(max(0, gain) + forest(ch i, ch j), max_r tree(i_r, j), max_s tree(i, j_s))
    forest(A, B) = best packing of disjoint stars: {i_r}-{j_s} worth tree(i_r, j_s); i_r, unmatched, above several of B,
                   worth forest(ch i_r, B'); and several of A below an unmatched j_s, worth forest(A', ch j_s)

Everything runs over *kinds* of subtrees instead of nodes, and over *how many* children of each kind instead of which:
interchangeable siblings, as leaves mostly are, cost a factor (count + 1) and not 2 ** count.  A set of children is a
number in mixed radix, a *state*.  Where a node has too many states, its largest children are the core, packed exactly,
and the others are assigned one to one; the result is feasible and flagged as not exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....forest.kernels.tree_shape import Kinds, Match, Shape, find_kinds
from ....jit import inlined, jit

STATE_LIMIT = 1 << 16  # of (states of a node) x (states of a node of the other tree), before children are left out


class Side(NamedTuple):
    """One tree of a pair: its kinds, and the states of their children."""

    row: NDArray[np.int64]
    kid_start: NDArray[np.int64]  # children of which something can be matched, those in the core first
    kid: NDArray[np.int64]
    kid_count: NDArray[np.int64]
    core: NDArray[np.int64]  # [kid] children of that kind in the core
    stride: NDArray[np.int64]  # [kid] what one child of that kind adds to a state
    first: NDArray[np.int64]  # [kind + 1] offset of the states of a kind in tables of all states
    digit: NDArray[np.int64]  # [first + state, place of the kid] children of that kind in the state
    fields: NDArray[np.int64]  # [first + state] the same digits side by side in one word, a spare bit above each
    spare: NDArray[np.int64]  # [kind] the spare bits of its states


class Tables(NamedTuple):
    """Results of the upward pass."""

    tree: NDArray[np.float64]  # [i, j] best value of the two subtrees
    full: NDArray[np.float64]  # [i, j] of all their children
    below_1: NDArray[np.float64]  # [i, first[j] + state] of all core children of i and some of j
    below_2: NDArray[np.float64]  # [j, first[i] + state] of some of i and all core children of j
    inexact: NDArray[np.bool_]  # [1]


# ---- states ---------------------------------------------------------------------------------------------------------


@jit
def _useful_counts(row, kid_start, kid, kid_count, gain, is_row):
    """Children of each kind that can be matched at all, or have something below that can: others constrain nothing."""
    n_kinds = row.shape[0]
    useful = np.zeros(n_kinds, np.bool_)
    count = np.zeros(kid.shape[0], np.int64)
    for k in range(n_kinds):
        for e in range(kid_start[k], kid_start[k + 1]):
            if useful[kid[e]]:
                count[e] = kid_count[e]
                useful[k] = True
        if row[k] >= 0:
            line = gain[row[k], :] if is_row else gain[:, row[k]]
            for x in range(line.shape[0]):
                if line[x] > 0.0:
                    useful[k] = True
                    break
    return count


@jit
def _largest_state(kid_start, kid_count, limit):
    """Largest number of states of a node, cut at the limit."""
    most = 1
    for k in range(kid_start.shape[0] - 1):
        states = 1
        for e in range(kid_start[k], kid_start[k + 1]):
            states = min(states * (kid_count[e] + 1), limit)
        most = max(most, states)
    return most


@inlined
def _n_bits(count):
    """Bits of a word that hold numbers up to a count; few enough for all counts of a core, whose states are few."""
    n = 0
    while count >> n:
        n += 1
    return n


@jit
def _make_side(row, old_start, old_kid, old_count, cap):
    """Lay out the states of the children of each kind, at most `cap` of them; children that count 0 are left out."""
    n_kinds = row.shape[0]
    kid_start = np.zeros(n_kinds + 1, np.int64)
    kid = np.empty(old_kid.shape[0], np.int64)
    kid_count = np.empty(old_kid.shape[0], np.int64)
    core = np.zeros(old_kid.shape[0], np.int64)
    stride = np.zeros(old_kid.shape[0], np.int64)
    first = np.zeros(n_kinds + 1, np.int64)
    width = 1  # most kinds in a core
    x = 0
    for k in range(n_kinds):
        states = 1
        for e in range(old_start[k], old_start[k + 1]):
            if old_count[e] > 0:
                kid[x], kid_count[x] = old_kid[e], old_count[e]
                core[x] = min(old_count[e], cap // states - 1)
                stride[x] = states
                states *= core[x] + 1
                if core[x] > 0:
                    width = max(width, x - kid_start[k] + 1)
                x += 1
        kid_start[k + 1] = x
        first[k + 1] = first[k] + states
    digit = np.zeros((first[-1], width), np.int64)
    fields = np.zeros(first[-1], np.int64)
    spare = np.zeros(n_kinds, np.int64)
    for k in range(n_kinds):
        for e in range(kid_start[k], kid_start[k + 1]):
            if core[e] > 0:
                spare[k] = (spare[k] << (_n_bits(core[e]) + 1)) | (1 << _n_bits(core[e]))
        for state in range(first[k + 1] - first[k]):
            left = state
            for e in range(kid_start[k + 1] - 1, kid_start[k] - 1, -1):
                if core[e] > 0:
                    digit[first[k] + state, e - kid_start[k]] = left // stride[e]
                    left %= stride[e]
            for e in range(kid_start[k], kid_start[k + 1]):
                if core[e] > 0:
                    here = digit[first[k] + state, e - kid_start[k]]
                    fields[first[k] + state] = (fields[first[k] + state] << (_n_bits(core[e]) + 1)) | here
    return Side(row, kid_start, kid[:x], kid_count[:x], core[:x], stride[:x], first, digit, fields, spare)


@jit
def _split_caps(most_1, most_2, limit):
    """Caps of the two sides whose product is the limit; a side that needs less leaves more to the other."""
    half = 1
    while half * half < limit:
        half *= 2
    cap_1 = max(limit // max(min(most_2, half), 1), 2)
    cap_2 = max(limit // max(min(most_1, half), 1), 2)
    return cap_1, cap_2


@jit
def _is_cut(side, k):
    """Whether some children are not in the core."""
    n_out = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_out += side.kid_count[e] - side.core[e]
    return n_out > 0


@jit
def _has_inner(side, k):
    """Whether some child has children."""
    n_below = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_below += _n_kids(side, side.kid[e])
    return n_below > 0


@jit
def _has_cut(side, k):
    """Whether some child has children outside its core."""
    n_cut = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_cut += _is_cut(side, side.kid[e])
    return n_cut > 0


@jit
def _n_kids(side, k):
    """Number of children."""
    n = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n += side.kid_count[e]
    return n


# ---- packing of stars -----------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """Room for packing the children of two nodes."""

    pack: NDArray[np.float64]
    from_1: NDArray[np.int64]  # [kid of i, and one more] where its stars begin in above_2
    above_2: NDArray[np.int64]
    from_2: NDArray[np.int64]
    above_1: NDArray[np.int64]


@jit
def _make_work(one, two):
    """Room for the largest packing of two trees."""
    most_1, most_2 = 1, 1
    for k in range(one.row.shape[0]):
        most_1 = max(most_1, one.first[k + 1] - one.first[k])
    for k in range(two.row.shape[0]):
        most_2 = max(most_2, two.first[k + 1] - two.first[k])
    width_1, width_2 = one.digit.shape[1], two.digit.shape[1]
    return Work(
        np.empty(most_1 * most_2),
        np.zeros(width_1 + 1, np.int64),
        np.empty(width_1 * most_2, np.int64),
        np.zeros(width_2 + 1, np.int64),
        np.empty(width_2 * most_1, np.int64),
    )


@jit
def _is_needed(side, k, state, center, below, tree, is_row):
    """Whether every child of a state adds to what it is worth below an unmatched `center`.

    If one adds nothing, the star without it is worth as much and leaves more to others, so this one need not be tried.
    """
    lo, at = side.kid_start[k], side.first[k]
    n_kids = min(side.kid_start[k + 1] - lo, side.digit.shape[1])
    n_members = 0
    for e in range(n_kids):
        n_members += side.digit[at + state, e]
    if n_members < 2:
        return False
    value = below[center, at + state]
    for e in range(n_kids):
        if side.digit[at + state, e] > 0:
            less = below[center, at + state - side.stride[lo + e]]
            if n_members == 2:  # one is left, and then the center may be matched to it
                for other in range(n_kids):
                    if side.digit[at + state, other] > (1 if other == e else 0):
                        c = side.kid[lo + other]
                        less = max(less, tree[center, c] if is_row else tree[c, center])
            if less >= value:
                return False
    return True


@jit
def _list_stars(side, k, other, center_kind, below, tree, is_row, start_out, state_out):
    """States of kind k below which each child of the other tree's node may stand, one child after the other."""
    lo = other.kid_start[center_kind]
    n = 0
    for e in range(min(other.kid_start[center_kind + 1] - lo, start_out.shape[0] - 1)):
        c = other.kid[lo + e]
        if other.core[lo + e] > 0 and other.first[c + 1] - other.first[c] > 1:
            for state in range(1, side.first[k + 1] - side.first[k]):
                if _is_needed(side, k, state, c, below, tree, is_row):
                    state_out[n] = state
                    n += 1
        start_out[e + 1] = n


@inlined
def _fits(part, whole, spare):
    """Whether one state is part of another, by their fields: no difference may borrow from a spare bit."""
    return ((whole | spare) - part) & spare == spare


@jit
def _pack(i, j, one, two, tables, work):
    """Best packing of every state of i's children with every state of j's, into work.pack[a * n_b + b]."""
    pack, from_1, above_2, from_2, above_1 = work
    lo_1, lo_2, at_1, at_2 = one.kid_start[i], two.kid_start[j], one.first[i], two.first[j]
    n_a, n_b = one.first[i + 1] - at_1, two.first[j + 1] - at_2
    n_kids = min(two.kid_start[j + 1] - lo_2, two.digit.shape[1])
    _list_stars(two, j, one, i, tables.below_1, tables.tree, True, from_1, above_2)
    _list_stars(one, i, two, j, tables.below_2, tables.tree, False, from_2, above_1)
    spare_1, spare_2 = one.spare[i], two.spare[j]
    for b in range(n_b):
        pack[b] = 0.0
    for a in range(1, n_a):
        whole = one.fields[at_1 + a]
        r = 0
        while one.digit[at_1 + a, r] == 0:
            r += 1
        i_r, less = one.kid[lo_1 + r], (a - one.stride[lo_1 + r]) * n_b  # row of the state without this child
        pack[a * n_b] = 0.0
        for b in range(1, n_b):
            best = pack[less + b]  # this child stays unmatched
            for s in range(n_kids):
                if two.digit[at_2 + b, s] > 0:
                    best = max(best, tables.tree[i_r, two.kid[lo_2 + s]] + pack[less + b - two.stride[lo_2 + s]])
            for x in range(from_1[r], from_1[r + 1]):  # it stands, unmatched, above several children of j
                several = above_2[x]
                if _fits(two.fields[at_2 + several], two.fields[at_2 + b], spare_2):
                    best = max(best, tables.below_1[i_r, at_2 + several] + pack[less + b - several])
            for s in range(n_kids):  # it is, with others, below an unmatched child of j
                if two.digit[at_2 + b, s] == 0:
                    continue
                rest = b - two.stride[lo_2 + s]
                for x in range(from_2[s], from_2[s + 1]):
                    several = above_1[x]
                    if one.digit[at_1 + several, r] > 0 and _fits(one.fields[at_1 + several], whole, spare_1):
                        value = tables.below_2[two.kid[lo_2 + s], at_1 + several]
                        best = max(best, value + pack[(a - several) * n_b + rest])
            pack[a * n_b + b] = best


# ---- assignment, for the children outside the core ------------------------------------------------------------------


@jit
def _transport(weight, supply, demand):
    """How many of each row go to each column, so that the sum of weights is greatest; weights are 0 or more.

    Shortest augmenting paths with potentials, one row after the other.  A path carries as many as fit at once, so that
    work grows with the numbers of rows and columns, and not with what is in them.
    """
    if supply.sum() > demand.sum():  # all of the smaller side finds a place
        return _transport_all(weight.T.copy(), demand, supply).T.copy()
    return _transport_all(weight, supply, demand)


@jit
def _transport_all(weight, supply, demand):
    """As `_transport`, where there is a place for every row."""
    n, m = weight.shape
    flow = np.zeros((n, m), np.int64)
    spare = demand.copy()
    high, low = np.zeros(n), np.zeros(m)  # potentials: -weight - high - low is 0 or more, and 0 where there is flow
    row_far, far = np.empty(n), np.empty(m)  # length of the shortest path to a row, to a column
    row_from, column_from = np.empty(n, np.int64), np.empty(m, np.int64)
    for x in range(n):
        left = supply[x]
        high[x] = np.inf
        for c in range(m):
            high[x] = min(high[x], -weight[x, c] - low[c])
        while left > 0:
            row_from[:] = -2  # not reached
            used = np.zeros(m, np.bool_)
            far[:] = np.inf
            row_from[x], row_far[x] = -1, 0.0
            _relax(x, weight, high, low, used, row_far, far, column_from)
            while True:
                end = -1
                for c in range(m):
                    if not used[c] and (end < 0 or far[c] < far[end]):
                        end = c
                used[end] = True
                if spare[end] > 0:
                    break
                for r in range(n):
                    if flow[r, end] > 0 and row_from[r] == -2:
                        row_from[r], row_far[r] = end, far[end]
                        _relax(r, weight, high, low, used, row_far, far, column_from)
            for r in range(n):
                if row_from[r] != -2:
                    high[r] += far[end] - row_far[r]
            for c in range(m):
                if used[c]:
                    low[c] -= far[end] - far[c]
            left -= _push(end, left, row_from, column_from, spare, flow)
    return flow


@jit
def _relax(r, weight, high, low, used, row_far, far_out, column_from_out):
    """Lengths of paths to the columns by way of row r, where these are shorter."""
    for c in range(used.shape[0]):
        if not used[c]:
            length = row_far[r] + max(-weight[r, c] - high[r] - low[c], 0.0)
            if length < far_out[c]:
                far_out[c], column_from_out[c] = length, r


@jit
def _push(end, most, row_from, column_from, spare_out, flow_out):
    """Send as many as fit along the path that ends at a column; returns how many."""
    amount = min(most, spare_out[end])
    r = column_from[end]
    while row_from[r] >= 0:
        amount = min(amount, flow_out[r, row_from[r]])
        r = column_from[row_from[r]]
    spare_out[end] -= amount
    c = end
    while True:
        r = column_from[c]
        flow_out[r, c] += amount
        if row_from[r] < 0:
            return amount
        c = row_from[r]
        flow_out[r, c] -= amount


@jit
def _counts(side, k, only_rest):
    """Children of kind k by their kind; with only_rest, of those outside the core."""
    lo, hi = side.kid_start[k], side.kid_start[k + 1]
    out = np.empty(hi - lo, np.int64)
    for e in range(lo, hi):
        out[e - lo] = side.kid_count[e] - (side.core[e] if only_rest else 0)
    return out


@jit
def _assign_children(i, j, one, two, tree, only_rest):
    """Best one-to-one assignment of the children of i and j: its value, and how many of each kind go to each."""
    lo_1, lo_2 = one.kid_start[i], two.kid_start[j]
    supply, demand = _counts(one, i, only_rest), _counts(two, j, only_rest)
    weight = np.empty((supply.shape[0], demand.shape[0]))
    for r in range(weight.shape[0]):
        for c in range(weight.shape[1]):
            weight[r, c] = tree[one.kid[lo_1 + r], two.kid[lo_2 + c]]
    flow = _transport(weight, supply, demand)
    return (weight * flow).sum(), flow


@jit
def _deal(nodes_1, nodes_2, place_1, place_2, flow):
    """The node of the second list that each of the first is assigned to, or -1; place_* are the rows and columns."""
    n_1, n_2 = flow.shape
    start = np.zeros(n_2 + 1, np.int64)
    for y in range(nodes_2.shape[0]):
        start[place_2[y] + 1] += 1
    for c in range(n_2):
        start[c + 1] += start[c]
    by_kind = np.empty(nodes_2.shape[0], np.int64)
    fill = start.copy()
    for y in range(nodes_2.shape[0]):
        by_kind[fill[place_2[y]]] = nodes_2[y]
        fill[place_2[y]] += 1
    left = flow.copy()
    at = np.zeros(n_1, np.int64)  # columns before this one are served
    out = np.full(nodes_1.shape[0], -1, np.int64)
    for x in range(nodes_1.shape[0]):
        r = place_1[x]
        while at[r] < n_2 and left[r, at[r]] == 0:
            at[r] += 1
        if at[r] < n_2:
            c = at[r]
            left[r, c] -= 1
            out[x] = by_kind[start[c]]
            start[c] += 1
    return out


@jit
def _places(nodes, kind, side, k):
    """Place of the kind of each of these nodes among the kinds of the children of k."""
    place = np.empty(side.row.shape[0], np.int64)
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        place[side.kid[e]] = e - side.kid_start[k]
    out = np.empty(nodes.shape[0], np.int64)
    for x in range(nodes.shape[0]):
        out[x] = place[kind[nodes[x]]]
    return out


# ---- the upward pass ------------------------------------------------------------------------------------------------


@jit
def _upward(one, two, gain):
    """Best values of all pairs of kinds."""
    n_1, n_2 = one.row.shape[0], two.row.shape[0]
    tables = Tables(
        np.zeros((n_1, n_2)),
        np.zeros((n_1, n_2)),
        np.zeros((n_1, two.first[-1])),
        np.zeros((n_2, one.first[-1])),
        np.zeros(1, np.bool_),
    )
    work = _make_work(one, two)
    pack = work.pack
    for i in range(n_1):  # kinds of children come first
        for j in range(n_2):
            lo_1, hi_1 = one.kid_start[i], one.kid_start[i + 1]
            lo_2, hi_2 = two.kid_start[j], two.kid_start[j + 1]
            # What is below a virtual root together with an inner node matters only to stars of several roots.
            if one.row[i] < 0 and two.row[j] >= 0 and _n_kids(one, i) < 2:
                continue
            if two.row[j] < 0 and one.row[i] >= 0 and _n_kids(two, j) < 2:
                continue
            best = 0.0
            if one.first[i + 1] - one.first[i] > 1 and two.first[j + 1] - two.first[j] > 1:
                _pack(i, j, one, two, tables, work)
                n_a = one.first[i + 1] - one.first[i]
                n_b = two.first[j + 1] - two.first[j]
                for b in range(n_b):
                    tables.below_1[i, two.first[j] + b] = pack[(n_a - 1) * n_b + b]
                for a in range(n_a):
                    tables.below_2[j, one.first[i] + a] = pack[a * n_b + n_b - 1]
                best = pack[n_a * n_b - 1]
                if _is_cut(one, i) or _is_cut(two, j):
                    rest, _ = _assign_children(i, j, one, two, tables.tree, True)
                    plain, _ = _assign_children(i, j, one, two, tables.tree, False)
                    best = max(best + rest, plain)
                    if _has_inner(one, i) or _has_inner(two, j):  # among leaves only, assignment is exact
                        tables.inexact[0] = True
                elif (_has_cut(one, i) and _n_kids(two, j) > 1) or (_has_cut(two, j) and _n_kids(one, i) > 1):
                    tables.inexact[0] = True  # a star centred at a child whose children were left out
                tables.full[i, j] = best
            if one.row[i] < 0 or two.row[j] < 0:
                continue  # a virtual root is matched to nothing and has nothing above
            best += max(0.0, gain[one.row[i], two.row[j]])
            for e in range(lo_1, hi_1):
                best = max(best, tables.tree[one.kid[e], j])
            for e in range(lo_2, hi_2):
                best = max(best, tables.tree[i, two.kid[e]])
            tables.tree[i, j] = best
    return tables


@jit
def _prepare(kinds_1, kinds_2, gain, limit):
    """Both sides, with as many states as the limit allows."""
    row_1, start_1, kid_1, all_1 = kinds_1
    row_2, start_2, kid_2, all_2 = kinds_2
    count_1 = _useful_counts(row_1, start_1, kid_1, all_1, gain, True)
    count_2 = _useful_counts(row_2, start_2, kid_2, all_2, gain, False)
    most_1, most_2 = _largest_state(start_1, count_1, limit), _largest_state(start_2, count_2, limit)
    cap_1, cap_2 = _split_caps(most_1, most_2, limit)
    return _make_side(row_1, start_1, kid_1, count_1, cap_1), _make_side(row_2, start_2, kid_2, count_2, cap_2)


# ---- the way back ---------------------------------------------------------------------------------------------------


@jit
def _core_children(u, shape, kind, side, out):
    """Children of node u in the core, by kind, and after them the others; returns how many are in the core."""
    _, child_start, child = shape
    k = kind[u]
    n, rest = 0, _n_kids(side, k)
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        met = 0
        for x in range(child_start[u], child_start[u + 1]):
            if kind[child[x]] == side.kid[e]:
                if met < side.core[e]:
                    out[n] = child[x]
                    n += 1
                else:
                    rest -= 1
                    out[rest] = child[x]
                met += 1
    return n


@jit
def _state_of(nodes, kind, side, k):
    """State of some core children of a node of kind k."""
    state = 0
    for x in range(nodes.shape[0]):
        for e in range(side.kid_start[k], side.kid_start[k + 1]):
            if side.kid[e] == kind[nodes[x]]:
                state += side.stride[e]
                break
    return state


@jit
def _take_nodes(nodes, free, kind, side, k, part, out):
    """Choose free nodes, part[e] of each kind, into out; returns how many."""
    n = 0
    lo = side.kid_start[k]
    for e in range(lo, side.kid_start[k + 1]):
        wanted = part[e - lo]
        for x in range(nodes.shape[0]):
            if wanted == 0:
                break
            if free[x] and kind[nodes[x]] == side.kid[e]:
                free[x] = False
                out[n] = nodes[x]
                n += 1
                wanted -= 1
    return n


@jit
def _choose(i, j, a, b, one, two, tables, pack, part_1, part_2):
    """The star by which pack[a, b] was reached: what it takes of i's and of j's children, as counts by kind.

    Returns False where the child was skipped.
    """
    lo_1, hi_1 = one.kid_start[i], one.kid_start[i + 1]
    lo_2, hi_2 = two.kid_start[j], two.kid_start[j + 1]
    n_b = two.first[j + 1] - two.first[j]
    has_1 = np.zeros(hi_1 - lo_1, np.int64)
    has_2 = np.zeros(hi_2 - lo_2, np.int64)
    for e in range(min(hi_1 - lo_1, one.digit.shape[1])):
        has_1[e] = one.digit[one.first[i] + a, e]
    for e in range(min(hi_2 - lo_2, two.digit.shape[1])):
        has_2[e] = two.digit[two.first[j] + b, e]
    r = 0
    while has_1[r] == 0:
        r += 1
    i_r, step = one.kid[lo_1 + r], one.stride[lo_1 + r]
    value = pack[a * n_b + b]
    part_1[:] = 0
    part_2[:] = 0
    part_1[r] = 1
    if pack[(a - step) * n_b + b] == value:
        return False
    for s in range(hi_2 - lo_2):
        if has_2[s] > 0:
            j_s, take = two.kid[lo_2 + s], two.stride[lo_2 + s]
            if tables.tree[i_r, j_s] + pack[(a - step) * n_b + b - take] == value:
                part_2[s] = 1
                return True
    several, n_part = 0, 0
    while one.first[i_r + 1] - one.first[i_r] > 1:
        s = 0
        while s < hi_2 - lo_2 and part_2[s] == has_2[s]:
            several -= part_2[s] * two.stride[lo_2 + s]
            n_part -= part_2[s]
            part_2[s] = 0
            s += 1
        if s == hi_2 - lo_2:
            break
        part_2[s] += 1
        n_part += 1
        several += two.stride[lo_2 + s]
        above = tables.below_1[i_r, two.first[j] + several]
        if n_part > 1 and above + pack[(a - step) * n_b + b - several] == value:
            return True
    has_1[r] -= 1
    for s in range(hi_2 - lo_2):
        j_s, take = two.kid[lo_2 + s], two.stride[lo_2 + s]
        if has_2[s] == 0 or two.first[j_s + 1] - two.first[j_s] == 1:
            continue
        part_1[:] = 0
        several = step
        while True:
            x = 0
            while x < hi_1 - lo_1 and part_1[x] == has_1[x]:
                several -= part_1[x] * one.stride[lo_1 + x]
                part_1[x] = 0
                x += 1
            if x == hi_1 - lo_1:
                break
            part_1[x] += 1
            several += one.stride[lo_1 + x]
            if tables.below_2[j_s, one.first[i] + several] + pack[(a - several) * n_b + b - take] == value:
                part_1[r] += 1
                part_2[s] = 1
                return True
    return False  # not reached: one of the ways above gave the value


@jit
def _trace(shape_1, shape_2, kind_1, kind_2, one, two, gain, tables):
    """Pairs of nodes of one best alignment; an explicit stack, because trees may be deep.

    Items are either two subtrees (u, v), or some children of u and some of v, listed one after the other in `listed`;
    lists of items on the stack never share a node, so it cannot overflow.
    """
    n_1, n_2 = kind_1.shape[0] - 1, kind_2.shape[0] - 1
    pairs = np.empty((min(n_1, n_2), 2), np.int64)
    n_pairs = 0
    room = 2 * (n_1 + n_2) + 4
    is_forest = np.empty(room, np.bool_)
    item_u = np.empty(room, np.int64)
    item_v = np.empty(room, np.int64)
    item_n = np.empty((room, 2), np.int64)  # lengths of the lists; -1: all children
    listed = np.empty(room, np.int64)
    nodes_1 = np.empty(n_1 + 1, np.int64)
    nodes_2 = np.empty(n_2 + 1, np.int64)
    take_1 = np.empty(n_1 + 1, np.int64)
    take_2 = np.empty(n_2 + 1, np.int64)
    work = _make_work(one, two)
    pack = work.pack
    is_forest[0], item_u[0], item_v[0], item_n[0, :] = True, n_1, n_2, -1
    n_items, n_listed = 1, 0
    while n_items > 0:
        n_items -= 1
        u, v = item_u[n_items], item_v[n_items]
        i, j = kind_1[u], kind_2[v]
        if not is_forest[n_items]:
            value = tables.tree[i, j]
            if value <= 0.0:
                continue
            own = max(0.0, gain[one.row[i], two.row[j]])
            if own + tables.full[i, j] == value:
                if own > 0.0:
                    pairs[n_pairs, 0], pairs[n_pairs, 1] = u, v
                    n_pairs += 1
                is_forest[n_items], item_n[n_items, :] = True, -1
                n_items += 1
                continue
            for x in range(shape_1[1][u], shape_1[1][u + 1]):
                if tables.tree[kind_1[shape_1[2][x]], j] == value:
                    item_u[n_items] = shape_1[2][x]
                    n_items += 1
                    break
            else:
                for x in range(shape_2[1][v], shape_2[1][v + 1]):
                    if tables.tree[i, kind_2[shape_2[2][x]]] == value:
                        item_v[n_items] = shape_2[2][x]
                        n_items += 1
                        break
            continue
        # Some children of u and of v: the lists are at the end of `listed`.
        m_1, m_2 = item_n[n_items, 0], item_n[n_items, 1]
        if m_1 < 0:
            if tables.full[i, j] <= 0.0:
                continue
            m_1 = _core_children(u, shape_1, kind_1, one, nodes_1)
            m_2 = _core_children(v, shape_2, kind_2, two, nodes_2)
            _pack(i, j, one, two, tables, work)
            if _is_cut(one, i) or _is_cut(two, j):
                core = pack[(one.first[i + 1] - one.first[i]) * (two.first[j + 1] - two.first[j]) - 1]
                all_1, all_2 = _n_kids(one, i), _n_kids(two, j)
                rest, flow = _assign_children(i, j, one, two, tables.tree, True)
                if abs(core + rest - tables.full[i, j]) > 1e-9 * (1.0 + tables.full[i, j]):
                    _, flow = _assign_children(i, j, one, two, tables.tree, False)
                    m_1, m_2 = 0, 0
                some_1, some_2 = nodes_1[m_1:all_1], nodes_2[m_2:all_2]
                to = _deal(some_1, some_2, _places(some_1, kind_1, one, i), _places(some_2, kind_2, two, j), flow)
                for x in range(to.shape[0]):
                    if to[x] >= 0:
                        is_forest[n_items], item_u[n_items], item_v[n_items] = False, some_1[x], to[x]
                        n_items += 1
        else:
            n_listed -= m_1 + m_2
            nodes_1[:m_1] = listed[n_listed : n_listed + m_1]
            nodes_2[:m_2] = listed[n_listed + m_1 : n_listed + m_1 + m_2]
            _pack(i, j, one, two, tables, work)
        free_1 = np.ones(m_1, np.bool_)
        free_2 = np.ones(m_2, np.bool_)
        part_1 = np.zeros(one.kid_start[i + 1] - one.kid_start[i], np.int64)
        part_2 = np.zeros(two.kid_start[j + 1] - two.kid_start[j], np.int64)
        a = _state_of(nodes_1[:m_1], kind_1, one, i)
        b = _state_of(nodes_2[:m_2], kind_2, two, j)
        n_b = two.first[j + 1] - two.first[j]
        while a > 0 and b > 0 and pack[a * n_b + b] > 0.0:
            matched = _choose(i, j, a, b, one, two, tables, pack, part_1, part_2)
            got_1 = _take_nodes(nodes_1[:m_1], free_1, kind_1, one, i, part_1, take_1)
            for e in range(part_1.shape[0]):
                a -= part_1[e] * one.stride[one.kid_start[i] + e]
            if not matched:
                continue
            got_2 = _take_nodes(nodes_2[:m_2], free_2, kind_2, two, j, part_2, take_2)
            for e in range(part_2.shape[0]):
                b -= part_2[e] * two.stride[two.kid_start[j] + e]
            is_forest[n_items] = got_1 > 1 or got_2 > 1
            item_u[n_items], item_v[n_items] = take_1[0], take_2[0]
            if got_2 > 1:  # a child of u above several of v
                item_v[n_items] = v
                got_1 = _core_children(take_1[0], shape_1, kind_1, one, take_1)
            elif got_1 > 1:
                item_u[n_items] = u
                got_2 = _core_children(take_2[0], shape_2, kind_2, two, take_2)
            if is_forest[n_items]:
                item_n[n_items, 0], item_n[n_items, 1] = got_1, got_2
                listed[n_listed : n_listed + got_1] = take_1[:got_1]
                listed[n_listed + got_1 : n_listed + got_1 + got_2] = take_2[:got_2]
                n_listed += got_1 + got_2
            n_items += 1
    return pairs[:n_pairs].copy()


# ---- what Python calls ----------------------------------------------------------------------------------------------


@jit
def align_kinds(shape_1, shape_2, kinds_1, kinds_2, gain, limit):
    """Pairs, value and exactness of the best alignment; gain[row of a kind, row of a kind]."""
    kind_1, row_1, _, start_1, kid_1, count_1 = kinds_1
    kind_2, row_2, _, start_2, kid_2, count_2 = kinds_2
    one, two = _prepare((row_1, start_1, kid_1, count_1), (row_2, start_2, kid_2, count_2), gain, limit)
    tables = _upward(one, two, gain)
    pairs = _trace(shape_1, shape_2, kind_1, kind_2, one, two, gain, tables)
    return pairs, tables.full[-1, -1], not tables.inexact[0]


@jit
def align_values(packed, pairs, table_start, table, limit):
    """Value and exactness of the best alignment for each pair of packed unions (kernels.union_gains.Packed)."""
    value = np.empty(pairs.shape[0])
    exact = np.empty(pairs.shape[0], np.bool_)
    for x in range(pairs.shape[0]):
        a, b = pairs[x, 0], pairs[x, 1]
        rows = packed.class_start[a + 1] - packed.class_start[a]
        columns = packed.class_start[b + 1] - packed.class_start[b]
        gain = table[table_start[x] : table_start[x + 1]].reshape((rows, columns))
        one, two = _prepare(_unpack(packed, a), _unpack(packed, b), gain, limit)
        tables = _upward(one, two, gain)
        value[x] = tables.full[-1, -1]
        exact[x] = not tables.inexact[0]
    return value, exact


@jit
def _unpack(packed, c):
    """Row of each kind and its children, of union c."""
    lo, hi = packed.kind_start[c], packed.kind_start[c + 1]
    at, end = packed.edge_start[c], packed.edge_start[c + 1]
    return packed.kind_row[lo:hi], packed.kid_start[lo + c : hi + c + 1], packed.kid[at:end], packed.kid_count[at:end]


def align(a: Shape, b: Shape, gain: NDArray[np.float64], limit: int = STATE_LIMIT) -> Match:
    """The matching of greatest gain that has a union: a matcher, see models/matching.py."""
    row_1, row_2, table = _distinct(gain)
    pairs, value, exact = align_kinds(a, b, Kinds(*find_kinds(a, row_1)), Kinds(*find_kinds(b, row_2)), table, limit)
    return Match(pairs[np.argsort(pairs[:, 0])], float(value), bool(exact))


def _distinct(gain: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows and columns numbered so that equal ones share a number, and the table of gains by these numbers."""
    if not gain.size:
        return np.zeros(gain.shape[0], np.int64), np.zeros(gain.shape[1], np.int64), np.zeros((1, 1))
    rows, row = _distinct_rows(gain)
    columns, column = _distinct_rows(np.ascontiguousarray(rows.T))
    return row, column, np.ascontiguousarray(columns.T)


def _distinct_rows(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct rows in order, and the place of each row among them; only rows of different bytes are sorted."""
    seen: dict[bytes, int] = {}
    number = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in table])
    _, first = np.unique(number, return_index=True)
    rows, place = np.unique(table[first], axis=0, return_inverse=True)
    return rows, place.reshape(-1)[number].astype(np.int64)
