"""TreeCollection: what a forest in memory and a store on disk do alike, and how their common methods are called."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ForestError
from .content_rows import Wanted
from .node_columns import Ints, ends_of, frozen

if TYPE_CHECKING:
    from .forest import Forest
    from .sharing import SharedForest


class TreeCollection:
    """Base of `Forest` and `ForestStore`: sizes, access by number, and the methods that each implements."""

    vocabulary: tuple[str, ...]

    @property
    def n_trees(self) -> int:
        raise NotImplementedError

    @property
    def n_nodes(self) -> int:
        raise NotImplementedError

    @property
    def n_labels(self) -> int:
        return len(self.vocabulary)

    @property
    def n_slots(self) -> int:
        """One more than the highest slot in use; 0 if every tree is a single node."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int]:
        return (self.n_trees,)

    def __len__(self) -> int:
        return self.n_trees

    def _sizes(self) -> str:
        """The sizes, as they are printed."""
        return f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_labels} labels, {self.n_slots} slots"

    def _number(self, key: Any) -> int | None:
        """The number of the tree that a key in brackets names, counted from the end if negative; None of many."""
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            return None
        t = int(key) + (self.n_trees if key < 0 else 0)
        if not 0 <= t < self.n_trees:
            kind = "forest" if type(self).__name__ == "Forest" else "store"
            raise IndexError(f"tree {key} of a {kind} of {self.n_trees} trees")
        return t

    def _numbers(self, tree: ArrayLike) -> Ints:
        """Numbers of trees, checked."""
        given = np.asarray(tree)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ForestError(
                f"take: wanted a list of tree numbers; found shape {given.shape} of {given.dtype} (a mask goes in [])"
            )
        chosen = frozen(given, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n_trees):
            raise ForestError(f"take: tree numbers must lie in 0..{self.n_trees - 1}; found {ends_of(np.sort(chosen))}")
        return chosen

    def take(self, tree: ArrayLike) -> "Forest":
        """The trees with these numbers, in this order, in memory; a number may come twice.

        Parameters
        ----------
        tree : array
            Numbers of trees.

        Returns
        -------
        Forest
            The trees.
        """
        raise NotImplementedError

    def with_vocabulary(self, vocabulary: Sequence[str]) -> Self:
        """The same trees with labels numbered by another vocabulary; labels outside it become unseen.

        Parameters
        ----------
        vocabulary : sequence of str
            Labels to number by.

        Returns
        -------
        Forest or ForestStore
            The trees.
        """
        raise NotImplementedError

    def over_parts(self, function: Callable[..., Any], values: Any, *more: Any) -> Iterator[Any]:
        """``function(part, rows of values, *more)`` of every part, in order.

        A `Forest` is its only part.  The parts of a `ForestStore` are its files, or one empty forest if there are none;
        the workers compute them if there are any.

        Parameters
        ----------
        function : callable
            Function of a part, its values and `more`.
        values : sequence
            One value per tree.
        *more : object
            Further arguments of the function.

        Returns
        -------
        Iterator[Any]
            The results, in order.
        """
        raise NotImplementedError

    def shards(
        self, n_slots: int, max_units: int, shared: bool, structure: bool, wanted: Sequence[Wanted] = ()
    ) -> "Sequence[SharedForest]":
        """The trees as passes take them.  Nodes hold what is `wanted`, or labels if that is nothing.

        A `ForestStore` keeps the shards of the last call in memory as far as they fit, `structure` included.

        Parameters
        ----------
        n_slots : int
            Slots that are distinguished; later ones count as the last.
        max_units : int
            Most units of a shard.
        shared : bool
            Whether identical subtrees are computed once.
        structure : bool
            Whether the passes need the structure of shards too.
        wanted : sequence, default ()
            What the rows of a shard hold beside labels.

        Returns
        -------
        Sequence[SharedForest]
            The shards.
        """
        raise NotImplementedError
