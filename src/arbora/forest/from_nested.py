"""Forests from nested trees: labels, pairs and mappings."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ForestError
from .assemble import RawColumns, finish
from .classes import is_missing
from .forest import Forest
from .node_columns import MISSING, UNSEEN, frozen


def _append_nested(
    tree: Any,
    t: int,
    parents: list[int],
    slots: list[int],
    labels: list[int],
    words: dict[str | int, int],
    held: "_Held",
    most: int,
) -> None:
    """Append one nested tree in pre-order; an explicit stack, because trees may be a million deep."""
    stack: list[tuple[Any, int, int, int]] = [(tree, -1, -1, 0)]  # item, its parent, slot and depth
    above = _Above(t)
    base = len(parents)
    while stack:
        item, parent, slot, depth = stack.pop()
        above.enter(item, depth)
        label, children, unseen = _split_item(item, t, len(parents) - base)
        u = len(parents)
        if isinstance(item, Mapping) and item.get("content") is not None:
            held.add(item["content"], u, f"tree {t}, node {u - base}")
        parents.append(parent)
        slots.append(slot)
        if label is None:
            labels.append(UNSEEN if unseen else MISSING)
        else:
            labels.append(words.setdefault(str(label), len(words)))
        due = 0
        pushed = []
        for child in islice(children, max(most - u - len(stack), 0) + 1):
            given = child.get("slot") if isinstance(child, Mapping) else None
            if given is not None:
                if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not 0 <= given < 2**31:
                    raise ForestError(
                        f"tree {t}, below node {u - base}: slot {given!r}; wanted an integer of 0 or more"
                    )
                due = int(given)
            if due >= 2**31:
                raise ForestError(f"tree {t}, below node {u - base}: slot {due}; the largest allowed is {2**31 - 1}")
            pushed.append((child, u, due, depth + 1))
            due += 1
        stack.extend(reversed(pushed))
        if len(parents) + len(stack) > most:
            raise ForestError(f"tree {t}: more than {most} nodes with it; raise max_nodes if there are so many")


class _Held:
    """Content met so far, column by column: at which nodes, and what."""

    def __init__(self) -> None:
        self.columns: dict[str, tuple[list[int], list[Any]]] = {}

    def add(self, content: Any, u: int, where: str) -> None:
        """Note what a node holds."""
        if not isinstance(content, Mapping):
            raise ForestError(f"{where}: its content is {type(content).__name__}; wanted values by names of columns")
        for name, value in content.items():
            at, values = self.columns.setdefault(name, ([], []))
            at.append(u)
            values.append(value)

    def whole(self, n_nodes: int) -> dict[str, Any]:
        """Columns with a value, or None, for every node."""
        made = {}
        for name, (at, values) in self.columns.items():
            whole: list[Any] = [None] * n_nodes
            for u, value in zip(at, values, strict=True):
                whole[u] = value
            made[name] = whole
        return made


class _Above:
    """The items between the root and the one at hand, so that a tree which holds itself is found out."""

    def __init__(self, t: int) -> None:
        self.t = t
        self.path: list[Any] = []  # the items themselves: of one that is gone, another may have the number
        self.held: set[int] = set()

    def enter(self, item: Any, depth: int) -> None:
        """Go to an item at this depth, of which those above have been gone through."""
        while len(self.path) > depth:
            self.held.discard(id(self.path.pop()))
        if isinstance(item, (str, int)) or item is None:
            return  # nothing is below it
        if id(item) in self.held:
            raise ForestError(f"tree {self.t}: a node {depth} levels down holds itself, so that the tree has no end")
        self.path.append(item)
        self.held.add(id(item))


def _split_item(item: Any, t: int, u: int) -> tuple[Hashable, Iterable[Any], bool]:
    """Label, children and the unseen mark of one nested item."""
    if isinstance(item, (str, int, np.integer)):
        return item, (), False
    if is_missing(item):
        return None, (), False
    if isinstance(item, Mapping):
        if "label" not in item:
            raise ForestError(
                f"tree {t}, node {u}: a nested node needs the key 'label'; found {sorted(map(str, item))}"
            )
        label, children, unseen = item["label"], item.get("children"), bool(item.get("unseen"))
        children = () if children is None else children
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        (label, children), unseen = item, False
    else:
        raise ForestError(
            f"tree {t}, node {u}: cannot read {type(item).__name__} as a node; wanted a label, "
            f"(label, [children]) or {{'label': ..., 'children': [...]}}"
        )
    label = None if is_missing(label) else label
    if label is not None and not isinstance(label, (str, int, float, np.integer)):
        raise ForestError(f"tree {t}, node {u}: label of type {type(label).__name__}; wanted text, a number or None")
    if isinstance(children, (str, Mapping)) or not isinstance(children, Iterable):
        raise ForestError(f"tree {t}, node {u}: children must be a list; found {type(children).__name__}")
    return label, children, unseen


def forest_of_nested(
    trees: Iterable[Any],
    vocabulary: Sequence[str] | None,
    target: ArrayLike | None,
    name: Sequence[str] | None,
    max_nodes: int,
) -> Forest:
    """See `Forest.from_nested`."""
    if isinstance(trees, (str, bytes, Mapping)) or not isinstance(trees, Iterable):
        raise ForestError(
            f"wanted a Forest or a list of nested trees, found {type(trees).__name__}; "
            f"read files with arbora.read(...) and wrap a single tree in a list"
        )
    parents: list[int] = []
    slots: list[int] = []
    words: dict[str | int, int] = {}
    labels: list[int] = []
    start, held = [0], _Held()
    for t, tree in enumerate(trees):
        _append_nested(tree, t, parents, slots, labels, words, held, max_nodes)
        start.append(len(parents))
    first = np.asarray(start, np.int64)
    sizes = first[1:] - first[:-1]
    pre = RawColumns(
        frozen(parents, np.int64),  # read-only as from_parents has it, so that post_order compiles once
        frozen(slots, np.int32),
        frozen(labels, np.int32),
        np.repeat(np.arange(len(sizes)), sizes),
    )
    return finish(pre, list(words), vocabulary, target, name, first[:-1], held.whole(len(parents)))
