"""Markov chains as a loop: many at once, progress, Ctrl-C, checkpoints; it knows nothing of trees.

Chain k depends on the sampler, the seed and k alone: not on how many chains there are, on the processes that run them,
or on how often a run was killed and resumed.
"""

import contextlib
import logging
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArboraError, ChainError
from ..progress import Progress
from . import distribute
from .traces import Checkpoint, Record, Schedule, Seed, Trace, load_trace, stored_seed

__all__ = ["Sampler", "Trace", "load_trace", "run_chains"]

log = logging.getLogger(__name__)

State = TypeVar("State")

MOST_CHAINS, MOST_SWEEPS = 10**4, 10**9  # each chain takes memory from the start; more would never end


class Sampler(Protocol[State]):
    """What a model must offer to be sampled.

    It holds its data and nothing that changes: all that the next sweep depends on is in the state and the generator.
    To run in processes it must pickle; to be resumed bit for bit, ``unpack(pack(state))`` must go on just as `state`.
    """

    def init(self, rng: np.random.Generator) -> State:
        """A state to start from."""
        ...

    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Mapping[str, float]]:
        """The state after one sweep, and numbers to watch, under the same names each time."""
        ...

    def draw(self, state: State) -> Mapping[str, NDArray[Any]]:
        """What is kept of a state; shapes may vary from draw to draw, names and dtypes may not."""
        ...

    def pack(self, state: State) -> Mapping[str, NDArray[Any]]:
        """All of a state, as arrays."""
        ...

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The state that was packed."""
        ...


def run_chains(
    sampler: Sampler[State],
    *,
    n_chains: int = 1,
    n_sweeps: int,
    burn_in: int = 0,
    thin: int = 1,
    seed: Any,
    n_jobs: int | None = None,
    threads: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    fingerprint: str = "",
    progress: bool | None = None,
) -> Trace:
    """Run `n_chains` chains of `n_sweeps` sweeps, and keep the last of every `thin` sweeps after `burn_in`.

    `seed` is None, an integer, a Generator, a SeedSequence, or the `seed` of an earlier trace.  With `n_jobs` above 1
    (-1: all cores) chains run in that many processes, or `threads` if the sampler lets go of Python's lock; the result
    is the same, bit for bit.  Ctrl-C ends the run after the sweep and returns what there is (in the burn-in, the state
    at hand as the only draw of each chain); a second one aborts.

    `checkpoint` is a folder to which each chain is written every `checkpoint_every` seconds.  The same call resumes it;
    a larger `n_sweeps` or `n_chains` extends it; another seed, burn-in, thinning or `fingerprint` (name it after data
    and model) is refused.  `seed=None` goes on with the seed stored there.
    """
    schedule = _check(n_chains, n_sweeps, burn_in, thin, checkpoint_every)
    n_workers = min(_n_processes(n_jobs), n_chains)
    folder = None if checkpoint is None else _made(Path(checkpoint))
    stored = stored_seed(folder) if folder is not None and seed is None else None
    plan = _Plan(n_sweeps, schedule, stored or Seed.of(seed, n_chains), fingerprint, folder, checkpoint_every)
    if n_workers > 1 and plan.finished(n_chains):
        n_workers = 1  # all there is to do is to read files
    with Progress("sampling", n_chains * n_sweeps, progress) as bar, _Interrupts() as interrupts:
        board = _Board(bar, n_chains, n_sweeps)
        cluster = distribute.active()
        if cluster is not None and n_chains > 1 and not plan.finished(n_chains):
            records = _run_on_cluster(sampler, plan, n_chains, cluster, interrupts, board)
        elif n_workers > 1 and threads:
            records = _run_in_threads(sampler, plan, n_chains, n_workers, interrupts, board)
        elif n_workers > 1:
            records = _run_in_processes(sampler, plan, n_chains, n_workers, interrupts, board)
        else:
            records = _run_here(sampler, plan, n_chains, interrupts, board)
    records = [record for record in records if record.n_sweeps]
    if not records:
        raise KeyboardInterrupt  # there is nothing to return
    trace = Trace.of(records, n_sweeps, schedule, plan.seed, interrupted=len(records) < n_chains)
    if trace.schedule != schedule:
        log.warning(
            "interrupted in the burn-in: keeping the last of %d sweeps, which may be far from typical",
            trace.n_sweeps[0],
        )
    elif trace.interrupted:
        log.warning("interrupted: keeping %s of %d sweeps", ", ".join(map(str, trace.n_sweeps)), n_sweeps)
    if len(records) < n_chains:
        log.warning("interrupted: keeping %d of %d chains", len(records), n_chains)
    return trace


def _check(n_chains: int, n_sweeps: int, burn_in: int, thin: int, checkpoint_every: float) -> Schedule:
    for name, value, least in [
        ("n_chains", n_chains, 1),
        ("n_sweeps", n_sweeps, 1),
        ("thin", thin, 1),
        ("burn_in", burn_in, 0),
    ]:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name}={value!r}; wanted a whole number of {least} or more")
    if n_chains > MOST_CHAINS or n_sweeps > MOST_SWEEPS:
        raise ValueError(
            f"n_chains={n_chains}, n_sweeps={n_sweeps}; wanted {MOST_CHAINS:,} and {MOST_SWEEPS:,} at most"
        )
    schedule = Schedule(int(burn_in), int(thin))
    if schedule.n_kept(n_sweeps) == 0:
        raise ValueError(f"n_sweeps={n_sweeps}, burn_in={burn_in}, thin={thin} keep nothing; raise n_sweeps")
    if not checkpoint_every >= 0:
        raise ValueError(f"checkpoint_every={checkpoint_every!r}; wanted seconds, 0 or more")
    return schedule


def _n_processes(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}; wanted None, a number of processes, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ChainError(f"{folder}: not a folder that can be written ({error.strerror}); give another") from None
    return folder


# ---- one chain ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """What is asked of every chain."""

    n_sweeps: int
    schedule: Schedule
    seed: Seed
    fingerprint: str
    folder: Path | None
    every: float

    def checkpoint(self, chain: int) -> Checkpoint | None:
        if self.folder is None:
            return None
        asked = {"fingerprint": self.fingerprint, "seed": self.seed.to_json(), **self.schedule._asdict()}
        return Checkpoint(self.folder, chain, asked)

    def finished(self, n_chains: int) -> bool:
        """Whether checkpoints hold all that is asked."""
        checkpoints = (self.checkpoint(chain) for chain in range(n_chains))
        return all(checkpoint is not None and checkpoint.n_sweeps() >= self.n_sweeps for checkpoint in checkpoints)


class _Chain(Generic[State]):
    """One chain on its way: a generator, a state, and what is kept."""

    state: State

    def __init__(self, sampler: Sampler[State], plan: _Plan, number: int) -> None:
        self.sampler, self.plan, self.number = sampler, plan, number
        self.checkpoint = plan.checkpoint(number)
        stored = None if self.checkpoint is None else self.checkpoint.read()
        self.record = Record() if stored is None else stored.record
        self.rng = plan.seed.generator(number, None if stored is None else stored.generator)
        with _blamed(f"chain {number}, start"):
            if stored is None:
                self.state = sampler.init(self.rng)
            elif self.record.n_sweeps < plan.n_sweeps:
                self.state = sampler.unpack(stored.state)
        self.saved, self.saved_at = self.record.n_sweeps, time.monotonic()

    def sweep(self) -> Mapping[str, float]:
        """One more sweep, recorded once it is complete."""
        number = self.record.n_sweeps + 1
        with _blamed(f"chain {self.number}, sweep {number}"):
            self.state, told = self.sampler.step(self.rng, self.state)
            info = {name: float(value) for name, value in told.items()}
            if math.isnan(info.get("log_joint", 0.0)):
                raise ChainError("log_joint is not a number; please report this")
            kept = self.sampler.draw(self.state) if self.plan.schedule.keeps(number) else None
            self.record.add(info, kept)
        if self.checkpoint is not None and time.monotonic() - self.saved_at >= self.plan.every:
            self.save()
        return info

    def keep_last(self) -> None:
        """Being stopped, keep the present state, in case that no other was kept."""
        if 0 < self.record.n_sweeps < self.plan.n_sweeps:
            with _blamed(f"chain {self.number}, last draw"):
                self.record.last = {name: np.array(value) for name, value in self.sampler.draw(self.state).items()}

    def save(self) -> None:
        """Write what is not on disk yet; only ever between two sweeps."""
        if self.checkpoint is None or self.record.n_sweeps == self.saved:
            return
        with _blamed(f"chain {self.number}, checkpoint"):
            self.checkpoint.write(self.record, self.rng, self.sampler.pack(self.state))
        self.saved, self.saved_at = self.record.n_sweeps, time.monotonic()


@contextlib.contextmanager
def _blamed(where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = str(error) if isinstance(error, ArboraError) else f"{type(error).__name__}: {error}"
        raise ChainError(f"{where}: {told}") from error


Tell: TypeAlias = Callable[[Mapping[int, int], Mapping[str, float]], None]  # sweeps done by chain, and the latest info


def _advance(chains: Sequence[_Chain[Any]], n_sweeps: int, stopped: Callable[[], bool], tell: Tell) -> None:
    """Bring all chains to `n_sweeps`, a sweep of each in turn, so that they are of one length if stopped."""
    told_at = time.monotonic()
    for sweep in range(min(chain.record.n_sweeps for chain in chains), n_sweeps):
        for chain in [chain for chain in chains if chain.record.n_sweeps <= sweep]:
            if stopped():
                for one in chains:
                    one.keep_last()
                return
            info = chain.sweep()
            if time.monotonic() - told_at > 0.1:
                tell({chain.number: chain.record.n_sweeps for chain in chains}, info)
                told_at = time.monotonic()


# ---- in this process ------------------------------------------------------------------------------------------------


class _Interrupts:
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


class _Board:
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


def _run_here(
    sampler: Sampler[State], plan: _Plan, n_chains: int, interrupts: _Interrupts, board: _Board
) -> list[Record]:
    chains = [_Chain(sampler, plan, number) for number in range(n_chains)]
    try:
        _advance(chains, plan.n_sweeps, lambda: interrupts.wanted, board.tell)
        for chain in chains:
            chain.save()
    except KeyboardInterrupt:
        if interrupts.wanted:
            raise  # the second one
        # Raised by the sampler in the midst of a sweep: its state may be half changed, and must not be written.
    return [chain.record for chain in chains]


# ---- on a cluster ---------------------------------------------------------------------------------------------------


def _run_on_cluster(
    sampler: Sampler[State],
    plan: _Plan,
    n_chains: int,
    cluster: distribute.Cluster,
    interrupts: _Interrupts,
    board: _Board,
) -> list[Record]:
    """Each chain is a task; a lost worker's chains are run again, from their checkpoints if there are any.

    Ctrl-C keeps the chains that are done; of the others, what their checkpoints hold stays for the next call.
    """
    futures = cluster.submit(_run_alone, range(n_chains), cluster.keep(sampler), plan)
    while not all(future.done() for future in futures) and not interrupts.wanted:
        done = [future.done() for future in futures]
        board.tell({number: plan.n_sweeps for number, ready in enumerate(done) if ready}, {})
        time.sleep(0.1)
    records = [cluster.result(future) for future in futures if future.done()]
    cluster.client.cancel([future for future in futures if not future.done()])
    return records


def _run_alone(number: int, sampler: Sampler[State], plan: _Plan) -> Record:
    """On a worker: one chain from start to end."""
    chain = _Chain(sampler, plan, number)
    _advance([chain], plan.n_sweeps, lambda: False, lambda *_: None)
    chain.save()
    return chain.record


# ---- in several threads ---------------------------------------------------------------------------------------------


def _run_in_threads(
    sampler: Sampler[State], plan: _Plan, n_chains: int, n_workers: int, interrupts: _Interrupts, board: _Board
) -> list[Record]:
    """Each thread takes every `n_workers`-th chain; errors and Ctrl-C let all of them end their sweep and save."""
    chains = [_Chain(sampler, plan, number) for number in range(n_chains)]
    stop = threading.Event()
    news: dict[int, tuple[Mapping[int, int], Mapping[str, float]]] = {}  # by thread; told by this one alone

    def work(worker: int) -> None:
        mine = chains[worker::n_workers]
        _advance(mine, plan.n_sweeps, stop.is_set, lambda *told: news.update({worker: told}))
        for chain in mine:
            chain.save()

    with ThreadPoolExecutor(n_workers) as pool:
        try:
            futures = {pool.submit(work, worker) for worker in range(n_workers)}
            pending = futures
            while pending:
                done, pending = wait(pending, 0.1, FIRST_EXCEPTION)
                for told in list(news.values()):
                    board.tell(*told)
                board.bar.show()
                if interrupts.wanted or any(future.exception() for future in done):
                    stop.set()
        finally:
            stop.set()
    for future in futures:
        future.result()
    return [chain.record for chain in chains]


# ---- in several processes -------------------------------------------------------------------------------------------

_GO, _STOP, _QUIT = 0, 1, 2  # orders to processes: run, end after this sweep, end now
_order: Any = None  # in a process of the pool: the order, in memory shared with the parent
_news: Any = None  # and the queue on which it tells how far it is


def _run_in_processes(
    sampler: Sampler[State], plan: _Plan, n_chains: int, n_workers: int, interrupts: _Interrupts, board: _Board
) -> list[Record]:
    """Each process takes every `n_workers`-th chain; errors and Ctrl-C let all of them end their sweep and save."""
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
    order = context.RawValue("b", _GO)  # without a lock, which a killed process could keep
    shares = [range(worker, n_chains, n_workers) for worker in range(n_workers)]
    with (
        contextlib.closing(context.SimpleQueue()) as news,
        ProcessPoolExecutor(n_workers, context, _enter, (order, news)) as pool,
    ):
        try:
            with _sigint_held():
                futures = [pool.submit(_work, sampler, plan, share) for share in shares]
            pending = set(futures)
            while pending:
                done, pending = wait(pending, 0.1, FIRST_EXCEPTION)
                while not news.empty():
                    board.tell(*news.get())
                board.bar.show()
                if interrupts.wanted or any(future.exception() for future in done):
                    order.value = _STOP
        except BaseException:
            order.value = _QUIT
            raise
    numbers = [number for share in shares for number in share]
    records = [record for future in futures for record in _result(future)]
    return [record for _, record in sorted(zip(numbers, records, strict=True), key=lambda pair: pair[0])]


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
    """Make this process one of the pool."""
    global _order, _news
    _order, _news = order, news
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends Ctrl-C to us too; the parent decides
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    """End this process if its parent dies or says so, so that no chain goes on unseen."""
    parent = multiprocessing.parent_process()
    while parent is not None and not wait_for([parent.sentinel], 0.1):
        if _order.value == _QUIT:
            break
    os._exit(1)  # files are written whole or not at all, whenever this happens


def _work(sampler: Sampler[State], plan: _Plan, numbers: Sequence[int]) -> list[Record]:
    chains = [_Chain(sampler, plan, number) for number in numbers]
    _advance(chains, plan.n_sweeps, lambda: bool(_order.value), lambda *told: _news.put(told))
    for chain in chains:
        chain.save()
    return [chain.record for chain in chains]
