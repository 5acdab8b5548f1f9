"""What groups of patterns return for trees: groups, probabilities, scores, novelty, and the surprise of nodes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ...forest.forest import Forest
from ...inference.diagnostics import NEW_GROUP
from ..assignments import Assignments
from ..forest_estimator import ForestEstimator
from . import fitted as ft
from .fitted import Model, Sums
from .marginals import PartitionPrior
from .node_surprise import node_surprise
from .table import Known
from .transformer import TreePatterns, share_of_unseen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Novelty(NamedTuple):
    """How new a tree is."""

    p_value: Floats  # [tree]: share of the trees of its group that fit the group no better
    unseen_share: Floats  # [tree]: share of its patterns that the model has no column for


class PatternReader(ForestEstimator):
    """Estimator with fitted groups of patterns; subclasses fit them."""

    n_components: int | None
    prior: Any
    patterns_: TreePatterns
    pattern_count_: Any
    group_size_: Ints
    share_: Floats
    strengths_: Floats
    power_: float
    concentration_: float
    left_out_: Floats
    left_out_label_: Ints

    @property
    def model_(self) -> Model:
        """The fitted numbers together."""
        check_is_fitted(self, "group_size_")
        sums = Sums(self.pattern_count_, self.group_size_)
        prior = PartitionPrior(self.prior, self.concentration_)
        family = self.patterns_.table.family_of_columns()
        return Model(sums, self.share_, family, self.strengths_, self.power_, prior)

    def _known(self, X: Any) -> Iterator[Known]:
        check_is_fitted(self, "group_size_")
        return self.patterns_.known(self.patterns_._in_my_terms(X))

    def _scores(self, known: Known, model: Model) -> Floats:
        """Log prior weight plus weighted log predictive of each group, and of a new one last; [tree, group + 1]."""
        return model.weight * ft.log_predictive(model, ft.rows_of(known.counts, model)) + ft.log_seats(model)

    def predict(self, X: Any, new_groups: bool = False) -> Ints:
        """Most probable group of each tree; with `new_groups`, -1 where a group of its own is more probable.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        new_groups : bool, default False
            Whether trees may be of no group found.

        Returns
        -------
        ndarray of int
            The most probable value of each.
        """
        out = []
        for known in self._known(X):
            score = self._scores(known, self.model_)
            best = score[:, :-1].argmax(axis=1)
            if new_groups:
                best = np.where(score[:, -1] > score[:, :-1].max(axis=1), NEW_GROUP, best)
            out.append(best.astype(np.int64))
        return np.concatenate(out)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log posterior of the group of each tree among those found, [tree, group]; nothing is rounded to zero."""
        out = []
        for known in self._known(X):
            score = self._scores(known, self.model_)[:, :-1]
            out.append(score - logsumexp(score, axis=1, keepdims=True))
        return np.concatenate(out)

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the group of each tree among those found, [tree, group]."""
        return np.exp(self.predict_log_proba(X))

    def assign(self, X: Any) -> Assignments:
        """Group, probabilities and log predictive score of each tree; patterns are counted once."""
        model = self.model_
        score = np.concatenate([self._scores(known, model) for known in self._known(X)])
        own = score[:, :-1]
        log_proba = own - logsumexp(own, axis=1, keepdims=True)
        return Assignments(own.argmax(axis=1).astype(np.int64), np.exp(log_proba), self._total(score))

    def map_codes(self, forest: Forest, training: bool = False) -> tuple[Any, str]:
        return self.patterns_.transform(forest), "the patterns of the trees"

    def score_samples(self, X: Any) -> Floats:
        """Log predictive score of the known patterns of each tree, a new group included if their number is learnt.

        The logarithm of sum_k P(group k) p(patterns | group k) ^ weight, with weight = power / number of families: a
        score to compare trees and models by, and no density of trees.
        """
        return np.concatenate([self._total(self._scores(known, self.model_)) for known in self._known(X)])

    def _total(self, score: Floats) -> Floats:
        last = None if self.n_components is None else -1
        return np.asarray(logsumexp(score[:, :last], axis=1) - logsumexp(ft.log_seats(self.model_)[:last]))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(self._check_trees(X)).mean())

    def novelty(self, X: Any) -> Novelty:
        """How new each tree is: a p-value within its group, and the share of its patterns never met.

        The p-value is the rank of the tree's log predictive per pattern among those of the group's own trees, each left
        out of its group; small where the tree fits worse than they do.
        """
        p_value, unseen = [], []
        model = self.model_
        for known in self._known(X):
            rows = ft.rows_of(known.counts, model)
            score = ft.log_predictive(model, rows)
            label = (model.weight * score + ft.log_seats(model))[:, :-1].argmax(axis=1)
            own = ft.per_pattern(score[np.arange(len(score)), label], rows)
            p_value.append(ft.p_values(np.maximum(own, -1e300), label, self.left_out_, self.left_out_label_))
            unseen.append(share_of_unseen(known))
        return Novelty(np.concatenate(p_value), np.concatenate(unseen))

    def node_surprise(self, X: Any) -> Floats:
        """How much rarer the patterns of each node are in the group of its tree than in all trees.

        Parameters
        ----------
        X : Forest or trees
            The trees; each is looked at in the group that `predict` gives it.

        Returns
        -------
        array of shape (n_nodes,)
            Log ratio of the background to the group, in nats: the mean over families of the mean over the patterns
            that start at the node.  Below zero where the group has them more often.  A pattern that is in no column
            gets the most its family can get.  Trees of the fit are counted in their own groups.

        Examples
        --------
        >>> from arbora import PatternMixture
        >>> model = PatternMixture(2, random_state=0).fit([("a", ["b", "c"])] * 5 + [("d", ["e", "e", "f"])] * 5)
        >>> surprise = model.node_surprise([("a", ["b", ("d", ["e"])])])  # children come before their parents
        >>> [round(x, 1) for x in surprise.tolist()]
        [-0.6, 2.2, 2.1, 1.8]
        """
        check_is_fitted(self, "group_size_")
        forest = self.patterns_._in_my_terms(X)
        out = [np.zeros(0)]
        for part in forest.parts():
            known = next(self.patterns_.known(part))
            label = self._scores(known, self.model_)[:, :-1].argmax(axis=1)
            out.append(node_surprise(part, self.patterns_.table, self.model_, label))
        return np.concatenate(out)
