"""How probable the contents of one tree are when every parameter is integrated out, by sequential imputation.

Particles go through the tree from the leaves up and draw states and switches node by node, each given the counts of
what it has drawn so far.  They are resampled when few of them carry the weight, as in a particle filter, and the mean
of their weights is an unbiased estimate of the probability.
"""

from typing import Any, NamedTuple

import numpy as np

from ....inference.kernels.draws import draw_by_weights
from ....jit import inlined, jit
from .urns import Cells, add_content, n_content_cells, numbered, see_content

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


class Places(NamedTuple):
    """Where the counts of a particle lie; behind the cells of a row stands their sum."""

    slot_at: Any  # [slot]: its number in the tables of this tree, which hold no other slots
    n_slots: int
    content: Any
    switch: int
    transition: int
    end: int
    width: int  # cells of a row of leaves before their sum
    leaf_states: float  # sums of Dirichlet parameters
    leaf_whole: float
    transition_whole: float


class Options(NamedTuple):
    """Ways in which a node may get its state: by which slot, with which child state; and room for chances."""

    weight: Any  # [option * n_states + state]
    slot: Any  # [option]
    pair: Any
    emission: Any  # [state]: chance of what the node holds


class Node(NamedTuple):
    """A node to be imputed."""

    unit: int
    base: int  # where the states of its children begin among those of nodes whose parent is to come
    n_inner: int  # nodes with children before it


@jit
def _number_slots(units, order, model):
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
def _lay_out(units, order, model):
    """The places of a particle's counts."""
    n_states, absent = model.n_states, model.absent
    slot_at, n_slots = _number_slots(units, order, model)
    word_at, n_words = numbered(units[0], order, model.urns)
    width = n_states + (1 if absent == SLOT else 0)
    leaf_states = model.leaf[:n_states].sum()
    leaf_whole = leaf_states + (model.leaf[n_states] if absent == SLOT else 0.0)
    at_emission = (n_slots + 1) * (width + 1)
    at_switch = at_emission + n_content_cells(model.urns, n_words, n_states)
    at_transition = at_switch + n_slots
    end = at_transition + n_slots * (n_states + 1) * (n_states + 1)
    content = Cells(word_at, n_words, at_emission, n_states)
    whole = model.transition.sum()
    return Places(slot_at, n_slots, content, at_switch, at_transition, end, width, leaf_states, leaf_whole, whole)


@jit
def _room(units, order, n_states, n_slots):
    """Room for the options of the node that has most."""
    child_start = units[3]
    most = n_slots
    for x in range(order.shape[0]):
        most = max(most, n_slots + child_start[order[x] + 1] - child_start[order[x]])
    return Options(
        np.empty((most + 1) * n_states), np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(n_states)
    )


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


@inlined
def _leaf_options(c, slot, model, places, options_out):
    """Chances of the states of a node without children, in `slot` or a root."""
    row = (places.slot_at[slot] if slot >= 0 else places.n_slots) * (places.width + 1)
    whole = places.leaf_states if slot < 0 else places.leaf_whole  # a root is never absent
    whole += c[row + places.width]
    for i in range(model.n_states):
        options_out.weight[i] = (model.leaf[i] + c[row + i]) / whole * options_out.emission[i]


@inlined
def _weigh_option(c, n, share, model, places, options_out):
    """Chances of the states as option n, in which the slot and the child state chosen there decide with `share`."""
    n_states = model.n_states
    row = places.transition + (options_out.slot[n] * (n_states + 1) + options_out.pair[n]) * (n_states + 1)
    whole = places.transition_whole + c[row + n_states]
    for i in range(n_states):
        p_state = (model.transition[i] + c[row + i]) / whole
        options_out.weight[n * n_states + i] = share * p_state * options_out.emission[i]


@inlined
def _see_absent(c, l, model, places):
    """Chance that nothing is in slot l, which is counted too."""
    at, n_states = l * (places.width + 1), model.n_states
    chance = (model.leaf[n_states] + c[at + n_states]) / (places.leaf_whole + c[at + places.width])
    c[at + n_states] += 1.0
    c[at + places.width] += 1.0
    return chance


