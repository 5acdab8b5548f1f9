"""Shock trees clustered by structure alone and with labels: mixtures of unions and the paper's two rivals."""

import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from arbora.datasets import load_shock
from arbora.forest.forest import Forest
from arbora.models import TreeEditClustering, TreeUnionMixture, UnionEmbedding

from .runs import run_all
from .table import Table

# Name -> estimator and settings.
RIVALS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "mixture of unions": (TreeUnionMixture, {}),
    "mixture of unions, the paper's code": (TreeUnionMixture, {"noise_cost": None}),
    "mixture of unions, the paper's search and code": (TreeUnionMixture, {"noise_cost": None, "search": "greedy"}),
    "edit distance, dominant sets": (TreeEditClustering, {"method": "dominant"}),
    "edit distance, spectral": (TreeEditClustering, {"method": "spectral"}),
    "edit distance, average linkage": (TreeEditClustering, {"method": "average"}),
    "edit distance, ordered, spectral": (TreeEditClustering, {"method": "spectral", "ordered": True}),
    "edit distance, learnt costs, spectral": (TreeEditClustering, {"method": "spectral", "costs": "learnt"}),
    "one union, dominant sets": (UnionEmbedding, {"method": "dominant"}),
    "one union, spectral": (UnionEmbedding, {"method": "spectral"}),
    "one union, average linkage": (UnionEmbedding, {"method": "average"}),
}


def shock(quick: bool = False) -> Table:
    """All methods, with the number of classes found and with the true one."""
    forest = _forest(quick)
    n_classes = len(np.unique(np.asarray(forest.target)))
    table = Table(
        f"Shock trees of {n_classes} classes of silhouettes: structure alone and with labels",
        [
            *("method", "structure alone", f"structure alone, {n_classes} clusters"),
            *("with labels", f"with labels, {n_classes} clusters"),
        ],
    )
    tasks = [
        Task(name, labels, number, quick)
        for name, (_, settings) in RIVALS.items()
        for labels in (False, True)
        for number in (None, n_classes)
        if labels or settings.get("costs") != "learnt"  # costs are those of labels
    ]
    cells = dict(zip(tasks, run_all("shock trees", judge, tasks), strict=True))
    for name in RIVALS:
        row = [Task(name, labels, number, quick) for labels in (False, True) for number in (None, n_classes)]
        table.rows.append([name, *(cells.get(task, "-") for task in row)])
    table.remarks += [
        "Cells: fraction of pairs of trees rightly together or apart / adjusted Rand index / normalised mutual "
        "information (clusters), CPU seconds. Without a number of clusters given, mixtures of unions choose it by "
        "description length, dominant sets by themselves, the others by the silhouette among 2 to 20.",
        f"{forest.n_trees} trees, {forest.n_nodes} nodes. The trees were computed anew from the 216 silhouettes of "
        "Kimia's set; the paper used 25 shapes and shows its clusters as pictures without figures, so only the order "
        "of the methods can be compared.",
    ]
    lengths = [_whole_length(forest, noise) for noise in (None, 2.0)]
    table.remarks.append(
        "By structure alone, with the Krichevsky-Trofimov code, which pays for its probabilities, the mixture takes "
        "{:.0f} nats without the noise code and {:.0f} with it, all of its cost included.".format(*lengths)
    )
    return table


def _whole_length(forest: Forest, noise_cost: float | None) -> float:
    """Length of a description that pays for everything, so that codes may be compared (models/tree_union.md)."""
    model = TreeUnionMixture(code="kt", noise_cost=noise_cost).fit(forest)
    constant = 0.0 if noise_cost is None else float(np.exp(-noise_cost)) * forest.n_nodes
    return model.description_length_ + constant


class Task(NamedTuple):
    """One method, with or without labels, of so many clusters or of as many as it finds."""

    method: str
    labels: bool
    number: int | None
    quick: bool


@cache
def _forest(quick: bool) -> Forest:
    """The shock trees; those of five classes if quick."""
    forest = load_shock()
    target = np.asarray(forest.target)
    return forest[np.isin(target, np.unique(target)[:5])] if quick else forest


def judge(task: Task) -> str:
    """A cell: agreement with the classes, and processor time."""
    forest, (estimator, settings) = _forest(task.quick), RIVALS[task.method]
    model = estimator(task.number, labels=task.labels, **settings)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    clone(model).set_params(**{"n_components" if estimator is TreeUnionMixture else "n_clusters": None}).fit(forest[:6])
    start = time.process_time()  # the first fit compiled what there is to compile
    found = model.fit(forest).labels_
    seconds = time.process_time() - start
    scores = [score(forest.target, found) for score in (rand_score, adjusted_rand_score, normalized_mutual_info_score)]
    return "{:.2f} / {:.2f} / {:.2f} ({}), {:.1f} s".format(*scores, len(np.unique(found)), seconds)
