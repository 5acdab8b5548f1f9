"""State of BHMC: each datum sits at a leaf of a tree and in a mixture component (Huang et al. 2021, models/bhmc.md).

Nodes live in a pool of slots; slot 0 is the root.  A finite tree is complete and laid out as a heap: the children of z
are B z + 1 ... B z + B.  A nested tree grows and shrinks, and keeps its free slots on a stack.  Component means are
integrated out; every node has a weight for each component in use and a rest for all others together.
"""

from typing import Any, NamedTuple

import numpy as np

from ....inference.kernels.draws import draw_by_logs
from ....jit import jit
from .random_draws import TINY, draw_beta, log_gamma


class MixtureTree(NamedTuple):
    """All that a sweep changes; n datum, l level, z node slot, k component, d feature."""

    path: Any  # [n, l] node at level l + 1
    component: Any  # [n]
    augment: Any  # [n], of the paper's procedure
    parent: Any  # [z], -1 at the root
    first_child: Any  # [z], -1 at a leaf
    next_sibling: Any  # [z], -1 at the last
    below: Any  # [z] data whose path passes
    free: Any  # [z] stack of slots
    n_free: Any  # [1]
    weight: Any  # [z, k] of the components in use
    rest: Any  # [z] weight of all other components
    direction: Any  # [z, d] discriminant; one more column is an intercept
    size: Any  # [k] data in the component
    total: Any  # [k, d] their sum
    n_components: Any  # [1]
    variance: Any  # [2] within components, and of their means


class SweepSettings(NamedTuple):
    """What a sweep does not change."""

    path_concentration: float
    weight_concentration: float
    root_concentration: float
    regularization: float
    margin: float
    direction_scale: float
    branching: int  # of a finite tree; 0 means nested
    procedure: int  # EXACT, OWN or PAPER
    within_prior: tuple[float, float] = (0.0, 0.0)  # (shape, scale) of an inverse gamma; shape 0 keeps the variance
    between_prior: tuple[float, float] = (0.0, 0.0)


class Work(NamedTuple):
    """Room for weighing the nodes of a nested tree; z node slot."""

    queue: Any  # nodes that hold data, parents first
    level: Any  # [z]
    reach: Any  # [z] log prior of passing it
    worst: Any  # [z] worst violation of a datum down to it; -inf without siblings


@jit
def fill_log_density(x, state, out):
    """log f(x | data of component k), and last that of a component without data."""
    within, between = state.variance[0], state.variance[1]
    n_features = x.shape[0]
    n_components = state.n_components[0]
    for k in range(n_components + 1):
        size = state.size[k] if k < n_components else 0
        shrink = between / (within + size * between)
        var = within + within * shrink
        squares = 0.0
        for d in range(n_features):
            mean = shrink * state.total[k, d] if k < n_components else 0.0
            squares += (x[d] - mean) ** 2
        out[k] = -0.5 * (n_features * np.log(2.0 * np.pi * var) + squares / var)


@jit
def leave_component(n, x, state):
    """Take a datum out of its component; an emptied one gives its weight back to the rest of every node."""
    k = state.component[n]
    state.component[n] = -1
    state.size[k] -= 1
    if state.size[k] > 0:
        for d in range(x.shape[0]):
            state.total[k, d] -= x[d]
        return
    last = state.n_components[0] - 1
    state.n_components[0] = last
    for z in range(state.rest.shape[0]):
        state.rest[z] += state.weight[z, k]
        state.weight[z, k] = state.weight[z, last]
    if k != last:
        state.size[k] = state.size[last]
        state.total[k] = state.total[last]
        for m in range(state.component.shape[0]):
            if state.component[m] == last:
                state.component[m] = k
    state.size[last] = 0


@jit
def draw_component(rng, z, log_density, state):
    """A component for a datum of node z, in proportion to weight times density; the last means a new one."""
    n_components = state.n_components[0]
    log_weight = log_density[: n_components + 1].copy()
    for k in range(n_components):
        log_weight[k] += np.log(state.weight[z, k])
    log_weight[n_components] += np.log(state.rest[z])
    return draw_by_logs(rng, log_weight, n_components + 1)


