"""States of the nodes of top-down hidden trees: the best joint choice, draws given labels or shapes, and new shapes.

Where `lane[d]` is given, units are nodes, and it is the component of the node's tree.
"""

import numpy as np

from ....jit import inlined, jit
from .draw_states import _n_nodes
from .node_states import _double, _pick


@jit
def best_states(units, lane, log_flow):
    """State of every node in the most probable joint choice of states (max-product); log_flow are logarithms."""
    label, slot, _, child_start, child = units
    root, emission, edge, miss, tail = log_flow
    n_units, n_states = label.shape[0], root.shape[0]
    shaped = tail.shape[0] > 0
    score = np.empty((n_units, n_states))  # best log-probability of the subtree given the state
    sent = np.empty((n_units, n_states))  # the same given the state of the parent
    via = np.zeros((n_units, n_states), np.int32)  # the state that reaches it
    for d in range(n_units):
        k = lane[d]
        lo, hi = child_start[d], child_start[d + 1]
        for i in range(n_states):
            total = emission[label[d], i, k] if label[d] >= 0 else 0.0
            if shaped:
                total += tail[slot[child[hi - 1]] + 1 if hi > lo else 0, i, k]
            due = 0
            for e in range(lo, hi):
                total += sent[child[e], i]
                if shaped:
                    for l in range(due, slot[child[e]]):
                        total += miss[l, i, k]
                due = slot[child[e]] + 1
            score[d, i] = total
        if slot[d] >= 0:
            for i in range(n_states):
                best = -np.inf
                for j in range(n_states):
                    x = edge[slot[d], j, i, k] + score[d, j]
                    if x > best:
                        best = x
                        via[d, i] = j
                sent[d, i] = best
    state = np.zeros(n_units, np.int64)
    for d in range(n_units - 1, -1, -1):
        if slot[d] < 0:
            best = -np.inf
            for i in range(n_states):
                x = root[i, lane[d]] + score[d, i]
                if x > best:
                    best = x
                    state[d] = i
        for e in range(child_start[d], child_start[d + 1]):
            state[child[e]] = via[child[e], state[d]]
    return state


@jit
def draw_labels(rng, units, lane, flow):
    """Labels of given shapes: states from the roots down given the shapes, and a label from each state.

    Where shapes depend on states, what the shape below a node says of its state goes up first, in logarithms.
    """
    _, slot, _, child_start, child = units
    root, emission, edge, miss, tail = flow
    n_units, n_states = slot.shape[0], root.shape[0]
    shaped = tail.shape[0] > 0
    up = np.ones((n_units, n_states))  # P(shape below | state), scaled
    logs = np.empty(n_states)
    sent = np.zeros((n_units if shaped else 0, n_states))  # its logarithm given the state of the parent
    if shaped:
        for d in range(n_units):
            k = lane[d]
            lo, hi = child_start[d], child_start[d + 1]
            for i in range(n_states):
                logs[i] = np.log(tail[slot[child[hi - 1]] + 1 if hi > lo else 0, i, k])
                due = 0
                for e in range(lo, hi):
                    logs[i] += sent[child[e], i]
                    for l in range(due, slot[child[e]]):
                        logs[i] += np.log(miss[l, i, k])
                    due = slot[child[e]] + 1
            top = logs.max()
            for i in range(n_states):
                up[d, i] = np.exp(logs[i] - top) if top > -np.inf else 1.0
            if slot[d] >= 0:
                for i in range(n_states):
                    total = 0.0
                    for j in range(n_states):
                        total += edge[slot[d], j, i, k] * up[d, j]
                    sent[d, i] = np.log(total)
    state = np.zeros(n_units, np.int64)
    drawn = np.empty(n_units, np.int32)
    weight = np.empty(n_states)
    for d in range(n_units - 1, -1, -1):
        k = lane[d]
        if slot[d] < 0:
            for i in range(n_states):
                weight[i] = root[i, k] * up[d, i]
            state[d] = _pick(rng, weight)
        for e in range(child_start[d], child_start[d + 1]):
            v = child[e]
            for j in range(n_states):
                weight[j] = edge[slot[v], j, state[d], k] * up[v, j]
            state[v] = _pick(rng, weight)
        drawn[d] = _pick(rng, emission[:, state[d], k])
    return drawn


@jit
def draw_shapes(rng, params, lane, max_nodes, pooled):
    """Shapes of trees that grow from their roots, states dropped; `params` is (root, transition, branching).

    branching[l, i, k] is the chance of a child in slot l given the state.  With `pooled` the last slot is followed by
    others, each taken with its probability until one is not.  Returns parent, slot and tree of every node, and the
    number of trees finished within max_nodes nodes each.
    """
    root, transition, branching = params
    n_slots = branching.shape[0]
    capacity = 1024
    parent, slot, tree = np.empty(capacity, np.int64), np.empty(capacity, np.int32), np.empty(capacity, np.int64)
    state = np.empty(capacity, np.int64)
    n = 0
    for t in range(lane.shape[0]):
        k, start, u = lane[t], n, n
        if n + 1 >= capacity:
            state = np.append(state, state)
            capacity, parent, slot, tree = _double(parent, slot, tree)
        parent[n], slot[n], tree[n] = -1, -1, t
        state[n] = _pick(rng, root[:, k])
        n += 1
        while u < n:
            l = 0
            while l < n_slots or pooled:
                row = min(l, n_slots - 1)
                taken = rng.random() < branching[row, state[u], k]
                if taken:
                    if n - start >= max_nodes:
                        return parent[:start], slot[:start], tree[:start], t
                    if n + 1 >= capacity:
                        state = np.append(state, state)
                        capacity, parent, slot, tree = _double(parent, slot, tree)
                    parent[n], slot[n], tree[n] = u, l, t
                    state[n] = _pick(rng, transition[min(row, transition.shape[0] - 1), state[u], :, k])
                    n += 1
                if l >= n_slots - 1 and not (taken and pooled):
                    break
                l += 1
            u += 1
    return parent[:n], slot[:n], tree[:n], lane.shape[0]


