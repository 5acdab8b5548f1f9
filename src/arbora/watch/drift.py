"""Tests of drift that hold at any time: of how well trees fit, and of how often each group comes.

Both watch the stream by the fitted groups alone, which do not change, and compare trees with those before them in the
stream, not with those of the fit.  While trees are independent draws from one distribution, whatever it is, the
expected number of alarms in any n trees is at most n times the level: the mean of the sums grows by one per tree, and
each alarm of a test takes 2 / level of it (Shiryaev-Roberts; Vovk, Gammerman and Shafer 2005 for the ranks; Shin,
Ramdas and Rinaldo 2024 for e-detectors).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernels.betting import Bets, watch_ranks, watch_values

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BIN = 0.02  # nats per pattern: surprises are compared in steps of this
N_BINS = 2000
POWERS = (0.25, 0.5, 0.75, 0.9)
ODDS = (8.0, 3.0, 1.5, 1 / 1.5, 1 / 3.0, 1 / 8.0)


class Alarm(NamedTuple):
    """A change that a test has found."""

    tree: int  # at which the test found it
    since: int  # from which tree on it bets
    what: str  # "fit" or "weights"
    which: str  # "worse", "better", "more" or "less"
    cluster: int | None  # whose weight changed; -1 is a new group


class Drift(NamedTuple):
    """The two detectors."""

    fit: Bets
    weights: Bets


def _bets(n_values: int, n_bets: int, odds: tuple[float, ...], power: tuple[float, ...]) -> Bets:
    return Bets(
        np.zeros(n_values, np.int64),
        np.zeros(n_values),
        np.zeros(n_bets),
        np.zeros(n_bets),
        np.zeros(n_bets, np.int64),
        np.array(odds),
        np.array(power),
    )


def new_drift(n_groups: int) -> Drift:
    """Detectors that have seen nothing; the last value of the weights is a new group."""
    n_values = n_groups + 1
    return Drift(_bets(N_BINS, 2 * len(POWERS), (), POWERS), _bets(n_values, n_values * len(ODDS), ODDS, ()))


def bins_of(surprise: Floats) -> Ints:
    """Surprises in nats per pattern as whole numbers."""
    return np.clip(np.floor(surprise / BIN), 0, N_BINS - 1).astype(np.int64)


def watch_drift(
    drift: Drift, surprise: Floats, group: Ints, number: int, seed: int, level: float, baseline: int
) -> tuple[Floats, list[Alarm]]:
    """Ranks of the surprises, and alarms; changes the detectors in place.  `group` counts new groups as the last."""
    n = len(group)
    fit, weights = np.zeros((n, 4)), np.zeros((n, 4))
    limit = 2.0 / level
    watch_ranks(drift.fit, bins_of(surprise), (number, seed), limit, fit)
    watch_values(drift.weights, group, (number, seed), limit, baseline, weights)
    alarms = [_of_fit(number + i, fit[i]) for i in np.flatnonzero(fit[:, 2] >= 0).tolist()]
    last = len(drift.weights.share) - 1
    alarms += [_of_weights(number + i, weights[i], last) for i in np.flatnonzero(weights[:, 2] >= 0).tolist()]
    return fit[:, 0].copy(), sorted(alarms)


def _of_fit(tree: int, row: Any) -> Alarm:
    return Alarm(tree, int(row[3]), "fit", "worse" if row[2] < len(POWERS) else "better", None)


def _of_weights(tree: int, row: Any, last: int) -> Alarm:
    value, bet = divmod(int(row[2]), len(ODDS))
    which = "more" if ODDS[bet] > 1 else "less"
    return Alarm(tree, int(row[3]), "weights", which, -1 if value == last else value)
