"""Sequential Monte Carlo over clusters and sub-clusters: rows are seated one after another, parameters integrated out.

A particle is a pool (`nested_gaussian.Pool`): the sums of every sub-cluster, given one seating of all rows.  Each row
is tried at every seat of every particle, so weights are exact; then optimal resampling leaves so many.  After that,
rows of the window are drawn anew given all others, a step of Gibbs in every particle, which leaves the posterior as is.

A sub-cluster is called by two numbers, of its cluster and its own: those of the fit, or of the step that opened it.  So
all particles mean the same by them.
"""

import math
from typing import NamedTuple

import numpy as np

from ....inference.kernels.resampling import branch, thin_out, uniform
from ....jit import inlined, jit
from .gaussian import quadratic_form
from .nested_gaussian import FLAT, N_SCRATCH, SINGLE, Pool
from .seating import enter, leave, pick_index, prior_predictive, take_seat, weigh

NEW, GAIN, SIZE, DROPPED = range(4)  # columns of what is said of a row
STRIDE = 64  # names that a step may give: its row, and fewer moves than this


class Cloud(NamedTuple):
    """Particles; every array of `pools` has one more axis in front."""

    pools: Pool
    sub_name: np.ndarray  # int64 [particle, sub-cluster slot]
    cluster_name: np.ndarray  # int64 [particle, cluster slot]
    seat: np.ndarray  # int64 [particle, row]: slot of the sub-cluster; rows before the window are not looked at
    weight: np.ndarray  # float64 [particle]


class Plan(NamedTuple):
    """What a run of steps is given."""

    first: int  # first row that is not of the window
    number: int  # that of row 0 in the stream
    n_before: int  # rows seated before row `first`, those of the fit among them
    most: int  # particles
    window: int
    n_moves: int  # rows of the window that are drawn anew after each step
    first_name: int  # names below it are of the fit
    seed: int
    floor: float  # probability below which a seating is not followed


@inlined
def pool_of(pools, p):
    """One of the particles."""
    return Pool(
        pools.number[p], pools.home[p], pools.total[p], pools.mean[p], pools.shrink[p], pools.constant[p],
        pools.size[p], pools.n_sub[p], pools.kappa[p], pools.moment[p], pools.chol[p], pools.log_det[p],
        pools.new_mean[p], pools.new_shrink[p], pools.new_constant[p], pools.subs[p], pools.sub_at[p],
        pools.clusters[p], pools.cluster_at[p], pools.n_used[p],
    )  # fmt: skip


@jit
def copy_particle(source, q, place, span, target):
    """Copy particle q of one cloud into place p of another, with its seats of rows span[0] to span[1]."""
    lo, hi = span
    a, b = pool_of(source.pools, q), pool_of(target.pools, place)
    b.number[:], b.home[:], b.total[:], b.mean[:] = a.number, a.home, a.total, a.mean
    b.shrink[:], b.constant[:], b.size[:], b.n_sub[:] = a.shrink, a.constant, a.size, a.n_sub
    b.kappa[:], b.moment[:], b.chol[:], b.log_det[:] = a.kappa, a.moment, a.chol, a.log_det
    b.new_mean[:], b.new_shrink[:], b.new_constant[:] = a.new_mean, a.new_shrink, a.new_constant
    b.subs[:], b.sub_at[:], b.clusters[:], b.cluster_at[:] = a.subs, a.sub_at, a.clusters, a.cluster_at
    b.n_used[:] = a.n_used
    target.sub_name[place] = source.sub_name[q]
    target.cluster_name[place] = source.cluster_name[q]
    target.seat[place, lo:hi] = source.seat[q, lo:hi]


@jit
def seat_row(cloud, hyper, p, row, choice, name):
    """Put row (x, n) of particle p where entry `choice` of its weights says; what it opens gets the name."""
    pool, (x, n) = pool_of(cloud.pools, p), row
    n_sub, n_cluster = pool.n_used[0], pool.n_used[1]
    t = take_seat(pool, hyper, choice)
    if choice >= n_sub:
        cloud.sub_name[p, t] = name
    if pool.n_used[1] > n_cluster:
        cloud.cluster_name[p, pool.home[t]] = name
    enter(pool, hyper, t, x, n, np.empty(x.shape[1]))
    cloud.seat[p, n] = t


