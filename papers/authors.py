"""The procedure of Bacciu and Castellana 2019 as the authors' program runs it, errors included, for comparison only.

What differs from the library (see the notes on the models):

- an absent child is a state of its own and a value of the leaf prior too (the slot reading);
- the E-step gives a child P(state | its parent's switch points to it, tree), not its posterior, and counts transitions
  in the same way, so that a step may lower the likelihood;
- starting transitions are drawn as distributions over the child, not the parent;
- the synthetic trees have room for a fifth label that never occurs;
- the infinite mixture starts from one component with random parameters that holds all trees;
- test trees are seated among themselves, from random seats, by the counts of the test trees alone.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora.forest.forest import Forest
from arbora.forest.kernels import hash_consing
from arbora.forest.sharing import SharedForest, share
from arbora.seeds import draw_rows

from . import authors_kernels as kernels

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

N_ITER = 30
N_TEST_SWEEPS = 10
CONCENTRATION = 10.0


class Theta(NamedTuple):
    """Parameters of one component, or expected counts in the same shapes."""

    leaf: Floats  # [slot + root, state + nothing]
    emission: Floats  # [label, state]
    switch: Floats  # [slot]
    transition: Floats  # [slot, child state + nothing, state]


class Sizes(NamedTuple):
    """Numbers of slots, labels and states."""

    n_slots: int
    n_labels: int
    n_states: int


class Trees:
    """A forest as distinct subtrees and distinct trees, with their multiplicities."""

    def __init__(self, forest: Forest, n_slots: int):
        self.shard: SharedForest
        (self.shard,) = share(forest.arrays, n_slots)
        start, _ = hash_consing.expand(self.shard.units.child_start, self.shard.units.child, self.shard.tree_root)
        self.depth = int(np.diff(start).max(initial=1))  # nodes of the largest tree: a walk never has more waiting

    @property
    def n_trees(self) -> int:
        return self.shard.n_trees

    def upward(self, theta: Theta) -> tuple[tuple[Floats, Floats], Floats, Floats]:
        """Messages, log P(distinct tree) and P(state of its root | tree)."""
        shape = (self.shard.n_units, theta.emission.shape[1])
        up, prior, log_prob = np.empty(shape), np.empty(shape), np.empty(shape[0])
        kernels.upward(self.shard.units, theta, up, prior, log_prob)
        root = self.shard.tree_root
        return (up, prior), log_prob[root], up[root]

    def log_likelihood(self, theta: Theta) -> Floats:
        """log P(tree) of every tree."""
        return self.upward(theta)[1][self.shard.tree_id]

    def counts(self, theta: Theta, messages: tuple[Floats, Floats], weight: Floats, conditional: bool = True) -> Theta:
        """Counts of an E-step, with a weight for each distinct tree."""
        total = Theta(*(np.zeros_like(x) for x in theta))
        weighted = (self.shard.tree_root, weight, self.depth)
        kernels.downward(self.shard.units, theta, messages, weighted, conditional, total)
        return total


# ---- parameters -----------------------------------------------------------------------------------------------------


def draw_theta(rng: np.random.Generator, sizes: Sizes, alpha: float, wrong_axis: bool = True) -> Theta:
    """Dirichlet draws; transitions sum to one over the child by default, as in the authors' program."""
    n_slots, n_labels, n_states = sizes
    shapes = [
        (n_slots + 1, n_states + 1),
        (n_labels, n_states),
        (n_slots,),
        (n_slots, n_states + 1, n_states),
    ]
    leaf, emission, switch, transition = (rng.standard_gamma(alpha, shape) for shape in shapes)
    leaf[-1, -1] = 0.0  # a root is never absent
    return Theta(
        leaf / leaf.sum(axis=1, keepdims=True),
        emission / emission.sum(axis=0),
        switch / switch.sum(),
        transition / transition.sum(axis=1 if wrong_axis else 2, keepdims=True),
    )


def m_step(counts: Theta, alpha: float) -> Theta:
    """Counts and alpha - 1, normalised; uniform where there is nothing."""
    leaf = counts.leaf + (alpha - 1.0)
    leaf[-1, -1] = 0.0
    return Theta(
        _normalise(leaf, 1),
        _normalise(counts.emission + (alpha - 1.0), 0),
        _normalise(counts.switch + (alpha - 1.0), 0),
        _normalise(counts.transition + (alpha - 1.0), 2),
    )


def uniform_theta(sizes: Sizes) -> Theta:
    """What the paper takes for the mean over the prior."""
    n_slots, n_labels, n_states = sizes
    nothing = Theta(
        np.zeros((n_slots + 1, n_states + 1)),
        np.zeros((n_labels, n_states)),
        np.zeros(n_slots),
        np.zeros((n_slots, n_states + 1, n_states)),
    )
    return m_step(nothing, 2.0)


def _normalise(x: Floats, axis: int) -> Floats:
    total = x.sum(axis=axis, keepdims=True)
    return np.divide(x, total, out=np.full_like(x, 1.0 / x.shape[axis]), where=total > 0)


# ---- the single model and the finite mixture ------------------------------------------------------------------------


class Fit(NamedTuple):
    """Clusters of the test trees, and what happened on the way."""

    labels: Labels
    n_groups: Labels  # components with trees after each iteration
    seconds: Floats  # processor time of each iteration
    log_likelihood: Floats  # of the training trees before each step; empty for the infinite mixture
    theta: tuple[Theta, ...] = ()  # of the finite mixture


