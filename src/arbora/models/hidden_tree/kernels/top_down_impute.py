"""How probable one tree is under a top-down model whose parameters are integrated out, by sequential imputation.

Particles go through the tree from the root down and draw states node by node, each given the counts of what it has
drawn so far; they are resampled as in impute.py, and the mean of their weights is an unbiased estimate.
"""

from typing import Any, NamedTuple

import numpy as np

from ....inference.kernels.draws import draw_by_weights
from ....jit import jit
from .impute import _ancestors, _is_uneven, _log_mean
from .urns import Cells, add_content, n_content_cells, numbered, see_content


class Model(NamedTuple):
    """Sizes and Dirichlet parameters, those of rows of states by state."""

    n_slots: int
    n_states: int
    tied: bool
    pooled: bool
    root: Any  # [state]
    urns: Any  # what nodes hold
    transition: Any  # [state]
    hit: Any  # [slot]: Beta parameters of a child there; none where shapes do not depend on states
    miss: Any


class Places(NamedTuple):
    """Where the counts of a particle lie; behind the cells of a row stands their sum.  Those of the root come first."""

    content: Any
    transition: int
    shape: int  # [slot, state, 2]: children there, and none
    end: int
    root_whole: float  # sums of Dirichlet parameters
    transition_whole: float


@jit
def _lay_out(units, order, model):
    """The places of a particle's counts."""
    n_states = model.n_states
    word_at, n_words = numbered(units[0], order, model.urns)
    n_rows = 1 if model.tied else model.n_slots
    at_emission = n_states + 1
    at_transition = at_emission + n_content_cells(model.urns, n_words, n_states)
    at_shape = at_transition + n_rows * n_states * (n_states + 1)
    end = at_shape + (2 * model.n_slots * n_states if model.hit.shape[0] > 0 else 0)
    content = Cells(word_at, n_words, at_emission, n_states)
    return Places(content, at_transition, at_shape, end, model.root.sum(), model.transition.sum())


@jit
def _chance_of_shape(units, d, row, model, i, add):
    """P(children of unit d are where they are | state i, counts); `add` counts them.  `row` is (counts, first cell)."""
    count, at = row
    _, slot, _, child_start, child = units
    lo, hi = child_start[d], child_start[d + 1]
    n_slots, n_states = model.n_slots, model.n_states
    chance = 1.0
    e = lo
    for l in range(n_slots):
        c = at + (l * n_states + i) * 2
        n_here = 0
        while e < hi and slot[child[e]] == l:
            chance *= (model.hit[l] + count[c] + n_here) / (
                model.hit[l] + model.miss[l] + count[c] + count[c + 1] + n_here
            )
            n_here += 1
            e += 1
        missed = n_here == 0 or (model.pooled and l == n_slots - 1)
        if missed:
            chance *= (model.miss[l] + count[c + 1]) / (model.hit[l] + model.miss[l] + count[c] + count[c + 1] + n_here)
        if add:
            count[c] += n_here
            count[c + 1] += 1.0 if missed else 0.0
    return chance


@jit
def _impute(rng, units, node, c, setting, room):
    """Draw and count the state of a node, (unit, state of its parent), in one particle; (state, log of its weight)."""
    label, slot, _, _, _ = units
    model, places = setting
    option, emission = room
    d, parent_state = node
    n_states, shaped = model.n_states, model.hit.shape[0] > 0
    base, alpha, whole = 0, model.root, places.root_whole
    if slot[d] >= 0:
        row = 0 if model.tied else slot[d]
        base = places.transition + (row * n_states + parent_state) * (n_states + 1)
        alpha, whole = model.transition, places.transition_whole
    whole += c[base + n_states]
    top = see_content(model.urns, places.content, label[d], c, emission)
    for i in range(n_states):
        option[i] = (alpha[i] + c[base + i]) / whole * emission[i]
        if shaped:
            option[i] *= _chance_of_shape(units, d, (c, places.shape), model, i, False)
    i, total = draw_by_weights(rng, option, n_states)
    c[base + i] += 1.0
    c[base + n_states] += 1.0
    add_content(model.urns, places.content, label[d], c, i)
    if shaped:
        _chance_of_shape(units, d, (c, places.shape), model, i, True)
    return i, np.log(total) + top


@jit
def log_evidence(rng, units, order, model, n_particles):
    """Log of an unbiased estimate of P(contents, and the shape where it depends on states), parameters integrated out.

    `order` lists the units of the nodes, the parent of each before it; `order[0]` is the root.
    """
    _, _, _, child_start, child = units
    n_nodes = order.shape[0]
    places = _lay_out(units, order, model)
    count = np.zeros((n_particles, places.end))
    spare = np.empty((n_particles, places.end))
    given = np.zeros((n_particles, n_nodes), np.int16)  # state of the parent of each node on the stack
    spare_given = np.empty_like(given)
    stack = np.empty(n_nodes, np.int64)
    stack[0] = order[0]
    height = 1
    room = (np.empty(model.n_states), np.empty(model.n_states))
    log_weight = np.zeros(n_particles)
    result = 0.0
    while height > 0:
        height -= 1
        d = stack[height]
        lo, hi = child_start[d], child_start[d + 1]
        for p in range(n_particles):
            i, gain = _impute(rng, units, (d, given[p, height]), count[p], (model, places), room)
            log_weight[p] += gain
            for x in range(hi - lo):
                given[p, height + x] = i
        for e in range(lo, hi):
            stack[height] = child[e]
            height += 1
        if height > 0 and _is_uneven(log_weight):
            result += _log_mean(log_weight)
            follow = _ancestors(rng, log_weight)
            for p in range(n_particles):
                spare[p] = count[follow[p]]
                spare_given[p, :height] = given[follow[p], :height]
                log_weight[p] = 0.0
            count, spare = spare, count
            given, spare_given = spare_given, given
    return result + _log_mean(log_weight)
