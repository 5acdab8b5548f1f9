"""Trees as edit distances take them, and which of them are equal."""

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.kernels import layout
from ...forest.node_columns import MISSING
from .costs import Costs
from .kernels import pair_cliques, tree_edit

Ints = NDArray[np.int64]


def bare(forest: Forest) -> Forest:
    """The trees alone: forests with and without classes or names can then be joined."""
    return forest.with_target(None).with_name(None)


def without_labels(forest: Forest) -> Forest:
    """The same shapes, every label missing."""
    return Forest._trusted(**{**forest._columns(), "label": np.full(forest.n_nodes, MISSING), "vocabulary": ()})


def kinds_of_trees(forest: Forest, ordered: bool) -> Ints:
    """A number for each tree that equal trees share: equal in order, or up to the order of siblings."""
    children: list[list[int]] = [[] for _ in range(forest.n_nodes)]
    number: dict[tuple[int, ...], int] = {}
    kind = np.empty(forest.n_nodes, np.int64)
    parent = forest.parent.tolist()
    if ordered:  # siblings join their parent's list by slot, whatever their order in the columns
        for u in np.lexsort((forest.slot, forest.parent)).tolist():
            if parent[u] >= 0:
                children[parent[u]].append(u)
        for u, label in enumerate(forest.label.tolist()):  # children precede parents
            kind[u] = number.setdefault((label, *(int(kind[v]) for v in children[u])), len(number))
            children[u] = []
    else:
        for u, label in enumerate(forest.label.tolist()):
            kind[u] = number.setdefault((label, *sorted(children[u])), len(number))
            children[u] = []
            if parent[u] >= 0:
                children[parent[u]].append(int(kind[u]))
    return np.unique(kind[forest.tree_start[1:] - 1], return_inverse=True)[1].astype(np.int64)


def kind_first(kind: Ints) -> Ints:
    """The first tree of each kind."""
    return np.unique(kind, return_index=True)[1].astype(np.int64)


def read_forest(forest: Forest, costs: Costs) -> tuple[tree_edit.Reading, tree_edit.Reading]:
    """The trees in post-order, and in that of their mirror images."""
    return _read(forest, costs, 1), _read(forest, costs, -1)


def _read(forest: Forest, costs: Costs, sign: int) -> tree_edit.Reading:
    siblings = np.lexsort((sign * forest.slot.astype(np.int64), forest.parent))
    order, start = layout.post_order(forest.parent, siblings, forest.tree_start[1:] - 1)
    parent = forest.parent.copy()  # writable, as kernels pass it
    first, key_start, key, work = tree_edit.read_order(parent, order, start)
    label = forest.label[order]
    return tree_edit.Reading(
        start, label, first, costs.delete[label + 2], costs.insert[label + 2], key_start, key, work, order
    )


def list_trees(forest: Forest, costs: Costs) -> pair_cliques.Trees:
    """The trees as the unordered distance takes them."""
    parent = np.where(forest.parent < 0, np.repeat(forest.tree_start[1:], forest.sizes), forest.parent)
    parent -= np.repeat(forest.tree_start[:-1], forest.sizes)
    label = forest.label.copy()
    return pair_cliques.Trees(forest.tree_start.copy(), parent, label, costs.delete[label + 2], costs.insert[label + 2])
