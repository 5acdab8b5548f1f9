"""SharedForest: the distinct subtrees of a forest, so that each is computed once, exactly.

A *unit* is one subtree in one slot.  An upward message depends on nothing else, and the downward recursion is linear
in the parent's posterior, so expected counts summed over units equal the counts summed over nodes (docs/design.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .content_rows import ContentRows
from .forest import ForestArrays
from .kernels import hash_consing, layers
from .node_columns import frozen

# A hash seed drawn once a process: nobody can prepare trees that collide, and unit numbers do not depend on it.
_SEED = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)

WINDOW = 1024  # units that `in_layers` puts into another order: their messages fit into the cache


class Units(NamedTuple):
    """The distinct subtrees as kernels take them; children precede parents."""

    label: NDArray[np.int32]  # negative: missing or unseen, to be summed out
    slot: NDArray[np.int32]  # -1 at roots
    crowd: NDArray[np.int32]  # siblings pooled into the same slot; empty where no slot is pooled
    child_start: NDArray[np.int32]
    child: NDArray[np.int32]  # units of the children, by slot


class Contents(NamedTuple):
    """The distinct contents of the nodes of a shard, where nodes hold more than a label; `Units.label` is their row.

    Rows are what the key of a unit has in place of its label: equal contents are shared, others are not.
    """

    columns: dict[str, Any]  # by name, each [row] with nan or -1 where missing; of bags of words a sparse [row, word]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        sizes = (
            sum(part.nbytes for part in (x.data, x.indices, x.indptr)) if sparse.issparse(x) else x.nbytes
            for x in self.columns.values()
        )
        return int(sum(sizes))


@dataclass(frozen=True)
class SharedForest:
    """Distinct subtrees and distinct trees of a run of trees; small enough for memory: a shard."""

    units: Units
    tree_root: NDArray[np.int64]  # unit of the root of each distinct tree
    tree_id: NDArray[np.int64]  # distinct tree of each tree of the run
    tree_first: NDArray[np.int64]  # a tree of the run for each distinct tree
    n_slots: int
    contents: Contents | None = None  # None: nodes hold labels, and a row is a label

    @property
    def n_units(self) -> int:
        return len(self.units.label)

    @property
    def n_trees(self) -> int:
        return len(self.tree_id)

    @property
    def n_distinct_trees(self) -> int:
        return len(self.tree_root)

    def sum_by_tree(self, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Total weight of each distinct tree: its multiplicity, if the trees weigh one each."""
        return np.bincount(self.tree_id, weight, minlength=self.n_distinct_trees).astype(np.float64)

    def restrict(self, trees: NDArray[np.int64]) -> "SharedForest":
        """The part of the shard that these trees of its run need; they keep their order."""
        units = self.units
        roots, first, tree_id = np.unique(self.tree_root[self.tree_id[trees]], return_index=True, return_inverse=True)
        keep = np.flatnonzero(hash_consing.reachable(units.child_start, units.child, roots))
        new = np.zeros(self.n_units, np.int32)
        new[keep] = np.arange(len(keep), dtype=np.int32)
        part = _renumbered(units, keep, new)
        tree_root = new[roots].astype(np.int64)
        return SharedForest(part, tree_root, tree_id.astype(np.int64), first, self.n_slots, self.contents)

    def in_layers(self) -> "SharedForest":
        """The same shard with its units in an order that is faster for kernels which take one unit at a time."""
        order = layers.layered_order(self.units.child_start, self.units.child, WINDOW)
        new = np.empty(self.n_units, np.int32)
        new[order] = np.arange(self.n_units, dtype=np.int32)
        tree_root = new[self.tree_root].astype(np.int64)
        return replace(self, units=_renumbered(self.units, order, new), tree_root=tree_root)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, with what the structure terms and counts of labels need if they have been computed."""
        arrays: list[Any] = [*self.units, self.tree_root, self.tree_id, self.tree_first]
        arrays += [] if self.contents is None else [self.contents]
        counted = [self.label_counts] if "label_counts" in self.__dict__ else []
        for x in (*self.__dict__.get("structure", ()), *counted):
            arrays += [x.data, x.indices, x.indptr] if sparse.issparse(x) else [x]
        return sum(int(array.nbytes) for array in arrays)

    @cached_property
    def structure(self) -> "StructureCounts":
        """What the structure terms need of each distinct tree."""
        return _structure_counts(self)

    @cached_property
    def label_counts(self) -> Any:
        """Sparse [distinct tree, label], or rows of the contents, up to the last one in use; missing ones left out."""
        units = self.units
        start, unit = hash_consing.expand(units.child_start, units.child, self.tree_root)
        n_labels = int(units.label.max(initial=-1)) + 1
        return _count_by_tree(start, np.where(units.label < 0, n_labels, units.label)[unit], n_labels)


class StructureCounts(NamedTuple):
    """Sufficient statistics of the shape of each distinct tree."""

    n_nodes: NDArray[np.float64]
    n_internal: NDArray[np.float64]
    in_slot: Any  # sparse [tree, slot]: nodes in that slot
    with_slot: Any  # sparse [tree, slot]: internal nodes with a child in that slot (differs if slots are pooled)
    with_pattern: Any  # sparse [tree, pattern]: internal nodes with that set of occupied slots
    pattern: Any  # sparse [pattern, slot], 0/1


def share(
    forest: ForestArrays,
    n_slots: int,
    max_units: int | None = None,
    shared: bool = True,
    content: ContentRows | None = None,
) -> list[SharedForest]:
    """Split a forest into shards of about `max_units` units each; with shared=False every node is a unit of its own.

    Slots from n_slots - 1 on are pooled into the last one.  The cuts depend on the trees alone, never on the number
    of threads, so neither do the results.  With `content`, nodes are distinguished by their rows and not by labels.
    """
    return list(iter_shards(forest, n_slots, max_units, shared, content=content))


def iter_shards(
    forest: ForestArrays,
    n_slots: int,
    max_units: int | None = None,
    shared: bool = True,
    first_tree: int = 0,
    content: ContentRows | None = None,
) -> Iterator[SharedForest]:
    """Yield the shards of a forest one after another, as `share` does, from `first_tree` on."""
    if content is not None:
        forest = forest._replace(label=frozen(content.row, np.int32))
    limit = np.iinfo(np.int32).max - 1 if max_units is None else max_units
    crowd = np.empty(0, np.int32)
    if len(forest.slot) and forest.slot.max() >= n_slots:
        pooled = np.minimum(forest.slot, np.int32(n_slots - 1))
        crowd = hash_consing.crowding(forest.parent, pooled, n_slots - 1)
        pooled.flags.writeable = False
        forest = forest._replace(slot=pooled)
    done, n_trees = first_tree, len(forest.tree_start) - 1
    while done < n_trees:
        *columns, root = hash_consing.hash_cons(forest, crowd, done, limit, bool(shared), _SEED)
        tree_root, tree_first, tree_id = np.unique(root, return_index=True, return_inverse=True)
        units, contents = Units(*columns), None
        if content is not None:
            units, contents = _own_rows(units, content)
        ids = (tree_root.astype(np.int64), tree_id.astype(np.int64), tree_first.astype(np.int64))
        yield SharedForest(units, *ids, n_slots, contents)
        done += len(root)


def _renumbered(units: Units, kept: NDArray[np.int64], new: NDArray[np.int32]) -> Units:
    """These units in this order, with their new numbers, `new`; the children of each are among them."""
    degree = np.diff(units.child_start)[kept]
    start = np.append(0, np.cumsum(degree)).astype(np.int32)
    edge = np.repeat(units.child_start[kept] - start[:-1], degree) + np.arange(start[-1], dtype=np.int32)
    crowd = units.crowd[kept] if len(units.crowd) else units.crowd
    return Units(units.label[kept], units.slot[kept], crowd, start, new[units.child[edge]])


def _own_rows(units: Units, content: ContentRows) -> tuple[Units, Contents]:
    """Units whose labels are rows of the contents of their shard alone.

    Rows come in the order in which units have them, so that passes go through their memory in one direction.
    """
    row, first, number = np.unique(units.label, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(row), np.int32)
    place[order] = np.arange(len(row), dtype=np.int32)
    columns = {name: values[row[order]] for name, values in content.columns.items()}
    return units._replace(label=place[number]), Contents(columns)


def _structure_counts(shard: SharedForest) -> StructureCounts:
    """Count, in every distinct tree, nodes by slot and internal nodes by the set of slots they occupy."""
    units, n_slots = shard.units, shard.n_slots
    start, unit = hash_consing.expand(units.child_start, units.child, shard.tree_root)
    internal = np.diff(units.child_start) > 0
    pattern, pattern_id = _slot_patterns(units, n_slots)
    in_slot = _count_by_tree(start, np.where(units.slot < 0, n_slots, units.slot)[unit], n_slots)
    with_pattern = _count_by_tree(start, pattern_id[unit], pattern.shape[0])
    return StructureCounts(
        n_nodes=np.diff(start).astype(np.float64),
        n_internal=np.add.reduceat(internal[unit].astype(np.float64), start[:-1]),
        in_slot=in_slot,
        with_slot=(with_pattern @ pattern).tocsr(),
        with_pattern=with_pattern,
        pattern=pattern,
    )


def _count_by_tree(start: NDArray[np.int64], key: NDArray[Any], n_keys: int) -> Any:
    """Sparse [tree, key] counts; key n_keys stands for 'not counted'."""
    # A copy of the offsets, because sum_duplicates writes into them.
    counts = sparse.csr_array((np.ones(len(key)), key, start.copy()), shape=(len(start) - 1, n_keys + 1))
    counts.sum_duplicates()
    return counts[:, :n_keys]


def _slot_patterns(units: Units, n_slots: int) -> tuple[Any, NDArray[np.int64]]:
    """Distinct sets of occupied slots as sparse 0/1 rows, and the set of each unit (leaves: one past the last)."""
    degree = np.diff(units.child_start)
    internal = np.flatnonzero(degree)
    # A set of slots is a star: a root over leaves that differ in their slots only. Sharing finds the distinct ones.
    root = np.cumsum(degree[internal] + 1) - 1
    parent = np.repeat(root, degree[internal] + 1)
    slot = np.full(len(parent), -1, np.int32)
    slot[np.setdiff1d(np.arange(len(parent)), root, assume_unique=True)] = units.slot[units.child]
    parent[root] = -1
    star = ForestArrays(
        parent=frozen(parent, np.int64),
        slot=frozen(slot, np.int32),
        label=frozen(np.zeros(len(parent)), np.int32),
        tree_start=frozen(np.append(0, root + 1), np.int64),
    )
    pattern_id = np.full(len(degree), 0, np.int64)
    if not len(internal):
        return sparse.csr_array((0, n_slots)), pattern_id
    (stars,) = share(star, n_slots)
    rows = stars.units.child_start[np.append(stars.tree_root, stars.n_units)]
    leaf_slot = stars.units.slot[stars.units.child]
    shape = (stars.n_distinct_trees, n_slots)
    pattern = sparse.csr_array((np.ones(len(leaf_slot)), leaf_slot, rows.copy()), shape=shape)
    pattern.sum_duplicates()
    pattern.data[:] = 1.0  # several children pooled into one slot still occupy it once
    pattern_id[:] = stars.n_distinct_trees
    pattern_id[internal] = stars.tree_id
    return pattern, pattern_id
