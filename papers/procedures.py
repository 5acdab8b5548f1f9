"""The fits that the tables of Bacciu and Castellana 2019 compare, as functions of a row of the table and a seed."""

import time
from typing import Any, Literal, NamedTuple

from arbora.models import HiddenTree, HiddenTreeMixture, InfiniteHiddenTreeMixture

from . import authors
from .published import Row
from .runs import Run, Split, judge, load, quietly

N_ITER = 30  # the paper's budget of iterations or sweeps
LIBRARY = (  # what "own" means, in the words of the tables
    "its defaults, with the states, components or prior of the row, and the most probable cluster; of the infinite "
    f"mixture one chain of {N_ITER} sweeps at concentration 10"
)


class Procedure(NamedTuple):
    """A model and how it is started, fitted and asked for clusters.

    "authors" is the emulation of the authors' program; "published" the library with the paper's starts and draws;
    "own" the library with its own starts and the most probable clusters, the infinite mixture by Algorithm 2; "exact"
    the same with the exact sampler.
    """

    name: str
    kind: Literal["authors", "published", "own", "exact"]
    absent: Any = "bottom"
    structure: Any = "branching"


AUTHORS = Procedure("authors' procedure, emulated", "authors", "slot", None)
OWN = Procedure("library", "own")
EXACT = Procedure("exact sampler, slot", "exact", "slot", None)
DEFAULT = Procedure("exact sampler, library's defaults", "exact", "literal", "branching")
READINGS = (
    Procedure("slot", "published", "slot", None),
    Procedure("literal", "published", "literal", None),
    Procedure("bottom", "published", "bottom", None),
    Procedure("renormalised", "published", "renormalised", None),
    Procedure("bottom + branching", "published"),
)


class Task(NamedTuple):
    """One fit of a table."""

    data: str
    procedure: Procedure
    row: Row
    seed: int
    n_iter: int = N_ITER


def fit(task: Task) -> Run:
    """Fit on the training trees and judge the clusters of the test trees."""
    data = load(task.data)
    start = time.process_time()
    if task.procedure.kind == "authors":
        done = run_authors(data, task.row, task.seed, task.n_iter, n_spare=task.data != "inex2005")
        return judge(data, done.labels, start, done.n_groups if task.row.model == "infinite" else ())
    return quietly(lambda: _fit_library(data, task, start))


def run_authors(data: Split, row: Row, seed: int, n_iter: int = N_ITER, n_spare: int = 1) -> authors.Fit:
    """The emulation; the authors' program has room for one label that the synthetic trees never use."""
    n_slots = max(data.train.n_slots, data.test.n_slots)
    sizes = authors.Sizes(n_slots, data.train.n_labels + n_spare, row.n_states)
    if row.model == "infinite":
        return authors.fit_infinite(data.train, data.test, sizes, row.size, seed, n_iter)
    return authors.fit_finite(data.train, data.test, sizes, int(row.size), seed, n_iter)


def _fit_library(data: Split, task: Task, start: float) -> Run:
    _, procedure, row, seed, n_iter = task
    published = procedure.kind == "published"
    if row.model == "infinite":
        infinite = make_infinite(procedure, row, n_iter, seed)
        infinite.fit(data.train)
        labels = infinite.resample_labels(data.test, random_state=seed) if published else infinite.predict(data.test)
        return judge(data, labels, start, infinite.trace_.info["n_groups"][0])
    finite = make_finite(procedure, row, n_iter, seed).fit(data.train)
    labels = finite.draw_labels(data.test, random_state=seed) if published else finite.predict(data.test)
    return judge(data, labels, start)


def make_finite(procedure: Procedure, row: Row, n_iter: int, seed: int) -> HiddenTreeMixture:
    """The single model or the finite mixture of a row: by maximum likelihood from random draws, or as the library."""
    model = HiddenTree() if row.model == "single" else HiddenTreeMixture(int(row.size))
    model.set_params(n_states=row.n_states, absent=procedure.absent, structure=procedure.structure, random_state=seed)
    if procedure.kind != "published":
        return model
    if row.model == "finite":
        model.set_params(init="random")
    return in_full(model.set_params(prior=1.0), n_iter)


def in_full(model: HiddenTreeMixture, n_iter: int) -> HiddenTreeMixture:
    """The model with so many iterations of EM, whatever they gain."""
    model.set_params(max_iter=n_iter, tol=0.0)
    return model.set_params(tol_per_node=0.0) if "tol_per_node" in model.get_params() else model


def make_infinite(procedure: Procedure, row: Row, n_iter: int, seed: int) -> InfiniteHiddenTreeMixture:
    """The infinite mixture of a row, concentration 10 as in the paper."""
    model = InfiniteHiddenTreeMixture(row.n_states, prior=row.size, n_iter=n_iter, random_state=seed, n_chains=1)
    model.set_params(until="n_iter", absent=procedure.absent, structure=procedure.structure, concentration=10.0)
    if procedure.kind == "published":
        model.set_params(n_start=1)
    return model.set_params(update="gibbs" if procedure.kind == "exact" else "em")
