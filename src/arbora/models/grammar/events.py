"""What happens in a tree: the label that comes next, given the parent's label and the sibling before, as counts.

A *row* is a context (parent label, previous sibling); a *cell* is a row with one outcome.  A cell has one number, its
key: (context * width + previous) * width + outcome.  Contexts come in three kinds: chains of siblings, the root, and
jumps over empty slots.  The counts of the cells are all that the model needs of a tree.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ForestError
from ...forest.forest import Forest
from ...forest.node_columns import MISSING, UNSEEN
from ...forest.trees import Trees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHAIN, ROOT, JUMP = 0, 1, 2  # kinds of contexts
N_KINDS = 3
MAX_JUMP = 12  # jumps and slots beyond are distinguished by a tail that is the same for all components
MAX_LABELS = 1_000_000  # keys of cells have 64 bits


class Alphabet(NamedTuple):
    """Numbers of labels and marks; whether empty slots are events."""

    n_labels: int
    positional: bool

    @property
    def end(self) -> int:
        """START as a previous sibling, STOP as an outcome."""
        return self.n_labels

    @property
    def unseen(self) -> int:
        return self.n_labels + 1

    @property
    def missing(self) -> int:
        """A context, never an outcome."""
        return self.n_labels + 2

    @property
    def root(self) -> int:
        """The context of the root; those of jumps follow it."""
        return self.n_labels + 3

    @property
    def width(self) -> int:
        return max(self.n_labels + 3, MAX_JUMP + 1)

    def n_outcomes(self) -> Floats:
        """Outcomes of each kind: labels, STOP and UNSEEN; labels and UNSEEN; jumps."""
        return np.array([self.n_labels + 2.0, self.n_labels + 1.0, MAX_JUMP + 1.0])

    def kind(self, context: Ints) -> Ints:
        """The kind of each context."""
        return np.where(context < self.root, CHAIN, np.where(context == self.root, ROOT, JUMP)).astype(np.int64)


def moved(symbol: Ints, old: Alphabet, new: Alphabet) -> Ints:
    """Labels, marks and contexts of one alphabet in a larger one: marks stand behind the labels."""
    jump = np.where(symbol > old.root, symbol - old.root - 1, 0)  # a context of jumps has a label's context in it
    inside = np.where(jump >= old.n_labels, jump + new.n_labels - old.n_labels, jump)
    mark = symbol + new.n_labels - old.n_labels
    return np.where(symbol > old.root, new.root + 1 + inside, np.where(symbol >= old.n_labels, mark, symbol))


def moved_keys(key: Ints, old: Alphabet, new: Alphabet, n_symbols: int) -> Ints:
    """Keys of a context and `n_symbols` symbols behind it, in the same order, over a larger alphabet."""
    symbols = [key // old.width**x % old.width for x in range(n_symbols)]
    context = key // old.width**n_symbols
    plain = old.kind(context) != CHAIN  # what stands behind is a number of slots, or a label or mark of a root
    at_root = context == old.root
    out = moved(context, old, new)
    for x in reversed(range(n_symbols)):
        of_labels = ~plain | (at_root & (x == 0))
        out = out * new.width + np.where(of_labels, moved(symbols[x], old, new), symbols[x])
    return np.asarray(out, np.int64)


class Events(NamedTuple):
    """Counts of cells, tree by tree: entries start[t] to start[t + 1] of cell and times."""

    key: Ints  # [cell], ascending
    start: Ints
    cell: Ints
    times: Ints
    tail: Floats  # [tree], log-probability of what jumps exceed MAX_JUMP by

    @property
    def n_trees(self) -> int:
        return len(self.start) - 1


def alphabet_of(forest: Any) -> Alphabet:
    """The alphabet of training trees; empty slots count where some node leaves one before or between its children."""
    check_labels(forest.n_labels)
    return Alphabet(forest.n_labels, any(has_gaps(part) for part in forest.parts()))


def check_labels(n_labels: int) -> None:
    """Raise if keys would not have room for so many labels."""
    if n_labels > MAX_LABELS:
        raise ForestError(f"{n_labels} labels; wanted at most {MAX_LABELS}: merge rare labels")


def has_gaps(forest: Forest) -> bool:
    """Whether a node leaves a slot empty before or between its children."""
    child = forest.parent >= 0
    n_children = np.bincount(forest.parent[child], minlength=forest.n_nodes)
    return bool((forest.slot[child] >= n_children[forest.parent[child]]).any())


def events_of(forest: Trees, alphabet: Alphabet) -> Events:
    """The events of a forest or store; a store's files are counted one by one, by the workers if there are any."""
    parts = list(forest.over_parts(_on_part, None, alphabet))
    return join(parts) if len(parts) > 1 else parts[0]


def _on_part(forest: Forest, _: Any, alphabet: Alphabet) -> Events:
    return count(forest, alphabet)


def count(forest: Forest, alphabet: Alphabet) -> Events:
    """Count the cells of each tree of a forest."""
    node, context, previous, outcome, tail = _raw_events(forest, alphabet)
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)[node]
    key = (context * alphabet.width + previous) * alphabet.width + outcome
    cells, cell = np.unique(key, return_inverse=True)
    return _counted(forest.n_trees, cells, tree, cell, np.ones(len(cell), np.int64), tail)


def _counted(n_trees: int, key: Ints, tree: Ints, cell: Ints, times: Ints, tail: Floats) -> Events:
    """Entries in any order, those of one tree and cell added up."""
    place, where = np.unique(tree * max(len(key), 1) + cell, return_inverse=True)
    total = np.bincount(where, times, len(place)).astype(np.int64)
    start = np.searchsorted(place, np.arange(n_trees + 1) * max(len(key), 1)).astype(np.int64)
    return Events(key, start, place % max(len(key), 1), total, tail)


