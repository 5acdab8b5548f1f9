"""Paths of rows in a finite tree, drawn exactly."""

import numpy as np

from ....inference.kernels.draws import draw_by_logs, draw_by_weights
from ....jit import jit
from .directions import score_of
from .mixture_tree import count_path, fill_log_density, join_component, leave_component
from .random_draws import TINY


@jit
def move_finite(rng, order, first, X, state, setting):
    """Draw leaf and component of the data order[first:], each given all others; exact for Eq. (11).

    Returns the position it has come to: less than len(order) if there is no room for another component.
    """
    n_nodes = state.rest.shape[0]
    log_density = np.empty(state.size.shape[0] + 1)
    work = np.empty((3, n_nodes))
    for i in range(first, order.shape[0]):
        if state.n_components[0] == state.size.shape[0]:
            return i
        n = order[i]
        x = X[n]
        leave_component(n, x, state)
        count_path(n, -1, state)
        fill_log_density(x, state, log_density)
        z = _draw_leaf(rng, x, log_density, work, state, setting)
        for l in range(state.path.shape[1] - 1, -1, -1):
            state.path[n, l] = z
            z = state.parent[z]
        count_path(n, 1, state)
        join_component(rng, n, x, log_density, state, setting)
    return order.shape[0]


@jit
def _draw_leaf(rng, x, log_density, work, state, setting):
    """P(leaf) ~ prod_l (N_l + alpha/B) / (N_{l-1} + alpha) p(x | leaf) exp(-2C hinge(leaf))."""
    first_leaf = (state.rest.shape[0] - 1) // setting.branching
    n_leaves = state.rest.shape[0] - first_leaf
    n_components = state.n_components[0]
    reach, worst = work[0], work[1]  # prior probability of passing a node, worst violation down to it
    _walk_down(x, reach, worst, state, setting)
    weight = work[2]
    least = np.inf
    for j in range(n_leaves):
        worst[first_leaf + j] = max(0.0, worst[first_leaf + j])
        least = min(least, worst[first_leaf + j])
    scaled = np.exp(log_density[: n_components + 1] - log_density[: n_components + 1].max())
    best = 0.0
    for j in range(n_leaves):
        z = first_leaf + j
        p = state.rest[z] * scaled[n_components]
        for k in range(n_components):
            p += state.weight[z, k] * scaled[k]
        weight[j] = reach[z] * p
        if worst[z] > least:
            weight[j] *= np.exp(-2.0 * setting.regularization * (worst[z] - least))
        best = max(best, weight[j])
    if best > 1e-200:
        return first_leaf + draw_by_weights(rng, weight, n_leaves)[0]
    for j in range(n_leaves):  # a datum far from all others: sums in the logarithm
        z = first_leaf + j
        weight[j] = np.log(reach[z]) + log_mixture(z, log_density, state) - 2.0 * setting.regularization * worst[z]
    return first_leaf + draw_by_logs(rng, weight, n_leaves)


@jit
def _walk_down(x, reach, worst, state, setting):
    """Prior probability of reaching each node without the datum, and its worst violation on the way."""
    branching = setting.branching
    n_inner = (state.rest.shape[0] - 1) // branching
    reach[0] = 1.0
    worst[0] = -np.inf
    for z in range(n_inner):
        top, second, best = -np.inf, -np.inf, -1  # largest scores among the children
        for c in range(branching * z + 1, branching * z + 1 + branching):
            share = (state.below[c] + setting.path_concentration / branching) / (
                state.below[z] + setting.path_concentration
            )
            reach[c] = reach[z] * share
            if setting.regularization > 0.0:
                score = score_of(state.direction[c], x)
                worst[c] = score
                if score > top:
                    second, top, best = top, score, c
                elif score > second:
                    second = score
        for c in range(branching * z + 1, branching * z + 1 + branching):
            if setting.regularization > 0.0:
                rival = second if c == best else top
                worst[c] = max(worst[z], setting.margin - worst[c] + rival)
            else:
                worst[c] = 0.0


@jit
def log_mixture(leaf, log_density, state):
    """log p(x | leaf): the component summed out."""
    n_components = state.n_components[0]
    top = log_density[: n_components + 1].max()
    total = state.rest[leaf] * np.exp(log_density[n_components] - top)
    for k in range(n_components):
        total += state.weight[leaf, k] * np.exp(log_density[k] - top)
    if total > TINY:
        return top + np.log(total)
    top = np.log(state.rest[leaf]) + log_density[n_components]
    for k in range(n_components):
        top = max(top, np.log(state.weight[leaf, k]) + log_density[k])
    return top  # all other terms are beyond the smallest number
