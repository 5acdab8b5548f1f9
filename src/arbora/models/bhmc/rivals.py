"""A hierarchy of rows beside Ward and average linkage."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...evaluate import hierarchy_metrics
from ...evaluate.hierarchy import Hierarchy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Rival(NamedTuple):
    """A hierarchy beside the others, by the measures of `arbora.evaluate.hierarchy_metrics`."""

    name: str
    n_groups: tuple[int, ...]  # by level
    inner: float  # AID
    inner_shared: float  # AID without nodes of one datum
    outer: float  # AOD
    dasgupta: float
    purity: float  # with known classes, else nan
    f_measure: tuple[float, ...]  # by level, with known classes


def compare(rows: Floats, trees: Mapping[str, Ints], target: ArrayLike | None = None) -> list[Rival]:
    """Measures of some trees of the same rows, given as levels, [level, row]; `target` are known classes."""
    near = hierarchy_metrics.similarity(rows)
    found = []
    for name, levels in trees.items():
        tree = Hierarchy.from_levels(levels)
        apart = hierarchy_metrics.separation(rows, levels)
        found.append(
            Rival(
                name,
                tuple(len(np.unique(row)) for row in levels),
                apart.inner,
                apart.inner_shared,
                apart.outer,
                hierarchy_metrics.dasgupta_cost(near, tree),
                float("nan") if target is None else hierarchy_metrics.tree_purity(target, tree),
                () if target is None else tuple(hierarchy_metrics.level_f_measure(target, levels).tolist()),
            )
        )
    return found
