"""Starting points for EM on mixtures of trees."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..forest import Forest

STARTS = ("kmeans", "random")


def cluster_start(forest: Forest, n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Clusters of the trees by k-means on square roots of relative (slot, label) counts.

    The square root makes the Euclidean distance Hellinger's, which suits proportions; few iterations are enough,
    because EM goes on from here.
    """
    features = hellinger_features(forest)
    seed = int(rng.integers(2**31 - 1))
    means = KMeans(n_clusters=min(n_clusters, forest.n_trees), init="k-means++", n_init=1, random_state=seed)
    with warnings.catch_warnings():
        # Fewer distinct trees than clusters leave clusters empty, which is what the caller wants to see.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return means.fit_predict(features).astype(np.int64)


def hellinger_features(forest: Forest) -> Any:
    """Square roots of relative (slot, label) counts, a sparse row a tree."""
    n_labels = forest.n_labels + 1
    label = np.where(forest.label < 0, forest.n_labels, forest.label).astype(np.int64)
    slot = np.where(forest.slot < 0, forest.n_slots, forest.slot).astype(np.int64)
    shape = (forest.n_trees, (forest.n_slots + 1) * n_labels)
    counts = sparse.csr_array((np.ones(forest.n_nodes), slot * n_labels + label, forest.tree_start.copy()), shape=shape)
    counts.sum_duplicates()
    counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # for KMeans
    counts.data = np.sqrt(counts.data / np.repeat(forest.sizes, np.diff(counts.indptr)))
    return counts
