"""Surprise of single nodes: how improbable the labels from a node down are, given all other labels of its tree.

With o(u, j) = P(labels outside the subtree of u | state j of u), scaled so that sum_j P(j | subtree) o(u, j) = 1, and
S0 the upward message of the same shape without labels, P(outside) / P(tree) = sum_j S0(j) o(u, j) / P(subtree).  A
parent u with g(i) = P(label | i) o(u, i) / z(u) gives its child v in slot l
o(v, j) = 1 + sum_i g(i) (flow[l, j, i] - through(v, i)): where v does not decide, nothing outside depends on its state.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.kernels import layout
from ...forest.sharing import SharedForest
from .hidden_model import HiddenModel
from .kernels import upward_downward as ud
from .kernels import upward_downward_single as single
from .lanes import Workspace, from_lanes, to_lanes
from .node_posteriors import plain_shards
from .passes import MixtureParams, log_sum
from .switching_params import Params

if TYPE_CHECKING:
    from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_AT_ONCE = 2**21  # numbers of the flow gathered for nodes of one depth


class _Passes(NamedTuple):
    """Messages of a plain shard, components last."""

    up: Floats  # [node, state, component]
    through: Floats
    inverse: Floats  # [node, component]
    log_prob: Floats
    flow: Floats  # [slot, child state, state, component]
    emission: Floats  # [label, or row of the contents, state, component]


def node_surprise(model: HiddenModel, params: MixtureParams, forest: Forest) -> Floats:
    """-log P(labels of the subtree | shape and other labels of the tree) of every node, in nats.

    Components that cannot produce the whole tree do not count; nan where none can.
    """
    shards = plain_shards(model, len(params.weight), forest)
    return np.concatenate([np.zeros(0), *(_of_shard(model, params, shard) for shard in shards)])


def _of_shard(model: HiddenModel, params: MixtureParams, shard: SharedForest) -> Floats:
    log_prob, ratio = model.without_subtrees(params.tree, shard)
    of_shape = model.shape_log_prob(params.tree, shard)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = log_prob + (0.0 if of_shape is None else of_shape) + np.log(params.weight)
        unit_tree = np.repeat(np.arange(shard.n_distinct_trees), np.diff(np.append(-1, shard.tree_root)))
        joint = root[unit_tree]
        rest = np.where(np.isfinite(joint), joint + ratio, -np.inf)
        return np.where(np.isfinite(log_sum(joint)), log_sum(rest) - log_sum(joint), np.nan)


def without_subtrees(model: "SwitchingTree", params: Params, shard: SharedForest) -> tuple[Floats, Floats]:
    """log P(tree), and log P(all labels but those of the subtree) - log P(tree) of every node, by component."""
    label, slot, crowd, _, _ = shard.units
    with_labels, offset = _upward(model, params, shard, np.asarray(label))
    without, _ = _upward(model, params, shard, np.full_like(label, -1))
    parent = parents_of(shard)
    shared = np.asarray(crowd, np.float64) if len(crowd) else np.ones(shard.n_units)
    if offset is not None:
        below = subtree_sums(offset[label], parent)
        with_labels = with_labels._replace(log_prob=with_labels.log_prob + below)
    outside = _outside(with_labels, parent, np.asarray(slot), np.asarray(label), shared)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = without.log_prob - with_labels.log_prob + np.log((without.up * outside).sum(axis=1))
    return with_labels.log_prob[shard.tree_root], ratio


def _upward(model: "SwitchingTree", params: Params, shard: SharedForest, label: Any) -> tuple[_Passes, Floats | None]:
    """Messages, and the offsets of the rows that their log-probabilities leave out."""
    flow, n = model.prepare(params), params.switch.shape[1]
    offset = None
    if not model.emission.by_label:
        rows = model.emission.rows(params.emission, shard.contents)
        flow, offset = flow._replace(emission=to_lanes(rows.prob)), rows.offset
    _, n_states, *lanes = flow.leaf.shape
    messages = Workspace().messages(shard.n_units, n_states, tuple(lanes))
    (single if n == 1 else ud).upward(shard.units._replace(label=label), flow, messages)
    parts = (messages.up, messages.through, messages.inverse, messages.log_prob, flow.flow, flow.emission)
    return _Passes(*(from_lanes(part, n) for part in parts)), offset


def parents_of(shard: SharedForest) -> Ints:
    """The parent of every node of a plain shard; -1 at roots."""
    parent = np.full(shard.n_units, -1, np.int64)
    parent[shard.units.child] = np.repeat(np.arange(shard.n_units), np.diff(shard.units.child_start))
    return parent


def subtree_sums(values: Floats, parent: Ints) -> Floats:
    """Sums over the nodes of each subtree, from the deepest level up."""
    total = values.copy()
    depth = layout.depth(parent)
    order = np.argsort(-depth, kind="stable")
    for level in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[:-1]:
        np.add.at(total, parent[level], total[level])
    return total


def _outside(passes: _Passes, parent: Ints, slot: Ints, label: Ints, crowd: Floats) -> Floats:
    """o(u, j) of every node, from the roots down, all nodes of one depth at a time."""
    n_nodes, n_states, n = passes.up.shape
    depth = layout.depth(parent)
    order = np.argsort(depth, kind="stable")
    out = np.ones((n_nodes, n_states, n))
    step = max(1, MOST_AT_ONCE // max(n_states * n_states * n, 1))
    for level in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[1:]:
        for lo in range(0, len(level), step):
            v = level[lo : lo + step]
            u = parent[v]
            g = out[u] * passes.inverse[u][:, None, :]
            seen = label[u] >= 0
            g[seen] *= passes.emission[label[u][seen]]
            flow = passes.flow[slot[v], :n_states] / crowd[v][:, None, None, None]
            decided = (g[:, None] * flow).sum(axis=2)
            idle = 1.0 - (g * passes.through[v]).sum(axis=1)
            out[v] = decided + np.maximum(idle, 0.0)[:, None]  # rounding
    return out
