"""The passes of upward_downward.py in vectors, block by block of four lanes: two to five times as fast.

Same steps in the same order, and the same results to rounding.  A block goes through the whole shard before the next
one does, and what belongs to it lies together: messages are [block, unit, ..., 4], and the tables of a block are copied
into `tables`, an array of rows.  `flow` and the sums are [row, lane] here, all axes but the lanes in one.  `states` is
a tuple as long as there are states; see vectors.py.
"""

import numpy as np

from ....jit import inlined, jit
from .blocks import clear, give_block, take_block
from .content_vectors import PLACE, ROOM, add_posterior, add_shared, evidence_of, find_evidence, not_seen, offset_of
from .upward_downward import CEILING, FLOOR
from .vector_functions import log
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
    store,
    store_apart,
    total,
    where_less,
)


@jit
def upward(units, flow, content_out, messages_out, tables_out, states):
    """P(state | subtree) and log P(subtree) of every unit; children precede parents, so one sweep is enough.

    Without content, `content_out` is None, and the emission of the flow has the evidence of labels.
    """
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
    if content_out is not None:
        held, numbers, words, sizes, seen, evidence = content_out
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
                if content_out is None:
                    prior = prior * load(tables_out, emission_at + m, states)
                else:
                    if not_seen(held[m, PLACE], b, seen):
                        at = m, b, emission_at, sizes, states
                        find_evidence(held, numbers, words, tables_out, evidence, at)
                    prior = prior * evidence_of(evidence, b, held[m, ROOM], states)
                    below = below + offset_of(evidence, b, held[m, ROOM])
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


@inlined
def _weigh_roots(b, n_units, weighted, mass_out):
    """Set the responsibilities of units in block b to those of the trees that they are the roots of."""
    tree_root, weight = weighted
    clear(mass_out, b * n_units, (b + 1) * n_units, ONE)
    for t in range(tree_root.shape[0]):
        share = load_apart(weight, t * weight.shape[1] + WIDTH * b, 0, ONE)
        add_to(mass_out, b * n_units + tree_root[t], share)


@inlined
def _pull_down(at, pulled, weighs, up, pull_out, tables_out):
    """What each state of a unit pulls from its parent, added to the sums of pairs; the part of `weighs` that is left.

    `at` is (the unit, where edges and sums of its slot begin, states).
    """
    unit, edge_at, pair_to, states = at
    rest, n = weighs, len(states)
    for j in range(n):
        h = dot(load(tables_out, edge_at + j, states), pulled)
        x = load(up, unit * n + j, ONE)
        add_to(tables_out, pair_to + j, pulled * x)
        rest = rest - x * h
        store(pull_out, unit * n + j, h)
    return rest


@inlined
def _give_sums(tables, at, b, sums_out):
    """Add the sums of block b, which begin at the row of single vectors `at`."""
    for sums in sums_out:
        at = give_block(tables, at, b, sums)


@jit
def downward(units, flow, content, messages, outputs, states):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `outputs` is ((root unit, weight[tree, lane]) of the distinct trees, posterior[unit, state, lane] with a row for
    every unit or with none, sums, tables).  What the array `pull` holds: see `_pull_down` of upward_downward.py.
    """
    label, slot, crowd, child_start, child = units
    leaf, emission, edge, tail = flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    weighted, posterior_out, sums_out, tables_out = outputs
    n_units, n, n_lanes = label.shape[0], len(states), leaf.shape[1]
    n_slots = leaf.shape[0] // n - 1
    n_children, edge_at = edge.shape[0] // (n * n_slots), emission.shape[0] // n
    leaf_to, emission_to, pair_to, gap_to, tail_to, end = _sum_rows(flow, sums_out, n)
    keep, has_absent, pooled = posterior_out.shape[0] > 0, tail.shape[0] > 0, crowd.shape[0] > 0
    if content is not None:
        held, numbers, words, sizes, _, evidence = content
    for b in range(n_lanes // WIDTH):
        take_block(edge, b, tables_out, take_block(emission, b, tables_out, 0))
        first = b * n_units
        clear(tables_out, leaf_to, tables_out.shape[0] // (n * WIDTH), states)
        clear(pull, first, first + n_units, states)
        _weigh_roots(b, n_units, weighted, mass)
        for d in range(n_units - 1, -1, -1):
            l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
            weighs = load(mass, first + d, ONE)
            if l < 0:
                outside = fill(0.0, states) + weighs
            else:
                pulled = load(pull, first + d, states)
                if pooled and crowd[d] > 1:
                    pulled = pulled * fill(1.0 / crowd[d], ONE)
                at = first + d, edge_at + l * n_children, pair_to + l * n, states
                rest = _pull_down(at, pulled, weighs, up, pull, tables_out)
                outside = load(pull, first + d, states) + at_least(rest, 0.0)  # below only by rounding
            posterior = load(up, first + d, states) * outside
            if keep:
                store_apart(posterior_out, d * n * n_lanes + WIDTH * b, n_lanes, posterior)
            if m >= 0:
                if content is None:
                    add_to(tables_out, emission_to + m, posterior)
                else:
                    add_posterior(held, numbers, words, posterior, tables_out, (m, emission_to, end, sizes))
            if lo == hi:
                add_to(tables_out, leaf_to + (l if l >= 0 else n_slots), posterior)
                continue
            if m >= 0:
                if content is None:
                    outside = outside * load(tables_out, m, states)
                else:
                    outside = outside * evidence_of(evidence, b, held[m, ROOM], states)
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
        if content is not None:
            add_shared(held, numbers, words, tables_out, (emission_to, end, sizes), states)
        _give_sums(tables_out, leaf_to * n, b, sums_out)
