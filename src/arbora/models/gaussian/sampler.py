"""The sampler behind DPGaussianMixture and NHCM: partitions of Gaussian data, every parameter integrated out.

A sweep is: each datum given all others; splits and mergers of sub-clusters; each sub-cluster's cluster given all
others; a split or merger of clusters; the scales of the prior; the concentrations.  Each leaves the posterior as is.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .kernels import blocks as bl
from .kernels import nested_gaussian as ng
from .kernels import seating
from .kernels.gaussian import log_gamma_table, log_predictive_table
from .kernels.incomplete import Gaps, refill, sweep_incomplete
from .kernels.split_merge import split_merge

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Start = Literal["kmeans", "sequential", "one"]

# Rows, sweeps, and splits or mergers a sweep, of the chain that a sequential start on many rows begins with.
N_SAMPLE, N_SAMPLE_SWEEPS, N_SAMPLE_MOVES = 500, 20, 20

PRIORS = {"single": ng.SINGLE, "flat": ng.FLAT, "nested": ng.NESTED}


class GibbsSettings(NamedTuple):
    """What the model is, and how it is sampled."""

    prior: int
    concentration: tuple[float, float]  # of clusters, of sub-clusters
    concentration_prior: tuple[float, float] | None  # (shape, rate) of a gamma prior on both; None: fixed
    dof0: float
    base: Floats  # [d, d]: scale0 is a multiple of it
    low: Floats  # [3]: least factor of the base, kappa0 and spread ...
    high: Floats  # ... and largest; equal where fixed
    n_split_merge: int = 5
    n_scans: int = 0  # of a split, between its start and the scan that counts
    start: Start = "kmeans"
    n_start: int = 20
    temper: float = 1.0


class NestedClusters(NamedTuple):
    """Where a chain is."""

    subcluster: Ints  # [datum]; -1: not seated yet
    cluster: Ints  # [sub-cluster]
    concentration: Floats  # [2]: of clusters, of sub-clusters
    scales: Floats  # [3]: factor of the base, kappa0, spread
    cells: Floats = np.zeros(0)  # values drawn for the missing cells, row by row


class NestedGibbs:
    """Samples clusters and sub-clusters, and with them what the setting leaves open.

    Cells that are nan are missing.  They are integrated out where a row chooses its sub-cluster, and drawn given it.
    """

    exact = True  # chains must agree in the end

    def __init__(self, x: Floats, setting: GibbsSettings) -> None:
        self.missing = np.isnan(x)
        self.x, self.setting = np.ascontiguousarray(np.where(self.missing, 0.0, x)), setting
        self.gaps = gaps_of(self.missing)
        n, d = x.shape
        self.log_predictive = log_predictive_table(setting.dof0, d, n)
        self.log_gamma = log_gamma_table(setting.dof0, d, n)
        self.log_whole = np.log(np.maximum(np.arange(n + 1.0), 0.5))
        self.chol_base = np.linalg.cholesky(setting.base)
        self.log_det_base = float(2.0 * np.log(np.diag(self.chol_base)).sum())

    # ---- a chain ------------------------------------------------------------------------------------------------

    def init(self, rng: np.random.Generator) -> NestedClusters:
        """Groups found by k-means, as many as a draw from 1 to n_start says; or all in one; or nobody seated yet."""
        n = len(self.x)
        if self.setting.start == "sequential" and n >= 2 * N_SAMPLE:
            return self._init_from_sample(rng)
        label = np.zeros(n, np.int64)
        if self.setting.start == "sequential":
            label[:] = -1
        elif self.setting.start == "kmeans":
            label = _kmeans(rng, self.x, int(rng.integers(1, min(self.setting.n_start, n) + 1)))
        n_groups = int(label.max()) + 1
        one = self.setting.prior != ng.SINGLE and rng.random() < 0.5  # all sub-clusters of one cluster, or all apart
        cluster = np.zeros(n_groups, np.int64) if one else np.arange(n_groups)
        middle = np.sqrt(self.setting.low * self.setting.high)
        return NestedClusters(label, cluster, np.array(self.setting.concentration), middle, self.no_cells())

    def _init_from_sample(self, rng: np.random.Generator) -> NestedClusters:
        """Some rows where a short chain of their own leaves them, all others not seated yet.

        Few rows seated too soon on a group of their own can go home; among many, they hold on to it for long.
        """
        some = np.sort(rng.choice(len(self.x), N_SAMPLE, replace=False))
        n_moves = N_SAMPLE_MOVES if self.setting.n_split_merge else 0
        few = NestedGibbs(np.where(self.missing, np.nan, self.x)[some], self.setting._replace(n_split_merge=n_moves))
        state = few.init(rng)
        for _ in range(N_SAMPLE_SWEEPS):
            state, _ = few.step(rng, state)
        subcluster = np.full(len(self.x), -1, np.int64)
        subcluster[some] = state.subcluster
        return state._replace(subcluster=subcluster, cells=self.no_cells())

    def no_cells(self) -> Floats:
        """Values of missing cells before the first sweep: the means of their columns."""
        return np.zeros(int(self.missing.sum()))

    def whole(self, cells: Floats) -> Floats:
        """The rows with these values in the missing cells."""
        if not len(self.gaps.row):
            return self.x
        x = self.x.copy()
        x[self.missing] = cells
        return x

    def step(self, rng: np.random.Generator, state: NestedClusters) -> tuple[NestedClusters, Mapping[str, float]]:
        """One sweep."""
        x = self.whole(state.cells)
        subcluster, cluster, n_accepted = self._move_data(rng, x, state)
        blocks = bl.summarise(x, subcluster, len(cluster))
        terms, scales = self.terms(state.concentration), _three(state.scales)
        if self.setting.prior != ng.SINGLE:
            bl.seat_blocks(rng, blocks, cluster, terms, scales)
            for _ in range(min(self.setting.n_split_merge, 1)):
                n_accepted += bl.split_merge_blocks(rng, blocks, cluster, terms, scales, self.setting.n_scans)
            cluster = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
        scales = bl.draw_scales(rng, blocks, cluster, terms, scales, (self.setting.low, self.setting.high))
        concentration = self._draw_concentrations(rng, state.concentration, blocks.number, cluster)
        state = NestedClusters(subcluster, cluster, concentration, np.array(scales), x[self.missing])
        told = {
            "log_joint": self.log_joint(state, blocks),
            "n_clusters": float(cluster.max() + 1),
            "n_subclusters": float(len(cluster)),
            "n_accepted": float(n_accepted),
        }
        return state, told

    def _move_data(self, rng: np.random.Generator, x: Floats, state: NestedClusters) -> tuple[Ints, Ints, int]:
        """Gibbs over all data, then splits and mergers; sub-clusters and clusters numbered without gaps.

        Missing cells are drawn into `x`.
        """
        hyper = self.hyper(state.concentration, state.scales)
        subcluster, home, n_accepted = state.subcluster.copy(), state.cluster, 0
        room = self.setting.n_split_merge + 8
        pool, done = self._filled(x, subcluster, home, hyper, 2 * len(home) + room), 0
        while (done := seating.sweep(rng, x, done, subcluster, pool, hyper)) < len(x):
            pool = self._filled(x, subcluster, pool.home, hyper, 2 * len(pool.home))
        done = 0
        while len(self.gaps.row) and (
            (done := sweep_incomplete(rng, (x, self.gaps), done, subcluster, pool, hyper)) < len(self.gaps.row)
        ):
            pool = self._filled(x, subcluster, pool.home, hyper, 2 * len(pool.home))
        tries = self.setting.n_split_merge
        if tries and pool.n_used[0] + tries + ng.N_SCRATCH > len(pool.home):
            pool = self._filled(x, subcluster, pool.home, hyper, len(pool.home) + room)
        while tries:
            made, accepted = split_merge(rng, x, subcluster, pool, hyper, (tries, self.setting.n_scans))
            tries -= made
            if accepted:
                n_accepted += 1
                if tries:
                    ng.build(x, subcluster, pool.home.copy(), pool, hyper)
        used, subcluster = np.unique(subcluster, return_inverse=True)
        cluster = np.unique(pool.home[used], return_inverse=True)[1]
        return subcluster.astype(np.int64), cluster.astype(np.int64), n_accepted

    def _filled(self, x: Floats, subcluster: Ints, home: Ints, hyper: ng.Hyper, n_slots: int) -> ng.Pool:
        pool = ng.new_pool(max(n_slots, len(home)), x.shape[1])
        slots = np.zeros(len(pool.home), np.int64)
        slots[: len(home)] = home
        ng.build(x, subcluster, slots, pool, hyper)
        return pool

    def refilled(self, rng: np.random.Generator, state: NestedClusters) -> NestedClusters:
        """The state with missing cells drawn given all groups."""
        x, hyper = self.whole(state.cells), self.hyper(state.concentration, state.scales)
        pool = self._filled(x, state.subcluster, state.cluster, hyper, len(state.cluster) + 2)
        refill(rng, (x, self.gaps), state.subcluster.copy(), pool, hyper)
        return state._replace(cells=x[self.missing])

    def _draw_concentrations(self, rng: np.random.Generator, now: Floats, count: Ints, cluster: Ints) -> Floats:
        """Both concentrations given the partition, under the gamma prior; unchanged without one."""
        if self.setting.concentration_prior is None:
            return now
        n_clusters = int(cluster.max()) + 1
        of_clusters = np.array([len(cluster) if self.setting.prior == ng.FLAT else len(self.x)])
        first = draw_concentration(rng, now[0], n_clusters, of_clusters, self.setting.concentration_prior)
        if self.setting.prior == ng.SINGLE:
            return np.array([first, now[1]])
        rooms = np.array([len(self.x)])
        if self.setting.prior == ng.NESTED:
            rooms = np.bincount(cluster, count).astype(np.int64)
        return np.array([first, draw_concentration(rng, now[1], len(cluster), rooms, self.setting.concentration_prior)])

    # ---- densities ----------------------------------------------------------------------------------------------

    def hyper(self, concentration: Floats, scales: Floats) -> ng.Hyper:
        """The prior as kernels over data see it."""
        factor, kappa0, spread = _three(scales)
        s, d = self.setting, self.x.shape[1]
        return ng.Hyper(
            *(s.prior, float(concentration[0]), float(concentration[1]), spread, kappa0, s.dof0, s.temper),
            *(self.log_det_base + d * float(np.log(factor)), np.sqrt(factor) * self.chol_base[None]),
            *(self.log_predictive, self.log_gamma, self.log_whole),
        )

    def terms(self, concentration: Floats) -> bl.Terms:
        """The prior as kernels over sub-clusters see it."""
        s = self.setting
        first, second = float(concentration[0]), float(concentration[1])
        return bl.Terms(s.prior, first, second, s.dof0, s.temper, s.base, self.log_det_base, self.log_gamma)

    def log_joint(self, state: NestedClusters, blocks: bl.Blocks) -> float:
        """log of P(partition), P(concentrations) and P(data | partition, scales), in the space of the model."""
        terms = self.terms(state.concentration)
        value = float(bl.log_marginals(blocks, state.cluster, terms, _three(state.scales)))
        value += log_partition_prior(self.setting.prior, blocks.number, state.cluster, state.concentration)
        if self.setting.concentration_prior is not None:
            shape, rate = self.setting.concentration_prior
            a = state.concentration[:1] if self.setting.prior == ng.SINGLE else state.concentration
            value += float(np.sum((shape - 1.0) * np.log(a) - rate * a + shape * np.log(rate) - gammaln(shape)))
        return value

    # ---- what is kept -------------------------------------------------------------------------------------------

    def draw(self, state: NestedClusters) -> Mapping[str, Any]:
        """Groups by level, coarse to fine, concentrations and scales."""
        fine = state.subcluster.astype(np.int32)
        coarse = state.cluster.astype(np.int32)[state.subcluster]
        levels = fine[None] if self.setting.prior == ng.SINGLE else np.stack([coarse, fine])
        kept = {"levels": levels, "concentration": state.concentration, "scales": state.scales}
        return {**kept, "cells": state.cells} if len(self.gaps.row) else kept

    def pack(self, state: NestedClusters) -> Mapping[str, Any]:
        """The state as arrays."""
        return state._asdict()

    def unpack(self, arrays: Mapping[str, Any]) -> NestedClusters:
        """The state from its arrays."""
        return NestedClusters(*(np.array(arrays.get(name, np.zeros(0))) for name in NestedClusters._fields))


class OneGroup(NestedGibbs):
    """All rows in one group, for rows that are all the same; only scales and concentrations are sampled."""

    def init(self, rng: np.random.Generator) -> NestedClusters:
        """One sub-cluster of one cluster."""
        middle = np.sqrt(self.setting.low * self.setting.high)
        concentration = np.array(self.setting.concentration)
        alone = np.zeros(len(self.x), np.int64)
        return NestedClusters(alone, np.zeros(1, np.int64), concentration, middle, self.no_cells())

    def _move_data(self, rng: np.random.Generator, x: Floats, state: NestedClusters) -> tuple[Ints, Ints, int]:
        return state.subcluster, state.cluster, 0


def gaps_of(missing: NDArray[np.bool_]) -> Gaps:
    """Rows with missing cells, and their columns with the seen ones first."""
    row = np.flatnonzero(missing.any(axis=1))
    order = np.argsort(missing[row], axis=1, kind="stable").astype(np.int64)
    return Gaps(row, order, (~missing[row]).sum(axis=1).astype(np.int64))


def log_partition_prior(prior: int, count: Ints, cluster: Ints, concentration: Floats) -> float:
    """log P(sub-clusters, clusters): Chinese restaurants, combined as the prior says."""
    a0, a1 = float(concentration[0]), float(concentration[1])
    n, n_subs, n_clusters = int(count.sum()), len(count), int(cluster.max()) + 1
    fine = float(gammaln(count).sum())
    size = np.bincount(cluster, count)
    if prior == ng.FLAT:
        blocks = np.bincount(cluster)
        value = n_subs * np.log(a1) + fine + gammaln(a1) - gammaln(a1 + n)
        return float(value + n_clusters * np.log(a0) + gammaln(blocks).sum() + gammaln(a0) - gammaln(a0 + n_subs))
    value = n_clusters * np.log(a0) + gammaln(size).sum() + gammaln(a0) - gammaln(a0 + n)
    if prior == ng.NESTED:
        value += n_subs * np.log(a1) + fine + n_clusters * gammaln(a1) - gammaln(a1 + size).sum()
    return float(value)


def draw_concentration(
    rng: np.random.Generator, now: float, n_tables: int, rooms: Ints, prior: tuple[float, float]
) -> float:
    """Concentration shared by Chinese restaurants of these sizes with n_tables in all (Escobar and West 1995)."""
    shape, rate = prior
    log_w = np.log(rng.beta(now + 1.0, rooms))
    taken = rng.random(len(rooms)) * (rooms + now) < rooms
    return float(rng.gamma(shape + n_tables - taken.sum()) / (rate - log_w.sum()))


def _three(scales: Floats) -> tuple[float, float, float]:
    return float(scales[0]), float(scales[1]), float(scales[2])


def _kmeans(rng: np.random.Generator, x: Floats, n_groups: int) -> Ints:
    """k-means from one start, on at most 5,000 rows; groups nobody is in are left out."""
    from sklearn.cluster import KMeans

    if n_groups == 1:
        return np.zeros(len(x), np.int64)
    some = x if len(x) <= 5000 else x[rng.choice(len(x), 5000, replace=False)]
    n_groups = min(n_groups, len(np.unique(some, axis=0)))
    model = KMeans(n_groups, n_init=1, max_iter=20, random_state=int(rng.integers(2**31))).fit(some)
    return np.unique(model.predict(x), return_inverse=True)[1].astype(np.int64)
