"""Rows with missing cells: the group given the cells that are there, and the missing cells given the group.

The predictive of a row is Student's,  x ~ t_v(mean, Psi / (shrink v))  with  v = dof0 + size - d + 1.  So are that of
its seen cells (same v, the blocks of mean and Psi) and that of the missing ones given these.  With the seen columns
first,  Psi = L L',  and z solves  L_ss z = x_s - mean_s:

    log p(x_s) = lG((v + s) / 2) - lG(v / 2) + s/2 log(shrink / pi) - log|L_ss| - (v + s)/2 log(1 + shrink z'z)
    x_m | x_s  = mean_m + L_ms z + L_mm e sqrt((1/shrink + z'z) / chi2_(v + s)),   e ~ N(0, I)
"""

import math
from typing import NamedTuple

import numpy as np

from ....jit import inlined, jit
from .nested_gaussian import N_SCRATCH, SINGLE, clear_cluster, locate, open_sub
from .seating import draw_index, enter, leave, new_seats, seats_in, seats_of, take_seat

PI = math.pi


class Gaps(NamedTuple):
    """Which cells are missing; i is a row that misses some."""

    row: np.ndarray  # int64 [i]
    order: np.ndarray  # int64 [i, d]: columns, the seen ones first
    n_seen: np.ndarray  # int64 [i]


@inlined
def _factorise_in_order(chol, r, order, i, room_out):
    """Put the factor of Psi_r, columns in the order of row i, into a slot; as many columns as asked for.

    `room_out` is (factors, which slot, how many columns).
    """
    root, k, many = room_out
    for a in range(many):
        p = order[i, a]
        for b in range(a + 1):
            q = order[i, b]
            value = 0.0
            for c in range(min(p, q) + 1):
                value += chol[r, p, c] * chol[r, q, c]
            for c in range(b):
                value -= root[k, a, c] * root[k, b, c]
            root[k, a, b] = math.sqrt(max(value, 1e-300)) if a == b else value / root[k, b, b]


@inlined
def _solve_seen(root, k, centre, data, i, solved):
    """z'z for the seen cells of row i; z is left in `solved`.  `centre` is (centres, which), `data` (rows, gaps)."""
    centres, c = centre
    x, gaps = data
    n, total = gaps.row[i], 0.0
    for a in range(gaps.n_seen[i]):
        p = gaps.order[i, a]
        value = x[n, p] - centres[c, p]
        for b in range(a):
            value -= root[k, a, b] * solved[b]
        value /= root[k, a, a]
        solved[a] = value
        total += value * value
    return total


@inlined
def _log_density(root, k, shape, form):
    """log density of seen cells, by the factor in slot k; `shape` is (v, shrink, how many cells)."""
    v, shrink, seen = shape
    log_det = 0.0
    for a in range(seen):
        log_det += math.log(root[k, a, a])
    value = math.lgamma(0.5 * (v + seen)) - math.lgamma(0.5 * v) + 0.5 * seen * math.log(shrink / PI) - log_det
    return value - 0.5 * (v + seen) * math.log1p(shrink * form)


@inlined
def _weigh_seen(pool, hyper, data, i, root, room_out):
    """Log weights of the seen cells of row i in all places, in the order of `seating.weigh`; how many."""
    solved, weight_out = room_out
    gaps = data[1]
    d, seen = pool.total.shape[1], gaps.n_seen[i]
    v0, many = hyper.dof0 - d + 1.0, 0
    for c in range(pool.n_used[1]):
        r = pool.clusters[c]
        _factorise_in_order(pool.chol, r, gaps.order, i, (root, r, seen))
    for c in range(pool.n_used[0]):
        t = pool.subs[c]
        r = pool.home[t]
        form = _solve_seen(root, r, (pool.mean, t), data, i, solved)
        value = _log_density(root, r, (v0 + pool.size[r], pool.shrink[t], seen), form)
        weight_out[many] = seats_of(pool, hyper, t) + hyper.temper * value
        many += 1
    log_new, alone = new_seats(pool, hyper)
    if hyper.prior != SINGLE:
        for c in range(pool.n_used[1]):
            r = pool.clusters[c]
            form = _solve_seen(root, r, (pool.new_mean, r), data, i, solved)
            value = _log_density(root, r, (v0 + pool.size[r], pool.new_shrink[r], seen), form)
            weight_out[many] = log_new + seats_in(pool, hyper, r) + hyper.temper * value
            many += 1
    last = root.shape[0] - 1
    _factorise_in_order(hyper.chol0, 0, gaps.order, i, (root, last, seen))
    k = 1.0 / (hyper.spread + 1.0 / hyper.kappa0)
    origin = np.zeros((1, d))
    form = _solve_seen(root, last, (origin, 0), data, i, solved)
    weight_out[many] = alone + hyper.temper * _log_density(root, last, (v0, k / (k + 1.0), seen), form)
    return many + 1


