"""Forests from trees of any other library: label and children are attributes, keys, methods or functions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ForestError
from .classes import is_missing
from .forest import Forest
from .node_columns import MISSING, natural_order

Getter = str | Callable[[Any], Any]


def forest_of_objects(
    roots: Iterable[Any],
    label: Getter,
    children: Getter,
    vocabulary: Sequence[str] | None,
    target: ArrayLike | None,
    name: Sequence[str] | None,
    max_nodes: int,
    content: Mapping[str, Getter] | None = None,
) -> Forest:
    """The work of `Forest.from_objects`."""
    if not (type(roots) in (list, tuple) or isinstance(roots, (Iterator, np.ndarray))):
        raise ForestError(f"roots: found {type(roots).__name__}, wanted a list of roots; wrap a single tree in a list")
    walk = _Walk(_getter(label, "label"), _getter(children, "children"), children, max_nodes)
    walk.get_content = {key: _getter(given, f"content[{key!r}]") for key, given in (content or {}).items()}
    walk.content = {key: [] for key in walk.get_content}
    for t, root in enumerate(roots):
        walk.add(root, t)
    if isinstance(children, str) and walk.n_without == len(walk.parent) > 0:
        raise ForestError(
            f"no node has the key {children!r}; check children=, or give a function for trees of one node"
        )
    columns = (walk.parent, walk.label, walk.slot, walk.tree)
    parents, labels, slots, trees = (np.array(column, np.int64) for column in columns)
    words = list(walk.words)
    forest = Forest.from_parents(parents, labels, slots, trees, words, target, name, walk.content)
    return forest.with_vocabulary(sorted(words, key=natural_order) if vocabulary is None else vocabulary)


def _getter(given: Getter, what: str) -> Callable[[Any], Any]:
    """A function of a node; a name stands for an attribute, a method without arguments, or the key of a mapping."""
    if not isinstance(given, str):
        if not callable(given):
            raise ForestError(f"{what}: found {type(given).__name__}, wanted the name of an attribute, or a function")
        return given

    def get(node: Any) -> Any:
        if isinstance(node, Mapping):
            return node.get(given) if what == "children" else node[given]
        value = getattr(node, given)
        return value() if callable(value) else value

    return get


def _value(get: Callable[[Any], Any], node: Any) -> Any:
    """What a node holds; None if it has no such attribute or key."""
    try:
        return get(node)
    except (AttributeError, KeyError):
        return None


class _Walk:
    """Columns of all trees so far, parents first."""

    def __init__(
        self, label: Callable[[Any], Any], children: Callable[[Any], Any], key: Getter, max_nodes: int
    ) -> None:
        self.get_label, self.get_children, self.max_nodes = label, children, max_nodes
        self.key, self.n_without = key, 0  # that holds children, and mappings without it
        self.words: dict[str, int] = {}
        self.parent: list[int] = []
        self.label: list[int] = []
        self.slot: list[int] = []
        self.tree: list[int] = []
        self.get_content: dict[str, Callable[[Any], Any]] = {}
        self.content: dict[str, list[Any]] = {}

    def add(self, root: Any, t: int) -> None:
        """Append a tree; an explicit stack, because trees may be a million deep."""
        stack: list[tuple[Any, int, int, int]] = [(root, -1, -1, 0)]  # node, its parent, slot and depth
        path: list[Any] = []  # the nodes above; kept, so that no other object takes the number of one that is gone
        above: set[int] = set()
        base = len(self.parent)
        while stack:
            node, parent, slot, depth = stack.pop()
            while len(path) > depth:
                above.discard(id(path.pop()))
            if id(node) in above and not isinstance(node, (str, int)):
                raise ForestError(f"tree {t}: a node {depth} levels down holds itself, so that the tree has no end")
            path.append(node)
            above.add(id(node))
            u = len(self.parent)
            where = f"tree {t}, node {u - base} ({type(node).__name__})"
            self.parent.append(parent)
            self.slot.append(slot)
            self.tree.append(t)
            self.label.append(self._code(node, where))
            for key, get in self.get_content.items():
                self.content[key].append(_value(get, node))
            found = list(islice(self._children(node, where), max(self.max_nodes - u - len(stack), 0) + 1))
            stack += [(child, u, k, depth + 1) for k, child in reversed(list(enumerate(found))) if child is not None]
            if len(self.parent) + len(stack) > self.max_nodes:
                raise ForestError(
                    f"tree {t}: more than {self.max_nodes} nodes with it; raise max_nodes if there are so many, and "
                    f"check that children do not lead back to where they came from"
                )

    def _code(self, node: Any, where: str) -> int:
        try:
            word = self.get_label(node)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ForestError(f"{where}: no label ({type(error).__name__}: {error}); check label=") from error
        if is_missing(word):
            return MISSING
        if not isinstance(word, (str, int, float, np.integer, np.floating)):
            raise ForestError(f"{where}: its label is {type(word).__name__}; wanted text, a number or None")
        return self.words.setdefault(str(word), len(self.words))

    def _children(self, node: Any, where: str) -> Iterable[Any]:
        try:
            below = self.get_children(node)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            raise ForestError(f"{where}: no children ({type(error).__name__}: {error}); check children=") from error
        if below is None:
            self.n_without += isinstance(node, Mapping) and self.key not in node
            return ()
        if isinstance(below, (str, bytes, Mapping)) or not isinstance(below, Iterable):
            raise ForestError(f"{where}: its children are {type(below).__name__}; wanted a list of nodes, or None")
        return below
