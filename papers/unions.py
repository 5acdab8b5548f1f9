"""Torsello and Hancock 2003, Figure 4: classes of noisy copies of random prototypes, found by structure alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, rand_score

from arbora.datasets import make_prototype_trees
from arbora.forest.forest import Forest
from arbora.models import TreeUnionMixture

from .runs import run_all
from .table import Table

N_RUNS = 4
N_PER_CLASS = 10
SEPARATION = 6  # nodes; two random trees of 10 nodes differ in 4 or 5 on average, and such classes run into each other

# Ways to fit trees of prototypes of any distance, as the paper draws them; the first is the paper's.
FREE: dict[str, dict[str, Any]] = {
    "the paper: ML code, greedy search, relaxation": {
        "noise_cost": None,
        "search": "greedy",
        "matching": "relaxation",
    },
    "ML code, greedy search, exact alignment": {"noise_cost": None, "search": "greedy"},
    "default": {},
}
# Ways to fit trees of prototypes that are far apart.
APART: dict[str, dict[str, Any]] = {
    "ML code, greedy search": {"noise_cost": None, "search": "greedy"},
    "KT code, greedy search": {"noise_cost": None, "code": "kt", "search": "greedy"},
    "ML code": {"noise_cost": None},
    "KT code": {"noise_cost": None, "code": "kt"},
    "ML and noise code (default)": {},
    "KT and noise code": {"code": "kt", "noise_cost": 2.5},
}
TOLD = "default, true number"


def figure4(quick: bool = False) -> Table:
    """Pairs of trees rightly put together or apart, by number of prototypes and noise."""
    n_runs = 1 if quick else N_RUNS
    table = Table(
        "Torsello and Hancock 2003, Figure 4: classes found among noisy copies of prototypes of 10 nodes",
        ["prototypes", "noise", *FREE],
    )
    apart = Table(
        f"The same with prototypes that differ in {SEPARATION} nodes or more", ["prototypes", "noise", *APART, TOLD]
    )
    rows = [(n_classes, percent) for n_classes in (2, 3, 4) for percent in (10, 20, 30, 40, 50)]
    for part, ways in ((table, fit_free), (apart, fit_apart)):
        tasks = [(*row, seed) for row in rows for seed in range(n_runs)]
        runs = iter(run_all(part.title, ways, tasks))
        for n_classes, percent in rows:
            found = [next(runs) for _ in range(n_runs)]
            part.rows.append([str(n_classes), f"{percent} %", *map(_cell, zip(*found, strict=True))])
    table.more.append(apart)
    table.remarks += [
        "Cells: fraction of pairs of trees rightly put into one class or into two / adjusted Rand index (mean number "
        f"of classes found); means of {n_runs} repetitions, {N_PER_CLASS} trees per class. The paper prints a figure "
        "without numbers.",
        "Prototypes are drawn as the paper says, whatever their distance; all fits of a row see the same trees. The "
        "paper's way matches nodes by relaxation labelling of cliques; exact alignment finds the best union.",
    ]
    apart.remarks.append(
        "Not the paper's draws. All but the two columns that say greedy move trees and re-align unions after merging."
    )
    return table


def fit_free(task: tuple[int, int, int]) -> list[tuple[float, float, int]]:
    """The paper's way and others on the same trees, of prototypes of any distance."""
    forest = _draw(*task, 0)
    return [_judge(forest, settings) for settings in FREE.values()]


def fit_apart(task: tuple[int, int, int]) -> list[tuple[float, float, int]]:
    """Every way on the same trees, of prototypes that are far apart, then with the number of classes given."""
    forest = _draw(*task, SEPARATION)
    return [_judge(forest, settings) for settings in (*APART.values(), {"n_components": task[0]})]


def _draw(n_classes: int, percent: int, seed: int, separation: int) -> Forest:
    return make_prototype_trees(
        n_classes, N_PER_CLASS, 10, percent / 100, separation=separation, random_state=[n_classes, percent, seed]
    )


def _judge(forest: Forest, settings: dict[str, Any]) -> tuple[float, float, int]:
    model = TreeUnionMixture(**settings).fit(forest)
    agreement = rand_score(forest.target, model.labels_), adjusted_rand_score(forest.target, model.labels_)
    return float(agreement[0]), float(agreement[1]), model.n_components_


def _cell(outcomes: Sequence[tuple[float, float, int]]) -> str:
    pairs, ari, n_classes = np.mean(outcomes, axis=0)
    return f"{pairs:.2f} / {ari:.2f} ({n_classes:.1f})"
