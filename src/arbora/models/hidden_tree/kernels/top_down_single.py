"""The passes of top_down.py for a single component: the innermost loops run over its states.

Same arrays without the lane axis, same steps in the same order, and the same results to rounding.
"""

import numpy as np

from ....jit import jit
from .single_steps import pull_down, send, turn
from .top_down import LEAST, MIDDLE
from .upward_downward import CEILING


@jit
def in_logs(units, flow, through, d, log_out):
    """Logarithms of the product of unit d, into log_out[state]; the largest of them."""
    label, slot, _, child_start, child = units
    lo, hi = child_start[d], child_start[d + 1]
    shaped = flow.tail.shape[0] > 0
    top = -np.inf
    for i in range(log_out.shape[0]):
        total = 0.0
        if label[d] >= 0:
            total += np.log(flow.emission[label[d], i])
        if shaped:
            total += np.log(flow.tail[slot[child[hi - 1]] + 1 if hi > lo else 0, i])
        due = 0
        for e in range(lo, hi):
            v = child[e]
            total += np.log(through[v, i])
            if shaped:
                for l in range(due, slot[v]):
                    total += np.log(flow.miss[l, i])
            due = slot[v] + 1
        log_out[i] = total
        top = max(top, total)
    return top


@jit
def upward(units, flow, messages_out):
    """P(subtree | state) of every unit, scaled, and log P(tree) of roots; children precede parents."""
    label, slot, _, child_start, child = units
    root, emission, edge, miss, tail = flow
    up, through, _, log_prob = messages_out
    n_units, n_states = up.shape
    shaped = tail.shape[0] > 0
    value = np.empty(n_states)
    for d in range(n_units):
        lo, hi = child_start[d], child_start[d + 1]
        if label[d] >= 0:
            for i in range(n_states):
                value[i] = emission[label[d], i]
        else:
            for i in range(n_states):
                value[i] = 1.0
        if shaped:  # children come by slot, so all slots behind the last one's are empty
            row = slot[child[hi - 1]] + 1 if hi > lo else 0
            for i in range(n_states):
                value[i] *= tail[row, i]
        below, due = 0.0, 0
        for e in range(lo, hi):
            v = child[e]
            for i in range(n_states):
                value[i] *= through[v, i]
            if shaped:
                for l in range(due, slot[v]):
                    for i in range(n_states):
                        value[i] *= miss[l, i]
                due = slot[v] + 1
            below += log_prob[v]
        top, low = value[0], value[0]
        for i in range(1, n_states):
            top, low = max(top, value[i]), min(low, value[i])
        if low < LEAST and top < MIDDLE:
            best = in_logs(units, flow, through, d, value)
            below += best
            top = 0.0 if best == -np.inf else 1.0
            for i in range(n_states):
                value[i] = 0.0 if best == -np.inf else np.exp(value[i] - best)
        log_prob[d] = np.log(top) + below
        scale = 1.0 / top if top > 0.0 else 0.0
        for i in range(n_states):
            up[d, i] = value[i] * scale
        if slot[d] < 0:
            total = 0.0
            for i in range(n_states):
                total += root[i] * up[d, i]
            log_prob[d] += np.log(total)
        else:
            send(edge, slot[d], up, d, through)


@jit
def downward(units, flow, messages, weighted, posterior_out, sums_out):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step."""
    label, slot, crowd, child_start, child = units
    root, edge = flow.root, flow.edge
    up, ratio, pull, _ = messages  # what was sent up is divided by once, and its array used again
    root_sum, emission_sum, pair_sum, hit_sum, crowded_sum, node_sum = sums_out
    n_units, n_states = up.shape
    keep = posterior_out.shape[0] > 0
    shaped = node_sum.shape[0] > 0
    tree_root, weight = weighted
    turned = turn(edge, n_states)
    pull[:] = 0.0
    for t in range(tree_root.shape[0]):
        total = 0.0
        for i in range(n_states):
            total += root[i] * up[tree_root[t], i]
        share = min(weight[t] / total, CEILING) if total > 0.0 else 0.0
        for i in range(n_states):
            pull[tree_root[t], i] = root[i] * share
    posterior = np.empty(n_states)
    for d in range(n_units - 1, -1, -1):
        l = slot[d]
        if l < 0:
            for i in range(n_states):
                posterior[i] = pull[d, i] * up[d, i]
                root_sum[i] += posterior[i]
        else:
            if shaped:
                more = 1.0 - 1.0 / crowd[d] if crowd.shape[0] else 0.0
                for i in range(n_states):
                    hit_sum[l, i] += pull[d, i]
                    crowded_sum[0, i] += pull[d, i] * more
            for i in range(n_states):
                x = ratio[d, i]
                ratio[d, i] = min(pull[d, i] / x, CEILING) if x > 0.0 else 0.0
            pull_down(turned, l, ratio, d, posterior)
            for j in range(n_states):
                x = up[d, j]
                posterior[j] *= x
                for i in range(n_states):
                    pair_sum[l, j, i] += ratio[d, i] * x
        if keep:
            for i in range(n_states):
                posterior_out[d, i] = posterior[i]
        if label[d] >= 0:
            for i in range(n_states):
                emission_sum[label[d], i] += posterior[i]
        if shaped:
            for i in range(n_states):
                node_sum[0, i] += posterior[i]
        for e in range(child_start[d], child_start[d + 1]):
            v = child[e]
            for i in range(n_states):
                pull[v, i] += posterior[i]
