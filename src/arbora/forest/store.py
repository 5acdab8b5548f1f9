"""ForestStore: a directory of forests for corpora larger than memory.

A store is a directory of ``.forest`` files and a manifest, which names them and holds the vocabulary of all.  Files are
written whole or not at all, and the manifest last, so replacing a store is atomic.
"""

import contextlib
import hashlib
import importlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ForestError, ModelFileError
from ..files.container import MAX_BYTES
from ..files.urls import as_given, inside, is_url
from ..inference import distribute
from .collection import TreeCollection
from .content import Column, empty_column
from .content_rows import Wanted
from .files import read_forest
from .forest import Forest
from .store_manifest import Written, read_checked, read_manifest, write_manifest
from .store_writing import StoreWriter, check_shard_nodes, cut_by_nodes, lock_folder, make_folder, write_partition
from .stored_shards import StoredShards

SHARD_NODES = 2**20  # a file of the store holds so many nodes, or one tree if that has more
MEMORY = 2**30  # bytes of shared subtrees kept between passes over a store
_NESTED_AT_ONCE = 1000  # nested trees turned into columns together


class ForestStore(TreeCollection):
    """Trees on disk that models accept in place of a `Forest`.  One file at a time is in memory.

    Parameters
    ----------
    path : path or URL
        Folder of the store; `ForestStore.write` makes one on this machine.  A URL, such as ``s3://bucket/a.store``, is
        read by fsspec (``arbora[remote]``), file by file, here or by the workers of a cluster.
    memory : int, default 1 GiB
        Bytes of trees that models keep between two passes: the distinct subtrees of as many files as fit.  The other
        files are read again.  It never changes a result.
    max_bytes : int, default 16 GiB
        Files that unpack to more are refused.

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
    >>> ForestStore.write(Forest.from_nested([("a", ["b"]), "a"]), path)
    ForestStore(2 trees, 3 nodes, 2 labels, 1 slots, 1 files)
    """

    def __init__(self, path: str | os.PathLike[str], *, memory: int = MEMORY, max_bytes: int = MAX_BYTES):
        given = as_given(path)
        self.path = given.rstrip("/") if is_url(given) else os.path.abspath(given)
        self.memory, self.max_bytes = int(memory), int(max_bytes)
        found = read_manifest(self.path, self.max_bytes)
        self.entries, self._label_count, self.token = found.entries, found.label_count, found.token
        self.vocabulary = self._stored_vocabulary = found.words
        self.content_kinds = found.content_kinds
        self._shards: tuple[Any, StoredShards] | None = None

    @classmethod
    def write(
        cls, trees: Any, path: str | os.PathLike[str], *, shard_nodes: int = SHARD_NODES, memory: int = MEMORY
    ) -> "ForestStore":
        """Write a forest, or an iterable of forests or nested trees, to a store, and open it.

        One file's worth of trees is in memory at a time.  The vocabulary is the union of all, the first one's order
        first, as `Forest.concat` has it; sorted if all trees are nested ones, as `Forest.from_nested` has it.

        Parameters
        ----------
        trees : iterable
            The trees.
        path : path
            File to write.
        shard_nodes : int, default 1048576
            Nodes per file of the store.
        memory : int, default 1073741824
            Bytes that the store may cache between passes.

        Returns
        -------
        ForestStore
            The store.
        """
        with StoreWriter(path, secrets.token_hex(8), shard_nodes, in_order=True) as writer:
            _add_all(trees, writer, shard_nodes)
            writer.finish()
        return cls(path, memory=memory)

    def append(self, trees: Any, *, shard_nodes: int = SHARD_NODES) -> "ForestStore":
        """Add trees behind those of the store, and open it anew; this object keeps to the trees that it opened.

        Labels that are new come last in the vocabulary, so that the numbers of the others stay.  The files of the store
        are not written again.  Like `write`, it happens at once or not at all.

        Parameters
        ----------
        trees : Forest, ForestStore, or iterable of forests or nested trees
            The trees to add; they have names, or classes of the same kind, if those of the store have.
        shard_nodes : int, default 1048576
            Nodes per file that is written.

        Returns
        -------
        ForestStore
            The store with all trees.
        """
        with StoreWriter(self.path, secrets.token_hex(8), shard_nodes) as writer:
            now = ForestStore(self.path, memory=self.memory, max_bytes=self.max_bytes)  # who knows who wrote since
            writer.written = now._as_written()
            old = len(writer.written)
            _add_all(trees, writer, shard_nodes)
            kinds = {one.class_kind for one in writer.written[max(old - 1, 0) :] if one.class_kind}
            if len(kinds) > 1:
                raise ForestError("the classes are of another kind than those of the store; make all of one kind")
            writer.finish()
        return ForestStore(self.path, memory=self.memory, max_bytes=self.max_bytes)

    def _as_written(self) -> list[Written]:
        """What a new manifest needs of the files that are there; the first stands for the labels of all."""
        if not self.entries:
            return []
        part = self.part(0)
        kind = "" if part.target is None else part.target.dtype.kind
        known = (part.name is not None, part.target is not None), kind
        first = Written(
            self.entries[0], self._stored_vocabulary, self._label_count, *known, tuple(self.content_kinds.items())
        )
        return [first, *(Written(entry, (), np.zeros(0, np.int64), *known) for entry in self.entries[1:])]

    @classmethod
    def from_bag(
        cls,
        bag: Any,
        path: str | os.PathLike[str],
        read: Callable[[Any], Any] | None = None,
        *,
        shard_nodes: int = SHARD_NODES,
        memory: int = MEMORY,
    ) -> "ForestStore":
        """Write the documents of a ``dask.bag`` to a store, each partition by the worker that has it, and open it.

        An item of the bag is a nested tree, or becomes one by `read`.  All workers must see the folder under this
        path.  A task run again because a worker was lost writes the same files again.

        Parameters
        ----------
        bag : dask Bag
            What the trees are read from.
        path : path
            File to write.
        read : callable or None, default None
            Function of a part of the bag that returns trees.
        shard_nodes : int, default 1048576
            Nodes per file of the store.
        memory : int, default 1073741824
            Bytes that the store may cache between passes.

        Returns
        -------
        ForestStore
            The store.
        """
        dask: Any = importlib.import_module("dask")  # who has a bag has it

        check_shard_nodes(shard_nodes)
        folder, token, cluster = make_folder(path), secrets.token_hex(8), distribute.active()
        task = dask.delayed(write_partition, pure=False)
        tasks = [task(items, read, folder, token, x, shard_nodes) for x, items in enumerate(bag.to_delayed())]
        with contextlib.closing(lock_folder(folder)):
            with distribute.in_our_words():
                found = dask.compute(*tasks, scheduler=None if cluster is None else cluster.client)
            write_manifest(folder, token, [one for partition in found for one in partition], in_order=True)
        return cls(path, memory=memory)

    # ---- what a Forest has, too ---------------------------------------------------------------------------------

    @property
    def n_trees(self) -> int:
        return sum(entry.n_trees for entry in self.entries)

    @property
    def n_nodes(self) -> int:
        return sum(entry.n_nodes for entry in self.entries)

    @property
    def n_slots(self) -> int:
        """One more than the highest slot in use; 0 if every tree is a single node."""
        return max((entry.n_slots for entry in self.entries), default=0)

    def __repr__(self) -> str:
        columns = f", columns {', '.join(self.content_kinds)}" if self.content_kinds else ""
        return f"ForestStore({self._sizes()}, {len(self.entries)} files{columns})"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (tree for part in self.parts() for tree in part)

    def __getitem__(self, key: Any) -> Any:
        """As of a `Forest`: a nested tree by number; a slice, a mask or a list of numbers gives a Forest in memory."""
        t = self._number(key)
        if t is not None:
            return self.take([t])[0]
        return self.take(np.arange(self.n_trees)[key])

    def parts(self) -> Iterator[Forest]:
        """The forests of the files, one after another; an empty one if there are no files."""
        if not self.entries:
            return iter([Forest.from_nested([], self.vocabulary)])
        return (self.part(number) for number in range(len(self.entries)))

    def part(self, number: int, columns_only: bool = False, content: bool = True) -> Forest:
        """The forest of one file, over the vocabulary of the store; names and classes, and content, can be left out.

        Parameters
        ----------
        number : int
            Number of the file.
        columns_only : bool, default False
            Whether names and classes are left out.
        content : mapping, default True
            Columns of content by name, one value per node.

        Returns
        -------
        Forest
            The trees of the file.
        """
        entry = self.entries[number]
        path = inside(self.path, entry.file)
        data = read_checked(path, entry)
        without = (("name", "target") if columns_only else ()) + (() if content else ("content",))
        forest, _ = read_forest(path, self.max_bytes, data=data, without=without)
        if (forest.n_trees, forest.n_nodes, forest.n_slots) != entry[1:4]:
            raise ModelFileError(f"{path}: its sizes are not those of the manifest; write the store again")
        if not self._knows(forest.vocabulary):
            raise ModelFileError(f"{path}: it has labels that the manifest has not; write the store again")
        if content and self.content_kinds:
            forest = forest.with_content(self._in_kinds(forest, path))
        return forest.with_vocabulary(self.vocabulary)

    def _in_kinds(self, forest: Forest, path: str) -> dict[str, Column]:
        """The columns of one file as those of the store: a column that it has not is missing there."""
        if not set(forest.content) <= set(self.content_kinds):
            raise ModelFileError(f"{path}: it has columns that the manifest has not; write the store again")
        return {
            name: forest.content[name].as_kind(kind) if name in forest.content else empty_column(kind, forest.n_nodes)
            for name, kind in self.content_kinds.items()
        }

    def _knows(self, words: Sequence[str]) -> bool:
        return self._stored_words.issuperset(words)

    @cached_property
    def _stored_words(self) -> frozenset[str]:
        return frozenset(self._stored_vocabulary)

    def take(self, tree: ArrayLike) -> Forest:
        chosen = self._numbers(tree)
        cuts = np.cumsum([0, *(entry.n_trees for entry in self.entries)])
        order = np.argsort(chosen, kind="stable")
        where = np.searchsorted(chosen[order], cuts)
        found = [Forest.from_nested([], self.vocabulary)] if not len(chosen) else []
        for number, (lo, hi) in enumerate(pairwise(where.tolist())):
            if hi > lo:
                found.append(self.part(number).take(chosen[order[lo:hi]] - cuts[number]))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return Forest.concat(found).take(back)

    def to_forest(self) -> Forest:
        """All trees in memory."""
        return Forest.concat(self.parts())

    def with_vocabulary(self, vocabulary: Sequence[str]) -> "ForestStore":
        words = tuple(str(word) for word in vocabulary)
        if words == self.vocabulary:
            return self
        other = object.__new__(ForestStore)
        other.__dict__.update(self.__dict__, vocabulary=words, _shards=None)
        return other

    @property
    def in_memory(self) -> None:
        """None: the trees are on disk; `to_forest` reads them."""
        return None

    def n_unseen(self) -> int:
        """Nodes whose label the vocabulary does not have, by the counts of the manifest."""
        known = set(self.vocabulary)
        unknown = [m for m, word in enumerate(self._stored_vocabulary) if word not in known]
        return int(self._label_count[unknown].sum())

    @cached_property
    def target(self) -> NDArray[Any] | None:
        """Known classes of all trees, in memory."""
        return self._by_tree("target")

    @cached_property
    def name(self) -> NDArray[Any] | None:
        """Names of all trees, in memory."""
        return self._by_tree("name")

    def _by_tree(self, column: str) -> NDArray[Any] | None:
        found = [getattr(part, column) for part in self.parts()]
        return None if found[0] is None else np.concatenate(found)

    @property
    def sha256(self) -> str:
        """Checksum of the trees and the vocabulary, by the checksums of the files."""
        told = "\0".join([*(entry.sha256 for entry in self.entries), *self.vocabulary])
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def shards(
        self, n_slots: int, max_units: int, shared: bool, structure: bool, wanted: Sequence[Wanted] = ()
    ) -> "StoredShards":
        asked = (n_slots, max_units, shared, structure, tuple(wanted))
        if self._shards is None or self._shards[0] != asked:
            self._shards = asked, StoredShards(self, *asked)
        return self._shards[1]

    def over_parts(self, function: Callable[..., Any], values: Any, *more: Any) -> Iterator[Any]:
        if not self.entries:
            return (function(part, values, *more) for part in self.parts())
        ends = np.cumsum([0, *(entry.n_trees for entry in self.entries)]).tolist()
        runs = [(x, None if values is None else values[lo:hi]) for x, (lo, hi) in enumerate(pairwise(ends))]
        cluster = distribute.active()
        if cluster is None:
            return (_on_part(run, self, function, *more) for run in runs)
        return cluster.map(_on_part, runs, cluster.keep(self), function, *more)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shards": None}


