"""A matrix of values of pairs, filled in blocks by threads, with progress; Ctrl-C keeps what is done in a file.

It does not depend on trees: `compare` maps pairs (row, column) to values, and says which are exact.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelFileError
from ...files.container import read_container, write_container
from ...progress import Progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Compare = Callable[[Ints], tuple[Floats, NDArray[np.bool_]]]

SAVE_EVERY = 30.0  # seconds between two versions of a file; more where writing one takes long
_KIND, _VERSION = "distances", 1
_WRITING_SHARE = 0.05  # of the time, at most, goes into writing


class Filling:
    """A matrix, nan where nothing is known yet; `half` if it is symmetric with zeros on its diagonal.

    `path` names a file that keeps what is done; `fingerprint` says what it belongs to.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        half: bool,
        path: str | os.PathLike[str] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.half, self.path, self.fingerprint = half, path, fingerprint
        self.value = np.full(shape, np.nan)
        self.n_inexact = 0
        if half:
            np.fill_diagonal(self.value, 0.0)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._saved_at, self._wait = time.monotonic(), SAVE_EVERY
        if path is not None and os.path.exists(path):
            self._read(path)

    def run(self, compare: Compare, block: int, n_threads: int, what: str, progress: bool | None) -> None:
        """Fill what is missing, `block` pairs at a time; an interrupt saves what is done and is raised again."""
        try:
            with Progress(what, len(self.value), progress) as bar:
                for _ in _in_threads(lambda i: self._fill_row(i, compare, block), len(self.value), n_threads):
                    bar.advance()
                    if self.path is not None and time.monotonic() - self._saved_at > self._wait:
                        self._save(self.path)
        except BaseException:
            self._stop.set()  # threads end with the block they are at
            if self.path is not None:
                self._save(self.path)
            raise

    def finish(self, keep: bool) -> None:
        """Remove the file, or make it whole if what was done since it was last written would be missed."""
        if self.path is not None and keep and time.monotonic() - self._saved_at > SAVE_EVERY:
            self._save(self.path)
        elif self.path is not None and not keep:
            Path(self.path).unlink(missing_ok=True)

    def _fill_row(self, i: int, compare: Compare, block: int) -> None:
        missing = np.flatnonzero(np.isnan(self.value[i, i + 1 if self.half else 0 :]))
        missing += i + 1 if self.half else 0
        for lo in range(0, len(missing), block):
            if self._stop.is_set():
                return
            at = missing[lo : lo + block]
            value, exact = compare(np.column_stack([np.full(len(at), i), at]))
            with self._lock:
                self.value[i, at] = value
                if self.half:
                    self.value[at, i] = value
                self.n_inexact += int((~exact).sum())

    # ---- the file -----------------------------------------------------------------------------------------------

    def _save(self, path: str | os.PathLike[str]) -> None:
        start = time.monotonic()
        with self._lock:
            value, n_inexact = self.value.copy(), self.n_inexact
        header = {"fingerprint": self.fingerprint, "n_inexact": n_inexact}
        write_container(path, _KIND, _VERSION, header, {"value": value})
        self._saved_at = time.monotonic()
        self._wait = max(SAVE_EVERY, (self._saved_at - start) / _WRITING_SHARE)

    def _read(self, path: str | os.PathLike[str]) -> None:
        try:
            _, header, arrays = read_container(path, _KIND)
        except ModelFileError as error:
            said = str(error).partition(";")[0]
            raise ModelFileError(
                f"{said}; there is nothing to continue from: delete the file, or name another"
            ) from None
        value = arrays.get("value", np.zeros(0))
        fits = (
            value.shape == self.value.shape and value.dtype == np.float64 and isinstance(header.get("n_inexact"), int)
        )
        if header.get("fingerprint") != self.fingerprint or not fits:
            raise ModelFileError(
                f"{path}: distances of other trees, or by other settings; wanted what an interrupted run of this same "
                "call left; delete the file or name another"
            )
        self.value, self.n_inexact = value.copy(), header["n_inexact"]


def _in_threads(work: Callable[[int], Any], n: int, threads: int) -> Iterator[Any]:
    """Results of work(0) .. work(n - 1) as they come; few are queued at a time, and none outlives an interrupt."""
    if threads == 1:
        yield from map(work, range(n))
        return
    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[Any]] = set()
        try:
            for i in range(n):
                running.add(pool.submit(work, i))
                if len(running) >= 4 * threads:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in running)
        finally:
            for future in running:
                future.cancel()
