"""TreeEditClustering: edit distances between all trees, then clustering of the matrix (Torsello and Hancock 2003)."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ..file_checks import check_array
from ..settings import check_choice, check_count, check_number
from . import pairwise
from .costs import Costs, make_costs
from .distance import all_distances
from .kernels import tree_cliques
from .learn_costs import learn_costs
from .matrix_clustering import MatrixClustering
from .trees import bare, without_labels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_COST = 1e9


class TreeEditClustering(MatrixClustering):
    """Cluster trees by their edit distances.

    The matrix of distances takes 8 bytes per pair of trees.

    Parameters
    ----------
    n_clusters : int or None, default None
        Number of clusters.  None chooses the best mean silhouette of 2 to 20, or lets dominant sets find their number.
    method : {"spectral", "average", "dominant"}, default "spectral"
        Spectral clustering, average linkage, or dominant sets, the method closest to that of Torsello and Hancock.
    ordered, labels : bool, default False and True
        Whether the order of siblings, and labels, matter; see `edit_distance`.
    costs : {"unit", "learnt"}, default "unit"
        Unit costs, or costs learnt from the changes of each label between near trees.
    rename : float, default 1.0
        Cost of another label with unit costs, where leaving a node out costs 1.
    budget : int, default 200000
        Limit of the search for each unordered distance.
    n_jobs : int or None, default None
        Threads.  The result does not depend on it.
    random_state : int, Generator or None, default None
        Seed of spectral clustering.
    verbose : int, default 0
        Whether to show a progress bar.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trees,)
        Cluster of each tree, by decreasing size.
    n_clusters_ : int
        Number of clusters.
    medoid_ : ndarray
        Number of the most central tree of each cluster; `medoids` returns the trees.
    distance_ : ndarray of shape (n_trees, n_trees)
        The distances.

    References
    ----------
    Torsello and Hancock (2003), Learning mixtures of tree-unions by minimizing description length.

    Examples
    --------
    >>> from arbora import TreeEditClustering
    >>> trees = [("a", ["b"] * k) for k in (4, 5, 6)] + [("a", [("b", [("b", ["b"])])])] * 3
    >>> TreeEditClustering(2, random_state=0).fit(trees).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "labels_", "medoid_", "distance_", "n_clusters_"),
        *("gap_cost_", "rename_cost_", "trees_", "provenance_"),
    )

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        method: pairwise.Method = "spectral",
        ordered: bool = False,
        labels: bool = True,
        costs: Literal["unit", "learnt"] = "unit",
        rename: float = 1.0,
        budget: int = tree_cliques.BUDGET,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.ordered = ordered
        self.labels = labels
        self.costs = costs
        self.rename = rename
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute all distances and cluster them; y is ignored."""
        forest = self._check_fit(X)
        known = bare(forest) if self.labels else without_labels(bare(forest))
        if self.costs == "learnt":
            costs = learn_costs(known, self.ordered, self.budget, self.n_jobs, self._progress)
        else:
            costs = make_costs(known.vocabulary, self.labels, 1.0, 1.0, self.rename)
        self.distance_ = all_distances(known, None, costs, self.ordered, self.budget, self.n_jobs, self._progress)
        self.gap_cost_, self.rename_cost_ = costs.delete, costs.rename
        self._cluster(forest, self.distance_)
        return self

    def _check_settings(self) -> None:
        """Raise on impossible settings."""
        super()._check_settings()
        check_count("budget", self.budget)
        check_number("rename", self.rename, 0.0, MOST_COST)
        check_choice("costs", self.costs, ("unit", "learnt"))
        if self.costs == "learnt" and not self.labels:
            raise SettingError("costs='learnt' needs labels=True: costs are learnt by label")

    # ---- new trees ----------------------------------------------------------------------------------------------

    def _to_training(self, X: Any, which: Ints | None = None) -> Floats:
        """Distances of new trees to those of the fit, or to some of them."""
        old = self._training()
        old = old if which is None else old.take(which)
        new = bare(self._check_forest(X, at_least=0))
        both = Forest.concat([old, new])  # the vocabulary of the fit comes first
        costs = self._costs_over(both.n_labels)
        both = both if self.labels else without_labels(both)
        found = all_distances(both, old.n_trees, costs, self.ordered, self.budget, self.n_jobs, self._progress)
        return np.ascontiguousarray(found.T)

    def _costs_over(self, n_labels: int) -> Costs:
        """The costs of the fit; what labels never seen in training cost is what an average node costs, 1."""
        gap, rename = self.gap_cost_, self.rename_cost_
        if not self.labels:
            return Costs(gap, gap, rename)
        n, n_new = len(gap), n_labels + 2 - len(gap)
        gap = np.append(gap, np.ones(n_new))
        if len(rename) > 1 and n_new:
            table = np.ones((n + n_new, n + n_new))
            table[:n, :n] = rename
            np.fill_diagonal(table, 0.0)
            rename = table
        return Costs(gap, gap, rename)

    def predict(self, X: Any) -> Ints:
        """The cluster of an equal tree of the fit, else the one nearest on average."""
        check_is_fitted(self, "labels_")
        return pairwise.assign(self._to_training(X), self.labels_)

    def transform(self, X: Any) -> Floats:
        """Distance of each tree to the medoid of each cluster."""
        check_is_fitted(self, "medoid_")
        return self._to_training(X, self.medoid_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "medoid_")
        return np.array([f"medoid{c}" for c in range(self.n_clusters_)], object)

    def distances(self, rows: Ints, others: Ints) -> Floats:
        """Distances of some trees of the fit to some others of it.

        Parameters
        ----------
        rows : sequence of int or None
            Trees to measure from.
        others : sequence of int or None
            Trees to measure to.

        Returns
        -------
        ndarray of float
            The distances.
        """
        return np.asarray(self.distance_[np.ix_(rows, others)])

    def linkage(self) -> Floats:
        """Merges of average linkage over the distances, as scipy's dendrogram draws them."""
        check_is_fitted(self, "distance_")
        return pairwise.average_linkage(self.distance_)

    def _check_content(self, n_trees: int) -> None:
        check_array("distance_", self.distance_, np.float64, (n_trees, n_trees), 0.0, 1e300)
        n = len(self.vocabulary_) + 2 if self.labels else 2
        check_array("gap_cost_", self.gap_cost_, np.float64, (n,), 0.0, MOST_COST)
        one = np.shape(self.rename_cost_) == (1, 1)
        check_array("rename_cost_", self.rename_cost_, np.float64, (1, 1) if one else (n, n), 0.0, MOST_COST)
