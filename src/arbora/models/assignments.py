"""Where trees belong and how probable they are: computed once, for tables, summaries, pages and criteria alike."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..frames import frame

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

    def to_frame(self, names: Sequence[str] | None = None, library: str = "pandas") -> Any:
        """One row per tree, as a data frame: its group, how probable that is, its log-likelihood.

        Parameters
        ----------
        names : sequence of str or None, default None
            Names of the trees, such as `Forest.name`.
        library : {"pandas", "polars"}, default "pandas"
            Library of the data frame.

        Returns
        -------
        DataFrame
            With `names` as index in pandas, and as the column ``name`` in polars.
        """
        columns: dict[str, Any] = {"cluster": self.labels}
        if self.proba is not None:
            at = np.where(self.labels < 0, self.proba.shape[1] - 1, self.labels)
            columns["probability"] = np.take_along_axis(self.proba, at[:, None], axis=1)[:, 0]
        if self.log_likelihood is not None:
            columns["log_likelihood"] = self.log_likelihood
        return frame(columns, library, None if names is None else [str(name) for name in names])

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