def _on_part(run: tuple[int, Any], store: ForestStore, function: Callable[..., Any], *more: Any) -> Any:
    number, rows = run
    return function(store.part(number, columns_only=True), rows, *more)


def _add_all(trees: Any, writer: StoreWriter, shard_nodes: int) -> None:
    """Write trees, one file's worth at a time."""
    waiting: list[Forest] = []
    n_waiting = 0  # nodes
    for forest, nested in _forests([trees] if isinstance(trees, (Forest, ForestStore)) else trees):
        writer.in_order &= nested
        waiting.append(forest)
        n_waiting += forest.n_nodes
        if n_waiting >= shard_nodes:
            *full, rest = cut_by_nodes(Forest.concat(waiting), shard_nodes)
            for part in full:
                writer.add(part)
            waiting, n_waiting = [rest], rest.n_nodes
    if waiting:
        writer.add(Forest.concat(waiting))


def _forests(items: Iterable[Any]) -> Iterator[tuple[Forest, bool]]:
    """Forests from an iterable of forests, stores or nested trees, and whether they come from nested ones."""
    nested: list[Any] = []
    for item in items:
        if isinstance(item, (Forest, ForestStore)):
            if nested:
                yield Forest.from_nested(nested), True
                nested = []
            yield from ((part, False) for part in item.parts())
            continue
        nested.append(item)
        if len(nested) == _NESTED_AT_ONCE:
            yield Forest.from_nested(nested), True
            nested = []
    if nested:
        yield Forest.from_nested(nested), True
