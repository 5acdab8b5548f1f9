"""Likelihood, posteriors and expected counts of top-down hidden trees, for all components at once.

Components are lanes, as in upward_downward.py; a single component has its own kernels, in top_down_single.py.

`edge[l, j, i]` is the probability that a child in slot l of a node in state i is in state j, times the chance that
there is a child, where that depends on the state.  Given its state, the children of a node are independent, so their
messages multiply.  A product is taken plainly: all factors are at most one, so one that ends above `LEAST` has never
underflowed.  Where it ends below, and its largest entry below `MIDDLE`, the lane is computed again in logarithms.
"""

from typing import Any, NamedTuple

import numpy as np

from ....jit import inlined, jit
from .upward_downward import CEILING, _add, _send, _set

LEAST, MIDDLE = 1e-250, 1e-50


class Flow(NamedTuple):
    """Parameters in the form of the passes; the last axis is the lane."""

    root: Any  # [state, lane]
    emission: Any  # [label, state, lane]
    edge: Any  # [slot, child state, state, lane]
    miss: Any  # [slot, state, lane]: no child there; no slots where shapes do not depend on states
    tail: Any  # [slot + 1, state, lane]: no child from this slot on


class Messages(NamedTuple):
    """What the upward pass leaves for the downward pass."""

    up: Any  # [unit, state, lane]: P(subtree | state), scaled to a maximum of one
    through: Any  # [unit, state, lane]: the same given the parent's state
    pull: Any  # [unit, state, lane]: of the downward pass: posteriors of the parents, summed
    log_prob: Any  # [unit, lane]: log of the scale; of a root, log P(tree)


class Sums(NamedTuple):
    """Responsibility-weighted sums from the downward pass."""

    root: Any  # [state, lane]
    emission: Any  # [label, state, lane]
    pair: Any  # [slot, child state, state, lane], to be multiplied by edge
    hit: Any  # [slot, state, lane]: children there; no slots where shapes do not depend on states
    crowded: Any  # [1, state, lane]: children in the last slot beyond the first; no row as above
    node: Any  # [1, state, lane]: nodes; no row as above


@inlined
def _times(x, u, out, v):
    """out[v] *= x[u]."""
    for i in range(x.shape[1]):
        for k in range(x.shape[2]):
            out[v, i, k] *= x[u, i, k]


@jit
def rescue(units, factors, d, k, up_out, logs):
    """Write the product of unit d in lane k, scaled to a maximum of one, by logarithms; log of its scale.

    `factors` is (emission, miss, tail, through) of these lanes, and `logs` is room for a number for each state.
    """
    label, slot, _, child_start, child = units
    emission, miss, tail, through = factors
    lo, hi = child_start[d], child_start[d + 1]
    shaped = tail.shape[0] > 0
    top = -np.inf
    for i in range(logs.shape[0]):
        total = 0.0
        if label[d] >= 0:
            total += np.log(emission[label[d], i, k])
        if shaped:
            total += np.log(tail[slot[child[hi - 1]] + 1 if hi > lo else 0, i, k])
        due = 0
        for e in range(lo, hi):
            v = child[e]
            total += np.log(through[v, i, k])
            if shaped:
                for l in range(due, slot[v]):
                    total += np.log(miss[l, i, k])
            due = slot[v] + 1
        logs[i] = total
        top = max(top, total)
    for i in range(logs.shape[0]):
        up_out[d, i, k] = 0.0 if top == -np.inf else np.exp(logs[i] - top)
    return top


