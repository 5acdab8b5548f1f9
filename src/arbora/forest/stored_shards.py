"""The shards of a store: a sequence of which those that fit into memory stay there."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

from ..inference import distribute
from .content_rows import ContentRows, Wanted
from .forest import Forest
from .sharing import SharedForest, iter_shards

if TYPE_CHECKING:
    from .store import ForestStore


class StoredShards(Sequence[SharedForest]):
    """The shards of a store; those that fit into its `memory` stay there, the others are made when asked for.

    The first ones stay, not the last used: passes come in order, so the last used would always be the wrong ones.
    """

    def __init__(
        self,
        store: "ForestStore",
        n_slots: int,
        max_units: int,
        shared: bool,
        structure: bool,
        wanted: tuple[Wanted, ...] = (),
    ):
        self.store, self.settings, self.structure = store, (n_slots, max_units, shared), structure
        self.wanted = wanted
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
        self.recent: OrderedDict[int, tuple[Forest, ContentRows | None]] = OrderedDict()
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
        asked = (store.sha256, store.path, store.memory, store.max_bytes, *self.settings, self.structure, self.wanted)
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
            forest, rows = self._columns(number)
            found = next(iter_shards(forest.arrays, *self.settings, lo, rows))
            self._keep(number, lo, found)
        return found

    def __iter__(self) -> Iterator[SharedForest]:
        return (self[s] for s in range(len(self)))

    def _plan(self, number: int) -> list[int]:
        """Where the trees of one file are cut."""
        cut = [0]
        forest, rows = self._columns(number)
        for shard in iter_shards(forest.arrays, *self.settings, content=rows):
            self._keep(number, cut[-1], shard)
            cut.append(cut[-1] + shard.n_trees)
        return cut

    def _columns(self, number: int) -> tuple[Forest, ContentRows | None]:
        """The forest of a file and its contents; a few stay for other shards of the file, also of other threads."""
        with self.lock:
            if number not in self.recent:
                forest = self.store.part(number, columns_only=True, content=bool(self.wanted))
                self.recent[number] = forest, forest.rows(self.wanted)
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
        _guest[1].__dict__.update(state)  # what came before the files were cut did not hold the place
        return _guest[1]


def _plan_on_worker(number: int, shards: StoredShards) -> list[int]:
    return shards._plan(number)
