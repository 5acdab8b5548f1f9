"""Groups of patterns within groups: merges down to one group, one split of each group, and cuts at any number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...inference import diagnostics
from ..merging import GroupsWithinGroups
from ..settings import check_count
from . import fitted as ft
from .fitted import Merges
from .reader import PatternReader
from .splits import Splits, split_labels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CoarserAndFiner(GroupsWithinGroups, PatternReader):
    """Fitted groups of patterns, with coarser groups by merges and finer ones by splits."""

    n_components_: int
    log_posterior_: float
    split_gain_: Floats | None
    split_side_: Any

    def merges(self) -> Merges:
        """Groups merged two by two down to one, each time the pair that costs the log posterior least."""
        return ft.best_merges(self.model_, self.log_posterior_)

    def _groupings(self) -> Ints:
        """The group of each group of `labels_` after 0, 1, ... merges, [step + 1, group]."""
        steps = [np.arange(self.n_components_)]
        for stays, goes in self.merges().pair.tolist():
            steps.append(np.where(steps[-1] == goes, stays, steps[-1]))
        return np.stack(steps)

    def splits(self) -> Splits | None:
        """The best split found of each group, and what it gains in log posterior; mostly losses.

        None if the model was fitted to some of its trees alone, or trees were added or taken out since.
        """
        check_is_fitted(self, "group_size_")
        if self.split_gain_ is None or len(self.split_side_) != len(self.labels_):
            return None
        return Splits(self.split_gain_, self.split_side_)

    def cut(self, n_groups: int) -> Ints:
        """Groups of the training trees after merges down to so many, or splits up; 0, 1, ... by decreasing size.

        Each group can be split once, so there are at most about twice as many as `n_components_`.

        Parameters
        ----------
        n_groups : int
            Number of groups.

        Returns
        -------
        ndarray of int
            Group of each tree.
        """
        check_is_fitted(self, "group_size_")
        check_count("n_groups", n_groups)
        splits = self.splits()
        most = self.n_components_ + (0 if splits is None else int(np.isfinite(splits.gain).sum()))
        if n_groups > most:
            raise SettingError(f"n_groups={n_groups}; wanted at most {most}: n_components_ is {self.n_components_}")
        if n_groups <= self.n_components_ or splits is None:
            return self.merges().labels(self.labels_, n_groups)
        return diagnostics.canonical(split_labels(self.labels_, splits, n_groups - self.n_components_))
