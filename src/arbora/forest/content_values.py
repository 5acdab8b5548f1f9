"""Columns of content from plain values: their kind, and what each value becomes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ForestError
from .classes import is_missing
from .content import KINDS, MOST_COUNT, Column, Entries, empty_column, fault_of
from .node_columns import natural_order

_WANTED = {
    "numbers": "a number",
    "counts": "a whole number from 0",
    "flags": "true or false",
    "codes": "text",
    "bags": "a list of words, or words with numbers of times",
}


class ColumnFault(ForestError):
    """What is wrong with a value, before it is known whose it is."""

    def __init__(self, node: int, what: str) -> None:
        super().__init__(f"node {node}: {what}" if node >= 0 else what)
        self.node, self.what = node, what


def content_of(given: Mapping[str, Any] | None, n_nodes: int, where: Callable[[int], str]) -> dict[str, Column]:
    """Checked columns of plain values, by name; `where` names a node in messages."""
    made = {}
    for name, values in ({} if given is None else given).items():
        if not isinstance(name, str) or not name:
            raise ForestError(f"a column is called {name!r}; wanted a name")
        try:
            column = values.frozen() if isinstance(values, Column) else column_of(values)
            if len(column) != n_nodes:
                raise ColumnFault(-1, f"{len(column)} values for {n_nodes} nodes; wanted one per node")
            fault = fault_of(column)
            if fault is not None:
                raise ColumnFault(*fault)
        except ColumnFault as found:
            place = "" if found.node < 0 else f"{where(found.node)}, "
            raise ForestError(f"{place}column {name!r}: {found.what}") from None
        made[name] = column
    return made


def column_of(values: Any, kind: str | None = None) -> Column:
    """A column of plain values; without a kind, by what they are.

    Truth makes flags, whole numbers from 0 counts, other numbers numbers, text codes, and lists of words or mappings
    from words to numbers of times bags.
    """
    if isinstance(values, Column):
        return values if kind is None else values.as_kind(kind)
    array = values if isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values) else None
    if array is not None and array.dtype.kind in "biuf":
        return _of_array(array, kind)
    items = _items(values)
    missing = [is_missing(item) for item in items]
    found = kind or _kind_of(items, missing)
    if found is None:
        return empty_column("numbers", len(items))
    return _MAKERS[found](items, missing)


def _items(values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ColumnFault(-1, f"found {type(values).__name__}; wanted a list of values, one per node")
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _of_array(array: NDArray[Any], kind: str | None) -> Column:
    """From an array of truth or numbers."""
    if array.ndim != 1:
        raise ColumnFault(-1, f"an array of shape {array.shape}; wanted one value per node")
    whole = array.dtype.kind in "iu"
    if kind is None:
        counts = whole and (not array.size or int(array.min()) >= 0)
        kind = "flags" if array.dtype.kind == "b" else "counts" if counts else "numbers"
    if kind == "codes" or kind == "bags":
        return _MAKERS[kind](array.tolist(), [is_missing(item) for item in array.tolist()])
    if kind == "numbers":
        return _checked(Column(kind, array.astype(np.float64)))
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)
    most = 1 if kind == "flags" else MOST_COUNT
    with np.errstate(invalid="ignore"):
        bad = ~missing & ~((array >= 0) & (array <= most) & (array == np.floor(array)))
    if bad.any():
        u = int(np.argmax(bad))
        raise ColumnFault(u, f"found {array[u]}; wanted {_WANTED[kind]}")
    return _checked(Column(kind, np.where(missing, -1, np.where(missing, 0, array)).astype(KINDS[kind])))


def _checked(column: Column) -> Column:
    made = column.frozen()
    fault = fault_of(made)
    if fault is not None:
        raise ColumnFault(*fault)
    return made


def _is_number(item: Any) -> bool:
    return isinstance(item, (int, float, np.integer, np.floating)) and not isinstance(item, bool)


def _sort_of(of: type) -> str:
    """What a value of this type makes of its column."""
    if issubclass(of, (bool, np.bool_)):
        return "flags"
    if issubclass(of, (int, np.integer)):
        return "counts"
    if issubclass(of, (float, np.floating)):
        return "numbers"
    if issubclass(of, str):
        return "codes"
    return "bags" if issubclass(of, (Mapping, list, tuple, set, frozenset)) else ""


def _kind_of(items: list[Any], missing: list[bool]) -> str | None:
    """The kind that all values have; None if there are none."""
    first: dict[str, int] = {}
    for u, (item, gone) in enumerate(zip(items, missing, strict=True)):
        if not gone:
            first.setdefault(_sort_of(type(item)), u)
    if "" in first:
        raise ColumnFault(first[""], f"found {type(items[first['']]).__name__}; wanted numbers, truth, text or words")
    if set(first) == {"counts", "numbers"} or (
        set(first) == {"counts"} and any(not gone and item < 0 for item, gone in zip(items, missing, strict=True))
    ):
        return "numbers"
    if len(first) > 1:
        (a, _), (b, u) = sorted(first.items(), key=lambda pair: pair[1])[:2]
        raise ColumnFault(u, f"found {items[u]!r:.40}, one of {b}, where others are {a}; make all of one kind")
    return next(iter(first), None)


def _refused(kind: str, u: int, item: Any) -> ColumnFault:
    return ColumnFault(u, f"found {item!r:.40}; wanted {_WANTED[kind]}")


def _numbers(items: list[Any], missing: list[bool]) -> Column:
    bad = next((u for u, item in enumerate(items) if not missing[u] and not _is_number(item)), None)
    if bad is not None:
        raise _refused("numbers", bad, items[bad])
    try:
        values = np.array([np.nan if gone else float(item) for item, gone in zip(items, missing, strict=True)])
    except OverflowError:
        u = next(u for u, item in enumerate(items) if not missing[u] and abs(item) > 1e308)
        raise ColumnFault(u, f"found {items[u]!r:.40}; wanted a number that a double can hold") from None
    return _checked(Column("numbers", values))


def _whole(kind: str, most: int) -> Callable[[list[Any], list[bool]], Column]:
    def make(items: list[Any], missing: list[bool]) -> Column:
        for u, item in enumerate(items):
            known = isinstance(item, (bool, np.bool_)) or _is_number(item)
            if not missing[u] and not (known and 0 <= item <= most and item == int(item)):
                raise _refused(kind, u, item)
        values = [-1 if gone else int(item) for item, gone in zip(items, missing, strict=True)]
        return _checked(Column(kind, np.array(values, KINDS[kind])))

    return make


def _codes(items: list[Any], missing: list[bool]) -> Column:
    for u, item in enumerate(items):
        if not missing[u] and not isinstance(item, (str, int, float, np.integer, np.floating, bool, np.bool_)):
            raise _refused("codes", u, item)
    texts = [None if gone else str(item) for item, gone in zip(items, missing, strict=True)]
    words = sorted({text for text in texts if text is not None}, key=natural_order)
    index: dict[str | None, int] = {None: -1} | {word: m for m, word in enumerate(words)}
    return Column("codes", np.array([index[text] for text in texts], np.int32), tuple(words)).frozen()


def _bags(items: list[Any], missing: list[bool]) -> Column:
    held = [Counter() if gone else _bag(u, item) for u, (item, gone) in enumerate(zip(items, missing, strict=True))]
    words = sorted({word for bag in held for word in bag}, key=natural_order)
    index = {word: m for m, word in enumerate(words)}
    start = np.append(0, np.cumsum([len(bag) for bag in held])).astype(np.int64)
    pairs = [pair for bag in held for pair in sorted((index[word], times) for word, times in bag.items())]
    word, times = np.array(pairs, np.int64).reshape(-1, 2).T
    entries = Entries(start, word.astype(np.int32), times.astype(np.int64))
    return _checked(Column("bags", -np.array(missing, np.int8), tuple(words), entries))


def _bag(u: int, item: Any) -> Counter[str]:
    """Words of one node with their numbers of times."""
    if isinstance(item, Mapping):
        bag: Counter[str] = Counter()
        for word, times in item.items():
            if not _is_number(times) or times != int(times) or not 0 <= times <= MOST_COUNT:
                raise ColumnFault(u, f"{word!r:.40} comes {times!r:.40} times; wanted a whole number from 0")
            if times:
                bag[str(word)] += int(times)
        return bag
    if isinstance(item, str) or not isinstance(item, (Sequence, set, frozenset)):
        raise _refused("bags", u, item)
    return Counter(str(word) for word in item)


_MAKERS: dict[str, Callable[[list[Any], list[bool]], Column]] = {
    "numbers": _numbers,
    "counts": _whole("counts", MOST_COUNT),
    "flags": _whole("flags", 1),
    "codes": _codes,
    "bags": _bags,
}
