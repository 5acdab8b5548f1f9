"""What is read off a fitted mixture of label chains: groups within groups, and the posterior of the partition."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import SettingError
from ...evaluate.hierarchy import Hierarchy
from ...inference import diagnostics
from ...inference.chains import Trace
from .merging import Merges, groupings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class GroupReader:
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

    @property
    def hierarchy_(self) -> Hierarchy:
        """The training trees in groups within groups: levels of 2, 3, ... groups, down to all components in use."""
        check_is_fitted(self, "merge_pair_")
        steps = groupings(self.merge_pair_, self.n_components_)[::-1][1:]  # coarse to fine, below the root
        levels = [group[self.labels_] for group in steps]
        kept = [x for x, level in enumerate(levels) if len(np.unique(level)) > (1 if x == 0 else _n(levels[x - 1]))]
        table = np.stack([levels[x] for x in kept]) if kept else np.empty((0, len(self.labels_)), np.int64)
        return Hierarchy.from_levels(table, self.names_)

    def cut(self, n: int) -> Ints:
        """Groups of the training trees after merging down to n of them, 0, 1, ... by decreasing size."""
        check_is_fitted(self, "merge_pair_")
        n_used = _n(self.labels_)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= n_used:
            raise SettingError(f"cut: n={n!r}; wanted a whole number from 1 to {n_used}, the components in use")
        for group in groupings(self.merge_pair_, self.n_components_):
            if _n(group[self.labels_]) <= n:
                return diagnostics.canonical(group[self.labels_])
        raise SettingError(f"cut: n={n!r}; there is no such level")

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


def _n(level: Ints) -> int:
    return len(np.unique(level))
