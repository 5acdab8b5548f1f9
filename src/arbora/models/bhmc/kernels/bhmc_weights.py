"""Weights of components in nodes, means and variances of components, likelihoods of a draw (Huang et al. 2021)."""

import math

import numpy as np

from ....jit import jit
from .random_draws import TINY, log_gamma


@jit
def _n_tables(rng, n_customers, concentration):
    """Tables that customers of a Chinese restaurant occupy."""
    n = 0
    for i in range(n_customers):
        if rng.random() * (concentration + i) <= concentration:
            n += 1
    return n


@jit
def _dirichlet(rng, log_share, n, weight_out):
    """Weights from the shapes in log_share[:n], which becomes the logarithms; returns the last weight."""
    top = -np.inf
    for k in range(n):
        log_share[k] = log_gamma(rng, log_share[k])
        top = max(top, log_share[k])
    total = 0.0
    for k in range(n):
        log_share[k] = np.exp(log_share[k] - top)
        total += log_share[k]
    for k in range(n - 1):
        weight_out[k] = max(log_share[k] / total, TINY)
    return max(log_share[n - 1] / total, TINY)


@jit
def update(rng, queue, X, state, setting):
    """Weights, means and variances given paths and components; returns the complete-data log-likelihood."""
    draw_weights(rng, queue, state, setting)
    mean = np.empty((state.n_components[0], X.shape[1]))
    draw_means(rng, state, mean)
    draw_variances(rng, X, mean, state, setting)
    return log_tree_prior(queue, state, setting) + log_likelihood(X, mean, state)


@jit
def draw_weights(rng, queue, state, setting):
    """Weights of all nodes given paths and components: tables from the leaves up, then Dirichlets from the root down.

    `queue` lists the slots in use, parents first.  Each weight is replaced before the tables seated by it are used
    again, so the step leaves the posterior of all weights invariant.
    """
    n_components = state.n_components[0]
    count = np.zeros((state.rest.shape[0], n_components), np.int64)  # customers of a component at a node
    last_level = state.path.shape[1] - 1
    for n in range(state.path.shape[0]):
        count[state.path[n, last_level], state.component[n]] += 1
    for i in range(queue.shape[0] - 1, 0, -1):
        z = queue[i]
        if state.below[z] == 0:
            continue
        p = state.parent[z]
        for k in range(n_components):
            count[p, k] += _n_tables(rng, count[z, k], setting.weight_concentration * state.weight[p, k])
    share = np.empty(n_components + 1)
    for i in range(queue.shape[0]):
        z = queue[i]
        p = state.parent[z]
        for k in range(n_components):
            share[k] = count[z, k]
            if p >= 0:
                share[k] += setting.weight_concentration * state.weight[p, k]
        share[n_components] = setting.root_concentration if p < 0 else setting.weight_concentration * state.rest[p]
        state.rest[z] = _dirichlet(rng, share, n_components + 1, state.weight[z])


@jit
def refresh_totals(X, state):
    """Sums of the data of each component anew, so that rounding does not pile up."""
    state.total[: state.n_components[0]] = 0.0
    for n in range(X.shape[0]):
        for d in range(X.shape[1]):
            state.total[state.component[n], d] += X[n, d]


@jit
def draw_means(rng, state, mean_out):
    """Mean of every component in use given its data."""
    within, between = state.variance[0], state.variance[1]
    for k in range(state.n_components[0]):
        shrink = between / (within + state.size[k] * between)
        deviation = np.sqrt(within * shrink)
        for d in range(state.total.shape[1]):
            mean_out[k, d] = shrink * state.total[k, d] + deviation * rng.standard_normal()


@jit
def draw_variances(rng, X, mean, state, setting):
    """Variance within components and that of their means, given means, under inverse-gamma priors."""
    shape, scale = setting.within_prior
    if shape > 0.0:
        squares = 0.0
        for n in range(X.shape[0]):
            for d in range(X.shape[1]):
                squares += (X[n, d] - mean[state.component[n], d]) ** 2
        state.variance[0] = (scale + 0.5 * squares) / rng.standard_gamma(shape + 0.5 * X.shape[0] * X.shape[1])
    shape, scale = setting.between_prior
    if shape > 0.0:
        squares = 0.0
        for k in range(state.n_components[0]):
            for d in range(X.shape[1]):
                squares += mean[k, d] ** 2
        shape += 0.5 * state.n_components[0] * X.shape[1]
        state.variance[1] = (scale + 0.5 * squares) / rng.standard_gamma(shape)


@jit
def log_likelihood(X, mean, state):
    """Sum over the data of log weight of the component at the leaf plus log density given its mean."""
    within = state.variance[0]
    last_level = state.path.shape[1] - 1
    total = -0.5 * X.shape[0] * X.shape[1] * np.log(2.0 * np.pi * within)
    for n in range(X.shape[0]):
        k = state.component[n]
        total += np.log(state.weight[state.path[n, last_level], k])
        for d in range(X.shape[1]):
            total -= 0.5 * (X[n, d] - mean[k, d]) ** 2 / within
    return total


@jit
def log_tree_prior(queue, state, setting):
    """log p(paths): of the nested Chinese restaurant process, or of its finite form with `branching` children."""
    alpha = setting.path_concentration
    total = 0.0
    for i in range(queue.shape[0]):
        z = queue[i]
        if state.below[z] == 0:
            continue
        if state.first_child[z] >= 0:
            total += math.lgamma(alpha) - math.lgamma(alpha + state.below[z])
        if z > 0 and setting.branching == 0:
            total += np.log(alpha) + math.lgamma(state.below[z])
        elif z > 0:
            share = alpha / setting.branching
            total += math.lgamma(state.below[z] + share) - math.lgamma(share)
    return total