@jit
def move_row(cloud, hyper, p, row, fresh, draw):
    """Draw the seat of a row of the window anew, given all others; `draw` is (a random number, a name)."""
    pool, (x, n), (u, name) = pool_of(cloud.pools, p), row, draw
    room = (np.empty(x.shape[1]), np.empty(2 * pool.number.shape[0] + 1))
    leave(pool, hyper, x, n, cloud.seat[p], np.empty(x.shape[1]))
    choice = pick_index(room[1], weigh(pool, hyper, x, n, fresh, room), u)
    seat_row(cloud, hyper, p, row, choice, name)


@jit
def vote(cloud, n):
    """Names of cluster and sub-cluster that most weight has row n in."""
    best, most = 0, -1.0
    n_particles = cloud.weight.shape[0]
    clusters, subs = np.empty(n_particles, np.int64), np.empty(n_particles, np.int64)
    for p in range(n_particles):
        t = cloud.seat[p, n]
        clusters[p], subs[p] = cloud.cluster_name[p, cloud.pools.home[p, t]], cloud.sub_name[p, t]
    for p in range(n_particles):
        on = 0.0
        for q in range(n_particles):
            if clusters[q] == clusters[p] and subs[q] == subs[p]:
                on += cloud.weight[q]
        if on > most + 1e-12:
            best, most = p, on
    return clusters[best], subs[best]


@jit
def weigh_children(x, i, cloud, hyper, known):
    """Log weights of row i at every seat of every particle; what is left of the width is -inf.

    `known` is (densities of a new cluster, names of the clusters of rows that are known, else -1): seats in other
    clusters are -inf.
    """
    fresh, given = known
    n_particles, n_slots = cloud.pools.number.shape[0], cloud.pools.number.shape[1]
    child, solved = np.empty((n_particles, 2 * n_slots + 1)), np.empty(x.shape[1])
    for p in range(n_particles):
        pool = pool_of(cloud.pools, p)
        many = weigh(pool, hyper, x, i, fresh, (solved, child[p]))
        child[p, many:] = -np.inf
        if given[i] < 0:
            continue
        n_sub = pool.n_used[0]
        for e in range(many):
            r = -1
            if e < n_sub:
                r = pool.home[pool.subs[e]]
            elif e < many - 1:
                r = pool.clusters[e - n_sub]
            if r < 0 or cloud.cluster_name[p, r] != given[i]:
                child[p, e] = -np.inf
    return child


@jit
def grow(x, span, cloud, hyper, kept, room):
    """The particles after the last row of the span, seated as `kept` [particle, entry] says; `room` has their number.

    The name of what the row opens is that of its step, span[2].
    """
    lo, i, name = span
    flat = np.flatnonzero(kept.ravel() > 0.0)
    width = kept.shape[1]
    weight = kept.ravel()[flat]
    for y in range(len(flat)):
        p, choice = flat[y] // width, flat[y] % width
        copy_particle(cloud, p, y, (lo, i), room)
        seat_row(room, hyper, y, (x, i), choice, name)
    n = len(flat)
    return first_of(room, n, weight / weight.sum())


@inlined
def first_of(cloud, n, weight):
    """The first particles, with these weights."""
    a = cloud.pools
    pools = Pool(
        a.number[:n], a.home[:n], a.total[:n], a.mean[:n], a.shrink[:n], a.constant[:n], a.size[:n], a.n_sub[:n],
        a.kappa[:n], a.moment[:n], a.chol[:n], a.log_det[:n], a.new_mean[:n], a.new_shrink[:n], a.new_constant[:n],
        a.subs[:n], a.sub_at[:n], a.clusters[:n], a.cluster_at[:n], a.n_used[:n],
    )  # fmt: skip
    return Cloud(pools, cloud.sub_name[:n], cloud.cluster_name[:n], cloud.seat[:n], weight)


