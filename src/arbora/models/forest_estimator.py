"""What every estimator over forests shares: checking of input, saving and loading, provenance."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..errors import ForestError
from ..evaluate.metrics import slot_label_counts
from ..files.kinds import is_store
from ..forest.forest import Forest, as_forest
from ..forest.node_columns import UNSEEN
from ..forest.store import ForestStore
from ..forest.trees import Trees
from .assignments import Assignments
from .file_checks import check_texts
from .model_file import SavedEstimator, versions

log = logging.getLogger(__name__)
SomeTrees = TypeVar("SomeTrees", bound=Trees)

MOST_NAMED = 100_000  # trees whose names a fitted model keeps for its hierarchy


class ForestEstimator(SavedEstimator):
    """A scikit-learn estimator whose samples are trees; subclasses name what they save."""

    vocabulary_: Any

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: samples are trees, given as dicts or by paths, and not rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = True
        tags.no_validation = True
        tags.non_deterministic = hasattr(self, "random_state")
        return tags

    def _check_forest(self, X: Any, at_least: int = 1) -> Forest:
        """X as a Forest: one as it is, nested trees converted, files and stores read."""
        return self._enough(read_or_convert(X), at_least)

    def _check_trees(self, X: Any, at_least: int = 1) -> Trees:
        """As `_check_forest`, but a store, or the path of one, is not read into memory."""
        return self._enough(open_or_convert(X), at_least)

    def _enough(self, trees: SomeTrees, at_least: int) -> SomeTrees:
        if trees.n_trees < at_least:
            raise ForestError(
                f"{type(self).__name__}: {trees.n_trees} trees; wanted at least {at_least}: check what was read"
            )
        return trees

    def _tell_of_content(self, trees: Trees, what: str, read: str | None = None) -> None:
        """Say which columns of content this model, which reads only `what`, leaves out: all but `read`."""
        left = [name for name in trees.content_kinds if name != read]
        if left:
            log.warning(
                "%s reads %s; the content of nodes in %s is not read", type(self).__name__, what, ", ".join(left)
            )

    def _forest_in_training_terms(self, X: Any) -> Forest:
        """X with labels numbered as in training, in memory."""
        check_is_fitted(self, "vocabulary_")
        return self._renumbered(self._check_forest(X, at_least=0))

    def _in_training_terms(self, X: Any) -> Trees:
        """X with labels numbered as in training; a store is not read into memory."""
        check_is_fitted(self, "vocabulary_")
        return self._renumbered(self._check_trees(X, at_least=0))

    def _renumbered(self, trees: SomeTrees) -> SomeTrees:
        """The trees over the vocabulary of training; labels that are not in it are reported."""
        known = trees.with_vocabulary(self.vocabulary_)
        n_unseen = known.n_unseen() - trees.n_unseen()  # those marked before are not new
        if n_unseen:
            message = "%d of %d nodes have labels never seen in training; the model learnt nothing of these labels"
            log.warning(message, n_unseen, trees.n_nodes)
        return known

    def assign(self, X: Any) -> Assignments:
        """Group, probabilities and log-likelihood of each tree, computed together where that is less work."""
        model: Any = self
        labels = np.asarray(model.predict(X), np.int64)
        if "probabilities" not in self.page_parts():
            return Assignments(labels)
        return Assignments(labels, model.predict_proba(X), model.score_samples(X))

    def to_frame(self, X: Any, library: str = "pandas") -> Any:
        """One row per tree, as a data frame: its group, how probable that is, its log-likelihood.

        Parameters
        ----------
        X : Forest, list of nested trees, or path
            The trees.
        library : {"pandas", "polars"}, default "pandas"
            Library of the data frame.

        Returns
        -------
        DataFrame
            With the names of the trees as index in pandas, and as the column ``name`` in polars.
        """
        forest = self._check_forest(X, at_least=0)
        return self.assign(forest).to_frame(None if forest.name is None else forest.name.tolist(), library)

    def map_codes(self, forest: Forest, training: bool = False) -> tuple[Any, str]:
        """Trees as rows of numbers, to be put on a plane, and what these are; `training` says they are the fit's.

        Parameters
        ----------
        forest : Forest
            The trees.
        training : bool, default False
            Whether these are the trees of the fit.

        Returns
        -------
        tuple[Any, str]
            Codes of the trees, and what they are.
        """
        encoder: Any = self.tree_encoder()
        if encoder is None:
            return slot_label_counts(forest), "counts of labels by place"
        if "sparse_output" not in encoder.get_params():
            return encoder.transform(forest), "the codes of the model"
        before = encoder.sparse_output
        try:
            codes = encoder.set_params(sparse_output=True).transform(forest)
        finally:
            encoder.set_params(sparse_output=before)
        return sparse.csr_array(codes), "the codes of the model"

    def _record_provenance(self, forest: Trees) -> None:
        names = forest.name if forest.in_memory is not None and forest.n_trees <= MOST_NAMED else None
        self._tree_names = None if names is None else [str(name) for name in names]
        self.provenance_: dict[str, Any] = {
            "model": type(self).__name__,
            "params": self._plain_params(),
            "n_trees": forest.n_trees,
            "n_nodes": forest.n_nodes,
            "data_sha256": forest.sha256,
            **versions(),
        }

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Put saved attributes back."""
        super()._restore(header, arrays)
        check_texts("vocabulary_", self.vocabulary_)
        if len(set(self.vocabulary_)) != len(self.vocabulary_):
            raise ValueError("the vocabulary names a label twice")
        self.vocabulary_ = tuple(self.vocabulary_)
        return self


def unseen_by_tree(forest: Forest) -> NDArray[np.float64]:
    """How many nodes of each tree have a label never seen in training."""
    unseen = (forest.label == UNSEEN).astype(np.float64)
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    return np.bincount(tree, unseen, forest.n_trees).astype(np.float64)


def open_or_convert(X: Any) -> Trees:
    """As `read_or_convert`, but a store, or the path of one, is not read into memory."""
    if isinstance(X, ForestStore):
        return X
    return ForestStore(X) if is_store(X) else read_or_convert(X)


def read_or_convert(X: Any) -> Forest:
    """A Forest from a Forest, from a list of nested trees, or from files."""
    if isinstance(X, Forest):
        return X
    if isinstance(X, Path) or (isinstance(X, str) and (os.path.exists(X) or "://" in X or any(c in X for c in "*?["))):
        from ..io import read

        return read(X)
    if _all_files(X):
        from ..io import read

        return read(list(X))
    return as_forest(X)


def _all_files(X: Any) -> bool:
    """Whether X is a list of names of existing files, rather than of one-node trees."""
    if not isinstance(X, Sequence) or isinstance(X, (str, bytes)) or not len(X):
        return False
    return all(isinstance(x, Path) or (isinstance(x, str) and os.path.isfile(x)) for x in X)
