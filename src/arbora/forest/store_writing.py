"""Writing a store file by file, such that a killed writer can go on."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..errors import ForestError, ModelFileError
from ..files.container import MAX_BYTES
from ..files.own_outputs import MANIFEST
from ..files.temporary import FolderLock
from ..files.urls import as_given, is_url
from .files import read_forest, write_forest
from .forest import Forest
from .store_manifest import SHARD_NAME, Entry, Written, write_manifest


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
    held = tuple((name, "" if one.missing.all() else one.kind) for name, one in forest.content.items())
    return Written(entry, forest.vocabulary, count, (forest.name is not None, forest.target is not None), kind, held)


def write_partition(
    items: Iterable[Any], read: Callable[[Any], Any] | None, folder: str, token: str, number: int, shard_nodes: int
) -> list[Written]:
    """On a worker: write the documents of one partition."""
    try:
        forest = Forest.from_nested(list(items) if read is None else [read(item) for item in items])
    except ForestError as error:
        raise ForestError(f"partition {number} of the bag, {error}") from None
    pieces = [part for part in cut_by_nodes(forest, shard_nodes) if part.n_trees]
    return [write_shard(folder, token, number * 10**9 + x, _in_use(part), {}) for x, part in enumerate(pieces)]


def _in_use(forest: Forest) -> Forest:
    """The same trees over the labels they use."""
    used = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels) > 0
    return forest.with_vocabulary([forest.vocabulary[m] for m in np.flatnonzero(used)])


class StoreWriter:
    """Writes a store file by file; one with the same token continues where a killed one stopped.

    `token` names the work: the same token must mean the same trees.  `position` says, in terms of the caller, where the
    trees after a file begin.  A folder has one writer at a time: as a context, or by `finish`, it is let go.
    """

    def __init__(self, path: str | os.PathLike[str], token: str, shard_nodes: int, *, in_order: bool = False):
        check_shard_nodes(shard_nodes)
        self.folder = make_folder(path)
        self._lock = lock_folder(self.folder)
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
        pieces = [part for part in cut_by_nodes(forest, self.shard_nodes) if part.n_trees]
        for part in pieces:
            last = part is pieces[-1]
            number = len(self.written)
            more = {"position": position if last else None}
            self.written.append(write_shard(self.folder, self.token, number, part, more))

    def finish(self) -> None:
        """Write the manifest, which makes it a store; then remove what earlier stores left in the folder."""
        write_manifest(self.folder, self.token, self.written, self.in_order)
        self._lock.close()


def check_shard_nodes(shard_nodes: Any) -> None:
    if isinstance(shard_nodes, bool) or not isinstance(shard_nodes, (int, np.integer)) or shard_nodes < 1:
        raise ForestError(f"shard_nodes={shard_nodes!r}; wanted a whole number of 1 or more")


def make_folder(path: str | os.PathLike[str]) -> str:
    """The folder of a new store, which may hold an old one and nothing else."""
    if is_url(as_given(path)):
        raise ModelFileError(
            f"{as_given(path)}: a store is written to a folder of this machine; copy it there afterwards"
        )
    folder = os.path.abspath(os.fspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        others = [name for name in os.listdir(folder) if not (SHARD_NAME.match(name) or name.startswith(MANIFEST))]
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{folder}: cannot be written ({told}); check the folder and the disk") from None
    if others:
        raise ModelFileError(f"{folder}: it holds files of others, such as {others[0]}; name an empty or new folder")
    return folder


def lock_folder(folder: str) -> FolderLock:
    try:
        lock = FolderLock(folder)
    except OSError as error:
        told = str(error.strerror or error).lower()
        raise ModelFileError(f"{folder}: cannot be written ({told}); check the folder") from None
    if not lock.held:
        raise ModelFileError(f"{folder}: somebody else is writing this store; wait for them, or name another folder")
    return lock


def cut_by_nodes(forest: Forest, shard_nodes: int) -> list[Forest]:
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
