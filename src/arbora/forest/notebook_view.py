"""What a forest shows in a notebook: its sizes, its labels, and its first trees drawn."""

from typing import TYPE_CHECKING

import numpy as np

from .. import notebook
from .node_columns import MISSING

if TYPE_CHECKING:
    from .forest import Forest

MOST_TREES = 3


def forest_html(forest: "Forest") -> str:
    """Facts and drawings as HTML."""
    rows = [(name, value) for name, value in forest.describe().rows() if name not in ("trees", "nodes", "labels")]
    title = f"Forest of {forest.n_trees:,} trees, {forest.n_nodes:,} nodes, {forest.n_labels:,} labels"
    trees = (tree_html(forest, t) for t in range(min(forest.n_trees, MOST_TREES)))
    return notebook.page(title, notebook.table(rows), notebook.beside(trees))


def tree_html(forest: "Forest", t: int) -> str:
    """Tree number t, drawn under its name."""
    one = forest[[t]].in_post_order()
    label = [one.vocabulary[m] if m >= 0 else "?" if m == MISSING else "unseen" for m in one.label.tolist()]
    caption = f"tree {t}" if forest.name is None else str(forest.name[t])
    order = np.lexsort((one.slot, one.parent))  # siblings by slot
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parent = [int(rank[p]) if p >= 0 else -1 for p in one.parent[order].tolist()]
    return notebook.page(caption, notebook.drawing(parent, [label[u] for u in order.tolist()]))
