"""Columns of a forest: their dtypes, their marks of labels without a number, and their checks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ForestError
from .classes import class_column

UNSEEN = -1  # the node has a label, but the vocabulary does not have it
MISSING = -2  # the node's label is not known

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]


def natural_order(word: str) -> tuple[bool, int, str]:
    """Sort key that puts integers first and in numeric order."""
    is_int = word.isascii() and word.isdigit() and len(word) < 18
    return not is_int, int(word) if is_int else 0, word


def integer_column(values: Any, dtype: Any, what: str) -> Any:
    """The values as a read-only column of integers; what does not fit is refused."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ForestError(f"{what} must be one-dimensional; found shape {array.shape}")
    if array.size == 0:
        array = array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise ForestError(f"{what} must hold integers; found {array.dtype}")
    info = np.iinfo(dtype)
    if array.size and (array.max() > info.max or array.min() < info.min):
        far = array.max() if array.max() > info.max else array.min()
        raise ForestError(f"{what} holds {far}; wanted {info.min}..{info.max}")
    return frozen(array, dtype)


def frozen(array: Any, dtype: Any) -> Any:
    """A C-contiguous array of this dtype that nobody can write to; copied only if the caller could still change it."""
    out = np.ascontiguousarray(array, dtype)
    if out is array or out.base is not None:
        owner: Any = out
        while isinstance(owner, np.ndarray):  # a read-only view can still change through what it looks at
            if owner.flags.writeable:
                out = out.copy()
                break
            owner = owner.base
    out.flags.writeable = False
    return out


def per_tree(values: Any, n_trees: int, what: str, as_text: bool = False) -> Any:
    """A column with an entry for each tree, or None."""
    if values is None:
        return None
    array = np.array([str(v) for v in values], object) if as_text else class_column(values)
    if array.ndim != 1 or len(array) != n_trees:
        raise ForestError(f"{what} must have one entry per tree, {n_trees}; found shape {array.shape}")
    return frozen(array, array.dtype)


def concat_optional(columns: list[Any], what: str) -> Any:
    """Columns that all forests have, or none has, one after the other."""
    present = [c is not None for c in columns]
    if not any(present):
        return None
    if not all(present):
        raise ForestError(f"some of the forests have a {what} and some have none; give it to all or to none")
    if len({column.dtype.kind for column in columns}) == 1:
        return np.concatenate(columns)
    return class_column([value for column in columns for value in column.tolist()])  # numpy would merge 1 and "1"


def same_optional(a: Any, b: Any) -> bool:
    """Whether both columns are missing, or hold the same."""
    return (a is None) == (b is None) and (a is None or _equal(a, b))


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def ends_of(values: Any) -> str:
    """First and last value, for messages."""
    return "empty" if len(values) == 0 else f"{values[0]}..{values[-1]}"
