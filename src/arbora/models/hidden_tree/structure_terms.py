"""Structure terms: what a reading of absent children, and the branching, say about the shape; outside the passes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from .distributions import TINY
from .switching_params import Params, ShapeCounts

if TYPE_CHECKING:
    from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]


def branching_prior(model: Any, priors: Any) -> tuple[Floats, Floats]:
    """Parameters of the Beta prior of the branching of each slot."""
    if not model.rates:
        both = np.full(model.n_slots if model.structure else 0, priors.branching)
        return both, both
    rate = np.array(model.rates)
    return priors.branching * rate, priors.branching * (1.0 - rate)


def structure_log_prob(model: "SwitchingTree", params: Params, shard: SharedForest) -> Floats:
    """Log of the structure factor of each distinct tree and component; section 5 of the note."""
    n_lanes = params.switch.shape[1]
    out = np.zeros((shard.n_distinct_trees, n_lanes))
    if not model.needs_structure:
        return out
    s = shard.structure
    if model.absent == "slot":  # every absent slot of an internal node is a leaf prior's "nothing there"
        out += _log_power(s.n_internal, s.with_slot, params.leaf[:-1, -1])
    if model.absent == "renormalised":  # switches point to present children only
        mass = s.pattern @ np.maximum(params.switch, TINY)
        out -= s.with_pattern @ np.log(mass)
    if model.structure == "branching":
        out += branching_log_prob(params.branching, model.pooled, shard)
    return out


def branching_log_prob(branching: Floats, pooled: bool, shard: SharedForest) -> Floats:
    """Log of the chances that the nodes of each distinct tree have the children they have."""
    s = shard.structure
    never = branching <= 0
    out: Floats = s.in_slot @ np.log(np.where(never, 1.0, branching))
    if never.any():
        out[s.in_slot @ never.astype(np.float64) > 0] = -np.inf
    alone = len(branching) - pooled  # slots with at most one child: one chance per node, taken or not
    taken = s.with_slot[:, :alone] if pooled else s.with_slot  # a slice is a copy, even of everything
    out += _log_power(s.n_nodes, taken, 1.0 - branching[:alone])
    if pooled:  # any number of children: a chance after each, and one that fails
        out += np.multiply.outer(s.n_nodes, np.log1p(-branching[-1]))
    return out


def _log_power(total: Floats, taken: Any, prob: Floats) -> Floats:
    """Log of prod_l prob[l, k] ** (total[t] - taken[t, l]); 0 ** 0 is one, 0 to any more is impossible."""
    zero = prob <= 0
    log_prob = np.log(np.where(zero, 1.0, prob))
    out: Floats = np.multiply.outer(total, log_prob.sum(axis=0))
    out -= taken @ log_prob
    if zero.any():
        hits = np.multiply.outer(total, zero.sum(axis=0)) - taken @ zero.astype(np.float64)
        out[hits > 0.5] = -np.inf
    return out


def structure_counts(model: "SwitchingTree", params: Params, shard: SharedForest, weight: Floats) -> ShapeCounts:
    """What weight[distinct tree, component] contributes to the counts of the structure terms."""
    n_lanes = params.switch.shape[1]
    none = np.zeros((0, n_lanes))
    nothing, branching, exposure = none, np.zeros((2, 0, n_lanes)), none
    if model.absent == "slot":
        s = shard.structure
        nothing = np.maximum(s.n_internal @ weight - s.with_slot.T @ weight, 0.0)  # rounding
    if model.absent == "renormalised":
        s = shard.structure
        mass = s.pattern @ np.maximum(params.switch, TINY)
        exposure = s.pattern.T @ ((s.with_pattern.T @ weight) / mass)
    if model.structure == "branching":
        branching = branching_counts(model.pooled, shard, weight)
    return ShapeCounts(nothing, branching, exposure)


def branching_counts(pooled: bool, shard: SharedForest, weight: Floats) -> Floats:
    """Children in each slot, and nodes that could have one, [2, slot, component]."""
    s = shard.structure
    hits = s.with_slot.T @ weight
    counts = np.stack([hits, np.broadcast_to(s.n_nodes @ weight, hits.shape)])
    if pooled:
        counts[0, -1] = (s.in_slot.T @ weight)[-1]
        counts[1, -1] += counts[0, -1]
    return counts
