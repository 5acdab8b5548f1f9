"""Sub-clusters as blocks: seat them in clusters, split and merge clusters, and draw the scales of the prior.

A cluster's marginal likelihood needs only count, mean and scatter of its sub-clusters; every move here is a difference
of `cluster_score`, log prior and log marginal of one cluster, so that moves and log joint cannot contradict each other.
"""

import math
from typing import NamedTuple

import numpy as np

from ....jit import inlined, jit
from .gaussian import factorise, log_determinant
from .nested_gaussian import FLAT, NESTED
from .seating import draw_index


class Blocks(NamedTuple):
    """What is left of the data once sub-clusters are fixed."""

    number: np.ndarray  # int64 [t]
    mean: np.ndarray  # float64 [t, d]
    scatter: np.ndarray  # float64 [t, d, d]: around the mean, lower triangle


class Terms(NamedTuple):
    """The prior as blocks see it."""

    prior: int  # as in nested_gaussian.Hyper
    cluster_concentration: float
    subcluster_concentration: float
    dof0: float
    temper: float
    base: np.ndarray  # float64 [d, d]: scale0 is a multiple of it
    log_det_base: float
    log_gamma: np.ndarray  # float64 [n]


@jit
def summarise(x, subcluster, n_subs):
    """Blocks of sub-clusters 0..n_subs - 1."""
    d = x.shape[1]
    count = np.zeros(n_subs, np.int64)
    mean = np.zeros((n_subs, d))
    scatter = np.zeros((n_subs, d, d))
    for n in range(x.shape[0]):
        t = subcluster[n]
        count[t] += 1
        for a in range(d):
            mean[t, a] += x[n, a]
    for t in range(n_subs):
        for a in range(d):
            mean[t, a] /= count[t]
    for n in range(x.shape[0]):
        t = subcluster[n]
        for a in range(d):
            gap = x[n, a] - mean[t, a]
            for b in range(a + 1):
                scatter[t, a, b] += gap * (x[n, b] - mean[t, b])
    return Blocks(count, mean, scatter)


@jit
def log_marginal(blocks, cluster, r, also, terms, scales):
    """log p(data of the sub-clusters with cluster[t] == r, and of block `also`); 0 for none.

    No block is `also` = n_subs; `scales` is (factor of the base matrix, kappa0, spread).
    """
    factor, kappa0, spread = scales
    d = blocks.mean.shape[1]
    n_data, weight, logs = 0, 0.0, 0.0
    centre = np.zeros(d)
    for t in range(blocks.number.shape[0]):
        if cluster[t] == r or t == also:
            n = blocks.number[t]
            w = n / (1.0 + spread * n)
            n_data += n
            weight += w
            logs += math.log1p(spread * n)
            for a in range(d):
                centre[a] += w * blocks.mean[t, a]
    if n_data == 0:
        return 0.0
    for a in range(d):
        centre[a] /= weight
    matrix = np.empty((d, d))
    pull = kappa0 * weight / (kappa0 + weight)
    for a in range(d):
        for b in range(a + 1):
            matrix[a, b] = factor * terms.base[a, b] + pull * centre[a] * centre[b]
    for t in range(blocks.number.shape[0]):
        if cluster[t] == r or t == also:
            w = blocks.number[t] / (1.0 + spread * blocks.number[t])
            for a in range(d):
                gap = w * (blocks.mean[t, a] - centre[a])
                for b in range(a + 1):
                    matrix[a, b] += blocks.scatter[t, a, b] + gap * (blocks.mean[t, b] - centre[b])
    chol = np.empty((1, d, d))
    factorise(matrix, chol, 0)
    value = terms.log_gamma[n_data] + 0.5 * terms.dof0 * (terms.log_det_base + d * math.log(factor))
    value -= 0.5 * (terms.dof0 + n_data) * log_determinant(chol, 0)
    return value - 0.5 * d * (logs + math.log((kappa0 + weight) / kappa0))


@jit
def cluster_score(blocks, cluster, r, also, terms, scales):
    """log prior and (tempered) log marginal of cluster r, with block `also` added; 0 if empty."""
    n_data, n_subs = 0, 0
    for t in range(blocks.number.shape[0]):
        if cluster[t] == r or t == also:
            n_data += blocks.number[t]
            n_subs += 1
    if n_subs == 0:
        return 0.0
    value = math.log(terms.cluster_concentration)
    if terms.prior == FLAT:
        value += math.lgamma(n_subs)
    else:
        value += math.lgamma(n_data)
        if terms.prior == NESTED:
            value += math.lgamma(terms.subcluster_concentration)
            value -= math.lgamma(terms.subcluster_concentration + n_data)
    return value + terms.temper * log_marginal(blocks, cluster, r, also, terms, scales)


@jit
def log_marginals(blocks, cluster, terms, scales):
    """log p(all data | sub-clusters and clusters)."""
    total = 0.0
    n_subs = blocks.number.shape[0]
    for r in range(n_subs):
        total += log_marginal(blocks, cluster, r, n_subs, terms, scales)
    return total


# ---- seating sub-clusters -------------------------------------------------------------------------------------------