@jit
def upward(units, flow, messages_out):
    """P(subtree | state) of every unit, scaled, and log P(tree) of roots; children precede parents."""
    label, slot, _, child_start, child = units
    root, emission, edge, miss, tail = flow
    up, through, _, log_prob = messages_out
    n_units, n_states, n_lanes = up.shape
    shaped = tail.shape[0] > 0
    top, low, shift = np.empty(n_lanes), np.empty(n_lanes), np.empty(n_lanes)
    logs = np.empty(n_states)
    for d in range(n_units):
        lo, hi = child_start[d], child_start[d + 1]
        if shaped:  # children come by slot, so all slots behind the last one's are empty
            _set(tail, slot[child[hi - 1]] + 1 if hi > lo else 0, up, d)
            if label[d] >= 0:
                _times(emission, label[d], up, d)
        elif label[d] >= 0:
            _set(emission, label[d], up, d)
        else:
            for i in range(n_states):
                for k in range(n_lanes):
                    up[d, i, k] = 1.0
        due = 0
        for e in range(lo, hi):
            _times(through, child[e], up, d)
            if shaped:
                for l in range(due, slot[child[e]]):
                    _times(miss, l, up, d)
                due = slot[child[e]] + 1
        for k in range(n_lanes):
            top[k], low[k], shift[k] = up[d, 0, k], up[d, 0, k], 0.0
        for i in range(1, n_states):
            for k in range(n_lanes):
                top[k] = max(top[k], up[d, i, k])
                low[k] = min(low[k], up[d, i, k])
        for k in range(n_lanes):
            if low[k] < LEAST and top[k] < MIDDLE:
                shift[k] = rescue(units, (emission, miss, tail, through), d, k, up, logs)
                top[k] = 0.0 if shift[k] == -np.inf else 1.0
        for k in range(n_lanes):
            if top[k] > 0.0:
                log_prob[d, k] = np.log(top[k]) + shift[k]
                top[k] = 1.0 / top[k]
            else:
                log_prob[d, k] = -np.inf
        for i in range(n_states):
            for k in range(n_lanes):
                up[d, i, k] *= top[k]
        for e in range(lo, hi):
            for k in range(n_lanes):
                log_prob[d, k] += log_prob[child[e], k]
        if slot[d] >= 0:
            _send(edge, slot[d], up, d, through)
        else:
            for k in range(n_lanes):
                total = 0.0
                for i in range(n_states):
                    total += root[i, k] * up[d, i, k]
                log_prob[d, k] += np.log(total)


@jit
def _start_roots(root, up, weighted, pull_out):
    """Posterior over message of the roots: weight times root / P(tree, scaled)."""
    tree_root, weight = weighted
    n_states, n_lanes = root.shape
    for t in range(tree_root.shape[0]):
        r = tree_root[t]
        for k in range(n_lanes):
            total = 0.0
            for i in range(n_states):
                total += root[i, k] * up[r, i, k]
            share = min(weight[t, k] / total, CEILING) if total > 0.0 else 0.0
            for i in range(n_states):
                pull_out[r, i, k] = root[i, k] * share


@jit
def downward(units, flow, messages, weighted, posterior_out, sums_out):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `weighted` is (root unit, weight[tree, lane]) of the distinct trees.  posterior_out has a row for every unit, or
    no row when only the sums are wanted.
    """
    label, slot, crowd, child_start, child = units
    root, edge = flow.root, flow.edge
    up, ratio, pull, _ = messages  # what was sent up is divided by once, and its array used again
    root_sum, emission_sum, pair_sum, hit_sum, crowded_sum, node_sum = sums_out
    n_units, n_states, n_lanes = up.shape
    keep = posterior_out.shape[0] > 0
    shaped = node_sum.shape[0] > 0
    pull[:] = 0.0
    _start_roots(root, up, weighted, pull)
    posterior = np.empty((1, n_states, n_lanes))
    for d in range(n_units - 1, -1, -1):
        l = slot[d]
        if l < 0:
            _set(pull, d, posterior, 0)
        else:
            if shaped:
                _add(pull, d, hit_sum, l)
                if crowd.shape[0] and crowd[d] > 1:
                    for i in range(n_states):
                        for k in range(n_lanes):
                            crowded_sum[0, i, k] += pull[d, i, k] * (1.0 - 1.0 / crowd[d])
            for i in range(n_states):
                for k in range(n_lanes):
                    x = ratio[d, i, k]
                    ratio[d, i, k] = min(pull[d, i, k] / x, CEILING) if x > 0.0 else 0.0
            for j in range(n_states):
                for k in range(n_lanes):
                    posterior[0, j, k] = edge[l, j, 0, k] * ratio[d, 0, k]
                for i in range(1, n_states):
                    for k in range(n_lanes):
                        posterior[0, j, k] += edge[l, j, i, k] * ratio[d, i, k]
                for i in range(n_states):
                    for k in range(n_lanes):
                        pair_sum[l, j, i, k] += ratio[d, i, k] * up[d, j, k]
        _times(up, d, posterior, 0)
        if l < 0:
            for i in range(n_states):
                for k in range(n_lanes):
                    root_sum[i, k] += posterior[0, i, k]
        if keep:
            _set(posterior, 0, posterior_out, d)
        if label[d] >= 0:
            _add(posterior, 0, emission_sum, label[d])
        if shaped:
            _add(posterior, 0, node_sum, 0)
        for e in range(child_start[d], child_start[d + 1]):
            _add(posterior, 0, pull, child[e])
