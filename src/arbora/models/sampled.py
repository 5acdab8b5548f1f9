"""Sampled: what is read off the chains of a model, the same for all models that have some."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..errors import ChainsDisagreeWarning, warn
from ..inference import diagnostics
from ..inference.chains import Sampler, Trace, run_chains
from ..inference.settling import Settled
from ..inference.stability import Stability, group_stability
from ..seeds import resolve_seed
from .settings import check_choice, check_number

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Seating(NamedTuple):
    """State of a chain over partitions: the group of each tree, 0, 1, ..., and the concentration."""

    label: Ints
    concentration: float


class DrawnPartitions(NamedTuple):
    """The kept draws of a partition, and their log joint."""

    label: NDArray[Any]  # [chain, draw, datum]
    log_joint: Floats  # [chain, draw]

    def n_groups(self) -> diagnostics.GroupCount:
        """Posterior of the number of groups."""
        return diagnostics.n_groups_posterior(self.label)

    def co_clustering(self) -> Floats:
        """How often two data share a group, [datum, datum]."""
        return diagnostics.co_clustering_matrix(self.label)

    def point_estimate(self, loss: diagnostics.Loss) -> diagnostics.PointEstimate:
        """The partition of least expected loss."""
        return diagnostics.point_estimate(self.label, loss=loss, random_state=0)

    def report(self) -> diagnostics.ChainReport:
        """Whether the chains agree."""
        return diagnostics.check_chains(self.label, log_joint=self.log_joint)


#: Settings that say when chains end.
ENDING = ("n_iter", "until", "max_time")


def check_ending(model: Any) -> None:
    """Raise unless the settings that say when chains end make sense."""
    check_choice("until", model.until, ("settled", "n_iter"))
    if model.max_time is not None:
        check_number("max_time", model.max_time, 0.0, np.inf)


def rule_of(model: Any, settles: bool = True) -> Settled | None:
    """The rule that ends the chains of a model, by its settings; None where they run all sweeps."""
    agree = settles and model.until == "settled" and model.n_chains > 1
    return Settled(max_time=model.max_time, agree=agree) if agree or model.max_time is not None else None


class Sampled:
    """Mixin of a model of trees with chains: `trace_` holds draws of ``label``, `labels_` the groups found."""

    trace_: Trace
    labels_: Ints

    @property
    def settled_(self) -> bool | None:
        """Whether the chains ended because they had settled; None where they ran all sweeps by request."""
        check_is_fitted(self, "trace_")
        return self.trace_.settled

    def _drawn(self) -> DrawnPartitions:
        check_is_fitted(self, "trace_")
        joint = self.trace_.info["log_joint"][:, self.trace_.draw_sweep]
        return DrawnPartitions(np.asarray(self.trace_.stack("label"), np.int64), joint)

    def _groups_of_drawn(self) -> Ints:
        """Groups found of the trees that the draws are of."""
        return self.labels_

    def draws(self) -> Ints:
        """Labels of the kept draws, [chain, draw, tree], called after the groups of `labels_` they overlap most.

        Groups without a counterpart there get numbers from n_components_ on; `diagnostics.align_labels` aligns the
        labels of another fit of the same trees in the same way.
        """
        return diagnostics.align_labels(self._drawn().label, self._groups_of_drawn())

    def n_groups_posterior(self) -> diagnostics.GroupCount:
        """Posterior of the number of groups."""
        return self._drawn().n_groups()

    def co_clustering(self) -> Floats:
        """How often two trees share a group, [tree, tree]."""
        return self._drawn().co_clustering()

    def point_estimate(self, loss: Literal["vi", "binder"] = "vi") -> diagnostics.PointEstimate:
        """The partition of least expected loss under the draws.

        Parameters
        ----------
        loss : {"vi", "binder"}, default "vi"
            Loss between partitions.

        Returns
        -------
        PointEstimate
            The partition and its expected loss.
        """
        return self._drawn().point_estimate(loss)

    def stability(self, labels: ArrayLike | None = None) -> Stability:
        """How well each group of the trees, as `labels_` has them or others, is found again in all chains.

        Parameters
        ----------
        labels : array of shape (n_fitted_trees,) or None, default None
            Another partition, as ``cut(n)``.

        Returns
        -------
        Stability
            One row per group.
        """
        return group_stability(self._groups_of_drawn() if labels is None else labels, self._drawn().label)

    def chain_report(self) -> diagnostics.ChainReport:
        """Whether the chains agree, in words and figures."""
        return self._drawn().report()

    def _warn_of_chains(self) -> None:
        """Warn if there are several chains and they disagree."""
        if self.trace_.n_chains < 2 or self.trace_.n_draws < 4:
            return
        report = self.chain_report()
        if not report.agree:
            warn(report.verdict, ChainsDisagreeWarning)


def sample_chains(
    model: Any,
    sampler: Sampler[Any],
    fingerprint: str,
    *,
    rng: np.random.Generator | None = None,
    threads: bool = False,
    settles: bool = True,
) -> Trace:
    """Run the chains of a model by its settings; without a whole number as seed they draw from `rng`.

    Half of the sweeps that are run are burn-in, unless the settings give a number.  Chains that cannot settle run to
    their budget.
    """
    until = rule_of(model, settles)
    fixed = model.n_iter // 2 if model.burn_in is None else model.burn_in
    seed = model.random_state
    trace = run_chains(
        sampler,
        n_chains=model.n_chains,
        n_sweeps=model.n_iter,
        burn_in=fixed if until is None else model.burn_in,
        thin=min(model.thin, model.n_iter - fixed),
        until=until,
        seed=int(seed) if isinstance(seed, (int, np.integer)) else resolve_seed(seed) if rng is None else rng,
        n_jobs=model.n_jobs,
        threads=threads,
        checkpoint=model.checkpoint,
        fingerprint=fingerprint,
        progress=bool(model.verbose) if not threads else True if model.verbose else None,
    )
    if trace.n_draws == 0:
        raise KeyboardInterrupt("interrupted before the first draw was kept; nothing to report")
    return trace


def spread_out(n: int, most: int) -> Ints:
    """At most `most` of 0..n - 1, evenly apart."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def central_draw(levels: ArrayLike, loss: diagnostics.Loss = "binder") -> int:
    """The draw of [draw, level, datum] closest to all on average, the loss summed over levels.

    With Binder's loss it is the draw nearest in least squares to the co-occurrence matrices of all levels.
    """
    draws = np.asarray(levels)
    each = [diagnostics.expected_losses(draws[:, level], loss) for level in range(draws.shape[1])]
    return int(np.sum(each, axis=0).argmin())
