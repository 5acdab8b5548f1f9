"""Slow, obvious twins of arbora.inference.convergence: one quantity at a time, plain loops, no transforms."""

from math import fsum, inf, log10, nan, sqrt
from statistics import NormalDist, median


def mean(values):
    return fsum(values) / len(values)


def variance(values):
    return fsum((x - mean(values)) ** 2 for x in values) / (len(values) - 1)


def halves(chains):
    half = len(chains[0]) // 2
    return [chain[:half] for chain in chains] + [chain[-half:] for chain in chains]


def scores(chains):
    """Normal scores of the mean ranks, chain by chain."""
    everything = [x for chain in chains for x in chain]

    def rank(x):
        below, equal = sum(y < x for y in everything), sum(y == x for y in everything)
        return below + (equal + 1) / 2

    return [[NormalDist().inv_cdf((rank(x) - 3 / 8) / (len(everything) + 1 / 4)) for x in chain] for chain in chains]


def plain_rhat(chains):
    """The root of the pooled variance over that within, of chains that are halves already."""
    if all(x == chains[0][0] for chain in chains for x in chain):
        return nan
    if all(x == chain[0] for chain in chains for x in chain):
        return inf
    n, z = len(chains[0]), scores(chains)
    within = mean([variance(chain) for chain in z])
    between = n * variance([mean(chain) for chain in z])
    return sqrt(((n - 1) / n * within + between / n) / within)


def rhat(chains):
    parts = halves(chains)
    middle = median(x for part in parts for x in part)
    bulk, tail = plain_rhat(parts), plain_rhat([[abs(x - middle) for x in part] for part in parts])
    return max((x for x in (bulk, tail) if x == x), default=nan)


def plain_ess(chains):
    """Effective draws for the mean of chains that are halves already; autocovariances by their definition."""
    if all(x == chains[0][0] for chain in chains for x in chain):
        return nan
    n = len(chains[0])

    away = [[x - mean(chain) for x in chain] for chain in chains]

    def autocovariance(lag):
        return mean([fsum(x[t] * x[t + lag] for t in range(n - lag)) / n for x in away])

    within = autocovariance(0) * n / (n - 1)
    pooled = within * (n - 1) / n + variance([mean(chain) for chain in chains])

    def correlation(lag):
        return 1.0 if lag == 0 else 1 - (within - autocovariance(lag)) / pooled

    pairs, lag = [], 0
    while True:
        even, odd = correlation(lag), correlation(lag + 1)
        lag += 2
        if even + odd <= 0 or lag + 1 > n - 2:  # the last pair: it turned negative, or there are no more
            break
        pairs.append(even + odd if not pairs else min(even + odd, pairs[-1]))
    time = -1 + 2 * sum(pairs) + (even if even + odd >= 0 else max(even, 0))
    n_draws = len(chains) * n
    return n_draws / max(time, 1 / log10(n_draws))


def ess_bulk(chains):
    return plain_ess(scores(halves(chains)))


def ess_tail(chains):
    """The draws up to a quantile: with h = (n - 1) share, those up to the order statistic number floor(h)."""
    ordered = sorted(x for chain in chains for x in chain)
    found = []
    for percent in (5, 95):
        edge = ordered[(len(ordered) - 1) * percent // 100]
        found.append(plain_ess([[float(x <= edge) for x in chain] for chain in halves(chains)]))
    return min((x for x in found if x == x), default=nan)
