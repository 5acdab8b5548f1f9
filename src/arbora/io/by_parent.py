"""Rows that name their parent, to nodes in document order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .builder import Columns


def subtree_rows(above: Sequence[int], roots: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Rows and depths of each root's tree, parents first, siblings in the order of the rows; `above` is -1 at roots."""
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(above):
        if parent >= 0:
            children.setdefault(parent, []).append(row)
    trees = []
    for root in roots:
        stack, found = [(root, 0)], []
        while stack:
            row, level = stack.pop()
            found.append((row, level))
            stack += [(child, level + 1) for child in reversed(children.get(row, ()))]
        trees.append(found)
    return trees


def cycle_row(above: Sequence[int]) -> int | None:
    """A row whose parents form a cycle, if there is one."""
    done = bytearray(len(above))  # 1: on the way at hand, 2: reaches a root
    for row in range(len(above)):
        way, at = [], row
        while at >= 0 and not done[at]:
            done[at] = 1
            way.append(at)
            at = above[at]
        if at >= 0 and done[at] == 1:
            return at
        for one in way:
            done[one] = 2
    return None


def add_rows(
    rows: Sequence[tuple[int, int]],
    codes: Sequence[int],
    columns: Columns,
    content: Mapping[str, Callable[[int], Any]] | None = None,
) -> None:
    """Append the nodes of one tree, given by rows and depths; `codes` has the label of every row.

    `content` gives what a row holds, by column.
    """
    for name, value_of in (content or {}).items():
        for place, (row, _) in enumerate(rows, len(columns.depth)):
            columns.hold(place, name, value_of(row))
    columns.depth += [level for _, level in rows]
    columns.label += [codes[row] for row, _ in rows]
