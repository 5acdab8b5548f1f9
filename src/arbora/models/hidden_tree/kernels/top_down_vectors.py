"""The passes of top_down.py in vectors, block by block of four lanes; see upward_downward_vectors.py.

Same steps in the same order, and the same results to rounding.  A unit of which some lane needs logarithms is finished
in plain loops over these lanes.
"""

import numpy as np

from ....jit import inlined, jit
from .blocks import clear, give_block, take_block
from .top_down import LEAST, MIDDLE, rescue
from .upward_downward import CEILING
from .vector_functions import log
from .vectors import (
    ONE,
    WIDTH,
    add_to,
    at_most,
    dot,
    fill,
    largest,
    load,
    load_apart,
    smallest,
    some_below,
    store,
    store_apart,
    where_less,
)

NORMAL = float(np.finfo(np.float64).tiny)  # the least number that `log` takes
POSITIVE = 5e-324  # the least number above zero


@inlined
def _rows_of(tables, first, end, n):
    """Rows of the tables of a block as an array [row, state, 4]."""
    return tables[first * n * WIDTH : end * n * WIDTH].reshape((end - first, n, WIDTH))


@jit
def _rescue_lanes(units, block, d, messages_out, shift_out):
    """Compute by logarithms those lanes of unit d that need it, and write the logs of their scales.

    `block` has the tables of a block and where edges, empty slots, and their tails begin and end.
    """
    tables, edge_at, miss_at, tail_at, end = block
    up_out, through = messages_out
    n = up_out.shape[1]
    emission = _rows_of(tables, 1, edge_at, n)
    factors = (emission, _rows_of(tables, miss_at, tail_at, n), _rows_of(tables, tail_at, end, n), through)
    logs = np.empty(n)
    for k in range(WIDTH):
        top, low = up_out[d, 0, k], up_out[d, 0, k]
        for i in range(1, n):
            top, low = max(top, up_out[d, i, k]), min(low, up_out[d, i, k])
        shift_out[k] = rescue(units, factors, d, k, up_out, logs) if low < LEAST and top < MIDDLE else 0.0


