"""Clusters of sub-clusters of Gaussian data: one datum at a time in a pool of slots, parameters integrated out.

Sigma_r ~ IW(scale0, dof0); centre_r ~ N(0, Sigma_r / kappa0); mean_t ~ N(centre_r, spread Sigma_r) for a sub-cluster t
of cluster r; x ~ N(mean_t, Sigma_r).  All sub-clusters of a cluster share one scale matrix ``Psi_r`` and thus one
Cholesky factor; each has a place of its own,  mean_t | X_r ~ N(mean[t], Sigma_r / k_t).  A Dirichlet-process mixture is
the case of one sub-cluster a cluster and no spread.

Letters: n datum, t sub-cluster slot, r cluster slot.
"""

import math
from typing import NamedTuple

import numpy as np

from ....jit import bare, inlined, jit
from .gaussian import add_outer, log_determinant, quadratic_form, take_outer

SINGLE, FLAT, NESTED = 0, 1, 2  # priors: one sub-cluster a cluster; Eq. (7); the nested reading of Eq. (6)
WITHIN, APART = 0, 1  # where a split puts the new sub-cluster: into the same cluster, or into a new one
N_SCRATCH = 3  # slots at the end of a pool in which proposals are built


class Hyper(NamedTuple):
    """What is fixed during a sweep."""

    prior: int
    cluster_concentration: float
    subcluster_concentration: float
    spread: float
    kappa0: float
    dof0: float
    temper: float  # power of the likelihood; 0 samples the prior
    log_det0: float  # log |scale0|
    chol0: np.ndarray  # float64 [1, d, d]: factor of scale0
    log_predictive: np.ndarray  # float64 [n]: see gaussian.log_predictive_table
    log_gamma: np.ndarray  # float64 [n]: see gaussian.log_gamma_table
    log_whole: np.ndarray  # float64 [n]: log n


class Pool(NamedTuple):
    """Slots of sub-clusters and of clusters; the first of each list are in use, the rest is free."""

    number: np.ndarray  # int64 [t]: data
    home: np.ndarray  # int64 [t]: cluster
    total: np.ndarray  # float64 [t, d]: sum of the data
    mean: np.ndarray  # float64 [t, d]: place of the sub-cluster given all data of its cluster
    shrink: np.ndarray  # float64 [t]: k/(k+1) of that place
    constant: np.ndarray  # float64 [t]: of the log predictive
    size: np.ndarray  # int64 [r]: data
    n_sub: np.ndarray  # int64 [r]: sub-clusters
    kappa: np.ndarray  # float64 [r]: kappa0 + sum_t n_t / (1 + spread n_t)
    moment: np.ndarray  # float64 [r, d]: sum_t total_t / (1 + spread n_t)
    chol: np.ndarray  # float64 [r, d, d]: factor of Psi_r
    log_det: np.ndarray  # float64 [r]
    new_mean: np.ndarray  # float64 [r, d]: place, shrink and constant of a sub-cluster nobody is in yet
    new_shrink: np.ndarray
    new_constant: np.ndarray
    subs: np.ndarray  # int64: slots of sub-clusters, those in use first
    sub_at: np.ndarray  # int64 [t]: place in that list
    clusters: np.ndarray  # int64: slots of clusters, those in use first
    cluster_at: np.ndarray  # int64 [r]
    n_used: np.ndarray  # int64 [2]: sub-clusters and clusters in use


def new_pool(n_slots: int, dimension: int) -> Pool:
    """A pool with room for this many sub-clusters."""
    n, d = n_slots + N_SCRATCH, dimension
    kinds = {"log_det": 1, "kappa": 1, "shrink": 1, "constant": 1, "new_shrink": 1, "new_constant": 1, "chol": 3}
    shapes = {name: ((n,), (n, d), (n, d, d))[axes - 1] for name, axes in kinds.items()}
    shapes |= dict.fromkeys(("total", "mean", "moment", "new_mean"), (n, d))
    arrays = {name: np.zeros(shapes[name]) if name in shapes else np.zeros(n, np.int64) for name in Pool._fields}
    return Pool(**{**arrays, "n_used": np.zeros(2, np.int64)})


