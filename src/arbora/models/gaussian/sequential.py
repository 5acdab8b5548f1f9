"""Rows that come after a fit: online inference by sequential Monte Carlo, novelty, and active learning."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp
from scipy.stats import f as f_distribution
from sklearn.utils.validation import check_is_fitted

from ...errors import RowsError, SettingError
from ..rows import read_rows
from ..settings import check_count, check_integer
from ..vector_estimator import VectorEstimator
from . import sampler as gs
from . import stream as st
from .kernels import nested_gaussian as ng
from .kernels import particles as pt
from .missing_cells import by_pattern

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ASKED, MOST_LOOKED_AT = 100, 500  # rows that `query` chooses among, and rows whose labels it wants to tell
LEAST = 1e-3  # probability of an answer that is thought through


class Weights(NamedTuple):
    """Log of P(seat) times density of rows, by seats of all particles."""

    log: Floats  # [row, seat]
    cluster: Ints  # [seat]: -1 for a cluster nobody is in
    sub: Ints  # [seat]: -1 for a sub-cluster nobody is in


class Sequential(VectorEstimator):
    """A fitted Gaussian hierarchy that takes in more rows, one after another."""

    concentration_: Floats
    scales_: Floats
    count_: Ints
    cluster_: Ints
    mean_: Floats
    missing_cells_: Ints
    stream_: dict[str, NDArray[Any]]
    seated_: st.Seated

    def _setting(self, n_columns: int) -> gs.GibbsSettings:
        raise NotImplementedError

    def _point(self) -> st.Point:
        raise NotImplementedError

    # ---- more rows ----------------------------------------------------------------------------------------------

    def partial_fit(
        self, X: Any, y: Any = None, *, known: Any = None, n_particles: int = 32, window: int = 50, n_moves: int = 1
    ) -> Self:
        """Seat more rows, one after another, beside the groups of the fit; fits if nothing was fitted before.

        Sequential Monte Carlo, with means and covariances integrated out: every row is tried in every group of every
        particle and in a new one, so weights are exact; optimal resampling (Fearnhead and Clifford 2003) leaves
        `n_particles`.  Then rows of the window are seated anew given all others.  Concentrations, scales and the
        groups of the rows of the fit stay as the fit found them.  `seated_` says what there is to say of these rows;
        `labels_`, `trace_` and `hierarchy_` stay those of the fit, and predictions use all rows.

        No cell may be missing, here or in the fit: the sums of a particle would depend on what the cell holds.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The rows, in their order.
        y : None
            Ignored.
        known : array of int or None, default None
            Cluster of each row where it is known, -1 where it is not: a condition that every particle keeps.
        n_particles : int, default 32
            Most seatings that are followed at once.
        window : int, default 50
            Last rows that may still be seated anew.
        n_moves : int, default 1
            Rows of the window that are seated anew after each row, at most 63.

        Returns
        -------
        object
            The estimator itself.
        """
        if not hasattr(self, "level_labels_"):
            if known is not None:
                raise SettingError("known: no clusters have a number yet; fit first")
            self._refuse_gaps(read_rows(self, X, reset=True, missing=self.takes_missing()), "partial_fit")
            return self.fit(X)
        check_count("n_particles", n_particles, 100_000)
        check_count("window", window)
        check_integer("n_moves", n_moves, 0, pt.STRIDE - 1)
        x = self._give_whole(X, "partial_fit")
        stream = self._stream()
        hyper = self._hyper(stream.n_seen + len(x))
        first_name = max(len(self.count_), int(self.cluster_.max()) + 1)
        seed = int(self.random_state) if isinstance(self.random_state, int | np.integer) else 0
        plan = pt.Plan(0, 0, 0, n_particles, window, n_moves, first_name, seed, st.FLOOR)
        stream, seated = st.move_on(stream, x, self._names_of(known, len(x), stream), hyper, plan)
        self.stream_ = st.pack(stream)
        self.seated_ = seated._replace(surprise=seated.surprise + self._log_unit())
        return self

    def _give_whole(self, X: Any, what: str) -> Floats:
        """Rows in the space of the model; raises if cells are missing, in them or in the rows of the fit."""
        if len(self.missing_cells_):
            raise RowsError(
                f"{what}: the rows of the fit have {len(self.missing_cells_)} missing cells; wanted a value in every "
                f"cell of these: fit all rows, old and new, at once"
            )
        x = self._give(X)
        self._refuse_gaps(x, what, self.varying_columns_)
        return x

    def _refuse_gaps(self, x: Floats, what: str, columns: Ints | None = None) -> None:
        """Raise if a cell of rows in these columns is nan."""
        gaps = np.argwhere(np.isnan(x))
        if len(gaps):
            row, column = gaps[0].tolist()
            column = column if columns is None else columns[column]
            raise RowsError(
                f"row {row}, column {column}: missing; {what} wants a value in every cell: leave out the row, or fit "
                f"all rows at once; fit and predictions take rows with missing cells"
            )

    def _names_of(self, known: Any, n: int, stream: st.Stream) -> Ints:
        """Names of known clusters by number, -1 where nothing is known."""
        if known is None:
            return np.full(n, -1)
        given = np.asarray(known)
        most = len(stream.clusters) - 1
        right = given.shape == (n,) and np.issubdtype(given.dtype, np.integer)
        if not right or (n and not -1 <= given.min() <= given.max() <= most):
            raise RowsError(f"known: wanted the cluster of each of {n} rows, 0 to {most}, or -1 where it is not known")
        return np.where(given < 0, -1, stream.clusters[given])

    def _stream(self) -> st.Stream:
        """Where the stream is: at its start, the one particle that the fit is."""
        if hasattr(self, "stream_"):
            return st.unpack(self.stream_, len(self.varying_columns_), int(self.count_.sum()))
        point = self._point()
        return st.first_stream(point, self._hyper(int(point.n_rows.sum())))

    def _hyper(self, n_rows: int, seen: Ints | None = None) -> ng.Hyper:
        """The prior of all columns or some as kernels see it, with tables that grow by doubling."""
        least = max(n_rows, 2 * len(self.count_) + 64)
        setting = self._setting(len(self.varying_columns_))
        if seen is not None:  # a block of an inverse-Wishart matrix loses a degree of freedom for each column left out
            left_out = len(self.varying_columns_) - len(seen)
            setting = setting._replace(dof0=setting.dof0 - left_out, base=setting.base[np.ix_(seen, seen)])
        return st.sampler_of(setting, 1 << int(least).bit_length()).hyper(self.concentration_, self.scales_)

    def _particles(self, seen: Ints) -> tuple[list[ng.Pool], ng.Hyper, st.Stream]:
        """All particles as they are in some columns, the prior of these, and the stream."""
        stream, hyper = self._stream(), self._hyper(self._n_seen(), seen)
        return (
            [st.in_columns(st.pool_of(stream, p), hyper, seen) for p in range(len(stream.cloud.weight))],
            hyper,
            stream,
        )

    def _stream_weights(self, x: Floats, seen: Ints) -> Weights:
        """Weights of rows that have these columns, at the seats of all particles."""
        pools, hyper, stream = self._particles(seen)
        logs, clusters, subs = [], [], []
        for p, pool in enumerate(pools):
            logs.append(pt.weigh_rows(x, pool, hyper) + np.log(stream.cloud.weight[p]))
            cluster, sub = st.entries(stream, p, hyper.prior)
            clusters.append(cluster)
            subs.append(sub)
        return Weights(np.concatenate(logs, axis=1), np.concatenate(clusters), np.concatenate(subs))

    def _n_seen(self) -> int:
        """Rows that the model has taken in."""
        return int(self.stream_["counts"][0]) if hasattr(self, "stream_") else len(self.names_)

    @property
    def effective_particles_(self) -> float:
        """Effective number of particles after the last row; 1 after a fit."""
        check_is_fitted(self, "level_labels_")
        return float(1.0 / (self.stream_["weight"] ** 2).sum()) if hasattr(self, "stream_") else 1.0

    # ---- novelty ------------------------------------------------------------------------------------------------

    def novelty_p_values(self, X: Any) -> Floats:
        """P-value of each row in the groups it may be of: small for what none of them has.

        The predictive of a group is Student's, so the share of it that is farther out than the row is that of an F
        distribution; the mean over groups and particles is by their probability for the row.  Missing cells are
        integrated out.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            The rows.

        Returns
        -------
        ndarray of float
            P-values.  Under the model, with all groups known, they are uniform.
        """
        x = self._give(X)
        out = np.empty(len(x))
        for rows, seen in by_pattern(x):
            out[rows] = self._p_values(x[np.ix_(rows, seen)], seen) if len(seen) else 1.0
        return out

    def _p_values(self, x: Floats, seen: Ints) -> Floats:
        """P-values of rows that have these columns."""
        pools, hyper, stream = self._particles(seen)
        d, values, logs = len(seen), [], []
        for pool, weight in zip(pools, stream.cloud.weight.tolist(), strict=True):
            used = pool.subs[: pool.n_used[0]]
            free = hyper.dof0 + pool.size[pool.home[used]] - d + 1.0
            values.append(f_distribution.sf(pt.distances(x, pool, hyper) * free / d, d, free))
            logs.append(pt.weigh_rows(x, pool, hyper)[:, : len(used)] + np.log(weight))
        log = np.concatenate(logs, axis=1)
        share = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray((share * np.concatenate(values, axis=1)).sum(axis=1) / share.sum(axis=1))

    # ---- questions ----------------------------------------------------------------------------------------------

    def query(self, X: Any, n: int = 1) -> Ints:
        """The rows most worth labelling next: whose clusters say most about the clusters of all these rows.

        The first has the largest entropy of its cluster, plus the mutual information between its cluster and that of
        each row, in the posterior given these two, summed.  Each further one is chosen in the same way after
        those before it were seated where they most probably belong.  The posterior is that of the particle of most
        weight, and a row enters a cluster at its most probable sub-cluster.  Give the
        answers to `partial_fit` as `known`.  Of more rows than 500, every so many are looked at, and the 100 that the
        model is least sure of may be asked.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            Rows without labels.  No cell may be missing, here or in the fit.
        n : int, default 1
            How many to ask for.

        Returns
        -------
        ndarray of int
            Their numbers, the one to ask first in front.
        """
        check_count("n", n)
        x = self._give_whole(X, "query")
        stream = self._stream()
        hyper = self._hyper(self._n_seen() + n + 1)
        pool = ng.Pool(*(one.copy() for one in st.pool_of(stream, int(stream.cloud.weight.argmax()))))
        looked = x[np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_LOOKED_AT)).astype(np.int64))]
        chosen: list[int] = []
        for _ in range(min(n, len(x))):
            doubt = entr(_by_cluster(pt.weigh_rows(x, pool, hyper), pool, hyper.prior)).sum(axis=1)
            doubt[chosen] = -1.0
            asked = np.argsort(-doubt, kind="stable")[: min(MOST_ASKED, len(x) - len(chosen))]
            told = [_told(x, int(i), looked, pool, hyper) for i in asked]
            chosen.append(int(asked[int(np.argmax(told))]))
            pool = _with_row(pool, x, chosen[-1], hyper, None)
        return np.array(chosen, np.int64)


def _by_cluster(log: Floats, pool: ng.Pool, prior: int) -> Floats:
    """P(cluster | row) from log weights of one particle, [row, cluster], the last a new one."""
    subs, clusters = pool.subs[: pool.n_used[0]], pool.clusters[: pool.n_used[1]]
    home = pool.cluster_at[pool.home[subs]]
    if prior != ng.SINGLE:
        home = np.append(home, pool.cluster_at[clusters])
    share = np.exp(log - log.max(axis=1, keepdims=True))
    out = np.zeros((len(log), len(clusters) + 1))
    np.add.at(out.T, np.append(home, len(clusters)), share.T)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _told(x: Floats, i: int, looked: Floats, pool: ng.Pool, hyper: ng.Hyper) -> float:
    """What the cluster of row i tells: its entropy, and its mutual information with those of rows looked at, summed."""
    share = _by_cluster(pt.weigh_rows(x[i : i + 1], pool, hyper), pool, hyper.prior)[0]
    n_clusters, answers = len(share) - 1, np.flatnonzero(share > LEAST).tolist()
    joint, size = np.zeros((len(answers), len(looked), len(share) + 1)), np.empty((len(answers), len(looked)))
    for k, c in enumerate(answers):
        after = _with_row(pool, x, i, hyper, c)
        log = pt.weigh_rows(looked, after, hyper)
        own = _by_cluster(log, after, hyper.prior)
        if c < n_clusters:  # nobody is in the cluster that row i might have opened
            own = np.insert(own, n_clusters, 0.0, axis=1)
        joint[k], size[k] = own, np.log(share[c]) + logsumexp(log, axis=1)
    joint *= np.exp(size - logsumexp(size, axis=0))[:, :, None]  # P(clusters of row i and of a row | both rows)
    shared = entr(joint.sum(axis=2)).sum() + entr(joint.sum(axis=0)).sum() - entr(joint).sum()
    return float(entr(share).sum() + shared)


def _with_row(pool: ng.Pool, x: Floats, i: int, hyper: ng.Hyper, cluster: int | None) -> ng.Pool:
    """The particle with a row at its most probable seat, of all or of those in a cluster; the last is a new one."""
    log = pt.weigh_rows(x[i : i + 1], pool, hyper)[0]
    n_sub, n_clusters = int(pool.n_used[0]), int(pool.n_used[1])
    if cluster is not None:
        home = pool.cluster_at[pool.home[pool.subs[:n_sub]]]
        if hyper.prior != ng.SINGLE:
            home = np.append(home, np.arange(n_clusters))
        log = np.where(np.append(home, n_clusters) == cluster, log, -np.inf)
    room = len(pool.home) - ng.N_SCRATCH
    cloud = st.in_room(_cloud_of(pool), 1, room + (n_sub + 1 >= room) * room, 1)
    pt.seat_row(cloud, hyper, 0, (np.ascontiguousarray(x[i : i + 1]), 0), int(log.argmax()), 0)
    return ng.Pool(*(one[0] for one in cloud.pools))


def _cloud_of(pool: ng.Pool) -> pt.Cloud:
    """One particle as a cloud, without names."""
    names = np.zeros((1, len(pool.home)), np.int64)
    return pt.Cloud(ng.Pool(*(one[None] for one in pool)), names, names, np.zeros((1, 0), np.int64), np.ones(1))
