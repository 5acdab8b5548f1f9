"""How often nodes have a child in each slot, over a whole forest or store."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.trees import Trees

Floats = NDArray[np.float64]

RATE_CHUNK = 10_000


def slot_rates(forest: Trees, weight: Floats | None, n_slots: int) -> Floats:
    """Share of the nodes in each slot."""
    hits, total = slot_hits(forest, weight, n_slots)
    # Slots pooled into one may hold more children than there are nodes.
    return np.minimum((hits + 0.5) / (total + 1.0), 0.9)


def pooled_rates(forest: Trees, model: Any) -> tuple[float, ...]:
    """How often a node has a child in each slot, all trees together and half a child added; none without structure."""
    if model.structure is None:
        return ()
    hits, total = slot_hits(forest, None, model.n_slots)
    tries = np.full(model.n_slots, total)
    if model.pooled:  # a chance after each child there
        tries[-1] += hits[-1]
    return tuple(((hits + 0.5) / (tries + 1.0)).tolist())


def slot_hits(forest: Trees, weight: Floats | None, n_slots: int) -> tuple[Floats, float]:
    """Weight of the nodes in each slot, and of all."""
    hits, total = np.zeros(n_slots), 0.0
    for more_hits, more in forest.over_parts(_slot_hits, weight, n_slots):
        hits, total = hits + more_hits, total + more
    return hits, total


def _slot_hits(forest: Forest, weight: Floats | None, n_slots: int) -> tuple[Floats, float]:
    """Weight of the nodes in each slot and of all, a chunk of trees at a time: columns may be most of the memory."""
    hits, total = np.zeros(n_slots), 0.0
    for lo in range(0, forest.n_trees, RATE_CHUNK):
        hi = min(lo + RATE_CHUNK, forest.n_trees)
        slot = forest.slot[forest.tree_start[lo] : forest.tree_start[hi]]
        by_node = np.ones(len(slot)) if weight is None else np.repeat(weight[lo:hi], forest.sizes[lo:hi])
        child = slot >= 0
        hits += np.bincount(np.minimum(slot[child], n_slots - 1), by_node[child], minlength=n_slots)
        total += by_node.sum()
    return hits, float(total)
