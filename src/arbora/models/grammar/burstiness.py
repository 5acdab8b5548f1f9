"""A tree repeats itself: it draws rows of its own around those of its component (note.md, section 2).

Dirichlet rows with mean p and concentration 1 / tau, integrated out, leave an urn: the j-th draw of a cell that came x
times before has probability (p + x tau) / (1 + j tau).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .events import Events, Ints, totals_by_row
from .kernels import chains

Floats = NDArray[np.float64]

SMALLEST, LARGEST = 1e-4, 10.0  # burstiness that is looked for
N_GRID, N_NARROWER = 9, 12  # points of the first look, and steps of golden section after it
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class Urns(NamedTuple):
    """Trees as sets of (cell, count) pairs: each pair is computed once, whatever the number of trees that have it."""

    start: Ints  # [tree + 1]
    pair: Ints  # pairs of each tree
    cell: Ints  # [pair], ascending; then by count
    times: Ints  # [pair]
    row_start: Ints  # [tree + 1]
    row_times: Ints  # draws from each row of each tree

    @property
    def n_trees(self) -> int:
        return len(self.start) - 1

    @property
    def most(self) -> int:
        """Draws from the busiest row."""
        return int(self.row_times.max(initial=0))


def urns_of(events: Events, width: int) -> Urns:
    """The pairs of the trees."""
    most = int(events.times.max(initial=0)) + 1
    pair, index = np.unique(events.cell * most + events.times, return_inverse=True)
    return Urns(events.start, index, pair // most, pair % most, *totals_by_row(events, width))


def log_rows(urns: Urns, tau: float) -> Floats:
    """What draws from its rows cost a tree, whatever the component: sum over rows of log(1 + j tau), [tree]."""
    if tau == 0.0:
        return np.zeros(urns.n_trees)
    cost = chains.row_rises(urns.most, tau)[urns.row_times][:, None]
    return chains.sum_rows(urns.row_start, np.arange(len(urns.row_times)), cost)[:, 0]


def log_likelihood(urns: Urns, prob: Floats, tau: float) -> tuple[Floats, Floats]:
    """log P(tree | component), the closed form of section 2, and the effective counts of every pair."""
    log_rise, effective = chains.log_rises(prob, urns.cell, urns.times, tau)
    return chains.sum_rows(urns.start, urns.pair, log_rise) - log_rows(urns, tau)[:, None], effective


def best_tau(urns: Urns, prob: Floats, resp: Floats, tau: float) -> float:
    """The burstiness of highest expected log-likelihood, the one at hand if no other is better.

    A coarse look on a logarithmic scale, then golden section; nothing is assumed of the function, since the one at
    hand stays unless another is better.
    """
    has = chains.sum_columns(urns.start, urns.pair, resp, len(urns.cell))
    total = resp.sum(axis=1)
    used = np.bincount(urns.row_times, np.repeat(total, np.diff(urns.row_start)), urns.most + 1)
    again = urns.times > 1  # a count of one does not depend on tau

    def expected(value: float) -> float:
        log_rise, _ = chains.log_rises(prob, urns.cell[again], urns.times[again], value)
        return float((has[again] * log_rise).sum() - used @ chains.row_rises(urns.most, value))

    if not again.any() and urns.most < 2:
        return tau
    grid = np.linspace(np.log(SMALLEST), np.log(LARGEST), N_GRID)
    values = [expected(np.exp(x)) for x in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, N_GRID - 1)]
    found = {float(np.exp(grid[best])): values[best], tau: expected(tau), 0.0: expected(0.0)}
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = expected(np.exp(left)), expected(np.exp(right))
    for _ in range(N_NARROWER):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = expected(np.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = expected(np.exp(right))
    found[float(np.exp(left))], found[float(np.exp(right))] = at_left, at_right
    return max(found, key=lambda value: (found[value], value == tau))
