"""What is read off a fitted mixture of label chains: groups within groups, and the posterior of the partition."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..merging import GroupsWithinGroups, Merges
from ..sampled import Sampled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GroupReader(Sampled, GroupsWithinGroups):
    """Hierarchy of groups and draws of the partition; a mixin of the estimator."""

    labels_: Ints
    n_components_: int
    names_: list[str] | None
    merge_pair_: Ints
    merge_gain_: Floats
    log_posterior_: Floats

    # ---- groups within groups -----------------------------------------------------------------------------------

    def merges(self) -> Merges:
        """Merges of components, best first: which, what each gains in log marginal, and what is left."""
        check_is_fitted(self, "merge_pair_")
        return Merges(self.merge_pair_, self.merge_gain_, self.log_posterior_)
