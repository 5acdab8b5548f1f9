"""Forests from tables of nodes: a row per node, with its id and that of its parent."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ForestError
from .classes import is_missing
from .forest import Forest

_MOST_SHOWN = 5  # ids of a cycle
_MOST_EXACT = 2.0**53  # whole numbers from here on share a double with their neighbours


def forest_of_table(
    table: Any,
    node: str,
    parent: str,
    label: str,
    tree: str | None,
    order: str | None,
    no_parent: Any,
    vocabulary: Sequence[str] | None,
    content: Sequence[str] = (),
) -> Forest:
    """The work of `Forest.from_table`."""
    ids, parents, labels = (_column(table, key) for key in (node, parent, label))
    trees = [None] * len(ids) if tree is None else _column(table, tree)
    orders = None if order is None else _column(table, order)
    if isinstance(content, str):
        raise ForestError(f"content={content!r}; wanted a list of columns of the table")
    held = {key: _column(table, key) for key in content}
    for key, column in ((parent, parents), (label, labels), (tree, trees), (order, orders), *held.items()):
        if column is not None and len(column) != len(ids):
            raise ForestError(f"column {node!r} has {len(ids)} rows and {key!r} {len(column)}; they must be as long")
    rows = _Rows(ids, trees, tree)
    above = rows.parents(parents, no_parent)
    number, names = rows.numbers(above)
    texts = [None if is_missing(word) else str(word) for word in labels]
    sequence = _sequence(orders, len(ids), order)
    rank = np.empty(len(ids), np.int64)
    rank[sequence] = np.arange(len(ids))
    moved = np.where(above[sequence] < 0, -1, rank[above[sequence]])
    return Forest.from_parents(
        moved,
        [texts[row] for row in sequence],
        tree=number[sequence],
        vocabulary=vocabulary,
        name=None if tree is None else [str(one) for one in names],
        content={key: [column[row] for row in sequence] for key, column in held.items()},
    )


def _column(table: Any, key: str) -> list[Any]:
    """A column as a list, of a data frame, an arrow table or a mapping of arrays."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    names = list(table) if isinstance(table, Mapping) else names
    if names is None:
        raise ForestError(
            f"cannot read {type(table).__name__} as a table; wanted a data frame, an arrow table or a dict of columns"
        )
    if key not in list(names):
        raise ForestError(f"there is no column {key!r}; found {', '.join(map(repr, names))}")
    column = table[key]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


class _Rows:
    """Rows by tree and id."""

    def __init__(self, ids: list[Any], trees: list[Any], tree: str | None) -> None:
        self.ids, self.trees, self.tree = ids, trees, tree
        self.at: dict[tuple[Hashable, Hashable], int] = {}
        for row, key in enumerate(zip(trees, ids, strict=True)):
            for what, value in (("node", key[1]), *((("tree", key[0]),) if tree is not None else ())):
                if is_missing(value) or not isinstance(value, Hashable):
                    found = "missing" if is_missing(value) else f"{type(value).__name__}, which cannot be compared"
                    raise ForestError(f"row {row}: the {what} is {found}; every row needs an id of its {what}")
                _check_exact(row, what, value)
            first = self.at.setdefault(key, row)
            if first != row:
                raise ForestError(f"{self.where(row)}: node {key[1]!r} is in row {first} already; ids must differ")

    def where(self, row: int) -> str:
        """Tree and row, as messages begin."""
        return f"row {row}" if self.tree is None else f"tree {self.trees[row]!r}, row {row}"

    def parents(self, parents: list[Any], no_parent: Any) -> Any:
        """Row of the parent of each row; -1 at roots."""
        above = np.full(len(parents), -1, np.int64)
        for row, (tree, found) in enumerate(zip(self.trees, parents, strict=True)):
            if is_missing(found) or (no_parent is not None and found == no_parent):
                continue
            _check_exact(row, "parent", found)
            place = self.at.get((tree, found)) if isinstance(found, Hashable) else None
            if place is None:
                raise ForestError(
                    f"{self.where(row)}: the parent {found!r} of node {self.ids[row]!r} is no node of its tree; "
                    f"add it, or leave the parent of a root empty (no_parent= says what else stands for none)"
                )
            above[row] = place
        return above

    def numbers(self, above: Any) -> tuple[Any, list[Any]]:
        """Number of the tree of each row, and the trees in the order of their numbers."""
        roots = np.flatnonzero(above < 0)
        self._check_cycles(above)
        number = np.full(len(above), -1, np.int64)
        if self.tree is None:
            number[roots] = np.arange(len(roots))
            return self._spread(number, above), list(range(len(roots)))
        names = {one: t for t, one in enumerate(dict.fromkeys(self.trees))}
        first: dict[Any, int] = {}
        for row in roots.tolist():
            other = first.setdefault(self.trees[row], row)
            if other != row:
                found = f"node {self.ids[row]!r} is a second root, after node {self.ids[other]!r} of row {other}"
                raise ForestError(f"{self.where(row)}: {found}; a tree has one")
        return np.array([names[one] for one in self.trees], np.int64), list(names)

    @staticmethod
    def _spread(number: Any, above: Any) -> Any:
        """The number of the root at every row, by doubling the steps upwards."""
        top = np.where(above < 0, np.arange(len(above)), above)
        while len(top) and (above[top] >= 0).any():
            top = top[top]
        return number[top]

    def _check_cycles(self, above: Any) -> None:
        """Raise unless every row reaches a root."""
        done = np.zeros(len(above), np.int8)  # 1: on the way at hand, 2: reaches a root
        for row in range(len(above)):
            way, at = [], row
            while at >= 0 and not done[at]:
                done[at] = 1
                way.append(at)
                at = int(above[at])
            if at >= 0 and done[at] == 1:
                cycle = way[way.index(at) :]
                some = " -> ".join(repr(self.ids[one]) for one in cycle[:_MOST_SHOWN])
                more = " -> ..." if len(cycle) > _MOST_SHOWN else f" -> {self.ids[at]!r}"
                raise ForestError(f"{self.where(at)}: the parents form a cycle, {some}{more}; a tree has a root")
            done[way] = 2


def _check_exact(row: int, what: str, value: Any) -> None:
    """Raise if an id may be another, rounded: pandas makes whole numbers doubles where one of them is missing."""
    if isinstance(value, float) and abs(value) >= _MOST_EXACT:
        raise ForestError(
            f"row {row}: the {what} is {value!r}, a double in which whole numbers of this size lose digits; make the "
            "column text, or integers that may be missing (Int64 in pandas)"
        )


def _sequence(orders: list[Any] | None, n: int, key: str | None) -> Any:
    """Rows in the order that siblings have."""
    if orders is None:
        return np.arange(n)
    lost = next((row for row, value in enumerate(orders) if is_missing(value)), None)
    if lost is not None:
        raise ForestError(f"row {lost}: no value in {key!r}, which orders siblings; give one to every row")
    try:
        return np.array(sorted(range(n), key=orders.__getitem__), np.int64)
    except TypeError as error:
        raise ForestError(f"column {key!r}: its values have no order ({error}); make all of one kind") from None
