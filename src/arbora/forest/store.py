"""ForestStore: a directory of forests for corpora larger than memory, and a sequence of shards that come and go.

A store is a directory of ``.forest`` files and a manifest, which names them and holds the vocabulary of all.  Files are
written whole or not at all, and the manifest last: a store is the old one until, at one moment, it is the new one.
"""

import contextlib
import hashlib
import importlib
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ForestError, ModelFileError
from ..files.container import MAX_BYTES, read_container, write_container
from ..files.own_outputs import MANIFEST
from ..files.temporary import FolderLock
from ..inference import distribute
from .files import pack_text, read_forest, unpack_text, write_forest
from .forest import Forest, Ints, _natural
from .sharing import SharedForest, iter_shards

STORE_VERSION = 1
SHARD_NODES = 2**20  # a file of the store holds so many nodes, or one tree if that has more
MEMORY = 2**30  # bytes of shared subtrees kept between passes over a store
_NESTED_AT_ONCE = 1000  # nested trees turned into columns together
_SHARD_NAME = re.compile(r"shard-([0-9a-f]{16})-(\d{6,})\.forest")


class Entry(NamedTuple):
    """A file of a store, as the manifest has it."""

    file: str
    n_trees: int
    n_nodes: int
    n_slots: int
    sha256: str


