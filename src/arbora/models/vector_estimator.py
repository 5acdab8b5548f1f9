"""What every estimator over arrays shares: validation, scaling, chains, the trace read level by level, files.

A subclass names its settings in ``__init__`` (those of `SETTINGS` among them), runs a sampler whose draws hold
``levels``, int32 [level, datum] from coarse to fine, and sets `level_labels_`.
"""

import hashlib
import logging
import os
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..errors import ChainsDisagreeWarning, RowsError, warn
from ..evaluate.hierarchy import Hierarchy
from ..inference import diagnostics
from ..inference.chains import Sampler, Trace
from .file_checks import check_array, check_texts, check_whole
from .model_file import SavedEstimator, plain, settings_text, versions
from .rows import FARTHEST, Columns, measure, read_rows, tell_changed, tell_constant, units
from .sampled import ENDING, DrawnPartitions, central_draw, check_ending, sample_chains, spread_out
from .settings import MOST_CHAINS, check_choice, check_count, check_number

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scaling = Literal["columns", "common"] | None
Estimate = Literal["least_squares", "vi", "best"]

#: Settings that a run has beside those of its model; a checkpoint does not depend on them.
SETTINGS = (*ENDING, "burn_in", "thin", "n_chains", "n_jobs", "checkpoint", "random_state", "verbose")
MOST_COMPARED = 100  # draws among which a point estimate is sought


class OutsidePosterior(NamedTuple):
    """A level on which the point estimate has fewer or more groups than nearly all draws have."""

    level: int  # index of `level_labels_`
    n_groups: int  # of the point estimate
    interval: tuple[int, int]  # of the posterior of their number
    sentence: str


