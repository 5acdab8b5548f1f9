"""The nodes of a forest as a data frame."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..frames import frame

if TYPE_CHECKING:
    from .content import Column
    from .forest import Forest


def nodes_frame(forest: "Forest", library: str) -> Any:
    """One row per node: tree, node, parent (-1 at a root), slot, label and content."""
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    first = np.repeat(forest.tree_start[:-1], forest.sizes)
    names = [*forest.vocabulary, None, None]  # the two last serve missing and unseen labels
    columns: dict[str, Any] = {
        "tree": tree if forest.name is None else forest.name[tree].tolist(),
        "node": np.arange(forest.n_nodes) - first,
        "parent": np.where(forest.parent < 0, -1, forest.parent - first),
        "slot": forest.slot,
        "label": [names[m] for m in forest.label.tolist()],
    }
    content = {name: _plain(one) for name, one in forest.content.items() if one.kind != "bags"}
    twice = sorted(columns.keys() & content.keys())
    return frame(
        {**columns, **{f"content_{name}" if name in twice else name: v for name, v in content.items()}}, library
    )


def _plain(column: "Column") -> list[Any]:
    """Values as Python has them, None where one is missing."""
    values = column.values.tolist()
    if column.kind == "numbers":
        return [None if value != value else value for value in values]
    if column.kind == "codes":
        return [None if value < 0 else column.words[value] for value in values]
    if column.kind == "flags":
        return [None if value < 0 else bool(value) for value in values]
    return [None if value < 0 else value for value in values]
