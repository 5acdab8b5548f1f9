"""Algorithm 1 of Mohamad et al. 2015 as printed: kept for the paper's figures, not a sampler of its model.

What is literal: a datum chooses among the sub-clusters of its own cluster only, with the weights of Eq. (24); the scale
matrix of Eq. (20) has no scatter between sub-clusters; a new sub-cluster has the prior predictive of Eq. (23); a
sub-cluster is seated by the product of one-datum densities of Eq. (30), once for every datum it holds.
"""

import math
from typing import NamedTuple

import numpy as np

from ....jit import inlined, jit
from .gaussian import factorise, log_determinant, quadratic_form
from .seating import draw_index


class Seats(NamedTuple):
    """Who sits where, and sums of the data of every sub-cluster."""

    subcluster: np.ndarray  # int64 [n]; -1 of a datum not seated
    cluster: np.ndarray  # int64 [t]
    count: np.ndarray  # type: ignore[assignment]  # int64 [t]
    total: np.ndarray  # float64 [t, d]
    square: np.ndarray  # float64 [t, d, d]


class Work(NamedTuple):
    """Room for the posterior of one sub-cluster, and for weights."""

    mean: np.ndarray  # float64 [1, d]
    chol: np.ndarray  # float64 [1, d, d]
    matrix: np.ndarray  # float64 [d, d]
    solved: np.ndarray  # float64 [d]
    weight: np.ndarray  # float64 [option]
    option: np.ndarray  # int64 [option]: sub-cluster or cluster


@inlined
def _posterior(scope, seats, hyper, work):
    """Eqs. (17)-(21): k, v of the sub-cluster `own` given cluster r without it; mean and factor go to `work`.

    `scope` is (r, without, own).  `own` = `without` counts its data in by Eq. (21); `own` = -1 gives Eqs. (29) and, for
    an empty r, (23) and (32).
    """
    r, without, own = scope
    _, cluster, count, total, square = seats
    mean, chol, matrix = work.mean, work.chol, work.matrix
    d = total.shape[1]
    kappa, n_data = hyper.kappa0, 0
    for a in range(d):
        mean[0, a] = 0.0
        for b in range(a + 1):
            matrix[a, b] = 0.0
            for c in range(b + 1):
                matrix[a, b] += hyper.chol0[0, a, c] * hyper.chol0[0, b, c]
    for t in range(count.shape[0]):
        if count[t] > 0 and cluster[t] == r and t != without:
            inverse = 1.0 / (1.0 + hyper.spread * count[t])
            kappa += count[t] * inverse
            n_data += count[t]
            for a in range(d):
                mean[0, a] += total[t, a] * inverse
                for b in range(a + 1):
                    matrix[a, b] += square[t, a, b] - total[t, a] * total[t, b] / count[t]
    for a in range(d):
        mean[0, a] /= kappa
    k = 1.0 / (hyper.spread + 1.0 / kappa)
    if own >= 0:
        n = count[own]
        for a in range(d):
            for b in range(a + 1):
                gap = (total[own, a] / n - mean[0, a]) * (total[own, b] / n - mean[0, b])
                matrix[a, b] += square[own, a, b] - total[own, a] * total[own, b] / n + k * n / (k + n) * gap
        for a in range(d):
            mean[0, a] = (k * mean[0, a] + total[own, a]) / (k + n)
        k += n
        n_data += n
    factorise(matrix, chol, 0)
    return k, n_data


@inlined
def _student(x, n, posterior, hyper, work):
    """Eq. (22): log density of datum n given (k, number of data) of `_posterior`."""
    k, n_data = posterior
    chol = work.chol
    shrink = k / (k + 1.0)
    form = quadratic_form(chol, 0, (work.mean, 0), x, n, work.solved)
    value = hyper.log_predictive[n_data] + 0.5 * x.shape[1] * math.log(shrink) - 0.5 * log_determinant(chol, 0)
    return value - 0.5 * (hyper.dof0 + n_data + 1.0) * math.log1p(shrink * form)


@inlined
def _count(x, n, t, sign, seats):
    count, total, square = seats.count, seats.total, seats.square
    count[t] += sign
    for a in range(x.shape[1]):
        total[t, a] += sign * x[n, a]
        for b in range(a + 1):
            square[t, a, b] += sign * x[n, a] * x[n, b]


@jit
def empty_seats(subcluster, cluster, d):
    """The seats as they are, with no datum counted yet."""
    n_slots = cluster.shape[0]
    return Seats(subcluster, cluster, np.zeros(n_slots, np.int64), np.zeros((n_slots, d)), np.zeros((n_slots, d, d)))


