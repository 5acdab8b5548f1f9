"""The passes of upward_downward_single.py in vectors over states: two to three times as fast.

Same arrays, same steps in the same order, and the same results to rounding.  `states` is a tuple as long as there are
states; see state_vectors.py.
"""

import numpy as np

from ....jit import jit
from .single_steps import turn
from .state_vectors import add_outer, add_to, load, product, spread, store, total
from .upward_downward import CEILING, FLOOR
from .vector_functions import log
from .vectors import ONE, WIDTH, at_most, where_less
from .vectors import load as load_four
from .vectors import store as store_four

SMALL = 1e-100  # products with messages above it are accurate


@jit
def take_logs(floor, scale_out):
    """Logarithms of the scales of all units; -inf of those below the floor."""
    n_units = scale_out.shape[0]
    whole = n_units // WIDTH
    for x in range(whole):
        z = load_four(scale_out, x, ONE)
        store_four(scale_out, x, where_less(z, floor, -np.inf, log(z)))
    for d in range(whole * WIDTH, n_units):
        scale_out[d] = -np.inf if scale_out[d] < floor else np.log(scale_out[d])


@jit
def add_children(child_start, child, values_out):
    """Add to the number of each unit those of its children, from the leaves up."""
    for d in range(child_start.shape[0] - 1):
        below = 0.0
        for e in range(child_start[d], child_start[d + 1]):
            below += values_out[child[e]]
        values_out[d] += below


@jit
def _send_scaled(edge, at, up, through_out, states):
    """As `upward` sends, of the scaled message: where products with the other one might be too small."""
    d, row, share = at
    store(through_out, d, product(edge, row, load(up, d, states)) * spread(share, states))


@jit
def upward(units, flow, messages_out, states):
    """P(state | subtree) and log P(subtree) of every unit; children precede parents, so one sweep is enough."""
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, through, inverse, log_prob = messages_out
    n_units, n, n_children = label.shape[0], len(states), edge.shape[1]
    has_absent, pooled = tail.shape[0] > 0, crowd.shape[0] > 0
    for d in range(n_units):
        l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
        if lo == hi:
            prior = load(leaf, l if l >= 0 else leaf.shape[0] - 1, states)
        else:
            prior = load(through, child[lo], states)
            for e in range(lo + 1, hi):
                prior = prior + load(through, child[e], states)
            if has_absent:  # children come by slot, so all slots behind the last one's are absent
                prior = prior + load(tail, slot[child[hi - 1]] + 1, states)
                due = 0  # the slot after the last child read
                for e in range(lo, hi):
                    for absent in range(due, slot[child[e]]):
                        prior = prior + load(edge, absent * n_children + n, states)
                    due = slot[child[e]] + 1
        if m >= 0:  # an unknown label is summed out
            prior = prior * load(emission, m, states)
        z = total(prior)
        log_prob[d] = z  # logarithms are taken at the end
        inverse[d] = 0.0 if z < FLOOR else 1.0 / z
        store(up, d, prior * spread(inverse[d], states))
        if l >= 0:
            share = 1.0 / crowd[d] if pooled else 1.0
            # The product need not wait for z.
            store(through, d, product(edge, l * n_children, prior) * spread(inverse[d] * share, states))
            if z < SMALL:
                _send_scaled(edge, (d, l * n_children, share), up, through, states)
    take_logs(FLOOR, log_prob)
    add_children(child_start, child, log_prob)


@jit
def _weigh_roots(weighted, pull_out, mass_out):
    """Begin the way down: nothing from parents, and at each root the weight of its trees."""
    tree_root, weight = weighted
    pull_out[:] = 0.0  # posterior over prior of the parents, summed over them
    mass_out[:] = 0.0  # weight of all occurrences
    for t in range(tree_root.shape[0]):
        mass_out[tree_root[t]] += weight[t]


@jit
def downward(units, flow, messages, outputs, states):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `outputs` is ((root unit, weight) of the distinct trees, posterior[unit, state] with a row for every unit or with
    none, sums).
    """
    label, slot, crowd, child_start, child = units
    _, emission, edge, _ = flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    weighted, posterior_out, sums_out = outputs
    leaf_sum, emission_sum, pair_sum, gap_sum, tail_sum = sums_out
    n_units, n = label.shape[0], len(states)
    keep, has_absent, pooled = posterior_out.shape[0] > 0, tail_sum.shape[0] > 0, crowd.shape[0] > 0
    _weigh_roots(weighted, pull, mass)
    turned = turn(edge, n)
    for d in range(n_units - 1, -1, -1):
        l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
        weighs, here = mass[d], load(up, d, states)
        if l < 0:
            outside = spread(weighs, states)
        else:  # as _pull_down of upward_downward.py
            pulled = load(pull, d, states)
            if pooled and crowd[d] > 1:
                pulled = pulled * spread(1.0 / crowd[d], states)
            outside = product(turned, l * n, pulled)
            add_outer(pair_sum, l * n, here, pulled)
            rest = max(weighs - total(here * outside), 0.0)  # below only by rounding
            outside = outside + spread(rest, states)
        posterior = here * outside
        if keep:
            store(posterior_out, d, posterior)
        if m >= 0:
            add_to(emission_sum, m, posterior)
        if lo == hi:
            add_to(leaf_sum, l if l >= 0 else leaf_sum.shape[0] - 1, posterior)
            continue
        if m >= 0:  # posterior over prior is emission * outside / z
            outside = outside * load(emission, m, states)
        outside = at_most(outside * spread(inverse[d], states), CEILING)
        due = 0
        for e in range(lo, hi):
            v = child[e]
            add_to(pull, v, outside)
            mass[v] += weighs
            if has_absent:
                for absent in range(due, slot[v]):
                    add_to(gap_sum, absent, outside)
            due = slot[v] + 1
        if has_absent:
            add_to(tail_sum, due, outside)
