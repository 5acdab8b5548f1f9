"""Seat trees one after another by Chinese-restaurant weights, given their log-likelihoods under every component.

Columns of `log_lik` are components; `active` lists those that hold trees, `empty` those that wait for one.
"""

import numpy as np

from ....jit import jit

DONE, BORN = 0, 1


@jit
def _draw(rng, log_weight, n):
    """Index drawn in proportion to exp(log_weight[:n]); the largest alone if all are -inf."""
    top = -np.inf
    best = 0
    for x in range(n):
        if log_weight[x] > top:
            top = log_weight[x]
            best = x
    if top == -np.inf:
        return best
    total = 0.0
    for x in range(n):
        total += np.exp(log_weight[x] - top)
    left = rng.random() * total
    for x in range(n):
        left -= np.exp(log_weight[x] - top)
        if left < 0.0:
            return x
    return best


@jit
def seat(rng, first, log_lik, log_empty_weight, reuse, tables):
    """Reseat trees first, first + 1, ... until all are seated or one sits down at an empty component.

    `tables` is (label[tree], count[column], active, n_active, empty), all updated in place; n_active is an array of
    one.  Each empty component weighs exp(log_empty_weight).  With `reuse`, a component that loses its last tree takes
    the place of a random empty one (Favaro and Teh 2013), as exactness demands; otherwise it is gone.
    Returns (DONE, n_trees, 0), or (BORN, tree, position in `empty`): the caller must refill that position.
    """
    label, count, active, n_active, empty = tables
    n_trees = label.shape[0]
    weight = np.empty(active.shape[0] + empty.shape[0])
    for t in range(first, n_trees):
        k = label[t]
        count[k] -= 1
        if count[k] == 0:
            for x in range(n_active[0]):
                if active[x] == k:
                    n_active[0] -= 1
                    active[x] = active[n_active[0]]
                    break
            if reuse:
                empty[rng.integers(0, empty.shape[0])] = k
        n = n_active[0]
        for x in range(n):
            weight[x] = np.log(count[active[x]]) + log_lik[t, active[x]]
        for x in range(empty.shape[0]):
            weight[n + x] = log_empty_weight + log_lik[t, empty[x]]
        x = _draw(rng, weight, n + empty.shape[0])
        if x < n:
            label[t] = active[x]
            count[active[x]] += 1
            continue
        k = empty[x - n]
        label[t] = k
        count[k] = 1
        active[n] = k
        n_active[0] += 1
        return BORN, t, x - n
    return DONE, n_trees, 0
