"""JSON values as trees: an object, a member, an array or a scalar is a node."""

import json
import math
from typing import Any

from .builder import Columns
from .contents import NOTHING, Asked, words_of
from .json_deep import Number

SCALARS = ("kind", "value", "drop")


#: Columns that scalars of a document may fill.
CONTENT = ("number", "truth", "string", "words")


def _hold(value: Any, place: int, asked: Asked, columns: Columns) -> None:
    """Note what a scalar holds."""
    if isinstance(value, bool):
        if "truth" in asked:
            columns.hold(place, "truth", value)
    elif isinstance(value, str) and not isinstance(value, Number):
        if "string" in asked:
            columns.hold(place, "string", value)
        if "words" in asked and (words := words_of(value)):
            columns.hold(place, "words", words)
    elif value is not None and "number" in asked and math.isfinite(number := float(value)):
        columns.hold(place, "number", number)


def add_document(value: Any, scalars: str, columns: Columns, asked: Asked = NOTHING) -> None:
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
            if asked:
                _hold(value, len(depth), asked, columns)
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
