"""Trees as a page draws them: the nodes nearest to the root, their labels, and how many are left out below each."""

from typing import Any

import numpy as np

from ..forest.forest import Forest
from ..forest.node_columns import MISSING

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


def drawn_tree(forest: Forest, t: int, words: Words, most: int = MAX_TREE_NODES) -> dict[str, Any]:
    """Nodes by level from the root down, at most so many: parent (an earlier node), slot, label, and what is hidden."""
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
