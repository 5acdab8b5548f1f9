"""Split a sub-cluster in two or merge two of them, in one step that leaves the posterior invariant.

Jain and Neal (2004): two data i, j are drawn, near ones more often.  If they share a sub-cluster it is split, else
theirs are merged.  A split starts from i and j alone, seats the other members one after the other, lets them think
again for some scans, and is drawn in a last scan whose probability enters the acceptance.  Everything is built in
scratch slots of the pool.
"""

import math
from typing import NamedTuple

import numpy as np

from ....jit import bare, inlined, jit
from .nested_gaussian import (
    APART,
    FLAT,
    N_SCRATCH,
    SINGLE,
    WITHIN,
    add_datum,
    clear_cluster,
    clear_sub,
    log_predictive_of,
    price,
    remove_datum,
)
from .seating import nested_share


class Move(NamedTuple):
    """Two data, how their sub-clusters are split or merged (WITHIN or APART), and scans of the proposal."""

    i: int
    j: int
    kind: int
    n_scans: int


@inlined
def _copy_cluster(pool, source, to):
    pool.size[to] = pool.size[source]
    pool.n_sub[to] = pool.n_sub[source]
    pool.kappa[to] = pool.kappa[source]
    pool.log_det[to] = pool.log_det[source]
    for a in range(pool.moment.shape[1]):
        pool.moment[to, a] = pool.moment[source, a]
        for b in range(a + 1):
            pool.chol[to, a, b] = pool.chol[source, a, b]


@inlined
def _log_marginal(pool, hyper, r):
    """log p(data of cluster r), without the terms of its sub-clusters, -d/2 sum_t log(1 + spread n_t)."""
    n = pool.size[r]
    d = pool.moment.shape[1]
    value = hyper.log_gamma[n] + 0.5 * hyper.dof0 * hyper.log_det0 - 0.5 * (hyper.dof0 + n) * pool.log_det[r]
    return value - 0.5 * d * math.log(pool.kappa[r] / hyper.kappa0)


@bare
def _put(pool, hyper, t, x, n, vector):
    add_datum(pool, hyper, t, x, n, vector)


@bare
def _take(pool, hyper, t, x, n, vector):
    remove_datum(pool, hyper, t, x, n, vector)


@bare
def _log_weight(pool, hyper, t, x, n, solved):
    """log weight of datum n in sub-cluster t, up to a constant of the split."""
    price(pool, hyper, t)
    seats = hyper.log_whole[pool.number[t]] + nested_share(pool, hyper, pool.home[t])
    return seats + hyper.temper * log_predictive_of(pool, hyper, t, x, n, solved)


@jit
def _empty_of(x, subcluster, t, also, pool, hyper):
    """Make the last scratch slot the cluster of t without t, and without the sibling `also` unless that is -1."""
    scratch = pool.number.shape[0] - N_SCRATCH
    context = scratch + 2
    r = pool.home[t]
    n_left = pool.n_sub[r] - (1 if also < 0 else 2)
    if n_left == 0:
        clear_cluster(pool, hyper, context)
        return
    _copy_cluster(pool, r, context)
    vector = np.empty(x.shape[1])
    for one in (t, also):
        if one < 0:
            continue
        pool.number[scratch] = pool.number[one]
        pool.home[scratch] = context
        for a in range(x.shape[1]):
            pool.total[scratch, a] = pool.total[one, a]
        for n in range(x.shape[0]):
            if subcluster[n] == one:
                _take(pool, hyper, scratch, x, n, vector)
        pool.n_sub[context] -= 1


@jit
def _allocate(rng, x, members, seats, pool, hyper):
    """Seat every member anew in one of the two halves; log of the probability of what was drawn or `wanted`.

    `seats` is (side, wanted); side[m] is 0 (not seated yet), 1 or 2.  With an entry of 1 or 2 in `wanted`, that is what
    is "drawn".
    """
    return _allocated(rng, x, (members, *seats), pool, hyper, (np.empty(x.shape[1]), np.empty(x.shape[1])))


