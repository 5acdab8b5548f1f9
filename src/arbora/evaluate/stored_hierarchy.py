"""Hierarchies as plain lists and numbers, and what is checked when one is read back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArboraError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_LEVELS = 10**6  # of a stored hierarchy


class HierarchyError(ArboraError, ValueError):
    """Groups that should make a hierarchy do not."""


def stored_columns(stored: Any) -> tuple[tuple[Ints, Ints, Ints, tuple[str, ...], Floats | None], list[Any]]:
    """The columns of a stored hierarchy, checked, and the sizes that it states."""
    try:
        nodes, names = stored["nodes"], tuple(map(str, stored["names"]))
        if not isinstance(nodes, list) or not nodes or not isinstance(stored["names"], (list, tuple)):
            raise HierarchyError("not a hierarchy: nodes and names must be lists, and there must be a root")
        rows = _stored_weights([node.get("node_weight") for node in nodes])
        parents, levels, data, size = zip(
            *((node["parent"], node["level"], node["data"], node.get("size")) for node in nodes), strict=True
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise HierarchyError(f"not a hierarchy ({error!r}); wanted what to_dict or to_json gave") from None
    leaf = np.full(len(names), -1, np.int64)
    for z, (parent, level) in enumerate(zip(parents, levels, strict=True)):
        _check_stored_node(z, parent, level, levels)
        _put(z, data[z], leaf)
    if (leaf < 0).any():
        raise HierarchyError(f"not a hierarchy: datum {int(np.argmin(leaf))} is at no node; wanted one node for each")
    above = np.array([-1 if parent is None else parent for parent in parents], np.int64)
    return (above, np.array(levels, np.int64), leaf, names, rows), list(size)


def _put(z: int, data: Any, leaf_out: Ints) -> None:
    """Put data at node z, each at no other."""
    for n in data if isinstance(data, list) else [data]:
        if not _is_whole(n) or not n < len(leaf_out):
            wanted = f"wanted whole numbers from 0 to {len(leaf_out) - 1}"
            raise HierarchyError(f"not a hierarchy: node {z}: datum {n!r}; {wanted}")
        if leaf_out[n] >= 0:
            also = f"datum {n} is at node {leaf_out[n]}, too"
            raise HierarchyError(f"not a hierarchy: node {z}: {also}; wanted one node for each")
        leaf_out[n] = z


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number of 0 or more, as JSON has them."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)


def _check_stored_node(z: int, parent: Any, level: Any, levels: Sequence[Any]) -> None:
    """Raise unless node z may follow those before it, whose levels are known to be right."""
    if z == 0:
        if parent is not None or level != 0 or not _is_whole(level):
            raise HierarchyError(
                f"not a hierarchy: node 0: parent {parent!r}, level {level!r}; wanted the root, without one, at 0"
            )
        return
    if not _is_whole(parent) or parent >= z:
        raise HierarchyError(
            f"not a hierarchy: node {z}: parent {parent!r}; wanted one of the nodes before it, 0 to {z - 1}"
        )
    if not _is_whole(level) or not levels[parent] < level <= MOST_LEVELS:
        least = levels[parent] + 1
        raise HierarchyError(
            f"not a hierarchy: node {z}: level {level!r}, below level {least - 1}; wanted {least} to {MOST_LEVELS}"
        )


def _stored_weights(rows: list[Any]) -> Floats | None:
    """Weights of components at each node, of all nodes or of none."""
    if all(row is None for row in rows):
        return None
    try:
        table = np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise HierarchyError(f"not a hierarchy: node_weight: {error}; wanted as many numbers at each node") from None
    if table.ndim != 2 or not np.isfinite(table).all() or (table < 0).any():
        raise HierarchyError("not a hierarchy: node_weight: wanted as many finite numbers of 0 or more at each node")
    return table
