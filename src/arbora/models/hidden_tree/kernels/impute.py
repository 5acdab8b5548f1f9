"""How probable the contents of one tree are when every parameter is integrated out, by sequential imputation.

Particles go through the tree from the leaves up and draw states and switches node by node, each given the counts of
what it has drawn so far.  They are resampled when few of them carry the weight, as in a particle filter, and the mean
of their weights is an unbiased estimate of the probability.
"""

from typing import Any, NamedTuple

import numpy as np

from ....jit import jit
from .urns import add_content, n_content_cells, numbered, see_content

LITERAL, RENORMALISED, BOTTOM, SLOT = 0, 1, 2, 3


class Model(NamedTuple):
    """Sizes, reading and Dirichlet parameters: symmetric ones, and those of rows of states by state."""

    n_slots: int
    n_states: int
    absent: int
    leaf: Any  # [state + 1]; the last is that of "nothing there"
    urns: Any  # what nodes hold
    switch: float
    transition: Any  # [state]


@jit
def post_order(child_start, child, root):
    """Units of the tree below a root unit, children before their parent and in the order of its edges."""
    order = np.empty(64, np.int64)
    stack = np.empty(64, np.int64)
    stack[0] = root
    height, n = 1, 0
    while height > 0:
        height -= 1
        d = stack[height]
        if n == order.shape[0]:
            order = np.append(order, np.empty(n, np.int64))
        order[n] = d
        n += 1
        lo, hi = child_start[d], child_start[d + 1]
        if height + hi - lo > stack.shape[0]:
            stack = np.append(stack, np.empty(height + hi - lo, np.int64))
        for e in range(lo, hi):
            stack[height] = child[e]
            height += 1
    return order[:n][::-1].copy()


@jit
def _numbered(units, order, model):
    """Numbers of the slots that matter to the tree, and how many: tables need no others."""
    slot = units[1]
    slot_at = np.full(model.n_slots, -1, np.int64)
    n_slots = 0
    if model.absent >= BOTTOM:  # any slot may decide
        for l in range(model.n_slots):
            slot_at[l] = l
        n_slots = model.n_slots
    for x in range(order.shape[0]):
        d = order[x]
        if slot[d] >= 0 and slot_at[slot[d]] < 0:
            slot_at[slot[d]] = n_slots
            n_slots += 1
    return slot_at, n_slots


@jit
def _pick(rng, weight, n):
    """(index drawn in proportion to weight[:n], sum of the weights)."""
    total = 0.0
    for x in range(n):
        total += weight[x]
    left = rng.random() * total
    last = 0
    for x in range(n):
        if weight[x] > 0.0:
            last = x
            left -= weight[x]
            if left < 0.0:
                break
    return last, total


@jit
def _log_mean(log_weight):
    top = log_weight.max()
    if top == -np.inf:
        return top
    return top + np.log(np.exp(log_weight - top).mean())


@jit
def _is_uneven(log_weight):
    """Whether the weight is worth fewer than half of the particles."""
    top = log_weight.max()
    first = second = 0.0
    for p in range(log_weight.shape[0]):
        w = np.exp(log_weight[p] - top)
        first += w
        second += w * w
    return first * first < 0.5 * log_weight.shape[0] * second


@jit
def _ancestors(rng, log_weight):
    """Systematic resampling: the particle that each one follows."""
    n = log_weight.shape[0]
    edge = np.cumsum(np.exp(log_weight - log_weight.max()))
    out = np.empty(n, np.int64)
    at = 0
    shift = rng.random()
    for p in range(n):
        point = (p + shift) / n * edge[-1]
        while at < n - 1 and edge[at] <= point:
            at += 1
        out[p] = at
    return out


