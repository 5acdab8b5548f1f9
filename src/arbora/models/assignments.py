"""Where trees belong and how probable they are: computed once, for tables, summaries, pages and criteria alike."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Assignments(NamedTuple):
    """Groups of trees as a fitted model sees them.

    Attributes
    ----------
    labels : group of each tree; -1 is a group never seen.
    proba : probability of each group, [tree, group]; None of a model that has none.
    log_likelihood : of each tree, -inf where no group explains it; None of a model that has none.
    new_group : whether the last column of `proba` is a group never seen.
    """

    labels: Ints
    proba: Floats | None = None
    log_likelihood: Floats | None = None
    new_group: bool = False

    def take(self, trees: Any) -> Self:
        """The same of some trees."""
        proba, score = self.proba, self.log_likelihood
        return self._replace(
            labels=self.labels[trees],
            proba=None if proba is None else proba[trees],
            log_likelihood=None if score is None else score[trees],
        )

    def aic(self, n_parameters: int) -> float:
        """Akaike information criterion of a model with so many parameters on these trees, lower is better."""
        return -2.0 * self._total() + 2.0 * n_parameters

    def bic(self, n_parameters: int) -> float:
        """Bayesian information criterion of a model with so many parameters on these trees, lower is better."""
        return -2.0 * self._total() + n_parameters * float(np.log(len(self.labels)))

    def _total(self) -> float:
        if self.log_likelihood is None:
            raise ValueError("a model without a likelihood has no information criterion")
        return float(self.log_likelihood.sum())
