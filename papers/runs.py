"""Many fits, in a few processes, and what one fit is judged by."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from arbora import datasets
from arbora.errors import NotConvergedWarning, UnexplainedTreesWarning
from arbora.evaluate.metrics import silhouette_score, slot_label_counts
from arbora.forest.forest import Forest
from arbora.progress import Progress

from .results_cache import Kept, Timed
from .table import mean_std

Task = TypeVar("Task")
Result = TypeVar("Result")

_n_jobs = 1
_kept: Kept | None = None  # where runs are kept now
_spared = 0.0  # processor time of the runs that were found there


def use_processes(n_jobs: int) -> None:
    """Run fits in so many processes from now on; results do not depend on it."""
    global _n_jobs
    _n_jobs = max(1, n_jobs)


@contextlib.contextmanager
def keeping(path: Path) -> Iterator[None]:
    """Keep every run in a file while the block lasts; the file goes once the block has ended well."""
    global _kept
    _kept = Kept(path)
    try:
        yield
        _kept.forget()
    finally:
        _kept = None


def run_all(what: str, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """function(task) for every task, in order; `function` must be a function of a module, annotated.

    Runs that an interrupted command kept are not run again.
    """
    global _spared
    results: dict[int, Result] = {}
    with Progress(what, len(tasks), None) as bar:
        for n, task in enumerate(tasks):
            found = _kept.find(function, task) if _kept is not None else None
            if found is not None:
                results[n] = found.result
                _spared += found.seconds
                bar.advance()
        missing = [n for n in range(len(tasks)) if n not in results]
        for n, timed in _run(function, {n: tasks[n] for n in missing}):
            results[n] = timed.result
            if _kept is not None:
                _kept.add(function, tasks[n], timed)
            bar.advance()
    return [results[n] for n in range(len(tasks))]


def run_one(what: str, function: Callable[[Task], Result], task: Task) -> Result:
    """function(task), kept like the runs of `run_all`."""
    return run_all(what, function, [task])[0]


def _run(function: Callable[[Task], Result], tasks: dict[int, Task]) -> Iterator[tuple[int, Timed]]:
    """The results as they come, here or in processes of a pool."""
    if _n_jobs == 1 or len(tasks) < 2:
        for n, task in tasks.items():
            yield n, _uninterrupted(function, task)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
    with ProcessPoolExecutor(min(_n_jobs, len(tasks)), context, _enter) as pool:
        futures = {pool.submit(_time, function, task): n for n, task in tasks.items()}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _time(function: Callable[[Any], Any], task: Any) -> Timed:
    start = time.process_time()
    result = function(task)
    return Timed(result, time.process_time() - start)


def _uninterrupted(function: Callable[[Any], Any], task: Any) -> Timed:
    """A run during which Ctrl-C came does not count: fits end early by it, and do not say so."""
    heard: list[bool] = []

    def note(number: int, frame: Any) -> None:
        heard.append(True)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        return _time(function, task)
    old = signal.signal(signal.SIGINT, note)
    try:
        timed = _time(function, task)
    finally:
        signal.signal(signal.SIGINT, old)
    if heard:
        raise KeyboardInterrupt
    return timed


def _enter() -> None:
    """Make this process one of the pool: the parent hears Ctrl-C, and processes share the cores, not threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def cpu_seconds() -> float:
    """Processor time of this process, of those it has waited for, and of the runs that were kept before."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system + _spared


# ---- data -----------------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """Training and test trees, and the counts of the test trees that silhouettes need."""

    train: Forest
    test: Forest
    counts: Any


@cache
def load(name: str) -> Split:
    """A data set by name, once a process; "generated" is a small stand-in for the synthetic trees."""
    from . import synthetic_labels

    if name == "generated":
        forest = datasets.make_asymmetric_trees(20, random_state=0)
        train, test = forest.take(np.arange(0, len(forest), 2)), forest.take(np.arange(1, len(forest), 2))
    elif name == synthetic_labels.DATA:
        sizes = synthetic_labels.N_TRAIN, synthetic_labels.N_TEST
        train, test = (synthetic_labels.make_labelled_trees(n, random_state=k) for k, n in enumerate(sizes))
    else:
        read = {"synthetic": datasets.load_synthetic, "inex2005": datasets.load_inex2005}[name]
        train, test = read("train"), read("test")
    return Split(train, test, slot_label_counts(test))


# ---- results --------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """One fit, judged on the test trees; no silhouette where there is one cluster only."""

    labels: NDArray[np.int64]
    silhouette: float | None  # Eq. (11)
    nmi: float
    ari: float
    seconds: float  # processor time, test included
    n_groups: NDArray[np.int64]  # components with trees after each sweep; empty for finite models

    @property
    def n_clusters(self) -> int:
        """Clusters among the test trees."""
        return len(np.unique(self.labels))


def mean_silhouette(runs: Sequence[Run]) -> tuple[str, str]:
    """Mean and deviation of all runs, and how many have one cluster only: they fail, and count as 0."""
    alone = sum(run.silhouette is None for run in runs)
    return mean_std([run.silhouette or 0.0 for run in runs]), f" {alone}*" if alone else ""


def judge(data: Split, labels: Any, start: float, n_groups: Any = ()) -> Run:
    """Scores of labels of the test trees; `start` is the processor time when the fit began."""
    seconds = time.process_time() - start
    many = len(np.unique(labels)) > 1
    silhouette = silhouette_score(data.counts, labels, convention="paper") if many else None
    truth = data.test.target
    nmi, ari = normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels)
    return Run(np.asarray(labels), silhouette, float(nmi), float(ari), seconds, np.asarray(n_groups, np.int64))


def quietly(function: Callable[[], Result]) -> Result:
    """Call without the warnings that a fixed budget and maximum likelihood bring about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", UnexplainedTreesWarning)
        return function()