@jit
def log_evidence(rng, units, order, model, n_particles):
    """Log of an unbiased estimate of P(contents, and what the reading says of the shape), parameters integrated out.

    `order` lists the units of the nodes as `post_order` gives them.  In the renormalised reading each particle draws
    switch probabilities from their prior, because renormalised over the slots that are there they have no counts.
    """
    label, slot, crowd, child_start, child = units
    n_states, absent = model.n_states, model.absent
    slot_at, n_slots = _numbered(units, order, model)
    word_at, n_words = numbered(label, order, model.urns)
    width = n_states + (1 if absent == SLOT else 0)
    leaf_states = model.leaf[:n_states].sum()
    leaf_whole = leaf_states + (model.leaf[n_states] if absent == SLOT else 0.0)
    transition_whole = model.transition.sum()
    n_pairs = n_states + 1
    # Where the counts of a particle lie; behind the cells of a row stands their sum.
    at_emission = (n_slots + 1) * (width + 1)
    at_switch = at_emission + n_content_cells(model.urns, n_words, n_states)
    at_transition = at_switch + n_slots
    n_cells = at_transition + n_slots * n_pairs * (n_states + 1)
    count = np.zeros((n_particles, n_cells))
    spare = np.empty((n_particles, n_cells))
    pending = np.zeros((n_particles, order.shape[0]), np.int16)  # states of nodes whose parent is to come
    spare_pending = np.empty_like(pending)
    most = n_slots
    for x in range(order.shape[0]):
        most = max(most, n_slots + child_start[order[x] + 1] - child_start[order[x]])
    option = np.empty((most + 1) * n_states)
    option_slot = np.empty(most + 1, np.int64)
    option_pair = np.empty(most + 1, np.int64)
    emission = np.empty(n_states)
    log_weight = np.zeros(n_particles)
    if absent == RENORMALISED:
        for p in range(n_particles):
            for l in range(n_slots):  # up to a factor, which renormalising removes
                count[p, at_switch + l] = max(rng.standard_gamma(model.switch), 1e-100)
    result = 0.0
    height = n_inner = 0
    for x in range(order.shape[0]):
        d = order[x]
        lo, hi = child_start[d], child_start[d + 1]
        base = height - (hi - lo)
        for p in range(n_particles):
            c = count[p]
            factor = 1.0
            top = see_content(model.urns, word_at, n_words, label[d], c, at_emission, n_states, emission)
            n_options = 0
            if lo == hi:
                row = (slot_at[slot[d]] if slot[d] >= 0 else n_slots) * (width + 1)
                whole = (leaf_states if slot[d] < 0 else leaf_whole) + c[row + width]  # a root is never absent
                for i in range(n_states):
                    option[i] = (model.leaf[i] + c[row + i]) / whole * emission[i]
                n_options = 1
            else:
                present = 0.0
                if absent == RENORMALISED:
                    for e in range(lo, hi):
                        v = child[e]
                        present += c[at_switch + slot_at[slot[v]]] / (crowd[v] if crowd.shape[0] else 1)
                due = 0
                for e in range(lo, hi + 1):
                    stop = slot[child[e]] if e < hi else n_slots
                    if absent >= BOTTOM:
                        for l in range(due, stop):
                            option_slot[n_options], option_pair[n_options] = l, n_states
                            share = (model.switch + c[at_switch + l]) / (model.n_slots * model.switch + n_inner)
                            row = at_transition + (l * n_pairs + n_states) * (n_states + 1)
                            whole = transition_whole + c[row + n_states]
                            for i in range(n_states):
                                p_state = (model.transition[i] + c[row + i]) / whole
                                option[n_options * n_states + i] = share * p_state * emission[i]
                            n_options += 1
                            if absent == SLOT:
                                at = l * (width + 1)
                                factor *= (model.leaf[n_states] + c[at + n_states]) / (leaf_whole + c[at + width])
                                c[at + n_states] += 1.0
                                c[at + width] += 1.0
                    if e == hi:
                        break
                    v = child[e]
                    l, j = slot_at[slot[v]], pending[p, base + e - lo]
                    if absent == RENORMALISED:
                        share = c[at_switch + l] / present
                    else:
                        share = (model.switch + c[at_switch + l]) / (model.n_slots * model.switch + n_inner)
                    share /= crowd[v] if crowd.shape[0] else 1
                    option_slot[n_options], option_pair[n_options] = l, j
                    row = at_transition + (l * n_pairs + j) * (n_states + 1)
                    whole = transition_whole + c[row + n_states]
                    for i in range(n_states):
                        p_state = (model.transition[i] + c[row + i]) / whole
                        option[n_options * n_states + i] = share * p_state * emission[i]
                    n_options += 1
                    due = slot[v] + 1
            chosen, total = _pick(rng, option, n_options * n_states)
            log_weight[p] += np.log(total * factor) + top
            i = chosen % n_states
            add_content(model.urns, word_at, n_words, label[d], c, at_emission, n_states, i)
            if lo == hi:
                row = (slot_at[slot[d]] if slot[d] >= 0 else n_slots) * (width + 1)
                c[row + i] += 1.0
                c[row + width] += 1.0
            else:
                l, j = option_slot[chosen // n_states], option_pair[chosen // n_states]
                if absent != RENORMALISED:
                    c[at_switch + l] += 1.0
                row = at_transition + (l * n_pairs + j) * (n_states + 1)
                c[row + i] += 1.0
                c[row + n_states] += 1.0
            pending[p, base] = i
        height = base + 1
        n_inner += 1 if hi > lo else 0
        if x + 1 < order.shape[0] and _is_uneven(log_weight):
            result += _log_mean(log_weight)
            follow = _ancestors(rng, log_weight)
            for p in range(n_particles):
                spare[p] = count[follow[p]]
                spare_pending[p, :height] = pending[follow[p], :height]
                log_weight[p] = 0.0
            count, spare = spare, count
            pending, spare_pending = spare_pending, pending
    return result + _log_mean(log_weight)
