"""Evidence of the distinct contents of a shard, and sums over them, in one pass each for all columns.

A *cell* is a state of a component; cells of one state are neighbours, padded components too.  The twins are the
families' own `log_density` and `add_statistics`, which numpy computes column by column.
"""

from typing import Any, NamedTuple

import numpy as np

from .....jit import inlined, jit
from ...kernels.number_marginals import GAUSSIAN, N_MOMENTS

LEAST = -708.0  # the logarithm of the least number that has all its digits; what is below becomes 0
LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # their sum is log 2 to 30 digits
MAGIC = 6755399441055744.0  # 1.5 * 2^52: what is added to it is rounded, and stands in its last bits


class Held(NamedTuple):
    """What rows hold."""

    code: Any  # [row, column of codes]: a word of the columns of codes, negative where missing
    start: Any  # [row + 1]: where the entries of each row begin
    word: Any  # words of bags, numbered behind those of codes
    times: Any
    value: Any  # [row, column of numbers], nan where missing


class LogTables(NamedTuple):
    """Log densities: those of words as they are; of a number x by `kind`.

    GAUSSIAN: third - second (x - first)^2.  POISSON: x first - second, and a term of the row alone.
    """

    word: Any  # [word of any column, cell]
    kind: Any  # [column of numbers]
    first: Any  # [column of numbers, cell]
    second: Any
    third: Any


@inlined
def _add_number(x, column, tables, total):
    """Add the log density of one number to all cells."""
    if tables.kind[column] == GAUSSIAN:
        for c in range(total.shape[0]):
            apart = x - tables.first[column, c]
            total[c] += tables.third[column, c] - tables.second[column, c] * (apart * apart)
    elif x > 0.0:
        for c in range(total.shape[0]):
            total[c] += x * tables.first[column, c] - tables.second[column, c]
    else:  # 0 times the logarithm of a rate that may be 0
        for c in range(total.shape[0]):
            total[c] -= tables.second[column, c]


@inlined
def _exponentials(total, room, bits, r, prob_out):
    """prob[r] = exp(total), for numbers up to 0: Cody and Waite (1980), with a Taylor polynomial."""
    for c in range(total.shape[0]):
        y = total[c] if total[c] > LEAST else LEAST
        t = y * LOG2E + MAGIC
        room[c] = t
        k = t - MAGIC
        x = (y - k * LN2_HIGH) - k * LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * x + 1.0 / 479001600.0
        p = p * x + 1.0 / 39916800.0
        p = p * x + 1.0 / 3628800.0
        p = p * x + 1.0 / 362880.0
        p = p * x + 1.0 / 40320.0
        p = p * x + 1.0 / 5040.0
        p = p * x + 1.0 / 720.0
        p = p * x + 1.0 / 120.0
        p = p * x + 1.0 / 24.0
        p = p * x + 1.0 / 6.0
        p = p * x + 0.5
        p = p * x + 1.0
        p = p * x + 1.0
        total[c] = p if total[c] > LEAST else 0.0
    for c in range(total.shape[0]):
        bits[c] = (bits[c] << 52) + (1023 << 52)  # 2^k, by its exponent
    for c in range(total.shape[0]):
        prob_out[r, c] = total[c] * room[c]


@jit
def evidence(held, tables, constant, prob_out, offset_out):
    """prob[row, cell] = exp(log density - offset); the offset, [row, lane], is the largest over states plus `constant`.

    Where no state is possible, the offset is the constant, and all cells are 0.
    """
    code, start, word, times, value = held
    n_rows, n_cells = prob_out.shape
    n_lanes = offset_out.shape[1]
    by_state, top = np.empty((n_cells // n_lanes, n_lanes)), np.empty(n_lanes)
    total = by_state.reshape(n_cells)  # the same memory
    room = np.empty(n_cells)
    bits = room.view(np.int64)
    for r in range(n_rows):
        first = code[r, 0] if code.shape[1] else -1
        for c in range(n_cells):
            total[c] = tables.word[first, c] if first >= 0 else 0.0
        for x in range(1, code.shape[1]):
            m = code[r, x]
            if m >= 0:
                for c in range(n_cells):
                    total[c] += tables.word[m, c]
        for e in range(start[r], start[r + 1]):
            m, n = word[e], times[e]
            for c in range(n_cells):
                total[c] += n * tables.word[m, c]
        for x in range(value.shape[1]):
            if not np.isnan(value[r, x]):
                _add_number(value[r, x], x, tables, total)
        for k in range(n_lanes):
            top[k] = by_state[0, k]
        for i in range(1, by_state.shape[0]):
            for k in range(n_lanes):
                top[k] = by_state[i, k] if by_state[i, k] > top[k] else top[k]
        for k in range(n_lanes):
            top[k] = top[k] if top[k] > -np.inf else 0.0
            offset_out[r, k] = top[k] + constant[r]
        for i in range(by_state.shape[0]):
            for k in range(n_lanes):
                by_state[i, k] -= top[k]
        _exponentials(total, room, bits, r, prob_out)


@jit
def row_statistics(held, moments, sums, words_out, numbers_out):
    """Add sums[row, cell] to the words of each row, and times its moments[row, column, 3] to the columns of numbers."""
    code, start, word, times, _ = held
    n_rows, n_cells = sums.shape
    for r in range(n_rows):
        for x in range(code.shape[1]):
            m = code[r, x]
            if m >= 0:
                for c in range(n_cells):
                    words_out[m, c] += sums[r, c]
        for e in range(start[r], start[r + 1]):
            m, n = word[e], times[e]
            for c in range(n_cells):
                words_out[m, c] += n * sums[r, c]
        for x in range(moments.shape[1]):
            if moments[r, x, 0] != 0.0:
                for j in range(N_MOMENTS):
                    much = moments[r, x, j]
                    for c in range(n_cells):
                        numbers_out[x, j, c] += much * sums[r, c]
