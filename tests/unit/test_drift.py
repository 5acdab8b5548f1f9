"""Tests of drift: their sums are martingales, false alarms against the promise, delays, and bets that are no bets."""

import numpy as np
import pytest

from arbora.watch import drift as dr
from arbora.watch.kernels import betting

pytestmark = pytest.mark.compiled

SHARES = np.array([0.5, 0.25, 0.2, 0.05])


def stream(rng, n, change=None, shares=SHARES, shift=0.0):
    """Misfits and groups; from `change` on with other shares and a shift."""
    misfit, group = rng.gamma(4.0, 0.5, n), rng.choice(4, n, p=SHARES)
    if change is not None:
        misfit[change:] += shift
        group[change:] = rng.choice(4, n - change, p=shares)
    return misfit, group.astype(np.int64)


def alarms(rng, n, level, change=None, baseline=200, **changed):
    drift = dr.new_drift(3)
    seed = int(rng.integers(2**31))
    return dr.watch_drift(drift, *stream(rng, n, change, **changed), 0, seed, level, baseline)[1]


def test_every_bet_is_fair() -> None:
    """The integral of what a bet pays over uniform ranks is one."""
    drift = dr.new_drift(3)
    drift.weights.share[:] = SHARES
    u = (np.arange(20_000) + 0.5) / 20_000
    for bets, bet in ((drift.fit, betting.bet_on_ranks), (drift.weights, betting.bet_on_values)):
        low, high = np.zeros(len(bets.sum)), np.zeros(len(bets.sum))
        gain = np.empty_like(low)
        for x in u:  # ranks x^8 and 1 - x^8: dense where bets on small ones are steep, and those on large ones
            bet(bets, x**8, gain)
            low += gain * 8 * x**7 / len(u)
            bet(bets, 1 - max(x**8, 1e-15), gain)
            high += gain * 8 * x**7 / len(u)
        half = len(dr.POWERS) if bets is drift.fit else len(low)
        assert np.allclose(np.append(low[:half], high[half:]), 1.0, atol=5e-3)


def false_alarms(n_streams, n, level, seed=0, baseline=200):
    rng = np.random.default_rng(seed)
    return np.array([len(alarms(rng, n, level, baseline=baseline)) for _ in range(n_streams)])


def test_false_alarms_keep_the_promise() -> None:
    """At most n level alarms in n trees on average: 60 streams of 2,000 trees, level 1 / 1,000."""
    found = false_alarms(60, 2000, 1e-3)
    assert 0.1 < found.mean() < 2.0 + 3 * found.std() / np.sqrt(60)


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-2, 1e-3, 1e-4])
def test_false_alarms_keep_the_promise_in_long_streams(level: float) -> None:
    n = int(20 / level)
    n_streams = max(int(4e6 / n), 20)
    found = false_alarms(n_streams, n, level, seed=1)
    assert found.mean() + 2 * found.std() / np.sqrt(n_streams) < 20


def test_a_history_that_is_not_of_the_stream_breaks_the_promise() -> None:
    """A planted bug: ranks among trees that the stream never had are not uniform."""
    rng, found = np.random.default_rng(0), []
    for _ in range(10):
        drift = dr.new_drift(3)
        drift.fit.seen[0] = 400
        found.append(len(dr.watch_drift(drift, *stream(rng, 2000), 0, int(rng.integers(99)), 1e-4, 200)[1]))
    assert np.mean(found) > 0.8  # promised are 0.2


def test_changes_are_found_soon_and_named() -> None:
    rng = np.random.default_rng(3)
    delays = {"weights": [], "fit": []}
    for _ in range(10):
        found = [a for a in alarms(rng, 6000, 1e-5, 4000, shares=np.array([0.2, 0.25, 0.2, 0.35])) if a.tree >= 4000]
        assert found[0].what == "weights"
        assert (found[0].which, found[0].cluster) in {("more", -1), ("less", 0)}
        assert abs(found[0].since - 4000) < 150
        delays["weights"].append(found[0].tree - 4000)
        found = [a for a in alarms(rng, 6000, 1e-5, 4000, shift=1.0) if a.tree >= 4000]
        assert (found[0].what, found[0].which) == ("fit", "worse")
        delays["fit"].append(found[0].tree - 4000)
    assert np.mean(delays["weights"]) < 120
    assert np.mean(delays["fit"]) < 120


def test_after_an_alarm_the_test_begins_anew() -> None:
    rng = np.random.default_rng(4)
    found = alarms(rng, 20_000, 1e-5, 4000, shift=1.0, shares=np.array([0.2, 0.25, 0.2, 0.35]))
    assert [a.what for a in found].count("fit") == 1
    assert [a.what for a in found].count("weights") == 1