@inlined
def _count(c, n, place, bag):
    """Add n to cell c of the bag of this tree."""
    cell, count, filled = bag
    if place[c] < 0:
        place[c] = filled[0]
        cell[filled[0]] = c
        count[filled[0]] = 0
        filled[0] += 1
    count[place[c]] += n
    return 0


@inlined
def _count_misses(at_miss, pooled, in_state, taken, place, bag):
    """Count the slots of all nodes of a tree in which they have no child, and clear what was counted for the tree."""
    n_slots, n_states = taken.shape
    for l in range(n_slots):
        for i in range(n_states):
            n_missed = in_state[i] if pooled and l == n_slots - 1 else in_state[i] - taken[l, i]
            if n_missed > 0:
                _count(at_miss + l * n_states + i, n_missed, place, bag)
    in_state[:] = 0
    taken[:] = 0
    return 0


@jit
def _longer(stack_unit, stack_state, height, room):
    """The stack with so much room."""
    unit, state = np.empty(room, np.int64), np.empty(room, np.int64)
    unit[:height] = stack_unit[:height]
    state[:height] = stack_state[:height]
    return unit, state


@jit
def draw_bags(rng, units, flow, up, roots, offsets):
    """Cells and counts of one draw of all states of the trees with these root units, from the roots down.

    `flow` is that of one component, `up` the upward message of every unit.  `offsets` says where root, emission and
    transition start, how many cells a slot of the transition has (0 if slots are tied), whether the last slot is
    pooled, and where it all ends.  Where shapes depend on states, hits [slot, state] and misses [slot, state] follow
    the root.  Returns (start[tree + 1], cell, count), cells of a tree unique.
    """
    label, slot, _, child_start, child = units
    at_root, at_emission, at_transition, per_slot, pooled, n_cells = offsets
    root, edge, tail = flow.root, flow.edge, flow.tail
    n_states, n_slots = root.shape[0], edge.shape[0]
    shaped = tail.shape[0] > 0
    at_hit, at_miss = at_root + n_states, at_root + n_states + n_slots * n_states
    n_trees = roots.shape[0]
    room = 4 * _n_nodes(child_start, child, roots) + (n_trees * n_states * n_slots if shaped else 0)
    cell, count = np.empty(room, np.int32), np.empty(room, np.int32)
    filled = np.zeros(1, np.int64)
    bag = (cell, count, filled)
    start = np.zeros(n_trees + 1, np.int64)
    place = np.full(n_cells, -1, np.int64)  # where the cell stands in the bag of this tree
    weight = np.empty(n_states)
    in_state = np.zeros(n_states, np.int64)
    taken = np.zeros((n_slots, n_states), np.int64)  # nodes with a child there
    stack_unit, stack_state = np.empty(1024, np.int64), np.empty(1024, np.int64)
    for t in range(n_trees):
        for i in range(n_states):
            weight[i] = root[i] * up[roots[t], i]
        first = _pick(rng, weight)
        _count(at_root + first, 1, place, bag)
        stack_unit[0], stack_state[0] = roots[t], first
        height = 1
        while height > 0:
            height -= 1
            d, i = stack_unit[height], stack_state[height]
            if label[d] >= 0:
                _count(at_emission + label[d] * n_states + i, 1, place, bag)
            in_state[i] += 1
            lo, hi = child_start[d], child_start[d + 1]
            if height + (hi - lo) > stack_unit.shape[0]:
                stack_unit, stack_state = _longer(stack_unit, stack_state, height, 2 * (height + hi - lo))
            before = -1
            for e in range(lo, hi):
                v = child[e]
                l = slot[v]
                for j in range(n_states):
                    weight[j] = edge[l, j, i] * up[v, j]
                j = _pick(rng, weight)
                _count(at_transition + l * per_slot + i * n_states + j, 1, place, bag)
                if shaped:
                    _count(at_hit + l * n_states + i, 1, place, bag)
                    if l != before:
                        taken[l, i] += 1
                before = l
                stack_unit[height], stack_state[height] = v, j
                height += 1
        if shaped:
            _count_misses(at_miss, pooled, in_state, taken, place, bag)
        for x in range(start[t], filled[0]):
            place[cell[x]] = -1
        start[t + 1] = filled[0]
    return start, cell[: filled[0]].copy(), count[: filled[0]].copy()
