"""States of single nodes: the best joint choice, draws of labels and of shapes.

Units here are nodes (no sharing), and `lane[d]` is the component of the node's tree.
"""

import numpy as np

from ....inference.kernels.draws import draw_by_weights
from ....jit import jit


@jit
def _pick(rng, weight):
    """Index drawn in proportion to weight."""
    return draw_by_weights(rng, weight, weight.shape[0])[0]


@jit
def _best_absent(due, stop, flow, i, k, best):
    """The best absent slot in due..stop-1, if better than `best`."""
    found = False
    n_states = flow.shape[2]
    for l in range(due, stop):
        if flow[l, n_states, i, k] > best:
            best = flow[l, n_states, i, k]
            found = True
    return best, found


@jit
def best_states(units, lane, params):
    """State of every node in the most probable joint choice of states and switches (max-product)."""
    label, slot, crowd, child_start, child = units
    leaf, emission, flow, best_tail = params  # best_tail[l]: the largest absent flow at l or later
    n_units = label.shape[0]
    n_states = flow.shape[2]
    has_absent = flow.shape[1] > n_states
    score = np.empty((n_units, n_states))  # best probability of the subtree given the state, scaled to a maximum of 1
    via = np.full((n_units, n_states), -1, np.int32)  # the child that decides, or -1 for an absent one
    state_via = np.zeros((n_units, n_states), np.int32)
    for d in range(n_units):
        k = lane[d]
        first, last = child_start[d], child_start[d + 1]
        top = 0.0
        for i in range(n_states):
            if first == last:
                best = leaf[slot[d] if slot[d] >= 0 else leaf.shape[0] - 1, i, k]
            else:
                best = -1.0
                due = 0
                for e in range(first, last):
                    v = child[e]
                    for j in range(n_states):
                        p = flow[slot[v], j, i, k] * score[v, j] / (crowd[v] if crowd.shape[0] else 1)
                        if p > best:
                            best = p
                            via[d, i] = v
                            state_via[d, i] = j
                    if has_absent:
                        best, found = _best_absent(due, slot[v], flow, i, k, best)
                        if found:
                            via[d, i] = -1
                    due = slot[v] + 1
                if has_absent and best_tail[due, i, k] > best:
                    best = best_tail[due, i, k]
                    via[d, i] = -1
            score[d, i] = best * emission[label[d], i, k] if label[d] >= 0 else best
            top = max(top, score[d, i])
        if top > 0.0:
            for i in range(n_states):
                score[d, i] /= top
    state = np.full(n_units, -1, np.int64)
    for d in range(n_units - 1, -1, -1):
        if state[d] < 0:  # a root, or a child that does not decide: free to take its own best
            state[d] = np.argmax(score[d])
        v = via[d, state[d]]
        if child_start[d] < child_start[d + 1] and v >= 0:
            state[v] = state_via[d, state[d]]
    return state


@jit
def draw_states_labels(rng, units, lane, params, restrict):
    """States and labels from the leaves up; `restrict` keeps switches to present children."""
    label, slot, _, child_start, child = units
    leaf, emission, switch, transition = params
    n_units = label.shape[0]
    n_states = emission.shape[1]
    n_slots = switch.shape[0]
    state = np.empty(n_units, np.int64)
    drawn = np.empty(n_units, np.int32)
    weight = np.empty(n_slots)
    deciding = np.empty(n_slots, np.int64)  # the child in each slot, -1 if there is none
    for d in range(n_units):
        k = lane[d]
        if child_start[d] == child_start[d + 1]:
            state[d] = _pick(rng, leaf[slot[d] if slot[d] >= 0 else n_slots, :n_states, k])
        else:
            deciding[:] = -1
            n_mates = 0
            for e in range(child_start[d], child_start[d + 1]):
                v = child[e]
                # Children pooled into one slot, the last, are equally likely to be the one that decides.
                n_mates = n_mates + 1 if deciding[slot[v]] >= 0 else 1
                if n_mates == 1 or rng.random() * n_mates < 1.0:
                    deciding[slot[v]] = v
            for l in range(n_slots):
                if restrict:  # present slots without any weight share it evenly
                    weight[l] = max(switch[l, k], 1e-100) if deciding[l] >= 0 else 0.0
                else:
                    weight[l] = switch[l, k]
            l = _pick(rng, weight)
            child_state = state[deciding[l]] if deciding[l] >= 0 else n_states
            state[d] = _pick(rng, transition[l, child_state, :, k])
        drawn[d] = _pick(rng, emission[:, state[d], k])
    return state, drawn


@jit
def draw_shapes(rng, branching, lane, max_nodes, pooled):
    """Shapes of trees in which each node has a child in slot l with probability branching[l, k]; parents first.

    With `pooled` the last slot is followed by others, each taken with its probability until one is not.
    Returns parent, slot and tree of every node, and the number of trees finished within max_nodes nodes each.
    """
    n_slots = branching.shape[0]
    capacity = 1024
    parent = np.empty(capacity, np.int64)
    slot = np.empty(capacity, np.int32)
    tree = np.empty(capacity, np.int64)
    n = 0
    for t in range(lane.shape[0]):
        if n + 1 >= capacity:
            capacity, parent, slot, tree = _double(parent, slot, tree)
        start = n
        parent[n], slot[n], tree[n] = -1, -1, t
        n += 1
        u = start
        while u < n:
            l = 0
            while l < n_slots or pooled:
                taken = rng.random() < branching[min(l, n_slots - 1), lane[t]]
                if taken:
                    if n - start >= max_nodes:
                        return parent[:start], slot[:start], tree[:start], t
                    if n + 1 >= capacity:
                        capacity, parent, slot, tree = _double(parent, slot, tree)
                    parent[n], slot[n], tree[n] = u, l, t
                    n += 1
                if l >= n_slots - 1 and not (taken and pooled):
                    break
                l += 1
            u += 1
    return parent[:n], slot[:n], tree[:n], lane.shape[0]


@jit
def _double(parent, slot, tree):
    """The three columns with twice the room."""
    n = parent.shape[0]
    new_parent = np.empty(2 * n, np.int64)
    new_slot = np.empty(2 * n, np.int32)
    new_tree = np.empty(2 * n, np.int64)
    new_parent[:n], new_slot[:n], new_tree[:n] = parent, slot, tree
    return 2 * n, new_parent, new_slot, new_tree


@jit
def encode_rows(unit_start, key, posterior, block_start, block_key, data_out):
    """Posterior mass by component, key and state of every tree: the values of a sparse matrix, row after row.

    `key` is the slot or the label of each node; `block_key[block_start[t] : block_start[t + 1]]` are those of tree t,
    increasing.
    """
    n_states, n_lanes = posterior.shape[1:]
    place = np.empty(block_key.max() + 1, np.int64)
    data_out[:] = 0.0
    for t in range(unit_start.shape[0] - 1):
        first, last = block_start[t], block_start[t + 1]
        n_blocks = last - first
        base = first * n_states * n_lanes
        for b in range(n_blocks):
            place[block_key[first + b]] = b
        for d in range(unit_start[t], unit_start[t + 1]):
            b = place[key[d]]
            for i in range(n_states):
                for k in range(n_lanes):
                    data_out[base + (k * n_blocks + b) * n_states + i] += posterior[d, i, k]
