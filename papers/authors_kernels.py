"""The passes of the authors' program over distinct subtrees, one component at a time, and their sequential seating.

Arrays of a component: leaf[slot + root, state + nothing], emission[label, state], switch[slot],
transition[slot, child state + nothing, state].
"""

from typing import Any

import numpy as np

from arbora.jit import jit

FLOOR = 1e-200  # a subtree less probable than this given its children cannot be produced
NOTHING = 1e-12  # a tree that weighs less adds nothing to a count that could be seen


@jit
def upward(units: Any, theta: Any, up_out: Any, prior_out: Any, log_prob_out: Any) -> None:
    """P(state | subtree) before and after its own label, and log P(subtree), absent slots included (slot reading)."""
    label, slot, _, child_start, child = units
    leaf, emission, switch, transition = theta
    n_slots, n_states = switch.shape[0], emission.shape[1]
    log_nothing = np.log(leaf[:, n_states])
    for d in range(label.shape[0]):
        e, hi = child_start[d], child_start[d + 1]
        total = 0.0
        if e == hi:
            row = slot[d] if slot[d] >= 0 else n_slots
            for i in range(n_states):
                prior_out[d, i] = leaf[row, i]
        else:
            prior_out[d] = 0.0
            for l in range(n_slots):
                if e < hi and slot[child[e]] == l:
                    v = child[e]
                    for j in range(n_states):
                        x = switch[l] * up_out[v, j]
                        for i in range(n_states):
                            prior_out[d, i] += x * transition[l, j, i]
                    total += log_prob_out[v]
                    e += 1
                else:
                    for i in range(n_states):
                        prior_out[d, i] += switch[l] * transition[l, n_states, i]
                    total += log_nothing[l]
        z = 0.0
        for i in range(n_states):
            up_out[d, i] = prior_out[d, i] * (emission[label[d], i] if label[d] >= 0 else 1.0)
            z += up_out[d, i]
        possible = z > FLOOR
        log_prob_out[d] = np.log(z) + total if possible else -np.inf
        for i in range(n_states):
            up_out[d, i] = up_out[d, i] / z if possible else 0.0


@jit
def downward(units: Any, theta: Any, messages: Any, weighted: Any, conditional: bool, counts_out: Any) -> None:
    """Add the counts of an E-step, tree by tree: a child's posterior is not linear in its parent's, so none are shared.

    With `conditional`, as the authors' program: a child takes P(state | its parent's switch points to it, tree), and
    transitions are counted given that switch.  Otherwise the exact posteriors, Eq. (*) of the note.
    """
    label, slot, _, child_start, child = units
    _, emission, switch, transition = theta
    up, prior = messages
    tree_root, weight, depth = weighted
    leaf_count, emission_count, switch_count, transition_count = counts_out
    n_slots, n_states = switch.shape[0], emission.shape[1]
    waiting = np.empty(depth, np.int64)  # units still to be visited
    posterior = np.empty((depth, n_states))  # P(state | tree) of each of them
    here = np.empty(n_states)
    ratio = np.empty(n_states)
    pair = np.empty((n_states, n_states))
    for t in range(tree_root.shape[0]):
        w = weight[t]
        if w < NOTHING:
            continue
        waiting[0] = tree_root[t]
        posterior[0] = up[tree_root[t]]
        n = 1
        while n:
            n -= 1
            d = waiting[n]
            for i in range(n_states):
                here[i] = posterior[n, i]
                if label[d] >= 0:
                    emission_count[label[d], i] += w * here[i]
            e, hi = child_start[d], child_start[d + 1]
            if e == hi:
                row = slot[d] if slot[d] >= 0 else n_slots
                for i in range(n_states):
                    leaf_count[row, i] += w * here[i]
                continue
            for i in range(n_states):
                ratio[i] = here[i] / prior[d, i] if prior[d, i] > 0.0 else 0.0
            for l in range(n_slots):
                if not (e < hi and slot[child[e]] == l):
                    s = 0.0
                    for i in range(n_states):
                        s += ratio[i] * transition[l, n_states, i]
                    switch_count[l] += w * switch[l] * s
                    leaf_count[l, n_states] += w
                    share = (w / s if s > 0.0 else 0.0) if conditional else w * switch[l]
                    for i in range(n_states):
                        transition_count[l, n_states, i] += share * ratio[i] * transition[l, n_states, i]
                    continue
                v = child[e]
                e += 1
                s = 0.0
                for j in range(n_states):
                    for i in range(n_states):
                        pair[j, i] = up[v, j] * ratio[i] * transition[l, j, i]
                        s += pair[j, i]
                switch_count[l] += w * switch[l] * s
                share = (1.0 / s if s > 0.0 else 0.0) if conditional else switch[l]
                rest = (0.0 if s > 0.0 else 1.0) if conditional else 1.0 - switch[l] * s
                waiting[n] = v
                for j in range(n_states):
                    mass = 0.0
                    for i in range(n_states):
                        mass += pair[j, i]
                        transition_count[l, j, i] += w * share * pair[j, i]
                    posterior[n, j] = mass * share + rest * up[v, j]
                n += 1


@jit
def seat(rng: Any, first: int, log_lik: Any, log_new: Any, label: Any, count: Any) -> int:
    """Reseat trees first, first + 1, ... by Eq. (8); the number of a tree that gets a new component, or n_trees.

    That tree sits nowhere: the caller gives it a column.  A column without trees is gone for good.
    """
    n_columns = count.shape[0]
    weight = np.empty(n_columns + 1)
    for t in range(first, label.shape[0]):
        count[label[t]] -= 1
        top = log_new[t]
        for k in range(n_columns):
            weight[k] = np.log(count[k]) + log_lik[t, k] if count[k] > 0 else -np.inf
            top = max(top, weight[k])
        weight[n_columns] = log_new[t]
        total = 0.0
        for k in range(n_columns + 1):
            weight[k] = np.exp(weight[k] - top)
            total += weight[k]
        left = rng.random() * total
        chosen = n_columns
        for k in range(n_columns):
            left -= weight[k]
            if left < 0.0:
                chosen = k
                break
        if chosen == n_columns:
            return t
        label[t] = chosen
        count[chosen] += 1
    return label.shape[0]
