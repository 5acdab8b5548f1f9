"""Likelihood, posteriors and expected counts of hidden tree models, for all components at once.

Components are lanes: the last axis of every array, so that each innermost loop runs over them and vectorises; their
number is padded to a multiple of `LANES`.  A single component has its own kernels, in upward_downward_single.py.

`flow[l, j, i]` is switch_prob * transition_prob: the probability that slot l decides and takes child state j to parent
state i.  In the readings where an absent child has a state of its own, j = n_states is that state, and `tail[l]` is the
sum of flow[l', n_states] over l' >= l, so that the absent slots behind the last child cost one addition.  Absent slots
between children are added one by one: subtracting from a total would cancel digits.
"""

from typing import Any, NamedTuple

import numpy as np

from ....jit import inlined, jit

# Lanes are padded to a multiple of this: the doubles of an AVX2 register.
LANES = 4
# A label less probable than this given its subtree counts as impossible, and a ratio of posterior to prior is cut
# at its counterpart, so that no product overflows and no inf meets a 0.
FLOOR = 1e-200
CEILING = 1e250


class Flow(NamedTuple):
    """Parameters in the form the passes use; the last axis is the lane."""

    leaf: Any  # [slot, state, lane]; the last slot row is the root's
    emission: Any  # [label, state, lane]
    flow: Any  # [slot, child state, state, lane]
    tail: Any  # [slot + 1, state, lane]; no slots where absent children say nothing


class Messages(NamedTuple):
    """What the upward pass leaves for the downward pass."""

    up: Any  # [unit, state, lane]: P(state | subtree)
    through: Any  # [unit, state, lane]: what the unit adds to its parent's prior; the downward pass reuses the array
    inverse: Any  # [unit, lane]: 1 / P(label | subtrees of the children), 0 where impossible
    log_prob: Any  # [unit, lane]: log P(labels of the subtree); the downward pass reuses the array


class Sums(NamedTuple):
    """Responsibility-weighted sums from the downward pass, not yet multiplied by the parameters."""

    leaf: Any  # [slot, state, lane]
    emission: Any  # [label, state, lane]
    pair: Any  # [slot, child state, state, lane], to be multiplied by flow
    gap: Any  # [slot + 1, state, lane]: this slot absent, a later one present
    tail: Any  # [slot + 1, state, lane]: absent from this slot on


@inlined
def _add(x, u, out, v):
    """out[v] += x[u]."""
    for i in range(x.shape[1]):
        for k in range(x.shape[2]):
            out[v, i, k] += x[u, i, k]


@inlined
def _set(x, u, out, v):
    """out[v] = x[u]."""
    for i in range(out.shape[1]):
        for k in range(out.shape[2]):
            out[v, i, k] = x[u, i, k]


@inlined
def _send(flow, l, up, d, through_out):
    """through[i] = sum_j flow[l, j, i] up[j]."""
    n_states, n_lanes = up.shape[1:]
    for i in range(n_states):
        for k in range(n_lanes):
            through_out[d, i, k] = flow[l, 0, i, k] * up[d, 0, k]
    for j in range(1, n_states):
        for i in range(n_states):
            for k in range(n_lanes):
                through_out[d, i, k] += flow[l, j, i, k] * up[d, j, k]


@inlined
def _add_absent(flow, first, last, prior_out):
    """Add what the absent slots first..last-1 say: prior[i] += flow[l, absent, i]."""
    absent = flow.shape[1] - 1
    for l in range(first, last):
        for i in range(flow.shape[2]):
            for k in range(flow.shape[3]):
                prior_out[0, i, k] += flow[l, absent, i, k]


@inlined
def _see_label(m, emission, prior, d, up_out, z_out):
    """up = emission * prior, not yet normalised, and z = P(label | children); a label < 0 is summed out."""
    n_states, n_lanes = prior.shape[1:]
    if m >= 0:
        for i in range(n_states):
            for k in range(n_lanes):
                up_out[d, i, k] = emission[m, i, k] * prior[0, i, k]
    else:
        _set(prior, 0, up_out, d)
    for k in range(n_lanes):
        z_out[d, k] = 0.0
    for i in range(n_states):
        for k in range(n_lanes):
            z_out[d, k] += up_out[d, i, k]


@inlined
def _normalise(d, up_out, z_out, log_prob_out):
    """Divide up by z, keep 1 / z in its place and log z."""
    n_states, n_lanes = up_out.shape[1:]
    for k in range(z_out.shape[1]):
        if z_out[d, k] < FLOOR:
            log_prob_out[d, k] = -np.inf
            z_out[d, k] = 0.0
        else:
            log_prob_out[d, k] = np.log(z_out[d, k])
            z_out[d, k] = 1.0 / z_out[d, k]
    for i in range(n_states):
        for k in range(n_lanes):
            up_out[d, i, k] *= z_out[d, k]


