"""CodedTrees: a forest or a store in which label and slot of a node are what the passes share subtrees by.

In place of its label a node has the row of its input and output, in place of its slot the row of its parent's input,
its slot and the number of siblings pooled into it.  So `hash_cons` finds the units of this model as it is.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.kernels import hash_consing
from ...forest.node_columns import frozen
from ...forest.sharing import SharedForest, share
from ...forest.store import ForestStore
from ...forest.stored_shards import StoredShards
from ...forest.trees import Trees

Ints = NDArray[np.int64]
NO_OUTPUT = -1
CROWD_BITS = 24  # siblings in one slot: beyond that they are not distinguished


class Sizes(NamedTuple):
    """What codes are numbered by."""

    n_slots: int
    n_inputs: int
    n_outputs: int


class Codes(NamedTuple):
    """Rows that occur in some trees; the arrays are sorted, so that every shard has the same numbers."""

    row_key: Ints  # input * (n_outputs + 1) + output + 1
    edge_key: Ints  # (input of the parent * n_slots + slot) << CROWD_BITS | siblings there
    sizes: Sizes

    @property
    def row_input(self) -> NDArray[np.int32]:
        """Input of each row; `n_inputs` is one never seen."""
        return (self.row_key // (self.sizes.n_outputs + 1)).astype(np.int32)

    @property
    def row_output(self) -> NDArray[np.int32]:
        """Output of each row; negative: not known."""
        return (self.row_key % (self.sizes.n_outputs + 1) - 1).astype(np.int32)

    @property
    def edge_input(self) -> NDArray[np.int32]:
        """Input of the parent."""
        return ((self.edge_key >> CROWD_BITS) // self.sizes.n_slots).astype(np.int32)

    @property
    def edge_slot(self) -> NDArray[np.int32]:
        """Slot of the child."""
        return ((self.edge_key >> CROWD_BITS) % self.sizes.n_slots).astype(np.int32)

    @property
    def edge_crowd(self) -> NDArray[np.int32]:
        """Siblings in that slot."""
        return (self.edge_key & (2**CROWD_BITS - 1)).astype(np.int32)


class CodedTrees:
    """Trees in training terms with an output, or none, at each node; what `StoredShards` asks of a store, it has.

    `output` is an array by node, or by tree (then all nodes of a tree have it), or None: none is known.
    """

    def __init__(self, trees: Trees, sizes: Sizes, output: NDArray[np.int32] | None):
        self.trees, self.sizes, self.output = trees, sizes, output
        stored = isinstance(trees, ForestStore)
        self.entries: Any = trees.entries if stored else [None]  # type: ignore[attr-defined]
        counts = [(e.n_trees, e.n_nodes) for e in self.entries] if stored else [(trees.n_trees, trees.n_nodes)]
        self.start = np.cumsum(np.array([(0, 0), *counts], np.int64), axis=0)  # trees and nodes before each file
        rows, edges = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number in range(len(self.entries)):
            row, edge = self._keys(number, self._forest(number))
            rows.append(np.unique(row))
            edges.append(np.unique(edge[edge >= 0]))
        self.codes = Codes(np.unique(np.concatenate(rows)), np.unique(np.concatenate(edges)), sizes)

    def _forest(self, number: int) -> Forest:
        if isinstance(self.trees, ForestStore):
            return self.trees.part(number, columns_only=True, content=False)
        (forest,) = self.trees.parts()
        return forest

    def _keys(self, number: int, forest: Forest) -> tuple[Ints, Ints]:
        """Keys of rows and edges of the nodes of one file; the edge of a root is -1."""
        n_slots, n_inputs, n_outputs = self.sizes
        x = np.where(forest.label < 0, n_inputs, forest.label).astype(np.int64)
        row = x * (n_outputs + 1) + self._outputs(number, forest) + 1
        slot = np.minimum(forest.slot, np.int32(n_slots - 1))
        crowd = np.ones(forest.n_nodes, np.int64)
        if forest.n_slots > n_slots:
            pooled = hash_consing.crowding(forest.parent, frozen(slot, np.int32), n_slots - 1)
            crowd = np.minimum(pooled, 2**CROWD_BITS - 1).astype(np.int64)
        edge = ((x[forest.parent] * n_slots + slot) << CROWD_BITS) | crowd
        return row, np.where(forest.parent < 0, -1, edge)

    def _outputs(self, number: int, forest: Forest) -> Any:
        if self.output is None:
            return NO_OUTPUT
        by_tree = len(self.output) == self.trees.n_trees and self.trees.n_trees != self.trees.n_nodes
        mine = self.output[slice(*self.start[number : number + 2, 0 if by_tree else 1])]
        return np.repeat(mine, forest.sizes) if by_tree else mine

    def part(self, number: int, columns_only: bool = True, content: bool = False) -> Forest:
        """The trees of one file with codes for labels and slots."""
        forest = self._forest(number)
        row, edge = self._keys(number, forest)
        slot = np.where(edge < 0, -1, np.searchsorted(self.codes.edge_key, edge))
        label = np.searchsorted(self.codes.row_key, row)
        columns = {"parent": forest.parent, "tree_start": forest.tree_start, "vocabulary": ()}
        return Forest._trusted(slot=slot.astype(np.int32), label=label.astype(np.int32), **columns)

    def shards(self, max_units: int, shared: bool = True) -> Sequence[SharedForest]:
        """The trees as the passes take them."""
        n_edges = max(1, len(self.codes.edge_key))
        if isinstance(self.trees, ForestStore):
            stored: Any = self
            return StoredShards(stored, n_edges, max_units, shared, structure=False)
        return share(self.part(0).arrays, n_edges, max_units, shared)

    def plain_shards(self, max_units: int) -> Iterator[SharedForest]:
        """The same with every node a unit of its own, in the order of the nodes; one file at a time in memory."""
        for number in range(len(self.entries)):
            yield from share(self.part(number).arrays, max(1, len(self.codes.edge_key)), max_units, shared=False)

    # What workers tell the shards of one store from those of another by.

    @property
    def sha256(self) -> str:
        """Checksum of trees, outputs and codes."""
        found = hashlib.sha256(self.trees.sha256.encode())
        for array in (self.output, self.codes.row_key, self.codes.edge_key):
            found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    @property
    def path(self) -> str:
        """Folder of the store."""
        return str(getattr(self.trees, "path", ""))

    @property
    def memory(self) -> int:
        """Bytes of shards that may stay in memory."""
        return int(getattr(self.trees, "memory", 0))

    @property
    def max_bytes(self) -> int:
        """Files that unpack to more are refused."""
        return int(getattr(self.trees, "max_bytes", 0))
