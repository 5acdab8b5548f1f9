"""Patterns of JSON documents in the notation of JSON: objects in braces, lists in brackets, keys before colons."""

from collections.abc import Sequence
from typing import Any

from .families import FIRST_LABEL
from .table import Writer, quoted

#: Labels that the reader of JSON gives to what has no key, and what people call it.
JSON_WORDS = {
    "{}": "object",
    "[]": "list",
    "#string": "text",
    "#number": "number",
    "#boolean": "true or false",
    "#null": "null",
}
_SCALARS = tuple(word[1:] for word in JSON_WORDS if word.startswith("#"))
_UNOPENED = {"{}": "{...}", "[]": "[...]"}  # what is inside is not told


def is_json(vocabulary: Sequence[str]) -> bool:
    """Whether labels are those of JSON documents."""
    known = set(vocabulary)
    return bool({"{}", "[]"} & known) and any(word in known for word in JSON_WORDS if word.startswith("#"))


def json_node(head: str, inside: str) -> str:
    """A node with its children; `head` as `json_label` gives it."""
    if head in ("{...}", "[...]"):
        return f"{head[0]}{inside}{head[-1]}"
    value = inside.removesuffix(", ...").removeprefix("..., ")
    if value.startswith(("{", "[", "...")) or value in _SCALARS:
        return f"{head}: {value}"  # a key has one value
    return f"{head}({inside})"  # an element of XML beside documents of JSON


def json_label(label: str) -> str:
    """A label in the notation of JSON: kinds of values without their sign."""
    if label in JSON_WORDS:
        return _UNOPENED.get(label, label[1:])
    return quoted(label)


class JsonWriter(Writer):
    """Writes patterns of JSON documents.

    >>> json_node(json_label("{}"), json_node("name", json_label("#string")) + ", ...")
    '{name: string, ...}'
    >>> json_node("svg", "path, path")
    'svg(path, path)'
    """

    def label(self, code: int) -> str:
        return super().label(code) if code < FIRST_LABEL else json_label(self.vocabulary[code - FIRST_LABEL])

    def node(self, head: str, inside: str) -> str:
        return json_node(head, inside)


def writer_of(table: Any, vocabulary: Sequence[str]) -> Writer:
    """A writer in the notation that suits the labels."""
    return JsonWriter(table, vocabulary) if is_json(vocabulary) else Writer(table, vocabulary)
