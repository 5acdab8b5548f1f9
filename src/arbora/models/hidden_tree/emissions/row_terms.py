"""Rows of content and parameters of columns in the form of `kernels.evidence`, and back."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ....forest.content_rows import Wanted, plain_values
from ....forest.sharing import Units
from ....forest.trees import Trees
from ..kernels.content_vectors import RowsInVectors
from ..kernels.number_marginals import GAUSSIAN
from ..lanes import to_lanes
from .kernels.evidence import LOG2E, Held, LogTables

Floats = NDArray[np.float64]


def in_order(columns: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Columns of one word, of bags and of numbers, in this order; the family comes last in each."""
    return [one for what in ("word", "bag", "number") for one in columns if one[-1].holds == what]


def held_rows(values: Sequence[Any], families: Sequence[Any]) -> Held:
    """What rows hold; columns are in the order of `in_order`."""
    n_rows = int(values[0].shape[0])
    codes, bags, numbers, at = [], [], [], 0
    for held, family in zip(values, families, strict=True):
        if family.holds == "number":
            numbers.append(held)
            continue
        if family.holds == "word":
            code = family.row_codes(held)
            codes.append(np.where(code >= 0, code + at, -1))
        else:
            bags.append((at, family.row_words(held)))
        at += family.n_words
    code = np.stack(codes, axis=1) if codes else np.empty((n_rows, 0))
    start, word, times = np.zeros(n_rows + 1), np.empty(0), np.empty(0)
    if bags:
        whole = sparse.csr_array(sparse.hstack([words for _, words in bags], format="csr"))
        start, word, times = whole.indptr, whole.indices + bags[0][0], whole.data
    value = np.stack(numbers, axis=1) if numbers else np.empty((n_rows, 0))
    return Held(
        np.ascontiguousarray(code, np.int64),
        np.ascontiguousarray(start, np.int64),
        np.ascontiguousarray(word, np.int64),
        np.ascontiguousarray(times, np.float64),
        np.ascontiguousarray(value, np.float64),
    )


def log_tables(params: Sequence[Any], families: Sequence[Any], n_cells: int) -> LogTables:
    """Parameters in logarithms, components in lanes; padded ones give every value the density 1."""
    words = [
        _in_cells(family.log_words(p), n_cells) for p, family in _pairs(params, families) if family.holds != "number"
    ]
    numbers = [family.log_terms(p) for p, family in _pairs(params, families) if family.holds == "number"]
    terms = [np.concatenate([_in_cells(one[x][None], n_cells) for one in numbers]) for x in range(3) if numbers]
    kinds = [family.number_prior()[0] for family in families if family.holds == "number"]
    nothing = np.empty((0, n_cells))
    first, second, third = terms or [nothing] * 3
    return LogTables(np.concatenate(words) if words else nothing, np.array(kinds, np.float64), first, second, third)


def base_two(tables: LogTables) -> Floats:
    """All terms in logarithms to the base 2, [word of any column, or term of one of numbers, cell]."""
    numbers = np.stack([tables.first, tables.second, tables.third], axis=1).reshape(-1, tables.word.shape[1])
    numbers *= np.where((np.arange(len(numbers)) % 3 == 0) & np.repeat(tables.kind == GAUSSIAN, 3), 1.0, LOG2E)[:, None]
    return np.concatenate([tables.word * LOG2E, numbers])


def in_vectors(
    held: Held, of_rows: tuple[Floats, Floats], tables: LogTables, units: Units, room_for: Callable[[int], Floats]
) -> RowsInVectors:
    """Rows of a shard whose units have them as labels.

    `of_rows` is (moments, constant) of each row; `room_for` gives an array of evidence for so many rows.
    """
    moments, constant = of_rows
    known, n_rows = units.label >= 0, len(constant)
    several = np.bincount(units.label[known], minlength=n_rows) > 1
    kept = several.copy()
    kept[units.label[known & (np.diff(units.child_start) > 0)]] = True
    place, room = np.where(several, np.cumsum(several) - 1, -1), np.where(kept, np.cumsum(kept), 0)
    kind = np.broadcast_to(tables.kind.astype(np.int64), held.value.shape)
    whole = [np.stack([place, room, held.start[:-1], held.start[1:]], axis=1), held.code, kind]
    values = np.concatenate([held.value[..., None], moments], axis=2).reshape(n_rows, -1)
    return RowsInVectors(
        held=np.ascontiguousarray(np.concatenate(whole, axis=1), np.int64),
        numbers=np.concatenate([constant[:, None], values], axis=1),
        words=np.stack([held.word.astype(np.float64), held.times], axis=1),
        sizes=(held.code.shape[1], held.value.shape[1], len(tables.word)),
        seen=np.full(int(several.sum()), -1),
        evidence=room_for(int(kept.sum()) + 1),
    )


def values_at(forest: Trees, node: NDArray[np.int64], one: Wanted) -> Any:
    """Numbers of these nodes in a column; None of words, from which nothing starts."""
    if one.kind not in ("numbers", "counts"):
        return None
    found, done = [], 0
    for part in forest.parts():
        lo, hi = np.searchsorted(node, (done, done + part.n_nodes))
        found.append(plain_values(part.content[one.name].as_kind(one.kind).take(node[lo:hi] - done)))
        done += part.n_nodes
    return np.concatenate(found)


def _pairs(params: Sequence[Any], families: Sequence[Any]) -> Any:
    return zip(params, families, strict=True)


def _in_cells(x: Floats, n_cells: int) -> Floats:
    """[row, state, component] as [row, cell]."""
    return to_lanes(x).reshape(len(x), n_cells)
