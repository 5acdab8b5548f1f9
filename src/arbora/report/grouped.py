"""Trees in groups, as the page takes them: known classes against groups, and trees on the border."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluate.agreement import Agreement
from ..forest.forest import Forest
from . import columns as col

MAX_BORDER = 40
MAX_CLASSES = 60

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Grouped(NamedTuple):
    """Trees and the groups they are in."""

    forest: Forest
    label: Ints  # number of the group of each tree
    proba: Floats | None  # [tree, group number]; a last column more is a group never seen
    called: dict[int, str]  # what a group is called, where its number is not its name
    noun: str  # what a group is
    training: bool  # these trees are those of the fit

    def name(self, number: int) -> str:
        """What the page calls a group; shortened like every name."""
        return col.shortened(self.called.get(number, str(number)))


def confusion(agreement: Agreement | None, grouped: Grouped) -> dict[str, Any] | None:
    """Trees by known class and group; the largest of each, if there are very many."""
    if agreement is None:
        return None
    table = np.array(agreement.table)
    rows = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:MAX_CLASSES])
    places = np.sort(np.argsort(-table.sum(axis=0), kind="stable")[:MAX_CLASSES])
    hidden = table.size - len(rows) * len(places)
    note = f" Only the {len(rows)} largest classes and {len(places)} largest groups are shown." if hidden else ""
    return {
        "rows": [col.shortened(agreement.classes[r]) for r in rows],
        "columns": [_head(grouped, agreement.clusters[c]) for c in places],
        "table": table[np.ix_(rows, places)].tolist(),
        "places": places.tolist(),
        "about": f"Adjusted Rand index {agreement.ari:.3f}, normalised mutual information {agreement.nmi:.3f}."
        f"{note} Shade: share of the class.",
    }  # fmt: skip


def _head(grouped: Grouped, number: int) -> str:
    """A group as the head of a narrow column: classes by their names, clusters by their numbers."""
    return "new" if number < 0 else str(number) if grouped.noun == "cluster" else grouped.name(number)


def border(grouped: Grouped, names: Sequence[str], folder: str) -> dict[str, Any] | None:
    """Trees whose two best groups are closest, the closest first."""
    proba = grouped.proba
    if proba is None or proba.shape[1] < 2:
        return None
    order = np.argsort(-proba, axis=1, kind="stable")[:, :2]
    best, second = np.take_along_axis(proba, order, axis=1).T
    n_near = int((best < 0.99).sum())
    listed = np.argsort(best - second, kind="stable")[: min(MAX_BORDER, n_near)]
    return {
        "n": n_near,
        "rows": [
            [col.shortened(names[t].removeprefix(folder)), grouped.name(int(order[t, 0])), col.figure(float(best[t])),
             grouped.name(int(order[t, 1])), col.figure(float(second[t]))]
            for t in listed
        ],
    }  # fmt: skip