@inlined
def _draw_cells(rng, pool, hyper, data, seat, room_out):
    """Draw the missing cells of a row given the seen ones and its sub-cluster, which does not count the row.

    `seat` is (row with gaps, sub-cluster), `room_out` (factors, room for a solution).
    """
    root, solved = room_out
    i, t = seat
    x, gaps = data
    n, seen, d, last = gaps.row[i], gaps.n_seen[i], x.shape[1], root.shape[0] - 1
    locate(pool, hyper, t)
    r = pool.home[t]
    _factorise_in_order(pool.chol, r, gaps.order, i, (root, last, d))
    form = _solve_seen(root, last, (pool.mean, t), data, i, solved)
    v = hyper.dof0 + pool.size[r] - d + 1.0 + seen
    width = math.sqrt((1.0 / pool.shrink[t] + form) / (2.0 * rng.standard_gamma(0.5 * v)))
    for a in range(seen, d):
        solved[a] = width * rng.standard_normal()
    for a in range(seen, d):
        value = pool.mean[t, gaps.order[i, a]]
        for b in range(a + 1):
            value += root[last, a, b] * solved[b]
        x[n, gaps.order[i, a]] = value


@jit
def _reopen(pool, hyper, t):
    """Open a sub-cluster again that closed when its only row left."""
    if pool.sub_at[t] < pool.n_used[0]:
        return
    r = pool.home[t]
    if pool.cluster_at[r] >= pool.n_used[1]:
        clear_cluster(pool, hyper, r)
    open_sub(pool, t, r)


@jit
def sweep_incomplete(rng, data, first, subcluster, pool, hyper):
    """Redraw the sub-cluster and the missing cells, at once, of rows with gaps first, first + 1, ...

    `data` is (rows, gaps); missing cells are written into the rows.  Returns the number of such rows, or the one for
    which there was no slot, as `seating.sweep` does.
    """
    x, gaps = data
    n_slots, d = pool.number.shape[0], x.shape[1]
    root, weight = np.empty((n_slots + 1, d, d)), np.empty(2 * n_slots + 1)
    vector, solved = np.empty(d), np.empty(d)
    for i in range(first, gaps.row.shape[0]):
        n = gaps.row[i]
        leave(pool, hyper, x, n, subcluster, vector)
        if pool.n_used[0] >= n_slots - N_SCRATCH:
            return i
        many = _weigh_seen(pool, hyper, data, i, root, (solved, weight))
        t = take_seat(pool, hyper, draw_index(rng, weight, many))
        _draw_cells(rng, pool, hyper, data, (i, t), (root, solved))
        enter(pool, hyper, t, x, n, vector)
        subcluster[n] = t
    return gaps.row.shape[0]


@jit
def refill(rng, data, subcluster, pool, hyper):
    """Redraw the missing cells of `data`, (rows, gaps), given all sub-clusters."""
    x, gaps = data
    d = x.shape[1]
    root, vector, solved = np.empty((1, d, d)), np.empty(d), np.empty(d)
    for i in range(gaps.row.shape[0]):
        n = gaps.row[i]
        t = subcluster[n]
        leave(pool, hyper, x, n, subcluster, vector)
        _reopen(pool, hyper, t)
        _draw_cells(rng, pool, hyper, data, (i, t), (root, solved))
        enter(pool, hyper, t, x, n, vector)
        subcluster[n] = t
