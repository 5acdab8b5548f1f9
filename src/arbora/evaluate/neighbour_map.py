"""Trees on a plane such that near ones stay near: a neighbour embedding of codes, in seconds for 10,000 trees.

A graph joins each distinct row to its nearest ones, near ones the more; points start at the principal plane, move along
the edges, and away from points drawn at random (McInnes, Healy and Melville 2018).  One thread and a generator of its
own: the same rows and seed give the same places.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .kernels.neighbour_map import settle

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_NEIGHBOURS = 15
N_EPOCHS = 300
MOST_STEPS = 60_000_000  # edges times epochs; of more edges, fewer epochs
_HALVINGS = 40


def neighbour_map(rows: Floats, start: Floats, seed: int = 0) -> Floats:
    """Two coordinates for each row; equal rows have equal ones.

    Parameters
    ----------
    rows : array, [row, column]
        What distances are of, as the first principal components.
    start : array, [row, 2]
        Where points start.
    seed : int

    Returns
    -------
    array, [row, 2]

    Examples
    --------
    >>> rows = np.repeat(np.eye(3), 20, axis=0) + np.random.default_rng(0).normal(0, 0.01, (60, 3))
    >>> place = neighbour_map(rows, rows[:, :2])
    >>> within = np.linalg.norm(place[:20] - place[:20].mean(axis=0), axis=1).max()
    >>> bool(within < np.linalg.norm(place[:20].mean(axis=0) - place[20:40].mean(axis=0)))
    True
    """
    _, first, inverse = np.unique(rows.round(9), axis=0, return_index=True, return_inverse=True)
    order = np.sort(first)  # by first appearance, and not by value
    rank = np.searchsorted(order, first)[inverse.reshape(-1)]
    if len(order) < 4:
        return np.asarray(start, np.float64)
    head, tail, weight = _edges(rows[order])
    place = np.asarray(start, np.float64)[order]
    spread = np.abs(place - place.mean(axis=0)).max()
    place = 10.0 * (place - place.mean(axis=0)) / max(float(spread), 1e-12)
    place += np.random.default_rng(seed).normal(0.0, 1e-3, place.shape)  # no two in one place
    n_epochs = int(np.clip(MOST_STEPS // max(len(head), 1), 30, N_EPOCHS))
    kept = weight >= weight.max() / n_epochs
    settle(place, head[kept], tail[kept], weight.max() / weight[kept], n_epochs, seed)
    return np.asarray(place[rank])


def _edges(rows: Floats) -> tuple[Ints, Ints, Floats]:
    """Both ends and weight of each edge, in both directions: the chance that either end finds the other near."""
    from sklearn.neighbors import NearestNeighbors

    n, k = len(rows), min(N_NEIGHBOURS, len(rows) - 1)
    search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(rows)
    distance, near = search.kneighbors(rows)
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True  # a row crowded out by equal distances
    distance, near = distance[~own].reshape(n, k), near[~own].reshape(n, k)
    beyond = np.maximum(distance - distance[:, :1], 0.0)
    share = np.exp(-beyond / _scales(beyond, float(np.log2(max(k, 2))))[:, None])
    graph: Any = sp.csr_array((share.reshape(-1), (np.repeat(np.arange(n), k), near.reshape(-1))), shape=(n, n))
    both = (graph + graph.T - graph.multiply(graph.T)).tocoo()
    return both.row.astype(np.int64), both.col.astype(np.int64), np.asarray(both.data, np.float64)


def _scales(beyond: Floats, wanted: float) -> Floats:
    """The scale of each row at which the shares of its neighbours add up to so much."""
    low, high = np.zeros(len(beyond)), np.full(len(beyond), np.inf)
    scale = np.maximum(beyond.mean(axis=1), 1e-12)
    for _ in range(_HALVINGS):
        much = np.exp(-beyond / scale[:, None]).sum(axis=1) > wanted
        high, low = np.where(much, scale, high), np.where(much, low, scale)
        scale = np.where(np.isinf(high), 2.0 * scale, (low + high) / 2.0)
    return np.maximum(scale, 1e-3 * np.maximum(beyond.mean(axis=1), 1e-9))
