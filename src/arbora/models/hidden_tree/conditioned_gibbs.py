"""The exact sampler of partitions given known classes and pairs of trees: every draw keeps them; infinite.md."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..patterns.constraints import Given, kept_to, make_blocks
from ..patterns.kernels.group_sweeps import Rows
from . import tree_model as tm
from .dp_samplers import Partition, ProcessPrior, Seats, compact
from .exact_gibbs import ExactGibbs
from .kernels import split_bags
from .kernels.bags import Bags
from .passes import Batch
from .state_gibbs import StateGibbs

Ints = NDArray[np.int64]


class ConditionedGibbs(ExactGibbs):
    """Seats blocks of trees that share a group, never beside a block that stays apart.

    The posterior given what is known is that of all partitions, cut down to those that keep it.  A block is seated as
    one, given all others; a split or a merger that breaks a condition has probability zero and is refused.
    """

    def __init__(
        self, batch: Batch, setting: ProcessPrior, features: Any, n_start: int, spread: bool = False, *, given: Given
    ):
        super().__init__(batch, setting, features, n_start, spread)
        n = batch.n_trees
        nothing = Rows(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros((n, 0), np.int64))
        self.blocks = make_blocks(given, nothing, np.arange(n))
        order = np.argsort(self.blocks.of_tree, kind="stable")
        self.members = np.split(order, np.cumsum(self.blocks.n_trees)[:-1])

    def _first_groups(self, rng: np.random.Generator) -> Ints:
        return kept_to(self.blocks, super()._first_groups(rng))

    def _apart(self, b: int) -> Ints:
        """The first trees of blocks that stay apart from one."""
        blocks = self.blocks
        return np.asarray(blocks.first[blocks.apart[blocks.apart_start[b] : blocks.apart_start[b + 1]]])

    def keeps(self, label: Ints) -> bool:
        """Whether groups are as they must be."""
        of_block = label[self.blocks.first]
        if not np.array_equal(of_block[self.blocks.of_tree], label):
            return False
        one = np.repeat(of_block, np.diff(self.blocks.apart_start))
        return not (one == of_block[self.blocks.apart]).any()

    def _seat(self, rng: np.random.Generator, state: Partition) -> tuple[Ints, tm.Arrays]:
        """Algorithm 8 with blocks for trees."""
        seats, parts, log_weight = self._pooled(rng, state)
        for b in range(len(self.members)):
            position = self._seat_block(rng, seats, b, log_weight)
            if position >= 0:
                self._refill(rng, state, seats, parts, position)
        return compact(seats, parts)

    def _seat_block(self, rng: np.random.Generator, seats: Seats, b: int, log_weight: float) -> int:
        """Seat one block; the place of the empty component that it took, or -1."""
        trees = self.members[b]
        n_own, k = len(trees), int(seats.label[trees[0]])
        seats.count[k] -= n_own
        if seats.count[k] == 0:  # its parameters wait among the empty ones (Favaro and Teh 2013)
            n = int(seats.n_active[0]) - 1
            seats.active[np.flatnonzero(seats.active[: n + 1] == k)[0]] = seats.active[n]
            seats.n_active[0] = n
            seats.empty[rng.integers(len(seats.empty))] = k
        active = seats.active[: seats.n_active[0]].copy()
        column = np.append(active, seats.empty)
        weight = seats.log_lik[np.ix_(trees, column)].sum(axis=0)
        weight[: len(active)] += gammaln(seats.count[active] + n_own) - gammaln(seats.count[active])
        weight[len(active) :] += log_weight + gammaln(n_own)
        weight[: len(active)][np.isin(active, seats.label[self._apart(b)])] = -np.inf
        top = weight.max()
        chosen = len(active)  # an empty one keeps every condition
        if top > -np.inf:
            total = np.exp(weight - top).cumsum()
            chosen = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
        k = int(column[chosen])
        seats.label[trees] = k
        if chosen < len(active):
            seats.count[k] += n_own
            return -1
        seats.count[k] = n_own
        seats.active[len(active)] = k
        seats.n_active[0] += 1
        return chosen - len(active)

    def _propose(
        self, rng: np.random.Generator, label: Ints, bags: Bags, groups: split_bags.GroupSums, *given: Any
    ) -> int:
        before = label.copy()
        kind = super()._propose(rng, label, bags, groups, *given)
        if kind == split_bags.REJECTED or self.keeps(label):
            return kind
        label[:] = before
        again = split_bags.sum_groups(label, bags, given[0].table, len(groups.size))
        for now, sums in zip(groups, again, strict=True):
            now[:] = sums
        return int(split_bags.REJECTED)


class ConditionedStates(ConditionedGibbs, StateGibbs):
    """The same where groups learn how many states they need."""

    def _refresh(self, rng: np.random.Generator, state: Partition) -> tuple[Partition, Mapping[str, float]]:
        return StateGibbs._refresh(self, rng, state)


def conditioned(kind: type[ExactGibbs], given: Given) -> Any:
    """The sampler of this kind that keeps what is known."""
    return partial(ConditionedStates if issubclass(kind, StateGibbs) else ConditionedGibbs, given=given)
