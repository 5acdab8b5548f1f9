"""What a model file may hold: kernels trust it and look at no bounds, so nothing may be other than they expect.

A check that fails raises ValueError; `arbora.load` adds the name of the file.
"""

import math
import os
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np


def check_array(
    name: str,
    value: Any,
    dtype: type,
    shape: tuple[int | None, ...],
    low: float = -math.inf,
    high: float = math.inf,
) -> None:
    """Raise unless the value is an array of this type and shape (None: any length) of finite numbers, low to high."""
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(dtype):
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} is of {found}; wanted an array of {np.dtype(dtype)}")
    wanted = tuple("any" if n is None else n for n in shape)
    if value.ndim != len(shape) or any(n not in ("any", m) for n, m in zip(wanted, value.shape, strict=True)):
        raise ValueError(f"{name} has shape {value.shape}; wanted {wanted}")
    if not np.isfinite(value).all() or (value < low).any() or (value > high).any():
        raise ValueError(f"{name} holds values outside {low:g} to {high:g}")


def check_offsets(name: str, value: Any, n_parts: int, total: int, empty: bool = False) -> None:
    """Raise unless these are offsets of so many runs that together are `total` long; whether they may be empty."""
    check_array(name, value, np.int64, (n_parts + 1,), 0, total)
    if value[0] != 0 or value[-1] != total or (np.diff(value) < (not empty)).any():
        raise ValueError(f"the offsets {name} do not fit")


def check_whole(name: str, value: Any, low: int, high: int = 2**63 - 1) -> None:
    """Raise unless the value is a whole number from low to high."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {_short(value)}; wanted a whole number from {low} to {high}")


def check_texts(name: str, value: Any, n: int | None = None) -> None:
    """Raise unless the value is a list of texts, n of them if n is given."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{name} is not a list of texts")
    if n is not None and len(value) != n:
        raise ValueError(f"{name} has {len(value)} texts; wanted {n}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 40 else told[:40] + "..."


# ---- attributes that only describe the fit ---------------------------------------------------------------------------

#: Attributes of any model, by what they must be; None where a model was made and not fitted.
_TOLD: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("n_iter_", "n_unexplained_", "n_batches_", "n_matched_", "n_inexact_"), lambda x: type(x) is int),
    **dict.fromkeys(("converged_", "exact_"), lambda x: type(x) is bool),
    **dict.fromkeys(("seen_weight_", "description_length_", "start_length_", "log_joint_"), _is_number),
    "history_": lambda x: isinstance(x, list) and all(map(_is_number, x)),
    "provenance_": lambda x: isinstance(x, dict),
    "labels_": lambda x: isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype == np.int64 and bool((x >= 0).all()),
}


def check_told(values: dict[str, Any]) -> None:
    """Raise unless what describes the fit has its type."""
    for name, value in values.items():
        if name in _TOLD and value is not None and not _TOLD[name](value):
            raise ValueError(f"{name} is {_short(value)}, which it cannot be")


# ---- settings -------------------------------------------------------------------------------------------------------


def check_settings(kind: type, given: Any) -> None:
    """Raise unless these are settings of the estimator, of the types that its constructor names."""
    hints = get_type_hints(vars(kind)["__init__"])
    if not isinstance(given, dict) or not set(given) <= set(hints):
        raise ValueError(f"its settings are not those of a {kind.__name__}")
    for name, value in given.items():
        if not _has_type(value, hints[name]):
            raise ValueError(f"the setting {name} is {_short(value)}, which it cannot be")


def _has_type(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a type; True counts as 1, and the other way round."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_has_type(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        fits = isinstance(value, list) and len(value) == len(inner)
        return fits and all(_has_type(x, one) for x, one in zip(value, inner, strict=True))
    if origin is not None and issubclass(origin, Sequence):
        return isinstance(value, list) and all(_has_type(x, inner[0]) for x in value)
    if origin is not None and issubclass(origin, dict):
        return isinstance(value, dict) and all(_has_type(x, inner[1]) for x in value.values())
    if hint in (int, bool):
        return isinstance(value, int) and abs(value) < 2**63
    if hint is float:
        return isinstance(value, (int, float)) and not math.isnan(value)
    if origin is os.PathLike:
        return isinstance(value, str)
    return value is None if hint is types.NoneType else isinstance(value, hint)
