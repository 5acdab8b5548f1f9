"""The Dirichlet-process mixture of trees of Bacciu and Castellana 2019, section 5: its state, its seating and Algorithm
2.

`StochasticEM` is the paper's procedure: seating is drawn, parameters take one step of MAP-EM.  It is a search, not a
sampler of the posterior; that is `exact_gibbs.ExactGibbs`, behind the same interface.
"""

import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from . import tree_model as tm
from .kernels import seating
from .passes import Batch
from .starts import START_STEPS, cluster_features

Floats = NDArray[np.float64]


class Partition(NamedTuple):
    """A partition of the trees and the parameters of its components."""

    label: NDArray[np.int64]  # [tree], 0 .. n_components - 1
    params: tm.Arrays
    concentration: float
    priors: Any  # Dirichlet parameters; they change only if they are learnt


class Seats:
    """Columns of log-likelihoods, one a component, while trees are reseated; columns come and go."""

    def __init__(self, label: NDArray[np.int64], log_lik: Floats, n_empty: int):
        n_trees, n_columns = log_lik.shape
        room = n_columns + 16
        self.log_lik = np.empty((n_trees, room))
        self.log_lik[:, :n_columns] = log_lik
        self.n_columns = n_columns
        n_seated = n_columns - n_empty
        self.label = label.astype(np.int64, copy=True)
        self.count = np.zeros(room, np.int64)
        self.count[:n_seated] = np.bincount(label, minlength=n_seated)
        self.active = np.zeros(room, np.int64)
        self.active[:n_seated] = np.arange(n_seated)
        self.n_active = np.array([n_seated])
        self.empty = np.arange(n_seated, n_columns)

    def add_column(self, log_lik: Floats) -> int:
        """A new column; the arrays grow when they are full."""
        if self.n_columns == self.log_lik.shape[1]:
            extra = self.n_columns
            self.log_lik = np.concatenate([self.log_lik, np.empty((len(self.label), extra))], axis=1)
            self.count = np.concatenate([self.count, np.zeros(extra, np.int64)])
            self.active = np.concatenate([self.active, np.zeros(extra, np.int64)])
        self.log_lik[:, self.n_columns] = log_lik
        self.n_columns += 1
        return self.n_columns - 1

    def seat(self, rng: np.random.Generator, first: int, log_weight: float, reuse: bool) -> tuple[int, int, int]:
        """Go on seating from tree `first`; see `kernels.seating.seat`."""
        tables = (self.label, self.count, self.active, self.n_active, self.empty)
        return seating.seat(rng, first, self.log_lik, log_weight, reuse, tables)


class ProcessPrior(NamedTuple):
    """What both samplers need besides the trees."""

    priors: Any  # of the tree model
    concentration: float
    concentration_prior: tuple[float, float] | None = None  # shape and rate; None holds the concentration fixed
    # Of the exact sampler:
    n_auxiliary: int = 3  # empty components in its pool
    n_split_merge: int = 5  # proposals a sweep
    hyperprior: tuple[float, float] | None = None  # shape and rate for Dirichlet parameters; None holds them fixed


