"""What is read off a fitted mixture of label chains: groups within groups, and the posterior of the partition."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...inference import diagnostics
from ...inference.chains import Trace
from ..merging import GroupsWithinGroups, Merges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GroupReader(GroupsWithinGroups):
    """Hierarchy of groups and draws of the partition; a mixin of the estimator."""

    labels_: Ints
    n_components_: int
    names_: list[str] | None
    merge_pair_: Ints
    merge_gain_: Floats
    log_posterior_: Floats
    trace_: Trace

    # ---- groups within groups -----------------------------------------------------------------------------------

    def merges(self) -> Merges:
        """Merges of components, best first: which, what each gains in log marginal, and what is left."""
        check_is_fitted(self, "merge_pair_")
        return Merges(self.merge_pair_, self.merge_gain_, self.log_posterior_)

    # ---- the posterior of the partition -------------------------------------------------------------------------

    def draws(self) -> Ints:
        """Labels of the kept draws, [chain, draw, tree], called after the groups of `labels_` they overlap most."""
        check_is_fitted(self, "trace_")
        return diagnostics.align_labels(self.trace_.stack("label"), self.labels_)

    def n_components_posterior(self) -> Any:
        """Posterior of the number of groups."""
        return diagnostics.n_groups_posterior(self._flat_draws())

    def co_clustering(self) -> Floats:
        """How often two trees share a group, [tree, tree]."""
        return diagnostics.co_clustering_matrix(self._flat_draws())

    def point_estimate(self, loss: Literal["vi", "binder"] = "vi") -> Any:
        """The partition of least expected loss under the draws."""
        return diagnostics.point_estimate(self._flat_draws(), loss=loss, random_state=0)

    def chain_report(self) -> Any:
        """Whether the chains agree, in words and figures."""
        check_is_fitted(self, "trace_")
        sweeps = self.trace_.draw_sweep
        return diagnostics.check_chains(self.trace_.stack("label"), log_joint=self.trace_.info["log_joint"][:, sweeps])

    def _flat_draws(self) -> Ints:
        check_is_fitted(self, "trace_")
        labels = self.trace_.stack("label")
        return labels.reshape(-1, labels.shape[-1])
