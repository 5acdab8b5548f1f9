"""Quantities of single nodes: posteriors and best states."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.sharing import SharedForest, iter_shards
from .hidden_model import HiddenModel
from .lanes import Workspace, from_lanes
from .tree_model import Arrays, wanted

Floats = NDArray[np.float64]

# Nodes, not distinct subtrees, are needed here; so many bytes of them at a time.
_CHUNK_BYTES = 64 * 2**20


def plain_shards(model: HiddenModel, n_components: int, forest: Forest) -> Iterator[SharedForest]:
    """Shards in which every node is a unit of its own, in the order of the forest."""
    max_units = max(1024, _CHUNK_BYTES // (2 * model.unit_bytes(n_components)))
    return iter_shards(forest.arrays, model.n_slots, max_units, shared=False, content=forest.rows(wanted(model)))


def node_posteriors(model: HiddenModel, params: Arrays, shard: SharedForest, weight: Floats) -> Floats:
    """Posterior of every node of a plain shard, [node, state, lane], times weight[tree, lane]."""
    flow = model.prepare(params)
    n_components = weight.shape[1]
    messages, log_prob = model.upward(flow, params, shard, Workspace())
    weight = np.where(np.isfinite(log_prob), weight, 0.0)
    out = model.node_room(messages)
    model.downward(flow, shard, messages, weight, model.empty_sums(n_components), out)
    return np.ascontiguousarray(from_lanes(out, n_components))


def posterior(model: HiddenModel, params: Arrays, forest: Forest, proba: Floats) -> Floats:
    """P(component, state | tree) of every node, [node, component, state]."""
    n_components = proba.shape[1]
    out = np.empty((forest.n_nodes, n_components, model.n_states))
    tree = node = 0
    for shard in plain_shards(model, n_components, forest):
        rows = slice(node, node + shard.n_units)
        chunk = node_posteriors(model, params, shard, proba[tree : tree + shard.n_trees])
        out[rows] = chunk.transpose(0, 2, 1)
        tree, node = tree + shard.n_trees, node + shard.n_units
    return out


def decode(model: HiddenModel, params: Arrays, forest: Forest, component: NDArray[np.int64]) -> NDArray[np.int64]:
    """Best joint states of the nodes, each tree in its component."""
    out = np.empty(forest.n_nodes, np.int64)
    lanes = np.repeat(component, forest.sizes)
    node = 0
    for shard in plain_shards(model, 1, forest):
        rows = slice(node, node + shard.n_units)
        out[rows] = model.best_states(params, shard, lanes[rows].copy())
        node += shard.n_units
    return out
