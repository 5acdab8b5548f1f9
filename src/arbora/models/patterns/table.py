"""PatternTable: the patterns that are columns, the keys they are made of, their text, and their file."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...forest.forest import Forest
from ..file_checks import check_array, check_offsets
from . import families as fm
from .families import BELOW, FIRST_LABEL, MISSING_CODE, UNSEEN_CODE, Keys
from .kernels.keys import END, FAR, START

Ints = NDArray[np.int64]

_MARKS = {START: "^", END: "$", FAR: "...", MISSING_CODE: "?", UNSEEN_CODE: "*"}
_SPECIAL = set('(),{}"/')


class PatternTable(NamedTuple):
    """Known keys of each family, and the column of each, -1 where it only is a part of others."""

    families: tuple[str, ...]
    keys: dict[str, Keys]
    column: dict[str, Ints]

    @property
    def n_columns(self) -> int:
        return sum(self.width(family) for family in self.families)

    def width(self, family: str) -> int:
        """Columns of one family."""
        return int((self.column[family] >= 0).sum())

    def family_of_columns(self) -> Ints:
        """Place of the family of each column in `families`."""
        return np.repeat(np.arange(len(self.families)), [self.width(family) for family in self.families])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The table as arrays; `from_arrays` undoes it."""
        out: dict[str, NDArray[Any]] = {}
        for family, keys in self.keys.items():
            out |= {
                f"{family}_start": keys.start,
                f"{family}_symbol": keys.symbol,
                f"{family}_column": self.column[family],
            }
        return out


class Known(NamedTuple):
    """What a table says of some trees."""

    counts: Any  # sparse [tree, column]
    n_distinct: Ints  # [tree]: distinct patterns, those without a column included


# ---- making ---------------------------------------------------------------------------------------------------------


class Learnt(NamedTuple):
    """Distinct patterns of all trees seen so far."""

    keys: dict[str, Keys]
    n_trees_with: dict[str, Ints]
    example: dict[str, Ints]
    n_trees: int


def learn(parts: Iterable[tuple[int, dict[str, fm.FamilyPart]]], names: Sequence[str]) -> Learnt:
    """Join the patterns of runs of trees, given with the number of their trees, in order."""
    order = fm.with_below(names)
    keys = {family: fm.empty_keys() for family in order}
    with_it = {family: np.zeros(0, np.int64) for family in order}
    example = {family: np.zeros((0, 2), np.int64) for family in order}
    n_trees = 0
    for n, part in parts:
        keys, numbers = fm.add_keys(keys, {family: part[family].keys for family in order})
        for family in order:
            n_new = keys[family].n_keys - len(with_it[family])
            is_new = numbers[family] >= len(with_it[family])
            total = np.append(with_it[family], np.zeros(n_new, np.int64))
            total[numbers[family]] += part[family].n_trees_with
            with_it[family] = total
            # New keys are numbered as they come, so their examples are in order.
            example[family] = np.concatenate([example[family], part[family].example[is_new] + [n_trees, 0]])
        n_trees += n
    return Learnt(keys, with_it, example, n_trees)


def choose(learnt: Learnt, names: Sequence[str], min_trees: int, most: int | None) -> tuple[PatternTable, Ints, Ints]:
    """The table of patterns of at least so many trees, at most `most` of them; trees with each column, examples."""
    least = min(min_trees, max(learnt.n_trees, 1))
    keep = {family: np.zeros(keys.n_keys, bool) for family, keys in learnt.keys.items()}
    for family in names:
        keep[family] = learnt.n_trees_with[family] >= least
    if most is not None:
        _keep_most(keep, learnt, names, most)
    keys, new = fm.only(learnt.keys, keep)
    column, n_columns = {}, 0
    for family in keys:
        column[family] = np.full(keys[family].n_keys, -1, np.int64)
    for family in names:
        n_own = int(keep[family].sum())
        column[family][new[family][keep[family]]] = n_columns + np.arange(n_own)
        n_columns += n_own
    with_it = np.concatenate([learnt.n_trees_with[family][keep[family]] for family in names])
    example = np.concatenate([learnt.example[family][keep[family]] for family in names])
    return PatternTable(tuple(names), keys, column), with_it, example


