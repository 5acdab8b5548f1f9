"""Bacciu and Castellana 2019, Figures 5 to 7: the synthetic trees."""

import time
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora.evaluate.agreement import agree
from arbora.plot import confusion, png_bytes

from . import pictures
from .procedures import AUTHORS, OWN, READINGS, Procedure, Task, fit, in_full, make_finite, make_infinite, run_authors
from .published import Row
from .runs import load, quietly, run_all
from .table import Picture, Table, as_csv, mean_std

Floats = NDArray[np.float64]

PAPERS_START = READINGS[-1]  # the library's model from one component
SAID = "slower than 3 components at first, then faster"
WINDOWS = ((1, 3), (3, 10), (10, 30))  # sweeps over which the library's time is averaged


def figures5_to_7(quick: bool = False) -> Table:
    """Confusion matrices, components by sweep, and processor time by iteration."""
    return draw("synthetic", 2 if quick else 5)


def draw(data: str, n_runs: int) -> Table:
    """The three figures on a data set, with a table of what they show."""
    table = Table(
        "Bacciu and Castellana 2019, Figures 5 to 7: synthetic trees",
        ["figure", "what", "the paper", "ours", "verdict"],
    )
    for name, figure in (("5", _figure5), ("6", _figure6), ("7", _figure7)):
        table.pictures[f"mixtures-figure{name}"], rows = figure(data, n_runs)
        table.rows += [[name, *row, ""] for row in rows]
    table.remarks += [
        "The paper does not say which two settings its Figure 6 shows; ours are 4 states, alpha 1 and 2.",
        "Figure 7: processor time, 4 states. The emulation runs one component after another, and on the way down only "
        "trees that weigh something for it; the library all components at once, on shared subtrees. Its time is the "
        "difference between fits of 1, 3, 10 and 30 iterations.",
    ]
    return table


# ---- Figure 5 -------------------------------------------------------------------------------------------------------


def _figure5(data: str, _: int) -> tuple[Picture, list[list[str]]]:
    target = np.asarray(load(data).test.target)
    figure, axes = pictures.panels(1, 2, 4.6, 3.2)
    lines, rows = [], []
    for ax, row in zip(axes, (Row("infinite", 4, 1.5), Row("single", 3, 1)), strict=True):
        run = fit(Task(data, OWN, row, 0))
        found = agree(target, run.labels)
        title = f"{row.model}, {row.n_states} states"
        confusion(found, ax)
        ax.set_title(f"{title}: ARI {found.ari:.2f}", fontsize=9)
        for name, counts in zip(found.classes, found.table, strict=True):
            lines += [(title, name, cluster, n) for cluster, n in zip(found.clusters, counts, strict=True)]
        right = sum(max(column) for column in zip(*found.table, strict=True))
        what = f"{title}: clusters; test trees of their cluster's commonest type"
        rows.append([what, "3" if row.model == "infinite" else "", f"{run.n_clusters}; {right}"])
    data_file = as_csv(["model", "type", "cluster", "trees"], lines)
    caption = "Figure 5: types by cluster, infinite mixture and single model"
    return Picture(png_bytes(figure, 90), caption, data_file), rows


# ---- Figure 6 -------------------------------------------------------------------------------------------------------


def _figure6(data: str, n_runs: int) -> tuple[Picture, list[list[str]]]:
    settings = (Row("infinite", 4, 1.0), Row("infinite", 4, 2.0))
    procedures = (AUTHORS, PAPERS_START, OWN)
    tasks = [Task(data, p, row, seed) for p in procedures for row in settings for seed in range(n_runs)]
    runs = dict(zip(tasks, run_all("figure 6", fit, tasks), strict=True))
    figure, axes = pictures.panels(1, 3, 4.0, 3.2)
    titles = (AUTHORS.name, "library, the paper's start", "library")
    lines, rows = [], []
    for ax, procedure, title in zip(axes, procedures, titles, strict=True):
        named = {}
        for row in settings:
            values = np.array([runs[Task(data, procedure, row, seed)].n_groups for seed in range(n_runs)], float)
            named[row.name] = values
            mean, spread = values.mean(axis=0), values.std(axis=0)
            lines += [(title, row.name, s + 1, float(mean[s]), float(spread[s])) for s in range(len(mean))]
            shown = "; ".join(mean_std(values[:, s - 1].tolist(), 1) for s in (1, 3, 10, 30))
            what = f"{title}, {row.name}: components after sweeps 1, 3, 10, 30"
            rows.append([what, "many at first, after a few sweeps 3", shown])
        sweeps = np.arange(1, len(mean) + 1)
        pictures.curves(ax, sweeps.tolist(), named)
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("sweep")
        ax.set_ylabel("components with trees")
        ax.set_xscale("log")
        ax.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    data_file = as_csv(["procedure", "setting", "sweep", "mean", "deviation"], lines)
    return Picture(png_bytes(figure, 90), "Figure 6: components by sweep, mean and deviation", data_file), rows


