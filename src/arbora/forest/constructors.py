"""Ways to make a forest of trees that are held elsewhere; each has a file of its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from .forest import Forest

MAX_NODES = 50_000_000  # of nested trees, by default: a tree that holds itself has no end


class Constructors:
    """Class methods of `Forest` that make one."""

    @classmethod
    def from_nested(
        cls,
        trees: Iterable[Any],
        vocabulary: Sequence[str] | None = None,
        target: ArrayLike | None = None,
        name: Sequence[str] | None = None,
        max_nodes: int = MAX_NODES,
    ) -> "Forest":
        """Read nested trees: ``"leaf"``, ``("label", [children])`` or ``{"label":, "children":, "slot":, "content":}``.

        A label of None is missing, and so is nan or what data frames have for it.  A slot left out is one after the
        sibling before it.  Content is a mapping from names of columns to values; what is left out is missing.  A
        vocabulary, when given, is kept as it is, and labels outside it are marked unseen.  A tree that holds itself is
        refused, and so are more than `max_nodes` (50 million) nodes in all.

        Parameters
        ----------
        trees : iterable
            The trees.
        vocabulary : sequence of str or None, default None
            Labels to number by.  Labels outside it are marked unseen.
        target : array or None, default None
            Known class of each tree.
        name : sequence of str or None, default None
            Name of the document of each tree.
        max_nodes : int, default 50,000,000
            Most nodes in all; more are refused.

        Returns
        -------
        Forest
            The forest.
        """
        from .from_nested import forest_of_nested

        return forest_of_nested(trees, vocabulary, target, name, max_nodes)

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
        content: Mapping[str, Any] | None = None,
    ) -> "Forest":
        """Build from parallel arrays in any node order: parent index (-1 at a root), label, slot, tree number.

        `label` holds names (None = missing) or, with `vocabulary` given and integers, indices into it.  Without
        `slot`, siblings take 0, 1, ... in array order.  Without `tree`, trees are numbered in the order of their roots.
        `content` has columns in the same order of nodes.

        Parameters
        ----------
        parent : array
            Index of the parent of each node, -1 at a root.
        label : array or sequence of str
            Label of each node: a name, None if it is missing, or an index into `vocabulary`.
        slot : array or None, default None
            Position of each node among its siblings; None numbers them in the order of the arrays.
        tree : array or None, default None
            Number of the tree of each node; None numbers trees in the order of their roots.
        vocabulary : sequence of str or None, default None
            Labels to number by.  Labels outside it are marked unseen.
        target : array or None, default None
            Known class of each tree.
        name : sequence of str or None, default None
            Name of the document of each tree.
        content : mapping or None, default None
            Columns of content by name, one value per node.

        Returns
        -------
        Forest
            The forest.

        Examples
        --------
        >>> from arbora import Forest
        >>> Forest.from_parents([-1, 0, 0], ["a", "b", "b"])
        Forest(1 trees, 3 nodes, 2 labels, 2 slots)
        """
        from .from_parents import forest_of_parents

        return forest_of_parents(parent, label, slot, tree, vocabulary, target, name, content)

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
        content: Mapping[str, str | Callable[[Any], Any]] | None = None,
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
        content : columns by name, each given as `label` is; a node without the attribute or key has no value.

        Examples
        --------
        >>> from arbora import Forest
        >>> from xml.etree.ElementTree import fromstring
        >>> Forest.from_objects([fromstring("<a><b/><c/></a>")], label="tag", children=list)[0]
        {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c'}]}
        """
        from .from_objects import forest_of_objects

        return forest_of_objects(roots, label, children, vocabulary, target, name, max_nodes, content)

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
        content: Sequence[str] = (),
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
        content : columns of the table that become content of the nodes.

        Examples
        --------
        >>> from arbora import Forest
        >>> table = {"id": ["x", "y", "z"], "above": [None, "x", "x"], "word": ["a", "b", "c"]}
        >>> Forest.from_table(table, node="id", parent="above", label="word")[0]
        {'label': 'a', 'children': [{'label': 'b'}, {'label': 'c'}]}
        """
        from .from_table import forest_of_table

        return forest_of_table(table, node, parent, label, tree, order, no_parent, vocabulary, content)

    @classmethod
    def concat(cls, forests: Iterable["Forest"]) -> "Forest":
        """One forest of all the trees, over the union of the vocabularies (the first one's order comes first).

        A column of content that some of the forests do not have is missing there.

        Parameters
        ----------
        forests : iterable of Forest
            The forests.

        Returns
        -------
        Forest
            The forest.
        """
        from .concat import concatenated

        return concatenated(list(forests))
