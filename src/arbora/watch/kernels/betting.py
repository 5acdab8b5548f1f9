"""Bets against the ranks of a stream, and their Shiryaev-Roberts sums, which start again after an alarm.

Under trees drawn independently from one distribution the ranks are independent and uniform (Vovk, Gammerman and Shafer
2005), so a bet multiplies by one on average, and each sum grows by one per tree on average.  See drift.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...inference.kernels.resampling import uniform
from ...jit import jit

NOT_YET = -1.0
MEMORY = 20_000  # surprises beyond which they are halved


class Bets(NamedTuple):
    """One detector: what was seen since it began, and a sum for each bet; in place."""

    seen: NDArray[np.int64]  # [value]: how often, since it began
    share: NDArray[np.float64]  # [value]: share in the trees before it began; nothing where it needs none
    sum: NDArray[np.float64]  # [bet]
    log: NDArray[np.float64]  # [bet]: log gain since `since`
    since: NDArray[np.int64]  # [bet]: tree from which on the bet has won most
    odds: NDArray[np.float64]  # of a bet on one value
    power: NDArray[np.float64]  # exponents of bets on small ranks, then on large ones


@jit
def rank(seen, value, u):
    """Share of what was seen that is larger, ties counted in part, the value itself among them."""
    above = 0
    for v in range(value + 1, seen.shape[0]):
        above += seen[v]
    n = seen.sum()
    return (above + u * seen[value]) / n


@jit
def bet_on_ranks(bets, p, gain_out):
    """What each bet on small ranks, and each on large ones, multiplies by: density x p^(x - 1)."""
    n = bets.power.shape[0]
    for x in range(n):
        k = bets.power[x]
        gain_out[x] = k * p ** (k - 1.0)
        gain_out[n + x] = k * (1.0 - p) ** (k - 1.0)


@jit
def bet_on_values(bets, p, gain_out):
    """What each bet that a value has become more or less frequent multiplies by.

    The rank 1 - p falls into the range of cumulated shares of the value that is met, while its share stays.
    """
    low, n_odds = 0.0, bets.odds.shape[0]
    for v in range(bets.share.shape[0]):
        share = bets.share[v]
        inside = low <= 1.0 - p < low + share
        for x in range(n_odds):
            r = bets.odds[x]
            gain_out[v * n_odds + x] = (r if inside else 1.0) / (1.0 - share + r * share)
        low += share


@jit
def add_gains(bets, gain, number):
    """Every sum R becomes (1 + R) gain; their mean."""
    for x in range(gain.shape[0]):
        bets.sum[x] = (1.0 + bets.sum[x]) * gain[x]
        step = np.log(gain[x])
        if bets.log[x] + step <= 0.0:
            bets.log[x], bets.since[x] = 0.0, number + 1
        else:
            bets.log[x] += step
    return bets.sum.mean()


@jit
def begin(bets, number):
    """Forget everything but the shares."""
    bets.seen[:] = 0
    bets.sum[:] = 0.0
    bets.log[:] = 0.0
    bets.since[:] = number


@jit
def watch_ranks(bets, value, at, limit, told_out):
    """Ranks of the values, the mean of the sums after each, and after an alarm the bet that won most, or -1.

    `at` is the number of the first tree, and the seed.
    """
    number, seed = at
    gain = np.empty(bets.sum.shape[0])
    for i in range(value.shape[0]):
        told = told_out[i]
        bets.seen[value[i]] += 1
        p = rank(bets.seen, value[i], uniform(seed, number + i, 1))
        bet_on_ranks(bets, p, gain)
        told[0], told[1], told[2] = p, add_gains(bets, gain, number + i), NOT_YET
        if told[1] >= limit:
            told[2] = np.argmax(bets.sum)
            told[3] = bets.since[np.argmax(bets.sum)]
            begin(bets, number + i + 1)


@jit
def watch_values(bets, value, at, limit, baseline, told_out):
    """The same for frequencies of values; the first so many trees fix the shares that are bet against."""
    number, seed = at
    gain = np.empty(bets.sum.shape[0])
    for i in range(value.shape[0]):
        told = told_out[i]
        told[2] = NOT_YET
        bets.seen[value[i]] += 1
        if bets.share.sum() == 0.0:
            told[0], told[1] = 1.0, 0.0
            if bets.seen.sum() == baseline:
                bets.share[:] = (bets.seen + 0.5) / (baseline + 0.5 * bets.seen.shape[0])
                begin(bets, number + i + 1)
            continue
        p = rank(bets.seen, value[i], uniform(seed, number + i, 2))
        bet_on_values(bets, p, gain)
        told[0], told[1] = p, add_gains(bets, gain, number + i)
        if told[1] >= limit:
            told[2] = np.argmax(bets.sum)
            told[3] = bets.since[np.argmax(bets.sum)]
            begin(bets, number + i + 1)
            bets.share[:] = 0.0


@jit
def choose_kept(seen, value, sure, at, level, kept_out):
    """Which trees to keep, and their weights: all that are sure or surprising, and a share of the others.

    `seen` are the surprises so far, halved once they are many, so that old ones count less.  `level` is the rank up to
    which a surprise is kept, and the share.
    """
    (number, seed), (highest, share) = at, level
    for i in range(value.shape[0]):
        seen[value[i]] += 1
        p = rank(seen, value[i], uniform(seed, number + i, 3))
        if sure[i] or p <= highest:
            kept_out[i] = 1.0
        else:
            kept_out[i] = 1.0 / share if uniform(seed, number + i, 4) < share else 0.0
        if seen.sum() >= MEMORY:
            for v in range(seen.shape[0]):
                seen[v] //= 2
