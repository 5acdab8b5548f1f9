"""Where chains of hierarchies start: cuts of a Ward tree, in room for so many children."""

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import KMeans

from ...inference import diagnostics
from .sampler import Start

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_LINKED = 2000  # data; beyond it an agglomerative tree joins k-means centres instead
N_CENTRES = 200
N_START_LEAVES = 20


def ward_start(X: Floats, depth: int, branching: int, seed: int) -> Start:
    """Cuts of a Ward tree in geometric steps down to about twenty leaves, each leaf a component of its own.

    A node of a finite tree has room for `branching` children: the last takes in all that are too many.
    """
    rows, home = X, np.arange(len(X))
    if len(X) > MOST_LINKED:
        means = KMeans(N_CENTRES, n_init=1, random_state=seed).fit(X)
        rows, home = means.cluster_centers_, means.labels_
    if len(rows) < 2:
        return Start(np.zeros((len(X), depth), np.int64), np.zeros(len(X), np.int64))
    n_leaves = min(max(len(rows) // 2, 2), N_START_LEAVES)
    wanted = [max(2, round(n_leaves ** ((level + 1) / depth))) for level in range(depth)]
    path = crowded(diagnostics.cut_levels(linkage(rows, "ward"), wanted).T[home], branching)
    _, component = np.unique(path, axis=0, return_inverse=True)
    return Start(path, component.reshape(-1).astype(np.int64))


def crowded(path: Ints, branching: int) -> Ints:
    """Children of each node numbered from 0 as they appear; beyond `branching`, if not 0, all share the last number."""
    number: dict[tuple[int, ...], dict[int, int]] = {}
    found = np.zeros(path.shape, np.int64)
    for n, row in enumerate(path):
        key: tuple[int, ...] = ()
        for level, group in enumerate(row):
            seen = number.setdefault(key, {})
            last = branching - 1 if branching else len(path)
            child = seen.setdefault(int(group), min(len(seen), last))
            found[n, level] = child
            key = (*key, child)
    return found