@jit
def _inner_options(units, node, particle, model, places, options_out):
    """Chances of the states of a node with children, by option: how many options, and chance of the absent children."""
    _, slot, crowd, child_start, child = units
    c, pending = particle
    absent = model.absent
    lo, hi = child_start[node.unit], child_start[node.unit + 1]
    present = 0.0
    if absent == RENORMALISED:
        for e in range(lo, hi):
            v = child[e]
            present += c[places.switch + places.slot_at[slot[v]]] / (crowd[v] if crowd.shape[0] else 1)
    n_options, due, factor = 0, 0, 1.0
    for e in range(lo, hi + 1):
        stop = slot[child[e]] if e < hi else places.n_slots
        if absent >= BOTTOM:
            for l in range(due, stop):
                options_out.slot[n_options], options_out.pair[n_options] = l, model.n_states
                share = (model.switch + c[places.switch + l]) / (model.n_slots * model.switch + node.n_inner)
                _weigh_option(c, n_options, share, model, places, options_out)
                n_options += 1
                if absent == SLOT:
                    factor *= _see_absent(c, l, model, places)
        if e == hi:
            break
        v = child[e]
        l = places.slot_at[slot[v]]
        options_out.slot[n_options], options_out.pair[n_options] = l, pending[node.base + e - lo]
        if absent == RENORMALISED:
            share = c[places.switch + l] / present
        else:
            share = (model.switch + c[places.switch + l]) / (model.n_slots * model.switch + node.n_inner)
        share /= crowd[v] if crowd.shape[0] else 1
        _weigh_option(c, n_options, share, model, places, options_out)
        n_options += 1
        due = slot[v] + 1
    return n_options, factor


@jit
def _impute(rng, units, node, particle, setting, options):
    """Draw and count the state of a node in one particle; log of what its weight is multiplied by."""
    label, slot, _, child_start, _ = units
    model, places = setting
    c, pending = particle
    d, n_states = node.unit, model.n_states
    is_leaf = child_start[d] == child_start[d + 1]
    top = see_content(model.urns, places.content, label[d], c, options.emission)
    n_options, factor = 1, 1.0
    if is_leaf:
        _leaf_options(c, slot[d], model, places, options)
    else:
        n_options, factor = _inner_options(units, node, particle, model, places, options)
    chosen, total = draw_by_weights(rng, options.weight, n_options * n_states)
    i = chosen % n_states
    add_content(model.urns, places.content, label[d], c, i)
    if is_leaf:
        row = (places.slot_at[slot[d]] if slot[d] >= 0 else places.n_slots) * (places.width + 1)
        c[row + places.width] += 1.0
    else:
        l, j = options.slot[chosen // n_states], options.pair[chosen // n_states]
        if model.absent != RENORMALISED:
            c[places.switch + l] += 1.0
        row = places.transition + (l * (n_states + 1) + j) * (n_states + 1)
        c[row + n_states] += 1.0
    c[row + i] += 1.0
    pending[node.base] = i
    return np.log(total * factor) + top


@jit
def log_evidence(rng, units, order, model, n_particles):
    """Log of an unbiased estimate of P(contents, and what the reading says of the shape), parameters integrated out.

    `order` lists the units of the nodes as `post_order` gives them.  In the renormalised reading each particle draws
    switch probabilities from their prior, because renormalised over the slots that are there they have no counts.
    """
    child_start = units[3]
    places = _lay_out(units, order, model)
    options = _room(units, order, model.n_states, places.n_slots)
    count = np.zeros((n_particles, places.end))
    spare = np.empty((n_particles, places.end))
    pending = np.zeros((n_particles, order.shape[0]), np.int16)  # states of nodes whose parent is to come
    spare_pending = np.empty_like(pending)
    log_weight = np.zeros(n_particles)
    if model.absent == RENORMALISED:
        for p in range(n_particles):
            for l in range(places.n_slots):  # up to a factor, which renormalising removes
                count[p, places.switch + l] = max(rng.standard_gamma(model.switch), 1e-100)
    result = 0.0
    height = n_inner = 0
    for x in range(order.shape[0]):
        n_below = child_start[order[x] + 1] - child_start[order[x]]
        node = Node(order[x], height - n_below, n_inner)
        for p in range(n_particles):
            log_weight[p] += _impute(rng, units, node, (count[p], pending[p]), (model, places), options)
        height = node.base + 1
        n_inner += 1 if n_below > 0 else 0
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
