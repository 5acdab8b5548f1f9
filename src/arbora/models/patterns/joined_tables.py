"""Patterns of two fits under one numbering, with the columns of both."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import families as fm
from .families import BELOW, FIRST_LABEL, Keys
from .table import PatternTable
from .transformer import TreePatterns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def join_patterns(a: TreePatterns, b: TreePatterns) -> tuple[TreePatterns, Ints, Ints]:
    """Patterns with the columns and the words of both; the new column of every old one of a and of b."""
    words = tuple(dict.fromkeys([*a.vocabulary_, *b.vocabulary_]))
    number = {word: n for n, word in enumerate(words)}
    code = np.array([*range(FIRST_LABEL), *(FIRST_LABEL + number[word] for word in b.vocabulary_)], np.int32)
    order = list(a.table.keys)
    renamed = {family: _renamed(family, b.table.keys[family], code) for family in order}
    keys, of_b = fm.add_keys(a.table.keys, renamed)
    column, from_a, from_b = _columns(a.table, b.table, keys, of_b)
    out = TreePatterns(a.families, labels=a.labels, min_trees=a.min_trees)
    out.vocabulary_ = words
    out._table = PatternTable(a.table.families, keys, column)
    out.keys_ = out._table.to_arrays()
    out.n_trees_seen_ = a.n_trees_seen_ + b.n_trees_seen_
    out.document_frequency_ = _added(a.document_frequency_, from_a, b.document_frequency_, from_b, out._table.n_columns)
    out.example_ = np.zeros((out._table.n_columns, 2), np.int64)
    out.example_[from_b] = b.example_ + np.array([a.n_trees_seen_, 0])
    out.example_[from_a] = a.example_
    if hasattr(a, "without_column_") and hasattr(b, "without_column_"):
        out.without_column_ = _without_column(a, b)
    return out, from_a, from_b


def _renamed(family: str, keys: Keys, code: NDArray[np.int32]) -> Keys:
    """Keys with labels numbered anew; numbers of other keys, slots and marks stay."""
    symbol = keys.symbol.copy()
    head = np.zeros(len(symbol), bool)
    head[keys.start[:-1]] = True
    label = head if family in BELOW else ~head if family == "slots" else np.ones(len(symbol), bool)
    label = label & (symbol >= 0)
    symbol[label] = code[symbol[label]]
    if family == "sets":  # the labels of children are in the order of their codes
        inner = np.flatnonzero(~head)
        key = np.repeat(np.arange(keys.n_keys), np.diff(keys.start))[inner]
        symbol[inner] = symbol[inner][np.lexsort((symbol[inner], key))]
    return Keys(keys.start, symbol)


def _columns(
    a: PatternTable, b: PatternTable, keys: dict[str, Keys], of_b: dict[str, Ints]
) -> tuple[dict[str, Ints], Ints, Ints]:
    """Columns of all keys that are one in a or in b, in the order of the keys; and where those of a and of b are."""
    column = {family: np.full(one.n_keys, -1, np.int64) for family, one in keys.items()}
    from_a, from_b = np.empty(a.n_columns, np.int64), np.empty(b.n_columns, np.int64)
    n_columns = 0
    for family in a.families:
        own_a, own_b = a.column[family] >= 0, b.column[family] >= 0
        is_column = np.zeros(keys[family].n_keys, bool)
        is_column[: len(own_a)] = own_a
        is_column[of_b[family][own_b]] = True
        column[family][is_column] = n_columns + np.arange(is_column.sum())
        from_a[a.column[family][own_a]] = column[family][: len(own_a)][own_a]
        from_b[b.column[family][own_b]] = column[family][of_b[family][own_b]]
        n_columns += int(is_column.sum())
    return column, from_a, from_b


def _added(a: Ints, from_a: Ints, b: Ints, from_b: Ints, n_columns: int) -> Ints:
    out = np.zeros(n_columns, np.int64)
    out[from_a] += a
    out[from_b] += b
    return out


def add_columns(parts: Sequence[tuple[Ints, Ints]], n_columns: int) -> Ints:
    """Counts of groups, [group, pattern], of several fits one below the other, in new columns."""
    out = []
    for count, place in parts:
        out.append(np.zeros((len(count), n_columns), np.int64))
        out[-1][:, place] = count
    return np.concatenate(out)


def _without_column(a: TreePatterns, b: TreePatterns) -> Floats:
    """Share of the patterns of both, counted once per tree, that have no column."""
    with_it, every = np.zeros(len(a.families)), np.zeros(len(a.families))
    for one in (a, b):
        kept = np.bincount(one.table.family_of_columns(), one.document_frequency_, len(one.families))
        with_it += kept
        every += kept / np.maximum(1.0 - one.without_column_, 1e-12)
    return np.asarray(1.0 - with_it / np.maximum(every, 1e-300)).clip(0.0, 1.0)
