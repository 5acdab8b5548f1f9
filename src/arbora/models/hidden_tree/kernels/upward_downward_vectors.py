"""The passes of upward_downward.py in vectors, block by block of four lanes: two to five times as fast.

Same steps in the same order, and the same results to rounding.  A block goes through the whole shard before the next
one does, and what belongs to it lies together: messages are [block, unit, ..., 4], and the tables of a block are copied
into `tables`, an array of rows.  `flow` and the sums are [row, lane] here, all axes but the lanes in one.  `states` is
a tuple as long as there are states; see vectors.py.
"""

import numpy as np

from ....jit import inlined, jit
from .blocks import clear, give_block, take_block
from .upward_downward import CEILING, FLOOR
from .vectors import (
    ONE,
    WIDTH,
    add_to,
    at_least,
    at_most,
    dot,
    fill,
    load,
    load_apart,
    log,
    store,
    store_apart,
    total,
    where_less,
)


@jit
def upward(units, flow, messages_out, tables_out, states):
    """P(state | subtree) and log P(subtree) of every unit; children precede parents, so one sweep is enough."""
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, through, inverse, log_prob = messages_out
    n_units, n = label.shape[0], len(states)
    n_slots = leaf.shape[0] // n - 1
    n_children = edge.shape[0] // (n * n_slots)  # states of a child, absence included if it is one
    emission_at = n_slots + 1
    edge_at = emission_at + emission.shape[0] // n
    tail_at = edge_at + n_slots * n_children
    has_absent, pooled = tail.shape[0] > 0, crowd.shape[0] > 0
    for b in range(leaf.shape[1] // WIDTH):
        at = take_block(leaf, b, tables_out, 0)
        at = take_block(emission, b, tables_out, at)
        at = take_block(edge, b, tables_out, at)
        take_block(tail, b, tables_out, at)
        first = b * n_units
        for d in range(n_units):
            l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
            below = fill(0.0, ONE)
            if lo == hi:
                prior = load(tables_out, l if l >= 0 else n_slots, states)
            else:
                prior = fill(0.0, states)
                if has_absent:  # children come by slot, so all slots behind the last one's are absent
                    prior = load(tables_out, tail_at + slot[child[hi - 1]] + 1, states)
                due = 0  # the slot after the last child read
                for e in range(lo, hi):
                    v = child[e]
                    prior = prior + load(through, first + v, states)
                    below = below + load(log_prob, first + v, ONE)
                    if has_absent:
                        for absent in range(due, slot[v]):
                            prior = prior + load(tables_out, edge_at + absent * n_children + n, states)
                        due = slot[v] + 1
            if m >= 0:
                prior = prior * load(tables_out, emission_at + m, states)
            z = total(prior)
            store(log_prob, first + d, where_less(z, FLOOR, -np.inf, log(z)) + below)
            z = where_less(z, FLOOR, 0.0, fill(1.0, ONE) / z)
            store(inverse, first + d, z)
            store(up, first + d, prior * z)
            if l >= 0:
                sent = fill(0.0, states)
                for j in range(n):
                    of_child = load(up, (first + d) * n + j, ONE)
                    sent = sent + load(tables_out, edge_at + l * n_children + j, states) * of_child
                if pooled and crowd[d] > 1:
                    sent = sent * fill(1.0 / crowd[d], ONE)
                store(through, first + d, sent)


@inlined
def _sum_rows(flow, sums, n):
    """Where the rows of each sum begin in the tables of a block, behind the emission and the edges; and their end."""
    leaf = (flow[1].shape[0] + flow[2].shape[0]) // n
    emission = leaf + sums[0].shape[0] // n
    pair = emission + sums[1].shape[0] // n
    gap = pair + sums[2].shape[0] // n
    tail = gap + sums[3].shape[0] // n
    return leaf, emission, pair, gap, tail, tail + sums[4].shape[0] // n


@jit
def downward(units, flow, messages, outputs, tables_out, states):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `outputs` is ((root unit, weight[tree, lane]) of the distinct trees, posterior[unit, state, lane] with a row for
    every unit or with none, sums).  What the array `pull` holds: see `_pull_down` of upward_downward.py.
    """
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    (tree_root, weight), posterior_out, sums_out = outputs
    n_units, n, n_lanes = label.shape[0], len(states), leaf.shape[1]
    n_slots = leaf.shape[0] // n - 1
    n_children = edge.shape[0] // (n * n_slots)
    edge_at = emission.shape[0] // n
    leaf_to, emission_to, pair_to, gap_to, tail_to, end = _sum_rows(flow, sums_out, n)
    keep, has_absent, pooled = posterior_out.shape[0] > 0, tail.shape[0] > 0, crowd.shape[0] > 0
    for b in range(n_lanes // WIDTH):
        take_block(edge, b, tables_out, take_block(emission, b, tables_out, 0))
        first = b * n_units
        clear(tables_out, leaf_to, end, states)
        clear(pull, first, first + n_units, states)
        clear(mass, first, first + n_units, ONE)
        for t in range(tree_root.shape[0]):
            add_to(mass, first + tree_root[t], load_apart(weight, t * n_lanes + WIDTH * b, 0, ONE))
        for d in range(n_units - 1, -1, -1):
            l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
            weighs = load(mass, first + d, ONE)
            if l < 0:
                outside = fill(0.0, states) + weighs
            else:
                pulled = load(pull, first + d, states)
                if pooled and crowd[d] > 1:
                    pulled = pulled * fill(1.0 / crowd[d], ONE)
                rest = weighs
                for j in range(n):
                    h = dot(load(tables_out, edge_at + l * n_children + j, states), pulled)
                    x = load(up, (first + d) * n + j, ONE)
                    add_to(tables_out, pair_to + l * n + j, pulled * x)
                    rest = rest - x * h
                    store(pull, (first + d) * n + j, h)
                outside = load(pull, first + d, states) + at_least(rest, 0.0)  # below only by rounding
            posterior = load(up, first + d, states) * outside
            if keep:
                store_apart(posterior_out, d * n * n_lanes + WIDTH * b, n_lanes, posterior)
            if m >= 0:
                add_to(tables_out, emission_to + m, posterior)
            if lo == hi:
                add_to(tables_out, leaf_to + (l if l >= 0 else n_slots), posterior)
                continue
            if m >= 0:
                outside = outside * load(tables_out, m, states)
            outside = at_most(outside * load(inverse, first + d, ONE), CEILING)
            due = 0
            for e in range(lo, hi):
                v = child[e]
                add_to(pull, first + v, outside)
                add_to(mass, first + v, weighs)
                if has_absent:
                    for absent in range(due, slot[v]):
                        add_to(tables_out, gap_to + absent, outside)
                    due = slot[v] + 1
            if has_absent:
                add_to(tables_out, tail_to + due, outside)
        at = leaf_to * n
        for sums in sums_out:
            at = give_block(tables_out, at, b, sums)
