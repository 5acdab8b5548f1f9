"""Draw whole trees from a mixture of label chains."""

import logging

import numpy as np

from ...errors import ArboraError
from ...forest.forest import Forest
from ...seeds import draw_rows
from . import backoff
from .em import Chains
from .events import MAX_JUMP, N_KINDS, Alphabet, Ints
from .kernels import draw

log = logging.getLogger(__name__)

MOST_REDRAWN = 1000  # times for one tree, beyond which the model is said not to make such trees


def book_of(model: Chains, key: Ints, alphabet: Alphabet) -> draw.Book:
    """The model as the kernel reads it."""
    levels = backoff.levels_of(key, alphabet)
    tables = backoff.tables_of(levels, model.counts, alphabet)
    kinds = np.arange(N_KINDS + 1)
    n_outcomes = alphabet.n_outcomes()
    n_known = np.bincount(levels.outcome_kind, minlength=N_KINDS)
    width = alphabet.width
    return draw.Book(
        levels.row_key,
        _starts(levels.cell_row, len(levels.row_key)),
        levels.cell_key % width,
        np.ascontiguousarray(model.counts.cell),
        levels.context_key,
        _starts(levels.pair_context, len(levels.context_key)),
        levels.pair_key % width,
        np.ascontiguousarray(model.counts.pair),
        np.searchsorted(levels.outcome_kind, kinds).astype(np.int64),
        levels.outcome_key % width,
        np.ascontiguousarray(tables.outcome[:-1]),
        np.ascontiguousarray(tables.pool[:-1, None]),
        np.ascontiguousarray(model.strength),
        (n_outcomes - n_known) * tables.blank,
        n_outcomes.astype(np.int64),
    )


def _starts(owner: Ints, n: int) -> Ints:
    """Where the entries of each owner begin; owners ascend."""
    return np.searchsorted(owner, np.arange(n + 1)).astype(np.int64)


def draw_forest(
    rng: np.random.Generator,
    model: Chains,
    key: Ints,
    alphabet: Alphabet,
    vocabulary: tuple[str, ...],
    n_samples: int,
    max_nodes: int,
    redraw: bool,
) -> Forest:
    """Trees with their component as target; one that is too large is refused, or drawn again if that is asked for."""
    if not vocabulary:
        raise ArboraError("sample: the model has no labels to draw; fit it to trees with labels")
    book = book_of(model, key, alphabet)
    end, unseen, root = alphabet.end, alphabet.unseen, alphabet.root
    marks = draw.Marks(end, unseen, root, alphabet.width, MAX_JUMP, bool(alphabet.positional))
    component = draw_rows(rng, np.tile(model.weight, (n_samples, 1)))
    parts: list[tuple[Ints, Ints, Ints]] = []
    n_large = 0
    for n in range(n_samples):
        for _ in range(MOST_REDRAWN):
            how, *columns = draw.draw_tree(rng, book, marks, component[n], float(model.tau), max_nodes)
            if how == draw.DONE:
                break
            n_large += how == draw.TOO_LARGE
            if how == draw.TOO_LARGE and not redraw:
                raise ArboraError(
                    f"sample: a tree of component {component[n]} grew beyond max_nodes={max_nodes}; raise it, or set "
                    "redraw=True to draw trees given that they are not larger"
                )
            # A label never seen cannot be drawn: the trees are those of the model given that all labels are known.
        else:
            raise ArboraError(
                f"sample: {MOST_REDRAWN} trees of component {component[n]} in a row were too large or had labels never "
                "seen; raise max_nodes"
            )
        parts.append((columns[0], columns[1], columns[2]))
    if n_large:
        log.warning("sample: %d trees beyond max_nodes=%d were drawn again", n_large, max_nodes)
    return _joined(parts, component, vocabulary)


def _joined(parts: list[tuple[Ints, Ints, Ints]], component: Ints, vocabulary: tuple[str, ...]) -> Forest:
    """One forest of trees whose parents come first."""
    size = np.array([len(part[0]) for part in parts], np.int64)
    first = np.append(0, np.cumsum(size))
    parent = np.concatenate([np.where(p[0] < 0, -1, p[0] + at) for p, at in zip(parts, first[:-1], strict=True)])
    slot, label = (np.concatenate([part[x] for part in parts]) for x in (1, 2))
    tree = np.repeat(np.arange(len(size)), size)
    return Forest.from_parents(
        parent, label.astype(np.int32), slot=slot.astype(np.int32), tree=tree, vocabulary=vocabulary, target=component
    )