# ---- Figure 7 -------------------------------------------------------------------------------------------------------


class Timing(NamedTuple):
    """A fit to be timed."""

    data: str
    procedure: Procedure
    row: Row
    seed: int


def _figure7(data: str, n_runs: int) -> tuple[Picture, list[list[str]]]:
    finite = [Row("finite", 4, t) for t in (3, 5, 7)]
    infinite = [Row("infinite", 4, alpha) for alpha in (1.0, 1.5, 2.0)]
    style = {row.name: "--" for row in infinite}
    figure, axes = pictures.panels(1, 2, 4.8, 3.4)
    lines, rows = [], []
    for ax, procedure, title in zip(axes, (AUTHORS, OWN), (AUTHORS.name, "library"), strict=True):
        tasks = [Timing(data, procedure, row, seed) for row in finite + infinite for seed in range(n_runs)]
        timed = run_all("figure 7", _time_iterations, tasks)
        place = timed[0][0]
        named: dict[str, Floats] = {}
        for row in finite + infinite:
            mine = [seconds for task, (_, seconds) in zip(tasks, timed, strict=True) if task.row == row]
            named[row.name] = 1000.0 * np.array(mine)
            mean, spread = named[row.name].mean(axis=0), named[row.name].std(axis=0)
            lines += [(title, row.name, place[s], float(mean[s]), float(spread[s])) for s in range(len(mean))]
            what = f"{title}, {row.name}: ms in the first and the last iterations shown"
            rows.append([what, SAID if row in infinite else "", f"{mean[0]:.1f}; {mean[-1]:.1f}"])
        pictures.curves(ax, place, named, style)
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("iteration")
        ax.set_ylabel("ms of processor time")
        ax.set_xscale("log")
        ax.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
        ax.set_ylim(bottom=0.0)
    data_file = as_csv(["procedure", "setting", "iteration", "mean ms", "deviation"], lines)
    return Picture(png_bytes(figure, 90), "Figure 7: processor time by iteration, 4 states", data_file), rows


def _time_iterations(task: Timing) -> tuple[Sequence[float], Floats]:
    """Iterations and the processor time of each: the library's averaged over windows, named by their middles."""
    _warm_up(task.data, task.procedure, task.row.model)
    data = load(task.data)
    if task.procedure.kind == "authors":
        seconds = run_authors(data, task.row, task.seed).seconds
        return list(range(1, len(seconds) + 1)), seconds
    upto = {n: _fit_seconds(data.train, task, n) for window in WINDOWS for n in window}
    seconds = np.array([(upto[b] - upto[a]) / (b - a) for a, b in WINDOWS])
    return [(a + 1 + b) / 2 for a, b in WINDOWS], np.maximum(seconds, 0.0)


def _fit_seconds(train: Any, task: Timing, n_iter: int) -> float:
    model: Any
    if task.row.model == "infinite":
        model = make_infinite(task.procedure, task.row, n_iter, task.seed)
    else:
        model = in_full(make_finite(task.procedure, task.row, n_iter, task.seed), n_iter)
    start = time.process_time()
    quietly(lambda: model.fit(train))
    return time.process_time() - start


@cache
def _warm_up(data: str, procedure: Procedure, model: Any) -> None:
    """Compile what is timed; once a process."""
    fit(Task(data, procedure, Row(model, 4, 2), 0, 3))
