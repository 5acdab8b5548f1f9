"""Markov chains as a loop: many at once, progress, Ctrl-C, checkpoints; they do not depend on trees.

Chain k depends on the sampler, the seed and k alone: not on how many chains there are, on the processes that run them,
or on how often a run was killed and resumed.
"""

import logging
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ChainError
from ..progress import Progress
from . import distribute, places
from .chain import Plan, Sampler, State
from .checkpoints import stored_seed
from .records import Record
from .schedules import Schedule, Seed
from .settling import Settled
from .traces import Trace, load_trace

__all__ = ["Sampler", "Settled", "Trace", "load_trace", "run_chains"]

log = logging.getLogger(__name__)

MOST_CHAINS, MOST_SWEEPS = 10**4, 10**9  # each chain takes memory from the start; more would never end


def run_chains(
    sampler: Sampler[State],
    *,
    n_chains: int = 1,
    n_sweeps: int,
    burn_in: int | None = 0,
    thin: int = 1,
    seed: Any,
    until: Settled | None = None,
    n_jobs: int | None = None,
    threads: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    fingerprint: str = "",
    progress: bool | None = None,
) -> Trace:
    """Run `n_chains` chains of `n_sweeps` sweeps, and keep the last of every `thin` sweeps after `burn_in`.

    `burn_in=None` is half of the sweeps that were run, however many; all draws are in memory until then.

    `seed` is None, an integer, a Generator, a SeedSequence, or the `seed` of an earlier trace.  With `n_jobs` above 1
    (-1: all cores) chains run in that many processes, or `threads` if the sampler lets go of Python's lock; the result
    is the same, bit for bit.  Ctrl-C ends the run after the sweep and returns what there is (in the burn-in, the state
    at hand as the only draw of each chain); a second one aborts.

    `until` is a rule that ends the run before `n_sweeps`; it compares draws of ``label`` or ``levels`` and the
    ``log_joint`` of all chains, every few sweeps.  ``trace.settled`` says whether it did.

    `checkpoint` is a folder to which each chain is written every `checkpoint_every` seconds.  The same call resumes it;
    a larger `n_sweeps` or `n_chains` extends it; another seed, burn-in, thinning or `fingerprint` (name it after data
    and model) is refused.  `seed=None` continues with the seed stored there.
    """
    recorded = _check(n_chains, n_sweeps, 0 if burn_in is None else burn_in, thin, checkpoint_every)
    n_workers = min(_n_processes(n_jobs), n_chains)
    folder = None if checkpoint is None else _made(Path(checkpoint))
    stored = stored_seed(folder) if folder is not None and seed is None else None
    plan = Plan(n_sweeps, recorded, stored or Seed.of(seed, n_chains), fingerprint, folder, checkpoint_every)
    n_workers = 1 if plan.finished(n_chains) else n_workers  # all there is to do is to read files

    def trace_of(records: Sequence[Record], most: int, settled: bool | None) -> Trace:
        length = min([most, *(record.n_sweeps for record in records)])
        schedule = recorded.second_half(length) if burn_in is None else recorded
        short = len(records) < n_chains
        return Trace.of(records, most, schedule, plan.seed, short, recorded, settled)

    started = time.monotonic()
    with (
        Progress("sampling", n_chains * n_sweeps, progress, at_most=until is not None) as bar,
        places.Interrupts() as interrupts,
        _place(sampler, plan, n_chains, n_workers, threads, interrupts, bar) as advance,
    ):
        most, settled = n_sweeps, False if until is not None and until.agree else None
        for end in [n_sweeps] if until is None else until.looks(n_sweeps):
            records = [record for record in advance(end) if record.n_sweeps]
            if len(records) < n_chains or min(record.n_sweeps for record in records) < end:
                break  # interrupted
            if until is not None and until.holds(trace_of(records, end, None)):
                most, settled = end, True
                break
            if until is not None and until.max_time is not None and time.monotonic() - started >= until.max_time:
                most = end
                break
            if interrupts.wanted:
                break
    if not records:
        raise KeyboardInterrupt  # there is nothing to return
    trace = trace_of(records, most, settled)
    _log_ending(trace, n_chains, n_sweeps, 0 if burn_in is None else burn_in)
    return trace


def _place(
    sampler: Sampler[State],
    plan: Plan,
    n_chains: int,
    n_workers: int,
    threads: bool,
    interrupts: places.Interrupts,
    bar: Progress,
) -> AbstractContextManager[places.Advance]:
    """Where the chains run."""
    job = places.Job(sampler, plan, n_chains, interrupts, places.Board(bar, n_chains, plan.n_sweeps))
    cluster = distribute.active()
    if cluster is not None and n_chains > 1 and not plan.finished(n_chains):
        return places.on_cluster(job, cluster)
    if n_workers == 1:
        return places.here(job)
    return places.in_threads(job, n_workers) if threads else places.in_processes(job, n_workers)


def _log_ending(trace: Trace, n_chains: int, n_sweeps: int, burn_in: int) -> None:
    """Say how a run ended that did not end as planned."""
    if trace.interrupted and max(trace.n_sweeps) <= burn_in:
        log.warning(
            "interrupted in the burn-in: keeping the last of %d sweeps, which may be far from typical",
            trace.n_sweeps[0],
        )
    elif trace.interrupted:
        log.warning("interrupted: keeping %s of %d sweeps", ", ".join(map(str, trace.n_sweeps)), n_sweeps)
    if trace.n_chains < n_chains:
        log.warning("interrupted: keeping %d of %d chains", trace.n_chains, n_chains)
    if trace.settled:
        log.info("the chains had settled after %d of at most %d sweeps", max(trace.n_sweeps), n_sweeps)


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