@jit
def follow(rows, cloud, rooms, hyper, plan, out):
    """Seat rows `plan.first` and on; those before are the window.  `rooms` are two clouds to write particles into.

    `rows` is (the rows, names of the clusters of those whose cluster is known, else -1).

    `out` is (what is said of each row, names of its cluster and sub-cluster once it leaves the window).  Returns the
    number of rows, or the row for which there may be no slot, where the window begins, and the particles.
    """
    (x, given), (said_out, named_out) = rows, out
    fresh = prior_predictive(x, hyper)
    last = cloud.pools.number.shape[1] - N_SCRATCH - plan.n_moves - 1
    alone = hyper.subcluster_concentration if hyper.prior == FLAT else hyper.cluster_concentration
    lo = max(0, plan.first - plan.window)
    for i in range(plan.first, x.shape[0]):
        for p in range(cloud.weight.shape[0]):
            if cloud.pools.n_used[p, 0] >= last:
                return i, lo, cloud
        step = plan.number + i
        name = plan.first_name + step * STRIDE
        child = weigh_children(x, i, cloud, hyper, (fresh, given))
        log_seats = math.log(plan.n_before + i - plan.first + alone)
        child, gain, dropped = branch(child, cloud.weight, log_seats, plan.floor)
        said, new = said_out[i - plan.first], 0.0
        for p in range(child.shape[0]):
            new += child[p, cloud.pools.n_used[p, 0] :].sum()
        flat = np.flatnonzero(child.ravel() > 0.0)
        kept = np.zeros(child.size)
        kept[flat] = thin_out(child.ravel()[flat], plan.most, uniform(plan.seed, step, 0))
        cloud = grow(x, (lo, i, name), cloud, hyper, kept.reshape(child.shape), rooms[i % 2])
        said[NEW], said[GAIN], said[DROPPED] = new, gain, dropped
        said[SIZE] = 1.0 / (cloud.weight**2).sum()
        for k in range(plan.n_moves):
            n = lo + int(uniform(plan.seed, step, 1 + k) * (i + 1 - lo))
            for p in range(cloud.weight.shape[0] if given[n] < 0 else 0):
                u = uniform(plan.seed, step, 1 + (k + 1) * (plan.most + plan.n_moves) + p)
                move_row(cloud, hyper, p, (x, n), fresh, (u, name + 1 + k))
        if i - lo + 1 > plan.window:
            named_out[lo, 0], named_out[lo, 1] = vote(cloud, lo)
            lo += 1
    for n in range(lo, x.shape[0]):
        named_out[n, 0], named_out[n, 1] = vote(cloud, n)
    return x.shape[0], lo, cloud


@jit
def weigh_rows(x, pool, hyper):
    """Log weights of rows that are not seated, at every seat of one particle, [row, entry]."""
    fresh, solved = prior_predictive(x, hyper), np.empty(x.shape[1])
    n_clusters = 0 if hyper.prior == SINGLE else pool.n_used[1]
    width = pool.n_used[0] + n_clusters + 1
    out, room = np.empty((x.shape[0], width)), np.empty(2 * pool.number.shape[0] + 1)
    for n in range(x.shape[0]):
        weigh(pool, hyper, x, n, fresh, (solved, room))
        out[n] = room[:width]
    return out


@jit
def distances(x, pool, hyper):
    """Squared distances of rows to the sub-clusters in use, shrink (x - mean)' Psi^-1 (x - mean), [row, entry]."""
    out, solved = np.empty((x.shape[0], pool.n_used[0])), np.empty(x.shape[1])
    for c in range(pool.n_used[0]):
        t = pool.subs[c]
        for n in range(x.shape[0]):
            form = quadratic_form(pool.chol, pool.home[t], (pool.mean, t), x, n, solved)
            out[n, c] = pool.shrink[t] * form
    return out