def fit_finite(train: Forest, test: Forest, sizes: Sizes, n_components: int, seed: int, n_iter: int = N_ITER) -> Fit:
    """EM from random parameters; test trees take a cluster from the posterior: of the root's state with one component.

    With `n_components` of 1 it is the single model.
    """
    rng = np.random.default_rng(seed)
    trees = Trees(train, sizes.n_slots)
    multiplicity = trees.shard.sum_by_tree(None)
    weight = rng.dirichlet(np.ones(n_components))
    theta = [draw_theta(rng, sizes, 1.0) for _ in range(n_components)]
    n_groups, seconds, history = [], [], []
    for _ in range(n_iter):
        start = time.process_time()
        passes = [trees.upward(one) for one in theta]
        columns = np.column_stack([log_prob for _, log_prob, _ in passes])
        resp, log_prob = _posterior(columns, weight)
        resp *= multiplicity[:, None] * np.isfinite(columns)  # trees that no component can produce are left out
        theta = [
            m_step(trees.counts(one, messages, resp[:, k].copy()), 1.0)
            for k, (one, (messages, _, _)) in enumerate(zip(theta, passes, strict=True))
        ]
        weight = resp.sum(axis=0) / resp.sum()
        history.append(float(multiplicity @ log_prob))
        n_groups.append(len(np.unique(resp.argmax(axis=1))))
        seconds.append(time.process_time() - start)
    unseen = Trees(test, sizes.n_slots)
    if n_components == 1:
        proba = unseen.upward(theta[0])[2][unseen.shard.tree_id]
        proba[proba.sum(axis=1) <= 0] = 1.0 / sizes.n_states  # the model cannot produce the tree
    else:
        proba, _ = _posterior(np.column_stack([unseen.log_likelihood(one) for one in theta]), weight)
    labels = draw_rows(rng, proba)
    return Fit(labels, np.array(n_groups), np.array(seconds), np.array(history), tuple(theta))


def _posterior(log_prob: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """P(component | tree), Eq. (4), the weights where no component can produce the tree; and log P(tree) or 0 there."""
    with np.errstate(divide="ignore"):
        joint = log_prob + np.log(weight)
    top = joint.max(axis=1, keepdims=True)
    possible = np.isfinite(top)
    joint = np.where(possible, np.exp(joint - np.where(possible, top, 0.0)), weight)
    total = joint.sum(axis=1, keepdims=True)
    return joint / total, np.where(possible, top + np.log(total), 0.0)[:, 0]


# ---- the infinite mixture -------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """What a sweep of the infinite mixture needs besides its state."""

    trees: Trees
    sizes: Sizes
    alpha: float
    log_new: Floats  # log weight of a new component for each tree, Eq. (8)


def fit_infinite(train: Forest, test: Forest, sizes: Sizes, alpha: float, seed: int, n_iter: int = N_ITER) -> Fit:
    """Algorithm 2 from one component with random parameters, and its test procedure."""
    rng = np.random.default_rng(seed)
    trees = Trees(train, sizes.n_slots)
    log_new = np.log(CONCENTRATION) + trees.log_likelihood(uniform_theta(sizes))
    setting = Setting(trees, sizes, alpha, log_new)
    theta, label = [draw_theta(rng, sizes, alpha)], np.zeros(trees.n_trees, np.int64)
    n_groups, seconds = [], []
    for _ in range(n_iter):
        start = time.process_time()
        theta, label = _seat_all(rng, setting, theta, label)
        theta = [_em_step(trees, one, label == k, alpha) for k, one in enumerate(theta)]
        n_groups.append(len(theta))
        seconds.append(time.process_time() - start)
    labels = seat_test(rng, Trees(test, sizes.n_slots), theta, sizes)
    return Fit(labels, np.array(n_groups), np.array(seconds), np.empty(0))


def _seat_all(
    rng: np.random.Generator, setting: Setting, theta: list[Theta], label: Labels
) -> tuple[list[Theta], Labels]:
    """Seat every tree once; components without trees are gone."""
    trees, sizes, alpha, log_new = setting
    label, theta = label.copy(), list(theta)
    columns = np.column_stack([trees.log_likelihood(one) for one in theta])
    count = np.bincount(label, minlength=len(theta))
    done = 0
    while (t := kernels.seat(rng, done, columns, log_new, label, count)) < trees.n_trees:
        theta.append(draw_theta(rng, sizes, alpha))
        columns = np.column_stack([columns, trees.log_likelihood(theta[-1])])
        label[t] = len(theta) - 1
        count = np.append(count, 1)
        done = t + 1
    alive = np.flatnonzero(count)
    number = np.zeros(len(theta), np.int64)
    number[alive] = np.arange(len(alive))
    return [theta[k] for k in alive], number[label]


def _em_step(trees: Trees, theta: Theta, mine: Any, alpha: float) -> Theta:
    """One step of EM on the trees of a component; trees that it cannot produce are left out."""
    messages, log_prob, _ = trees.upward(theta)
    weight = trees.shard.sum_by_tree(mine.astype(np.float64)) * np.isfinite(log_prob)
    return m_step(trees.counts(theta, messages, weight), alpha)


def seat_test(rng: np.random.Generator, trees: Trees, theta: list[Theta], sizes: Sizes) -> Labels:
    """Ten sweeps among the test trees, from random seats; all that get a new component share one number."""
    log_uniform = trees.log_likelihood(uniform_theta(sizes))
    columns = np.column_stack([*(trees.log_likelihood(one) for one in theta), log_uniform])
    label = rng.integers(0, len(theta), trees.n_trees)
    count = np.bincount(label, minlength=len(theta) + 1)
    for _ in range(N_TEST_SWEEPS):
        done = 0
        while (t := kernels.seat(rng, done, columns, np.log(CONCENTRATION) + log_uniform, label, count)) < len(label):
            label[t] = len(theta)
            count[len(theta)] += 1
            done = t + 1
    return label
