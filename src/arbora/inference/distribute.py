"""Work on the machines of a Dask cluster; it does not depend on trees, and of Dask it uses only the client given.

Everything a task needs can be computed again from what the scheduler holds, so a worker that dies takes nothing with
it but time.  The order of every sum is fixed by the data, so neither the number of workers nor their fate changes a
result in its last bit.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from ..errors import MissingDependencyError, SettingError

T = TypeVar("T")

PATIENCE = 60  # seconds without any worker
MANY_TASKS = 512  # of a pass, beyond which workers get fewer than two each
MOST_TURNS = 1.15  # of the busiest worker, for each that all would need if they were equally busy
ADDED_AT_ONCE = 4  # sums that one task adds up: a power of two, so that it is a part of the whole sum
FEW_SUMS = 16  # which one task adds up, to save the way to the scheduler and back

# Not an argument: fits run inside scikit-learn's searches and pipelines, which would not pass a cluster on.
_active: ContextVar["Cluster | None"] = ContextVar("arbora_cluster", default=None)


@contextlib.contextmanager
def distributed(client: Any) -> Iterator["Cluster"]:
    """Run passes over a `ForestStore` and chains of samplers on the workers of a Dask client, inside a ``with`` block.

    The store must be on a file system that all workers see under the same path.

    Parameters
    ----------
    client : distributed.Client or str
        The client, or the address of a scheduler.

    Yields
    ------
    Cluster
        What the block runs on.
    """
    opened = None
    if isinstance(client, str):
        client = opened = _connect(client)
    if not all(hasattr(client, name) for name in ("submit", "gather", "nthreads")):
        raise SettingError(f"distributed: found {type(client).__name__}, wanted a Dask client or a scheduler's address")
    before = _active.set(Cluster(client))
    try:
        yield Cluster(client)
    finally:
        _active.reset(before)
        if opened is not None:
            opened.close()


@contextlib.contextmanager
def in_our_words() -> Iterator[None]:
    """Inside this block, errors that only Dask raises become errors of ours."""
    try:
        yield
    except ImportError as error:
        raise SettingError(f"a worker lacks a package ({error}); install arbora[dask] on all of them") from None
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise SettingError(
            f"the workers of a task died again and again ({str(error).splitlines()[0]}); give them more memory"
        ) from None


def active() -> "Cluster | None":
    """The cluster of the block we are in, if we are in one."""
    return _active.get()


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError("a cluster needs Dask; install arbora[dask]") from None
    try:
        return Client(address, timeout=30)  # type: ignore[no-untyped-call]
    except (OSError, TypeError, ValueError, TimeoutError) as error:  # TypeError: tls without certificates
        raise SettingError(f"{address}: no scheduler answers there ({error}); start one with dask scheduler") from None


def reduce_pairwise(values: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Sum in the order of a balanced binary tree over the positions, holding about log2(n) partial sums.

    Sums of aligned runs of 2, 4, 8, ... values are parts of this tree, wherever they are computed; and rounding grows
    with the height of the tree, not with the number of values.

    >>> reduce_pairwise(["a", "b", "c", "d", "e"], lambda x, y: f"({x}{y})")
    '(((ab)(cd))e)'
    """
    open_sums: list[tuple[int, T]] = []
    for value in values:
        level = 0
        while open_sums and open_sums[-1][0] == level:
            value = add(open_sums.pop()[1], value)
            level += 1
        open_sums.append((level, value))
    if not open_sums:
        raise ValueError("nothing to sum")
    total = open_sums.pop()[1]
    while open_sums:
        total = add(open_sums.pop()[1], total)
    return total


class Cluster:
    """A Dask client as this package uses it: values kept on workers, maps and sums over runs of items."""

    def __init__(self, client: Any):
        self.client = client

    def keep(self, value: T) -> Any:
        """A handle to a value on the cluster; it comes back from the scheduler if the worker that has it is lost."""
        # Not scattered: scattered data die with their worker. Tables of some megabytes are what we want to send.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(_itself, value, pure=False)

    def workers(self) -> list[str]:
        """Addresses of the workers, in an order that stays while they do."""
        # Not by scheduler_info: the client refreshes that now and then, and may leave the workers out as we look.
        return sorted(self.client.nthreads())

    def run_length(self, n_items: int) -> int:
        """Items that make one task: a power of two, as large as leaves no worker without work for long.

        Of many workers each gets fewer tasks, since a task costs the scheduler about a millisecond.
        """
        n_workers = max(1, len(self.workers()))
        n_tasks = max(n_workers, min(2 * n_workers, MANY_TASKS))
        length = 1 << (max(1, n_items // n_tasks).bit_length() - 1)
        while length > 1 and _turns(n_items, length, n_workers) > MOST_TURNS and n_items < MANY_TASKS * length:
            length //= 2
        return length

    def submit(self, function: Callable[..., T], runs: Sequence[Any], *kept: Any) -> list[Any]:
        """Futures of ``function(run, *kept)``; a run goes to the same worker each time, as long as that lives."""
        workers = self.workers() or self._wait_for_workers()
        futures: list[Any] = []
        bounds = [-(-number * len(runs) // len(workers)) for number in range(len(workers) + 1)]
        for home, lo, hi in zip(workers, bounds, bounds[1:], strict=False):  # neighbours together: sums travel less
            columns = [runs[lo:hi], *([value] * (hi - lo) for value in kept)]
            options = {"workers": [home], "allow_other_workers": True, "pure": False, "retries": 2}
            futures += self.client.map(function, *columns, **options) if lo < hi else []
        return futures

    def _wait_for_workers(self) -> list[str]:
        """Workers that come, or come back: one that was lost may be started again."""
        with contextlib.suppress(TimeoutError):
            self.client.wait_for_workers(1, timeout=PATIENCE)
        workers = self.workers()
        if not workers:
            raise SettingError(f"the cluster had no workers for {PATIENCE} seconds; start some, and call this again")
        return workers

    def map(self, function: Callable[..., T], runs: Sequence[Any], *kept: Any) -> Iterator[T]:
        """``function(run, *kept)`` of every run, in order; each result leaves the cluster as it is taken."""
        futures = self.submit(function, runs, *kept)
        for number, future in enumerate(futures):
            futures[number] = None  # so that the cluster may release it
            yield self.result(future)

    def sum(self, function: Callable[..., T], runs: Sequence[Any], add: Callable[[T, T], T], *kept: Any) -> T:
        """The sum over all runs, added up on the workers in the order of `reduce_pairwise`."""
        sums = self.submit(function, runs, *kept)
        while len(sums) > 1:
            n_at_once = len(sums) if len(sums) <= FEW_SUMS else ADDED_AT_ONCE
            some = [sums[lo : lo + n_at_once] for lo in range(0, len(sums), n_at_once)]
            sums = self.client.map(partial(reduce_pairwise, add=add), some, pure=False, retries=2)
            del some  # or the cluster would keep what is added up
        return self.result(sums[0])

    def result(self, future: Any) -> Any:
        """What a task gave."""
        with in_our_words():
            return self.client.gather(future)


def _turns(n_items: int, length: int, n_workers: int) -> float:
    n_tasks = -(-n_items // length)
    return -(-n_tasks // n_workers) * n_workers / n_tasks


def _itself(value: T) -> T:
    return value