@jit
def make_work(n_slots, d):
    """Room for so many sub-clusters."""
    return Work(
        np.empty((1, d)),
        np.empty((1, d, d)),
        np.empty((d, d)),
        np.empty(d),
        np.empty(n_slots + 1),
        np.empty(n_slots + 1, np.int64),
    )


@jit
def _seat_datum(rng, x, datum, seats, hyper, work):
    """Lines 5-11: choose a sub-cluster of cluster `scope` (-1: of any), or a new one, by Eq. (24), for (n, scope)."""
    n, scope = datum
    cluster, count = seats.cluster, seats.count
    weight, option = work.weight, work.option
    n_slots = count.shape[0]
    many, free, n_seated = 0, n_slots, 0
    for t in range(n_slots):
        n_seated += count[t]
        if count[t] == 0:
            if free == n_slots:
                free = t
        elif scope < 0 or cluster[t] == scope:
            size = 0
            for u in range(n_slots):
                if count[u] > 0 and cluster[u] == cluster[t]:
                    size += count[u]
            posterior = _posterior((cluster[t], t, t), seats, hyper, work)
            share = math.log(count[t]) - math.log(size + hyper.subcluster_concentration)
            weight[many] = share + _student(x, n, posterior, hyper, work)
            option[many] = t
            many += 1
    posterior = _posterior((-2, -1, -1), seats, hyper, work)  # nobody is in cluster -2
    a1 = hyper.subcluster_concentration
    weight[many] = math.log(a1) - math.log(n_seated + a1)  # N - 1 are seated, but in the first pass
    weight[many] += _student(x, n, posterior, hyper, work)
    option[many] = free
    t = option[draw_index(rng, weight, many + 1)]
    if count[t] == 0:
        cluster[t] = scope
    seats.subcluster[n] = t
    _count(x, n, t, 1, seats)
    return t


@jit
def _seat_sub(rng, x, j, seats, hyper, work):
    """Lines 12-18: redraw the cluster of sub-cluster j by Eqs. (26), (30) and (33)."""
    cluster, count = seats.cluster, seats.count
    weight, option = work.weight, work.option
    n_slots = count.shape[0]
    cluster[j] = -1
    n_members = np.zeros(n_slots, np.int64)
    for t in range(n_slots):
        if count[t] > 0 and t != j:
            n_members[cluster[t]] += 1
    many, free = 0, n_slots
    for r in range(n_slots + 1):
        if r < n_slots and n_members[r] == 0:
            if free == n_slots:
                free = r
            continue
        known = r < n_slots
        posterior = _posterior((r if known else -2, j, -1), seats, hyper, work)
        weight[many] = math.log(n_members[r]) if known else math.log(hyper.cluster_concentration)
        for n in range(x.shape[0]):
            if seats.subcluster[n] == j:
                weight[many] += _student(x, n, posterior, hyper, work)
        option[many] = r if known else free
        many += 1
    cluster[j] = option[draw_index(rng, weight, many)]


@jit
def paper_sweep(rng, x, order, subcluster, cluster, hyper):
    """One iteration of Algorithm 1, or the part of it for the data in `order`.

    In the first pass, where line 6 leaves open which cluster a datum is in, it may join any sub-cluster.  Returns how
    many data were seated: fewer than there are if no slot was left for the next.
    """
    n_slots, d = cluster.shape[0], x.shape[1]
    seats = empty_seats(subcluster, cluster, d)
    work = make_work(n_slots, d)
    for n in range(x.shape[0]):
        if subcluster[n] >= 0:
            _count(x, n, subcluster[n], 1, seats)
    for place in range(order.shape[0]):
        n = order[place]
        scope = -1
        n_used = 0
        for t in range(n_slots):
            n_used += 1 if seats.count[t] > 0 else 0
        if n_used >= n_slots - 1:
            return place
        if subcluster[n] >= 0:
            t = subcluster[n]
            scope = cluster[t]
            subcluster[n] = -1
            _count(x, n, t, -1, seats)
            if seats.count[t] == 0:  # sums of nothing are zero, without rounding
                for a in range(d):
                    seats.total[t, a] = 0.0
                    for b in range(a + 1):
                        seats.square[t, a, b] = 0.0
        t = _seat_datum(rng, x, (n, scope), seats, hyper, work)
        _seat_sub(rng, x, t, seats, hyper, work)
    return order.shape[0]
