"""Communities of a graph of nearest neighbours: where searches for groups of trees start (note.md, section 3).

Modularity at resolution r: (sum of weights within communities - r x what random edges of the same degrees would have
there) / sum of all weights.  Found by moves of nodes, then of communities (Blondel and others 2008).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .kernels.communities import move_nodes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESOLUTION = 2.5
NEIGHBOURS = 2.0  # times the square root of the number of rows
STEP = 1.25  # of the resolution, where more communities are wanted
TRIES = 3  # orders of the nodes; the best by modularity is kept
LEAST_SIZE = 2  # rows per community, on average, for a start
BLOCK = 500  # rows whose cosines are computed at once


def neighbour_graph(rows: Any, n_neighbours: int | None = None) -> Any:
    """Each row of length one joined to those of largest cosine; a sparse, symmetric matrix.

    An edge weighs half the cosine for each end that has the other among its neighbours.  Rows without a positive cosine
    are not joined.
    """
    n = rows.shape[0]
    k = n_neighbours or round(NEIGHBOURS * np.sqrt(n))
    k = min(k, n - 1)
    if k < 1:
        return sparse.csr_array((n, n))
    turned = rows.T.tocsr() if sparse.issparse(rows) else rows.T
    near, cosine = np.empty((n, k), np.int64), np.empty((n, k))
    for low in range(0, n, BLOCK):
        own = np.arange(low, min(low + BLOCK, n))
        block = rows[own] @ turned
        block = np.asarray(block.toarray() if sparse.issparse(block) else block)
        block[np.arange(len(own)), own] = -1.0
        near[own] = np.argpartition(-block, k - 1, axis=1)[:, :k]
        cosine[own] = np.take_along_axis(block, near[own], axis=1)
    one_way = sparse.csr_array((np.maximum(cosine, 0.0).ravel(), near.ravel(), np.arange(n + 1) * k), shape=(n, n))
    one_way.eliminate_zeros()
    both = sparse.csr_array(0.5 * (one_way + one_way.T))
    both.sort_indices()
    return both


def modularity(graph: Any, label: Ints, resolution: float) -> float:
    """Modularity of a partition of the nodes; 0 without edges."""
    degree = graph.sum(axis=1)
    total = float(degree.sum())
    if total == 0:
        return 0.0
    inside = np.bincount(label, degree) / total
    head = np.repeat(label, np.diff(graph.indptr))
    return float(graph.data[head == label[graph.indices]].sum() / total - resolution * (inside**2).sum())


def communities(graph: Any, rng: np.random.Generator, resolution: float = RESOLUTION) -> Ints:
    """The best of some partitions of the nodes by modularity; nodes without edges are one community."""
    found = [_climb(graph, rng, resolution) for _ in range(TRIES)]
    label = max(found, key=lambda one: modularity(graph, one, resolution))
    alone = np.diff(graph.indptr) == 0
    label[alone] = len(label)
    return _compact(label)


def coarse_enough(graph: Any, rng: np.random.Generator) -> Ints:
    """Communities at the first resolution, of a falling sequence, that leaves few nodes alone.

    In a small graph every node has most others for neighbours, and the usual resolution joins none of them.
    """
    resolution = RESOLUTION
    while True:
        label = communities(graph, rng, resolution)
        if resolution < 1 or (label.max() + 1) * LEAST_SIZE <= len(label):
            return label
        resolution /= STEP


def _climb(graph: Any, rng: np.random.Generator, resolution: float) -> Ints:
    """Move nodes, then make each community a node, and so on until nothing moves."""
    label = np.arange(graph.shape[0])
    while True:
        start, neighbour = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        order = rng.permutation(graph.shape[0])
        joined = _compact(move_nodes(start, neighbour, graph.data, graph.sum(axis=1), resolution, order))
        label = joined[label]
        n = int(joined.max(initial=-1)) + 1
        if n == graph.shape[0]:
            return label
        into = sparse.csr_array((np.ones(len(joined)), (np.arange(len(joined)), joined)), shape=(len(joined), n))
        graph = sparse.csr_array(into.T @ graph @ into)


def at_least(graph: Any, n: int, rng: np.random.Generator) -> Ints:
    """Communities at the first resolution, of a rising sequence, that has so many; nodes of their own if none has."""
    resolution = RESOLUTION
    n_joined = int((np.diff(graph.indptr) > 0).sum())
    while n <= n_joined + (n_joined < graph.shape[0]):  # what the highest resolutions end at
        label = communities(graph, rng, resolution)
        if label.max() + 1 >= n:
            return label
        resolution *= STEP
    return np.arange(graph.shape[0])


def joined_to(graph: Any, label: Ints, n: int) -> Ints:
    """Communities joined two by two, each time the pair that modularity gains most by, down to n."""
    label = _compact(label)
    m = int(label.max()) + 1
    into = sparse.csr_array((np.ones(len(label)), (np.arange(len(label)), label)), shape=(len(label), m))
    link = np.asarray((into.T @ graph @ into).toarray())
    degree = link.sum(axis=1)
    share = RESOLUTION / max(float(degree.sum()), 1e-300)
    gain = link - share * np.outer(degree, degree)
    new = np.arange(m)
    for _ in range(m - n):
        gain[np.tril_indices(m)] = -np.inf
        a, b = np.unravel_index(int(gain.argmax()), gain.shape)
        link[a] += link[b]
        link[:, a] += link[:, b]
        degree[a] += degree[b]
        new[new == b] = a
        kept = np.unique(new)
        gain[a, kept] = gain[kept, a] = link[a, kept] - share * degree[a] * degree[kept]
        gain[b] = gain[:, b] = -np.inf
    return _compact(new[label])


def clusters(rows: Any, n: int, rng: np.random.Generator) -> Ints:
    """So many groups of rows of length one: communities of their neighbours, joined down to the number."""
    if n >= rows.shape[0]:
        return np.arange(rows.shape[0])
    graph = neighbour_graph(rows)
    return joined_to(graph, at_least(graph, n, rng), n)


def _compact(label: Any) -> Ints:
    """Numbers 0, 1, ... in the order of the old ones."""
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
