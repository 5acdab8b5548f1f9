"""Known classes as a column: numbers, truth or text, such that two classes that differ stay two."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ForestError

MAX_CLASS = 1000  # characters of a known class: arrays of text give each tree the room of the longest

_PLAIN = "biuf"


def class_column(values: Any) -> NDArray[Any]:
    """Classes as an array of truth, integers, numbers or text; what is neither becomes its text.

    Two classes that differ but would come out equal are refused, and so is one that is not there (None, a mask, nan
    beside text), and bytes, whose text is that of Python.

    >>> class_column([3, 1]), class_column(["b", 2])
    (array([3, 1]), array(['b', '2'], dtype='<U1'))
    """
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise _not_there(int(np.flatnonzero(np.ma.getmaskarray(values))[0]), "masked")
    given = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, object)
    if given.ndim != 1 or given.dtype.kind in _PLAIN:
        return given
    if given.dtype.kind == "U":
        if given.dtype.itemsize > 4 * MAX_CLASS:
            _check_text(given.tolist())
        return given
    return _of_objects(given.tolist())


def _of_objects(items: list[Any]) -> NDArray[Any]:
    types = set(map(type, items))
    kinds = {_kind(one) for one in types}
    if not kinds <= {"i", "f"}:  # nan among numbers is a number
        gone = next((t for t, item in enumerate(items) if is_missing(item)), None)
        if gone is not None:
            raise _not_there(gone, str(items[gone]))
    if any(issubclass(one, bytes) for one in types):
        raise ForestError("a class is of bytes; wanted text: decode it")
    if not kinds:
        return np.zeros(0)
    if len(kinds) == 1 and kinds <= {"b", "U"}:
        return np.array(items, bool) if kinds == {"b"} else text_classes(items)
    if kinds == {"i"} and -(2**63) <= min(items) <= max(items) < 2**63:
        return np.array(items, np.int64)
    if "f" in kinds and kinds <= {"i", "f"}:
        return _numbers(items)
    return _texts(items)


def _kind(of: type) -> str:
    """The kind of a type of classes, as numpy calls it; O is neither number nor text."""
    kinds: dict[str, tuple[type, ...]] = {
        "b": (bool, np.bool_),
        "i": (int, np.integer),
        "f": (float, np.floating),
        "U": (str,),
    }
    return next((kind for kind, types in kinds.items() if issubclass(of, types)), "O")


def _numbers(items: list[Any]) -> NDArray[Any]:
    """Whole numbers and fractions as one kind, unless a whole number is too long for that."""
    exact: dict[float, Any] = {}
    for item in items:
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        other = exact.setdefault(number, item)
        if other != item and number == number:
            raise ForestError(
                f"the classes {other!r} and {item!r} are one number beside classes with a fraction; make all text"
            )
    return np.array(items, np.float64)


def _texts(items: list[Any]) -> NDArray[Any]:
    """The text of each class, unless two that differ have the same."""
    first: dict[str, Any] = {}
    for item in items:
        other = first.setdefault(str(item), item)
        if type(other) is not type(item) and isinstance(other, str) != isinstance(item, str):
            raise ForestError(
                f"the classes {other!r} ({type(other).__name__}) and {item!r} ({type(item).__name__}) have the same "
                "text; make all of one kind"
            )
        if other is not item and not bool(other == item):
            raise ForestError(f"two classes that differ have the same text, {str(item)[:80]!r}; give them as text")
    return text_classes([str(item) for item in items])


def text_classes(texts: Sequence[str]) -> NDArray[Any]:
    """Classes that are text, as a column."""
    _check_text(texts)
    return np.array(texts, np.str_)


def _check_text(texts: Sequence[str]) -> None:
    longest = max(map(len, texts), default=0)
    if longest > MAX_CLASS:
        raise ForestError(f"a class of {longest} characters; wanted {MAX_CLASS} at most")
    odd = next((text for text in texts if text.endswith("\0")), None)
    if odd is not None:
        raise ForestError(f"the class {odd!r} ends in a NUL, which columns of text cannot hold; take it off")


def _not_there(t: int, said: str) -> ForestError:
    return ForestError(f"the class of tree {t} is {said}; leave out trees whose class is not known")


def is_missing(value: Any) -> bool:
    """Whether a value stands for one that is not there: None, nan, or what data frames have for it."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return value is None  # False differs from nothing, and is what its comparison gives
    differs = value != value  # pandas.NA gives itself
    return differs is value or (isinstance(differs, (bool, np.bool_)) and bool(differs))
