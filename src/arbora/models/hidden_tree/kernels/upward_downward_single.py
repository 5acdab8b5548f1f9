"""The passes of upward_downward.py for a single component: the innermost loops run over its states.

Same arrays without the lane axis, same steps in the same order, and the same results to rounding.  A copy, because
with one lane the kernels for many spend three times as long on loops of length one.
"""

import numpy as np

from ....jit import jit
from .single_steps import pull_down, send, turn

FLOOR = 1e-200  # as in upward_downward.py
CEILING = 1e250


@jit
def upward(units, flow, messages_out):
    """P(state | subtree) and log P(subtree) of every unit; children precede parents, so one sweep is enough."""
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, through, inverse, log_prob = messages_out
    n_units, n_states = up.shape
    has_absent = tail.shape[0] > 0
    absent = edge.shape[1] - 1
    prior = np.empty(n_states)  # P(state | subtrees of the children)
    for d in range(n_units):
        lo, hi = child_start[d], child_start[d + 1]
        below = 0.0
        if lo == hi:
            row = slot[d] if slot[d] >= 0 else leaf.shape[0] - 1
            for i in range(n_states):
                prior[i] = leaf[row, i]
        else:
            last = child[hi - 1]
            if has_absent:  # children come by slot, so all slots behind the last one's are absent
                row = slot[last] + 1
                for i in range(n_states):
                    prior[i] = tail[row, i] + through[last, i]
            else:
                for i in range(n_states):
                    prior[i] = through[last, i]
            due = 0  # the slot after the last child read
            for e in range(lo, hi):
                v = child[e]
                if e < hi - 1:
                    for i in range(n_states):
                        prior[i] += through[v, i]
                if has_absent:
                    for l in range(due, slot[v]):
                        for i in range(n_states):
                            prior[i] += edge[l, absent, i]
                due = slot[v] + 1
                below += log_prob[v]
        if label[d] >= 0:  # an unknown label is summed out
            for i in range(n_states):
                prior[i] *= emission[label[d], i]
        z = 0.0
        for i in range(n_states):
            z += prior[i]
        if z < FLOOR:
            log_prob[d] = -np.inf
            z = 0.0
        else:
            log_prob[d] = np.log(z) + below
            z = 1.0 / z
        inverse[d] = z
        for i in range(n_states):
            up[d, i] = prior[i] * z
        if slot[d] < 0:
            continue
        send(edge, slot[d], up, d, through)
        if crowd.shape[0] and crowd[d] > 1:
            for i in range(n_states):
                through[d, i] /= crowd[d]


@jit
def _weigh_roots(weighted, pull_out, mass_out):
    """Begin the way down: nothing from parents, and at each root the weight of its trees."""
    tree_root, weight = weighted
    pull_out[:] = 0.0  # posterior over prior of the parents, summed over them
    mass_out[:] = 0.0  # weight of all occurrences
    for t in range(tree_root.shape[0]):
        mass_out[tree_root[t]] += weight[t]


@jit
def downward(units, flow, messages, weighted, posterior_out, sums_out):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step."""
    label, slot, crowd, child_start, child = units
    _, emission, edge, _ = flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    leaf_sum, emission_sum, pair_sum, gap_sum, tail_sum = sums_out
    n_units, n_states = up.shape
    keep, has_absent = posterior_out.shape[0] > 0, tail_sum.shape[0] > 0
    _weigh_roots(weighted, pull, mass)
    turned = turn(edge, n_states)
    outside = np.empty(n_states)
    for d in range(n_units - 1, -1, -1):
        l = slot[d]
        if l < 0:
            outside[:] = mass[d]
        else:  # as _pull_down of upward_downward.py
            if crowd.shape[0] and crowd[d] > 1:
                for i in range(n_states):
                    pull[d, i] /= crowd[d]
            pull_down(turned, l, pull, d, outside)
            rest = mass[d]
            for j in range(n_states):
                x = up[d, j]
                for i in range(n_states):
                    pair_sum[l, j, i] += pull[d, i] * x
                rest -= x * outside[j]
            rest = max(rest, 0.0)  # rounding
            for j in range(n_states):
                outside[j] += rest
        if keep:
            for i in range(n_states):
                posterior_out[d, i] = up[d, i] * outside[i]
        if label[d] >= 0:
            for i in range(n_states):
                emission_sum[label[d], i] += up[d, i] * outside[i]
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            row = l if l >= 0 else leaf_sum.shape[0] - 1
            for i in range(n_states):
                leaf_sum[row, i] += up[d, i] * outside[i]
            continue
        x = inverse[d]  # posterior over prior is emission * outside / z; slower as a helper
        if label[d] >= 0:
            for i in range(n_states):
                outside[i] = min(outside[i] * emission[label[d], i] * x, CEILING)
        else:
            for i in range(n_states):
                outside[i] = min(outside[i] * x, CEILING)
        due = 0
        for e in range(lo, hi):
            v = child[e]
            for i in range(n_states):
                pull[v, i] += outside[i]
            mass[v] += mass[d]
            if has_absent:
                for absent in range(due, slot[v]):
                    for i in range(n_states):
                        gap_sum[absent, i] += outside[i]
            due = slot[v] + 1
        if has_absent:
            for i in range(n_states):
                tail_sum[due, i] += outside[i]