class ForestStore:
    """Trees on disk that models accept in place of a `Forest`.  One file at a time is in memory.

    Parameters
    ----------
    path : path
        Folder of the store; `ForestStore.write` makes one.
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
        self.path = os.path.abspath(os.fspath(path))
        self.memory, self.max_bytes = int(memory), int(max_bytes)
        self.entries, words, self._label_count, self.token = _read_manifest(self.path, self.max_bytes)
        self.vocabulary = self._stored_vocabulary = words
        self._shards: tuple[Any, StoredShards] | None = None

    @classmethod
    def write(
        cls, trees: Any, path: str | os.PathLike[str], *, shard_nodes: int = SHARD_NODES, memory: int = MEMORY
    ) -> "ForestStore":
        """Write a forest, or an iterable of forests or nested trees, to a store, and open it.

        One file's worth of trees is in memory at a time.  The vocabulary is the union of all, the first one's order
        first, as `Forest.concat` has it; sorted if all trees are nested ones, as `Forest.from_nested` has it.
        """
        waiting: list[Forest] = []
        n_waiting = 0  # nodes
        with StoreWriter(path, secrets.token_hex(8), shard_nodes, in_order=True) as writer:
            for forest, nested in _forests([trees] if isinstance(trees, (Forest, ForestStore)) else trees):
                writer.in_order &= nested
                waiting.append(forest)
                n_waiting += forest.n_nodes
                if n_waiting >= shard_nodes:
                    *full, rest = _cut(Forest.concat(waiting), shard_nodes)
                    for part in full:
                        writer.add(part)
                    waiting, n_waiting = [rest], rest.n_nodes
            if waiting:
                writer.add(Forest.concat(waiting))
            writer.finish()
        return cls(path, memory=memory)

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
        """
        dask: Any = importlib.import_module("dask")  # who has a bag has it

        _check_shard_nodes(shard_nodes)
        folder, token, cluster = _make_folder(path), secrets.token_hex(8), distribute.active()
        task = dask.delayed(_write_partition, pure=False)
        tasks = [task(items, read, folder, token, x, shard_nodes) for x, items in enumerate(bag.to_delayed())]
        with contextlib.closing(_lock_folder(folder)):
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
    def n_labels(self) -> int:
        return len(self.vocabulary)

    @property
    def n_slots(self) -> int:
        """One more than the highest slot in use; 0 if every tree is a single node."""
        return max((entry.n_slots for entry in self.entries), default=0)

    @property
    def shape(self) -> tuple[int]:
        return (self.n_trees,)

    def __len__(self) -> int:
        return self.n_trees

    def __repr__(self) -> str:
        sizes = f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_labels} labels, {self.n_slots} slots"
        return f"ForestStore({sizes}, {len(self.entries)} files)"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (tree for part in self.parts() for tree in part)

    def __getitem__(self, key: Any) -> Any:
        """As of a `Forest`: a nested tree by number; a slice, a mask or a list of numbers gives a Forest in memory."""
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            t = int(key) + (self.n_trees if key < 0 else 0)
            if not 0 <= t < self.n_trees:
                raise IndexError(f"tree {key} of a store of {self.n_trees} trees")
            return self.take([t])[0]
        return self.take(np.arange(self.n_trees)[key])

    def parts(self) -> Iterator[Forest]:
        """The forests of the files, one after another; an empty one if there are no files."""
        if not self.entries:
            return iter([Forest.from_nested([], self.vocabulary)])
        return (self.part(number) for number in range(len(self.entries)))

    def part(self, number: int, columns_only: bool = False) -> Forest:
        """The forest of one file, over the vocabulary of the store; names and classes can be left out."""
        entry = self.entries[number]
        path = os.path.join(self.path, entry.file)
        data = _read_checked(path, entry)
        forest, _ = read_forest(path, self.max_bytes, data=data, without=("name", "target") if columns_only else ())
        if (forest.n_trees, forest.n_nodes, forest.n_slots) != entry[1:4]:
            raise ModelFileError(f"{path}: its sizes are not those of the manifest; write the store again")
        if not self._knows(forest.vocabulary):
            raise ModelFileError(f"{path}: it has labels that the manifest has not; write the store again")
        return forest.with_vocabulary(self.vocabulary)

    def _knows(self, words: Sequence[str]) -> bool:
        return self._stored_words.issuperset(words)

    @cached_property
    def _stored_words(self) -> frozenset[str]:
        return frozenset(self._stored_vocabulary)

    def take(self, tree: ArrayLike) -> Forest:
        """The trees with these numbers, in this order, as a forest in memory; a number may come twice."""
        chosen = np.asarray(tree)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise ForestError(f"take: wanted a list of tree numbers; found shape {chosen.shape} of {chosen.dtype}")
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.n_trees):
            raise ForestError(f"take: tree numbers must lie in 0..{self.n_trees - 1}; found {chosen.max()}")
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
        """The same trees with labels numbered by another vocabulary; labels it does not know become unseen."""
        words = tuple(str(word) for word in vocabulary)
        if words == self.vocabulary:
            return self
        other = object.__new__(ForestStore)
        other.__dict__.update(self.__dict__, vocabulary=words, _shards=None)
        return other

    def n_unseen(self) -> int:
        """Nodes whose label the vocabulary does not know, by the counts of the manifest."""
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

    def shards(self, n_slots: int, max_units: int, shared: bool, structure: bool) -> "StoredShards":
        """The trees as models take them; what the last call kept in memory is kept as long as the settings stay."""
        asked = (n_slots, max_units, shared, structure)
        if self._shards is None or self._shards[0] != asked:
            self._shards = asked, StoredShards(self, *asked)
        return self._shards[1]

    def over_parts(self, function: Callable[..., Any], values: Any, *more: Any) -> Iterator[Any]:
        """``function(part, rows of values, *more)`` of every file, in order, by the workers if there are any."""
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


def _read_manifest(folder: str, max_bytes: int) -> tuple[list[Entry], tuple[str, ...], Ints, str]:
    path = os.path.join(folder, MANIFEST)
    if os.path.isdir(folder) and not os.path.exists(path):
        raise ModelFileError(f"{folder}: it has no {MANIFEST}, so it is no finished store; run arbora convert again")
    version, header, arrays = read_container(path, "forest store", max_bytes)
    if version != STORE_VERSION:
        raise ModelFileError(f"{path}: store version {version}, this Arbora knows {STORE_VERSION}; update Arbora")
    try:
        entries = [Entry(*row) for row in header["shards"]]
        words = tuple(unpack_text("vocabulary", arrays))
        count = np.asarray(arrays["label_count"])
        token = header["token"]
        good = type(token) is str and len(words) == len(set(words)) and all(map(_is_sane, entries))
        good = good and count.shape == (len(words),) and count.dtype == np.int64 and bool((count >= 0).all())
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise ModelFileError(f"{path}: its content does not make a store; write it again")
    return entries, words, count, token


