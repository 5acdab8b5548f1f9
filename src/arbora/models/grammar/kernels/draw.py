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
def _draw_outcome(rng, book, k, row, context, kind, marks):
    """An outcome of p_k(. | context, previous): of the row, else of the context, else of the kind, else of the pool."""
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


@jit
def draw_tree(rng, book, marks, k, tau, max_nodes):
    """A tree of component k: how it ended, and parent, slot and label of its nodes, parents first.

    Within a tree rows are urns: the j-th draw from a row repeats an earlier one with weight tau each.
    """
    parent, slot, label = np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64)
    n_events = 0
    event_outcome = np.empty(64, np.int64)
    event_before = np.empty(64, np.int64)  # the event before in the same row
    event_key = np.empty(64, np.int64)  # of a row that the model does not have
    last = np.full(len(book.row_key), -1)  # last event in each row of the model
    n_in_row = np.zeros(len(book.row_key), np.int64)
    last_odd = -1  # last event in any other row
    parent[0], slot[0] = -1, -1
    label[0] = -1
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
        row = _find(book.row_key, key)
        n_before = 0
        if tau > 0.0 and row >= 0:
            n_before = n_in_row[row]
        elif tau > 0.0:
            x = last_odd
            while x >= 0:
                n_before += event_key[x] == key
                x = event_before[x]
        if n_before > 0 and rng.random() * (1.0 + n_before * tau) < n_before * tau:
            skip = rng.integers(0, n_before)  # an earlier draw of this row, at random
            x = last[row] if row >= 0 else last_odd
            while True:
                if row >= 0 or event_key[x] == key:
                    if skip == 0:
                        break
                    skip -= 1
                x = event_before[x]
            o = event_outcome[x]
        else:
            o = _draw_outcome(rng, book, k, row, context, kind, marks)
        if n_events == len(event_outcome):
            event_outcome = np.concatenate((event_outcome, np.empty(n_events, np.int64)))
            event_before = np.concatenate((event_before, np.empty(n_events, np.int64)))
            event_key = np.concatenate((event_key, np.empty(n_events, np.int64)))
        event_outcome[n_events], event_key[n_events] = o, key
        if row >= 0:
            event_before[n_events] = last[row]
            last[row] = n_events
            n_in_row[row] += 1
        else:
            event_before[n_events] = last_odd
            last_odd = n_events
        n_events += 1
        if kind == 2:
            jump = o
            if o == marks.max_jump:  # the tail: an excess of e with probability 1 / ((e + 1)(e + 2))
                excess = 1.0 / (1.0 - rng.random()) - 1.0
                if excess > FARTHEST:
                    return TOO_LARGE, parent[:0], slot[:0], label[:0]
                jump += int(excess)
            position += jump
            if position > FARTHEST:
                return TOO_LARGE, parent[:0], slot[:0], label[:0]
            slot[n_nodes - 1] = position
            position += 1
            wanted_jump = False
            continue
        if o == marks.unseen:
            return UNKNOWN_LABEL, parent[:0], slot[:0], label[:0]
        if kind == 1:
            label[0] = o
            u = 0
            continue
        if o == marks.end:
            u += 1
            before, position = marks.end, 0
            continue
        if n_nodes == max_nodes:
            return TOO_LARGE, parent[:0], slot[:0], label[:0]
        parent[n_nodes], slot[n_nodes], label[n_nodes] = u, position, o
        n_nodes += 1
        before = o
        if marks.positional:
            wanted_jump = True
        else:
            position += 1
    return DONE, parent[:n_nodes], slot[:n_nodes], label[:n_nodes]
