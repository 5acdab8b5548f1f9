"""JSON values as trees: an object, a member, an array or a scalar is a node."""

import json
from typing import Any

from .builder import Columns
from .json_deep import Number

SCALARS = ("kind", "value", "drop")


def add_document(value: Any, scalars: str, columns: Columns) -> None:
    """Append the nodes of one document, whose objects are tuples of members."""
    words, depth, label = columns.words, columns.depth, columns.label
    stack: list[tuple[str | None, Any, int]] = [(None, value, 0)]  # key of a member (None elsewhere), value, depth
    while stack:
        key, value, level = stack.pop()
        if key is not None:  # the member first, and its value one level below
            depth.append(level)
            label.append(words[key])
            level += 1
        if isinstance(value, tuple):
            depth.append(level)
            label.append(words["{}"])
            stack += [(name, inner, level + 1) for name, inner in reversed(value)]
        elif isinstance(value, list):
            depth.append(level)
            label.append(words["[]"])
            stack += [(None, inner, level + 1) for inner in reversed(value)]
        elif scalars != "drop" or level == 0:
            depth.append(level)
            label.append(words[_scalar_label(value, scalars)])


def _scalar_label(value: Any, scalars: str) -> str:
    if scalars == "value":
        return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "#boolean"
    if value is None:
        return "#null"
    return "#number" if isinstance(value, (Number, float)) else "#string"
