"""Trees as a page draws them: the nodes nearest to the root, their labels, and how many are left out below each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArboraError
from ..forest.forest import Forest
from ..forest.node_columns import MISSING

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_TREE_NODES = 300
MAX_DRAWN_NODES = 12_000  # of all trees of a page


class Words:
    """Labels of a page, each once."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def add(self, word: str) -> int:
        """The number of a label, a new one if it is new."""
        return self.number.setdefault(word, len(self.number))

    @property
    def listed(self) -> list[str]:
        """The labels by their numbers."""
        return list(self.number)


def draw_typical(model: Any, forest: Forest, shown: Ints, groups: list[dict[str, Any]], words: Words) -> dict[str, Any]:
    """Put the typical trees in as drawings, so many nodes each that all fit onto the page; what their colours mean.

    A drawing has the place of its tree among those shown, so that the map finds it.
    """
    every = [typical for group in groups for typical in group["typical"]]
    most = min(MAX_TREE_NODES, max(20, MAX_DRAWN_NODES // max(len(every), 1)))
    heat, about = surprise_of(model, forest, np.unique([typical["tree"] for typical in every]).astype(np.int64))
    place = {int(t): i for i, t in enumerate(shown)}
    for typical in every:
        t = typical.pop("tree")
        typical["item"] = place.get(t)
        typical["drawing"] = drawn_tree(forest, t, words, most, heat.get(t))
    return {} if about is None else {"surprise": about}


def surprise_of(model: Any, forest: Forest, trees: Ints) -> tuple[dict[int, Floats], dict[str, Any] | None]:
    """Surprise of the nodes of some trees, for colours; nothing from a model that has none.

    That of hidden trees is of whole subtrees, so it is divided by their sizes; else every root would stand out.
    """
    if not hasattr(model, "node_surprise") or not len(trees):
        return {}, None
    some = forest.take(trees)
    try:
        value = model.node_surprise(some)
    except ArboraError:  # nodes hold more than labels
        return {}, None
    whole = model.hidden_trees() is not None
    if whole:
        value = value / subtree_sizes(some)
    value = np.nan_to_num(value)
    what = (
        "labels below it are, given the rest of the tree, in nats per node"
        if whole
        else ("patterns are in its cluster compared with all trees, in nats")
    )
    most = float(np.quantile(value[value > 0], 0.99)) if (value > 0).any() else 1.0
    about = {"most": max(most, 1e-3), "about": f"The redder the ring of a node, the rarer its {what}."}
    starts = some.tree_start
    return {int(t): value[starts[x] : starts[x + 1]] for x, t in enumerate(trees)}, about


def subtree_sizes(forest: Forest) -> Floats:
    """Nodes of the subtree of every node."""
    size = [1.0] * forest.n_nodes
    for u, above in enumerate(forest.parent.tolist()):  # children come before parents
        if above >= 0:
            size[above] += size[u]
    return np.array(size)


def drawn_tree(
    forest: Forest, t: int, words: Words, most: int = MAX_TREE_NODES, heat: Floats | None = None
) -> dict[str, Any]:
    """Nodes by level from the root down, at most so many: parent (an earlier node), slot, label, and what is hidden.

    `heat` is a number for each node of the tree.
    """
    lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
    parent = forest.parent[lo:hi] - lo
    order = np.lexsort((forest.slot[lo:hi], parent))  # children of a node together, by slot
    first = np.searchsorted(parent[order], np.arange(hi - lo + 1))
    queue = [hi - lo - 1]  # the root is last
    for u in queue:  # grows as it is read
        if len(queue) >= most:
            break
        queue += order[first[u] : first[u + 1]].tolist()
    queue = queue[:most]
    rank = np.full(hi - lo, -1, np.int64)
    rank[queue] = np.arange(len(queue))
    label = forest.label[lo:hi]
    page: dict[str, Any] = {
        "parent": [-1, *(int(rank[parent[u]]) for u in queue[1:])],
        "slot": [int(forest.slot[lo + u]) for u in queue],
        "label": [_word(forest, int(label[u]), words) for u in queue],
    }
    if heat is not None:
        page["heat"] = [round(float(heat[u]), 2) for u in queue]
    if len(queue) < hi - lo:
        page["hidden"] = hi - lo - len(queue)
        page["below"] = _hidden_below(parent, rank, queue)
    return page


def _word(forest: Forest, label: int, words: Words) -> int:
    if label >= 0:
        return words.add(forest.vocabulary[label])
    return words.add("(no label)" if label == MISSING else "(label never seen)")


def _hidden_below(parent: Any, rank: Any, queue: list[int]) -> dict[str, int]:
    """How many nodes are left out below each that is drawn."""
    count = np.zeros(len(parent), np.int64)
    for u in range(len(parent) - 1):  # children come before parents
        if rank[u] < 0:
            count[parent[u]] += count[u] + 1
    return {str(x): int(count[u]) for x, u in enumerate(queue) if count[u]}
