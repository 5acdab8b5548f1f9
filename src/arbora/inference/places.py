"""Where chains run: in this process, in threads, in processes, on a cluster.

Each place is a context manager that gives a function `advance(end)`: it brings all chains to `end` sweeps and returns
their records, shorter ones if it was stopped.  Chains stay where they are between two calls.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from types import FrameType
from typing import Any, NamedTuple, Self, TypeAlias

from ..errors import ArboraError, ChainError
from ..progress import Progress
from . import distribute
from .chain import Chain, Plan, Sampler, advance
from .checkpoints import Stored
from .records import Record

log = logging.getLogger(__name__)

Advance: TypeAlias = Callable[[int], list[Record]]


class Interrupts:
    """Makes the first Ctrl-C a wish to stop between two sweeps; the second is what Ctrl-C was before."""

    def __init__(self) -> None:
        self.wanted = False
        self.before: Any = None

    def __enter__(self) -> Self:
        # Python lets only the main thread hear signals, and an ignored signal stays ignored.
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self.before = signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            self.before(number, frame)
        self.wanted = True
        log.warning("stopping after this sweep; press Ctrl-C again to abort")

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)


class Board:
    """The words beside the progress bar."""

    def __init__(self, bar: Progress, n_chains: int, n_sweeps: int) -> None:
        self.bar, self.n_sweeps = bar, n_sweeps
        self.sweeps = dict.fromkeys(range(n_chains), 0)

    def tell(self, sweeps: Mapping[int, int], info: Mapping[str, float]) -> None:
        self.sweeps.update(sweeps)
        words = [f"{name.removeprefix('n_').replace('_', ' ')} {value:.7g}" for name, value in list(info.items())[:3]]
        chains = "1 chain" if len(self.sweeps) == 1 else f"{len(self.sweeps)} chains"
        self.bar.done = sum(min(done, self.n_sweeps) for done in self.sweeps.values())
        self.bar.what = ", ".join([chains, f"sweep {min(self.sweeps.values())} of {self.n_sweeps}", *words])
        self.bar.show()


class Job(NamedTuple):
    """What is to be run, and who watches it."""

    sampler: Sampler[Any]
    plan: Plan
    n_chains: int
    interrupts: Interrupts
    board: Board

    def chains(self) -> list[Chain[Any]]:
        return [Chain(self.sampler, self.plan, number) for number in range(self.n_chains)]


@contextlib.contextmanager
def here(job: Job) -> Iterator[Advance]:
    """All chains in this process, a sweep of each in turn."""
    chains = job.chains()

    def to(end: int) -> list[Record]:
        try:
            advance(chains, end, lambda: job.interrupts.wanted, job.board.tell)
            for chain in chains:
                chain.save()
        except KeyboardInterrupt:
            if job.interrupts.wanted:
                raise  # the second one
            # Raised by the sampler in the midst of a sweep: its state may be half changed, and must not be written.
        return [chain.record for chain in chains]

    yield to


# ---- on a cluster ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def on_cluster(job: Job, cluster: distribute.Cluster) -> Iterator[Advance]:
    """Each chain is a task; a lost worker's chains are run again, from their checkpoints if there are any.

    Ctrl-C keeps the chains that are done, and of the others what they had before this call of `advance`; what their
    checkpoints hold stays for the next run.
    """
    sampler = cluster.keep(job.sampler)
    rest: dict[int, Stored] = {}  # where the chains stand, for tasks that find no checkpoint

    def to(end: int) -> list[Record]:
        runs = [(number, rest.get(number) if job.plan.folder is None else None) for number in range(job.n_chains)]
        futures = cluster.submit(_run_alone, runs, sampler, job.plan, end)
        while not all(future.done() for future in futures) and not job.interrupts.wanted:
            done = [future.done() for future in futures]
            job.board.tell({number: end for number, ready in enumerate(done) if ready}, {})
            time.sleep(0.1)
        rest.update({number: cluster.result(future) for number, future in enumerate(futures) if future.done()})
        cluster.client.cancel([future for future in futures if not future.done()])
        return [rest[number].record for number in sorted(rest)]

    yield to


def _run_alone(run: tuple[int, Stored | None], sampler: Sampler[Any], plan: Plan, end: int) -> Stored:
    """On a worker: one chain from where it rests to `end`."""
    chain = Chain(sampler, plan, *run)
    advance([chain], end, lambda: False, lambda *_: None)
    chain.save()
    return chain.at_rest()


# ---- in several threads ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def in_threads(job: Job, n_workers: int) -> Iterator[Advance]:
    """Each thread takes every `n_workers`-th chain; errors and Ctrl-C let all of them end their sweep and save."""
    chains = job.chains()

    def to(end: int) -> list[Record]:
        stop = threading.Event()
        news: dict[int, tuple[Mapping[int, int], Mapping[str, float]]] = {}  # by thread; told by this one alone

        def work(worker: int) -> None:
            mine = chains[worker::n_workers]
            advance(mine, end, stop.is_set, lambda *told: news.update({worker: told}))
            for chain in mine:
                chain.save()

        with ThreadPoolExecutor(n_workers) as pool:
            try:
                futures = {pool.submit(work, worker) for worker in range(n_workers)}
                pending = futures
                while pending:
                    done, pending = wait(pending, 0.1, FIRST_EXCEPTION)
                    for told in list(news.values()):
                        job.board.tell(*told)
                    job.board.bar.show()
                    if job.interrupts.wanted or any(future.exception() for future in done):
                        stop.set()
            finally:
                stop.set()
        for future in futures:
            future.result()
        return [chain.record for chain in chains]

    yield to


# ---- in several processes -------------------------------------------------------------------------------------------

_GO, _STOP, _QUIT = 0, 1, 2  # orders to processes: run, end after this sweep, end now
_order: Any = None  # in a process of a pool: the order, in memory shared with the parent
_news: Any = None  # the queue on which it tells how far it is
_chains: list[Chain[Any]] = []  # and its chains


@contextlib.contextmanager
def in_processes(job: Job, n_workers: int) -> Iterator[Advance]:
    """Each process takes every `n_workers`-th chain; errors and Ctrl-C let all of them end their sweep and save."""
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
    order = context.RawValue("b", _GO)  # without a lock, which a killed process could keep
    shares = [range(worker, job.n_chains, n_workers) for worker in range(n_workers)]
    records = [Record() for _ in range(job.n_chains)]
    with contextlib.closing(context.SimpleQueue()) as news, contextlib.ExitStack() as stack:
        # A pool for each process: its tasks find the chains that earlier ones left there.
        pools = [stack.enter_context(ProcessPoolExecutor(1, context, _enter, (order, news))) for _ in shares]
        start: list[Any] = [(job.sampler, job.plan, share) for share in shares]

        def to(end: int) -> list[Record]:
            with _sigint_held():
                futures = [pool.submit(_work, end, begin) for pool, begin in zip(pools, start, strict=True)]
            start[:] = [None] * n_workers
            pending = set(futures)
            while pending:
                done, pending = wait(pending, 0.1, FIRST_EXCEPTION)
                while not news.empty():
                    job.board.tell(*news.get())
                job.board.bar.show()
                if job.interrupts.wanted or any(future.exception() for future in done):
                    order.value = _STOP
            for share, future in zip(shares, futures, strict=True):
                for number, new in zip(share, _result(future), strict=True):
                    records[number].join(new)
            return records

        try:
            yield to
        except BaseException:
            order.value = _QUIT
            raise


@contextlib.contextmanager
def _sigint_held() -> Iterator[None]:
    """Processes started here are deaf to Ctrl-C from birth; the parent hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _result(future: "Future[list[Record]]") -> list[Record]:
    try:
        return future.result()
    except ArboraError:
        raise
    except BrokenProcessPool as error:
        raise ChainError(
            "a process that ran chains died: killed, out of memory, or started by a script without "
            "`if __name__ == '__main__':`; try n_jobs=1, or go on from the checkpoint"
        ) from error
    except Exception as error:  # all that samplers raise is a ChainError by now
        raise ChainError(f"the sampler cannot be sent to a process ({error}); use n_jobs=1") from error


def _enter(order: Any, news: Any) -> None:
    """Make this process one of ours."""
    global _order, _news
    _order, _news = order, news
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends Ctrl-C to us too; the parent decides
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    """End this process if its parent dies or says so, so that no chain runs on unnoticed."""
    parent = multiprocessing.parent_process()
    while parent is not None and not wait_for([parent.sentinel], 0.1):
        if _order.value == _QUIT:
            break
    os._exit(1)  # files are written whole or not at all, whenever this happens


def _work(end: int, begin: tuple[Sampler[Any], Plan, Sequence[int]] | None) -> list[Record]:
    """In a process: bring its chains to `end`, and return what is new of each."""
    if begin is not None:
        sampler, plan, numbers = begin
        _chains[:] = [Chain(sampler, plan, number) for number in numbers]
    sent = [(0, 0) if begin is not None else (chain.record.n_sweeps, chain.record.n_draws) for chain in _chains]
    advance(_chains, end, lambda: bool(_order.value), lambda *told: _news.put(told))
    for chain in _chains:
        chain.save()
    return [chain.record.since(*before) for chain, before in zip(_chains, sent, strict=True)]
