"""Evidence and statistics of rows of content in vectors, for the passes of upward_downward_vectors.py.

The twins are `evidence` and `row_statistics` of emissions/kernels/evidence.py.  Here a row is computed when the upward
pass first meets it, and its statistics are added when the downward pass meets it, so that most of neither ever goes
through memory: the downward pass needs no evidence of leaves.

Helpers take arrays one by one, since an array out of a tuple is counted at every node, and what is left as `at`.
"""

from typing import Any, NamedTuple

from ....jit import inlined
from .number_marginals import GAUSSIAN
from .vector_functions import power_of_two
from .vectors import ONE, WIDTH, add_to, fill, largest, load, load_apart, store_apart, where_less

PLACE, ROOM, FIRST_WORD, END_WORD, CODES = range(5)  # columns of `held`
N_TERMS = 3  # of a column of numbers: terms of its log density, and moments
N_NUMBERS = 1 + N_TERMS  # of a value, with its moments
LN2 = 0.6931471805599453
LARGEST = 1.7976931348623157e308


class RowsInVectors(NamedTuple):
    """What rows hold, and where the upward pass writes their evidence.

    Terms of log densities, to the base 2, are the emission of the flow: [word of any column, state, lane] as they are,
    then three for each column of numbers, as `LogTables` of emissions/kernels/evidence.py has them.  Sums have
    the same shape: of words, then of the moments of each column of numbers.
    """

    held: Any  # [row, 4 + codes + numbers]: place, room, first and end of words, a word of each, a kind of each
    # place: negative where one unit holds the row; else its place among the rows of several units
    # room: where its evidence is kept; 0, for all to write over, where one leaf holds it
    numbers: Any  # [row, 1 + 4 numbers]: a constant of the log density, then each value with its moments
    words: Any  # [entry, 2]: a word of a bag, and how often
    sizes: Any  # columns of codes, columns of numbers, words of any column
    seen: Any  # [place]: the last block in which the evidence of this row was computed
    evidence: Any  # [block, room, state + 1, 4]: P(content | state) exp(-offset), and the offset


@inlined
def _start(evidence, b, room):
    """Where the evidence of a row in block b begins."""
    return (b * evidence.shape[1] + room) * evidence.shape[2] * WIDTH


@inlined
def evidence_of(evidence, b, room, states):
    """Evidence that the upward pass has found."""
    return load_apart(evidence, _start(evidence, b, room), WIDTH, states)


@inlined
def offset_of(evidence, b, room):
    """Its offset."""
    return load_apart(evidence, _start(evidence, b, room + 1) - WIDTH, 0, ONE)


@inlined
def not_seen(place, b, seen_out):
    """Whether the evidence of a row has to be found in block b; marks it."""
    new = True
    if place >= 0:
        new = seen_out[place] < b
        seen_out[place] = b
    return new


@inlined
def find_evidence(held, numbers, words, tables, evidence_out, at):
    """Write the evidence of a row; `at` is (row, block, where terms begin in the tables, sizes, states)."""
    m, b, first, sizes, states = at
    n_codes, n_numbers, n_words = sizes
    density = fill(0.0, states)
    for x in range(CODES, CODES + n_codes):
        if held[m, x] >= 0:
            density = density + load(tables, first + held[m, x], states)
    for e in range(held[m, FIRST_WORD], held[m, END_WORD]):
        density = density + load(tables, first + int(words[e, 0]), states) * fill(words[e, 1], ONE)
    for x in range(n_numbers):
        y, term = numbers[m, 1 + N_NUMBERS * x], first + n_words + N_TERMS * x
        if y == y:
            if held[m, CODES + n_codes + x] == int(GAUSSIAN):
                apart = fill(y, ONE) - load(tables, term, states)
                density = density + (load(tables, term + 2, states) - load(tables, term + 1, states) * (apart * apart))
            else:
                if y > 0.0:  # 0 times the logarithm of a rate that may be 0
                    density = density + load(tables, term, states) * fill(y, ONE)
                density = density - load(tables, term + 1, states)
    top = largest(density)
    top = where_less(top, -LARGEST, 0.0, top)  # no state is possible
    to = _start(evidence_out, b, held[m, ROOM])
    store_apart(evidence_out, to, WIDTH, power_of_two(density - top))
    store_apart(evidence_out, to + WIDTH * len(states), 0, top * fill(LN2, ONE) + fill(numbers[m, 0], ONE))


@inlined
def add_row(held, numbers, words, posterior, sums_out, at):
    """Add the posterior of a unit to the sums; `at` is (its row, where sums begin, sizes)."""
    m, first, sizes = at
    n_codes, n_numbers, n_words = sizes
    for x in range(CODES, CODES + n_codes):
        if held[m, x] >= 0:
            add_to(sums_out, first + held[m, x], posterior)
    for e in range(held[m, FIRST_WORD], held[m, END_WORD]):
        add_to(sums_out, first + int(words[e, 0]), posterior * fill(words[e, 1], ONE))
    for x in range(n_numbers):
        y = 1 + N_NUMBERS * x
        if numbers[m, y] == numbers[m, y]:
            for j in range(N_TERMS):
                moment = fill(numbers[m, y + 1 + j], ONE)
                add_to(sums_out, first + n_words + N_TERMS * x + j, posterior * moment)


@inlined
def add_posterior(held, numbers, words, posterior, sums_out, at):
    """Add the posterior of a unit, to sums of its own row from `at[2]` on where several units hold the row."""
    m, first, shared, sizes = at
    if held[m, PLACE] < 0:
        add_row(held, numbers, words, posterior, sums_out, (m, first, sizes))
    else:
        add_to(sums_out, shared + held[m, PLACE], posterior)


@inlined
def add_shared(held, numbers, words, sums_out, at, states):
    """Add the sums of rows of several units, from `at[1]` on, to those of their words and numbers."""
    first, shared, sizes = at
    for m in range(held.shape[0]):
        if held[m, PLACE] >= 0:
            posterior = load(sums_out, shared + held[m, PLACE], states)
            add_row(held, numbers, words, posterior, sums_out, (m, first, sizes))
