"""Node columns in any order become a forest: post-order, labels numbered, invariants checked."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ForestError
from .forest import Forest
from .invariants import check_forest, place_of
from .kernels import layout
from .node_columns import Ints, Ints32, natural_order, per_tree


class RawColumns(NamedTuple):
    """Node columns in any order, before they become a forest."""

    parent: Ints
    slot: Ints32
    label: Ints32
    tree: Ints  # tree number at least at the roots


def finish(
    raw: RawColumns,
    words: Sequence[Any],
    vocabulary: Sequence[str] | None,
    target: ArrayLike | None,
    name: Sequence[str] | None,
    first: Ints | None = None,  # raw number of each tree's first node, where nodes are counted tree by tree
    content: Mapping[str, Any] | None = None,  # in the raw order
) -> Forest:
    """Put raw columns in post-order, number the labels, and check the result."""
    root = np.flatnonzero(raw.parent < 0)
    root = root[np.argsort(raw.tree[root], kind="stable")]
    order = np.lexsort((raw.slot, raw.parent))
    node, start = layout.post_order(raw.parent, order, root)
    if len(node) < len(raw.parent):
        lost = np.setdiff1d(np.arange(len(raw.parent)), node)[0]
        raise ForestError(f"node {lost}: it never reaches a root; the parents form a cycle")
    rank = np.empty_like(node)
    rank[node] = np.arange(len(node))
    parent = raw.parent[node]
    names = [str(word) for word in words]
    forest = Forest._trusted(
        parent=np.where(parent < 0, -1, rank[parent]),
        slot=raw.slot[node],
        label=raw.label[node],
        tree_start=start,
        vocabulary=tuple(names),
        target=per_tree(target, len(root), "target"),
        name=per_tree(name, len(root), "name", as_text=True),
    )
    # A node at fault is named by the number that the caller gave it, not by its place in the new order.
    number = node if first is None else node - np.repeat(first, forest.sizes)
    check_forest(forest, number)
    if content:
        from .content_values import content_of

        made = content_of(content, len(node), lambda u: place_of(forest, int(rank[u]), number))
        taken = {key: column.take(node) for key, column in made.items()}
        forest = Forest._trusted(**{**forest._columns(), "content": taken})
    # Sorted, so that the numbering does not depend on the order in which files were read.
    return forest.with_vocabulary(sorted(names, key=natural_order) if vocabulary is None else vocabulary)
