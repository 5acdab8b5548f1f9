"""Distinct contents: nodes that hold the same in all columns a model asks for have one row, and are shared by it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import ForestError
from .content import Column, Entries
from .node_columns import Ints, Ints32

LABEL = "label"  # the name by which models ask for the label
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Wanted(NamedTuple):
    """A column as a model asks for it; values outside the words are missing."""

    name: str
    kind: str  # of `content.KINDS`, or "label"
    words: tuple[str, ...] = ()


class ContentRows(NamedTuple):
    """Row of every node, and the values of the rows."""

    row: Ints32
    columns: dict[str, Any]  # by name: [row], nan or -1 where missing; of bags a sparse [row, word]


def content_rows(label: Ints32, content: Mapping[str, Column], wanted: Sequence[Wanted]) -> ContentRows:
    """Number the distinct contents of all nodes in the order of their values."""
    columns = {one.name: _asked(content, one) for one in wanted if one.name != LABEL}
    code = np.zeros(len(label), np.int64)
    for one in wanted:
        code = _joined(code, _codes(columns[one.name]) if one.name != LABEL else np.maximum(label, -1) + 1)
    _, first, row = np.unique(code, return_index=True, return_inverse=True)
    values = {
        one.name: np.maximum(label[first], -1) if one.name == LABEL else plain_values(columns[one.name].take(first))
        for one in wanted
    }
    return ContentRows(row.astype(np.int32), values)


def _asked(content: Mapping[str, Column], one: Wanted) -> Column:
    if one.name not in content:
        names = ", ".join(map(repr, content)) or "none"
        raise ForestError(
            f"the trees have no column {one.name!r} (columns: {names}); give trees with the columns of the model"
        )
    try:
        column = content[one.name].as_kind(one.kind)
    except ForestError as error:
        raise ForestError(f"column {one.name!r}: {error}") from None
    return column.with_words(one.words) if one.kind in ("codes", "bags") else column


def plain_values(column: Column) -> Any:
    """Values as families take them: codes with -1, other numbers as doubles with nan, bags as a sparse matrix."""
    if column.entries is not None:
        start, word, times = column.entries
        shape = (len(column), len(column.words))
        return sparse.csr_array((times.astype(np.float64), word, start), shape=shape)
    if column.kind == "codes":
        return column.values
    return np.where(column.missing, np.nan, column.values.astype(np.float64))


def _joined(code: Ints, more: NDArray[Any]) -> Ints:
    """Numbers of pairs, as small as there are pairs."""
    _, made = np.unique(code * (int(more.max(initial=0)) + 1) + more, return_inverse=True)
    return np.asarray(made, np.int64)


def _codes(column: Column) -> Ints:
    """A number from 0 for each distinct value."""
    if column.entries is not None:
        return _bag_codes(column.entries)
    return np.asarray(np.unique(column.values, return_inverse=True, equal_nan=True)[1], np.int64)


def _bag_codes(entries: Entries) -> Ints:
    """A number for each distinct bag: by a sum of mixed words, compared in full; bags that collide count as distinct.

    An empty bag says what a missing one says, and has its number.
    """
    start, word, times = entries
    n = len(start) - 1
    mixed = (word.astype(np.uint64) + np.uint64(1)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(31))) * (times.astype(np.uint64) * np.uint64(2) + np.uint64(1)) * _MIX
    mixed ^= mixed >> np.uint64(29)
    ends = np.append(np.uint64(0), np.cumsum(mixed, dtype=np.uint64))
    _, first, code = np.unique(ends[start[1:]] - ends[start[:-1]], return_index=True, return_inverse=True)
    length = np.diff(start)
    like = first[code]  # a node with the same sum
    same = length == length[like]
    row = np.repeat(np.arange(n), np.where(same, length, 0))
    if len(row):
        at = np.arange(len(row)) - np.repeat(
            np.cumsum(np.where(same, length, 0)) - np.where(same, length, 0), length * same
        )
        mine, other = start[row] + at, start[like[row]] + at
        differs = (word[mine] != word[other]) | (times[mine] != times[other])
        same[row[differs]] = False
    return np.where(same, code, int(code.max(initial=0)) + 1 + np.arange(n))