@jit
def upward(units, flow, messages_out):
    """P(state | subtree) and log P(subtree) of every unit; children precede parents, so one sweep is enough."""
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, through, inverse, log_prob = messages_out
    n_units, n_states, n_lanes = up.shape
    has_absent = tail.shape[0] > 0
    prior = np.empty((1, n_states, n_lanes))  # P(state | subtrees of the children)
    for d in range(n_units):
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            _set(leaf, slot[d] if slot[d] >= 0 else leaf.shape[0] - 1, prior, 0)
        elif has_absent:  # children come by slot, so all slots behind the last one's are absent
            _set(tail, slot[child[hi - 1]] + 1, prior, 0)
            due = 0  # the slot after the last child read
            for e in range(lo, hi):
                _add(through, child[e], prior, 0)
                if slot[child[e]] > due:
                    _add_absent(edge, due, slot[child[e]], prior)
                due = slot[child[e]] + 1
        else:
            _set(through, child[lo], prior, 0)
            for e in range(lo + 1, hi):
                _add(through, child[e], prior, 0)
        _see_label(label[d], emission, prior, d, up, inverse)
        _normalise(d, up, inverse, log_prob)
        for e in range(lo, hi):
            for k in range(log_prob.shape[1]):
                log_prob[d, k] += log_prob[child[e], k]
        if slot[d] >= 0:
            _send(edge, slot[d], up, d, through)
            if crowd.shape[0] and crowd[d] > 1:
                for i in range(n_states):
                    for k in range(n_lanes):
                        through[d, i, k] /= crowd[d]


@inlined
def _pull_down(flow, l, d, messages, rest, sums_out):
    """Outside weight of each state, and the unit's share of the pair sums.

    `pull[i]` is posterior over prior of the parents, summed over them; `rest` comes in as the weight of all
    occurrences.  With h_j = sum_i flow[j, i] pull[i] and s = sum_j up_j h_j, the weight with which this child decided,
    outside_j = h_j + rest - s: where it did not decide, nothing outside speaks about it.
    """
    up, pull, _, _ = messages
    outside_out, pair_out = sums_out
    n_states, n_lanes = up.shape[1:]
    for j in range(n_states):
        for k in range(n_lanes):
            outside_out[0, j, k] = flow[l, j, 0, k] * pull[d, 0, k]
        for i in range(1, n_states):
            for k in range(n_lanes):
                outside_out[0, j, k] += flow[l, j, i, k] * pull[d, i, k]
        for i in range(n_states):
            for k in range(n_lanes):
                pair_out[l, j, i, k] += pull[d, i, k] * up[d, j, k]
    for j in range(n_states):
        for k in range(n_lanes):
            rest[k] -= up[d, j, k] * outside_out[0, j, k]
    for k in range(n_lanes):
        rest[k] = max(rest[k], 0.0)  # rounding
    for j in range(n_states):
        for k in range(n_lanes):
            outside_out[0, j, k] += rest[k]


@inlined
def _posterior_over_prior(m, emission, inverse, d, outside):
    """emission * outside / z, in place: posterior over prior without dividing by a prior that may be zero."""
    n_states, n_lanes = outside.shape[1:]
    if m >= 0:
        for i in range(n_states):
            for k in range(n_lanes):
                outside[0, i, k] *= emission[m, i, k]
    for i in range(n_states):
        for k in range(n_lanes):
            outside[0, i, k] = min(outside[0, i, k] * inverse[d, k], CEILING)


@jit
def downward(units, flow, messages, weighted, posterior_out, sums_out):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `weighted` is (root unit, weight[tree, lane]) of the distinct trees.  posterior_out has a row for every unit, or
    no row when only the sums are wanted.
    """
    label, slot, crowd, child_start, child = units
    emission, edge = flow.emission, flow.flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    leaf_sum, emission_sum, pair_sum, gap_sum, tail_sum = sums_out
    n_units, n_states, n_lanes = up.shape
    keep = posterior_out.shape[0] > 0
    has_absent = tail_sum.shape[0] > 0
    tree_root, weight = weighted
    pull[:] = 0.0  # posterior over prior of the parents, summed over them
    mass[:] = 0.0  # weight of all occurrences
    for t in range(tree_root.shape[0]):
        for k in range(mass.shape[1]):
            mass[tree_root[t], k] += weight[t, k]
    outside = np.empty((1, n_states, n_lanes))
    posterior = np.empty((1, n_states, n_lanes))
    rest = np.empty(mass.shape[1])
    for d in range(n_units - 1, -1, -1):
        for k in range(mass.shape[1]):
            rest[k] = mass[d, k]
        if slot[d] < 0:
            for i in range(n_states):
                for k in range(n_lanes):
                    outside[0, i, k] = rest[k]
        else:
            if crowd.shape[0] and crowd[d] > 1:
                for i in range(n_states):
                    for k in range(n_lanes):
                        pull[d, i, k] /= crowd[d]
            _pull_down(edge, slot[d], d, messages, rest, (outside, pair_sum))
        for i in range(n_states):
            for k in range(n_lanes):
                posterior[0, i, k] = up[d, i, k] * outside[0, i, k]
        if keep:
            _set(posterior, 0, posterior_out, d)
        if label[d] >= 0:
            _add(posterior, 0, emission_sum, label[d])
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            _add(posterior, 0, leaf_sum, slot[d] if slot[d] >= 0 else leaf_sum.shape[0] - 1)
            continue
        _posterior_over_prior(label[d], emission, inverse, d, outside)
        due = 0
        for e in range(lo, hi):
            v = child[e]
            _add(outside, 0, pull, v)
            for k in range(mass.shape[1]):
                mass[v, k] += mass[d, k]
            if has_absent:
                for l in range(due, slot[v]):
                    _add(outside, 0, gap_sum, l)
            due = slot[v] + 1
        if has_absent:
            _add(outside, 0, tail_sum, due)
