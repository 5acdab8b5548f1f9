"""Rows that lean on shorter contexts: (parent, previous) on parent, parent on no context, that on the pool.

The equations are those of note.md, section 3.  Levels are numbered 0 (both contexts), 1 (parent), 2 (none).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .events import N_KINDS, Alphabet, Ints
from .kernels import chains

Floats = NDArray[np.float64]

WEAKEST, STRONGEST = 1e-3, 1e6  # bounds of strengths
HALF = 0.5  # of a count, given to every outcome of the pool


class Levels(NamedTuple):
    """The cells of a model on all levels, by ascending keys, and who stands below whom."""

    cell_key: Ints
    row_key: Ints
    pair_key: Ints  # (context, outcome)
    context_key: Ints
    outcome_key: Ints  # (kind, outcome)
    cell_row: Ints
    cell_pair: Ints
    row_context: Ints
    pair_context: Ints
    pair_outcome: Ints
    context_kind: Ints
    outcome_kind: Ints


class Places(NamedTuple):
    """Where cells of any trees stand in the tables of a model; -1 where they do not."""

    cell: Ints
    row: Ints
    pair: Ints
    context: Ints
    outcome: Ints
    kind: Ints


class Counts(NamedTuple):
    """Effective counts of every cell and, for the levels above, of every (context, outcome); they add."""

    cell: Floats  # [cell, component]
    pair: Floats  # [pair, component]


class Tables(NamedTuple):
    """Counts on all levels with their totals, a row of zeros last in each: that is where -1 points to."""

    cell: Floats
    row: Floats
    pair: Floats
    context: Floats
    outcome: Floats
    kind: Floats
    pool: Floats  # [outcome + 1]; the last is never used
    blank: Floats  # [kind], the pool's share of an outcome never seen


def levels_of(cell_key: Ints, alphabet: Alphabet) -> Levels:
    """The levels above these cells."""
    width = alphabet.width
    row, outcome = cell_key // width, cell_key % width
    row_key, cell_row = np.unique(row, return_inverse=True)
    context_key, row_context = np.unique(row_key // width, return_inverse=True)
    pair_key, cell_pair = np.unique(row // width * width + outcome, return_inverse=True)
    pair_context = np.searchsorted(context_key, pair_key // width)
    kind = alphabet.kind(context_key)
    outcome_key, pair_outcome = np.unique(kind[pair_context] * width + pair_key % width, return_inverse=True)
    return Levels(
        cell_key,
        row_key,
        pair_key,
        context_key,
        outcome_key,
        cell_row,
        cell_pair,
        row_context,
        pair_context,
        pair_outcome,
        kind,
        outcome_key // width,
    )


def own_places(levels: Levels) -> Places:
    """The places of the model's own cells."""
    pair, row = levels.cell_pair, levels.cell_row
    context, outcome = levels.pair_context[pair], levels.pair_outcome[pair]
    return Places(np.arange(len(pair)), row, pair, context, outcome, levels.context_kind[context])


def places_of(key: Ints, levels: Levels, alphabet: Alphabet) -> Places:
    """The places of any cells in a model."""
    width = alphabet.width
    row, outcome = key // width, key % width
    context = row // width
    kind = alphabet.kind(context)
    return Places(
        _find(key, levels.cell_key),
        _find(row, levels.row_key),
        _find(context * width + outcome, levels.pair_key),
        _find(context, levels.context_key),
        _find(kind * width + outcome, levels.outcome_key),
        kind,
    )


def _find(wanted: Ints, have: Ints) -> Ints:
    """Index of each in an ascending list; -1 where it is not there."""
    at = np.minimum(np.searchsorted(have, wanted), max(len(have) - 1, 0))
    found = have[at] == wanted if len(have) else np.zeros(len(wanted), bool)
    return np.where(found, at, -1)


def pairs_of(levels: Levels, cell_count: Floats) -> Floats:
    """Counts summed over the sibling before, N_k(a, o)."""
    return chains.add_by(levels.cell_pair, cell_count, len(levels.pair_key))