@jit
def seat_blocks(rng, blocks, cluster, terms, scales):
    """Redraw the cluster of each sub-cluster given all others; cluster numbers are below the number of blocks."""
    n_subs = blocks.number.shape[0]
    score = np.empty(n_subs)  # of each cluster as it is
    n_members = np.zeros(n_subs, np.int64)
    for t in range(n_subs):
        n_members[cluster[t]] += 1
    for r in range(n_subs):
        score[r] = cluster_score(blocks, cluster, r, n_subs, terms, scales)
    weight, more, option = np.empty(n_subs + 1), np.empty(n_subs + 1), np.empty(n_subs + 1, np.int64)
    for j in range(n_subs):
        old = cluster[j]
        cluster[j] = -1
        n_members[old] -= 1
        score[old] = cluster_score(blocks, cluster, old, n_subs, terms, scales)
        many, empty = 0, n_subs
        for r in range(n_subs):
            if n_members[r] > 0:
                more[many] = cluster_score(blocks, cluster, r, j, terms, scales)
                weight[many] = more[many] - score[r]
                option[many] = r
                many += 1
            elif empty == n_subs:
                empty = r
        more[many] = cluster_score(blocks, cluster, empty, j, terms, scales)  # without j some cluster is empty
        weight[many] = more[many]
        option[many] = empty
        many += 1
        choice = draw_index(rng, weight, many)
        cluster[j] = option[choice]
        n_members[option[choice]] += 1
        score[option[choice]] = more[choice]


@inlined
def _halves(rng, blocks, cluster, seats, prior, ends):
    """Seat each member anew in one of two clusters; log of the probability of what was drawn or wanted.

    `seats` is (members, cluster wanted of each or -1), `prior` (terms, scales).
    """
    members, wanted = seats
    terms, scales = prior
    one, two = ends
    n_subs = blocks.number.shape[0]
    log_prob = 0.0
    for m in range(members.shape[0]):
        t = members[m]
        cluster[t] = -1
        first = cluster_score(blocks, cluster, one, t, terms, scales) - cluster_score(
            blocks, cluster, one, n_subs, terms, scales
        )
        other = cluster_score(blocks, cluster, two, t, terms, scales) - cluster_score(
            blocks, cluster, two, n_subs, terms, scales
        )
        gap = other - first
        log_first = -math.log1p(math.exp(gap)) if gap < 30.0 else -gap
        if wanted[m] >= 0:
            to_first = wanted[m] == one
        else:
            to_first = math.log(1.0 - rng.random()) < log_first
        log_prob += log_first if to_first else log_first + gap
        cluster[t] = one if to_first else two
    return log_prob


@jit
def split_merge_blocks(rng, blocks, cluster, terms, scales, n_scans):
    """Split the cluster of two random sub-clusters between them, or merge theirs; whether it was accepted."""
    n_subs = blocks.number.shape[0]
    if n_subs < 2:
        return False
    i = int(rng.random() * n_subs)
    j = int(rng.random() * (n_subs - 1))
    if j >= i:
        j += 1
    old = cluster.copy()
    one, two = cluster[i], cluster[j]
    splits = one == two
    n_members = 0
    used = np.zeros(n_subs, np.bool_)
    for t in range(n_subs):
        used[cluster[t]] = True
        if (cluster[t] == one or cluster[t] == two) and t != i and t != j:
            n_members += 1
    members, wanted = np.empty(n_members, np.int64), np.full(n_members, -1, np.int64)
    free = wanted.copy()
    before = cluster_score(blocks, cluster, one, n_subs, terms, scales)
    if splits:
        for r in range(n_subs):
            if not used[r]:
                two = r  # two blocks share a cluster, so one number is free
    else:
        before += cluster_score(blocks, cluster, two, n_subs, terms, scales)
    m = 0
    for t in range(n_subs):
        if (old[t] == old[i] or old[t] == old[j]) and t != i and t != j:
            members[m] = t
            if not splits:
                wanted[m] = old[t]
            m += 1
    for m in range(n_members - 1, 0, -1):
        y = int(rng.random() * (m + 1))
        members[m], members[y] = members[y], members[m]
        wanted[m], wanted[y] = wanted[y], wanted[m]
    cluster[i], cluster[j] = one, two
    for m in range(n_members):
        cluster[members[m]] = -1
    for _ in range(n_scans + 1):
        _halves(rng, blocks, cluster, (members, free), (terms, scales), (one, two))
    log_prob = _halves(rng, blocks, cluster, (members, wanted), (terms, scales), (one, two))
    if splits:
        after = cluster_score(blocks, cluster, one, n_subs, terms, scales)
        after += cluster_score(blocks, cluster, two, n_subs, terms, scales)
        gain = after - before - log_prob
    else:
        for t in range(n_subs):
            if cluster[t] == two:
                cluster[t] = one
        gain = cluster_score(blocks, cluster, one, n_subs, terms, scales) - before + log_prob
    if math.log(1.0 - rng.random()) < gain:
        return True
    for t in range(n_subs):
        cluster[t] = old[t]
    return False


# ---- scales of the prior --------------------------------------------------------------------------------------------


@jit
def draw_scales(rng, blocks, cluster, terms, scales, limits):
    """Redraw (factor, kappa0, spread), each log-uniform between its limits, by slice sampling; equal ends: fixed."""
    low, high = limits
    now = np.array([scales[0], scales[1], scales[2]])
    level = log_marginals(blocks, cluster, terms, (now[0], now[1], now[2]))
    for which in range(3):
        if low[which] >= high[which]:
            continue
        floor = terms.temper * level + math.log(1.0 - rng.random())
        start = math.log(now[which])
        left, right = math.log(low[which]), math.log(high[which])
        while True:  # shrink the whole range towards where we are until a point above the floor is met
            point = left + rng.random() * (right - left)
            now[which] = math.exp(point)
            level = log_marginals(blocks, cluster, terms, (now[0], now[1], now[2]))
            if terms.temper * level >= floor or right - left < 1e-9:
                break
            if point < start:
                left = point
            else:
                right = point
    return now[0], now[1], now[2]