# ---- one slot -------------------------------------------------------------------------------------------------------


@inlined
def clear_cluster(pool, hyper, r):
    pool.size[r] = 0
    pool.n_sub[r] = 0
    pool.kappa[r] = hyper.kappa0
    for a in range(pool.total.shape[1]):
        pool.moment[r, a] = 0.0
        for b in range(a + 1):
            pool.chol[r, a, b] = hyper.chol0[0, a, b]
    pool.log_det[r] = hyper.log_det0


@inlined
def clear_sub(pool, t):
    pool.number[t] = 0
    for a in range(pool.total.shape[1]):
        pool.total[t, a] = 0.0


@inlined
def locate(pool, hyper, t):
    """Place of sub-cluster t given all data of its cluster, its own included: mean[t] and shrink[t]."""
    r = pool.home[t]
    d = pool.total.shape[1]
    n = pool.number[t]
    inverse = 1.0 / (1.0 + hyper.spread * n)
    if pool.n_sub[r] == 1:  # no sibling: no difference of large numbers either
        kappa = hyper.kappa0
        k = 1.0 / (hyper.spread + 1.0 / kappa)
        for a in range(d):
            pool.mean[t, a] = pool.total[t, a] / (k + n)
    else:
        kappa = pool.kappa[r] - n * inverse
        k = 1.0 / (hyper.spread + 1.0 / kappa)
        for a in range(d):
            centre = (pool.moment[r, a] - pool.total[t, a] * inverse) / kappa
            pool.mean[t, a] = (k * centre + pool.total[t, a]) / (k + n)
    pool.shrink[t] = (k + n) / (k + n + 1.0)


@inlined
def price(pool, hyper, t):
    """Place of a sub-cluster and the constant of its predictive."""
    locate(pool, hyper, t)
    r = pool.home[t]
    half = 0.5 * pool.total.shape[1]
    pool.constant[t] = hyper.log_predictive[pool.size[r]] + half * math.log(pool.shrink[t]) - 0.5 * pool.log_det[r]


@inlined
def log_predictive_of(pool, hyper, t, x, n, solved):
    """log density of datum n in sub-cluster t, given all data there and in its siblings."""
    r = pool.home[t]
    form = quadratic_form(pool.chol, r, (pool.mean, t), x, n, solved)
    return pool.constant[t] - 0.5 * (hyper.dof0 + pool.size[r] + 1.0) * math.log1p(pool.shrink[t] * form)


@inlined
def _shift(pool, hyper, t, x, n, sign):
    """Count datum n in (+1) or out (-1) of the sums of sub-cluster t and its cluster."""
    r = pool.home[t]
    before = 1.0 / (1.0 + hyper.spread * pool.number[t])
    pool.kappa[r] -= pool.number[t] * before
    pool.number[t] += sign
    pool.size[r] += sign
    after = 1.0 / (1.0 + hyper.spread * pool.number[t])
    pool.kappa[r] += pool.number[t] * after
    for a in range(x.shape[1]):
        pool.moment[r, a] -= pool.total[t, a] * before
        pool.total[t, a] += sign * x[n, a]
        pool.moment[r, a] += pool.total[t, a] * after


@inlined
def _deviation(pool, t, x, n, vector):
    """sqrt(shrink) (x - mean), whose outer product the datum adds to Psi."""
    root = math.sqrt(pool.shrink[t])
    for a in range(x.shape[1]):
        vector[a] = root * (x[n, a] - pool.mean[t, a])


@inlined
def add_datum(pool, hyper, t, x, n, vector):
    """Put datum n into sub-cluster t; places and constants of the cluster are out of date afterwards."""
    locate(pool, hyper, t)
    _deviation(pool, t, x, n, vector)
    r = pool.home[t]
    add_outer(pool.chol, r, vector)
    pool.log_det[r] = log_determinant(pool.chol, r)
    _shift(pool, hyper, t, x, n, 1)