def _keep_most(keep: dict[str, NDArray[np.bool_]], learnt: Learnt, names: Sequence[str], most: int) -> None:
    """Leave only the patterns of most trees, first come first served among equals."""
    flat = np.concatenate([np.where(keep[family], learnt.n_trees_with[family], 0) for family in names])
    chosen = np.zeros(len(flat), bool)
    chosen[np.argsort(-flat, kind="stable")[:most]] = True
    chosen &= flat > 0
    cuts = np.cumsum([len(keep[family]) for family in names])[:-1]
    keep.update(zip(names, np.split(chosen, cuts), strict=True))


# ---- using ----------------------------------------------------------------------------------------------------------


def count_known(forest: Forest, table: PatternTable) -> Known:
    """Counts of the known patterns of each tree; labels must be numbered as in the table."""
    parts = fm.find_patterns(forest, table.families)
    return known_of(parts, table, fm.look_up(table.keys, {family: part.keys for family, part in parts.items()}))


def known_of(parts: dict[str, fm.FamilyPart], table: PatternTable, numbers: dict[str, Ints]) -> Known:
    """Counts by column from counts by the patterns of a run and their numbers in the table."""
    blocks, n_distinct, first = [], 0, 0
    for family in table.families:
        counts, width = parts[family].counts, table.width(family)
        known = numbers[family]
        column = np.where(known >= 0, table.column[family][known] if len(table.column[family]) else -1, -1)
        blocks.append(_select(counts, np.where(column >= 0, column - first, -1), width))
        n_distinct = n_distinct + np.diff(counts.indptr).astype(np.int64)
        first += width
    joined = sparse.csr_array(sparse.hstack(blocks, format="csr"))
    joined.sort_indices()
    return Known(joined, np.asarray(n_distinct, np.int64))


def _select(counts: Any, column: Ints, n_columns: int) -> Any:
    """Sparse counts with columns renamed; -1 drops one."""
    renamed = column[counts.indices] if len(column) else np.zeros(0, np.int64)
    keep = renamed >= 0
    start = np.append(0, np.cumsum(keep))[counts.indptr]
    kind = counts.indices.dtype
    return sparse.csr_array(
        (counts.data[keep], renamed[keep].astype(kind), start.astype(kind)), shape=(counts.shape[0], n_columns)
    )


# ---- text -----------------------------------------------------------------------------------------------------------


def quoted(label: str) -> str:
    """A label as it stands in the text of a pattern; in quotes where it could be mistaken for something else."""
    odd = not label or label in _MARKS.values() or label.endswith(":")
    if odd or any(c in _SPECIAL or c.isspace() or not c.isprintable() for c in label):
        return json.dumps(label, ensure_ascii=False)
    return label


def _adjacent(symbol: list[int], words: list[str]) -> str:
    """Two adjacent children among others, the first child, or the last: `..., b, c, ...`, `b, ...`, `..., c`."""
    if symbol[1] == START:
        return f"{words[2]}, ..."
    return f"..., {words[1]}" if symbol[2] == END else f"..., {words[1]}, {words[2]}, ..."


