"""Changes of fitted groups of patterns: trees put in, trees taken out."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, SettingError
from . import fitted as ft
from .fitted import Sums
from .levels import CoarserAndFiner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Changing(CoarserAndFiner):
    """Fitted groups of patterns that trees are added to and taken out of."""

    labels_: Ints

    def _set_sums(self, sums: Sums) -> None:
        self.pattern_count_, self.group_size_ = sums
        self.n_components_ = len(sums.size)
        self.weight_ = sums.size / sums.size.sum()

    def __add__(self, other: Any) -> Self:
        """The model of the trees of both models: counts of groups that are one kind add up."""
        if not isinstance(other, Changing):
            return NotImplemented
        from .adding import add_models

        check_is_fitted(self, "group_size_")
        check_is_fitted(other, "group_size_")
        out: Self = add_models(self, other)
        return out

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Put more trees into the groups found, and count them there; fits if nothing was fitted before.

        `labels_` then is of these trees.  Patterns, strengths and power stay.
        """
        if not hasattr(self, "group_size_"):
            return self.fit(X, y)
        labels = []
        for known in self._known(self._check_trees(X)):
            model = self.model_
            label = self._scores(known, model)[:, :-1].argmax(axis=1)
            self._set_sums(model.sums.plus(ft.rows_of(known.counts, model), label, 1))
            labels.append(label.astype(np.int64))
        self.labels_ = np.concatenate(labels)
        self.split_gain_ = self.split_side_ = None
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        return self

    def remove(self, X: Any, labels: Any = None) -> Self:
        """Take trees out of the groups they are in: of `labels`, or else those that `predict` gives.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        labels : array or None, default None
            Group of each tree; None takes what `predict` returns.

        Returns
        -------
        object
            The estimator itself.
        """
        forest = self._check_trees(X)
        label = self.predict(forest) if labels is None else np.asarray(labels, np.int64)
        if label.shape != (forest.n_trees,) or label.min(initial=0) < 0 or label.max(initial=0) >= self.n_components_:
            raise SettingError(
                f"labels: wanted the group of each of {forest.n_trees} trees, 0..{self.n_components_ - 1}"
            )
        model, done = self.model_, 0
        sums = model.sums
        for known in self._known(forest):
            rows = ft.rows_of(known.counts, model)
            n = len(rows.start) - 1
            sums = sums.plus(rows, label[done : done + n], -1)
            done += n
        if (sums.size < 1).any() or (sums.count < 0).any():
            raise ArboraError("remove: a group would be left without trees, or these trees were never in it; fit again")
        self._set_sums(sums)
        self.split_gain_ = self.split_side_ = None
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        return self
