"""Rows of content and parameters of columns in the form of `kernels.evidence`, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..lanes import to_lanes
from .kernels.evidence import Held, LogTables

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


def _pairs(params: Sequence[Any], families: Sequence[Any]) -> Any:
    return zip(params, families, strict=True)


def _in_cells(x: Floats, n_cells: int) -> Floats:
    """[row, state, component] as [row, cell]."""
    return to_lanes(x).reshape(len(x), n_cells)