def _is_sane(entry: Entry) -> bool:
    """Whether an entry of a manifest, perhaps from a stranger, names a file of its own folder and possible sizes."""
    sizes = all(type(n) is int and n >= 0 for n in entry[1:4])
    named = type(entry.file) is str and _SHARD_NAME.fullmatch(entry.file) is not None
    return sizes and named and type(entry.sha256) is str


def _read_checked(path: str, entry: Entry) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{path}: a file of the store cannot be read ({told}); write the store again") from None
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ModelFileError(f"{path}: it is not the file the manifest tells of, or damaged; write the store again")
    return data


# ---- shards ---------------------------------------------------------------------------------------------------------


class StoredShards(Sequence[SharedForest]):
    """The shards of a store; those that fit into its `memory` stay there, the others are made when asked for.

    The first ones stay, not the last used: passes come in order, so the last used would always be the wrong ones.
    """

    def __init__(self, store: ForestStore, n_slots: int, max_units: int, shared: bool, structure: bool):
        self.store, self.settings, self.structure = store, (n_slots, max_units, shared), structure
        self._fresh()
        cluster = distribute.active()
        numbers = range(len(store.entries))
        if cluster is None:
            cuts: Iterable[list[int]] = map(self._plan, numbers)
        else:
            cuts = cluster.map(_plan_on_worker, numbers, self.on(cluster))
        self.pieces = [(number, lo, hi) for number, cut in enumerate(cuts) for lo, hi in pairwise(cut)]

    def _fresh(self) -> None:
        self.kept: dict[tuple[int, int], SharedForest] = {}  # by file and first tree
        self.n_bytes = 0
        self.recent: OrderedDict[int, Forest] = OrderedDict()
        self.lock = threading.Lock()
        self.handle: tuple[Any, Any] | None = None

    def on(self, cluster: distribute.Cluster) -> Any:
        """A handle to these shards on a cluster, the same each time, so that workers find again what they kept."""
        if self.handle is None or self.handle[0] is not cluster.client:
            self.handle = cluster.client, cluster.keep(self)
        return self.handle[1]

    def __reduce__(self) -> Any:
        # What is in memory stays where it is; another process reads the files itself.
        mine = ("kept", "n_bytes", "recent", "lock", "handle")
        store = self.store
        asked = (store.sha256, store.path, store.memory, store.max_bytes, *self.settings, self.structure)
        return _arrived, (asked, {key: value for key, value in self.__dict__.items() if key not in mine})

    @property
    def sizes(self) -> list[int]:
        """Trees of each shard."""
        return [hi - lo for _, lo, hi in self.pieces]

    def __len__(self) -> int:
        return len(self.pieces)

    @overload
    def __getitem__(self, s: int) -> SharedForest: ...
    @overload
    def __getitem__(self, s: slice) -> "Sequence[SharedForest]": ...
    def __getitem__(self, s: Any) -> Any:
        if isinstance(s, slice):
            return [self[x] for x in range(*s.indices(len(self)))]
        return self.piece(*self.pieces[s][:2])

    def piece(self, number: int, lo: int) -> SharedForest:
        """The shard of a file that begins at a tree."""
        found = self.kept.get((number, lo))
        if found is None:
            n_slots, max_units, shared = self.settings
            found = next(iter_shards(self._columns(number).arrays, n_slots, max_units, shared, lo))
            self._keep(number, lo, found)
        return found

    def __iter__(self) -> Iterator[SharedForest]:
        return (self[s] for s in range(len(self)))

    def _plan(self, number: int) -> list[int]:
        """Where the trees of one file are cut."""
        cut = [0]
        for shard in iter_shards(self._columns(number).arrays, *self.settings):
            self._keep(number, cut[-1], shard)
            cut.append(cut[-1] + shard.n_trees)
        return cut

    def _columns(self, number: int) -> Forest:
        """The forest of a file; a few stay for the next shards of the same file, which other threads may want."""
        with self.lock:
            if number not in self.recent:
                self.recent[number] = self.store.part(number, columns_only=True)
                while len(self.recent) > 2:
                    self.recent.popitem(last=False)
            return self.recent[number]

    def _keep(self, number: int, lo: int, shard: SharedForest) -> None:
        if self.structure:
            _ = shard.structure  # belongs to the shard from now on, and has to be counted
        with self.lock:
            if (number, lo) not in self.kept and self.n_bytes + shard.nbytes <= self.store.memory:
                self.kept[number, lo] = shard
                self.n_bytes += shard.nbytes


