"""Hidden states and outputs of single nodes: the likeliest of all joint choices, and random draws."""

import numpy as np

from ....inference.kernels.draws import draw_by_weights
from ....jit import jit


@jit
def best_states(units, flow, best_output):
    """State of every node in the likeliest joint choice of states, switches and outputs.

    `best_output[row, state]` is the probability of the output, or of the likeliest one where it is not known.  Nodes
    are units of their own; log-probabilities are taken relative to the best state of each subtree.
    """
    row, edge_row, _, child_start, child = units
    row_input, edge_slot, leaf, _, edge, absent, _ = flow
    n_units, n_states = row.shape[0], leaf.shape[2]
    best = np.empty((n_units, n_states))  # P of the best choice below, of the best state one
    decides = np.full((n_units, n_states), -1, np.int64)  # the child that decides in it; none: an empty slot, a leaf
    from_state = np.zeros((n_units, n_states), np.int64)  # of that child
    top = np.zeros(n_units, np.int64)
    filled = np.zeros(absent.shape[1], np.int64)
    for d in range(n_units):
        x = row_input[row[d]]
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            l = edge_slot[edge_row[d]] if edge_row[d] >= 0 else leaf.shape[0] - 1
            for i in range(n_states):
                best[d, i] = leaf[l, x, i]
        else:
            filled[:] = 0
            for e in range(lo, hi):
                filled[edge_slot[edge_row[child[e]]]] = 1
            for i in range(n_states):
                best[d, i] = 0.0
                for l in range(filled.shape[0]):
                    if not filled[l]:
                        best[d, i] = max(best[d, i], absent[x, l, i])
            for e in range(lo, hi):
                v = child[e]
                for j in range(n_states):
                    for i in range(n_states):
                        p = edge[edge_row[v], j, i] * best[v, j]
                        if p > best[d, i]:
                            best[d, i], decides[d, i], from_state[d, i] = p, v, j
        most = 0.0
        for i in range(n_states):
            best[d, i] *= best_output[row[d], i]
            if best[d, i] > most:
                most, top[d] = best[d, i], i
        if most > 0.0:
            for i in range(n_states):
                best[d, i] /= most
    state = np.full(n_units, -1, np.int64)
    for d in range(n_units - 1, -1, -1):
        if state[d] < 0:
            state[d] = top[d]
        v = decides[d, state[d]]
        if v >= 0:
            state[v] = from_state[d, state[d]]
    return state


@jit
def draw_outputs(rng, units, flow, output):
    """Outputs of every node, from the leaves up; nodes are units of their own, output[input, state, output]."""
    row, edge_row, _, child_start, child = units
    row_input, edge_slot, leaf, _, edge, absent, tail = flow
    n_units, n_states = row.shape[0], leaf.shape[2]
    state = np.zeros(n_units, np.int64)
    drawn = np.empty(n_units, np.int32)
    weight = np.empty(n_states)
    for d in range(n_units):
        x = row_input[row[d]]
        lo, hi = child_start[d], child_start[d + 1]
        if lo == hi:
            l = edge_slot[edge_row[d]] if edge_row[d] >= 0 else leaf.shape[0] - 1
            weight[:] = leaf[l, x]
        else:  # the switch is summed out: given the states of the children it decides nothing else
            due = 0
            weight[:] = tail[x, edge_slot[edge_row[child[hi - 1]]] + 1]
            for e in range(lo, hi):
                f = edge_row[child[e]]
                weight += edge[f, state[child[e]]]
                for gap in range(due, edge_slot[f]):
                    weight += absent[x, gap]
                due = edge_slot[f] + 1
        state[d] = draw_by_weights(rng, weight, n_states)[0]
        drawn[d] = draw_by_weights(rng, output[x, state[d]], output.shape[2])[0]
    return drawn