def tables_of(levels: Levels, counts: Counts, alphabet: Alphabet) -> Tables:
    """Counts and totals of all levels, and the pool of all components, section 3 of the note."""
    outcome = chains.add_by(levels.pair_outcome, counts.pair, len(levels.outcome_key))
    row = chains.add_by(levels.cell_row, counts.cell, len(levels.row_key))
    context = chains.add_by(levels.pair_context, counts.pair, len(levels.context_key))
    kind = chains.add_by(levels.outcome_kind, outcome, N_KINDS)
    total = kind.sum(axis=1) + HALF * alphabet.n_outcomes()
    pool = (outcome.sum(axis=1) + HALF) / total[levels.outcome_kind]
    blank = HALF / total
    return Tables(
        _padded(counts.cell),
        _padded(row),
        _padded(counts.pair),
        _padded(context),
        _padded(outcome),
        kind,
        np.append(pool, 0.0),
        blank,
    )


def _padded(count: Floats) -> Floats:
    return np.concatenate([count, np.zeros((1, count.shape[1]))])


class Bases(NamedTuple):
    """What rows lean on, by cell."""

    own: Floats  # q_k(o | a), the component's shorter context
    shorter: Floats  # q_k(o)
    pool: Floats  # [cell, 1]


def bases_of(tables: Tables, places: Places, strength: Floats) -> Bases:
    """q_k(o) and q_k(o | a) of every cell; strength[level, kind]."""
    s1, s2 = (strength[level][places.kind][:, None] for level in (1, 2))
    pool = np.where(places.outcome >= 0, tables.pool[places.outcome], tables.blank[places.kind])[:, None]
    shorter = (tables.outcome[places.outcome] + s2 * pool) / (tables.kind[places.kind] + s2)
    own = (tables.pair[places.pair] + s1 * shorter) / (tables.context[places.context] + s1)
    return Bases(own, shorter, pool)


def leaned(tables: Tables, places: Places, base: Floats, strength: Floats) -> Floats:
    """p_k(o | a, b) of every cell, [cell, component]."""
    s0 = strength[0][places.kind][:, None]
    return np.asarray((tables.cell[places.cell] + s0 * base) / (tables.row[places.row] + s0))


def probabilities(tables: Tables, places: Places, strength: Floats) -> Floats:
    """p_k(o | a, b) of every cell by all three levels."""
    return leaned(tables, places, bases_of(tables, places, strength).own, strength)


def learn_strengths(levels: Levels, tables: Tables, strength: Floats, n_steps: int = 2) -> Floats:
    """Strengths of the levels, 2 first, by steps of Minka's fixed point of the Dirichlet-multinomial."""
    strength = strength.copy()
    pool = np.repeat(tables.pool[:-1, None], tables.kind.shape[1], axis=1)
    strength[2] = fixed_point(
        (tables.outcome[:-1], pool, levels.outcome_kind), (tables.kind, np.arange(N_KINDS)), strength[2], n_steps
    )
    kind = levels.context_kind[levels.pair_context]
    s2 = strength[2][levels.outcome_kind][:, None]
    shorter = (tables.outcome[:-1] + s2 * pool) / (tables.kind[levels.outcome_kind] + s2)
    above = shorter[levels.pair_outcome]
    rows = (tables.context[:-1], levels.context_kind)
    strength[1] = fixed_point((tables.pair[:-1], above, kind), rows, strength[1], n_steps)
    s1 = strength[1][kind][:, None]
    own = ((tables.pair[:-1] + s1 * above) / (tables.context[levels.pair_context] + s1))[levels.cell_pair]
    rows = (tables.row[:-1], levels.context_kind[levels.row_context])
    strength[0] = fixed_point((tables.cell[:-1], own, kind[levels.cell_pair]), rows, strength[0], n_steps)
    return strength


def fixed_point(
    cells: tuple[Floats, Floats, Ints], rows: tuple[Floats, Ints], strength: Floats, n_steps: int
) -> Floats:
    """s <- s (sum of m (psi(N + s m) - psi(s m))) / (sum of psi(N + s) - psi(s)), within bounds."""
    for _ in range(n_steps):
        up = chains.strength_terms(*cells, strength)
        down = chains.total_terms(*rows, strength)
        new = strength * np.divide(up, down, out=np.ones_like(up), where=down > 0)
        strength = np.clip(new, WEAKEST, STRONGEST)
    return strength
