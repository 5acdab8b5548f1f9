"""What every reader fills: nodes in document order (parents first), and one call that makes them a Forest."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ForestError
from ..forest.classes import MAX_CLASS, class_column
from ..forest.content import Column
from ..forest.forest import Forest
from ..forest.kernels import layout
from ..forest.node_columns import MISSING, Ints32, natural_order

PACK_AT = 1 << 20  # nodes kept as Python integers before they are packed into arrays

_NONE = np.empty(0, np.int32)

Target = int | float | bool | str | None
_KINDS: dict[type, str] = {bool: "b", int: "i", float: "f", str: "U", type(None): ""}  # as numpy calls them
_TOLD = {"b": "true or false", "i": "a whole number", "f": "a number with a fraction", "U": "text"}


class Fault(Exception):
    """What is wrong with one file or line, before it is known which file; becomes the sentence of a ReadError."""

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.column = what, line, column

    def at(self, path: str) -> str:
        """The whole sentence: file, line, column, what was found and wanted."""
        line = "" if self.line is None else f", line {self.line}"
        column = "" if self.column is None else f", column {self.column}"
        return f"{path}{line}{column}: {self.what}"


class Words(dict[str, int]):
    """Label names numbered in the order they are met; looking up a new one adds it."""

    def __missing__(self, word: str) -> int:
        code = self[word] = len(self)
        return code


class Mark(NamedTuple):
    """A place to go back to when a file or line turns out to be bad."""

    nodes: int
    trees: int


class Columns:
    """Depth and label (and slot, where a format has it) of every node, appended by readers in document order.

    Readers append to the lists `depth` and `label` directly, because a call for each node would cost more than the
    reading.  `slot` stays empty unless the format states slots; then it has an entry for each node.
    """

    def __init__(self, strict: bool = False, class_kind: str | None = None) -> None:
        self.words = Words()
        self.strict = strict  # all classes of one kind: where trees are taken part by part, a part tells for all
        self.class_kind = class_kind  # of the trees that were taken
        self.depth: list[int] = []
        self.label: list[int] = []
        self.slot: list[int] = []
        self.name: list[str | None] = []
        self.target: list[Target] = []
        self.nameless: list[bool] = []  # trees whose source says that they have no name
        self._packed: list[tuple[Ints32, Ints32, Ints32]] = []
        self._n_packed = 0
        self._held: dict[str, dict[int, Any]] = {}  # content by column and node, in document order
        self.made: set[str] = set()  # columns of content that trees have had

    def mark(self) -> Mark:
        return Mark(len(self.depth), len(self.name))

    def extend(self, depth: Ints32, label: Ints32) -> None:
        """Append nodes that already are arrays; they cannot be taken back, so they must come from good files."""
        self._pack()
        self._packed.append((depth, label, _NONE))
        self._n_packed += len(depth)

    def hold(self, place: int, name: str, value: Any) -> None:
        """Note what a node of the lists holds in a column of content; None is nothing."""
        if value is not None:
            self._held.setdefault(name, {})[self._n_packed + place] = value

    def rewind(self, mark: Mark) -> None:
        """Forget everything after the mark.  Words stay: `build` leaves out those that no node uses."""
        for nodes in (self.depth, self.label, self.slot):
            del nodes[mark.nodes :]
        end = self._n_packed + mark.nodes
        for held in self._held.values():
            while held and next(reversed(held)) >= end:  # what came last was held last
                held.popitem()
        for trees in (self.name, self.target, self.nameless):
            del trees[mark.trees :]

    def end_tree(self, name: str | None = None, target: Target = None, nameless: bool = False) -> None:
        """Close the tree whose nodes were appended last; a name of None is filled in by `end_file`."""
        kind, before = _KINDS[type(target)], _KINDS[type(self.target[0])] if self.target else self.class_kind
        if before is not None and (kind == "") != (before == ""):
            found, other = ("no class", "one") if target is None else (f"class {target!r}", "none")
            raise Fault(f"{found}, though the trees before have {other}; give a class to all trees or to none")
        if self.strict and before is not None and kind != before:
            raise Fault(f"class {target!r} is {_TOLD[kind]}, those before are {_TOLD[before]}; make all of one kind")
        if isinstance(target, str) and len(target) > MAX_CLASS:
            raise Fault(f"a class of {len(target)} characters, wanted {MAX_CLASS} at most; give a shorter one")
        self.name.append(name)
        self.target.append(target)
        self.nameless.append(nameless)

    def end_file(self, path: str, mark: Mark) -> None:
        """Name the trees of a file that have no name yet: the path, with #1, #2, ... if there are several."""
        several = len(self.name) - mark.trees > 1
        for t in range(mark.trees, len(self.name)):
            if self.name[t] is None:
                self.name[t] = f"{path}#{t - mark.trees + 1}" if several else path
        if len(self.depth) >= PACK_AT:
            self._pack()

    def _pack(self) -> None:
        if not self.depth:
            return
        lists = (self.depth, self.label, self.slot)
        depth, label, slot = (np.array(values, np.int32) for values in lists)
        self._packed.append((depth, label, slot))
        self._n_packed += len(depth)
        for values in lists:
            values.clear()

    @property
    def n_nodes(self) -> int:
        return len(self.depth) + sum(len(depth) for depth, _, _ in self._packed)

    def take(self, vocabulary: Sequence[str] | None) -> Forest:
        """The forest of the trees so far, which are then forgotten; the numbers of words stay."""
        forest = self.build(vocabulary)
        if self.target:
            self.class_kind = _KINDS[type(self.target[0])]
        for trees in (self.name, self.target, self.nameless):
            trees.clear()
        return forest

    def build(self, vocabulary: Sequence[str] | None) -> Forest:
        """The forest of all trees; without a vocabulary, over the sorted labels that occur."""
        self._pack()
        self._packed = self._packed or [(_NONE, _NONE, _NONE)]
        depth, label, slot = (np.concatenate(parts) for parts in zip(*self._packed, strict=True))
        self._packed.clear()
        self._n_packed = 0
        parent, slot, post, start, in_order = layout.to_post_order(depth, slot)
        sorted_label = np.empty_like(label)
        sorted_label[post] = label
        columns = {"parent": parent, "slot": slot, "label": sorted_label, "vocabulary": tuple(self.words)}
        columns["target"] = _target_column(self.target)
        columns["name"] = None if all(self.nameless) and self.nameless else self.name
        if self._held:
            columns["content"] = self._content(post)
        if in_order:
            forest = Forest(tree_start=start, **columns)
        else:  # siblings of a forest are kept by slot, which needs a sort
            forest = Forest.from_parents(**columns, tree=np.repeat(np.arange(len(start) - 1), np.diff(start)))
        return forest.with_vocabulary(self._words_in_use(label) if vocabulary is None else vocabulary)

    def _content(self, post: Any) -> dict[str, Column]:
        """Columns of what nodes hold, in the order of the forest."""
        from .contents import recognised

        document = np.empty_like(post)
        document[post] = np.arange(len(post))  # place in the document of each node of the forest
        made = {}
        for name, held in self._held.items():
            values: list[Any] = [None] * len(post)
            for u, value in held.items():
                values[u] = value
            try:
                made[name] = recognised(values).take(document)
            except ForestError as error:
                raise ForestError(f"column {name!r}, in document order, {error}") from None
        self._held = {}
        found = {name: column for name, column in made.items() if not column.missing.all()}
        self.made.update(found)
        return found

    def _words_in_use(self, label: Ints32) -> list[str]:
        used = np.bincount(label[label >= 0], minlength=len(self.words)) > 0
        return sorted((word for word, keep in zip(self.words, used.tolist(), strict=True) if keep), key=natural_order)


def label_code(words: Words, label: str | None) -> int:
    """Number of a label; None is a missing one."""
    return MISSING if label is None else words[label]


def _target_column(target: list[Target]) -> NDArray[Any] | None:
    """Integers if all classes are, else numbers, else text; None if there are no classes."""
    return None if not target or target[0] is None else class_column(target)
