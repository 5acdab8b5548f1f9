"""Known classes and pairs of trees in EM: the posterior of components given them, exact; note.md, section 8."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ...errors import SettingError
from ..patterns.constraints import Given, linked
from .distributions import TINY
from .passes import Batch, MixtureCounts, MixtureParams, log_joint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_WAYS = 100_000  # ways to give components to blocks tied by cannot-links, which are gone through one by one


class Tied(NamedTuple):
    """Blocks that cannot-links tie, and all ways to give them components."""

    block: Ints
    way: Ints  # [way, block]: a component


class Conditions(NamedTuple):
    """Blocks of trees that share a component, which components each may have, and blocks that may not share one."""

    tree: Ints  # trees with a condition
    block: Ints  # [tree]: the block of each
    allowed: Bools  # [block, component]
    tied: tuple[Tied, ...]

    def posterior(self, joint: Floats) -> tuple[Floats, float]:
        """P(component of each tree | all trees, conditions), and log P(all trees, conditions).

        Trees that no component explains are left out, and so are sets of blocks that no way explains.
        """
        free = np.ones(len(joint), bool)
        free[self.tree] = False
        resp, log_prob = np.zeros_like(joint), 0.0
        resp[free], one = _shares(joint[free])
        log_prob += one
        by_block = self._by_block(joint)
        alone = np.ones(len(self.allowed), bool)
        for tied in self.tied:
            alone[tied.block] = False
        share = np.zeros_like(by_block)
        share[alone], one = _shares(by_block[alone])
        log_prob += one
        for tied in self.tied:
            way, one = _shares(self._of_ways(tied, by_block)[None])
            log_prob += one
            for b, block in enumerate(tied.block):
                np.add.at(share[block], tied.way[:, b], way[0])
        resp[self.tree] = share[self.block]
        resp[~np.isfinite(joint.max(axis=1))] = 0.0
        resp[resp < TINY] = 0.0
        return resp, log_prob

    def best(self, joint: Floats) -> Ints:
        """The most probable components of all trees together, given the conditions."""
        label, by_block = joint.argmax(axis=1), self._by_block(joint)
        chosen = by_block.argmax(axis=1)
        for tied in self.tied:
            chosen[tied.block] = tied.way[self._of_ways(tied, by_block).argmax()]
        label[self.tree] = chosen[self.block]
        return label.astype(np.int64)

    def start(self, label: Ints, trees: Ints) -> Ints:
        """Clusters of some trees, renumbered and mended so that blocks are whole and known classes have their own.

        Cannot-links are left to EM.
        """
        n = self.allowed.shape[1]
        place = np.full(max(int(trees.max()), int(self.tree.max())) + 1, -1)
        place[trees] = np.arange(len(trees))
        at, block = place[self.tree], self.block
        at, block = at[at >= 0], block[at >= 0]
        fixed = self.allowed.sum(axis=1) == 1
        votes = np.zeros((n, n))
        pinned = fixed[block]
        np.add.at(votes, (self.allowed[block[pinned]].argmax(axis=1), label[at[pinned]]), 1.0)
        component, cluster = linear_sum_assignment(votes, maximize=True)
        new = np.empty(n, np.int64)
        new[cluster] = component
        label = new[label]
        of_block = np.zeros(self.allowed.shape)
        np.add.at(of_block, (block, label[at]), 1.0)
        label[at] = np.where(self.allowed, of_block, -1.0).argmax(axis=1)[block]
        return label

    def _by_block(self, joint: Floats) -> Floats:
        """log P(trees of a block, component), [block, component]; -inf where it may not have it."""
        rows = joint[self.tree]
        out = np.zeros(self.allowed.shape)
        np.add.at(out, self.block, np.where(np.isfinite(rows.max(axis=1))[:, None], rows, 0.0))
        return np.where(self.allowed, out, -np.inf)

    @staticmethod
    def _of_ways(tied: Tied, by_block: Floats) -> Floats:
        """log P(trees of tied blocks, way)."""
        return np.asarray(by_block[tied.block[None], tied.way].sum(axis=1))


def _shares(joint: Floats) -> tuple[Floats, float]:
    """Each row as probabilities, zeros where all of it is impossible, and the log of what rows add up to."""
    top = joint.max(axis=1, initial=-np.inf)
    possible = np.isfinite(top)
    out = np.exp(joint - np.where(possible, top, 0.0)[:, None])
    total = np.where(possible, out.sum(axis=1), 1.0)
    return out / total[:, None], float((np.where(possible, top, 0.0) + np.log(total)).sum())


# ---- from constraints -----------------------------------------------------------------------------------------------


def conditions_of(given: Given, n_trees: int, n_components: int) -> Conditions:
    """Conditions on trees of so many components; class number c is component c."""
    block, apart, of_class = linked(given, np.arange(n_trees))
    allowed = np.ones((int(block.max()) + 1, n_components), bool)
    allowed[of_class] = np.eye(n_components, dtype=bool)[: len(of_class)]
    pinned = np.isin(np.arange(len(allowed)), of_class)
    for one, two in ((apart[:, 0], apart[:, 1]), (apart[:, 1], apart[:, 0])):
        beside = pinned[one] & ~pinned[two]
        allowed[two[beside]] &= ~allowed[one[beside]]
    apart = apart[~pinned[apart].any(axis=1)]
    if not allowed.any(axis=1).all():
        raise _none(n_components)
    n_in = np.bincount(block)
    kept = np.flatnonzero((n_in > 1) | ~allowed.all(axis=1) | np.isin(np.arange(len(n_in)), apart))
    number = np.full(len(n_in), -1)
    number[kept] = np.arange(len(kept))
    tree = np.flatnonzero(number[block] >= 0)
    return Conditions(tree, number[block[tree]], allowed[kept], _tied(number[apart], allowed[kept]))


def _tied(apart: Ints, allowed: Bools) -> tuple[Tied, ...]:
    """Sets of blocks that cannot-links tie to each other, each beside those before it, so that few ways are open."""
    n = len(allowed)
    graph = coo_array((np.ones(len(apart)), (apart[:, 0], apart[:, 1])), shape=(n, n))
    group = connected_components(graph, directed=False)[1]
    out = []
    for k in np.unique(group[apart]).tolist():
        block = breadth_first_order(graph, int(np.argmax(group == k)), directed=False)[0].astype(np.int64)
        place = {int(b): i for i, b in enumerate(block)}
        pairs = {tuple(sorted((place[a], place[b]))) for a, b in apart.tolist() if group[a] == k}
        out.append(Tied(block, _ways(pairs, allowed[block])))
    return tuple(out)


def _ways(pairs: set[tuple[int, ...]], allowed: Bools) -> Ints:
    """All ways to give blocks allowed components, none the same to a pair, [way, block]."""
    way = np.zeros((1, 0), np.int64)
    for b in range(len(allowed)):
        own = np.flatnonzero(allowed[b])
        if len(way) * len(own) > 10 * MOST_WAYS:
            raise _too_many(len(allowed), allowed.shape[1])
        way = np.column_stack([np.repeat(way, len(own), axis=0), np.tile(own, len(way))])
        for a in (min(pair) for pair in pairs if max(pair) == b):
            way = way[way[:, a] != way[:, b]]
    if len(way) > MOST_WAYS:
        raise _too_many(len(allowed), allowed.shape[1])
    if not len(way):
        raise _none(allowed.shape[1])
    return way


def _too_many(n_blocks: int, n_components: int) -> SettingError:
    return SettingError(
        f"cannot_link: pairs tie {n_blocks} trees, or blocks of trees, to each other, and {n_components} components "
        f"can be given to them in more than {MOST_WAYS:,} ways; leave out pairs that join large sets, or name classes"
    )


def _none(n_components: int) -> SettingError:
    return SettingError(
        f"n_components={n_components}: no way to keep apart what must be apart; give more components, or "
        "leave out pairs"
    )


# ---- the E-step -----------------------------------------------------------------------------------------------------


class ConditionedBatch(Batch):
    """Trees ready for the passes, with conditions on their components."""

    conditions: Conditions

    @classmethod
    def of(cls, batch: Batch, conditions: Conditions) -> Self:
        """The same trees, with conditions.

        Parameters
        ----------
        batch : Batch
            The trees.
        conditions : Conditions
            On the components of trees.

        Returns
        -------
        ConditionedBatch
            Both.
        """
        out = cls(batch.model, batch.shards, None, batch.n_threads)
        out.conditions = conditions
        return out

    def _posterior(self, params: MixtureParams) -> tuple[Floats, float]:
        return self.conditions.posterior(log_joint(self.log_likelihood(params.tree), params.weight))

    def expected_counts(self, params: MixtureParams, resp: Floats | None = None) -> tuple[MixtureCounts, float]:
        """As in `Batch`, given the conditions; the log-likelihood is log P(all trees, conditions)."""
        if resp is not None:
            return super().expected_counts(params, resp)
        given, log_prob = self._posterior(params)
        return super().expected_counts(params, given)[0], log_prob

    def evaluate(self, params: MixtureParams) -> float:
        """log P(all trees, conditions)."""
        return self._posterior(params)[1]

    def labels_of(self, joint: Floats) -> Ints:
        """The most probable components of all trees together."""
        return self.conditions.best(joint)

    def start_labels(self, label: Ints, trees: Ints) -> Ints:
        """Clusters to start from, mended by the conditions."""
        return self.conditions.start(label, trees)