class Writer:
    """Writes patterns as text."""

    def __init__(self, table: PatternTable, vocabulary: Sequence[str]):
        self.table, self.vocabulary = table, vocabulary

    def label(self, code: int) -> str:
        return _MARKS[code] if code < FIRST_LABEL else quoted(self.vocabulary[code - FIRST_LABEL])

    def node(self, head: str, inside: str) -> str:
        """A node with its children."""
        return f"{head}({inside})"

    def text(self, family: str, number: int) -> str:
        """One key of a family as text, as `a(b, b, c)`."""
        keys = self.table.keys[family]
        symbol = keys.symbol[keys.start[number] : keys.start[number + 1]].tolist()
        if family == "slots":
            return f"root: {self.label(symbol[1])}" if symbol[0] < 0 else f"slot {symbol[0]}: {self.label(symbol[1])}"
        if family in BELOW:
            words = [self.label(symbol[0]), *(self.text(BELOW[family], child) for child in symbol[1:])]
        else:
            words = [self.label(code) for code in symbol]
        if family == "pairs":
            return " > ".join(words)
        if family == "paths":
            return "/".join(words)
        if family == "bigrams":
            return self.node(words[0], _adjacent(symbol, words))
        if family == "labels" or len(words) == 1:
            return words[0]
        inside = ", ".join(words[1:])
        return f"{words[0]}{{{inside}}}" if family == "sets" else self.node(words[0], inside)

    def texts(self, columns: NDArray[Any]) -> list[str]:
        """Texts of columns."""
        where = self.keys_of_columns()
        return [self.text(self.table.families[f], n) for f, n in where[columns].tolist()]

    def keys_of_columns(self) -> Ints:
        """(place of the family, number of the key) of every column."""
        out = np.empty((self.table.n_columns, 2), np.int64)
        for f, family in enumerate(self.table.families):
            column = self.table.column[family]
            number = np.flatnonzero(column >= 0)
            out[column[number]] = np.column_stack([np.full(len(number), f), number])
        return out


# ---- files ----------------------------------------------------------------------------------------------------------


def from_arrays(arrays: Any, names: Sequence[str], n_labels: int) -> PatternTable:
    """The table that `to_arrays` took apart; raises ValueError unless it makes one."""
    order = fm.with_below(names)
    if not isinstance(arrays, dict) or set(arrays) != {
        f"{f}_{x}" for f in order for x in ("start", "symbol", "column")
    }:
        raise ValueError("the patterns are not those of the families")
    keys: dict[str, Keys] = {}
    column: dict[str, Ints] = {}
    for family in order:
        start, symbol, at = (arrays[f"{family}_{x}"] for x in ("start", "symbol", "column"))
        check_array(f"{family}_symbol", symbol, np.int32, (None,), -4)
        if not isinstance(start, np.ndarray) or start.ndim != 1:
            raise ValueError(f"the offsets {family}_start do not fit")
        check_offsets(f"{family}_start", start, len(start) - 1, len(symbol))
        check_array(f"{family}_column", at, np.int64, (len(start) - 1,), -1)
        keys[family], column[family] = Keys(start, symbol), at
        _check_symbols(family, keys, n_labels)
    flat = np.concatenate([column[family][column[family] >= 0] for family in names])
    extra = [column[family] for family in order if family not in names]
    if not np.array_equal(flat, np.arange(len(flat))) or any((one >= 0).any() for one in extra):
        raise ValueError("the columns of the patterns are not numbered one after another")
    return PatternTable(tuple(names), keys, column)


_WIDTH = {"labels": 1, "pairs": 2, "slots": 2, "bigrams": 3}


def _check_symbols(family: str, keys: dict[str, Keys], n_labels: int) -> None:
    """Raise unless symbols are labels, marks, slots or numbers of keys where they should be."""
    start, symbol = keys[family]
    length = np.diff(start)
    if family in _WIDTH and (length != _WIDTH[family]).any():
        raise ValueError(f"patterns of the family {family} are of the wrong length")
    head = np.zeros(len(symbol), bool)
    head[start[:-1]] = True
    if family in BELOW:
        inner = symbol[~head]
        if (inner < 0).any() or (inner >= keys[BELOW[family]].n_keys).any():
            raise ValueError(f"patterns of the family {family} have parts that are none")
        labels = symbol[head]
    else:
        labels = symbol[~head] if family == "slots" else symbol
    if (labels < FAR).any() or (labels >= n_labels + FIRST_LABEL).any():
        raise ValueError(f"patterns of the family {family} have labels that are none")