_guest: "tuple[Any, StoredShards] | None" = None
_door = threading.Lock()


def _arrived(asked: Any, state: dict[str, Any]) -> StoredShards:
    """On a worker: the shards a task brings; the last ones stay, since Dask sends a value again whenever it likes."""
    global _guest
    with _door:
        if _guest is None or _guest[0] != asked:
            _guest = asked, StoredShards.__new__(StoredShards)
            _guest[1]._fresh()
        _guest[1].__dict__.update(state)  # what came before the files were cut did not know where
        return _guest[1]


def _plan_on_worker(number: int, shards: StoredShards) -> list[int]:
    return shards._plan(number)


# ---- writing --------------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """What the manifest needs to know of a file."""

    entry: Entry
    words: tuple[str, ...]
    label_count: Ints
    optional: tuple[bool, bool]  # whether trees have names, and classes
    class_kind: str  # of these, as numpy calls it; empty if there are none


def write_shard(folder: str, token: str, number: int, forest: Forest, more: Mapping[str, Any]) -> Written:
    """Write one file of a store."""
    file = f"shard-{token}-{number:06d}.forest"
    path = os.path.join(folder, file)
    write_forest(forest, path, dict(more))
    return _written(path, forest)


def _written(path: str, forest: Forest) -> Written:
    sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    entry = Entry(os.path.basename(path), forest.n_trees, forest.n_nodes, forest.n_slots, sha256)
    count = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels).astype(np.int64)
    kind = "" if forest.target is None else forest.target.dtype.kind
    return Written(entry, forest.vocabulary, count, (forest.name is not None, forest.target is not None), kind)


def _write_partition(
    items: Iterable[Any], read: Callable[[Any], Any] | None, folder: str, token: str, number: int, shard_nodes: int
) -> list[Written]:
    """On a worker: write the documents of one partition."""
    try:
        forest = Forest.from_nested(list(items) if read is None else [read(item) for item in items])
    except ForestError as error:
        raise ForestError(f"partition {number} of the bag, {error}") from None
    pieces = [part for part in _cut(forest, shard_nodes) if part.n_trees]
    return [write_shard(folder, token, number * 10**9 + x, _in_use(part), {}) for x, part in enumerate(pieces)]


def _in_use(forest: Forest) -> Forest:
    """The same trees over the labels they use."""
    used = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels) > 0
    return forest.with_vocabulary([forest.vocabulary[m] for m in np.flatnonzero(used)])


