"""States: how many children of each kind, as one number in mixed radix (see tree_alignment)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import inlined, jit


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
def is_cut(side, k):
    """Whether some children are not in the core."""
    n_out = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_out += side.kid_count[e] - side.core[e]
    return n_out > 0


@jit
def has_inner(side, k):
    """Whether some child has children."""
    n_below = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_below += n_kids_of(side, side.kid[e])
    return n_below > 0


@jit
def has_cut(side, k):
    """Whether some child has children outside its core."""
    n_cut = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n_cut += is_cut(side, side.kid[e])
    return n_cut > 0


@jit
def n_kids_of(side, k):
    """Number of children."""
    n = 0
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        n += side.kid_count[e]
    return n


@jit
def make_sides(kinds_1, kinds_2, gain, limit):
    """Both sides, with as many states as the limit allows."""
    row_1, start_1, kid_1, all_1 = kinds_1
    row_2, start_2, kid_2, all_2 = kinds_2
    count_1 = _useful_counts(row_1, start_1, kid_1, all_1, gain, True)
    count_2 = _useful_counts(row_2, start_2, kid_2, all_2, gain, False)
    most_1, most_2 = _largest_state(start_1, count_1, limit), _largest_state(start_2, count_2, limit)
    cap_1, cap_2 = _split_caps(most_1, most_2, limit)
    return _make_side(row_1, start_1, kid_1, count_1, cap_1), _make_side(row_2, start_2, kid_2, count_2, cap_2)
