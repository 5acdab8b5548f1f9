"""Forest: many labelled trees in a few flat, read-only columns.

The invariants (docs/data-model.md) are checked once, here, and assumed by every kernel ever after.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ForestError
from .classes import class_column, is_missing
from .kernels import layout

UNSEEN = -1  # the node has a label, but the vocabulary does not know it
MISSING = -2  # the node's label is not known
MAX_NODES = 50_000_000  # of nested trees, unless told otherwise: a tree that holds itself has no end

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]


class ForestArrays(NamedTuple):
    """What kernels take: always these dtypes, C-contiguous and read-only, so each kernel compiles once."""

    parent: Ints
    slot: Ints32
    label: Ints32
    tree_start: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Labelled trees as flat, read-only columns.

    The nodes of a tree are contiguous, children precede their parents, and the root is last.  Most forests come from a
    reader (`read`, `read_xml`, ...), `Forest.from_nested` or `Forest.from_parents`.  The constructor takes columns that
    already are in order, and raises `ForestError` otherwise.

    Parameters
    ----------
    parent : ndarray of int64, one per node
        Index of the parent in the whole forest; -1 at a root.
    slot : ndarray of int32, one per node
        Position among the siblings, from 0; -1 at a root.  Siblings have different slots; gaps are allowed.
    label : ndarray of int32, one per node
        Index into `vocabulary`; -1 (`UNSEEN`) for a label outside it, -2 (`MISSING`) for an unknown label.
    tree_start : ndarray of int64, one per tree and one more
        First node of each tree, and the number of nodes.
    vocabulary : tuple of str
        Names of the labels.
    target : ndarray or None, default None
        Known class of each tree.
    name : ndarray of str or None, default None
        Name of the document of each tree.

    Examples
    --------
    >>> from arbora import Forest
    >>> forest = Forest.from_nested([("a", ["b", ("c", ["d"])]), "a"])
    >>> forest
    Forest(2 trees, 5 nodes, 4 labels, 2 slots)
    >>> forest[0]
    {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c', 'children': [{'label': 'd'}]}]}
    >>> forest.parent.tolist(), forest.slot.tolist(), forest.tree_start.tolist()
    ([3, 2, 3, -1, -1], [0, 0, 1, -1, -1], [0, 4, 5])
    """

    parent: Ints
    slot: Ints32
    label: Ints32
    tree_start: Ints
    vocabulary: tuple[str, ...]
    target: NDArray[Any] | None = None
    name: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for column, dtype in (("parent", np.int64), ("slot", np.int32), ("label", np.int32), ("tree_start", np.int64)):
            object.__setattr__(self, column, _integer_column(getattr(self, column), dtype, column))
        object.__setattr__(self, "vocabulary", tuple(str(word) for word in self.vocabulary))
        object.__setattr__(self, "target", _per_tree(self.target, self.n_trees, "target"))
        object.__setattr__(self, "name", _per_tree(self.name, self.n_trees, "name", as_text=True))
        self.validate()

    # ---- construction -------------------------------------------------------------------------------------------

    @classmethod
    def from_nested(
        cls,
        trees: Iterable[Any],
        vocabulary: Sequence[str] | None = None,
        target: ArrayLike | None = None,
        name: Sequence[str] | None = None,
        max_nodes: int = MAX_NODES,
    ) -> "Forest":
        """Read nested trees: ``"leaf"``, ``("label", [children])`` or ``{"label":, "children":, "slot":}``.

        A label of None is missing, and so is nan or what data frames have for it.  A slot left out is one after the
        sibling before it.  A vocabulary, when given, is kept as it is, and labels outside it are marked unseen.  A tree
        that holds itself is refused, and so are more than `max_nodes` (50 million) nodes in all.
        """
        if isinstance(trees, (str, bytes, Mapping)) or not isinstance(trees, Iterable):
            raise ForestError(
                f"wanted a Forest or a list of nested trees, found {type(trees).__name__}; "
                f"read files with arbora.read(...) and wrap a single tree in a list"
            )
        parents: list[int] = []
        slots: list[int] = []
        words: dict[str | int, int] = {}
        labels: list[int] = []
        start = [0]
        for t, tree in enumerate(trees):
            _append_nested(tree, t, parents, slots, labels, words, max_nodes)
            start.append(len(parents))
        first = np.asarray(start, np.int64)
        sizes = first[1:] - first[:-1]
        pre = _Columns(
            frozen(parents, np.int64),  # read-only as from_parents has it, so that post_order compiles once
            frozen(slots, np.int32),
            frozen(labels, np.int32),
            np.repeat(np.arange(len(sizes)), sizes),
        )
        return _finish(pre, list(words), vocabulary, target, name, first[:-1])

    @classmethod
    def from_parents(
        cls,
        parent: ArrayLike,
        label: ArrayLike | Sequence[str | None],
        slot: ArrayLike | None = None,
        tree: ArrayLike | None = None,
        vocabulary: Sequence[str] | None = None,
        target: ArrayLike | None = None,
        name: Sequence[str] | None = None,
    ) -> "Forest":
        """Build from parallel arrays in any node order: parent index (-1 at a root), label, slot, tree number.

        `label` holds names (None = missing) or, with `vocabulary` given and integers, indices into it.  Without
        `slot`, siblings take 0, 1, ... in array order.  Without `tree`, trees are numbered in the order of their roots.

        >>> Forest.from_parents([-1, 0, 0], ["a", "b", "b"])
        Forest(1 trees, 3 nodes, 2 labels, 2 slots)
        """
        parents = _integer_column(parent, np.int64, "parent")
        n = len(parents)
        code, words = _encode_labels(label, vocabulary)
        bad = np.flatnonzero((parents < -1) | (parents >= n) | (parents == np.arange(n)))
        if len(bad):
            raise ForestError(
                f"node {bad[0]}: parent {parents[bad[0]]} is not another node; wanted 0..{n - 1}, or -1 at a root"
            )
        slots = layout.sibling_rank(parents) if slot is None else _integer_column(slot, np.int32, "slot")
        if len(code) != n or len(slots) != n:
            raise ForestError(f"parent has {n} nodes, label {len(code)} and slot {len(slots)}; they must be as long")
        root = np.flatnonzero(parents < 0)
        if tree is None:
            number = np.full(n, -1, np.int64)
            number[root] = np.arange(len(root))
        else:
            number = _integer_column(tree, np.int64, "tree")
            _check_tree_numbers(number, parents, root)
        slots = np.where(parents < 0, np.int32(-1), slots).astype(np.int32)
        return _finish(_Columns(parents, slots, code, number), words, vocabulary, target, name)

    @classmethod
    def from_objects(
        cls,
        roots: Iterable[Any],
        *,
        label: str | Callable[[Any], Any],
        children: str | Callable[[Any], Any],
        vocabulary: Sequence[str] | None = None,
        target: ArrayLike | None = None,
        name: Sequence[str] | None = None,
        max_nodes: int = MAX_NODES,
    ) -> "Forest":
        """Trees of any other library, given by their roots; docs/reading.md has the calls for several of them.

        A node that is reached twice is there twice; one that holds itself is refused.

        Parameters
        ----------
        roots : a list of roots, or an iterator over them.
        label : attribute, method or key of a node that holds its label, or a function of the node.
        children : the same for its children, in their order.  None stands for no children, and in the place of a
            child for an empty slot.  A mapping without this key is a leaf.
        vocabulary, target, name : as for `from_nested`.
        max_nodes : more nodes than this in all are refused.

        Examples
        --------
        >>> from xml.etree.ElementTree import fromstring
        >>> Forest.from_objects([fromstring("<a><b/><c/></a>")], label="tag", children=list)[0]
        {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c'}]}
        """
        from .from_objects import forest_of_objects

        return forest_of_objects(roots, label, children, vocabulary, target, name, max_nodes)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        node: str,
        parent: str,
        label: str,
        tree: str | None = None,
        order: str | None = None,
        no_parent: Any = None,
        vocabulary: Sequence[str] | None = None,
    ) -> "Forest":
        """Trees of a table with a row per node: a data frame of pandas or polars, an arrow table, a dict of columns.

        Parameters
        ----------
        table : the table; rows may come in any order.
        node : column of ids, of any kind; they differ within a tree.
        parent : column with the id of the parent, which is missing (None or nan) at a root.
        label : column of labels; None or nan is a missing one.
        tree : column with the id of the tree, which becomes its name.  Without it, each root begins a tree.
        order : column by which siblings are ordered; without it, by their rows.
        no_parent : what else stands for no parent, such as -1.
        vocabulary : labels to number by; others are marked unseen.

        Examples
        --------
        >>> table = {"id": ["x", "y", "z"], "above": [None, "x", "x"], "word": ["a", "b", "c"]}
        >>> Forest.from_table(table, node="id", parent="above", label="word")[0]
        {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c'}]}
        """
        from .from_table import forest_of_table

        return forest_of_table(table, node, parent, label, tree, order, no_parent, vocabulary)

    @classmethod
    def concat(cls, forests: Iterable["Forest"]) -> "Forest":
        """One forest of all the trees, over the union of the vocabularies (the first one's order comes first)."""
        parts = list(forests)
        if not parts:
            raise ForestError("nothing to concatenate; give at least one forest")
        words = list(dict.fromkeys(word for part in parts for word in part.vocabulary))
        parts = [part.with_vocabulary(words) for part in parts]
        node_shift = np.cumsum([0] + [part.n_nodes for part in parts])
        return cls._trusted(
            parent=np.concatenate(
                [np.where(p.parent < 0, -1, p.parent + shift) for p, shift in zip(parts, node_shift, strict=False)]
            ),
            slot=np.concatenate([p.slot for p in parts]),
            label=np.concatenate([p.label for p in parts]),
            tree_start=np.concatenate(
                [np.zeros(1, np.int64)]
                + [p.tree_start[1:] + shift for p, shift in zip(parts, node_shift, strict=False)]
            ),
            vocabulary=tuple(words),
            target=_concat_optional([p.target for p in parts], "target"),
            name=_concat_optional([p.name for p in parts], "name"),
        )

    @classmethod
    def _trusted(cls, **columns: Any) -> "Forest":
        """Build from columns that are known to hold the invariants, without checking them again."""
        forest = object.__new__(cls)
        columns.setdefault("target", None)
        columns.setdefault("name", None)
        for key, dtype in (("parent", np.int64), ("slot", np.int32), ("label", np.int32), ("tree_start", np.int64)):
            columns[key] = frozen(columns[key], dtype)
        for key in ("target", "name"):
            if columns[key] is not None:
                columns[key] = frozen(columns[key], columns[key].dtype)
        for key, value in columns.items():
            object.__setattr__(forest, key, value)
        return forest

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that dtype, order and the read-only flag survive the way to a worker.
        columns = (self.parent, self.slot, self.label, self.tree_start, self.vocabulary, self.target, self.name)
        return Forest, columns

    # ---- checking -----------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise ForestError, naming tree and node, unless every invariant holds."""
        self._check()

    def _check(self, number: Ints | None = None) -> None:
        """Check the invariants; `number` is what the caller knows each node by, its place in the tree if left out."""
        n = self.n_nodes
        if len(self.slot) != n or len(self.label) != n:
            raise ForestError(
                f"parent has {n} nodes, slot {len(self.slot)}, label {len(self.label)}; want as many each"
            )
        if len(self.tree_start) == 0 or self.tree_start[0] != 0 or self.tree_start[-1] != n:
            raise ForestError(f"tree_start must run from 0 to the number of nodes, {n}; it is {_ends(self.tree_start)}")
        falls = np.flatnonzero(np.diff(self.tree_start) < 0)
        if len(falls):
            raise ForestError(f"tree {falls[0]}: tree_start falls; offsets must increase")
        if len(set(self.vocabulary)) != len(self.vocabulary):
            raise ForestError("the vocabulary names a label twice; names must differ")
        code, t, u = layout.check(*self.arrays, len(self.vocabulary))
        if code == layout.UNSORTED:
            code, t, u = self._same_slot()
        if code != layout.OK:
            raise ForestError(self._complaint(code, int(t), int(u), number))

    def _same_slot(self) -> tuple[int, int, int]:
        """Look for two children in one slot when siblings are not stored in slot order."""
        order = np.lexsort((self.slot, self.parent))
        p, s = self.parent[order], self.slot[order]
        clash = np.flatnonzero((p[1:] == p[:-1]) & (s[1:] == s[:-1]) & (p[1:] >= 0))
        if not len(clash):
            return layout.OK, -1, -1
        u = int(order[clash[0] + 1])
        return layout.SAME_SLOT, int(np.searchsorted(self.tree_start, u, "right")) - 1, u

    def _complaint(self, code: int, t: int, u: int, number: Ints | None) -> str:
        where = f"tree {t}" + (f' ("{self.name[t]}")' if self.name is not None else "")
        lo, hi = int(self.tree_start[t]), int(self.tree_start[t + 1])
        node = f"{where}, node {u - lo if number is None else number[u]}"
        if code == layout.EMPTY_TREE:
            return f"{where}: it has no nodes; a tree has at least a root, leave empty trees out"
        if code == layout.BAD_PARENT:
            return (
                f"{node}: its parent is {int(self.parent[u]) - lo}; wanted a later node of the same tree "
                f"(children come before parents; Forest.from_parents takes any order)"
            )
        if code == layout.ROOT_NOT_LAST:
            return f"{node}: the last node of a tree must be its root (parent -1); use Forest.from_parents to reorder"
        if code == layout.BAD_SLOT:
            wanted = "-1 at the root" if u == hi - 1 else "0 or more"
            return f"{node}: slot {self.slot[u]}; wanted {wanted}"
        if code == layout.BAD_LABEL:
            known = f"a number below {self.n_labels}, the size of the vocabulary"
            return f"{node}: label {self.label[u]}; wanted -2 (missing), -1 (unseen) or {known}"
        return f"{node}: two children in slot {self.slot[u]} of one parent; slots must differ"

    # ---- looking ------------------------------------------------------------------------------------------------

    @property
    def arrays(self) -> ForestArrays:
        """The node columns as kernels take them."""
        return ForestArrays(self.parent, self.slot, self.label, self.tree_start)

    @property
    def n_trees(self) -> int:
        return max(len(self.tree_start) - 1, 0)

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def n_labels(self) -> int:
        return len(self.vocabulary)

    @cached_property
    def n_slots(self) -> int:
        """One more than the highest slot in use; 0 if every tree is a single node."""
        return int(self.slot.max(initial=-1)) + 1

    @property
    def shape(self) -> tuple[int]:
        return (self.n_trees,)

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each tree."""
        return np.diff(self.tree_start)

    @property
    def nbytes(self) -> int:
        """Bytes held by the node columns and the offsets."""
        return sum(column.nbytes for column in self.arrays)

    def __len__(self) -> int:
        return self.n_trees

    def __repr__(self) -> str:
        return f"Forest({self.n_trees} trees, {self.n_nodes} nodes, {self.n_labels} labels, {self.n_slots} slots)"

    def __eq__(self, other: object) -> bool:
        """Same trees, labels by name, targets and names; node order and order of the vocabulary do not matter."""
        if not isinstance(other, Forest):
            return NotImplemented
        if not (_same_optional(self.target, other.target) and _same_optional(self.name, other.name)):
            return False
        if self.shape != other.shape or not np.array_equal(self.tree_start, other.tree_start):
            return False
        a, b = self.canonical(), other.canonical()
        return all(np.array_equal(getattr(a, column), getattr(b, column)) for column in ForestArrays._fields)

    __hash__ = None  # type: ignore[assignment]

    def canonical(self) -> "Forest":
        """The same trees in post-order, siblings by slot, over the sorted vocabulary of the labels in use."""
        used = np.zeros(self.n_labels + 2, bool)
        used[self.label] = True
        words = sorted(word for word, keep in zip(self.vocabulary, used, strict=False) if keep)
        return self.in_post_order().with_vocabulary(words)

    def in_post_order(self) -> "Forest":
        """The same trees with every node after the subtrees of its children, siblings by slot."""
        order, start = layout.post_order(self.parent, np.lexsort((self.slot, self.parent)), self.tree_start[1:] - 1)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        parent = self.parent[order]
        return Forest._trusted(
            parent=np.where(parent < 0, -1, rank[parent]),
            slot=self.slot[order],
            label=self.label[order],
            tree_start=start,
            vocabulary=self.vocabulary,
            target=self.target,
            name=self.name,
        )

    def describe(self) -> dict[str, Any]:
        """Sizes, depths, degrees and label use, as plain numbers for printing."""
        depth = layout.depth(self.parent)
        degree = np.bincount(self.parent[self.parent >= 0], minlength=self.n_nodes)
        count = np.bincount(self.label[self.label >= 0], minlength=self.n_labels)
        top = np.argsort(-count, kind="stable")[:10]
        return {
            "n_trees": self.n_trees,
            "n_nodes": self.n_nodes,
            "n_labels": self.n_labels,
            "n_slots": self.n_slots,
            "tree_size_quartiles": size_quartiles(self.sizes),
            "max_depth": int(depth.max(initial=0)),
            "max_children": int(degree.max(initial=0)),
            "leaf_fraction": int((degree == 0).sum()) / max(self.n_nodes, 1),
            "n_missing_labels": int((self.label == MISSING).sum()),
            "n_unseen_labels": int((self.label == UNSEEN).sum()),
            "top_labels": {self.vocabulary[m]: int(count[m]) for m in top if count[m]},
            "n_classes": None if self.target is None else len(np.unique(self.target)),
        }

    # ---- choosing -----------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """``forest[3]`` is a nested tree; ``forest[1:5]``, ``forest[mask]`` and ``forest[[2, 7]]`` are forests."""
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            t = int(key) + (self.n_trees if key < 0 else 0)
            if not 0 <= t < self.n_trees:
                raise IndexError(f"tree {key} of a forest of {self.n_trees} trees")
            return self._nested(t)
        chosen = np.arange(self.n_trees)[key]
        return self._nested(int(chosen)) if chosen.ndim == 0 else self.take(chosen)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._nested(t) for t in range(self.n_trees))

    def parts(self) -> Iterator["Forest"]:
        """The forest itself; a `ForestStore` gives one forest after another here."""
        yield self

    def take(self, tree: ArrayLike) -> "Forest":
        """The trees with these numbers, in this order; a number may come twice."""
        given = np.asarray(tree)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ForestError(
                f"take: wanted a list of tree numbers; found shape {given.shape} of {given.dtype} (a mask goes in [])"
            )
        chosen = frozen(given, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n_trees):
            raise ForestError(f"take: tree numbers must lie in 0..{self.n_trees - 1}; found {_ends(np.sort(chosen))}")
        node, parent, start = layout.take_trees(self.parent, self.tree_start, chosen)
        return Forest._trusted(
            parent=parent,
            slot=self.slot[node],
            label=self.label[node],
            tree_start=start,
            vocabulary=self.vocabulary,
            target=None if self.target is None else self.target[chosen],
            name=None if self.name is None else self.name[chosen],
        )

    def with_vocabulary(self, vocabulary: Sequence[str]) -> "Forest":
        """The same trees with labels numbered by another vocabulary; labels it does not know become unseen."""
        words = tuple(str(word) for word in vocabulary)
        if words == self.vocabulary:
            return self
        index = {word: m for m, word in enumerate(words)}
        if len(index) != len(words):
            raise ForestError("the vocabulary names a label twice; names must differ")
        # The two last entries serve labels -2 and -1 through negative indexing.
        table = np.array([index.get(word, UNSEEN) for word in self.vocabulary] + [MISSING, UNSEEN], np.int32)
        return Forest._trusted(**{**self._columns(), "label": table[self.label], "vocabulary": words})

    def with_target(self, target: ArrayLike | None) -> "Forest":
        """The same trees with these known classes."""
        return Forest._trusted(**{**self._columns(), "target": _per_tree(target, self.n_trees, "target")})

    def with_name(self, name: Sequence[str] | None) -> "Forest":
        """The same trees with these document names."""
        return Forest._trusted(**{**self._columns(), "name": _per_tree(name, self.n_trees, "name", as_text=True)})

    def save(self, path: Any) -> None:
        """Write the forest to one file: ``.forest`` (arrays and JSON) or ``.parquet``; see `load_forest`."""
        from .files import save_forest  # a forest does not know its file formats until asked

        save_forest(self, path)

    def _columns(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}

    def _nested(self, t: int) -> dict[str, Any]:
        lo, hi = int(self.tree_start[t]), int(self.tree_start[t + 1])
        parent, slot, label = (c[lo:hi].tolist() for c in (self.parent, self.slot, self.label))
        made: list[dict[str, Any]] = []
        for m in label:
            node: dict[str, Any] = {"label": self.vocabulary[m] if m >= 0 else None}
            if m == UNSEEN:
                node["unseen"] = True
            made.append(node)
        for u in sorted(range(hi - lo - 1), key=lambda u: (parent[u], slot[u])):
            siblings = made[parent[u] - lo].setdefault("children", [])
            due = siblings[-1].get("slot", len(siblings) - 1) + 1 if siblings else 0
            if slot[u] != due or (siblings and "slot" in siblings[-1]):
                made[u]["slot"] = slot[u]
            siblings.append(made[u])
        return made[-1]


class _Columns(NamedTuple):
    """Node columns in any order, before they become a forest."""

    parent: Ints
    slot: Ints32
    label: Ints32
    tree: Ints  # tree number at least at the roots


def as_forest(trees: Any) -> Forest:
    """A Forest as it is; a ForestStore or a list of nested trees, made one."""
    if hasattr(trees, "to_forest"):
        trees = trees.to_forest()
    return trees if isinstance(trees, Forest) else Forest.from_nested(trees)


def _append_nested(
    tree: Any, t: int, parents: list[int], slots: list[int], labels: list[int], words: dict[str | int, int], most: int
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


def _finish(
    raw: _Columns,
    words: Sequence[Any],
    vocabulary: Sequence[str] | None,
    target: ArrayLike | None,
    name: Sequence[str] | None,
    first: Ints | None = None,  # raw number of each tree's first node, where nodes are counted tree by tree
) -> Forest:
    """Put raw columns in post-order, number the labels, and check the result."""
    root = np.flatnonzero(raw.parent < 0)
    root = root[np.argsort(raw.tree[root], kind="stable")]
    order = np.lexsort((raw.slot, raw.parent))
    node, start = layout.post_order(raw.parent, order, root)
    if len(node) < len(raw.parent):
        lost = np.setdiff1d(np.arange(len(raw.parent)), node)[0]
        raise ForestError(f"node {lost}: it never reaches a root; the parents form a cycle")
    rank = np.empty_like(node)
    rank[node] = np.arange(len(node))
    parent = raw.parent[node]
    names = [str(word) for word in words]
    forest = Forest._trusted(
        parent=np.where(parent < 0, -1, rank[parent]),
        slot=raw.slot[node],
        label=raw.label[node],
        tree_start=start,
        vocabulary=tuple(names),
        target=_per_tree(target, len(root), "target"),
        name=_per_tree(name, len(root), "name", as_text=True),
    )
    # A node at fault is named by the number the caller knows it by, not by its place in the new order.
    forest._check(node if first is None else node - np.repeat(first, forest.sizes))
    # Sorted, so that the numbering does not depend on the order in which files were read.
    return forest.with_vocabulary(sorted(names, key=_natural) if vocabulary is None else vocabulary)


def _natural(word: str) -> tuple[bool, int, str]:
    """Sort key that puts integers first and in numeric order."""
    is_int = word.isascii() and word.isdigit() and len(word) < 18
    return not is_int, int(word) if is_int else 0, word


def _encode_labels(label: Any, vocabulary: Sequence[str] | None) -> tuple[Ints32, Sequence[Any]]:
    """Labels as numbers, with the words they stand for."""
    # Lists go through objects: as fixed-width text, one long label would cost its width at every node.
    values = label if isinstance(label, np.ndarray) else np.asarray(label, object)
    if values.ndim != 1:
        raise ForestError(f"label must be one-dimensional; found shape {values.shape}")
    items = [None if is_missing(x) else x for x in values.tolist()] if values.dtype.kind not in "iuU" else []
    if vocabulary is not None and values.dtype.kind == "O" and _all_integers(items):
        codes = [MISSING if x is None else x for x in items]
        return _integer_column(codes, np.int32, "label"), list(vocabulary)
    if values.dtype.kind in "iu" and vocabulary is not None:
        return _integer_column(values, np.int32, "label"), list(vocabulary)
    if values.dtype.kind in "iuU":
        words, code = np.unique(values, return_inverse=True)
        return code.astype(np.int32), words.tolist()
    seen: dict[str, int] = {}
    codes = [MISSING if x is None else seen.setdefault(str(x), len(seen)) for x in items]
    return np.array(codes, np.int32), list(seen)


def _all_integers(values: list[Any]) -> bool:
    kinds = {kind for kind in map(type, values) if kind is not type(None)}
    return all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds)


def size_quartiles(sizes: Ints) -> list[int]:
    """Least, lower quartile, median, upper quartile and greatest of the sizes of trees; zeros of none."""
    some = sizes if len(sizes) else np.zeros(1, np.int64)
    return [int(q) for q in np.quantile(some, [0, 0.25, 0.5, 0.75, 1], method="nearest")]


def _check_tree_numbers(number: Ints, parents: Ints, root: Ints) -> None:
    """Make sure that each tree has exactly one root and that no edge leaves its tree."""
    if len(number) != len(parents):
        raise ForestError(f"parent has {len(parents)} nodes and tree {len(number)}; they must be as long")
    n_trees = int(number.max(initial=-1)) + 1
    if len(number) and number.min() < 0:
        raise ForestError(f"node {number.argmin()}: tree number {number.min()}; wanted 0 or more")
    if n_trees > len(number):
        raise ForestError(f"tree number {n_trees - 1} with only {len(number)} nodes; number the trees 0, 1, ...")
    per_tree = np.bincount(number[root], minlength=n_trees)
    wrong = np.flatnonzero(per_tree != 1)
    if len(wrong):
        raise ForestError(f"tree {wrong[0]}: {per_tree[wrong[0]]} roots; a tree has exactly one (parent -1)")
    crossing = np.flatnonzero((parents >= 0) & (number != number[parents]))
    if len(crossing):
        u = crossing[0]
        raise ForestError(
            f"node {u}: it is of tree {number[u]} and its parent, node {parents[u]}, of tree {number[parents[u]]}; "
            f"give both the same tree number"
        )


def _integer_column(values: Any, dtype: Any, what: str) -> Any:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ForestError(f"{what} must be one-dimensional; found shape {array.shape}")
    if array.size == 0:
        array = array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise ForestError(f"{what} must hold integers; found {array.dtype}")
    info = np.iinfo(dtype)
    if array.size and (array.max() > info.max or array.min() < info.min):
        far = array.max() if array.max() > info.max else array.min()
        raise ForestError(f"{what} holds {far}; wanted {info.min}..{info.max}")
    return frozen(array, dtype)


def frozen(array: Any, dtype: Any) -> Any:
    """A C-contiguous array of this dtype that nobody can write to; copied only if the caller could still change it."""
    out = np.ascontiguousarray(array, dtype)
    if out is array or out.base is not None:
        owner: Any = out
        while isinstance(owner, np.ndarray):  # a read-only view can still change through what it looks at
            if owner.flags.writeable:
                out = out.copy()
                break
            owner = owner.base
    out.flags.writeable = False
    return out


def _per_tree(values: Any, n_trees: int, what: str, as_text: bool = False) -> Any:
    if values is None:
        return None
    array = np.array([str(v) for v in values], object) if as_text else class_column(values)
    if array.ndim != 1 or len(array) != n_trees:
        raise ForestError(f"{what} must have one entry per tree, {n_trees}; found shape {array.shape}")
    return frozen(array, array.dtype)


def _concat_optional(columns: list[Any], what: str) -> Any:
    present = [c is not None for c in columns]
    if not any(present):
        return None
    if not all(present):
        raise ForestError(f"some of the forests have a {what} and some have none; give it to all or to none")
    if len({column.dtype.kind for column in columns}) == 1:
        return np.concatenate(columns)
    return class_column([value for column in columns for value in column.tolist()])  # numpy would merge 1 and "1"


def _same_optional(a: Any, b: Any) -> bool:
    return (a is None) == (b is None) and (a is None or _equal(a, b))


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def _ends(values: Any) -> str:
    return "empty" if len(values) == 0 else f"{values[0]}..{values[-1]}"