@bare
def _allocated(rng, x, seats, pool, hyper, room):
    """As `_allocate`, with room that it makes."""
    members, side, wanted = seats
    vector, solved = room
    one = pool.number.shape[0] - N_SCRATCH
    two = one + 1
    log_prob = 0.0
    for m in range(members.shape[0]):
        n = members[m]
        if side[m] > 0:
            _take(pool, hyper, one if side[m] == 1 else two, x, n, vector)
        gap = _log_weight(pool, hyper, two, x, n, solved) - _log_weight(pool, hyper, one, x, n, solved)
        log_first = -math.log1p(math.exp(gap)) if gap < 30.0 else -gap
        if wanted[m] > 0:
            to_first = wanted[m] == 1
        else:
            to_first = math.log(1.0 - rng.random()) < log_first
        log_prob += log_first if to_first else log_first + gap
        side[m] = 1 if to_first else 2
        _put(pool, hyper, one if to_first else two, x, n, vector)
    return log_prob


@bare
def _log_gain(pool, hyper, kind, where, sizes, log_marginal_gain):
    """log joint of the split state over the merged one; `sizes` are those of the halves, `where` (cluster, is merged).

    The gain of the marginals lacks the terms of the sub-clusters, which are added here.
    """
    r, merged = where
    n_one, n_two = sizes
    a0, a1 = hyper.cluster_concentration, hyper.subcluster_concentration
    logs = (
        math.log1p(hyper.spread * n_one) + math.log1p(hyper.spread * n_two) - math.log1p(hyper.spread * (n_one + n_two))
    )
    value = hyper.temper * (log_marginal_gain - 0.5 * pool.moment.shape[1] * logs)
    value += math.lgamma(n_one) + math.lgamma(n_two) - math.lgamma(n_one + n_two)
    if hyper.prior == SINGLE:
        return value + math.log(a0)
    value += math.log(a1)
    n_subs = pool.n_used[0] if merged else pool.n_used[0] - 1  # of all clusters, as if merged
    n_sub = pool.n_sub[r] if merged or kind == APART else pool.n_sub[r] - 1
    if hyper.prior == FLAT:
        return value + math.log(n_sub if kind == WITHIN else a0) - math.log(n_subs + a0)
    if kind == WITHIN:
        return value
    n_all = pool.size[r] if merged else pool.size[r] + n_two
    value += math.log(a0) + math.lgamma(n_all - n_two) + math.lgamma(n_two) - math.lgamma(n_all)
    return value + math.lgamma(a1) + math.lgamma(a1 + n_all) - math.lgamma(a1 + n_all - n_two) - math.lgamma(a1 + n_two)


@jit
def _members(subcluster, t, u, i, j):
    """All data of the two sub-clusters but i and j."""
    n_found = 0
    for n in range(subcluster.shape[0]):
        if (subcluster[n] == t or subcluster[n] == u) and n != i and n != j:
            n_found += 1
    found = np.empty(n_found, np.int64)
    n_found = 0
    for n in range(subcluster.shape[0]):
        if (subcluster[n] == t or subcluster[n] == u) and n != i and n != j:
            found[n_found] = n
            n_found += 1
    return found


@jit
def _open_halves(x, i, j, kind, pool, hyper):
    """Two sub-clusters in scratch slots, one around i and one around j, in the context prepared before."""
    scratch = pool.number.shape[0] - N_SCRATCH
    context = scratch + 2
    vector = np.empty(x.shape[1])
    _copy_cluster(pool, context, scratch)
    pool.n_sub[scratch] += 1
    pool.home[scratch] = scratch
    pool.home[scratch + 1] = scratch
    if kind == WITHIN:
        pool.n_sub[scratch] += 1
    else:
        clear_cluster(pool, hyper, scratch + 1)
        pool.n_sub[scratch + 1] = 1
        pool.home[scratch + 1] = scratch + 1
    clear_sub(pool, scratch)
    clear_sub(pool, scratch + 1)
    _put(pool, hyper, scratch, x, i, vector)
    _put(pool, hyper, scratch + 1, x, j, vector)


@jit
def _merged_marginal(x, i, j, members, pool, hyper):
    """log p of the cluster that holds the context and all members in one sub-cluster."""
    scratch = pool.number.shape[0] - N_SCRATCH
    vector = np.empty(x.shape[1])
    _copy_cluster(pool, scratch + 2, scratch)
    pool.n_sub[scratch] += 1
    pool.home[scratch] = scratch
    clear_sub(pool, scratch)
    for m in range(members.shape[0] + 2):
        n = i if m == 0 else j if m == 1 else members[m - 2]
        _put(pool, hyper, scratch, x, n, vector)
    return _log_marginal(pool, hyper, scratch)


