"""Changes of fitted groups of patterns: trees put in, trees taken out."""

import logging
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, SettingError
from ...forest.trees import Trees
from . import fitted as ft
from .fitted import Sums
from .joined_tables import add_columns, join_patterns
from .levels import CoarserAndFiner
from .transformer import TreePatterns

log = logging.getLogger(__name__)

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

        `labels_` then is of these trees: the groups that `predict` gives them.  A pattern that the model has no column
        for gets one, with its labels, if `min_trees` of these trees have it; trees that came before count as trees
        without it.  The background is computed anew then.  Strengths and power stay, and so does the background where
        no column is new.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.

        Returns
        -------
        object
            The estimator itself.
        """
        if not hasattr(self, "group_size_"):
            return self.fit(X, y)
        forest = self._check_trees(X)
        before, labels = self.model_.sums, []
        for known in self._known(forest):
            model = self.model_
            label = self._scores(known, model)[:, :-1].argmax(axis=1)
            self._set_sums(model.sums.plus(ft.rows_of(known.counts, model), label, 1))
            labels.append(label.astype(np.int64))
        self.labels_ = np.concatenate(labels)
        self._grow(forest, before)
        self.split_gain_ = self.split_side_ = None
        self.log_posterior_ = ft.log_posterior_of(self.model_)
        return self

    def _grow(self, forest: Trees, before: Sums) -> None:
        """Columns for the patterns of these trees that have none, and their counts; `before` is without the trees."""
        old = self.patterns_
        if forest.n_trees < old.min_trees:
            return
        more = TreePatterns(old.families, labels=old.labels, min_trees=old.min_trees).fit(forest)
        patterns, from_old, _ = join_patterns(old, more)
        n_new = patterns.table.n_columns - old.table.n_columns
        if not n_new:
            return
        known_words = set(self.vocabulary_)
        words = [word for word in forest.vocabulary if word not in known_words]
        log.info("%d patterns and %d labels are new; they are counted from here on", n_new, len(words))
        patterns.provenance_ = old.provenance_
        self.patterns_, self.vocabulary_ = patterns, (*self.vocabulary_, *words)
        count = add_columns([(before.count, from_old)], patterns.table.n_columns)
        family = patterns.table.family_of_columns()
        self.share_ = ft.background(count.sum(axis=0), family, len(self.strengths_))
        self._set_sums(Sums(count, before.size))
        done = 0
        for known in self._known(forest):
            rows = ft.rows_of(known.counts, self.model_)
            label = self.labels_[done : done + len(rows.start) - 1]
            self._set_sums(self.model_.sums.plus(rows, label, 1))
            done += len(label)
        self.share_ = ft.background(self.pattern_count_.sum(axis=0), family, len(self.strengths_))

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
