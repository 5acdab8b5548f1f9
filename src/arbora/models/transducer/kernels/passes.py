"""Upward and downward pass of the input-output hidden tree.

A unit is a subtree with its outputs, in one slot, below a parent with one input: the message to the parent depends on
the parent's input.  `units.label` is a row of (input, output) pairs, `units.slot` a row of (input of the parent, slot,
siblings in that slot) triples, negative at roots.
"""

from typing import Any, NamedTuple

import numpy as np

from ....jit import jit

FLOOR = 1e-200  # an output less probable than this given its subtree counts as impossible
CEILING = 1e250  # of posterior over prior: no product overflows, and no inf meets a 0


class Flow(NamedTuple):
    """Parameters in the form the passes use; the last row of inputs is that of inputs never seen."""

    row_input: Any  # [row]
    edge_slot: Any  # [edge]
    leaf: Any  # [slot + root, input, state]
    evidence: Any  # [row, lane, state]: P(output | state, input), one where the output is not known
    edge: Any  # [edge, child state, state]: switch times transition
    absent: Any  # [input, slot, state]: the same of an empty slot
    tail: Any  # [input, slot + 1, state]: sum of `absent` from this slot on


class Messages(NamedTuple):
    """What the upward pass leaves for the downward pass."""

    up: Any  # [unit, lane, state]: P(state | inputs and outputs of the subtree)
    through: Any  # [unit, lane, state]: what the unit adds to its parent's prior; the downward pass reuses the array
    inverse: Any  # [unit, lane]: 1 / P(output | subtrees of the children), 0 where impossible
    log_prob: Any  # [unit, lane]: log P(outputs of the subtree); the downward pass reuses the array


class Sums(NamedTuple):
    """Weighted sums of the downward pass, not yet multiplied by the parameters."""

    leaf: Any  # [slot + root, input, state]
    row: Any  # [row, state]
    pair: Any  # [edge, child state, state]
    gap: Any  # [input, slot, state]: this slot empty, a later one not
    tail: Any  # [input, slot + 1, state]: empty from this slot on


@jit
def upward(units, flow, messages_out):
    """P(state | subtree) and log P(outputs of the subtree) of every unit, in all lanes."""
    row, edge_row, _, child_start, child = units
    row_input, edge_slot, leaf, evidence, edge, absent, tail = flow
    up, through, inverse, log_prob = messages_out
    n_units, n_lanes, n_states = up.shape
    base = np.empty(n_states)  # what the place of a leaf, or empty slots, say: the same in all lanes
    for d in range(n_units):
        x = row_input[row[d]]
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            l = edge_slot[edge_row[d]] if edge_row[d] >= 0 else leaf.shape[0] - 1
            for i in range(n_states):
                base[i] = leaf[l, x, i]
        else:
            due = edge_slot[edge_row[child[hi - 1]]] + 1  # children come by slot: all behind the last are empty
            for i in range(n_states):
                base[i] = tail[x, due, i]
            due = 0
            for e in range(lo, hi):
                l = edge_slot[edge_row[child[e]]]
                for gap in range(due, l):
                    for i in range(n_states):
                        base[i] += absent[x, gap, i]
                due = l + 1
        for k in range(n_lanes):
            for i in range(n_states):
                up[d, k, i] = base[i]
            below = 0.0
            for e in range(lo, hi):
                v = child[e]
                below += log_prob[v, k]
                for i in range(n_states):
                    up[d, k, i] += through[v, k, i]
            z = 0.0
            for i in range(n_states):
                up[d, k, i] *= evidence[row[d], k, i]
                z += up[d, k, i]
            if z < FLOOR:
                log_prob[d, k] = -np.inf
                z = 0.0
            else:
                log_prob[d, k] = np.log(z) + below
                z = 1.0 / z
            inverse[d, k] = z
            for i in range(n_states):
                up[d, k, i] *= z
            if edge_row[d] >= 0:
                for i in range(n_states):
                    through[d, k, i] = 0.0
                for j in range(n_states):
                    a = up[d, k, j]
                    for i in range(n_states):
                        through[d, k, i] += edge[edge_row[d], j, i] * a


@jit
def downward(units, flow, messages, weighted, posterior_out, sums_out):
    """Sum posteriors over the occurrences of every unit, and collect the sums of the M-step; of one lane."""
    row, edge_row, _, child_start, child = units
    row_input, edge_slot, _, evidence, edge, _, _ = flow
    up, pull, inverse, mass = messages  # what went up is not needed any more: two of its arrays are used again
    leaf_sum, row_sum, pair_sum, gap_sum, tail_sum = sums_out
    n_units, _, n_states = up.shape
    keep = posterior_out.shape[0] > 0
    tree_root, weight = weighted
    pull[:] = 0.0  # posterior over prior of the parents, summed over them
    mass[:] = 0.0  # weight of all occurrences
    for t in range(tree_root.shape[0]):
        mass[tree_root[t], 0] += weight[t]
    outside = np.empty(n_states)
    for d in range(n_units - 1, -1, -1):
        x, f = row_input[row[d]], edge_row[d]
        if f < 0:
            for i in range(n_states):
                outside[i] = mass[d, 0]
        else:
            rest = mass[d, 0]  # weight with which this unit does not decide: then nothing outside speaks about it
            for j in range(n_states):
                a, total = up[d, 0, j], 0.0
                for i in range(n_states):
                    total += edge[f, j, i] * pull[d, 0, i]
                    pair_sum[f, j, i] += pull[d, 0, i] * a
                outside[j] = total
                rest -= a * total
            rest = max(rest, 0.0)  # rounding
            for j in range(n_states):
                outside[j] += rest
        for i in range(n_states):
            row_sum[row[d], i] += up[d, 0, i] * outside[i]
        if keep:
            for i in range(n_states):
                posterior_out[d, i] = up[d, 0, i] * outside[i]
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            l = edge_slot[f] if f >= 0 else leaf_sum.shape[0] - 1
            for i in range(n_states):
                leaf_sum[l, x, i] += up[d, 0, i] * outside[i]
            continue
        for i in range(n_states):  # posterior over prior = evidence * outside / z
            outside[i] = min(outside[i] * evidence[row[d], 0, i] * inverse[d, 0], CEILING)
        due = 0
        for e in range(lo, hi):
            v = child[e]
            l = edge_slot[edge_row[v]]
            mass[v, 0] += mass[d, 0]
            for i in range(n_states):
                pull[v, 0, i] += outside[i]
            for gap in range(due, l):
                for i in range(n_states):
                    gap_sum[x, gap, i] += outside[i]
            due = l + 1
        for i in range(n_states):
            tail_sum[x, due, i] += outside[i]


@jit
def sum_below(units, values_out):
    """Add to the row of every unit the rows of all units below it, each as often as it occurs."""
    _, _, _, child_start, child = units
    for d in range(values_out.shape[0]):
        for e in range(child_start[d], child_start[d + 1]):
            for k in range(values_out.shape[1]):
                values_out[d, k] += values_out[child[e], k]


@jit
def output_marginals(units, row_input, state, output, proba_out):
    """P(output) of every unit, [unit, output], from state[unit, state] and output[input, state, output]."""
    row = units[0]
    for d in range(state.shape[0]):
        x = row_input[row[d]]
        for k in range(output.shape[2]):
            proba_out[d, k] = 0.0
        for i in range(state.shape[1]):
            for k in range(output.shape[2]):
                proba_out[d, k] += state[d, i] * output[x, i, k]
