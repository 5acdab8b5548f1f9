"""The folder of a watcher that survives a crash: its start, a journal of what it took in, and a snapshot.

Trees are journaled as rows of patterns, all that the watcher reads of them, a batch at a time.  A batch is acknowledged
once it is on the disk.  The state is the last snapshot and the journal after it; it is also the start and the whole
journal, bit for bit, which `replay` goes through.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArboraError, ModelFileError
from ..files.journal import Journal, read_journal
from ..files.temporary import FolderLock
from .kernels.urns import Stream
from .watched_trees import WatchedTrees
from .watcher import Watcher

START, JOURNAL, SNAPSHOT = "start.arbora", "journal", "snapshot.arbora"
EVERY = 10_000  # trees between snapshots


class Place(NamedTuple):
    """How far a file of the stream was read."""

    source: str
    line: int  # lines that are done; a file that is read whole has none
    done: bool = False


class Batch(NamedTuple):
    """Trees of one entry of the journal, and what was said of them."""

    trees: WatchedTrees
    names: list[str]
    aside: list[str]  # reasons why input was set aside


class WatchLog:
    """A watcher whose every step is on the disk before it is acknowledged.

    Parameters
    ----------
    folder : path
        Where it is; made if it is not there.
    watcher : Watcher or None, default None
        The watcher of a new folder.  Of a folder that is there, the watcher is read from it, and this must be None.
    """

    def __init__(self, folder: str | os.PathLike[str], watcher: Watcher | None = None):
        self.folder = Path(folder)
        there = (self.folder / START).exists()
        if there == (watcher is not None):
            raise ArboraError(
                f"{folder}: a watcher lives there; leave out the new one, or name another folder"
                if there
                else f"{folder}: no watcher lives there; give one to begin with"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(str(self.folder))
        if not self._lock.held:
            raise ArboraError(f"{folder}: another process watches with it; wait until it ends, or copy the folder")
        if watcher is not None:
            watcher.save(self.folder / START)
        self.places: dict[str, Place] = {}
        self.n_aside = 0
        self._whole = True
        self.watcher, begin = self._newest()
        end = begin
        if (self.folder / JOURNAL).exists():
            for entry in read_journal(self.folder / JOURNAL, begin):
                self._take(entry.record)
                end = entry.end
        self._journal = Journal(self.folder / JOURNAL, end)
        self._saved_at = self.watcher.n_trees_

    def _newest(self) -> tuple[Watcher, int]:
        """The watcher of the snapshot, or of the start, and where the journal goes on from there."""
        path = self.folder / SNAPSHOT
        watcher, more = Watcher.load_with(path if path.exists() else self.folder / START)
        try:
            self.places = {name: Place(name, int(line), bool(done)) for name, line, done in more.get("places", [])}
            self.n_aside = int(more.get("aside", 0))
            return watcher, int(more.get("journal", 0))
        except (TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path}: no snapshot of a watcher ({error}); remove it to replay the journal"
            ) from None

    # ---- steps --------------------------------------------------------------------------------------------------

    def add(self, rows: Stream, names: Sequence[str], aside: Sequence[str] = (), places: Sequence[Place] = ()) -> Batch:
        """Take in a batch; it is on the disk when this returns.

        The record is written before the state changes: rows that the kernels cannot take never get here.
        """
        record = as_record(rows, names, aside, places)
        self._journal.append(record)
        batch = self._take(record)
        if self.watcher.n_trees_ - self._saved_at >= EVERY:
            self.snapshot()
        return batch

    def _take(self, record: dict[str, Any]) -> Batch:
        rows, names, aside, places = of_record(record, self.watcher)
        self._whole = False  # an interrupt in between leaves a state that is not to be saved
        trees = self.watcher.update_rows(rows)
        self.places.update({place.source: place for place in places})
        self.n_aside += len(aside)
        self._whole = True
        return Batch(trees, names, aside)

    def snapshot(self) -> None:
        """Save the state, so that it need not be computed from the journal again."""
        places = [list(place) for place in self.places.values()]
        self.watcher.save(self.folder / SNAPSHOT, journal=self._journal.end, places=places, aside=self.n_aside)
        self._saved_at = self.watcher.n_trees_

    def close(self) -> None:
        """Save the state and let the folder go."""
        if self._whole and self.watcher.n_trees_ > self._saved_at:
            self.snapshot()
        self._journal.close()
        self._lock.close()

    def __enter__(self) -> "WatchLog":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.close()


def replay(folder: str | os.PathLike[str]) -> Iterator[tuple[Watcher, Batch]]:
    """The whole journal from the start, batch by batch, with the watcher as it is after each."""
    watcher = Watcher.load(Path(folder, START))
    for entry in read_journal(Path(folder, JOURNAL)):
        rows, names, aside, _ = of_record(entry.record, watcher)
        yield watcher, Batch(watcher.update_rows(rows), names, aside)


# ---- records --------------------------------------------------------------------------------------------------------


def as_record(rows: Stream, names: Sequence[str], aside: Sequence[str], places: Sequence[Place]) -> dict[str, Any]:
    """A batch as JSON."""
    out: dict[str, Any] = {
        "names": list(names),
        "length": np.diff(rows.start).tolist(),
        "column": rows.column.tolist(),
        "size": rows.size.ravel().tolist(),
    }
    if aside:
        out["aside"] = list(aside)
    if places:
        out["places"] = [list(place) for place in places]
    return out


def of_record(record: dict[str, Any], watcher: Watcher) -> tuple[Stream, list[str], list[str], list[Place]]:
    """The batch of a record; raises where it is none, for kernels look at no bounds."""
    n_columns, n_families = len(watcher._urn.alpha), len(watcher._urn.strength)
    try:
        start = np.append(0, np.cumsum(np.array(record["length"], np.int64)))
        column = np.array(record["column"], np.int32)
        size = np.array(record["size"], np.int64).reshape(len(start) - 1, 3, n_families)
        names = [str(name) for name in record["names"]]
        fits = start[-1] == len(column) and (np.diff(start) >= 0).all() and len(names) == len(size)
        if not fits or (size < 0).any() or (column < 0).any() or (column >= n_columns).any():
            raise ValueError("sizes and columns that are not those of its model")
        return (
            Stream(start, column, size),
            names,
            [str(reason) for reason in record.get("aside", [])],
            [Place(str(name), int(line), bool(done)) for name, line, done in record.get("places", [])],
        )
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ModelFileError(f"a record of the journal does not fit its model ({error}); restore a copy") from None
