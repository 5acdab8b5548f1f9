"""A Dirichlet diffusion tree (Neal 2003): Gaussian-to-Gaussian steps from parent to child, sampled exactly.

Huang et al. 2021 argue against such trees.  A datum is where a Brownian path from the origin is at time 1.  A new path
follows older ones and leaves them at rate c / (1 - t), divided by the number of paths on the branch.  Places of inner
nodes are integrated out; trees and times are sampled by regrafts and by draws of single times, c and the variance by
their conditionals.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from . import diffusion_tree_kernels as kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Tree(NamedTuple):
    """Leaves come first, then inner nodes."""

    parent: Ints
    child: Ints
    size: Ints
    time: Floats

    @property
    def n_leaves(self) -> int:
        """Number of data."""
        return (len(self.parent) + 1) // 2

    def copy(self) -> "Tree":
        """The same tree in arrays of its own."""
        return Tree(self.parent.copy(), self.child.copy(), self.size.copy(), self.time.copy())


class Priors(NamedTuple):
    """Gamma prior of the divergence parameter c (shape, rate) and inverse gamma prior of the variance."""

    c: tuple[float, float] = (2.0, 2.0)
    variance: tuple[float, float] = (1.0, 1.0)


class State(NamedTuple):
    """A draw: the tree, c and the variance per unit of time."""

    tree: Tree
    c: float
    variance: float


class Sampler:
    """Sweeps over the tree of some rows."""

    def __init__(self, X: Any, priors: Priors | None = None):
        self.X = np.ascontiguousarray(X, np.float64)
        self.priors = priors or Priors()
        n = len(self.X)
        if n < 2:
            raise ValueError(f"{n} rows; wanted 2 or more")
        self.harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n + 1))])
        self.tables = self.harmonic, gammaln(np.arange(n + 1) + 1.0)
        self.work = np.empty(2 * n - 1, np.int64), np.empty((2 * n - 1, self.X.shape[1])), np.empty(2 * n - 1)

    def start(self, rng: np.random.Generator) -> State:
        """A tree from the prior, with c 1 and the variance of the rows."""
        return State(draw_tree(rng, len(self.X), 1.0), 1.0, float(np.mean(self.X**2)) + 1e-12)

    def step(self, rng: np.random.Generator, state: State, learn: bool = True) -> State:
        """One sweep; c and the variance may be held fixed."""
        tree, scales = state.tree.copy(), (state.c, state.variance)
        kernels.sweep(rng, tree, self.X, scales, self.tables, self.work)
        if not learn:
            return State(tree, *scales)
        return State(tree, self._draw_c(rng, tree), self._draw_variance(rng, tree))

    def _draw_c(self, rng: np.random.Generator, tree: Tree) -> float:
        n, (shape, rate) = tree.n_leaves, self.priors.c
        below = tree.size[tree.child[n:]]
        weight = self.harmonic[below.sum(axis=1) - 1] - self.harmonic[below - 1].sum(axis=1)
        return float(rng.gamma(shape + n - 1, 1.0 / (rate - weight @ np.log1p(-tree.time[n:]))))

    def _draw_variance(self, rng: np.random.Generator, tree: Tree) -> float:
        shape, scale = self.priors.variance
        top = int(np.flatnonzero(tree.parent == -1)[0])
        _, squares = kernels.contrasts(tree, self.X, top, self.work)
        return float((scale + 0.5 * squares) / rng.gamma(shape + 0.5 * self.X.size))

    def log_joint(self, state: State) -> float:
        """Log density of the rows and the tree, given c and the variance."""
        tree = state.tree
        top = int(np.flatnonzero(tree.parent == -1)[0])
        fit = kernels.log_likelihood(tree, self.X, top, state.variance, self.work)
        return float(fit + kernels.log_prior(tree, tree.n_leaves, state.c, *self.tables))


def draw_tree(rng: np.random.Generator, n: int, c: float) -> Tree:
    """A tree of the prior: leaves join one after another."""
    size = np.ones(2 * n - 1, np.int64)
    tree = Tree(np.full(2 * n - 1, -1), np.full((2 * n - 1, 2), -1), size, np.ones(2 * n - 1))
    for v in range(1, n):
        below, when = kernels.draw_place(rng, tree, kernels.top_of(tree.parent, 0), c)
        kernels.attach(tree, v, n + v - 1, below, when)
    return tree


def cut(tree: Tree, n_groups: Any) -> Ints:
    """Levels of so many groups: the paths that are apart after that many divergences, [level, datum]."""
    n = tree.n_leaves
    by_time = np.append(np.sort(tree.time[n:]), np.inf)
    levels = []
    for k in n_groups:
        late = by_time[min(k, n) - 1]  # the divergence that would make one group more
        node = np.arange(n)
        while True:
            above = tree.parent[node]
            joined = (above >= 0) & (tree.time[above] >= late)
            if not joined.any():
                break
            node = np.where(joined, above, node)
        levels.append(np.unique(node, return_inverse=True)[1])
    return np.array(levels)
