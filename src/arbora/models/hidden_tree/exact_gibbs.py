"""ExactGibbs: a sampler that leaves the posterior of the Dirichlet-process mixture of trees invariant.

A sweep seats every tree (Neal's Algorithm 8 with the reuse of Favaro and Teh 2013), draws hidden states and switches,
proposes to split and merge groups given those, and draws parameters, concentration and, if asked, Dirichlet parameters.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import completed_counts as bg
from . import tree_model as tm
from .dp_samplers import Partition, ProcessPrior, Seats, StochasticEM, compact
from .kernels import seating, split_bags
from .kernels.bags import Bags
from .passes import Batch

Floats = NDArray[np.float64]

N_SCANS = 3  # restricted scans of a split proposal
# Dirichlet parameters are learnt between these bounds: beyond them nothing changes but the arithmetic.
LEAST, MOST = 1e-3, 1e3


class ExactGibbs(StochasticEM):
    """Partition, parameters and, if they have priors, concentration and Dirichlet parameters from their posterior."""

    def __init__(self, batch: Batch, setting: ProcessPrior, features: Any, n_start: int, spread: bool = False):
        super().__init__(batch, setting, features, n_start, spread)
        self.bags = batch.model.completed(batch)

    def _seat(self, rng: np.random.Generator, state: Partition) -> tuple[NDArray[np.int64], tm.Arrays]:
        """Algorithm 8 with a pool of empty components drawn from the prior, refilled when one is taken."""
        seats, parts, log_weight = self._pooled(rng, state)
        done = 0
        while True:
            event, t, position = seats.seat(rng, done, log_weight, True)
            if event == seating.DONE:
                return compact(seats, parts)
            self._refill(rng, state, seats, parts, position)
            done = t + 1

    def _pooled(self, rng: np.random.Generator, state: Partition) -> tuple[Seats, dict[int, tm.Arrays], float]:
        """Seats of all trees, parameters by column, and the log weight of each empty component of the pool."""
        n_empty = self.setting.n_auxiliary
        pool = self.model.draw(rng, n_empty, state.priors)
        together = tm.joined([state.params, pool])
        seats = Seats(state.label, self.batch.log_likelihood(together), n_empty=n_empty)
        return seats, tm.split(together), float(np.log(state.concentration / n_empty))

    def _refill(
        self, rng: np.random.Generator, state: Partition, seats: Seats, parts: dict[int, tm.Arrays], position: int
    ) -> None:
        """Put a component drawn from the prior where one of the pool was taken."""
        fresh = self.model.draw(rng, 1, state.priors)
        column = seats.add_column(self.batch.log_likelihood(fresh)[:, 0])
        parts[column] = fresh
        seats.empty[position] = column

    def _refresh(self, rng: np.random.Generator, state: Partition) -> tuple[Partition, Mapping[str, float]]:
        """Hidden states given parameters; then, parameters integrated out, splits and merges; then parameters."""
        bags = self.bags.draw(rng, state.label, state.params)
        label, cells, info = self._split_merge(rng, state, bags)
        n_groups = len(cells)
        priors = state.priors
        if self.setting.hyperprior is not None:
            priors = draw_priors(rng, self.bags, priors, cells, self.setting.hyperprior)
        params = self.model.draw(rng, n_groups, priors, self.bags.counts(cells))
        return state._replace(label=label, params=params, priors=priors), info

    def _split_merge(
        self, rng: np.random.Generator, state: Partition, bags: Bags
    ) -> tuple[NDArray[np.int64], Floats, Mapping[str, float]]:
        """Propose some splits and merges; groups keep the order of their numbers.  Their cells, for `Bags.counts`."""
        label, n_tries = state.label.copy(), self.setting.n_split_merge
        cells = split_bags.Cells(self.bags.table(state.priors), self.bags.layout)
        groups = split_bags.sum_groups(label, bags, cells.table, int(label.max()) + 1 + n_tries + 2)
        effort = split_bags.Effort(np.log(state.concentration), N_SCANS)
        done = np.zeros(3)
        for _ in range(n_tries):
            done[self._propose(rng, label, bags, groups, cells, effort)] += 1
        used, label = np.unique(label, return_inverse=True)
        found = np.concatenate([groups.in_cell[used], groups.sums[used].reshape(len(used), -1)], axis=1)
        return label.astype(np.int64), found, {"n_splits": done[split_bags.SPLIT], "n_merges": done[split_bags.MERGED]}

    def _propose(
        self, rng: np.random.Generator, label: NDArray[np.int64], bags: Bags, groups: split_bags.GroupSums, *given: Any
    ) -> int:
        """Propose a split or a merger, which changes labels and sums if it is accepted: what came of it."""
        return int(split_bags.split_or_merge(rng, label, bags, groups, *given))


def draw_priors(
    rng: np.random.Generator, bags: tm.CompletedCounts, priors: Any, cells: Any, hyperprior: tuple[float, float]
) -> Any:
    """Slice-sample each Dirichlet parameter under its gamma prior, given counts; parameters are integrated out."""
    shape, rate = hyperprior
    values = list(priors)
    for x, now in enumerate(priors):

        def log_density(log_alpha: float, x: int = x) -> float:
            values[x] = float(np.exp(log_alpha))
            marginal = bg.log_marginal(bags.table(type(priors)(*values)), bags.kinds(), cells)[x]
            return float(marginal + shape * log_alpha - rate * values[x])

        values[x] = float(np.exp(slice_sample(rng, log_density, np.log(now), np.log(LEAST), np.log(MOST))))
    return type(priors)(*values)


def slice_sample(
    rng: np.random.Generator, log_density: Callable[[float], float], now: float, low: float, high: float
) -> float:
    """One draw by slice sampling on an interval, shrinking it towards the present value (Neal 2003)."""
    level = log_density(now) + np.log1p(-rng.random())
    while True:
        proposed = low + (high - low) * rng.random()
        if log_density(proposed) >= level:
            return float(proposed)
        if proposed < now:
            low = proposed
        else:
            high = proposed
