"""Where new data belong: draws of weights, components and directions given the estimated tree."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..file_checks import check_array
from ..rows import FARTHEST
from .kernels import mixture_tree
from .kernels.mixture_tree import MixtureTree, SweepSettings
from .sampler import HierarchySampler, Start
from .starts import crowded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WARM_UP, N_KEPT, APART = 50, 30, 5  # sweeps and draws of the chain behind `predict`


class Predictor(NamedTuple):
    """Draws of weights, components and directions given the estimated tree; s draw, z node, k component."""

    parent: Ints  # [z], parents first
    label: Ints  # [z], group on its level
    leaf: Ints  # [leaf] nodes of the last level
    below: Ints  # [z] data
    weight: Floats  # [s, leaf, k], the last of a draw's components is one never seen
    size: Floats  # [s, k]
    total: Floats  # [s, k, d]
    variance: Floats  # [s, 2]
    direction: Floats  # [s, z, d]

    @classmethod
    def of(cls, sampler: HierarchySampler, levels: Ints, component: Ints, variance: Floats) -> Self:
        """Hold the paths, draw all else."""
        setting = sampler.setting._replace(branching=0, procedure=mixture_tree.EXACT)  # only nodes that hold data
        start = Start(crowded(levels.T, 0), component)
        begin = (float(variance[0]), float(variance[1]))
        chain = HierarchySampler(
            sampler.X, len(levels), setting, begin, (start,), intercept=sampler.intercept, moving=False
        )
        rng = np.random.default_rng(0)
        state = chain.init(rng)
        for _ in range(WARM_UP):
            state, _ = chain.step(rng, state)
        kept = []
        for _ in range(N_KEPT):
            for _ in range(APART):
                state, _ = chain.step(rng, state)
            kept.append(MixtureTree(*(np.array(x) for x in state)))
        return cls._gather(kept, chain._queue(state), levels)

    @classmethod
    def _gather(cls, kept: list[MixtureTree], queue: Ints, levels: Ints) -> Self:
        state, n_draws = kept[0], len(kept)
        number = np.full(len(state.rest), -1, np.int64)
        number[queue] = np.arange(len(queue))
        label = np.zeros(len(queue), np.int64)
        label[number[state.path.T]] = levels
        leaf = np.unique(number[state.path[:, -1]])
        most = max(int(one.n_components[0]) for one in kept)
        weight = np.zeros((n_draws, len(leaf), most + 1))
        size, total = np.zeros((n_draws, most + 1)), np.zeros((n_draws, most + 1, state.total.shape[1]))
        for s, one in enumerate(kept):
            k = int(one.n_components[0])
            weight[s, :, :k] = one.weight[queue[leaf], :k]
            weight[s, :, k] = one.rest[queue[leaf]]
            size[s, :k], total[s, :k] = one.size[:k], one.total[:k]
        return cls(
            parent=np.where(queue == 0, -1, number[state.parent[queue]]),
            label=label,
            leaf=leaf,
            below=state.below[queue],
            weight=weight,
            size=size,
            total=total,
            variance=np.array([one.variance for one in kept]),
            direction=np.array([one.direction[queue] for one in kept]),
        )

    def check(self, n_groups: Ints, n_columns: int, n_data: int, intercept: bool) -> None:
        """Raise ValueError unless draws from a file are of a tree with so many groups on each level."""
        z = len(self.parent)
        check_array("parent", self.parent, np.int64, (z,), -1, z - 1)
        if z < 2 or self.parent[0] != -1 or (self.parent[1:] < 0).any() or (self.parent >= np.arange(z)).any():
            raise ValueError("the tree of the predictor is no tree")
        level = np.zeros(z, np.int64)
        for u in range(1, z):
            level[u] = level[self.parent[u]] + 1
        check_array("leaf", self.leaf, np.int64, (None,), 1, z - 1)
        check_array("label", self.label, np.int64, (z,), 0, n_data - 1)
        if not np.array_equal(self.leaf, np.flatnonzero(level == len(n_groups))) or level.max() > len(n_groups):
            raise ValueError("the leaves of the predictor are not those of its tree")
        if (self.label[1:] >= n_groups[level[1:] - 1]).any() or not len(self.leaf):
            raise ValueError("a node of the predictor is no group of the fit")
        check_array("below", self.below, np.int64, (z,), 1, n_data)
        check_array("weight", self.weight, np.float64, (None, len(self.leaf), None), 0.0, 1.0 + 1e-6)
        s, _, k = self.weight.shape
        check_array("size", self.size, np.float64, (s, k), 0.0, n_data)
        check_array("total", self.total, np.float64, (s, k, n_columns), -FARTHEST, FARTHEST)
        check_array("variance", self.variance, np.float64, (s, 2), 1e-100, 1e100)
        width = n_columns + intercept
        check_array("direction", self.direction, np.float64, (s, z, width), -FARTHEST, FARTHEST)
        if s < 1 or k < 1 or not np.allclose(self.weight.sum(axis=2), 1.0, atol=1e-6):
            raise ValueError("the weights of the components do not sum to one")

    def leaf_probability(self, X: Floats, setting: SweepSettings) -> Floats:
        """P(leaf | x, a draw), averaged over draws, [datum, leaf]."""
        found = np.zeros((len(X), len(self.leaf)))
        reach = np.log(self.below[self.leaf])  # of a nested restaurant: shares multiply to the size of the leaf
        for level_up in self._ancestors()[:-1]:
            reach -= np.log1p(setting.path_concentration / self.below[level_up])
        for s in range(len(self.weight)):
            log_p = reach + self._log_density(X, s)
            if setting.regularization > 0:
                log_p -= 2.0 * setting.regularization * self._hinge(X, s, setting.margin)
            found += np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
        return found / len(self.weight)

    def _ancestors(self) -> list[Ints]:
        """Nodes of each leaf, from the root down to itself."""
        rows = [self.leaf]
        while rows[0][0] != 0:
            rows.insert(0, self.parent[rows[0]])
        return rows

    def _log_density(self, X: Floats, s: int) -> Floats:
        within, between = self.variance[s]
        shrink = between / (within + self.size[s] * between)
        var = within * (1.0 + shrink)
        gap = X[:, None, :] - (shrink[:, None] * self.total[s])
        log_f = -0.5 * (X.shape[1] * np.log(2.0 * np.pi * var) + (gap**2).sum(axis=2) / var)
        with np.errstate(divide="ignore"):  # weights beyond the components of a draw are zero
            log_weight = np.log(self.weight[s])
        return np.asarray(logsumexp(log_weight[None] + log_f[:, None, :], axis=2))

    def _hinge(self, X: Floats, s: int, margin: float) -> Floats:
        direction = self.direction[s]
        score = X @ direction[:, : X.shape[1]].T
        if direction.shape[1] > X.shape[1]:
            score += direction[:, -1]
        worst = np.zeros((len(X), len(self.parent)))
        for p in np.unique(self.parent[self.parent >= 0]):
            children = np.flatnonzero(self.parent == p)
            for c in children:
                worst[:, c] = worst[:, p]
                if len(children) > 1:
                    rival = score[:, children[children != c]].max(axis=1)
                    worst[:, c] = np.maximum(worst[:, p], margin - score[:, c] + rival)
        return np.asarray(worst[:, self.leaf])

    def levels_of(self, leaf: Ints) -> Ints:
        """Group on each level of the data at these leaves (indices of `leaf`), [level, datum]."""
        return np.array([self.label[row[leaf]] for row in self._ancestors()[1:]])
