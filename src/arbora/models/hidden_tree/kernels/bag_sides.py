"""Two sides that bags are shared out between: what each holds, and restricted Gibbs scans over the bags."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import bare, inlined, jit
from .log_rises import FEW, log_gamma
from .number_marginals import N_MOMENTS, number_marginal

# The range in which products of factors stay before their logarithm is taken.
SMALL, LARGE = 1e-100, 1e100
# How a scan seats: for the first time, again, or each bag where it is told to be, now and before.
FIRST, AGAIN, TOLD = 0, 1, 2


class Launch(NamedTuple):
    """Bags in random order, and the side of each: now, and where it is told to be."""

    others: NDArray[np.int64]
    side: NDArray[np.int64]
    told: NDArray[np.int64]


class Sides(NamedTuple):
    """Counts of two sides, beside each other."""

    in_cell: NDArray[np.float64]  # [cell, side]
    in_row: NDArray[np.float64]  # [row, side]
    size: NDArray[np.int64]  # [side]
    sums: NDArray[np.float64]  # [side, cell of numbers, moment]
    touched: NDArray[np.int64]  # scratch: rows that a bag has counts in
    row_count: NDArray[np.float64]  # scratch: and how many


@jit
def new_sides(table):
    """Two sides that hold nothing."""
    n_cells, n_rows, n_numbers = table.row.shape[0], table.row_prior.shape[0], table.numbers.shape[0]
    return Sides(
        np.zeros((n_cells, 2)),
        np.zeros((n_rows, 2)),
        np.zeros(2, np.int64),
        np.zeros((2, n_numbers, N_MOMENTS)),
        np.empty(n_rows, np.int64),
        np.zeros(n_rows),
    )


@inlined
def move_bag(bags, table, sides, t, side, sign):
    """Add the bag of t to a side (sign 1) or take it away (-1)."""
    row, cell, count, in_cell, in_row = table.row, bags.cell, bags.times, sides.in_cell, sides.in_row
    for x in range(bags.start[t], bags.stop[t]):
        in_cell[cell[x], side] += sign * count[x]
        in_row[row[cell[x]], side] += sign * count[x]
    numbers = bags.moments
    if numbers.n_cells > 0:
        for x in range(numbers.start[t], numbers.stop[t]):
            for y in range(N_MOMENTS):
                sides.sums[side, numbers.cell[x], y] += sign * numbers.value[x, y]
    sides.size[side] += sign
    return 0


@inlined
def _number_odds(bags, table, t, sums):
    """The part of `log_odds` that numbers have."""
    numbers, odds = bags.moments, 0.0
    for x in range(numbers.start[t], numbers.stop[t]):
        c = numbers.cell[x]
        n, first, second = numbers.value[x, 0], numbers.value[x, 1], numbers.value[x, 2]
        for side in range(2):
            m = sums[side, c]
            gain = number_marginal(table.numbers[c], m[0] + n, m[1] + first, m[2] + second)
            gain -= number_marginal(table.numbers[c], m[0], m[1], m[2])
            odds += gain if side == 0 else -gain
    return odds


@inlined
def _multiplied(above, below, a, b, n):
    """`above` times the rise of a by a few n, and `below` times that of b."""
    for y in range(int(n)):
        above *= a + y
        below *= b + y
    return above, below


@inlined
def _in_range(above, below):
    """Whether both products may grow by another few factors."""
    return SMALL < above < LARGE and SMALL < below < LARGE


@inlined
def _rise_odds(a, b, n):
    """log of the rise of a by n over that of b."""
    return log_gamma(a + n) - log_gamma(a) - log_gamma(b + n) + log_gamma(b)


@bare
def log_odds(bags, table, sides, t):
    """log of P(t joins side 0) / P(t joins side 1), t being in neither."""
    row, prior, row_prior = table.row, table.prior, table.row_prior
    in_cell, in_row, touched, row_count = sides.in_cell, sides.in_row, sides.touched, sides.row_count
    odds = _number_odds(bags, table, t, sides.sums) if bags.moments.n_cells > 0 else 0.0
    above, below = float(sides.size[0]), float(sides.size[1])  # logarithms are taken as seldom as the range allows
    n_touched = 0
    for x in range(bags.start[t], bags.stop[t]):
        c, n = bags.cell[x], float(bags.times[x])
        r = row[c]
        if row_count[r] == 0.0:
            touched[n_touched] = r
            n_touched += 1
        row_count[r] += n
        a, b = in_cell[c, 0], in_cell[c, 1]
        if a == b:
            continue
        if n <= FEW and n == int(n):
            above, below = _multiplied(above, below, prior[c] + a, prior[c] + b, n)
            if not _in_range(above, below):
                odds += math.log(above) - math.log(below)
                above = below = 1.0
        else:
            odds += _rise_odds(prior[c] + a, prior[c] + b, n)
    last_a, last_b, last_n, last = 0.0, 0.0, 0.0, 0.0  # rows of shapes are often alike: one for each slot
    for x in range(n_touched):
        r = touched[x]
        n, a, b = row_count[r], row_prior[r] + in_row[r, 0], row_prior[r] + in_row[r, 1]
        row_count[r] = 0.0
        if a == b:
            continue
        if n <= FEW and n == int(n):
            above, below = _multiplied(above, below, b, a, n)
            if not _in_range(above, below):
                odds += math.log(above) - math.log(below)
                above = below = 1.0
        else:
            if a != last_a or b != last_b or n != last_n:
                last_a, last_b, last_n = a, b, n
                last = _rise_odds(b, a, n)
            odds += last
    return odds + math.log(above) - math.log(below)


@inlined
def _log_sides(odds):
    """(log P(side 0), log P(side 1)) from log odds, without overflow."""
    if odds > 0:
        low = -math.log1p(math.exp(-odds))
        return low, low - odds
    low = -math.log1p(math.exp(odds))
    return low + odds, low


@bare
def scan(rng, bags, table, sides, launch, how):
    """One restricted scan over the bags; log probability of the sides chosen, which `launch.side` then holds."""
    others, side, told = launch
    log_q = 0.0
    for x in range(others.shape[0]):
        t = others[x]
        if how != FIRST:
            move_bag(bags, table, sides, t, side[x], -1)
        log_0, log_1 = _log_sides(log_odds(bags, table, sides, t))
        if how == TOLD:
            side[x] = told[x]
        else:
            side[x] = 0 if math.log(1.0 - rng.random()) < log_0 else 1
        log_q += log_0 if side[x] == 0 else log_1
        move_bag(bags, table, sides, t, side[x], 1)
    return log_q
