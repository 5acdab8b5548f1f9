"""What nodes hold, with the parameters of every state integrated out: chances given counts of what was drawn so far.

Words of all columns, labels among them, have counts by state; numbers have sums by state.  A particle of sequential
imputation keeps both in one row of cells, with tables of the words of its tree alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ....jit import jit
from .number_marginals import N_MOMENTS, number_marginal


class Urns(NamedTuple):
    """Contents by row, and their priors.  The words of a row are sorted by column."""

    start: Any  # [row + 1]: where the words of a row begin
    word: Any  # [entry]
    times: Any  # [entry]
    column: Any  # [word]
    prior: float  # Dirichlet parameter of a word
    whole: Any  # [column of words]: sum of these parameters
    numbers: Any  # [row, column of numbers, 3]
    number_prior: Any  # [column of numbers, ...]: see number_marginals.py
    constant: Any  # [row]: log of the factors that no parameter enters
    is_plain: bool  # at most one word per row, and no number: no logarithms are needed


@jit
def numbered(row, order, urns):
    """Numbers of the words of the tree, and how many: tables need no others."""
    word_at = np.full(max(1, urns.column.shape[0]), -1, np.int64)
    n = 0
    for x in range(order.shape[0]):
        r = row[order[x]]
        if r >= 0:
            for e in range(urns.start[r], urns.start[r + 1]):
                if word_at[urns.word[e]] < 0:
                    word_at[urns.word[e]] = n
                    n += 1
    return word_at, n


class Cells(NamedTuple):
    """Where in the cells of a particle the counts of contents lie."""

    word_at: Any  # [word]: its number in the tables of this tree; -1 where the tree has it not
    n_words: int
    at: int
    n_states: int


@jit
def n_content_cells(urns, n_words, n_states):
    """Cells of a particle: words, columns of words, sums of numbers."""
    return (n_words + urns.whole.shape[0] + N_MOMENTS * urns.number_prior.shape[0]) * n_states


@jit
def see_content(urns, cells, r, count, chance_out):
    """Chance of row r in every state given the counts, relative to its largest; returns the log of that."""
    word_at, n_words, at, n_states = cells
    for i in range(n_states):
        chance_out[i] = 1.0
    if r < 0:
        return 0.0
    lo, hi = urns.start[r], urns.start[r + 1]
    if urns.is_plain:
        for e in range(lo, hi):
            for i in range(n_states):
                hits = count[at + word_at[urns.word[e]] * n_states + i]
                tries = count[at + (n_words + urns.column[urns.word[e]]) * n_states + i]
                chance_out[i] = (urns.prior + hits) / (urns.whole[urns.column[urns.word[e]]] + tries)
        return 0.0
    top = -np.inf
    at_number = at + (n_words + urns.whole.shape[0]) * n_states
    for i in range(n_states):
        log_chance = urns.constant[r]
        length = 0.0
        for e in range(lo, hi):
            hits = urns.prior + count[at + word_at[urns.word[e]] * n_states + i]
            log_chance += math.lgamma(hits + urns.times[e]) - math.lgamma(hits)
            length += urns.times[e]
            column = urns.column[urns.word[e]]
            if e + 1 == hi or urns.column[urns.word[e + 1]] != column:
                tries = urns.whole[column] + count[at + (n_words + column) * n_states + i]
                log_chance -= math.lgamma(tries + length) - math.lgamma(tries)
                length = 0.0
        for x in range(urns.number_prior.shape[0]):
            more = urns.numbers[r, x]
            if more[0] > 0.0:
                c = at_number + (x * n_states + i) * N_MOMENTS
                prior = urns.number_prior[x]
                log_chance -= number_marginal(prior, count[c], count[c + 1], count[c + 2])
                log_chance += number_marginal(prior, count[c] + more[0], count[c + 1] + more[1], count[c + 2] + more[2])
        chance_out[i] = log_chance
        top = max(top, log_chance)
    for i in range(n_states):
        chance_out[i] = math.exp(chance_out[i] - top)
    return top


@jit
def add_content(urns, cells, r, count, i):
    """Count row r in state i."""
    word_at, n_words, at, n_states = cells
    if r < 0:
        return
    for e in range(urns.start[r], urns.start[r + 1]):
        count[at + word_at[urns.word[e]] * n_states + i] += urns.times[e]
        count[at + (n_words + urns.column[urns.word[e]]) * n_states + i] += urns.times[e]
    at_number = at + (n_words + urns.whole.shape[0]) * n_states
    for x in range(urns.number_prior.shape[0]):
        for m in range(N_MOMENTS):
            count[at_number + (x * n_states + i) * N_MOMENTS + m] += urns.numbers[r, x, m]