@inlined
def remove_datum(pool, hyper, t, x, n, vector):
    """Take datum n out of sub-cluster t; places and constants of the cluster are out of date afterwards."""
    _shift(pool, hyper, t, x, n, -1)
    locate(pool, hyper, t)
    _deviation(pool, t, x, n, vector)
    r = pool.home[t]
    take_outer(pool.chol, r, vector)
    pool.log_det[r] = log_determinant(pool.chol, r)


@bare
def settle(pool, hyper, r):
    """Bring places and constants of all sub-clusters of r, and of one nobody is in yet, up to date."""
    d = pool.total.shape[1]
    for x in range(pool.n_used[0]):
        t = pool.subs[x]
        if pool.home[t] == r:
            price(pool, hyper, t)
    k = 1.0 / (hyper.spread + 1.0 / pool.kappa[r])
    for a in range(d):
        pool.new_mean[r, a] = pool.moment[r, a] / pool.kappa[r]
    pool.new_shrink[r] = k / (k + 1.0)
    constant = hyper.log_predictive[pool.size[r]] + 0.5 * d * math.log(pool.new_shrink[r])
    pool.new_constant[r] = constant - 0.5 * pool.log_det[r]


@inlined
def _swap(order, place, x, y):
    """Exchange two entries of a list and of the index into it."""
    a, b = order[x], order[y]
    order[x], order[y] = b, a
    place[a], place[b] = y, x


@bare
def open_sub(pool, t, r):
    """Take slot t of the free ones for a new sub-cluster of r, and slot r too if it is free."""
    if pool.cluster_at[r] >= pool.n_used[1]:
        _swap(pool.clusters, pool.cluster_at, pool.cluster_at[r], pool.n_used[1])
        pool.n_used[1] += 1
    _swap(pool.subs, pool.sub_at, pool.sub_at[t], pool.n_used[0])
    pool.n_used[0] += 1
    pool.home[t] = r
    pool.n_sub[r] += 1
    clear_sub(pool, t)


@bare
def close_sub(pool, t):
    """Give slot t back, and its cluster if that is empty."""
    r = pool.home[t]
    pool.n_used[0] -= 1
    _swap(pool.subs, pool.sub_at, pool.sub_at[t], pool.n_used[0])
    pool.n_sub[r] -= 1
    if pool.n_sub[r] == 0:
        pool.n_used[1] -= 1
        _swap(pool.clusters, pool.cluster_at, pool.cluster_at[r], pool.n_used[1])


@jit
def build(x, subcluster, cluster, pool, hyper):
    """Fill the pool from scratch: datum n is in slot subcluster[n] (-1: nowhere), which belongs to cluster[slot]."""
    n_slots = pool.number.shape[0]
    _build(x, (subcluster, cluster), pool, hyper, np.empty(x.shape[1]), np.zeros(n_slots, np.bool_))


@bare
def _build(x, seats, pool, hyper, vector, used):
    """As `build`, with room that it makes."""
    subcluster, cluster = seats
    n_slots = pool.number.shape[0]
    pool.n_used[0] = 0
    pool.n_used[1] = 0
    for n in range(x.shape[0]):
        if subcluster[n] >= 0:
            used[subcluster[n]] = True
    for s in range(n_slots):
        pool.subs[s], pool.sub_at[s], pool.clusters[s], pool.cluster_at[s] = s, s, s, s
        clear_cluster(pool, hyper, s)
        clear_sub(pool, s)
    for t in range(n_slots - N_SCRATCH):
        if used[t]:
            open_sub(pool, t, cluster[t])
    for n in range(x.shape[0]):
        if subcluster[n] >= 0:
            add_datum(pool, hyper, subcluster[n], x, n, vector)
    for c in range(pool.n_used[1]):
        settle(pool, hyper, pool.clusters[c])
