"""Forests with their nodes in a standard order."""

from typing import TYPE_CHECKING

import numpy as np

from .kernels import layout

if TYPE_CHECKING:
    from .forest import Forest


def canonical(forest: "Forest") -> "Forest":
    """The same trees in post-order, siblings by slot, over the sorted vocabulary of the labels in use."""
    used = np.zeros(forest.n_labels + 2, bool)
    used[forest.label] = True
    words = sorted(word for word, keep in zip(forest.vocabulary, used, strict=False) if keep)
    return in_post_order(forest).with_vocabulary(words)


def in_post_order(forest: "Forest") -> "Forest":
    """The same trees with every node after the subtrees of its children, siblings by slot."""
    order, start = layout.post_order(forest.parent, np.lexsort((forest.slot, forest.parent)), forest.tree_start[1:] - 1)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parent = forest.parent[order]
    return forest._trusted(
        parent=np.where(parent < 0, -1, rank[parent]),
        slot=forest.slot[order],
        label=forest.label[order],
        tree_start=start,
        vocabulary=forest.vocabulary,
        target=forest.target,
        name=forest.name,
        content={key: column.take(order) for key, column in forest.content.items()},
    )
