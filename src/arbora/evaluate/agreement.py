"""Clusters and predicted classes against known classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..forest.node_columns import natural_order


@dataclass(frozen=True)
class Agreement:
    """Clusters against known classes."""

    ari: float  # adjusted Rand index
    nmi: float  # normalised mutual information
    classes: tuple[str, ...]
    clusters: tuple[int, ...]
    table: tuple[tuple[int, ...], ...]  # trees by class (row) and cluster (column)


@dataclass(frozen=True)
class LevelScore:
    """A coarser or finer grouping against known classes."""

    n_groups: int
    ari: float
    nmi: float


def agree(target: ArrayLike, labels: ArrayLike) -> Agreement:
    """Adjusted Rand index, normalised mutual information and contingency table of classes and clusters."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    classes, row = _coded(np.asarray(target))
    clusters, column = np.unique(np.asarray(labels), return_inverse=True)
    table = np.bincount(row * len(clusters) + column, minlength=len(classes) * len(clusters))
    return Agreement(
        ari=float(adjusted_rand_score(row, column)),
        nmi=float(normalized_mutual_info_score(row, column)),
        classes=tuple(str(name) for name in classes.tolist()),
        clusters=tuple(int(number) for number in clusters.tolist()),
        table=tuple(tuple(int(n) for n in counts) for counts in table.reshape(len(classes), -1)),
    )


def _coded(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in order, and which of them each entry is; texts are not sorted, which would take long."""
    if target.dtype.kind != "U":
        return np.unique(target, return_inverse=True)
    number: dict[str, int] = {}
    code = np.array([number.setdefault(name, len(number)) for name in target.tolist()], np.int64)
    classes = sorted(number)
    place = np.empty(len(classes), np.int64)
    place[[number[name] for name in classes]] = np.arange(len(classes))
    return np.array(classes, target.dtype), place[code]


def level_score(target: ArrayLike, labels: ArrayLike) -> LevelScore:
    found = agree(target, labels)
    return LevelScore(len(found.clusters), found.ari, found.nmi)


def class_facts(known: Sequence[Any], found: Sequence[str]) -> dict[str, Any]:
    """Error, scores of each class and the confusion matrix: rows are known classes, columns the classes given."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    truth = [str(name) for name in known]
    names = sorted({*truth, *found}, key=natural_order)
    parts = precision_recall_fscore_support(truth, found, labels=names, zero_division=0.0)
    by_class = {
        name: {"trees": int(n), "precision": precision, "recall": recall, "f1": f1}
        for name, precision, recall, f1, n in zip(names, *(part.tolist() for part in parts), strict=True)
    }
    present = sorted(set(truth))
    return {
        "error": sum(a != b for a, b in zip(truth, found, strict=True)) / max(len(truth), 1),
        "mean_f1": sum(by_class[name]["f1"] for name in present) / max(len(present), 1),
        "by_class": by_class,
        "confusion": {"classes": names, "table": confusion_matrix(truth, found, labels=names).tolist()},
    }
