"""Draw hidden states and switches of trees given their labels, from the root down, and count them."""

import numpy as np

from ..jit import inlined, jit


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


@jit
def draw_counts(rng, units, flow, up, roots, counts_out):
    """Add the counts of one draw of all states and switches of the trees with these root units.

    `flow` is (leaf, emission, edge, tail) of one component, `up` P(state | subtree) of every unit, and counts_out
    (leaf, emission, transition).  Given the state i of a node, the deciding slot and child state are drawn in
    proportion to edge[l, j, i] up[child, j]; children that do not decide take a state from their own belief.
    """
    label, slot, crowd, child_start, child = units
    _, _, edge, tail = flow
    leaf_count, emission_count, transition_count = counts_out
    n_states = up.shape[1]
    has_absent = tail.shape[0] > 0
    n_slots = edge.shape[0]
    stack_unit = np.empty(1024, np.int64)
    stack_state = np.empty(1024, np.int64)
    for t in range(roots.shape[0]):
        stack_unit[0] = roots[t]
        stack_state[0] = _pick_state(rng, up, roots[t])
        height = 1
        while height > 0:
            height -= 1
            d, i = stack_unit[height], stack_state[height]
            if label[d] >= 0:
                emission_count[label[d], i] += 1.0
            lo, hi = child_start[d], child_start[d + 1]
            if lo == hi:
                leaf_count[slot[d] if slot[d] >= 0 else leaf_count.shape[0] - 1, i] += 1.0
                continue
            if height + (hi - lo) > stack_unit.shape[0]:
                grown = np.empty(2 * (height + hi - lo), np.int64)
                grown[:height] = stack_unit[:height]
                stack_unit = grown
                grown = np.empty(2 * (height + hi - lo), np.int64)
                grown[:height] = stack_state[:height]
                stack_state = grown
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
            if chosen_state < 0:  # an absent slot behind the last child, or rounding
                if has_absent:
                    for l in range(due, n_slots):
                        if edge[l, n_states, i] > 0.0:
                            chosen_state, chosen_slot = n_states, l
                            left -= edge[l, n_states, i]
                            if left < 0.0:
                                break
                if chosen_state < 0:
                    chosen = hi - 1
                    chosen_state, chosen_slot = _pick_state(rng, up, child[chosen]), slot[child[chosen]]
            transition_count[chosen_slot, chosen_state, i] += 1.0
            for e in range(lo, hi):
                v = child[e]
                stack_unit[height] = v
                stack_state[height] = chosen_state if e == chosen else _pick_state(rng, up, v)
                height += 1
