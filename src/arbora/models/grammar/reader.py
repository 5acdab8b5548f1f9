"""What is read off a fitted mixture of label chains: groups of trees and of groups, likelihoods, draws of trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...forest.forest import Forest
from ...seeds import resolve_seed
from ..assignments import Assignments
from ..forest_estimator import ForestEstimator
from ..merging import GroupsWithinGroups, Merges
from ..sampled import Sampled
from ..settings import check_count
from . import backoff, draw_trees
from .backoff import Counts
from .burstiness import log_likelihood, urns_of
from .em import Chains
from .events import Alphabet, distinct, events_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ChainReader(Sampled, GroupsWithinGroups, ForestEstimator):
    """Estimator with fitted label chains; the subclass fits them."""

    n_components: int | None
    n_components_: int
    positional_: bool
    weight_: Floats
    strength_: Floats
    burstiness_: float
    cell_key_: Ints
    cell_count_: Floats
    base_count_: Floats
    names_: list[str] | None
    merge_pair_: Ints
    merge_gain_: Floats
    log_posterior_: Floats

    def _alphabet(self) -> Alphabet:
        check_is_fitted(self, "weight_")
        return Alphabet(len(self.vocabulary_), self.positional_)

    def _model(self) -> Chains:
        counts = Counts(np.ascontiguousarray(self.cell_count_.T), np.ascontiguousarray(self.base_count_.T))
        return Chains(self.weight_, counts, self.strength_, self.burstiness_)

    def merges(self) -> Merges:
        """Merges of components, best first: which, what each gains in log marginal, and what is left."""
        check_is_fitted(self, "merge_pair_")
        return Merges(self.merge_pair_, self.merge_gain_, self.log_posterior_)

    def _log_joint(self, X: Any) -> Floats:
        """log P(tree, component) of every tree."""
        check_is_fitted(self, "weight_")
        forest = self._in_training_terms(X)
        alphabet, model = self._alphabet(), self._model()
        events = events_of(forest, alphabet)
        found = distinct(events)
        levels = backoff.levels_of(self.cell_key_, alphabet)
        tables = backoff.tables_of(levels, model.counts, alphabet)
        places = backoff.places_of(found.events.key, levels, alphabet)
        prob = backoff.probabilities(tables, places, model.strength)
        joint, _ = log_likelihood(urns_of(found.events, alphabet.width), prob, model.tau)
        return np.asarray((joint + np.log(model.weight))[found.tree_row] + events.tail[:, None])

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each tree: its shape, its labels and their order."""
        return _log_total(self._log_joint(X))

    def assign(self, X: Any) -> Assignments:
        """Component, probabilities and log-likelihood of each tree, by one pass through them."""
        joint = self._log_joint(X)
        return Assignments(joint.argmax(axis=1), np.exp(_log_share(joint)), _log_total(joint))

    def page_parts(self) -> frozenset[str]:
        """As for every model; a given number of components is fitted by EM, which has no chains."""
        return super().page_parts() - (frozenset() if self.n_components is None else {"sampled", "draws"})

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per tree."""
        return float(self.score_samples(self._check_trees(X)).mean())

    def predict_log_proba(self, X: Any) -> Floats:
        """Log posterior of the component of each tree."""
        return _log_share(self._log_joint(X))

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the component of each tree."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Most probable component of each tree."""
        return np.asarray(self._log_joint(X).argmax(axis=1))

    def n_parameters(self) -> int:
        """Free parameters in use: cells with an expected count of 1/2 or more, less their rows; weights."""
        check_is_fitted(self, "weight_")
        used = self.cell_count_ >= 0.5
        levels = backoff.levels_of(self.cell_key_, self._alphabet())
        rows = sum(len(np.unique(levels.cell_row[mine])) for mine in used)
        return int(used.sum()) - rows + len(self.weight_) - 1

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on these trees, lower is better."""
        forest = self._check_trees(X)
        return float(-2.0 * self.score_samples(forest).sum() + self.n_parameters() * np.log(forest.n_trees))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on these trees, lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.n_parameters())

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, max_nodes: int = 100_000, redraw: bool = False
    ) -> Forest:
        """Draw whole trees; the target of each is its component.

        A tree beyond max_nodes is refused with an error; with ``redraw=True`` it is drawn again, so that trees come
        from the model given that they are not larger.  No tree is cut.

        Parameters
        ----------
        n_samples : int, default 1
            Number of trees.
        random_state : int, Generator or None, default None
            Seed.
        max_nodes : int, default 100,000
            Most nodes of a tree.
        redraw : bool, default False
            Whether a tree that grows too large is drawn again.

        Returns
        -------
        Forest
            The trees.
        """
        check_is_fitted(self, "weight_")
        check_count("n_samples", n_samples)
        check_count("max_nodes", max_nodes)
        rng = resolve_seed(random_state)
        key, alphabet = self.cell_key_, self._alphabet()
        return draw_trees.draw_forest(
            rng, self._model(), key, alphabet, self.vocabulary_, n_samples, max_nodes, bool(redraw)
        )


def _log_total(joint: Floats) -> Floats:
    """log P(tree) from log P(tree, component)."""
    top = joint.max(axis=1, initial=-np.inf)
    return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))


def _log_share(joint: Floats) -> Floats:
    """log P(component | tree) from log P(tree, component)."""
    below = joint - joint.max(axis=1, initial=-np.inf)[:, None]
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))