class StoreWriter:
    """Writes a store file by file; one with the same token goes on where a killed one stopped.

    `token` names the work: the same token must mean the same trees.  `position` says, in terms of the caller, where the
    trees after a file begin.  A folder has one writer at a time: as a context, or by `finish`, it is let go.
    """

    def __init__(self, path: str | os.PathLike[str], token: str, shard_nodes: int, *, in_order: bool = False):
        _check_shard_nodes(shard_nodes)
        self.folder = _make_folder(path)
        self._lock = _lock_folder(self.folder)
        self.token, self.shard_nodes, self.in_order = token, int(shard_nodes), in_order
        self.written: list[Written] = []
        self.position: Any = None
        self._resume()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def _resume(self) -> None:
        """Take over the files of a killed writer, up to the last one that says where to go on."""
        found: list[Written] = []
        while True:
            path = os.path.join(self.folder, f"shard-{self.token}-{len(found):06d}.forest")
            if not os.path.exists(path):
                return
            try:
                forest, header = read_forest(path, MAX_BYTES)
            except ModelFileError:  # not whole: written anew, as all after it
                return
            found.append(_written(path, forest))
            if header.get("position") is not None:
                self.written, self.position = list(found), header["position"]

    def add(self, forest: Forest, position: Any = None) -> None:
        """Write these trees, in as many files as their nodes ask for."""
        pieces = [part for part in _cut(forest, self.shard_nodes) if part.n_trees]
        for part in pieces:
            last = part is pieces[-1]
            number = len(self.written)
            more = {"position": position if last else None}
            self.written.append(write_shard(self.folder, self.token, number, part, more))

    def finish(self) -> None:
        """Write the manifest, which makes it a store; then remove what earlier stores left in the folder."""
        write_manifest(self.folder, self.token, self.written, self.in_order)
        self._lock.close()


def write_manifest(folder: str, token: str, written: Sequence[Written], in_order: bool) -> None:
    """Name the files and all labels; `in_order` sorts the labels as readers do."""
    for what, kinds in zip(("name", "target"), zip(*(one.optional for one in written), strict=True), strict=False):
        if len(set(kinds)) > 1:
            raise ForestError(f"some of the trees have a {what} and some have none; give it to all or to none")
    total: dict[str, int] = {}
    for one in written:
        for word, n in zip(one.words, one.label_count.tolist(), strict=True):
            total[word] = total.get(word, 0) + n
    words = sorted(total, key=_natural) if in_order else list(total)
    header = {"token": token, "shards": [list(one.entry) for one in written]}
    arrays = pack_text("vocabulary", words)
    arrays["label_count"] = np.array([total[word] for word in words], np.int64)
    write_container(os.path.join(folder, MANIFEST), "forest store", STORE_VERSION, header, arrays)
    kept = {MANIFEST, *(one.entry.file for one in written)}
    for name in os.listdir(folder):
        if name not in kept and (_SHARD_NAME.match(name) or name.startswith(MANIFEST)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def _check_shard_nodes(shard_nodes: Any) -> None:
    if isinstance(shard_nodes, bool) or not isinstance(shard_nodes, (int, np.integer)) or shard_nodes < 1:
        raise ForestError(f"shard_nodes={shard_nodes!r}; wanted a whole number of 1 or more")


def _make_folder(path: str | os.PathLike[str]) -> str:
    """The folder of a new store, which may hold an old one and nothing else."""
    folder = os.path.abspath(os.fspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        others = [name for name in os.listdir(folder) if not (_SHARD_NAME.match(name) or name.startswith(MANIFEST))]
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{folder}: cannot be written ({told}); check the folder and the disk") from None
    if others:
        raise ModelFileError(f"{folder}: it holds files of others, such as {others[0]}; name an empty or new folder")
    return folder


def _lock_folder(folder: str) -> FolderLock:
    try:
        lock = FolderLock(folder)
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{folder}: cannot be written ({told}); check the folder") from None
    if not lock.held:
        raise ModelFileError(f"{folder}: somebody else is writing this store; wait for them, or name another folder")
    return lock


def _cut(forest: Forest, shard_nodes: int) -> list[Forest]:
    """Runs of trees, each as short as holds `shard_nodes` nodes; the last may hold fewer, or no tree at all."""
    cuts = [0]
    while cuts[-1] < forest.n_trees:
        wanted = forest.tree_start[cuts[-1]] + shard_nodes
        end = int(np.searchsorted(forest.tree_start, wanted))
        if end > forest.n_trees:
            break
        cuts.append(end)
    cuts.append(forest.n_trees)
    return [forest] if len(cuts) == 2 else [forest[lo:hi] for lo, hi in pairwise(cuts)]


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
