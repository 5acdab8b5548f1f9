"""Quantities of single nodes and sums of them by tree: posteriors, best states, the encoding of paper 001."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..forest import Forest
from ..kernels import node_states
from ..sharing import SharedForest, iter_shards, share
from . import tree_model as tm

Floats = NDArray[np.float64]

# Nodes, not distinct subtrees, are needed here; so many bytes of them at a time.
_CHUNK_BYTES = 64 * 2**20


def plain_shards(spec: tm.Spec, n_components: int, forest: Forest) -> Iterator[SharedForest]:
    """Shards in which every node is a unit of its own, in the order of the forest."""
    max_units = max(1024, _CHUNK_BYTES // (2 * tm.unit_bytes(spec, n_components)))
    return iter_shards(forest.arrays, spec.n_slots, max_units, shared=False)


def _node_posteriors(spec: tm.Spec, params: tm.Params, shard: SharedForest, weight: Floats) -> Floats:
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
        chunk = _node_posteriors(spec, params, shard, proba[tree : tree + shard.n_trees])
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


def encode(spec: tm.Spec, params: tm.Params, forest: Forest) -> Any:
    """Sparse [tree, (component, slot, state)]: posterior mass of each state in each slot, given each component.

    Identical trees are encoded once; memory is proportional to the nonzero blocks.
    """
    n_components = params.switch.shape[1]
    n_columns = n_components * (spec.n_slots + 1) * spec.n_states
    if forest.n_trees == 0:
        return sparse.csr_array((0, n_columns))
    (distinct,) = share(forest.arrays, spec.n_slots)
    once = forest.take(distinct.tree_first)
    rows = [_encode_shard(spec, params, shard) for shard in plain_shards(spec, n_components, once)]
    return sparse.vstack(rows, format="csr")[distinct.tree_id]


def _encode_shard(spec: tm.Spec, params: tm.Params, shard: SharedForest) -> Any:
    n_components, n_states = params.switch.shape[1], spec.n_states
    weight = np.ones((shard.n_trees, n_components))
    posterior = _node_posteriors(spec, params, shard, weight)
    unit_start = np.append(0, shard.tree_root + 1)  # the root is the last node of its tree
    block_start, block_slot = _blocks(shard.units.slot, unit_start, spec.n_slots)
    n_blocks = np.diff(block_start)
    data = np.empty(len(block_slot) * n_states * n_components)
    node_states.encode_rows(unit_start, shard.units.slot, posterior, block_start, block_slot, data)
    # Column of (component k, slot l, state i), for each tree component by component.
    tree = np.repeat(np.arange(shard.n_trees), n_components)
    part = _ranges(block_start[tree], n_blocks[tree])
    component = np.repeat(np.tile(np.arange(n_components), shard.n_trees), n_blocks[tree])
    column = (component * (spec.n_slots + 1) + block_slot[part]) * n_states
    index = (column[:, None] + np.arange(n_states)).ravel()
    n_columns = n_components * (spec.n_slots + 1) * n_states
    start = block_start * n_states * n_components
    return sparse.csr_array((data, index, start), shape=(shard.n_trees, n_columns))


def _blocks(
    slot: NDArray[np.int32], unit_start: NDArray[np.int64], n_slots: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Slots each tree uses, increasing, the root's (n_slots) last: offsets and slots."""
    own = np.where(slot < 0, n_slots, slot).astype(np.int32)
    shape = (len(unit_start) - 1, n_slots + 1)
    used = sparse.csr_array((np.zeros(len(own), np.int8), own, unit_start.copy()), shape=shape)
    used.sum_duplicates()
    return used.indptr.astype(np.int64), used.indices.astype(np.int32)


def _ranges(first: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """first[x], first[x] + 1, ... of each x, one after another."""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - length), length)
