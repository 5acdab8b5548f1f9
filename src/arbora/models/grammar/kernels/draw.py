"""Trees drawn from a label chain with back-off and burstiness."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import inlined, jit

DONE, TOO_LARGE, UNKNOWN_LABEL = 0, 1, 2
FARTHEST = 2**31 - 2  # slot


class Book(NamedTuple):
    """Counts of a model on all levels, each by ascending key, with where the entries of every context begin."""

    row_key: NDArray[np.int64]
    row_start: NDArray[np.int64]  # [row + 1], its cells
    cell_outcome: NDArray[np.int64]
    cell_count: NDArray[np.float64]  # [cell, component]
    context_key: NDArray[np.int64]
    context_start: NDArray[np.int64]
    pair_outcome: NDArray[np.int64]
    pair_count: NDArray[np.float64]  # [pair, component or one for all]
    kind_start: NDArray[np.int64]
    outcome: NDArray[np.int64]
    outcome_count: NDArray[np.float64]
    outcome_pool: NDArray[np.float64]
    strength: NDArray[np.float64]  # [level, kind]
    pool_rest: NDArray[np.float64]  # [kind], share of the pool left to outcomes never seen
    n_outcomes: NDArray[np.int64]  # [kind]


class Marks(NamedTuple):
    """Numbers that are no labels."""

    end: int
    unseen: int
    root: int
    width: int
    max_jump: int
    positional: bool


class Place(NamedTuple):
    """What the next draw follows."""

    key: int
    row: int  # of the model; -1 if it has none for the key
    context: int
    kind: int  # 0: label of a child, 1: of the root, 2: jump to the next slot


class Events(NamedTuple):
    """Draws of a tree so far, linked by row: one list for each row of the model, one for all other rows."""

    outcome: NDArray[np.int64]
    before: NDArray[np.int64]  # the event before in the same list
    key: NDArray[np.int64]
    last: NDArray[np.int64]  # [row, and one more]: last event of the list; -1 if none
    n_in_row: NDArray[np.int64]


@inlined
def _find(key, wanted):
    """Index in an ascending list; -1 if it is not there."""
    low, high = 0, len(key)
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(key) and key[low] == wanted else -1


@inlined
def _pick(rng, count, k, lo, hi, strength):
    """An entry in proportion to its count, or -1, with the weight of the strength."""
    total = 0.0
    for x in range(lo, hi):
        total += count[x, k]
    point = rng.random() * (total + strength)
    for x in range(lo, hi):
        point -= count[x, k]
        if point < 0.0:
            return x
    return -1


@inlined
def _draw_outcome(rng, book, k, place, marks):
    """An outcome of p_k(. | context, previous): of the row, else of the context, else of the kind, else of the pool."""
    row, context, kind = place.row, place.context, place.kind
    if row >= 0:
        x = _pick(rng, book.cell_count, k, book.row_start[row], book.row_start[row + 1], book.strength[0, kind])
        if x >= 0:
            return book.cell_outcome[x]
    q = k if book.pair_count.shape[1] > 1 else 0
    c = _find(book.context_key, context)
    if c >= 0:
        x = _pick(rng, book.pair_count, q, book.context_start[c], book.context_start[c + 1], book.strength[1, kind])
        if x >= 0:
            return book.pair_outcome[x]
    lo, hi = book.kind_start[kind], book.kind_start[kind + 1]
    x = _pick(rng, book.outcome_count, q, lo, hi, book.strength[2, kind])
    if x >= 0:
        return book.outcome[x]
    x = _pick(rng, book.outcome_pool, 0, lo, hi, book.pool_rest[kind])
    if x >= 0:
        return book.outcome[x]
    if hi - lo >= book.n_outcomes[kind]:
        return book.outcome[hi - 1]  # all were seen: rounding alone leads here
    # One of the outcomes never seen: all of them are equally probable, so draw until it is one.
    while True:
        o = rng.integers(0, book.n_outcomes[kind])
        if kind == 1 and o >= marks.end:
            o = marks.unseen  # a root has no STOP
        known = False
        for x in range(lo, hi):
            if book.outcome[x] == o:
                known = True
        if not known:
            return o


@inlined
def _n_before(events, place):
    """Number of earlier draws from the same row."""
    if place.row >= 0:
        return events.n_in_row[place.row]
    n = 0
    x = events.last[-1]
    while x >= 0:
        n += events.key[x] == place.key
        x = events.before[x]
    return n


@inlined
def _repeat(events, place, skip):
    """Outcome of an earlier draw from the same row, so many back."""
    x = events.last[place.row]  # that of -1 stands last
    while True:
        if place.row >= 0 or events.key[x] == place.key:
            if skip == 0:
                break
            skip -= 1
        x = events.before[x]
    return events.outcome[x]


@jit
def _record(events, n, place, o):
    """Put event n behind the others; the events, moved to a larger place if need be."""
    outcome, before, key, last, n_in_row = events
    if n == len(outcome):
        outcome = np.concatenate((outcome, np.empty(n, np.int64)))
        before = np.concatenate((before, np.empty(n, np.int64)))
        key = np.concatenate((key, np.empty(n, np.int64)))
    outcome[n], key[n], before[n] = o, place.key, last[place.row]
    last[place.row] = n
    if place.row >= 0:
        n_in_row[place.row] += 1
    return Events(outcome, before, key, last, n_in_row)


@inlined
def _jumped(rng, position, o, max_jump):
    """The position after a jump; the tail is an excess of e with probability 1 / ((e + 1)(e + 2)).  -1: too far."""
    jump = o
    if o == max_jump:
        excess = 1.0 / (1.0 - rng.random()) - 1.0
        if excess > FARTHEST:
            return -1
        jump += int(excess)
    return position + jump if position + jump <= FARTHEST else -1


@jit
def _next_outcome(rng, book, k, urns, place, marks):
    """An outcome, which repeats one of n earlier draws of the row with probability n tau / (1 + n tau).

    `urns` is (tau, events).
    """
    tau, events = urns
    n_before = _n_before(events, place) if tau > 0.0 else 0
    if n_before > 0 and rng.random() * (1.0 + n_before * tau) < n_before * tau:
        return _repeat(events, place, rng.integers(0, n_before))
    return _draw_outcome(rng, book, k, place, marks)


@jit
def draw_tree(rng, book, marks, k, tau, max_nodes):
    """A tree of component k: how it ended, and parent, slot and label of its nodes, parents first.

    Within a tree rows are urns: the j-th draw from a row repeats an earlier one with weight tau each.
    """
    parent, slot, label = np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64)
    n_rows, n_events = len(book.row_key), 0
    room = (np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64))
    events = Events(room[0], room[1], room[2], np.full(n_rows + 1, -1), np.zeros(n_rows, np.int64))
    parent[0], slot[0], label[0] = -1, -1, -1
    n_nodes = 1
    u = -1  # the node whose children are drawn; -1 for the root itself
    before, position, wanted_jump = marks.end, 0, False
    while u < n_nodes:
        if u < 0:
            context, previous, kind = marks.root, 0, 1
        elif wanted_jump:
            context, previous, kind = marks.root + 1 + label[u], min(position, marks.max_jump), 2
        else:
            context, previous, kind = label[u], before, 0
        key = context * marks.width + previous
        place = Place(key, _find(book.row_key, key), context, kind)
        o = _next_outcome(rng, book, k, (tau, events), place, marks)
        events = _record(events, n_events, place, o)
        n_events += 1
        if kind == 2:
            position = _jumped(rng, position, o, marks.max_jump)
            if position < 0:
                return TOO_LARGE, parent[:0], slot[:0], label[:0]
            slot[n_nodes - 1] = position
            position += 1
            wanted_jump = False
        elif o == marks.unseen:
            return UNKNOWN_LABEL, parent[:0], slot[:0], label[:0]
        elif kind == 1:
            label[0] = o
            u = 0
        elif o == marks.end:
            u += 1
            before, position = marks.end, 0
        elif n_nodes == max_nodes:
            return TOO_LARGE, parent[:0], slot[:0], label[:0]
        else:
            parent[n_nodes], slot[n_nodes], label[n_nodes] = u, position, o
            n_nodes += 1
            before = o
            wanted_jump = marks.positional
            position += 0 if marks.positional else 1
    return DONE, parent[:n_nodes], slot[:n_nodes], label[:n_nodes]