@jit
def upward(units, flow, messages_out, tables_out, states):
    """P(subtree | state) of every unit, scaled, and log P(tree) of roots; children precede parents."""
    label, slot, _, child_start, child = units
    root, emission, edge, miss, tail = flow
    up, through, _, log_prob = messages_out
    n_units, n = label.shape[0], len(states)
    edge_at = 1 + emission.shape[0] // n  # the root's row comes first
    miss_at = edge_at + edge.shape[0] // n
    tail_at = miss_at + miss.shape[0] // n
    end = tail_at + tail.shape[0] // n
    shaped = tail.shape[0] > 0
    shifts = np.empty(WIDTH)  # logarithms of the lanes of a unit, taken in plain loops
    for b in range(root.shape[1] // WIDTH):
        at = 0
        for part in (root, emission, edge, miss, tail):
            at = take_block(part, b, tables_out, at)
        first = b * n_units
        for d in range(n_units):
            l, m, lo, hi = slot[d], label[d], child_start[d], child_start[d + 1]
            value = fill(1.0, states)
            if shaped:  # children come by slot, so all slots behind the last one's are empty
                value = load(tables_out, tail_at + (slot[child[hi - 1]] + 1 if hi > lo else 0), states)
            if m >= 0:
                value = value * load(tables_out, 1 + m, states)
            below = fill(0.0, ONE)
            due = 0
            for e in range(lo, hi):
                v = child[e]
                value = value * load(through, first + v, states)
                below = below + load(log_prob, first + v, ONE)
                if shaped:
                    for empty in range(due, slot[v]):
                        value = value * load(tables_out, miss_at + empty, states)
                    due = slot[v] + 1
            top = largest(value)
            if some_below(smallest(value), LEAST, top, MIDDLE):
                store(up, first + d, value)
                _rescue_lanes(units, (tables_out, edge_at, miss_at, tail_at, end), d, (up[b], through[b]), shifts)
                value = load(up, first + d, states)
                top = largest(value)
                below = below + load(shifts, 0, ONE)
            below = where_less(top, LEAST, -np.inf, log(top)) + below
            value = value * where_less(top, LEAST, 0.0, fill(1.0, ONE) / top)
            store(up, first + d, value)
            if l < 0:
                total = dot(load(tables_out, 0, states), value)
                if some_below(total, NORMAL, total, NORMAL):
                    store(shifts, 0, total)
                    for k in range(WIDTH):
                        shifts[k] = np.log(shifts[k])
                    below = load(shifts, 0, ONE) + below
                else:
                    below = log(total) + below
            else:
                sent = fill(0.0, states)
                for j in range(n):
                    of_child = load(up, (first + d) * n + j, ONE)
                    sent = sent + load(tables_out, edge_at + l * n + j, states) * of_child
                store(through, first + d, sent)
            store(log_prob, first + d, below)


@jit
def downward(units, flow, messages, outputs, states):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step.

    `outputs` is ((root unit, weight[tree, lane]) of the distinct trees, posterior[unit, state, lane] with a row for
    every unit or with none, sums, tables).
    """
    label, slot, crowd, child_start, child = units
    root, edge = flow[0], flow[2]
    up, through, pull, _ = messages
    (tree_root, weight), posterior_out, sums_out, tables_out = outputs
    n_units, n, n_lanes = label.shape[0], len(states), root.shape[1]
    root_to = 1 + edge.shape[0] // n
    emission_to = root_to + 1
    pair_to = emission_to + sums_out[1].shape[0] // n
    hit_to = pair_to + sums_out[2].shape[0] // n
    crowded_to = hit_to + sums_out[3].shape[0] // n
    node_to = crowded_to + sums_out[4].shape[0] // n
    end = node_to + sums_out[5].shape[0] // n
    keep, shaped, pooled = posterior_out.shape[0] > 0, end > node_to, crowd.shape[0] > 0
    for b in range(n_lanes // WIDTH):
        take_block(edge, b, tables_out, take_block(root, b, tables_out, 0))
        first = b * n_units
        clear(tables_out, root_to, end, states)
        clear(pull, first, first + n_units, states)
        of_root = load(tables_out, 0, states)
        for t in range(tree_root.shape[0]):
            total = dot(of_root, load(up, first + tree_root[t], states))
            share = at_most(load_apart(weight, t * n_lanes + WIDTH * b, 0, ONE) / total, CEILING)
            store(pull, first + tree_root[t], of_root * where_less(total, POSITIVE, 0.0, share))
        for d in range(n_units - 1, -1, -1):
            l, m = slot[d], label[d]
            pulled = load(pull, first + d, states)
            if l < 0:
                posterior = pulled * load(up, first + d, states)
                add_to(tables_out, root_to, posterior)
            else:
                if shaped:
                    add_to(tables_out, hit_to + l, pulled)
                    if pooled and crowd[d] > 1:
                        add_to(tables_out, crowded_to, pulled * fill(1.0 - 1.0 / crowd[d], ONE))
                sent = load(through, first + d, states)
                ratio = where_less(sent, POSITIVE, 0.0, at_most(pulled / sent, CEILING))
                for j in range(n):
                    x = load(up, (first + d) * n + j, ONE)
                    outside = dot(load(tables_out, 1 + l * n + j, states), ratio)
                    add_to(tables_out, pair_to + l * n + j, ratio * x)
                    store(pull, (first + d) * n + j, outside * x)
                posterior = load(pull, first + d, states)
            if keep:
                store_apart(posterior_out, d * n * n_lanes + WIDTH * b, n_lanes, posterior)
            if m >= 0:
                add_to(tables_out, emission_to + m, posterior)
            if shaped:
                add_to(tables_out, node_to, posterior)
            for e in range(child_start[d], child_start[d + 1]):
                add_to(pull, first + child[e], posterior)
        at = root_to * n
        for sums in sums_out:
            at = give_block(tables_out, at, b, sums)
