"""Gibbs over sub-clusters: one datum after the other, given all others (Neal's Algorithm 3)."""

import math

import numpy as np

from ....jit import bare, inlined, jit
from .gaussian import quadratic_form
from .nested_gaussian import (
    FLAT,
    N_SCRATCH,
    NESTED,
    SINGLE,
    add_datum,
    clear_cluster,
    close_sub,
    log_predictive_of,
    open_sub,
    price,
    remove_datum,
    settle,
)


@inlined
def pick_index(log_weight, n, u):
    """Index drawn in proportion to exp(log_weight[:n]), by a number u in [0, 1); destroys the weights."""
    top = -np.inf
    best = 0
    for x in range(n):
        if log_weight[x] > top:
            top = log_weight[x]
            best = x
    total = 0.0
    for x in range(n):
        gap = log_weight[x] - top
        log_weight[x] = math.exp(gap) if gap > -40.0 else 0.0
        total += log_weight[x]
    left = u * total
    for x in range(n):
        left -= log_weight[x]
        if left < 0.0:
            return x
    return best


@inlined
def draw_index(rng, log_weight, n):
    """Index drawn in proportion to exp(log_weight[:n])."""
    return pick_index(log_weight, n, rng.random())


@bare
def leave(pool, hyper, x, n, subcluster, vector):
    """Take a datum out of its sub-cluster, which closes if it was the last."""
    t = subcluster[n]
    if t < 0:
        return
    r = pool.home[t]
    subcluster[n] = -1
    if pool.size[r] == 1:
        pool.size[r] = 0
        close_sub(pool, t)
        return
    remove_datum(pool, hyper, t, x, n, vector)
    if pool.number[t] == 0:
        close_sub(pool, t)
    if hyper.prior == SINGLE:
        price(pool, hyper, t)
    else:
        settle(pool, hyper, r)


@bare
def enter(pool, hyper, t, x, n, vector):
    """Put a datum into sub-cluster t, and bring its cluster up to date."""
    add_datum(pool, hyper, t, x, n, vector)
    if hyper.prior == SINGLE:
        price(pool, hyper, t)
    else:
        settle(pool, hyper, pool.home[t])


@inlined
def nested_share(pool, hyper, r):
    """log of the weight that cluster r gives its sub-clusters under the nested prior, n_r / (n_r + concentration)."""
    if hyper.prior != NESTED:
        return 0.0
    return hyper.log_whole[pool.size[r]] - math.log(pool.size[r] + hyper.subcluster_concentration)


@inlined
def seats_of(pool, hyper, t):
    """log of the prior weight of sub-cluster t for one more datum."""
    return hyper.log_whole[pool.number[t]] + nested_share(pool, hyper, pool.home[t])


@inlined
def new_seats(pool, hyper):
    """log of what a new sub-cluster weighs in any cluster, and of the prior weight of a new cluster."""
    log_new = 0.0
    alone = math.log(hyper.cluster_concentration)
    if hyper.prior == FLAT:
        log_new = math.log(hyper.subcluster_concentration) - math.log(pool.n_used[0] + hyper.cluster_concentration)
        alone += log_new
    elif hyper.prior == NESTED:
        log_new = math.log(hyper.subcluster_concentration)
    return log_new, alone


@inlined
def seats_in(pool, hyper, r):
    """log of the prior weight of cluster r for a new sub-cluster."""
    return hyper.log_whole[pool.n_sub[r]] if hyper.prior == FLAT else nested_share(pool, hyper, r)


@inlined
def weigh(pool, hyper, x, n, fresh, room_out):
    """Log weights of datum n in all sub-clusters, in a new one of each cluster, and in a new cluster; how many.

    `room_out` is (room for a solution, the weights).
    """
    solved, weight_out = room_out
    many = 0
    for c in range(pool.n_used[0]):
        t = pool.subs[c]
        weight_out[many] = seats_of(pool, hyper, t) + hyper.temper * log_predictive_of(pool, hyper, t, x, n, solved)
        many += 1
    log_new, alone = new_seats(pool, hyper)
    if hyper.prior != SINGLE:
        for c in range(pool.n_used[1]):
            r = pool.clusters[c]
            form = quadratic_form(pool.chol, r, (pool.new_mean, r), x, n, solved)
            power = 0.5 * (hyper.dof0 + pool.size[r] + 1.0)
            value = pool.new_constant[r] - power * math.log1p(pool.new_shrink[r] * form)
            weight_out[many] = log_new + seats_in(pool, hyper, r) + hyper.temper * value
            many += 1
    weight_out[many] = alone + hyper.temper * fresh[n]
    return many + 1


@bare
def take_seat(pool, hyper, choice):
    """Slot of the choice among all sub-clusters, a new one of each cluster, and a new cluster; opened if it is new."""
    n_sub, n_cluster = pool.n_used[0], pool.n_used[1]
    if choice < n_sub:
        return pool.subs[choice]
    t = pool.subs[n_sub]
    born = choice - n_sub
    if hyper.prior != SINGLE and born < n_cluster:
        r = pool.clusters[born]
    else:
        r = pool.clusters[n_cluster]
        clear_cluster(pool, hyper, r)
    open_sub(pool, t, r)
    return t


@jit
def prior_predictive(x, hyper):
    """log density of each datum in a cluster nobody is in."""
    n_data, d = x.shape
    k = 1.0 / (hyper.spread + 1.0 / hyper.kappa0)
    shrink = k / (k + 1.0)
    constant = hyper.log_predictive[0] + 0.5 * d * math.log(shrink) - 0.5 * hyper.log_det0
    origin, solved, out = np.zeros((1, d)), np.empty(d), np.empty(n_data)
    for n in range(n_data):
        form = quadratic_form(hyper.chol0, 0, (origin, 0), x, n, solved)
        out[n] = constant - 0.5 * (hyper.dof0 + 1.0) * math.log1p(shrink * form)
    return out


@bare
def _sweep(rng, x, first, subcluster, given, room):
    """As `sweep`, with room that it makes: (vector, (solution, weights), prior predictive of each datum)."""
    pool, hyper = given
    vector, scratch, fresh = room
    last = pool.number.shape[0] - N_SCRATCH
    for n in range(first, x.shape[0]):
        leave(pool, hyper, x, n, subcluster, vector)
        if pool.n_used[0] >= last:
            return n
        t = take_seat(pool, hyper, draw_index(rng, scratch[1], weigh(pool, hyper, x, n, fresh, scratch)))
        enter(pool, hyper, t, x, n, vector)
        subcluster[n] = t
    return x.shape[0]


@jit
def sweep(rng, x, first, subcluster, pool, hyper):
    """Redraw the sub-cluster of data first, first + 1, ... given all others (Neal's Algorithm 3).

    Returns the number of data, or the datum for which there was no slot: the caller makes a larger pool and goes on.
    """
    d = x.shape[1]
    weight = np.empty(2 * pool.number.shape[0] + 1)
    room = (np.empty(d), (np.empty(d), weight), prior_predictive(x, hyper))
    return _sweep(rng, x, first, subcluster, (pool, hyper), room)
