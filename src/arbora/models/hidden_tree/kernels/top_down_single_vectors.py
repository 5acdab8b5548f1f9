"""The passes of top_down_single.py in vectors over states; see upward_downward_single_vectors.py.

Same arrays, same steps in the same order, and the same results to rounding.
"""

import numpy as np

from ....jit import jit
from .single_steps import turn
from .state_vectors import add_outer, add_to, largest, load, product, smallest, spread, store, total
from .top_down import LEAST, MIDDLE
from .top_down_single import in_logs
from .upward_downward import CEILING
from .upward_downward_single_vectors import add_children, take_logs
from .vectors import at_most, where_less

POSITIVE = 5e-324  # the least number above zero


@jit
def _rescue(units, flow, through, d, up_out):
    """Write the product of unit d, scaled to a maximum of one, by logarithms; log of its scale."""
    best = in_logs(units, flow, through, d, up_out[d])
    for i in range(up_out.shape[1]):
        up_out[d, i] = 0.0 if best == -np.inf else np.exp(up_out[d, i] - best)
    return best


@jit
def upward(units, flow, messages_out, states):
    """P(subtree | state) of every unit, scaled, and log P(tree) of roots; children precede parents."""
    label, slot, _, child_start, child = units
    root, emission, edge, miss, tail = flow
    up, through, pull, log_prob = messages_out
    n_units, n = label.shape[0], len(states)
    shaped = tail.shape[0] > 0
    of_root = load(root, 0, states)
    shift = np.zeros(0)  # logarithms of scales that were taken one by one
    for d in range(n_units):
        l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
        value = spread(1.0, states)
        if m >= 0:
            value = load(emission, m, states)
        if shaped:  # children come by slot, so all slots behind the last one's are empty
            value = value * load(tail, slot[child[hi - 1]] + 1 if hi > lo else 0, states)
        due = 0
        for e in range(lo, hi):
            v = child[e]
            value = value * load(through, v, states)
            if shaped:
                for empty in range(due, slot[v]):
                    value = value * load(miss, empty, states)
                due = slot[v] + 1
        top = largest(value)
        if top < MIDDLE and smallest(value) < LEAST:
            if not shift.shape[0]:
                shift = np.zeros(n_units)
            shift[d] = _rescue(units, flow, through, d, up)
            value = load(up, d, states)
            top = 0.0 if shift[d] == -np.inf else 1.0
        log_prob[d] = top  # logarithms are taken at the end
        value = value * spread(1.0 / top if top > 0.0 else 0.0, states)
        store(up, d, value)
        if l < 0:
            pull[d, 0] = total(of_root * value)  # not used before the downward pass
        else:
            store(through, d, product(edge, l * n, value))
    take_logs(LEAST, log_prob)
    if shift.shape[0]:
        for d in range(n_units):
            log_prob[d] += shift[d]
    for d in range(n_units):
        if slot[d] < 0:
            log_prob[d] += np.log(pull[d, 0])
    add_children(child_start, child, log_prob)


@jit
def downward(units, flow, messages, outputs, states):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `outputs` is ((root unit, weight) of the distinct trees, posterior[unit, state] with a row for every unit or with
    none, sums).
    """
    label, slot, crowd, child_start, child = units
    root, edge = flow.root, flow.edge
    up, ratio, pull, _ = messages
    (tree_root, weight), posterior_out, sums_out = outputs
    root_sum, emission_sum, pair_sum, hit_sum, crowded_sum, node_sum = sums_out
    n_units, n = label.shape[0], len(states)
    keep, shaped, pooled = posterior_out.shape[0] > 0, node_sum.shape[0] > 0, crowd.shape[0] > 0
    turned = turn(edge, n)
    of_root = load(root, 0, states)
    pull[:] = 0.0
    for t in range(tree_root.shape[0]):
        known = total(of_root * load(up, tree_root[t], states))
        share = min(weight[t] / known, CEILING) if known > 0.0 else 0.0
        store(pull, tree_root[t], of_root * spread(share, states))
    for d in range(n_units - 1, -1, -1):
        l, m = slot[d], label[d]
        pulled, here = load(pull, d, states), load(up, d, states)
        if l < 0:
            posterior = pulled * here
            add_to(root_sum, 0, posterior)
        else:
            if shaped:
                add_to(hit_sum, l, pulled)
                if pooled and crowd[d] > 1:
                    add_to(crowded_sum, 0, pulled * spread(1.0 - 1.0 / crowd[d], states))
            sent = load(ratio, d, states)  # what was sent up is divided by once
            above = where_less(sent, POSITIVE, 0.0, at_most(pulled / sent, CEILING))
            posterior = product(turned, l * n, above) * here
            add_outer(pair_sum, l * n, here, above)
        if keep:
            store(posterior_out, d, posterior)
        if m >= 0:
            add_to(emission_sum, m, posterior)
        if shaped:
            add_to(node_sum, 0, posterior)
        for e in range(child_start[d], child_start[d + 1]):
            add_to(pull, child[e], posterior)
