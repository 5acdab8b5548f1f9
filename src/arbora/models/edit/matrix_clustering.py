"""What clusterings of a square matrix of distances between trees share: settings, clusters, medoids, files."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ...seeds import resolve_seed
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator
from ..settings import check_count, n_threads
from . import pairwise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MatrixClustering(ClusterMixin, TransformerMixin, ForestEstimator):
    """Trees clustered by a matrix of their distances; the trees are kept, to compare new ones with."""

    n_clusters: int | None
    method: pairwise.Method
    n_jobs: int | None
    random_state: Any
    verbose: int
    trees_: dict[str, Any]

    def _check_settings(self) -> None:
        """Raise on impossible settings."""
        if self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters)
        pairwise.check_method(self.method)
        n_threads(self.n_jobs)

    def _check_fit(self, X: Any) -> Forest:
        """The trees to cluster, if settings and trees will do."""
        self._check_settings()
        forest = self._check_forest(X)
        if self.n_clusters is not None and self.n_clusters > forest.n_trees:
            raise SettingError(f"n_clusters={self.n_clusters} of {forest.n_trees} trees; wanted no more than trees")
        return forest

    @property
    def _progress(self) -> bool | None:
        return True if self.verbose else None

    def _cluster(self, forest: Forest, distance: Floats) -> None:
        """Cluster the matrix and keep what new trees are compared with."""
        seed = int(resolve_seed(self.random_state).integers(2**31))
        self.labels_ = pairwise.cluster_distances(distance, self.method, self.n_clusters, seed)
        self.medoid_ = pairwise.medoids(distance, self.labels_)
        self.n_clusters_ = len(self.medoid_)
        self.vocabulary_ = forest.vocabulary
        self.trees_ = dict(zip(("parent", "slot", "label", "tree_start"), forest.arrays, strict=True))
        self._record_provenance(forest)

    def _training(self) -> Forest:
        """The trees of the fit."""
        check_is_fitted(self, "trees_")
        return Forest(**self.trees_, vocabulary=self.vocabulary_)

    def medoids(self) -> Forest:
        """The most central tree of each cluster."""
        return self._training().take(self.medoid_)

    def distances(self, rows: Ints, others: Ints) -> Floats:
        """Distances of some trees of the fit to some others of it."""
        raise NotImplementedError

    def map_codes(self, forest: Forest, training: bool = False) -> tuple[Any, str]:
        if not training:
            return super().map_codes(forest)
        return self.distances(np.arange(forest.n_trees), self.medoid_), "the distances to the medoids"

    def _check_content(self, n_trees: int) -> None:
        """Raise unless what a file holds besides the trees fits them."""
        raise NotImplementedError

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self._check_settings()
        n = self._training().n_trees  # the constructor of Forest checks the trees
        check_array("medoid_", self.medoid_, np.int64, (None,), 0, n - 1)
        clusters = np.arange(len(self.medoid_))
        check_array("labels_", self.labels_, np.int64, (n,), 0, len(clusters) - 1)
        if len(clusters) != self.n_clusters_ or not np.array_equal(self.labels_[self.medoid_], clusters):
            raise ValueError("labels and medoids do not fit the trees")
        self._check_content(n)
        return self