@jit
def _propose(rng, x, subcluster, pool, hyper, move):
    """One split or merge; whether it was accepted."""
    i, j, kind, n_scans = move
    c, e = subcluster[i], subcluster[j]
    r, r_other = pool.home[c], pool.home[e]
    splits = c == e
    if not splits and (r == r_other) != (kind == WITHIN):
        return False
    if not splits and kind == APART and pool.n_sub[r_other] != 1:
        return False
    scratch = pool.number.shape[0] - N_SCRATCH
    members = _members(subcluster, c, e, i, j)
    for m in range(members.shape[0] - 1, 0, -1):  # a random order, for the sequential start
        y = int(rng.random() * (m + 1))
        members[m], members[y] = members[y], members[m]
    wanted, free = np.zeros(members.shape[0], np.int8), np.zeros(members.shape[0], np.int8)
    if not splits:
        for m in range(members.shape[0]):
            wanted[m] = 1 if subcluster[members[m]] == c else 2
    _empty_of(x, subcluster, c, e if (not splits and kind == WITHIN) else -1, pool, hyper)
    n_two = 0 if splits else pool.number[e]
    log_uniform = math.log(1.0 - rng.random())
    before = _log_marginal(pool, hyper, r)
    if not splits:
        if kind == APART:
            before += _log_marginal(pool, hyper, r_other)
        after = _merged_marginal(x, i, j, members, pool, hyper)
        gain = _log_gain(pool, hyper, kind, (r, splits), (members.shape[0] + 2 - n_two, n_two), before - after)
        if log_uniform >= -gain:
            return False  # the probability of the reverse, at most one, cannot save it
    _open_halves(x, i, j, kind, pool, hyper)
    side = np.zeros(members.shape[0], np.int8)
    for _ in range(n_scans + 1):
        _allocate(rng, x, members, (side, free), pool, hyper)
    log_prob = _allocate(rng, x, members, (side, wanted), pool, hyper)
    if splits:
        after = _log_marginal(pool, hyper, scratch)
        if kind == APART:
            after += _log_marginal(pool, hyper, scratch + 1)
        sizes = (pool.number[scratch], pool.number[scratch + 1])
        gain = _log_gain(pool, hyper, kind, (r, splits), sizes, after - before)
        if log_uniform >= gain - log_prob:
            return False
    elif log_uniform >= log_prob - gain:
        return False
    if splits:
        new = pool.subs[pool.n_used[0]]
        pool.home[new] = r if kind == WITHIN else pool.clusters[pool.n_used[1]]
        subcluster[j] = new
        for m in range(members.shape[0]):
            if side[m] == 2:
                subcluster[members[m]] = new
    else:
        for n in range(subcluster.shape[0]):
            if subcluster[n] == e:
                subcluster[n] = c
    return True


@jit
def _partner(rng, x, i):
    """The datum nearest to i of 1, 2, 4, ... 32 drawn at random: near ones are worth a merger more often.

    It depends on the data alone, not on who is with whom, so it is as probable before a move as after it.
    """
    best, least = i, np.inf
    for _ in range(1 << int(6.0 * rng.random())):
        j = int(rng.random() * (x.shape[0] - 1))
        if j >= i:
            j += 1
        gap = 0.0
        for a in range(x.shape[1]):
            gap += (x[i, a] - x[j, a]) ** 2
        if gap < least:
            best, least = j, gap
    return best


@jit
def split_merge(rng, x, subcluster, pool, hyper, effort):
    """Try splits and mergers until one is accepted: (tries made, whether the last one was).

    `effort` is (most tries, scans of a proposal).
    After an acceptance `subcluster` and pool.home are right and the rest of the pool is not: build it again.
    """
    n_tries, n_scans = effort
    n_data = x.shape[0]
    if n_data < 2:
        return n_tries, False
    for attempt in range(n_tries):
        kind = APART if hyper.prior == SINGLE or rng.random() < 0.5 else WITHIN
        i = int(rng.random() * n_data)
        j = _partner(rng, x, i)
        if _propose(rng, x, subcluster, pool, hyper, Move(i, j, kind, n_scans)):
            return attempt + 1, True
    return n_tries, False
