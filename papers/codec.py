"""Tasks and results of runs as JSON: numbers, arrays, named tuples and data classes, distinguished by type hints."""

import base64
import dataclasses
import hashlib
import json
import types
import zlib
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from arbora.forest.forest import Forest

ARRAY = "__array__"


def encode(value: Any) -> Any:
    """What JSON can hold of a value; a forest, which is only ever part of a task, is its fingerprint."""
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
        return {ARRAY: packed, "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Forest):
        return value.sha256
    if dataclasses.is_dataclass(value):
        return [encode(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return value


def decode(data: Any, kind: Any) -> Any:
    """The value of type `kind` that was encoded."""
    if isinstance(data, dict) and ARRAY in data:
        flat = np.frombuffer(zlib.decompress(base64.b64decode(data[ARRAY])), np.dtype(data["dtype"]))
        return flat.reshape(data["shape"]).copy()
    if isinstance(data, dict):
        item = (get_args(kind) or (Any, Any))[1]
        return {key: decode(value, item) for key, value in data.items()}
    if not isinstance(data, list):
        return data
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias) and issubclass(kind, tuple):
        return kind(*_fields(data, kind, kind._fields))  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(kind):
        return kind(*_fields(data, kind, [field.name for field in dataclasses.fields(kind)]))  # type: ignore[operator]
    items = get_args(kind) or (Any,)
    if get_origin(kind) is not tuple:
        return [decode(value, items[0]) for value in data]
    if items[-1] is Ellipsis:
        items = items[:1] * len(data)
    return tuple(decode(value, item) for value, item in zip(data, items, strict=True))


def _fields(data: list[Any], kind: Any, names: Any) -> list[Any]:
    hints = get_type_hints(kind)
    return [decode(value, hints[name]) for value, name in zip(data, names, strict=True)]


def key_of(function: Callable[..., Any], task: Any) -> str:
    """What a run is found again by: the function and all that it is given."""
    text = json.dumps([function.__module__, function.__qualname__, encode(task)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