@jit
def join_component(rng, n, x, log_density, state, setting):
    """Draw the component of a datum from the weights of its leaf."""
    k = draw_component(rng, state.path[n, state.path.shape[1] - 1], log_density, state)
    if k == state.n_components[0]:
        _split_rest(rng, n, state, setting)
        state.size[k] = 0
        state.total[k] = 0.0
        state.n_components[0] += 1
    state.component[n] = k
    state.size[k] += 1
    for d in range(x.shape[0]):
        state.total[k, d] += x[d]


@jit
def _split_rest(rng, n, state, setting):
    """Cut the weight of a component off the rest of every node, given that datum n has just chosen it.

    A size-biased pick all the way from the leaf up: nodes on the path of n count one more customer.
    """
    k = state.n_components[0]
    on_path = np.zeros(state.rest.shape[0])
    for l in range(state.path.shape[1]):
        on_path[state.path[n, l]] = 1.0
    queue = np.empty(state.rest.shape[0], np.int64)
    for i in range(breadth_first(state, queue)):
        z = queue[i]
        p = state.parent[z]
        if p < 0:
            share, left = draw_beta(rng, 1.0, setting.root_concentration)
        else:
            a = setting.weight_concentration * state.weight[p, k] + on_path[z]
            share, left = draw_beta(rng, a, setting.weight_concentration * state.rest[p])
        state.weight[z, k] = max(state.rest[z] * share, TINY)
        state.rest[z] = max(state.rest[z] * left, TINY)


@jit
def breadth_first(state, queue_out):
    """Slots in use, parents first; returns how many."""
    queue_out[0] = 0
    n = 1
    i = 0
    while i < n:
        z = state.first_child[queue_out[i]]
        while z >= 0:
            queue_out[n] = z
            n += 1
            z = state.next_sibling[z]
        i += 1
    return n


@jit
def count_path(n, by, state):
    state.below[0] += by
    for l in range(state.path.shape[1]):
        state.below[state.path[n, l]] += by


@jit
def link(z, state):
    p = state.parent[z]
    state.next_sibling[z] = state.first_child[p]
    state.first_child[p] = z


@jit
def unlink(z, state):
    p = state.parent[z]
    if state.first_child[p] == z:
        state.first_child[p] = state.next_sibling[z]
        return
    y = state.first_child[p]
    while state.next_sibling[y] != z:
        y = state.next_sibling[y]
    state.next_sibling[y] = state.next_sibling[z]


@jit
def new_node(rng, p, chosen, state, setting):
    """A childless node under p with weights and a direction from the prior; not yet among the children of p.

    If a datum below it has chosen a component (-1: none has), its weights are those of the prior given that.
    """
    state.n_free[0] -= 1
    z = state.free[state.n_free[0]]
    state.parent[z] = p
    state.first_child[z] = -1
    state.next_sibling[z] = -1
    state.below[z] = 0
    n_components = state.n_components[0]
    log_weight = np.empty(n_components + 1)
    for k in range(n_components):
        log_weight[k] = log_gamma(rng, setting.weight_concentration * state.weight[p, k] + (k == chosen))
    log_weight[n_components] = log_gamma(rng, setting.weight_concentration * state.rest[p] + (chosen == n_components))
    share = np.exp(log_weight - log_weight.max())
    share /= share.sum()
    for k in range(n_components):
        state.weight[z, k] = max(share[k], TINY)
    state.rest[z] = max(share[n_components], TINY)
    for d in range(state.direction.shape[1]):
        state.direction[z, d] = setting.direction_scale * rng.standard_normal()
    return z


EXACT, OWN, PAPER = 0, 1, 2  # how a proposed path is judged


@jit
def move_components(rng, order, first, X, state, setting):
    """Draw only the components of the data order[first:]; see `move_finite`."""
    log_density = np.empty(state.size.shape[0] + 1)
    for i in range(first, order.shape[0]):
        if state.n_components[0] == state.size.shape[0]:
            return i
        n = order[i]
        leave_component(n, X[n], state)
        fill_log_density(X[n], state, log_density)
        join_component(rng, n, X[n], log_density, state, setting)
    return order.shape[0]
