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
    facts = forest.describe()
    low, _, middle, _, high = facts["tree_size_quartiles"]
    rows = [
        ("nodes per tree", f"{low:,} to {high:,}, median {middle:,}"),
        ("depth", f"up to {facts['max_depth']:,}"),
        ("children", f"up to {facts['max_children']:,}"),
        ("frequent labels", ", ".join(f"{word} {count:,}" for word, count in facts["top_labels"].items()) or "none"),
    ]
    rows += [("classes", f"{facts['n_classes']:,}")] if facts["n_classes"] is not None else []
    rows += [("missing labels", f"{facts['n_missing_labels']:,}")] if facts["n_missing_labels"] else []
    rows += [("content", ", ".join(f"{name} ({kind})" for name, kind in forest.content_kinds.items()))][
        : len(forest.content)
    ]
    title = f"Forest of {forest.n_trees:,} trees, {forest.n_nodes:,} nodes, {forest.n_labels:,} labels"
    trees = (_tree(forest, t) for t in range(min(forest.n_trees, MOST_TREES)))
    return notebook.page(title, notebook.table(rows), notebook.beside(trees))


def _tree(forest: "Forest", t: int) -> str:
    one = forest[[t]].in_post_order()
    label = [one.vocabulary[m] if m >= 0 else "?" if m == MISSING else "unseen" for m in one.label.tolist()]
    caption = f"tree {t}" if forest.name is None else str(forest.name[t])
    order = np.lexsort((one.slot, one.parent))  # siblings by slot
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parent = [int(rank[p]) if p >= 0 else -1 for p in one.parent[order].tolist()]
    return notebook.page(caption, notebook.drawing(parent, [label[u] for u in order.tolist()]))
