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

N_RUNS = 16
N_PER_CLASS = 10
SEPARATION = 6  # nodes; two random trees of 10 nodes differ in 4 or 5 on average, and such classes run into each other

# What an independent implementation of the paper's model found with the paper's search and exact matching:
# (prototypes, noise in %) -> pairs correct / adjusted Rand index (classes), for both codes, mean of 16 repetitions.
REFERENCE = {
    (2, 10): ("1.00 / 1.00 (2.0)", "1.00 / 1.00 (2.0)"),
    (2, 20): ("0.92 / 0.84 (2.7)", "0.99 / 0.99 (2.0)"),
    (2, 30): ("0.84 / 0.68 (3.2)", "0.94 / 0.87 (2.2)"),
    (2, 40): ("0.76 / 0.51 (3.9)", "0.92 / 0.84 (2.2)"),
    (2, 50): ("0.69 / 0.37 (4.8)", "0.84 / 0.68 (2.3)"),
    (3, 10): ("1.00 / 1.00 (3.0)", "1.00 / 1.00 (3.0)"),
    (3, 20): ("0.95 / 0.87 (3.9)", "0.98 / 0.96 (3.0)"),
    (3, 30): ("0.88 / 0.69 (5.1)", "0.96 / 0.91 (3.1)"),
    (3, 40): ("0.81 / 0.48 (6.1)", "0.86 / 0.66 (3.6)"),
    (3, 50): ("0.76 / 0.36 (6.4)", "0.75 / 0.41 (3.6)"),
    (4, 10): ("1.00 / 1.00 (4.0)", "1.00 / 1.00 (4.0)"),
    (4, 20): ("0.97 / 0.90 (4.9)", "0.99 / 0.98 (4.0)"),
    (4, 30): ("0.89 / 0.66 (6.9)", "0.93 / 0.81 (4.4)"),
    (4, 40): ("0.86 / 0.53 (7.8)", "0.87 / 0.64 (4.4)"),
    (4, 50): ("0.83 / 0.41 (9.1)", "0.85 / 0.55 (5.1)"),
}

# Ways to fit; the first is the paper's.
WAYS: dict[str, dict[str, Any]] = {
    "ML code, greedy search (the paper)": {"noise_cost": None, "search": "greedy"},
    "KT code, greedy search": {"noise_cost": None, "code": "kt", "search": "greedy"},
    "ML code": {"noise_cost": None},
    "KT code": {"noise_cost": None, "code": "kt"},
    "ML and noise code (default)": {},
    "KT and noise code": {"code": "kt", "noise_cost": 2.5},
}


def figure4(quick: bool = False) -> Table:
    """Pairs of trees rightly put together or apart, by number of prototypes and noise."""
    n_runs = 2 if quick else N_RUNS
    ml, kt, *others = WAYS
    table = Table(
        "Torsello and Hancock 2003, Figure 4: classes found among noisy copies of prototypes of 10 nodes",
        [
            *("prototypes", "noise", "reference, ML", ml, "verdict", "reference, KT", kt, "verdict", *others),
            *("default, true number", "default, any prototypes"),
        ],
    )
    rows = [(n_classes, percent) for n_classes in (2, 3, 4) for percent in (10, 20, 30, 40, 50)]
    tasks = [(*row, seed) for row in rows for seed in range(n_runs)]
    runs = iter(run_all("figure 4", fit_ways, tasks))
    for n_classes, percent in rows:
        found = [next(runs) for _ in range(n_runs)]
        first, second, *rest = (_cell(outcomes) for outcomes in zip(*found, strict=True))
        theirs = REFERENCE[n_classes, percent]
        table.rows.append([str(n_classes), f"{percent} %", theirs[0], first, "", theirs[1], second, "", *rest])
    table.remarks += [
        "Cells: fraction of pairs of trees rightly put into one class or into two / adjusted Rand index (mean number "
        f"of classes found); means of {n_runs} repetitions, {N_PER_CLASS} trees a class. The paper prints a figure "
        "without numbers.",
        f"Prototypes are drawn until any two differ in {SEPARATION} nodes or more, but for the last column; all fits "
        "of a row, that column aside, see the same trees. Reference: an independent implementation of the paper's "
        "model with exact matching, on other trees of the same kind, 16 repetitions.",
        "All but the two columns that say greedy move trees and re-align unions after merging.",
    ]
    return table


def fit_ways(task: tuple[int, int, int]) -> list[tuple[float, float, int]]:
    """Every way on the same trees, then with the number of classes told, then on prototypes of any distance."""
    n_classes, percent, seed = task
    forest = _draw(n_classes, percent, seed, SEPARATION)
    found = [_judge(forest, settings) for settings in (*WAYS.values(), {"n_components": n_classes})]
    return [*found, _judge(_draw(n_classes, percent, seed, 0), {})]


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
