"""Many fits, in a few processes, and what one fit is judged by."""

import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from .. import datasets
from ..errors import NotConvergedWarning, UnexplainedTreesWarning
from ..forest import Forest
from ..metrics import silhouette_score, slot_label_counts
from ..progress import Progress

Task = TypeVar("Task")
Result = TypeVar("Result")

_n_jobs = 1


def use_processes(n_jobs: int) -> None:
    """Run fits in so many processes from now on; results do not depend on it."""
    global _n_jobs
    _n_jobs = max(1, n_jobs)


def run_all(what: str, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """function(task) for every task, in order; `function` must be a function of a module."""
    with Progress(what, len(tasks), None) as bar:
        if _n_jobs == 1 or len(tasks) < 2:
            results = []
            for task in tasks:
                results.append(function(task))
                bar.advance()
            return results
        context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
        with ProcessPoolExecutor(min(_n_jobs, len(tasks)), context, _enter) as pool:
            futures = [pool.submit(function, task) for task in tasks]
            try:
                return [_wait(future, bar) for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _wait(future: "Future[Result]", bar: Progress) -> Result:
    result = future.result()
    bar.advance()
    return result


def _enter() -> None:
    """Make this process one of the pool: the parent hears Ctrl-C, and processes share the cores, not threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def cpu_seconds() -> float:
    """Processor time of this process and of those it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


# ---- data -----------------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    """Training and test trees, and the counts of the test trees that silhouettes need."""

    train: Forest
    test: Forest
    counts: Any


@cache
def load(name: str) -> Split:
    """A data set by name, once a process; "generated" is a small stand-in for the synthetic trees."""
    if name == "generated":
        forest = datasets.make_asymmetric_trees(20, random_state=0)
        train, test = forest.take(np.arange(0, len(forest), 2)), forest.take(np.arange(1, len(forest), 2))
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
