"""Reader of JSON: any document as a tree."""

import json
from collections.abc import Sequence
from typing import Any

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..json_deep import Number
from ..json_text import looks_like_json, parse_json
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files

SCALARS = ("kind", "value", "drop")


def read_json(
    source: Source,
    *,
    scalars: str = "kind",
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read JSON documents, one tree a file.

    An object is a node ``{}`` with a child for each member, labelled by its key, whose only child is the value; an
    array is a node ``[]`` with its items as children.  `scalars`: "kind" labels a scalar ``#string``, ``#number``,
    ``#boolean`` or ``#null``, "value" by its JSON text, and "drop" leaves it out (except as a whole document).  A file
    that holds more than `max_bytes` (100 million) once unpacked is refused.
    """
    if scalars not in SCALARS:
        raise ReadError(f'scalars={scalars!r}; wanted "kind", "value" or "drop"')

    def read_file(path: str, columns: Columns) -> None:
        _add_document(parse_json(decode(read_bytes(path, max_bytes)), pairs=True), scalars, columns)
        columns.end_tree()

    return read_files(source, "json", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _add_document(value: Any, scalars: str, columns: Columns) -> None:
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


FORMAT = Format(
    name="json",
    suffixes=(".json",),
    makes="one tree a file; objects, members, arrays and scalars are nodes",
    manual="""\
One tree a file. An object is a node `{}` with a child for each member, labelled by its key, whose only child is the
value; an array is a node `[]`. By default, a scalar is a leaf `#string`, `#number`, `#boolean` or `#null`, so that
values do not count.""",
    options=(
        Option("scalars", SCALARS, "label #string and the like, the value itself, or no node"),
        MAX_BYTES_OPTION,
    ),
    reader=read_json,
    sniff=looks_like_json,
)
