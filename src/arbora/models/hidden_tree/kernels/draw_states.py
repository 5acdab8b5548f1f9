"""Draw hidden states and switches of trees given their labels, from the root down, and count them tree by tree.

Counts of a tree go into one flat vector of cells, given by its offsets: leaf [slot + root, state (+ nothing)], emission
[label, state], switch [slot], transition [slot, child state (+ absent), state].
"""

import numpy as np

from ....jit import inlined, jit


@inlined
def _pick_state(rng, belief, d):
    """State drawn from the upward belief of a unit."""
    left = rng.random()
    n_states = belief.shape[1]
    last = 0
    for i in range(n_states):
        if belief[d, i] > 0.0:
            last = i
            left -= belief[d, i]
            if left < 0.0:
                break
    return last


@inlined
def _pick_switch(rng, units, flow, up, d, i):
    """(edge to the deciding child or -1, its state, its slot) for unit d in state i."""
    _, slot, crowd, child_start, child = units
    _, _, edge, tail = flow
    n_states = up.shape[1]
    has_absent = tail.shape[0] > 0
    lo, hi = child_start[d], child_start[d + 1]
    total = 0.0
    due = 0
    for e in range(lo, hi):
        v = child[e]
        share = 1.0 / crowd[v] if crowd.shape[0] else 1.0
        for j in range(n_states):
            total += edge[slot[v], j, i] * up[v, j] * share
        if has_absent:
            for l in range(due, slot[v]):
                total += edge[l, n_states, i]
        due = slot[v] + 1
    if has_absent:
        total += tail[due, i]
    left = rng.random() * total
    chosen, chosen_state, chosen_slot = -1, -1, -1  # -1 as state: not drawn yet
    due = 0
    for e in range(lo, hi):
        v = child[e]
        share = 1.0 / crowd[v] if crowd.shape[0] else 1.0
        if chosen_state < 0:
            for j in range(n_states):
                p = edge[slot[v], j, i] * up[v, j] * share
                if p > 0.0:
                    left -= p
                    if left < 0.0:
                        chosen, chosen_state, chosen_slot = e, j, slot[v]
                        break
        if has_absent and chosen_state < 0:
            for l in range(due, slot[v]):
                left -= edge[l, n_states, i]
                if left < 0.0 and edge[l, n_states, i] > 0.0:
                    chosen_state, chosen_slot = n_states, l
                    break
        due = slot[v] + 1
    if chosen_state < 0 and has_absent:  # an absent slot behind the last child, or rounding
        for l in range(due, edge.shape[0]):
            if edge[l, n_states, i] > 0.0:
                chosen_state, chosen_slot = n_states, l
                left -= edge[l, n_states, i]
                if left < 0.0:
                    break
    if chosen_state < 0:
        chosen = hi - 1
        chosen_state, chosen_slot = _pick_state(rng, up, child[chosen]), slot[child[chosen]]
    return chosen, chosen_state, chosen_slot


@jit
def _n_nodes(child_start, child, roots):
    """Nodes of all trees with these root units."""
    n_units = child_start.shape[0] - 1
    size = np.ones(n_units, np.int64)
    for d in range(n_units):
        for e in range(child_start[d], child_start[d + 1]):
            size[d] += size[child[e]]
    total = 0
    for t in range(roots.shape[0]):
        total += size[roots[t]]
    return total


@jit
def draw_bags(rng, units, flow, up, roots, offsets):
    """Cells and counts of one draw of all states and switches of the trees with these root units.

    `flow` is (leaf, emission, edge, tail) of one component, `up` P(state | subtree) of every unit, and `offsets` says
    where leaf, emission, switch and transition start, how wide a leaf row is, and where it all ends.  Given the state
    i of a node, the deciding slot and child state are drawn in proportion to edge[l, j, i] up[child, j]; children that
    do not decide take a state from their own belief.  Returns (start[tree + 1], cell, count), cells of a tree unique.
    """
    label, slot, _, child_start, child = units
    at_leaf, at_emission, at_switch, at_transition, leaf_width, n_cells = offsets
    n_states = up.shape[1]
    n_pairs = flow[2].shape[1]
    room = 3 * _n_nodes(child_start, child, roots)
    cell = np.empty(room, np.int32)
    count = np.empty(room, np.int32)
    start = np.zeros(roots.shape[0] + 1, np.int64)
    place = np.full(n_cells, -1, np.int64)  # where the cell stands in the bag of this tree
    filled = 0
    found = np.empty(3, np.int64)
    stack_unit = np.empty(1024, np.int64)
    stack_state = np.empty(1024, np.int64)
    for t in range(roots.shape[0]):
        stack_unit[0] = roots[t]
        stack_state[0] = _pick_state(rng, up, roots[t])
        height = 1
        while height > 0:
            height -= 1
            d, i = stack_unit[height], stack_state[height]
            found[:] = -1
            if label[d] >= 0:
                found[0] = at_emission + label[d] * n_states + i
            lo, hi = child_start[d], child_start[d + 1]
            if lo == hi:
                row = slot[d] if slot[d] >= 0 else (at_emission - at_leaf) // leaf_width - 1
                found[1] = at_leaf + row * leaf_width + i
            else:
                chosen, j, l = _pick_switch(rng, units, flow, up, d, i)
                found[1] = at_switch + l
                found[2] = at_transition + (l * n_pairs + j) * n_states + i
                if height + (hi - lo) > stack_unit.shape[0]:
                    bigger = np.empty((2, 2 * (height + hi - lo)), np.int64)
                    bigger[0, :height] = stack_unit[:height]
                    bigger[1, :height] = stack_state[:height]
                    stack_unit, stack_state = bigger[0], bigger[1]
                for e in range(lo, hi):
                    stack_unit[height] = child[e]
                    stack_state[height] = j if e == chosen else _pick_state(rng, up, child[e])
                    height += 1
            for x in range(3):
                if found[x] < 0:
                    continue
                if place[found[x]] < 0:
                    place[found[x]] = filled
                    cell[filled] = found[x]
                    count[filled] = 0
                    filled += 1
                count[place[found[x]]] += 1
        for x in range(start[t], filled):
            place[cell[x]] = -1
        start[t + 1] = filled
    return start, cell[:filled].copy(), count[:filled].copy()
