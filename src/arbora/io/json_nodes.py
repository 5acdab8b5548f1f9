"""JSON documents that are trees already: objects with a label, whose members hold their children."""

import re
from collections.abc import Iterator
from typing import Any

from ..forest.node_columns import MISSING
from .builder import Columns, Fault
from .contents import NOTHING, Asked
from .json_text import json_kind
from .sources import position

# A string, which may hold the signs of a comment; a comment; or the start of one that is not closed.
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|(/\*)', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])', re.DOTALL)


def without_comments(text: str) -> str:
    """The text with comments and commas before closing brackets blanked out, so that positions stay true."""

    def blank(found: re.Match[str]) -> str:
        if found.lastindex:
            raise Fault("the comment is not closed, wanted '*/'", *position(text, found.start()))
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    plain = _COMMENT.sub(blank, text)
    return _LAST_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else " ", plain)


def add_nodes(value: Any, label: str, children: tuple[str, ...], columns: Columns, asked: Asked = NOTHING) -> bool:
    """Append the trees of a document; objects are dictionaries.  Whether any node has one of the keys of children.

    The roots are the outermost objects with the key `label`.  The children of a node are what the keys `children` hold
    or, without any such key, the outermost objects with a label below it.
    """
    n_trees, held = 0, False
    for root in _outermost([value], label):
        n_trees += 1
        stack: list[tuple[Any, int]] = [(root, 0)]
        n_nodes = 0
        while stack:
            node, level = stack.pop()
            n_nodes += 1
            where = f"tree {n_trees}, node {n_nodes}"
            if not isinstance(node, dict) or label not in node:
                raise Fault(f"{where}: found {json_kind(node)}, wanted an object with the key {label!r}")
            for key, value_held in node.items() if asked else ():
                if key != label and key in asked and isinstance(value_held, (str, int, float, bool)):
                    columns.hold(len(columns.depth), key, value_held)
            columns.depth.append(level)
            columns.label.append(_code(node[label], label, where, columns))
            if children:
                held = held or any(key in node for key in children)
                below = [child for key in children for child in _held(node.get(key), key, where)]
            else:
                below = list(_outermost([value for key, value in node.items() if key != label], label))
            stack += [(child, level + 1) for child in reversed(below)]
        columns.end_tree()
    if not n_trees:
        raise Fault(f"no object has the key {label!r}, wanted nodes with it; check label=")
    return held


def _outermost(values: list[Any], label: str) -> Iterator[dict[str, Any]]:
    """The objects with a label that no other such object holds, in document order."""
    stack = list(reversed(values))
    while stack:
        value = stack.pop()
        if isinstance(value, dict) and label in value:
            yield value
        elif isinstance(value, dict):
            stack += reversed(value.values())
        elif isinstance(value, list):
            stack += reversed(value)


def _held(value: Any, key: str, where: str) -> list[Any]:
    """The nodes that a member holds: an array of them, a single one, or null."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise Fault(f"{where}: {key!r} is {json_kind(value)}, wanted an array of nodes, one node or null")
    return value


def _code(word: Any, key: str, where: str, columns: Columns) -> int:
    if word is None:
        return MISSING
    if isinstance(word, bool):
        return columns.words[str(word).lower()]
    if not isinstance(word, (str, int, float)):
        raise Fault(f"{where}: {key!r} is {json_kind(word)}, wanted text, a number or null")
    return columns.words[str(word)]