def _raw_events(forest: Forest, alphabet: Alphabet) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    """Node, context, previous and outcome of every event, and the tail of every tree."""
    label = forest.label.astype(np.int64)
    code = np.where(label == UNSEEN, alphabet.unseen, np.where(label == MISSING, alphabet.missing, label))
    child = np.lexsort((forest.slot, forest.parent))[forest.n_trees :]  # roots have parent -1, so they come first
    parent = forest.parent[child]
    first = np.ones(len(child), bool)
    first[1:] = parent[1:] != parent[:-1]
    before = np.where(first, alphabet.end, np.roll(code[child], 1)) if len(child) else np.empty(0, np.int64)
    last = np.full(forest.n_nodes, alphabet.end)
    last[parent[np.roll(first, -1)]] = code[child[np.roll(first, -1)]]
    seen = code[child] != alphabet.missing
    root = forest.tree_start[1:] - 1
    root = root[code[root] != alphabet.missing]
    nodes = np.arange(forest.n_nodes)
    events = [
        (child[seen], code[parent][seen], before[seen], code[child][seen]),
        (nodes, code, last, np.full(forest.n_nodes, alphabet.end)),
        (root, np.full(len(root), alphabet.root), np.zeros(len(root), np.int64), code[root]),
    ]
    tail = np.zeros(forest.n_trees)
    if alphabet.positional and len(child):
        slot = forest.slot[child].astype(np.int64)
        previous = np.where(first, 0, np.roll(slot, 1) + 1)
        jump = slot - previous
        context = alphabet.root + 1 + code[parent]
        events.append((child, context, np.minimum(previous, MAX_JUMP), np.minimum(jump, MAX_JUMP)))
        tree = np.repeat(np.arange(forest.n_trees), forest.sizes)[child]
        tail += np.bincount(tree, log_tail(jump), forest.n_trees)
    node, context, previous, outcome = (np.concatenate(column) for column in zip(*events, strict=True))
    return node, context, previous, outcome, tail


def log_tail(jump: Ints) -> Floats:
    """Log-probability of the part of a jump above MAX_JUMP: 1 / ((e + 1)(e + 2)) for an excess of e."""
    excess = np.maximum(jump - MAX_JUMP, 0).astype(np.float64)
    return np.where(jump >= MAX_JUMP, -np.log((excess + 1.0) * (excess + 2.0)), 0.0)


def join(parts: list[Events]) -> Events:
    """The events of one forest after the other, over the union of their cells."""
    key = np.unique(np.concatenate([part.key for part in parts]))
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.diff(p.start) for p in parts]))])
    cell = np.concatenate([np.searchsorted(key, part.key)[part.cell] for part in parts])
    times, tail = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "tail"))
    return Events(key, start, cell, times, tail)


class Distinct(NamedTuple):
    """The distinct trees, as far as the model distinguishes them, in an order that depends on them alone."""

    events: Events
    tree_row: Ints  # distinct tree of each tree


def distinct(events: Events) -> Distinct:
    """Trees with equal counts made one."""
    n = events.n_trees
    key = events.key[events.cell].astype(np.uint64)
    times = events.times.astype(np.uint64)
    first, second = (_sums(_mixed(key * odd + times), events.start) for odd in (_ODD_1, _ODD_2))
    order = np.lexsort((second, first))
    same = np.zeros(n, bool)
    same[1:] = (first[order][1:] == first[order][:-1]) & (second[order][1:] == second[order][:-1])
    row = np.empty(n, np.int64)
    row[order] = np.cumsum(~same) - 1
    example = order[~same]
    row, example = _compared(events, row, example)
    length = np.diff(events.start)[example]
    start = np.append(0, np.cumsum(length))
    entry = np.repeat(events.start[:-1][example] - start[:-1], length) + np.arange(start[-1])
    chosen = Events(events.key, start, events.cell[entry], events.times[entry], events.tail[example])
    return Distinct(chosen, row)


_ODD_1, _ODD_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers made to look random, each from one."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _sums(values: NDArray[np.uint64], start: Ints) -> NDArray[np.uint64]:
    """Sums of runs, modulo 2^64."""
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return total[start[1:]] - total[start[:-1]]


def _compared(events: Events, row: Ints, example: Ints) -> tuple[Ints, Ints]:
    """Rows that share their sums with another are compared in full; one that differs stays on its own."""
    length = np.diff(events.start)
    right = length == length[example[row]]
    tree = np.repeat(np.arange(len(row)), np.where(right, length, 0))
    at = np.arange(len(tree)) - np.repeat(
        np.cumsum(np.where(right, length, 0)) - np.where(right, length, 0), np.where(right, length, 0)
    )
    mine, theirs = events.start[tree] + at, events.start[example[row[tree]]] + at
    equal = (events.cell[mine] == events.cell[theirs]) & (events.times[mine] == events.times[theirs])
    right[tree[~equal]] = False
    odd = np.flatnonzero(~right)
    row = row.copy()
    row[odd] = len(example) + np.arange(len(odd))
    return row, np.concatenate([example, odd])


def totals_by_row(events: Events, width: int) -> tuple[Ints, Ints]:
    """How often each tree uses each of its rows: offsets and counts."""
    tree = np.repeat(np.arange(events.n_trees), np.diff(events.start))
    row = events.key[events.cell] // width
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (tree[1:] != tree[:-1])  # entries of a tree ascend by cell, so by row
    first = np.flatnonzero(new)
    total = np.add.reduceat(events.times, first) if len(first) else np.empty(0, np.int64)
    start = np.searchsorted(tree[first], np.arange(events.n_trees + 1)).astype(np.int64)
    return start, total
