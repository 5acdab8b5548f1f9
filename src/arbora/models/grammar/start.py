"""A start of EM: communities of trees with like cells (note.md, section 4)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..patterns import communities
from .events import Events, Ints

Floats = NDArray[np.float64]

N_DIRECTIONS = 50  # of the cells
N_SPARE, N_POWERS = 10, 6  # columns beyond those wanted, and products, of the search for directions
MOST_TREES = 4_000  # trees that are clustered; others get their component from the first model


def directions(events: Events, n_trees: Floats, rng: np.random.Generator) -> Floats:
    """Rows of length one: sublinear tf-idf of the cells that two trees or more have, on 50 singular directions."""
    shape = (events.n_trees, len(events.key))
    values = 1.0 + np.log(events.times)
    table = sparse.csr_array((values, events.cell, events.start), shape=shape)
    used = np.bincount(events.cell, np.repeat(n_trees, np.diff(events.start)), len(events.key))
    kept = np.flatnonzero(used >= 2)
    table = table[:, kept]
    idf = np.log((1.0 + n_trees.sum()) / (1.0 + used[kept])) + 1.0
    table = _unit_rows(table @ sparse.diags_array(idf)) if len(kept) else table
    return _unit_rows(_reduced(table, n_trees, rng))


def _reduced(table: Any, n_trees: Floats, rng: np.random.Generator) -> Floats:
    """Rows on the leading singular directions of the table, each row counted as often as there are such trees.

    Directions by subspace iteration from a random subspace: a few products with a sparse matrix.
    """
    if min(table.shape) < 2:
        return np.asarray(table.toarray() if table.shape[1] else np.ones((table.shape[0], 1)), np.float64)
    scaled = (sparse.diags_array(np.sqrt(n_trees)) @ table).tocsr()
    turned = scaled.T.tocsr()
    side = rng.standard_normal((table.shape[1], min(N_DIRECTIONS + N_SPARE, *table.shape)))
    for _ in range(N_POWERS):
        side = np.linalg.qr(turned @ (scaled @ side))[0]
    small = np.linalg.svd(scaled @ side, full_matrices=False)[2][:N_DIRECTIONS]
    return np.asarray(table @ (side @ small.T))


def _unit_rows(rows: Any) -> Any:
    """Rows brought to length one; zeros stay."""
    if sparse.issparse(rows):
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sparse.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ rows
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows / np.where(length > 0, length, 1.0)


def clusters(events: Events, n_trees: Floats, weight: Floats, n_clusters: int, rng: np.random.Generator) -> Ints:
    """A cluster of each distinct tree; -1 for those that have no weight or are too many."""
    label = np.full(events.n_trees, -1, np.int64)
    some, copy = np.unique(copies(weight, rng, MOST_TREES), return_inverse=True)
    with threadpool_limits(1):  # matrices so small that threads only wait for each other
        features = directions(chosen(events, some), n_trees[some], rng)
        label[some[copy]] = communities.clusters(features[copy], n_clusters, rng)
    return label


def copies(weight: Floats, rng: np.random.Generator, most: int) -> Ints:
    """Distinct trees, each as often as it occurs: copies count.  Of many trees, so many drawn at random."""
    if weight.sum() > most:
        return np.repeat(np.arange(len(weight)), rng.multinomial(most, weight / weight.sum()))
    times = np.where(weight > 0, np.maximum(np.rint(weight), 1), 0)
    return np.repeat(np.arange(len(weight)), times.astype(np.int64))


def chosen(events: Events, tree: Ints) -> Events:
    """The events of these trees."""
    length = np.diff(events.start)[tree]
    start = np.append(0, np.cumsum(length))
    entry = np.repeat(events.start[:-1][tree] - start[:-1], length) + np.arange(start[-1])
    return Events(events.key, start, events.cell[entry], events.times[entry], events.tail[tree])
