"""Sizes, depths, degrees and label use of a forest, as plain numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .kernels import layout
from .node_columns import MISSING, Ints

if TYPE_CHECKING:
    from .forest import Forest


def describe(forest: "Forest") -> dict[str, Any]:
    """Sizes, depths, degrees and label use, as plain numbers for printing."""
    depth = layout.depth(forest.parent)
    degree = np.bincount(forest.parent[forest.parent >= 0], minlength=forest.n_nodes)
    count = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels)
    top = np.argsort(-count, kind="stable")[:10]
    return {
        "n_trees": forest.n_trees,
        "n_nodes": forest.n_nodes,
        "n_labels": forest.n_labels,
        "n_slots": forest.n_slots,
        "tree_size_quartiles": size_quartiles(forest.sizes),
        "max_depth": int(depth.max(initial=0)),
        "max_children": int(degree.max(initial=0)),
        "leaf_fraction": int((degree == 0).sum()) / max(forest.n_nodes, 1),
        "n_missing_labels": int((forest.label == MISSING).sum()),
        "n_unseen_labels": forest.n_unseen(),
        "top_labels": {forest.vocabulary[m]: int(count[m]) for m in top if count[m]},
        "n_classes": None if forest.target is None else len(np.unique(forest.target)),
        **({"content": {name: one.describe() for name, one in forest.content.items()}} if forest.content else {}),
    }


def size_quartiles(sizes: Ints) -> list[int]:
    """Least, lower quartile, median, upper quartile and greatest of the sizes of trees; zeros of none."""
    some = sizes if len(sizes) else np.zeros(1, np.int64)
    return [int(q) for q in np.quantile(some, [0, 0.25, 0.5, 0.75, 1], method="nearest")]
