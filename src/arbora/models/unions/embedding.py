"""UnionEmbedding: all trees in one union, node indicators of each, then clustering (Torsello and Hancock 2003)."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...forest.forest import Forest
from ...progress import Progress
from ..edit import pairwise
from ..edit.matrix_clustering import MatrixClustering
from ..edit.trees import bare
from ..file_checks import check_array
from ..settings import check_choice, check_number, n_threads
from .node_codes import CODES, Code, CodeName, make_code
from .packed import UnionStore
from .search import Agglomeration, start_store
from .union_content import N_SUMS
from .working_union import Samples, Union, check_entries, collect_samples, single

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class UnionEmbedding(MatrixClustering):
    """Merge all trees into one union, describe each tree by the nodes of the union that it has, and cluster these
    vectors.

    The union is built as in `TreeUnionMixture`, best pair first, but merging stops only when one union is left.  A new
    tree is matched to the union as it is; nodes without a counterpart are left out of its vector.

    Parameters
    ----------
    n_clusters, method
        As in `TreeEditClustering`, with the number of nodes in which two vectors differ as distance.
    labels : bool, default False
        Whether labels of nodes count in a match.
    code : {"ml", "kt"}, default "kt"
        Code of the description length that decides which trees are merged first.
    node_cost : float, default 1.0
        Nats for a node of the union.
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
    node_prob_ : ndarray
        Share of the trees that have each node of the union.
    parent_ : ndarray
        Parent of each node of the union.
    medoid_ : ndarray
        Number of the most central tree of each cluster.

    References
    ----------
    Torsello and Hancock (2003), Learning mixtures of tree-unions by minimizing description length.

    Examples
    --------
    >>> from arbora import UnionEmbedding
    >>> trees = [("a", ["b"] * k) for k in (4, 5, 6)] + [("a", [("b", [("b", ["b"])])])] * 3
    >>> UnionEmbedding(2, random_state=0).fit(trees).labels_.shape
    (6,)
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "labels_", "medoid_", "n_clusters_", "vector_", "tree_id_"),
        *("parent_", "node_prob_", "union_", "label_share_", "trees_", "provenance_"),
    )

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        method: pairwise.Method = "spectral",
        labels: bool = False,
        code: CodeName = "kt",
        node_cost: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.labels = labels
        self.code = code
        self.node_cost = node_cost
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Merge all trees and cluster their vectors; y is ignored."""
        forest = self._check_fit(X)
        samples = collect_samples(forest, self.labels)
        known = forest.label[forest.label >= 0] if self.labels else np.zeros(0, np.int64)
        share = np.bincount(known, minlength=forest.n_labels) + 0.5  # new trees may have labels that no tree here has
        self.label_share_ = share / share.sum() if self.labels else np.zeros(0)
        union = self._unite(samples)
        vector = np.zeros((len(samples.weight), union.n_nodes), np.bool_)
        sizes = np.diff(samples.start)[union.member]
        vector[np.repeat(union.member, sizes), union.node_match] = True
        distance = hamming(vector, vector)[np.ix_(samples.sample_id, samples.sample_id)]
        self.vector_, self.tree_id_ = vector, samples.sample_id
        self.parent_ = np.where(union.parent == union.n_nodes, -1, union.parent)
        self.node_prob_ = union.node_count / union.n_assigned
        self.union_ = {key: getattr(union, key) for key in ("node_count", "entry", "entry_count")}
        self._cluster(forest, distance)
        return self

    def _unite(self, samples: Samples) -> Union:
        """One union of all trees, the best pair first."""
        code = self._code(int(samples.weight.sum()))
        store = UnionStore(code, n_threads=n_threads(self.n_jobs))
        start_store(samples, code, store)
        n = len(samples.weight)
        merging = Agglomeration(store, list(range(n)), 0.0)
        with Progress("merging all trees", n - 1, self._progress) as bar:
            while merging.step(-np.inf):
                bar.advance()
        return merging.unions[0]

    def _code(self, n_samples: int) -> Code:
        return make_code(self.code, n_samples, self.node_cost, label_prior=self.label_share_ if self.labels else None)

    def _check_settings(self) -> None:
        """Raise on impossible settings."""
        super()._check_settings()
        check_number("node_cost", self.node_cost, 1e-9, 1e9)
        check_choice("code", self.code, CODES)

    # ---- trees as vectors ---------------------------------------------------------------------------------------

    def _check_labels(self) -> None:
        """Raise if labels count now and did not in training, or the other way round."""
        fitted = len(self.label_share_) > 0
        if bool(self.labels) != fitted and self.vocabulary_:
            raise SettingError(f"labels={self.labels!r}, but it was fitted with labels={fitted}; fit a new model")

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        self._check_labels()  # the file could not be read
        return super()._pack()

    def _vectors(self, X: Any) -> NDArray[np.bool_]:
        """The nodes of the union that each tree has: those of the fit for an equal tree, else by a new matching."""
        check_is_fitted(self, "vector_")
        self._check_labels()
        old = self._training()
        both = Forest.concat([old, bare(self._forest_in_training_terms(X))])
        samples = collect_samples(both, self.labels)
        n_nodes = self.vector_.shape[1]
        out = np.zeros((len(samples.weight), n_nodes), np.bool_)
        known = np.zeros(len(samples.weight), np.bool_)
        known[samples.sample_id[: old.n_trees]] = True
        out[samples.sample_id[: old.n_trees]] = self.vector_[self.tree_id_]
        store = UnionStore(self._code(old.n_trees + 1), n_threads=n_threads(self.n_jobs))
        store.add(self._fitted_union(old.n_trees))
        once = samples._replace(weight=np.ones_like(samples.weight))
        for t in np.flatnonzero(~known):
            store.add(single(once, int(t), len(self.label_share_)))
            out[t, store.match(0, len(store) - 1).pairs[:, 0]] = True
        return out[samples.sample_id[old.n_trees :]]

    def _fitted_union(self, n_assigned: int) -> Union:
        parent = np.where(self.parent_ < 0, len(self.parent_), self.parent_)
        nobody = np.zeros(0, np.int64)
        count, entry, entry_count = (self.union_[key] for key in ("node_count", "entry", "entry_count"))
        nothing = np.zeros((len(parent), 0, N_SUMS))
        return Union(parent, count, n_assigned, entry, entry_count, nobody, nobody, nothing)

    def transform(self, X: Any) -> Floats:
        """Vector of each tree: 1 for the nodes of the union it has, 0 for the others."""
        return self._vectors(X).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "vector_")
        return np.array([f"node{i}" for i in range(self.vector_.shape[1])], object)

    def predict(self, X: Any) -> Ints:
        """The cluster of a tree with the same vector, else the one nearest on average."""
        return pairwise.assign(hamming(self._vectors(X), self.vector_[self.tree_id_]), self.labels_)

    def distances(self, rows: Ints, others: Ints) -> Floats:
        """Nodes of the union in which some trees of the fit differ from some others of it.

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
        vector = self.vector_[self.tree_id_]
        return hamming(vector[rows], vector[others])

    def _check_content(self, n_trees: int) -> None:
        n, n_labels = len(self.parent_), len(self.vocabulary_) if self.labels else 0
        check_array("vector_", self.vector_, np.bool_, (None, n))
        check_array("tree_id_", self.tree_id_, np.int64, (n_trees,), 0, len(self.vector_) - 1)
        check_array("parent_", self.parent_, np.int64, (n,), -1, n - 1)
        check_array("node_prob_", self.node_prob_, np.float64, (n,), 0.0, 1.0)
        check_array("label_share_", self.label_share_, np.float64, (n_labels,), 1e-300, 1.0)
        if ((self.parent_ >= 0) & (self.parent_ <= np.arange(n))).any():
            raise ValueError("the order of the union is damaged")
        if n_labels and not np.isclose(self.label_share_.sum(), 1.0):
            raise ValueError("the shares of the labels do not sum to one")
        union = self._fitted_union(n_trees)
        check_array("union_.node_count", union.node_count, np.int64, (n,), 1, n_trees)
        if not np.array_equal(self.vector_[self.tree_id_].sum(axis=0), union.node_count):
            raise ValueError("the counts of the nodes are not those of the trees")
        check_entries(union, n_labels)


def hamming(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> Floats:
    """In how many places each row of a differs from each row of b."""
    one, two = a.astype(np.float64), b.astype(np.float64)
    return np.asarray(one.sum(axis=1)[:, None] + two.sum(axis=1) - 2.0 * one @ two.T)