class VectorEstimator(ClusterMixin, SavedEstimator):
    """A scikit-learn estimator that sorts the rows of an array into a hierarchy by Markov chains.

    Rows are centred and, by `scaling`, brought to one scale before a model sees them: ``"columns"`` gives each column
    variance one, ``"common"`` divides all by one number so that the mean variance is one, and None only centres.  The
    model lives in that space; densities that users see are in the units of their data.

    Columns that never change, or by no more than rounding, leave the model: a fit without them is the same.
    `varying_columns_` are the others.  Rows that are all the same are one group on every level.
    """

    #: Level that `labels_` and `predict` speak of, an index of `level_labels_`.
    _label_level: ClassVar[int] = 0
    #: Saved by every model over arrays; subclasses add theirs.
    _common: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "columns_",
        "varying_columns_",
        "names_",
        "offset_",
        "unit_",
        "level_labels_",
        "log_joint_",
        "provenance_",
    )
    level_labels_: Ints
    varying_columns_: Ints

    def _remember(self, settings: dict[str, Any]) -> None:
        """Keep the arguments of ``__init__``, given as its ``locals()``, under their names, as scikit-learn has it."""
        for name, value in settings.items():
            if name != "self":
                setattr(self, name, value)

    def takes_missing(self) -> bool:
        """Whether cells may be missing."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_missing()
        return tags

    # ---- rows in, numbers of the model out ----------------------------------------------------------------------

    def _take(self, X: Any) -> Floats:
        """Rows of the training set, checked, centred and scaled, without columns that never change; remembers how.

        Where no column changes, the first stands for all, and the rows are zeros.
        """
        rows = read_rows(self, X, reset=True, missing=self.takes_missing())
        columns = measure(rows)
        self._note_columns(X, len(rows), columns)
        scaling = self._scaling_for(columns.spread[columns.varies])
        check_choice("scaling", scaling, ("columns", "common", None))
        self.offset_, self.unit_ = columns.mean, units(columns, scaling)
        self._record_provenance(rows)
        inside = self._inward(rows)
        return inside if columns.varies.any() else np.where(np.isnan(inside), np.nan, 0.0)

    def _note_columns(self, X: Any, n_rows: int, columns: Columns) -> None:
        """Keep the names of rows and columns, and which columns the model looks at."""
        index = getattr(X, "index", None)
        self.columns_: list[str] | None = [str(name) for name in getattr(self, "feature_names_in_", [])] or None
        self.names_ = [str(n) for n in (range(n_rows) if index is None or callable(index) else index)]
        self.varying_columns_ = np.flatnonzero(columns.varies) if columns.varies.any() else np.zeros(1, np.int64)
        if n_rows > 1:
            tell_constant(columns.varies, self.columns_)

    def _scaling_for(self, spread: Floats) -> Any:
        """The scaling asked for; a model may have one of its own accord, by the deviations of columns that vary."""
        return getattr(self, "scaling", None)

    def _give(self, X: Any) -> Floats:
        """Rows to predict for, checked against the training set, in the space of the model."""
        check_is_fitted(self)
        given = read_rows(self, X, reset=False, missing=self.takes_missing())
        tell_changed(given, self.offset_, self.varying_columns_, self.columns_)
        with np.errstate(over="ignore"):
            rows = self._inward(given)
        near = np.abs(rows) < FARTHEST
        if self.takes_missing():
            near |= np.isnan(given[:, self.varying_columns_])
        far = np.flatnonzero(~near.all(axis=1))
        if len(far):
            raise RowsError(
                f"row {far[0]} is {FARTHEST:g} times farther from the training rows than these are from each other; "
                f"wanted rows of the same kind: check their units"
            )
        return rows

    def _inward(self, rows: Floats) -> Floats:
        """Rows in the space of the model: the columns that vary, centred and scaled."""
        inside = self.varying_columns_
        return np.ascontiguousarray((rows[:, inside] - self.offset_[inside]) / self.unit_[inside])

    def _log_unit(self) -> float:
        """log of the volume of a unit cell of the model in units of the data: what a log density loses going out."""
        return float(np.log(self.unit_).sum())

    def _record_provenance(self, rows: Floats) -> None:
        self.provenance_: dict[str, Any] = {
            "model": type(self).__name__,
            "params": {key: plain(value) for key, value in self.get_params(deep=False).items()},
            "n_rows": rows.shape[0],
            "n_columns": rows.shape[1],
            "data_sha256": hashlib.sha256(rows.tobytes()).hexdigest(),
            **versions(),
        }

    # ---- running chains -----------------------------------------------------------------------------------------

    def _check_run(self) -> None:
        """Raise unless the settings of the run make sense."""
        for name in ("n_iter", "thin"):
            check_count(name, getattr(self, name))
        check_count("n_chains", self.n_chains, MOST_CHAINS)
        check_ending(self)
        burn_in = getattr(self, "burn_in", None)
        if burn_in is not None:
            check_number("burn_in", burn_in, 0, self.n_iter - 1)

    def _sample(self, sampler: Sampler[Any], warn: bool = True) -> Trace:
        """Run the chains in threads, keep their trace as `trace_`, and warn if they disagree on a level."""
        self.trace_ = trace = sample_chains(self, sampler, self._fingerprint(), threads=True)
        if warn:
            self._warn_of_chains()
        return trace

    def _fingerprint(self) -> str:
        """What a checkpoint belongs to: the rows and every setting that shapes the chain."""
        return f"{settings_text(self, SETTINGS)}; rows {self.provenance_['data_sha256'][:16]}"

    def _warn_of_chains(self) -> None:
        if self.trace_.n_chains < 2 or self.trace_.n_draws < 4 or len(self.names_) < 2:
            return
        reports = [self.chain_report(level) for level in range(self.draws().shape[2])]
        for level, report in enumerate(reports):
            if not report.agree:
                where = f"level {level + 1}: " if len(reports) > 1 else ""
                warn(where + report.verdict, ChainsDisagreeWarning)
                return

    @property
    def settled_(self) -> bool | None:
        """Whether the chains ended because they had settled on every level; None where they were not asked to."""
        check_is_fitted(self, "trace_")
        return self.trace_.settled

    # ---- the posterior, level by level --------------------------------------------------------------------------

    def draws(self, level: int | None = None) -> NDArray[np.int32]:
        """Groups of the kept draws, [chain, draw, level, datum], or of one level, [chain, draw, datum].

        Parameters
        ----------
        level : int or None, default None
            Level, 0 the coarsest; None is that of `labels_`.

        Returns
        -------
        ndarray of int
            Groups of the kept draws.
        """
        check_is_fitted(self, "trace_")
        levels = self.trace_.stack("levels")
        return levels if level is None else levels[:, :, level]

    def _drawn(self, level: int | None) -> DrawnPartitions:
        """The draws of a level, by default that of `labels_`."""
        labels = self.draws(self._label_level if level is None else level)
        return DrawnPartitions(labels, self.trace_.info["log_joint"][:, self.trace_.draw_sweep])

    def co_clustering(self, level: int | None = None) -> Floats:
        """How often two rows share a group, [datum, datum]; by default on the level of `labels_`.

        Parameters
        ----------
        level : int or None, default None
            Level, 0 the coarsest; None is that of `labels_`.

        Returns
        -------
        ndarray of float
            How often two data share a group.
        """
        return self._drawn(level).co_clustering()

    def n_groups_posterior(self, level: int | None = None) -> diagnostics.GroupCount:
        """Posterior of the number of groups; by default on the level of `labels_`.

        Parameters
        ----------
        level : int or None, default None
            Level, 0 the coarsest; None is that of `labels_`.

        Returns
        -------
        GroupCount
            Posterior of the number of groups.
        """
        return self._drawn(level).n_groups()

    def estimate_outside_posterior(self) -> list[OutsidePosterior]:
        """Levels on which the point estimate has a number of groups outside the 95% interval of its own posterior.

        An estimate of least expected loss joins what the draws do not separate for sure, so it may have fewer groups
        than any draw.  Each entry has a `sentence` that says so.
        """
        check_is_fitted(self, "level_labels_")
        found = [
            outside_posterior(level, labels, self.n_groups_posterior(level))
            for level, labels in enumerate(self.level_labels_)
        ]
        return [one for one in found if one is not None]

    def chain_report(self, level: int | None = None) -> diagnostics.ChainReport:
        """Whether the chains agree on a level, in words and figures; by default on the level of `labels_`.

        Parameters
        ----------
        level : int or None, default None
            Level, 0 the coarsest; None is that of `labels_`.

        Returns
        -------
        ChainReport
            Whether the chains agree, in words and figures.
        """
        return self._drawn(level).report()

    def point_estimate(self, level: int | None = None, loss: diagnostics.Loss = "vi") -> diagnostics.PointEstimate:
        """The partition of least expected loss on one level; those of two levels need not be nested.

        Parameters
        ----------
        level : int or None, default None
            Level, 0 the coarsest; None is that of `labels_`.
        loss : {"vi", "binder"}, default "vi"
            Loss between partitions.

        Returns
        -------
        PointEstimate
            The partition and its expected loss.
        """
        return self._drawn(level).point_estimate(loss)

    def _choose_draw(self, how: Estimate) -> tuple[int, int]:
        """(chain, draw) that stands for all: "best" has the highest log joint, the others the least expected loss."""
        joint = self.trace_.info["log_joint"][:, self.trace_.draw_sweep]
        if how == "best":
            chain, draw = np.unravel_index(np.argmax(joint), joint.shape)
            return int(chain), int(draw)
        levels = self.draws()
        n_chains, n_draws = levels.shape[:2]
        flat = levels.reshape(n_chains * n_draws, *levels.shape[2:])
        pick = spread_out(len(flat), MOST_COMPARED)
        chosen = pick[central_draw(flat[pick], "vi" if how == "vi" else "binder")]
        return int(chosen // n_draws), int(chosen % n_draws)

    def _check_estimate(self) -> None:
        check_choice("estimate", getattr(self, "estimate", "least_squares"), ("least_squares", "vi", "best"))

    def path_probability(self, X: Any) -> Floats | None:
        """How sure a row is of its group on every level given the tree alone, [level, row]; None if unknown."""
        return None

    # ---- results ------------------------------------------------------------------------------------------------

    @property
    def labels_(self) -> Ints:
        """Group of each training row, 0, 1, ... by decreasing size."""
        check_is_fitted(self, "level_labels_")
        return np.asarray(self.level_labels_[self._label_level])

    @property
    def hierarchy_(self) -> Hierarchy:
        """The point estimate as a tree of groups."""
        check_is_fitted(self, "level_labels_")
        return Hierarchy.from_levels(self.level_labels_, names=self.names_)

    def fit_predict(self, X: Any, y: Any = None, **settings: Any) -> Ints:
        """Fit, and give the groups of the training rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The rows.
        y : None
            Ignored.
        **settings : object
            Further settings.

        Returns
        -------
        ndarray of int
            Group of each row.
        """
        return self.fit(X).labels_

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self._check_settings()
        check_whole("n_features_in_", self.n_features_in_, 1)
        if self.columns_ is not None:
            check_texts("columns_", self.columns_, self.n_features_in_)
            self.feature_names_in_ = np.array(self.columns_, object)
        check_texts("names_", self.names_)
        n = len(self.names_)
        check_array("level_labels_", self.level_labels_, np.int64, (None, n), 0, n - 1)
        self._check_columns()
        check_array("offset_", self.offset_, np.float64, (self.n_features_in_,))
        check_array("unit_", self.unit_, np.float64, (self.n_features_in_,), 1e-300)
        if not self.level_labels_.size or self.hierarchy_.n_data != n:  # which looks whether levels are nested
            raise ValueError("there are no rows or levels")
        return self

    def _check_columns(self) -> None:
        """Raise unless the columns of the model are some of the data's; files of earlier versions have all."""
        if self.varying_columns_ is None:
            self.varying_columns_ = np.arange(self.n_features_in_)
        check_array("varying_columns_", self.varying_columns_, np.int64, (None,), 0, self.n_features_in_ - 1)
        if not len(self.varying_columns_) or (np.diff(self.varying_columns_) <= 0).any():
            raise ValueError("varying_columns_ are not some of the columns in their order")

    def _check_settings(self) -> None:
        """Raise on impossible settings."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; the trace has a `save` of its own.

        Parameters
        ----------
        path : path
            File to write.
        """
        super().save(path)


def outside_posterior(level: int, labels: Ints, count: diagnostics.GroupCount) -> OutsidePosterior | None:
    """What is to be said of a level of the point estimate beside the posterior of its number of groups, if anything."""
    n_groups, (low, high) = len(np.unique(labels)), count.interval
    if low <= n_groups <= high:
        return None
    many = f"{n_groups} group{'' if n_groups == 1 else 's'}"
    why = "it joins what the draws do not divide in one way" if n_groups < low else "it divides more than the draws do"
    sentence = (
        f"level {level + 1}: the point estimate has {many}, outside the {100 * count.level:g}% interval of their "
        f"posterior, {low} to {high}: {why}"
    )
    return OutsidePosterior(level, n_groups, (low, high), sentence)
