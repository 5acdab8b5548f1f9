"""Starting points for EM on mixtures of trees."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from ...forest.content_rows import Wanted
from ...forest.forest import Forest
from ...forest.trees import Trees
from ..patterns.transformer import TreePatterns
from .content_starts import with_content

STARTS = ("patterns", "kmeans", "random")
# M-steps with the clusters of the start held fixed, before EM or sampling proper.
START_STEPS = 3
PATTERN_STEPS = 30  # the same from clusters of patterns, where all components start alike
N_DIRECTIONS, N_TRIES = 50, 10  # of patterns, that k-means sees; and its starts


def pattern_start(
    forest: Forest,
    n_slots: int,
    n_clusters: int,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
    wanted: tuple[Wanted, ...] = (),
) -> NDArray[np.int64]:
    """Clusters of the trees by k-means on the main directions of their patterns; by slots where no two share one.

    Columns of content that are wanted count beside the patterns.
    """
    features = pattern_features(forest, rng)
    if features is None:
        return cluster_start(forest, n_slots, n_clusters, rng, weight, wanted)
    return cluster_features(with_content(features, forest, wanted), n_clusters, rng, weight, N_TRIES)


def pattern_features(forest: Trees, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Rows of length one: tf-idf of the patterns that two trees or more have, on 50 singular directions.

    None where no two trees share a pattern.
    """
    seed = int(rng.integers(2**31 - 1))
    rows = TreePatterns(weighting="tfidf", norm="l2").fit_transform(forest)
    if min(rows.shape) <= N_DIRECTIONS:
        return np.asarray(rows.toarray()) if rows.shape[1] else None
    with threadpool_limits(1):  # so that the last digit does not depend on the machine's cores
        left, value, _ = randomized_svd(sparse.csr_matrix(rows), N_DIRECTIONS, random_state=seed)
    return np.asarray(normalize(left * value))


def cluster_start(
    forest: Forest,
    n_slots: int,
    n_clusters: int,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
    wanted: tuple[Wanted, ...] = (),
) -> NDArray[np.int64]:
    """Clusters of the trees by k-means on square roots of relative (slot, label) counts, and on wanted content.

    The square root makes the Euclidean distance Hellinger's, which suits proportions.
    """
    features = with_content(hellinger_features(forest, n_slots), forest, wanted)
    return cluster_features(features, n_clusters, rng, weight, N_TRIES if wanted else 1)


def cluster_features(
    features: Any,
    n_clusters: int,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
    n_tries: int = 1,
) -> NDArray[np.int64]:
    """Clusters of rows by k-means, the best of some k-means++ starts; some may stay empty."""
    from sklearn.cluster import KMeans  # not at the top: it imports much, and some fits begin otherwise

    seed = int(rng.integers(2**31 - 1))
    means = KMeans(n_clusters=min(n_clusters, features.shape[0]), init="k-means++", n_init=n_tries, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # rows so short that threads only wait for each other
        # Fewer distinct trees than clusters leave clusters empty, which is what the caller expects.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return means.fit_predict(features, sample_weight=weight).astype(np.int64)


def hellinger_features(forest: Trees, n_slots: int) -> Any:
    """Square roots of relative (slot, label) counts, one sparse row per tree, one column for each pair in use."""
    features = sparse.vstack([_pair_features(part, n_slots) for part in forest.parts()], format="csr")
    used, column = np.unique(features.indices, return_inverse=True)
    small = column.astype(np.int32), features.indptr.astype(np.int32)  # for KMeans
    return sparse.csr_array((features.data, *small), shape=(features.shape[0], len(used)))


def _pair_features(forest: Forest, n_slots: int) -> Any:
    """As `hellinger_features`, with a column for each pair there might be."""
    label = np.where(forest.label < 0, forest.n_labels, forest.label).astype(np.int64)
    slot = np.where(forest.slot < 0, n_slots, np.minimum(forest.slot, n_slots - 1)).astype(np.int64)
    column = slot * (forest.n_labels + 1) + label
    start = forest.tree_start.copy()  # a copy, because sum_duplicates writes into it
    shape = (forest.n_trees, (n_slots + 1) * (forest.n_labels + 1))
    counts = sparse.csr_array((np.ones(forest.n_nodes), column, start), shape=shape)
    counts.sum_duplicates()
    counts.data = np.sqrt(counts.data / np.repeat(forest.sizes, np.diff(counts.indptr)))
    return counts
