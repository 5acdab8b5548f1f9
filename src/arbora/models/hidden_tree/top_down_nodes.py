"""Nodes of top-down hidden trees: best states, draws of labels and shapes, and what is left without a subtree.

With o(u, j) = P(state j of u, labels outside the subtree of u), up to a factor, and S0 the upward message of the same
shape without labels, P(outside) = sum_j o(u, j) S0(j) and P(tree) = sum_j o(u, j) up(u, j).  A child v of u in slot l
has o(v, j) = sum_i A[l, i, j] o(u, i) b(u, i) prod of what siblings of v send to i: sums of logarithms, one left out.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.forest import Forest
from ...forest.kernels import layout
from ...forest.sharing import SharedForest
from . import draw_trees
from .kernels import top_down as td
from .kernels import top_down_states as states
from .lanes import Workspace, from_lanes
from .node_surprise import parents_of, subtree_sums

if TYPE_CHECKING:
    from .top_down_params import Params
    from .top_down_tree import TopDownTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_AT_ONCE = 2**21  # numbers gathered for nodes of one depth


def best_states(flow: td.Flow, shard: SharedForest, lanes: Ints) -> Ints:
    """State of every node of a plain shard in the most probable joint choice."""
    with np.errstate(divide="ignore"):
        logs = td.Flow(*(np.log(np.ascontiguousarray(x)) for x in flow))
    return np.asarray(states.best_states(shard.units, lanes, logs))


def draw_labels(rng: np.random.Generator, flow: td.Flow, shard: SharedForest, lanes: Ints) -> NDArray[np.int32]:
    """Labels of the nodes of a plain shard given their shapes."""
    plain = td.Flow(*(np.ascontiguousarray(x) for x in flow))
    return np.asarray(states.draw_labels(rng, shard.units, lanes, plain))


def draw_shapes(rng: np.random.Generator, model: "TopDownTree", params: "Params", component: Ints) -> Forest:
    """Trees without labels; refuses components whose trees may never end."""
    if model.structure is None:
        raise ArboraError(
            "sample: this model does not describe shapes; give skeleton=forest to draw labels for given shapes, or "
            "fit with structure='branching' or 'state'"
        )
    if model.structure == "branching":
        return draw_trees.draw_shapes(rng, params.branching, component, model.pooled)
    radius = growth(model, params)
    endless = component[radius[component] >= 1.0]
    if len(endless):
        k = endless[0]
        raise ArboraError(
            f"sample: nodes of component {k} have {radius[k]:.2f} children in the long run, so its trees may never "
            f"end; fit with a lower branching_prior or more trees, or give skeleton="
        )
    arrays = tuple(np.ascontiguousarray(x) for x in (params.root, params.transition, params.branching))
    drawn = states.draw_shapes(rng, arrays, component, draw_trees.MAX_NODES, model.pooled)
    return draw_trees.shapes_of(drawn, component)


def growth(model: "TopDownTree", params: "Params") -> Floats:
    """Spectral radius of the expected children by state, of each component: below one, drawn trees end."""
    children = params.branching.copy()
    if model.pooled:
        children[-1] /= np.maximum(1.0 - children[-1], 1e-12)
    offspring = (children[:, :, None] * params.transition).sum(axis=0)  # [parent, child, k]
    return np.asarray(np.abs(np.linalg.eigvals(offspring.transpose(2, 0, 1))).max(axis=1))


class _Passes(NamedTuple):
    """Messages of a plain shard in logarithms, components last."""

    up: Floats  # [node, state, component]
    through: Floats  # of roots, zero
    log_scale: Floats  # [node, component]


def without_subtrees(model: "TopDownTree", params: "Params", shard: SharedForest) -> tuple[Floats, Floats]:
    """log P(tree), and log P(all labels but those of the subtree) - log P(tree) of every node, by component."""
    label = np.asarray(shard.units.label)
    flow, offset = model.plain_flow(params), None
    if not model.emission.by_label:
        rows = model.emission.rows(params.emission, shard.contents)
        flow, offset = flow._replace(emission=rows.prob), rows.offset
    with np.errstate(divide="ignore", invalid="ignore"):
        with_labels = _upward(model, params, shard, label)
        if offset is not None:
            below = subtree_sums(offset[label], parents_of(shard))
            with_labels = with_labels._replace(log_scale=with_labels.log_scale + below)
        without = _upward(model, params, shard, np.full_like(label, -1))
        outside = _outside(flow, with_labels, shard, model.pooled)
        ratio = _log_sum(outside + without.up) - _log_sum(outside + with_labels.up)
        ratio += without.log_scale - with_labels.log_scale
        root = with_labels.up[shard.tree_root] + np.log(flow.root)
        return with_labels.log_scale[shard.tree_root] + _log_sum(root), ratio


def _upward(model: "TopDownTree", params: "Params", shard: SharedForest, label: Any) -> _Passes:
    messages, _ = model.upward(
        model.prepare(params), params, replace(shard, units=shard.units._replace(label=label)), Workspace()
    )
    n = params.root.shape[1]
    up, through, log_scale = (from_lanes(messages.at(x, slice(None)), n) for x in ("up", "through", "log_prob"))
    is_root = np.asarray(shard.units.slot) < 0
    scale = log_scale.copy()
    scale[is_root] -= np.log((up[is_root] * params.root).sum(axis=1))
    return _Passes(np.log(up), np.log(np.where(is_root[:, None, None], 1.0, through)), scale)


def _outside(flow: td.Flow, passes: _Passes, shard: SharedForest, pooled: bool) -> Floats:
    """log o(u, j) of every node, from the roots down, all nodes of one depth at a time; scaled anew at each node."""
    _, slot, _, _, child = (np.asarray(x) for x in shard.units)
    n_nodes, n_states, n = passes.up.shape
    parent = parents_of(shard)
    total = _own(flow, shard, parent, n_nodes, pooled)
    sent = _Sum.of(passes.through)
    for whole, part in zip(total, sent, strict=True):
        np.add.at(whole, parent[child], part[child])
    depth = layout.depth(parent)
    order = np.argsort(depth, kind="stable")
    out = np.broadcast_to(np.log(flow.root), (n_nodes, n_states, n)).copy()
    step = max(1, MOST_AT_ONCE // max(n_states * n_states * n, 1))
    for level in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[1:]:
        for lo in range(0, len(level), step):
            v = level[lo : lo + step]
            u = parent[v]
            rest = out[u] + _Sum(total.finite[u] - sent.finite[v], total.n_zero[u] - sent.n_zero[v]).value()
            top = rest.max(axis=1, keepdims=True)
            rest = np.exp(rest - np.where(np.isfinite(top), top, 0.0))
            out[v] = np.log((flow.edge[slot[v]] * rest[:, None]).sum(axis=2))
    return out


class _Sum(NamedTuple):
    """A sum of logarithms from which terms can be taken away: the finite ones, and how many are of zero."""

    finite: Floats
    n_zero: NDArray[np.int64]

    @classmethod
    def of(cls, logs: Floats) -> "_Sum":
        zero = np.isneginf(logs)
        return cls(np.where(zero, 0.0, logs), zero.astype(np.int64))

    def value(self) -> Floats:
        return np.where(self.n_zero > 0, -np.inf, self.finite)


def _own(flow: td.Flow, shard: SharedForest, parent: Ints, n_nodes: int, pooled: bool) -> _Sum:
    """What the label of each node, and its empty slots where they depend on states, say of its state."""
    label = np.asarray(shard.units.label)
    own = _Sum(np.zeros((n_nodes, *flow.root.shape)), np.zeros((n_nodes, *flow.root.shape), np.int64))
    seen = label >= 0
    said = _Sum.of(np.log(flow.emission[label[seen]]))
    own.finite[seen] += said.finite
    own.n_zero[seen] += said.n_zero
    if len(flow.miss):
        slot = np.asarray(shard.units.slot)
        taken = np.unique(np.stack([parent, slot])[:, parent >= 0], axis=1)  # of children pooled into a slot, one
        if pooled:  # in the last slot there is always a chance that fails
            taken = taken[:, taken[1] < len(flow.miss) - 1]
        every: Any = zip(own, _Sum.of(np.log(flow.miss)), strict=True)
        for whole, part in every:
            whole += part.sum(axis=0)
            np.subtract.at(whole, taken[0], part[taken[1]])
    return own


def _log_sum(x: Floats) -> Floats:
    """log sum exp over states."""
    top = x.max(axis=1, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(np.log(np.exp(x - safe).sum(axis=1)) + safe[:, 0])
