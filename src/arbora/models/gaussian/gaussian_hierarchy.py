"""What DPGaussianMixture and NHCM share: settings of the prior, fitting, and prediction for rows never seen."""

import logging
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...errors import RowsError, SettingError
from ...inference import diagnostics
from ...inference.diagnostics import NEW_GROUP
from ..file_checks import check_array
from ..rows import FARTHEST, read_rows
from ..sampled import spread_out
from ..settings import check_choice, check_gamma, check_integer, check_number
from ..vector_estimator import MOST_COMPARED, VectorEstimator
from . import sampler as gs
from . import stream as st
from .kernels import blocks as bl
from .kernels import nested_gaussian as ng
from .missing_cells import Cells, by_pattern, expected_blocks, posterior_cells
from .sequential import Sequential, Weights

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Ranges of what is learnt: scale0 (1 is the variance of a column), kappa0 and spread.
LOW, HIGH = np.array([1e-4, 1e-3, 1e-1]), np.array([10.0, 10.0, 10.0])


class GaussianHierarchy(Sequential):
    """Clusters of Gaussian data with a normal-inverse-Wishart prior; subclasses say which hierarchy."""

    _saved: ClassVar[tuple[str, ...]] = (
        *VectorEstimator._common,
        *("concentration_", "scales_", "base_", "count_", "mean_", "scatter_", "cluster_"),
        *("missing_cells_", "missing_mean_", "missing_deviation_"),
    )
    _saved_if_there: ClassVar[tuple[str, ...]] = ("stream_",)

    count_: Ints  # [sub-cluster]
    mean_: Floats  # [sub-cluster, column], in the space of the model
    scatter_: Floats  # [sub-cluster, column, column], lower triangle
    cluster_: Ints  # [sub-cluster]
    concentration_: Floats  # [2]: of clusters, of sub-clusters
    scales_: Floats  # [3]: factor of base_, kappa0, spread
    base_: Floats  # [column, column]
    missing_cells_: Ints  # [cell, 2]: row and column
    missing_mean_: Floats  # [cell], in the units of the data
    missing_deviation_: Floats  # [cell]

    def takes_missing(self) -> bool:
        return True

    # ---- settings -----------------------------------------------------------------------------------------------

    def _prior(self) -> int:
        raise NotImplementedError

    def _concentrations(self) -> tuple[float, float]:
        raise NotImplementedError

    def _spread(self) -> float | None:
        return 0.0

    def _check_settings(self) -> None:
        self._check_run()
        self._check_estimate()
        check_number("novelty", self.novelty, 0.0, 1.0)
        if self.kappa0 is not None:
            check_number("kappa0", self.kappa0, 1e-9, 1e9)
        check_integer("n_split_merge", self.n_split_merge, 0, 10**6)
        check_integer("n_start", self.n_start, 1, 10**6)
        check_choice("init", self.init, ("kmeans", "sequential", "one"))
        check_gamma("concentration_prior", self.concentration_prior)

    def _setting(self, n_columns: int) -> gs.GibbsSettings:
        """The prior in the space of the model, from the settings."""
        dof0 = n_columns + 2.0 if self.dof0 is None else self.dof0
        check_number("dof0", dof0, n_columns - 1 + 1e-9, 1e9)
        base, low, high = self._scale0(n_columns), LOW.copy(), HIGH.copy()
        given = [None if self.scale0 is None else 1.0, self.kappa0, self._spread()]
        for which, value in enumerate(given):
            if value is not None:
                low[which] = high[which] = float(value)
        return gs.GibbsSettings(
            prior=self._prior(),
            concentration=self._concentrations(),
            concentration_prior=None if self.concentration_prior is None else tuple(self.concentration_prior),
            dof0=float(dof0),
            base=base,
            low=low,
            high=high,
            n_split_merge=int(self.n_split_merge),
            start=self.init,
            n_start=int(self.n_start),
        )

    def _scale0(self, n_columns: int) -> Floats:
        """The matrix scale0, or what a learnt one is a multiple of, in the space of the model."""
        if self.scale0 is None:
            return np.eye(n_columns)
        value = np.asarray(self.scale0, np.float64)
        if value.ndim == 0:
            check_number("scale0", float(value), 1e-300, 1e300)
            return np.eye(n_columns) * float(value)
        whole, inside = self.n_features_in_, self.varying_columns_
        if value.shape != (whole, whole) or not np.allclose(value, value.T):
            raise SettingError(
                f"scale0 has shape {value.shape}; wanted None, a number, or a symmetric ({whole}, {whole})"
            )
        unit = self.unit_[inside]
        scaled = value[np.ix_(inside, inside)] / unit[:, None] / unit
        if not np.isfinite(scaled).all() or np.linalg.eigvalsh(scaled)[0] <= 0:
            raise SettingError("scale0 must be positive definite")
        return scaled

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the chains; y is ignored.  Ctrl-C keeps what was sampled so far.

        Cells that are nan, None or masked are missing; they are integrated out.
        """
        self._check_settings()
        x = self._take(X)
        for name in {"stream_", "seated_"} & set(vars(self)):
            delattr(self, name)
        setting = self._setting(x.shape[1])
        same = not np.nan_to_num(x).any()
        sampler = gs.OneGroup(x, setting) if same else self._sampler(x, setting)
        self._sample(sampler, warn=sampler.exact and not same)
        levels, concentration, scales = self._estimate(setting)
        self._keep(x, setting, levels, concentration, scales)
        return self

    def _sampler(self, x: Floats, setting: gs.GibbsSettings) -> Any:
        return gs.NestedGibbs(x, setting)

    def _estimate(self, setting: gs.GibbsSettings) -> tuple[Ints, Floats, Floats]:
        """Levels of the point estimate, and the concentrations and scales that go with it."""
        middle = [np.median(self.trace_.stack(name), axis=(0, 1)) for name in ("concentration", "scales")]
        if setting.prior == ng.SINGLE and self.estimate == "vi":
            flat = self.draws(0).reshape(-1, len(self.names_))
            found = diagnostics.point_estimate(flat[spread_out(len(flat), MOST_COMPARED)], n_init=2, random_state=0)
            return found.labels[None], middle[0], middle[1]
        chain, draw = self._choose_draw(self.estimate)
        levels = np.asarray(self.trace_.draws[chain]["levels"][draw], np.int64)
        if self.estimate == "best":
            middle = [np.asarray(self.trace_.draws[chain][name][draw]) for name in ("concentration", "scales")]
        return diagnostics.canonical(levels), middle[0], middle[1]

    def _keep(self, x: Floats, setting: gs.GibbsSettings, levels: Ints, concentration: Floats, scales: Floats) -> None:
        """Take what prediction needs from the point estimate: sub-clusters as count, mean and scatter."""
        fine = levels[-1]
        n_subs = int(fine.max()) + 1
        cluster = np.zeros(n_subs, np.int64)
        cluster[fine] = levels[0]
        self.level_labels_ = np.ascontiguousarray(levels, np.int64)
        self.cluster_ = cluster
        self.concentration_, self.scales_, self.base_ = np.asarray(concentration), np.asarray(scales), setting.base
        sampler = gs.NestedGibbs(x, setting)
        state = gs.NestedClusters(fine, cluster, self.concentration_, self.scales_, sampler.no_cells())
        if len(state.cells):
            blocks, log_joint = expected_blocks(sampler, state)
        else:
            blocks = bl.summarise(x, fine, n_subs)
            log_joint = sampler.log_joint(state, blocks)
        self.count_, self.mean_, self.scatter_ = blocks.number, blocks.mean, blocks.scatter
        self.log_joint_ = log_joint - len(x) * self._log_unit()
        self._keep_cells(posterior_cells(self.trace_, sampler.missing))

    def _keep_cells(self, cells: Cells) -> None:
        """Missing cells in the units of the data."""
        inside = self.varying_columns_[cells.place[:, 1]]
        self.missing_cells_ = np.column_stack([cells.place[:, 0], inside]).astype(np.int64)
        self.missing_mean_ = cells.mean * self.unit_[inside] + self.offset_[inside]
        self.missing_deviation_ = cells.deviation * self.unit_[inside]

    def filled(self, X: Any) -> Floats:
        """The training rows with each missing cell at its posterior mean, for pictures and the like.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The rows of the fit.

        Returns
        -------
        ndarray of float
            The rows without gaps.
        """
        rows = read_rows(self, X, reset=False, missing=True)
        place = np.argwhere(np.isnan(rows[:, self.varying_columns_]))
        if len(rows) != len(self.names_) or not np.array_equal(
            np.column_stack([place[:, 0], self.varying_columns_[place[:, 1]]]), self.missing_cells_
        ):
            raise RowsError("these are not the rows of the fit; wanted those, with the same cells missing")
        rows = np.where(np.isnan(rows), self.offset_, rows)  # of constant columns
        rows[tuple(self.missing_cells_.T)] = self.missing_mean_
        return rows

    @property
    def n_components_(self) -> int:
        """Groups on the level of `labels_`, those that later rows opened among them."""
        return len(self.stream_["clusters"]) if hasattr(self, "stream_") else int(self.labels_.max()) + 1

    @property
    def history_(self) -> Floats:
        """Log joint after each sweep, [chain, sweep], in the space of the model."""
        return self.trace_.info["log_joint"]

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        d, n, fine = len(self.varying_columns_), len(self.names_), self.level_labels_[-1]
        single = self._prior() == ng.SINGLE
        check_array("count_", self.count_, np.int64, (None,), 1, n)
        n_subs = len(self.count_)
        check_array("mean_", self.mean_, np.float64, (n_subs, d), -FARTHEST, FARTHEST)
        check_array("scatter_", self.scatter_, np.float64, (n_subs, d, d), -(FARTHEST**2), FARTHEST**2)
        check_array("cluster_", self.cluster_, np.int64, (n_subs,), 0, n_subs - 1)
        check_array("concentration_", self.concentration_, np.float64, (2,), 0.0, 1e9)
        check_array("scales_", self.scales_, np.float64, (3,), 0.0, 1e9)
        check_array("base_", self.base_, np.float64, (d, d), -FARTHEST, FARTHEST)
        right = len(self.level_labels_) == (1 if single else 2)
        right = right and np.array_equal(np.bincount(fine, minlength=n_subs), self.count_)
        if not right or not np.array_equal(self.cluster_[fine], self.level_labels_[0]):
            raise ValueError("the clusters are not those of the rows")
        self._check_cells()
        least = self.concentration_[: 1 if single else 2].min()
        if least <= 0 or self.scales_[:2].min() < 1e-12:
            raise ValueError("concentrations and scales must be above zero")
        if single and self.scales_[2] != 0:
            raise ValueError("one level of clusters has no spread")
        self._setting(d)
        if hasattr(self, "stream_"):
            st.unpack(self.stream_, d, n)
        with np.errstate(all="ignore"):
            trial = self._log_weights(np.zeros((1, d))).log
        if not np.isfinite(trial).all():
            raise ValueError("its matrices give no densities")
        return self

    def _check_cells(self) -> None:
        """Raise unless missing cells are cells; files of earlier versions have none."""
        if self.missing_cells_ is None:
            self._keep_cells(Cells(np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0)))
        n, d = len(self.names_), self.n_features_in_
        check_array("missing_cells_", self.missing_cells_, np.int64, (None, 2), 0, max(n, d) - 1)
        m = len(self.missing_cells_)
        if m and not (self.missing_cells_ < (n, d)).all():
            raise ValueError("missing_cells_ are not cells of the rows")
        check_array("missing_mean_", self.missing_mean_, np.float64, (m,))
        check_array("missing_deviation_", self.missing_deviation_, np.float64, (m,), 0.0)

    # ---- rows never seen ----------------------------------------------------------------------------------------

    def _log_weights(self, x: Floats) -> Weights:
        """Log of weight times density of rows at every seat, [row, seat], with cluster and sub-cluster of each.

        The densities are Student's; the last seat of a cluster is a new sub-cluster, and the last of all, cluster -1,
        is a cluster nobody is in yet.  Missing cells are integrated out.  After `partial_fit` the seats are those of
        all particles.
        """
        weigh = self._stream_weights if hasattr(self, "stream_") else self._point_weights
        parts = [(rows, weigh(x[np.ix_(rows, seen)], seen)) for rows, seen in by_pattern(x)]
        logs = np.empty((len(x), len(parts[0][1].cluster)))
        for rows, found in parts:
            logs[rows] = found.log
        return parts[0][1]._replace(log=logs)

    def _point_weights(self, x: Floats, seen: Ints) -> Weights:
        """The same for rows that have these columns, given the training rows and the point estimate."""
        prior, (factor, kappa0, spread) = self._prior(), self.scales_
        a0, a1 = self.concentration_
        n_subs, n_clusters = len(self.count_), int(self.cluster_.max()) + 1
        size, n_sub = np.bincount(self.cluster_, self.count_), np.bincount(self.cluster_)
        share = np.zeros(n_clusters) if prior != ng.NESTED else np.log(size / (size + a1))
        columns, home, subs = [], [], []
        for r in range(n_clusters):
            mine = np.flatnonzero(self.cluster_ == r)
            place, k, psi = self._places(mine, factor, kappa0, spread)
            place, root = place[:, seen], np.linalg.cholesky(psi[np.ix_(seen, seen)])
            new = np.log(a1 * n_sub[r] / (n_subs + a0)) if prior == ng.FLAT else np.log(max(a1, 1e-300)) + share[r]
            weight = np.append(np.log(self.count_[mine]) + share[r], new)
            for t, sub in enumerate([*mine.tolist(), NEW_GROUP][: len(mine) + (prior != ng.SINGLE)]):
                columns.append(weight[t] + self._student(x, place[t], k[t], root, size[r]))
                home.append(r)
                subs.append(sub)
        alone = np.log(a0) + (np.log(a1 / (n_subs + a0)) if prior == ng.FLAT else 0.0)
        fresh, base = 1.0 / (spread + 1.0 / kappa0), factor * self.base_
        columns.append(
            alone + self._student(x, np.zeros(len(seen)), fresh, np.linalg.cholesky(base[np.ix_(seen, seen)]), 0)
        )
        return Weights(np.stack(columns, axis=1), np.array([*home, NEW_GROUP]), np.array([*subs, NEW_GROUP]))

    def _point(self) -> st.Point:
        """The groups of the fit, as a particle begins with them."""
        psi = [self._places(np.flatnonzero(self.cluster_ == r), *self.scales_)[2] for r in np.unique(self.cluster_)]
        return st.Point(self.count_, self.mean_, self.cluster_, np.stack(psi))

    def _places(self, mine: Ints, factor: float, kappa0: float, spread: float) -> tuple[Floats, Floats, Floats]:
        """Means and their precisions k for the sub-clusters of one cluster and a new one, and Psi of the cluster."""
        n = self.count_[mine].astype(float)
        w = n / (1.0 + spread * n)
        kappa = kappa0 + w.sum()
        centre = w @ self.mean_[mine] / kappa
        lower = np.tril(self.scatter_[mine].sum(axis=0))
        psi = factor * self.base_ + lower + np.tril(lower, -1).T
        psi += (self.mean_[mine].T * w) @ self.mean_[mine] - kappa * np.outer(centre, centre)
        rest = np.append(kappa - w, kappa)
        k = 1.0 / (spread + 1.0 / rest)
        around = (kappa * centre - np.vstack([w[:, None] * self.mean_[mine], np.zeros(len(centre))])) / rest[:, None]
        total = np.vstack([n[:, None] * self.mean_[mine], np.zeros(len(centre))])
        k_all = k + np.append(n, 0.0)
        return (k[:, None] * around + total) / k_all[:, None], k_all, psi

    def _student(self, x: Floats, place: Floats, k: float, root: Any, n: float) -> Floats:
        """Log predictive density of rows, of some columns, in the space of the model.

        The blocks of an inverse-Wishart matrix lose a degree of freedom for each column left out.
        """
        from scipy.linalg import solve_triangular
        from scipy.special import gammaln

        d, whole = x.shape[1], len(self.varying_columns_)
        v = (whole + 2.0 if self.dof0 is None else self.dof0) + n - (whole - d)
        shrink = k / (k + 1.0)
        form = (solve_triangular(root, (x - place).T, lower=True) ** 2).sum(axis=0)
        value = gammaln((v + 1) / 2) - gammaln((v + 1 - d) / 2) + 0.5 * d * np.log(shrink / np.pi)
        return np.asarray(value - np.log(np.diag(root)).sum() - 0.5 * (v + 1) * np.log1p(shrink * form))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each group for each row, given the point estimate; the last column is a group never seen."""
        found = self._log_weights(self._give(X))
        joined = np.full((len(found.log), self.n_components_ + 1), -np.inf)
        for r in np.unique(found.cluster).tolist():
            joined[:, r] = logsumexp(found.log[:, found.cluster == r], axis=1)
        return np.asarray(np.exp(joined - logsumexp(joined, axis=1, keepdims=True)))

    def predict(self, X: Any) -> Ints:
        """Most probable group of each row; -1 where a new one is more probable than `novelty`."""
        proba = self.predict_proba(X)
        return np.where(proba[:, -1] > self.novelty, NEW_GROUP, proba[:, :-1].argmax(axis=1))

    def predict_levels(self, X: Any) -> Ints:
        """Groups of new rows on every level, [level, datum]; -1 where a new one is more probable than `novelty`.

        The first level is `predict`; a sub-cluster is sought in that cluster only, so that levels are nested.
        """
        top = self.predict(X)
        if len(self.level_labels_) == 1:
            return top[None]
        found = self._log_weights(self._give(X))
        fine = np.full(len(top), NEW_GROUP)
        for r in np.unique(top[top >= 0]).tolist():
            inside = found.log[np.ix_(top == r, found.cluster == r)]
            proba = np.exp(inside - logsumexp(inside, axis=1, keepdims=True))
            names, place = np.unique(found.sub[found.cluster == r], return_inverse=True)
            by_sub = np.stack([proba[:, place == k].sum(axis=1) for k in range(len(names))], axis=1)
            new = by_sub[:, 0] if names[0] == NEW_GROUP else np.zeros(len(by_sub))
            by_sub[:, names == NEW_GROUP] = -1.0
            fine[top == r] = np.where(new > self.novelty, NEW_GROUP, names[by_sub.argmax(axis=1)])
        return np.stack([top, fine])

    def score_samples(self, X: Any) -> Floats:
        """Log predictive density of each row, of the columns that vary, given the point estimate, in their units."""
        rows = self._give(X)
        logs = self._log_weights(rows).log
        total = self._n_seen() + (self.concentration_[1] if self._prior() == ng.FLAT else self.concentration_[0])
        return np.asarray(logsumexp(logs, axis=1) - np.log(total) - self._log_units(rows))

    def _log_units(self, rows: Floats) -> Floats:
        """log of the volume of a unit cell of the columns that each row has."""
        inside = np.log(self.unit_[self.varying_columns_])
        return np.where(np.isnan(rows), 0.0, inside).sum(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive density of the rows."""
        return float(self.score_samples(X).mean())
