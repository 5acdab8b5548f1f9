"""One tree for all draws of hierarchies (Huang et al. 2021)."""

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from ...inference import diagnostics

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_JOINED = 5000  # data; beyond it a draw stands for all, since a consensus takes memory for all pairs


def consensus(draws: NDArray[np.int32], rows: Floats | None = None) -> Ints:
    """One tree for all draws: Ward linkage of how often two data part ways and how far apart they lie, cut by levels.

    `draws` is [draw, level, datum].  Let a datum be the vector that has a one for each node it passes in each draw:
    the squared distance of two data is the share of levels and draws on which they are apart, and Ward's criterion the
    variance of these vectors within groups, least squares as in Binder's loss.  To it comes the squared distance of
    the `rows`, in units of its mean: which groups share a node higher up the draws hardly say, nearness does.
    """
    n_levels, n_data = draws.shape[1:]
    if n_data < 2:
        return np.zeros((n_levels, n_data), np.int64)
    together = np.zeros((n_data, n_data))
    for level in range(n_levels):
        together += diagnostics.co_clustering_matrix(np.ascontiguousarray(draws[:, level])) / n_levels
    apart = squareform(np.maximum(1.0 - together, 0.0), checks=False)
    if rows is not None:
        far = pdist(rows, "sqeuclidean")
        apart += far / (far.mean() or 1.0)
    return cut_by_draws(linkage(np.sqrt(apart), "ward"), draws)


def cut_by_draws(tree: Floats, draws: NDArray[np.int32]) -> Ints:
    """Cut a linkage once for each level, at the least expected variation of information from that level of the draws.

    Nodes are at most as many as the median draw has on that level, so the first level stays coarse where the draws do
    not agree on it; and no fewer than on the level above, so levels are nested.  A group that the draws never divide
    is not divided: rows near it would have no place.
    """
    found: list[Ints] = []
    for level in range(draws.shape[1]):
        of_level = np.ascontiguousarray(draws[:, level])
        above = int(found[-1].max()) + 1 if found else 1
        most = int(np.median(diagnostics.canonical(of_level).max(axis=1))) + 1
        cuts = diagnostics.cut_levels(tree, np.arange(above, max(above, most) + 1))
        losses = [diagnostics.compare_to_draws(cut, of_level).mean() for cut in cuts]
        found.append(cuts[int(np.argmin(losses))])
    return np.array(found)


def least_expected_vi(draws: NDArray[np.int32]) -> Ints:
    """The partition of least expected variation of information on each level, each cut along the level above."""
    found: list[Ints] = []
    for level in range(draws.shape[1]):
        labels = diagnostics.point_estimate(np.ascontiguousarray(draws[:, level]), loss="vi", random_state=0).labels
        if found:
            _, labels = np.unique(np.column_stack([found[-1], labels]), axis=0, return_inverse=True)
        found.append(labels.reshape(-1).astype(np.int64))
    return np.array(found)
