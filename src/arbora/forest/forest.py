"""Forest: many labelled trees in a few flat, read-only columns.

The invariants (docs/data-model.md) are checked once, when a forest is made, and assumed by every kernel ever after.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ForestError
from .collection import TreeCollection
from .constructors import Constructors
from .content import Column, same_content
from .content_rows import ContentRows, Wanted, content_rows
from .description import Description, describe
from .invariants import check_forest, place_of
from .kernels import layout
from .nested import nested_tree
from .node_columns import (
    MISSING,
    UNSEEN,
    Ints,
    Ints32,
    frozen,
    integer_column,
    per_tree,
    same_optional,
)
from .ordering import canonical, in_post_order

if TYPE_CHECKING:
    from .sharing import SharedForest


class ForestArrays(NamedTuple):
    """What kernels take: always these dtypes, C-contiguous and read-only, so each kernel compiles once."""

    parent: Ints
    slot: Ints32
    label: Ints32
    tree_start: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Constructors, TreeCollection):
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
    content : mapping from names to columns, default none
        What nodes hold beside their label: a `Column`, or a list of values, one per node, in which None is missing.
        Truth makes flags, whole numbers counts, other numbers numbers, text codes, lists of words bags.

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
    content: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for column, dtype in (("parent", np.int64), ("slot", np.int32), ("label", np.int32), ("tree_start", np.int64)):
            object.__setattr__(self, column, integer_column(getattr(self, column), dtype, column))
        object.__setattr__(self, "vocabulary", tuple(str(word) for word in self.vocabulary))
        object.__setattr__(self, "target", per_tree(self.target, self.n_trees, "target"))
        object.__setattr__(self, "name", per_tree(self.name, self.n_trees, "name", as_text=True))
        self.validate()
        if self.content:
            object.__setattr__(self, "content", self._content_of(self.content))

    def _content_of(self, given: Mapping[str, Any]) -> Mapping[str, Column]:
        """Checked columns in the order of the nodes."""
        from .content_values import content_of

        return MappingProxyType(content_of(given, self.n_nodes, lambda u: place_of(self, u)))

    @classmethod
    def _trusted(cls, **columns: Any) -> "Forest":
        """Build from columns that are known to hold the invariants, without checking them again."""
        forest = object.__new__(cls)
        columns.setdefault("target", None)
        columns.setdefault("name", None)
        columns["content"] = MappingProxyType(dict(columns.get("content", {})))
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
        return Forest, (*columns, dict(self.content)) if self.content else columns

    # ---- checking -----------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise ForestError, naming tree and node, unless every invariant holds."""
        check_forest(self)

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

    @cached_property
    def n_slots(self) -> int:
        """One more than the highest slot in use; 0 if every tree is a single node."""
        return int(self.slot.max(initial=-1)) + 1

    @property
    def sizes(self) -> Ints:
        """Number of nodes of each tree."""
        return np.diff(self.tree_start)

    @property
    def nbytes(self) -> int:
        """Bytes held by the node columns and the offsets."""
        return sum(column.nbytes for column in (*self.arrays, *self.content.values()))

    @property
    def content_kinds(self) -> dict[str, str]:
        """The columns of content, and of which kind each is."""
        return {name: column.kind for name, column in self.content.items()}

    @property
    def sha256(self) -> str:
        """Checksum of the trees and the vocabulary."""
        digest = hashlib.sha256("\0".join(self.vocabulary).encode("utf-8", "surrogatepass"))
        for column in self.arrays:
            digest.update(column.data)
        for name, one in sorted(self.content.items()):
            digest.update("\0".join([name, one.kind, *one.words]).encode("utf-8", "surrogatepass"))
            for array in one.arrays.values():
                digest.update(array.data)
        return digest.hexdigest()

    @property
    def in_memory(self) -> "Forest":
        """The forest itself; None for a `ForestStore`."""
        return self

    def n_unseen(self) -> int:
        """Nodes whose label the vocabulary does not have."""
        return int((self.label == UNSEEN).sum())

    def __repr__(self) -> str:
        columns = f", columns {', '.join(self.content)}" if self.content else ""
        return f"Forest({self._sizes()}{columns})"

    def _repr_html_(self) -> str:
        from .notebook_view import forest_html

        return forest_html(self)

    def __eq__(self, other: object) -> bool:
        """Same trees, labels by name, targets, names and content; order of nodes and vocabulary do not matter."""
        if not isinstance(other, Forest):
            return NotImplemented
        if not (same_optional(self.target, other.target) and same_optional(self.name, other.name)):
            return False
        if self.shape != other.shape or not np.array_equal(self.tree_start, other.tree_start):
            return False
        a, b = self.canonical(), other.canonical()
        same = all(np.array_equal(getattr(a, column), getattr(b, column)) for column in ForestArrays._fields)
        return same and same_content(a.content, b.content)

    __hash__ = None  # type: ignore[assignment]

    def canonical(self) -> "Forest":
        """The same trees in post-order, siblings by slot, over the sorted vocabulary of the labels in use."""
        return canonical(self)

    def in_post_order(self) -> "Forest":
        """The same trees with every node after the subtrees of its children, siblings by slot."""
        return in_post_order(self)

    def describe(self) -> Description:
        """Sizes, depths, degrees and label use: a dictionary of plain numbers that prints as a table."""
        return describe(self)

    # ---- choosing -----------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """``forest[3]`` is a nested tree; ``forest[1:5]``, ``forest[mask]`` and ``forest[[2, 7]]`` are forests."""
        t = self._number(key)
        if t is not None:
            return nested_tree(self, t)
        chosen = np.arange(self.n_trees)[key]
        return nested_tree(self, int(chosen)) if chosen.ndim == 0 else self.take(chosen)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (nested_tree(self, t) for t in range(self.n_trees))

    def parts(self) -> Iterator["Forest"]:
        """The forest itself; a `ForestStore` gives one forest after another here."""
        yield self

    def over_parts(self, function: Callable[..., Any], values: Any, *more: Any) -> Iterator[Any]:
        yield function(self, values, *more)

    def shards(
        self, n_slots: int, max_units: int, shared: bool, structure: bool, wanted: Sequence[Wanted] = ()
    ) -> "list[SharedForest]":
        from .sharing import share

        return share(self.arrays, n_slots, max_units, shared, self.rows(wanted))

    def rows(self, wanted: Sequence[Wanted]) -> ContentRows | None:
        """The distinct contents of the nodes in these columns; None where no column is asked for.

        Parameters
        ----------
        wanted : sequence
            What the rows of a shard hold beside labels.

        Returns
        -------
        ContentRows | None
            The rows, or None if there is no content.
        """
        return content_rows(self.label, self.content, wanted) if wanted else None

    def take(self, tree: ArrayLike) -> "Forest":
        chosen = self._numbers(tree)
        node, parent, start = layout.take_trees(self.parent, self.tree_start, chosen)
        return Forest._trusted(
            parent=parent,
            slot=self.slot[node],
            label=self.label[node],
            tree_start=start,
            vocabulary=self.vocabulary,
            target=None if self.target is None else self.target[chosen],
            name=None if self.name is None else self.name[chosen],
            content={key: column.take(node) for key, column in self.content.items()},
        )

    def with_vocabulary(self, vocabulary: Sequence[str]) -> "Forest":
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
        """The same trees with these known classes.

        Parameters
        ----------
        target : array or None
            Known class of each tree.

        Returns
        -------
        Forest
            The trees.
        """
        return Forest._trusted(**{**self._columns(), "target": per_tree(target, self.n_trees, "target")})

    def with_name(self, name: Sequence[str] | None) -> "Forest":
        """The same trees with these document names.

        Parameters
        ----------
        name : sequence of str or None
            Name of the document of each tree.

        Returns
        -------
        Forest
            The trees.
        """
        return Forest._trusted(**{**self._columns(), "name": per_tree(name, self.n_trees, "name", as_text=True)})

    def with_content(self, content: Mapping[str, Any]) -> "Forest":
        """The same trees with these columns in place of any they had; see the constructor.

        Parameters
        ----------
        content : mapping
            Columns of content by name, one value per node.

        Returns
        -------
        Forest
            The trees.

        Examples
        --------
        >>> forest = Forest.from_nested([("a", ["b"])])
        >>> forest.with_content({"length": [0.5, 2.0], "kind": ["x", None]})
        Forest(1 trees, 2 nodes, 2 labels, 1 slots, columns length, kind)
        """
        return Forest._trusted(**{**self._columns(), "content": self._content_of(content)})

    def to_frame(self, library: str = "pandas") -> Any:
        """One row per node, as a data frame: tree, node, parent, slot, label, and the columns of content.

        Parameters
        ----------
        library : {"pandas", "polars"}, default "pandas"
            Library of the data frame.

        Returns
        -------
        DataFrame
            Nodes are numbered within their tree, the root last.  A missing label is None.  Bags of words are left out.
        """
        from .frames import nodes_frame

        return nodes_frame(self, library)

    def save(self, path: Any) -> None:
        """Write the forest to one file: ``.forest`` (arrays and JSON) or ``.parquet``; see `load_forest`.

        Parameters
        ----------
        path : path
            File to write.
        """
        from .files import save_forest  # a forest imports its file formats when they are used

        save_forest(self, path)

    def _columns(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


def as_forest(trees: Any) -> Forest:
    """A Forest as it is; a ForestStore or a list of nested trees, made one."""
    if hasattr(trees, "to_forest"):
        trees = trees.to_forest()
    return trees if isinstance(trees, Forest) else Forest.from_nested(trees)
