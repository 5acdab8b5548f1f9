"""Content: what nodes hold beside their label, as named and typed columns in which any value may be missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ForestError
from .node_columns import Ints, Ints32, frozen

#: Kinds of columns, by the dtype of their values; what stands for a missing value is -1, of numbers nan.
KINDS: dict[str, Any] = {
    "codes": np.int32,  # one of some words: its number
    "flags": np.int8,  # 0 or 1
    "numbers": np.float64,
    "counts": np.int64,  # whole numbers from 0
    "bags": np.int8,  # words with numbers of times, in `entries`; 0: there is a bag, perhaps an empty one
}
MOST_COUNT = 2**53  # whole numbers up to here are exact as doubles


class Entries(NamedTuple):
    """The words of bags, node by node."""

    start: Ints  # [node + 1]
    word: Ints32  # increasing within a node
    times: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """One column of content: a value of one kind per node, or none.

    Columns are made by `Forest(content=...)` and `Forest.with_content` from plain values; `Column.numbers`, `.counts`,
    `.flags`, `.codes` and `.bags` state the kind.

    Parameters
    ----------
    kind : {"codes", "flags", "numbers", "counts", "bags"}
        What the values are.
    values : ndarray, one per node
        The values; -1 is missing, among numbers nan.  Codes are indices into `words`.  A bag that is there has 0 here.
    words : tuple of str, default ()
        What codes and entries of bags stand for.
    entries : Entries or None, default None
        The words of bags.

    Examples
    --------
    >>> from arbora import Forest
    >>> forest = Forest.from_nested([("a", ["b", "c"])]).with_content({"length": [0.5, None, 2.0]})
    >>> forest.content["length"]
    Column(numbers, 3 nodes, 1 missing)
    >>> forest[0]["content"]
    {'length': 2.0}
    """

    kind: str
    values: NDArray[Any]
    words: tuple[str, ...] = ()
    entries: Entries | None = None

    @classmethod
    def numbers(cls, values: ArrayLike) -> "Column":
        """Numbers; None and nan are missing.

        Parameters
        ----------
        values : sequence, one per node
        """
        return _column_of(values, "numbers")

    @classmethod
    def counts(cls, values: ArrayLike) -> "Column":
        """Whole numbers from 0; None and nan are missing.

        Parameters
        ----------
        values : sequence, one per node
        """
        return _column_of(values, "counts")

    @classmethod
    def flags(cls, values: ArrayLike) -> "Column":
        """True or false; None and nan are missing.

        Parameters
        ----------
        values : sequence, one per node
        """
        return _column_of(values, "flags")

    @classmethod
    def codes(cls, values: Any) -> "Column":
        """Words, of which each node has one; None is missing.

        Parameters
        ----------
        values : sequence, one per node
        """
        return _column_of(values, "codes")

    @classmethod
    def bags(cls, values: Any) -> "Column":
        """Lists of words, or mappings from words to numbers of times; None is missing.

        Parameters
        ----------
        values : sequence, one per node
        """
        return _column_of(values, "bags")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        words = f", {len(self.words)} words" if self.kind in ("codes", "bags") else ""
        return f"Column({self.kind}, {len(self)} nodes, {int(self.missing.sum())} missing{words})"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value."""
        return np.isnan(self.values) if self.kind == "numbers" else np.asarray(self.values < 0)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays, by name."""
        return {"values": self.values} | ({} if self.entries is None else self.entries._asdict())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(array.nbytes) for array in self.arrays.values())

    def take(self, node: Any) -> "Column":
        """The values of these nodes, in this order.

        Parameters
        ----------
        node : array of int
            Numbers of nodes.

        Returns
        -------
        Column
            The column.
        """
        entries = None
        if self.entries is not None:
            length = np.diff(self.entries.start)[node]
            start = np.append(0, np.cumsum(length)).astype(np.int64)
            at = np.repeat(self.entries.start[:-1][node] - start[:-1], length) + np.arange(start[-1])
            entries = Entries(start, self.entries.word[at], self.entries.times[at])
        return Column(self.kind, self.values[node], self.words, entries).frozen()

    def frozen(self) -> "Column":
        """The same with read-only arrays of the dtypes of its kind."""
        entries = self.entries
        if entries is not None:
            types = (np.int64, np.int32, np.int64)
            entries = Entries(*(frozen(x, dtype) for x, dtype in zip(entries, types, strict=True)))
        return Column(self.kind, frozen(self.values, KINDS[self.kind]), self.words, entries)

    def with_words(self, words: Sequence[str]) -> "Column":
        """The same values over other words; a code outside them is missing, and bags lose such words.

        Parameters
        ----------
        words : sequence of str
            Words to number by.

        Returns
        -------
        Column
            The column.
        """
        known = tuple(words)
        if known == self.words:
            return self
        index = {word: m for m, word in enumerate(known)}
        table = np.array([*(index.get(word, -1) for word in self.words), -1], np.int32)  # the last serves -1
        if self.entries is None:
            return Column(self.kind, table[self.values], known).frozen()
        start, word, times = self.entries
        word = table[word]
        keep = word >= 0
        row = np.repeat(np.arange(len(self)), np.diff(start))[keep]
        order = np.lexsort((word[keep], row))
        ends = np.append(0, np.cumsum(np.bincount(row, minlength=len(self)))).astype(np.int64)
        return Column(self.kind, self.values, known, Entries(ends, word[keep][order], times[keep][order])).frozen()

    def as_kind(self, kind: str) -> "Column":
        """The same values as another kind, where that loses nothing: counts and flags as numbers, flags as codes.

        Parameters
        ----------
        kind : str
            Kind of column.

        Returns
        -------
        Column
            The column.
        """
        if kind == self.kind:
            return self
        if kind == "numbers" and self.kind in ("counts", "flags"):
            return Column(kind, np.where(self.missing, np.nan, self.values.astype(np.float64))).frozen()
        if kind == "counts" and self.kind == "flags":
            return Column(kind, self.values.astype(np.int64)).frozen()
        if kind == "codes" and self.kind == "flags":
            return Column(kind, self.values.astype(np.int32), ("False", "True")).frozen()
        if kind in KINDS and self.missing.all():
            return empty_column(kind, len(self))
        raise ForestError(f"a column of {self.kind} cannot be taken as {kind}")

    def nested(self, lo: int, hi: int) -> list[Any]:
        """Values of a run of nodes as plain Python; None is missing.

        Parameters
        ----------
        lo : int
            First node.
        hi : int
            One after the last node.

        Returns
        -------
        list
            The values.
        """
        values, missing = self.values[lo:hi].tolist(), self.missing[lo:hi].tolist()
        if self.entries is not None:
            start, word, times = self.entries
            ends = start[lo : hi + 1].tolist()
            first, last = (ends[0], ends[-1]) if ends else (0, 0)
            words, counts = word[first:last].tolist(), times[first:last].tolist()
            spans = [(a - first, b - first) for a, b in pairwise(ends)]
            values = [{self.words[words[x]]: counts[x] for x in range(a, b)} for a, b in spans]
        elif self.kind == "codes":
            values = [self.words[m] if m >= 0 else None for m in values]
        elif self.kind == "flags":
            values = [m > 0 for m in values]
        return [None if gone else value for value, gone in zip(values, missing, strict=True)]

    def describe(self) -> dict[str, Any]:
        """Kind, missing values and what is most frequent or how large, as plain numbers."""
        known = ~self.missing
        told: dict[str, Any] = {"kind": self.kind, "n_missing": int((~known).sum())}
        values = self.values[known]
        if self.kind in ("numbers", "counts") and len(values):
            told["quartiles"] = [float(q) for q in np.quantile(values, [0, 0.25, 0.5, 0.75, 1])]
            told["mean"], told["deviation"] = float(values.mean()), float(values.std())
        elif self.kind == "flags" and len(values):
            told["share_true"] = float(values.mean())
        elif self.kind in ("codes", "bags"):
            word, times = (values, None) if self.entries is None else (self.entries.word, self.entries.times)
            count = np.bincount(word, times, minlength=len(self.words)).astype(np.int64)
            top = np.argsort(-count, kind="stable")[:10]
            told["n_words"] = len(self.words)
            told["top_words"] = {self.words[m]: int(count[m]) for m in top if count[m]}
        return told


def _column_of(values: Any, kind: str) -> Column:
    from .content_values import column_of  # it makes columns, and so imports this file

    return column_of(values, kind)


def empty_column(kind: str, n_nodes: int) -> Column:
    """A column in which every value is missing."""
    missing = np.full(n_nodes, np.nan if kind == "numbers" else -1, KINDS[kind])
    entries = Entries(np.zeros(n_nodes + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    return Column(kind, missing, (), entries if kind == "bags" else None).frozen()


def words_by(column: Column, group: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """(group, word, times) of every word of codes or bags, given the group of each node."""
    if column.entries is None:
        at = np.flatnonzero(column.values >= 0)
        return group[at], column.values[at], np.ones(len(at))
    times = column.entries.times.astype(np.float64)
    return np.repeat(group, np.diff(column.entries.start)), column.entries.word, times


def same_content(a: Mapping[str, Column], b: Mapping[str, Column]) -> bool:
    """Whether columns hold the same values by name, order and spare words aside; one without a value is as good as
    none."""
    left, right = ({name: column for name, column in one.items() if not column.missing.all()} for one in (a, b))
    return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)


def _same(a: Column, b: Column) -> bool:
    if a.kind != b.kind or len(a) != len(b):
        return False
    words = sorted({*a.words, *b.words})
    first, second = ((one.with_words(words) if one.words else one).arrays for one in (a, b))
    return all(np.array_equal(first[name], second[name], equal_nan=a.kind == "numbers") for name in first)


def common_kind(kinds: Sequence[str], name: str) -> str:
    """The kind of a column whose parts have these kinds: counts among numbers are numbers."""
    found = Counter(kinds)
    if len(found) == 1:
        return kinds[0]
    if set(found) == {"counts", "numbers"}:
        return "numbers"
    raise ForestError(f"column {name!r}: some trees have {' and some '.join(sorted(found))}; make all of one kind")


def concat_content(parts: Sequence[Mapping[str, Column]], sizes: Sequence[int]) -> dict[str, Column]:
    """Columns one after the other; where one is not there, its values are missing."""
    names = list(dict.fromkeys(name for part in parts for name in part))
    return {name: _concat([part.get(name) for part in parts], sizes, name) for name in names}


def _concat(columns: Sequence[Column | None], sizes: Sequence[int], name: str) -> Column:
    kinds = [column.kind for column in columns if column is not None and not column.missing.all()]
    kind = common_kind(kinds or [column.kind for column in columns if column is not None][:1], name)
    every = [
        empty_column(kind, n) if column is None else column.as_kind(kind)
        for column, n in zip(columns, sizes, strict=True)
    ]
    words = list(dict.fromkeys(word for column in every for word in column.words))
    every = [column.with_words(words) for column in every] if kind in ("codes", "bags") else every
    entries = None
    if kind == "bags":
        held: list[Any] = [column.entries for column in every]
        shift = np.cumsum([0] + [len(one.word) for one in held])
        start = [np.zeros(1, np.int64), *(one.start[1:] + at for one, at in zip(held, shift, strict=False))]
        word, times = (np.concatenate([getattr(one, what) for one in held]) for what in ("word", "times"))
        entries = Entries(np.concatenate(start), word, times)
    return Column(kind, np.concatenate([column.values for column in every]), tuple(words), entries).frozen()


def fault_of(column: Column) -> tuple[int, str] | None:
    """The first node at which a column breaks a rule, and which; -1 stands for the column as a whole."""
    values = column.values
    if column.kind not in KINDS or values.dtype != KINDS[column.kind] or values.ndim != 1:
        return -1, f"{values.dtype} of shape {values.shape} do not make {column.kind}; use Column.{column.kind}"
    if len(set(column.words)) != len(column.words):
        return -1, "a word comes twice; words must differ"
    low, high = {"codes": (-1, len(column.words) - 1), "flags": (-1, 1), "bags": (-1, 0)}.get(
        column.kind, (-1, MOST_COUNT)
    )
    bad = np.isinf(values) if column.kind == "numbers" else (values < low) | (values > high)
    if bad.any():
        u = int(np.argmax(bad))
        wanted = "a finite number, or nan where it is missing" if column.kind == "numbers" else f"{low} to {high}"
        return u, f"found {values[u]}; wanted {wanted}"
    return None if column.kind != "bags" else _fault_of_entries(column)


def _fault_of_entries(column: Column) -> tuple[int, str] | None:
    if column.entries is None:
        return -1, "bags without entries; use Column.bags"
    start, word, times = column.entries
    whole = len(start) == len(column) + 1 and start[0] == 0 and start[-1] == len(word) == len(times)
    if not whole or (np.diff(start) < 0).any():
        return -1, "the offsets of its bags do not fit; use Column.bags"
    row = np.repeat(np.arange(len(column)), np.diff(start))
    bad = (word < 0) | (word >= len(column.words)) | (times < 1) | (times > MOST_COUNT)
    bad[1:] |= (np.diff(word) <= 0) & (np.diff(row) == 0)
    bad |= column.values[row] < 0
    if not bad.any():
        return None
    x = int(np.argmax(bad))
    return int(row[x]), f"word {word[x]}, {times[x]} times; wanted different words, each once or more, of a bag"
