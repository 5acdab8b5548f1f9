"""Trees: what a forest in memory and a store on disk both are to models that go through them part by part."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike, NDArray

from .content_rows import Wanted
from .forest import Forest
from .sharing import SharedForest


class Trees(Protocol):
    """Labelled trees, in memory or on disk: a `Forest` or a `ForestStore`."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Names of the labels."""

    @property
    def target(self) -> NDArray[Any] | None:
        """Known class of each tree."""

    @property
    def name(self) -> NDArray[Any] | None:
        """Name of the document of each tree."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""

    @property
    def n_labels(self) -> int:
        """Number of names in the vocabulary."""

    @property
    def n_slots(self) -> int:
        """One more than the highest slot in use."""

    @property
    def sha256(self) -> str:
        """Checksum of the trees and the vocabulary."""

    @property
    def content_kinds(self) -> dict[str, str]:
        """The columns of content, and of which kind each is."""

    @property
    def in_memory(self) -> Forest | None:
        """The trees as a forest, if they are in memory; None if they are on disk."""

    def n_unseen(self) -> int:
        """Nodes whose label the vocabulary does not have."""

    def take(self, tree: ArrayLike) -> Forest:
        """The trees with these numbers, in memory."""

    def with_vocabulary(self, vocabulary: Sequence[str]) -> Self:
        """The same trees with labels numbered by another vocabulary."""

    def parts(self) -> Iterator[Forest]:
        """Forests that hold the trees, one after another; at least one."""

    def over_parts(self, function: Callable[..., Any], values: Any, *more: Any) -> Iterator[Any]:
        """``function(part, rows of values, *more)`` of every part, in order."""

    def shards(
        self, n_slots: int, max_units: int, shared: bool, structure: bool, wanted: Sequence[Wanted] = ()
    ) -> Sequence[SharedForest]:
        """The trees as passes take them; nodes hold what is `wanted`, or labels if that is nothing."""
