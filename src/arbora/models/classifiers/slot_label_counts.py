"""SlotLabelCounts: trees as counts of (slot, label) pairs, the plain encoder that others must beat."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import ForestError
from ...evaluate.metrics import slot_label_counts
from ..file_checks import check_whole
from ..forest_estimator import ForestEstimator
from ..sparse_frames import SparseFrames

MAX_COLUMNS = 5 * 10**8  # their numbers take 32 bits


class SlotLabelCounts(SparseFrames, TransformerMixin, ForestEstimator):
    """Count the nodes of each tree by slot and label.  The root has a slot of its own, the last.

    Labels that training did not see are left out.  Slots that it did not see count as the last one.

    Parameters
    ----------
    log : bool, default False
        Whether to return log(1 + count).
    sparse_output : bool, default True
        Whether `transform` returns a sparse matrix.

    Attributes
    ----------
    n_slots_ : int
        Number of slots.
    vocabulary_ : tuple of str
        The labels.

    Examples
    --------
    >>> from arbora import SlotLabelCounts
    >>> SlotLabelCounts(sparse_output=False).fit_transform([("a", ["b", "b"]), "a"]).sum(axis=1).tolist()
    [3.0, 1.0]
    """

    _saved: ClassVar[tuple[str, ...]] = ("vocabulary_", "n_slots_", "provenance_")

    def __init__(self, *, log: bool = False, sparse_output: bool = True):
        self.log = log
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the labels and slots; y is ignored."""
        forest = self._check_forest(X)
        self.vocabulary_ = forest.vocabulary
        self.n_slots_ = max(1, forest.n_slots)
        n_columns = _n_columns(self.n_slots_, forest.n_labels)
        if n_columns > MAX_COLUMNS:
            raise ForestError(
                f"{self.n_slots_} slots and {forest.n_labels} labels make {n_columns:.1e} columns, more than "
                f"{MAX_COLUMNS:.0e}; number the slots from 0 on without gaps, or merge rare labels"
            )
        self._record_provenance(forest)
        return self

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        check_whole("n_slots_", self.n_slots_, 1, 2**31 - 1)
        if _n_columns(self.n_slots_, len(self.vocabulary_)) > MAX_COLUMNS:
            raise ValueError(f"{self.n_slots_} slots and {len(self.vocabulary_)} labels make too many columns")
        return self

    def transform(self, X: Any) -> Any:
        """Counts, one row per tree; column slot * n_labels + label."""
        check_is_fitted(self, "vocabulary_")
        forest = self._forest_in_training_terms(X)
        n_columns = _n_columns(self.n_slots_, forest.n_labels)
        counts = slot_label_counts(forest, max(self.n_slots_, forest.n_slots))
        if forest.n_slots > self.n_slots_:
            counts = _pooled(counts, forest.n_slots, self.n_slots_, forest.n_labels)
        counts.resize(forest.n_trees, n_columns)
        counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
        if self.log:
            counts.data = np.log1p(counts.data)
        return self._framed(counts if self.sparse_output else counts.toarray())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "vocabulary_")
        slots = [f"slot{l}" for l in range(self.n_slots_)] + ["root"]
        return np.array([f"{slot}_label:{word}" for slot in slots for word in self.vocabulary_], object)


def _n_columns(n_slots: int, n_labels: int) -> int:
    return (n_slots + 1) * n_labels


def _pooled(counts: Any, n_have: int, n_slots: int, n_labels: int) -> Any:
    """Counts with slots from n_slots on added to the last, and the root after it."""
    slot, label = counts.indices // n_labels, counts.indices % n_labels
    slot = np.where(slot == n_have, n_slots, np.minimum(slot, n_slots - 1))
    counts.indices = slot * n_labels + label
    counts.has_canonical_format = counts.has_sorted_indices = False
    counts.sum_duplicates()
    return counts
