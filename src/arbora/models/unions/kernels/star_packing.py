"""Best packings of the children of two nodes into disjoint stars (see tree_alignment)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import inlined, jit


class Tables(NamedTuple):
    """Results of the upward pass."""

    tree: NDArray[np.float64]  # [i, j] best value of the two subtrees
    full: NDArray[np.float64]  # [i, j] of all their children
    below_1: NDArray[np.float64]  # [i, first[j] + state] of all core children of i and some of j
    below_2: NDArray[np.float64]  # [j, first[i] + state] of some of i and all core children of j
    inexact: NDArray[np.bool_]  # [1]


class Work(NamedTuple):
    """Room for packing the children of two nodes."""

    pack: NDArray[np.float64]
    from_1: NDArray[np.int64]  # [kid of i, and one more] where its stars begin in above_2
    above_2: NDArray[np.int64]
    from_2: NDArray[np.int64]
    above_1: NDArray[np.int64]


@jit
def make_work(one, two):
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
def _is_needed(side, k, state, center, values):
    """Whether every child of a state adds to what it is worth below an unmatched `center`.

    If one adds nothing, the star without it is worth as much and leaves more to others, so this one need not be tried.
    """
    below, tree, is_row = values
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
def _list_stars(side, k, other, center_kind, values, stars_out):
    """States of kind k below which each child of the other tree's node may stand, one child after the other.

    `values` is (table of values below a center, table of subtrees, whether the center is its row).
    """
    start_out, state_out = stars_out
    lo = other.kid_start[center_kind]
    n = 0
    for e in range(min(other.kid_start[center_kind + 1] - lo, start_out.shape[0] - 1)):
        c = other.kid[lo + e]
        if other.core[lo + e] > 0 and other.first[c + 1] - other.first[c] > 1:
            for state in range(1, side.first[k + 1] - side.first[k]):
                if _is_needed(side, k, state, c, values):
                    state_out[n] = state
                    n += 1
        start_out[e + 1] = n


@inlined
def _fits(part, whole, spare):
    """Whether one state is part of another, by their fields: no difference may borrow from a spare bit."""
    return ((whole | spare) - part) & spare == spare


@jit
def pack_children(i, j, one, two, tables, work):
    """Best packing of every state of i's children with every state of j's, into work.pack[a * n_b + b]."""
    pack, from_1, above_2, from_2, above_1 = work
    lo_1, lo_2, at_1, at_2 = one.kid_start[i], two.kid_start[j], one.first[i], two.first[j]
    n_a, n_b = one.first[i + 1] - at_1, two.first[j + 1] - at_2
    n_kids = min(two.kid_start[j + 1] - lo_2, two.digit.shape[1])
    _list_stars(two, j, one, i, (tables.below_1, tables.tree, True), (from_1, above_2))
    _list_stars(one, i, two, j, (tables.below_2, tables.tree, False), (from_2, above_1))
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