class StochasticEM:
    """Algorithm 2 of Bacciu and Castellana 2019: sequential seating, then one MAP-EM step for every component."""

    def __init__(self, batch: Batch, setting: ProcessPrior, features: Any, n_start: int, spread: bool = False):
        self.batch, self.model, self.setting, self.priors = batch, batch.model, setting, setting.priors
        self.features, self.n_start, self.spread = features, n_start, spread
        self.log_uniform = batch.log_likelihood(self.model.uniform())[:, 0]

    def init(self, rng: np.random.Generator) -> Partition:
        """Trees seated by k-means with n_start clusters, then a few updates of parameters drawn from the prior.

        With `spread`, each chain starts from a number of its own, between half and twice as many: chains that end alike
        then do so in spite of their starts.
        A single group starts from the draw itself, as in the paper: once fitted to all trees, it would keep them.
        """
        _, label = np.unique(self._first_groups(rng), return_inverse=True)
        params = self.model.draw(rng, int(label.max()) + 1, self.priors)
        state = Partition(label.astype(np.int64), params, self.setting.concentration, self.priors)
        for _ in range(START_STEPS if self.n_start > 1 else 0):
            state, _ = self._refresh(rng, state)
        return state

    def _first_groups(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Groups of the trees by k-means; all in one if one is asked for."""
        if self.n_start == 1:
            return np.zeros(self.batch.n_trees, np.int64)
        n_clusters = max(2, round(self.n_start * 2.0 ** rng.uniform(-1.0, 1.0))) if self.spread else self.n_start
        return cluster_features(self.features, n_clusters, rng)

    def step(self, rng: np.random.Generator, state: Partition) -> tuple[Partition, Mapping[str, float]]:
        """One sweep: seat every tree, then update the parameters of every component that is left."""
        label, params = self._seat(rng, state)
        state, info = self._refresh(rng, state._replace(label=label, params=params))
        n_groups = tm.n_components(state.params)
        state = state._replace(concentration=self._draw_concentration(rng, state.concentration, n_groups))
        return state, {"n_groups": float(n_groups), "log_joint": self.log_joint(state), **info}

    def _seat(self, rng: np.random.Generator, state: Partition) -> tuple[NDArray[np.int64], tm.Arrays]:
        """Reseat with the new-component weight of Eq. (8) as the paper has it: the likelihood at uniform parameters."""
        columns = np.column_stack([self.batch.log_likelihood(state.params), self.log_uniform])
        seats = Seats(state.label, columns, n_empty=1)
        parts = tm.split(state.params)
        done = 0
        while True:
            event, t, _ = seats.seat(rng, done, np.log(state.concentration), False)
            if event == seating.DONE:
                return compact(seats, parts)
            column = int(seats.empty[0])
            parts[column] = self.model.draw(rng, 1, self.priors)
            seats.log_lik[:, column] = self.batch.log_likelihood(parts[column])[:, 0]
            seats.empty[0] = seats.add_column(self.log_uniform)
            done = t + 1

    def _refresh(self, rng: np.random.Generator, state: Partition) -> tuple[Partition, Mapping[str, float]]:
        """One step of MAP-EM for each component on its own trees; every shard is looked at once."""
        label, params = state.label, state.params
        model, one = self.model, tm.split(params)
        flow = [model.prepare(one[k]) for k in one]
        sums = [model.empty_sums(1) for _ in one]
        shape: tm.Arrays = None
        for s, shard in enumerate(self.batch.shards):
            mine = label[self.batch.rows[s]]
            copies = np.zeros((shard.n_distinct_trees, len(one)))  # of each distinct tree in each component
            np.add.at(copies, (shard.tree_id, mine), 1.0)
            counts = model.shape_counts(params, shard, copies)
            shape = counts if shape is None else tm.mapped(operator.add, shape, counts)
            with self.batch.workspaces.borrowed() as workspace:
                for k in np.unique(mine).tolist():
                    part = shard.restrict(np.flatnonzero(mine == k))
                    messages, _ = model.upward(flow[k], one[k], part, workspace)
                    model.downward(flow[k], part, messages, part.sum_by_tree(None)[:, None], sums[k])
        parts = []
        for k in one:
            expected = model.counts(flow[k], sums[k], tm.taken(shape, slice(k, k + 1)), 1)
            parts.append(model.m_step(expected, one[k], self.priors))
        return state._replace(params=tm.joined(parts)), {}

    def _draw_concentration(self, rng: np.random.Generator, concentration: float, n_groups: int) -> float:
        """Escobar and West (1995), under a Gamma(shape, rate) prior; unchanged without one."""
        if self.setting.concentration_prior is None:
            return concentration
        shape, rate = self.setting.concentration_prior
        n = self.batch.n_trees
        log_eta = np.log(rng.beta(concentration + 1.0, n))
        odds = (shape + n_groups - 1.0) / (n * (rate - log_eta))
        more = rng.random() * (1.0 + odds) < odds
        return float(rng.gamma(shape + n_groups - (0.0 if more else 1.0)) / (rate - log_eta))

    def log_joint(self, state: Partition) -> float:
        """log of P(partition) times P(parameters) times P(trees | both), all constants included."""
        n_groups = tm.n_components(state.params)
        count = np.bincount(state.label, minlength=n_groups)
        gamma, n = state.concentration, len(state.label)
        partition = n_groups * np.log(gamma) + gammaln(count).sum() + gammaln(gamma) - gammaln(gamma + n)
        if self.setting.concentration_prior is not None:
            partition += gamma_log_density(gamma, *self.setting.concentration_prior)
        if self.setting.hyperprior is not None:
            shape, rate = self.setting.hyperprior
            partition += sum(gamma_log_density(alpha, shape, rate) for alpha in state.priors)
        prior = self.model.log_prior_density(state.params, state.priors).sum()
        log_lik = self.batch.log_likelihood(state.params)[np.arange(n), state.label]
        return float(partition + prior + log_lik.sum())

    # What a chain keeps and how it is written down.

    def draw(self, state: Partition) -> Mapping[str, Any]:
        """The whole state; parameters vary in shape with the number of groups."""
        return self.pack(state)

    def pack(self, state: Partition) -> Mapping[str, Any]:
        """The state as arrays."""
        learnt = {"concentration": np.array(state.concentration), "priors": np.array(state.priors)}
        return {"label": state.label, **learnt, **tm.named(state.params)}

    def unpack(self, arrays: Mapping[str, Any]) -> Partition:
        """The state from its arrays."""
        params = tm.mapped(np.array, tm.unnamed(self.model.tables, arrays))
        priors = self.model.priors_type(*(float(x) for x in arrays["priors"]))
        return Partition(np.array(arrays["label"]), params, float(arrays["concentration"]), priors)


def gamma_log_density(x: float, shape: float, rate: float) -> float:
    """Log density of Gamma(shape, rate) at x."""
    return float(shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x)


def compact(seats: Seats, parts: dict[int, tm.Arrays]) -> tuple[NDArray[np.int64], tm.Arrays]:
    """Labels 0, 1, ... by first appearance of the column, and the parameters of the components that hold trees."""
    alive = np.sort(seats.active[: seats.n_active[0]])
    number = np.zeros(seats.n_columns, np.int64)
    number[alive] = np.arange(len(alive))
    return number[seats.label], tm.joined([parts[int(k)] for k in alive])
