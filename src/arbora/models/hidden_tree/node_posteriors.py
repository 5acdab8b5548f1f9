"""Quantities of single nodes: posteriors and best states."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.sharing import SharedForest, iter_shards
from . import tree_model as tm
from .kernels import node_states

Floats = NDArray[np.float64]

# Nodes, not distinct subtrees, are needed here; so many bytes of them at a time.
_CHUNK_BYTES = 64 * 2**20


def plain_shards(spec: tm.Spec, n_components: int, forest: Forest) -> Iterator[SharedForest]:
    """Shards in which every node is a unit of its own, in the order of the forest."""
    max_units = max(1024, _CHUNK_BYTES // (2 * tm.unit_bytes(spec, n_components)))
    return iter_shards(forest.arrays, spec.n_slots, max_units, shared=False)


def node_posteriors(spec: tm.Spec, params: tm.Params, shard: SharedForest, weight: Floats) -> Floats:
    """Posterior of every node of a plain shard, [node, state, lane], times weight[tree, lane]."""
    flow = tm.as_flow(spec, params)
    n_components = weight.shape[1]
    messages, log_prob = tm.upward(flow, shard, n_components, tm.Workspace())
    weight = np.where(np.isfinite(log_prob), weight, 0.0)
    out = np.empty_like(messages.up)
    tm.downward(flow, shard, messages, weight, tm.empty_sums(spec, flow), out)
    return np.ascontiguousarray(tm.from_lanes(out, n_components))


def posterior(spec: tm.Spec, params: tm.Params, forest: Forest, proba: Floats) -> Floats:
    """P(component, state | tree) of every node, [node, component, state]."""
    n_components = proba.shape[1]
    out = np.empty((forest.n_nodes, n_components, spec.n_states))
    tree = node = 0
    for shard in plain_shards(spec, n_components, forest):
        rows = slice(node, node + shard.n_units)
        chunk = node_posteriors(spec, params, shard, proba[tree : tree + shard.n_trees])
        out[rows] = chunk.transpose(0, 2, 1)
        tree, node = tree + shard.n_trees, node + shard.n_units
    return out


def decode(spec: tm.Spec, params: tm.Params, forest: Forest, component: NDArray[np.int64]) -> NDArray[np.int64]:
    """Best joint states of the nodes, each tree in its component."""
    flow = params.transition * np.maximum(params.switch, tm.TINY)[:, None, None, :]
    best_tail = np.zeros((spec.n_slots + 1, spec.n_states, flow.shape[-1]))  # the best absent slot from here on
    if spec.absent_is_state:
        best_tail[:-1] = np.maximum.accumulate(flow[::-1, spec.n_states], axis=0)[::-1]
    arrays = tuple(np.ascontiguousarray(x) for x in (params.leaf, params.emission, flow, best_tail))
    out = np.empty(forest.n_nodes, np.int64)
    lanes = np.repeat(component, forest.sizes)
    node = 0
    for shard in plain_shards(spec, 1, forest):
        rows = slice(node, node + shard.n_units)
        out[rows] = node_states.best_states(shard.units, lanes[rows].copy(), arrays)
        node += shard.n_units
    return out
