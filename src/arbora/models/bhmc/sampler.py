"""Chains over hierarchies of Huang et al. 2021: one sweep of paths, components, weights and discriminants."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernels import bhmc_weights, directions, finite_paths, mixture_tree, nested_paths
from .kernels.mixture_tree import MixtureTree, SweepSettings
from .kernels.random_draws import TINY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROOM = 16  # components there is room for at first


class Start(NamedTuple):
    """Where a chain may begin: the group of each datum at each level, and its component."""

    path: Ints  # [n, l], numbered anyhow; groups of a level are refined by the next
    component: Ints  # [n]


class HierarchySampler:
    """A sampler for chains: finite trees by Gibbs steps over leaves, nested ones by proposals of the prior.

    `variance` is (within components, of their means), to begin with if the setting has priors for them.  `starts` are
    taken at random; without them paths come from the prior.  With `intercept`, discriminants need not pass through the
    origin.  With `moving=False` paths stay where they start.
    """

    def __init__(
        self,
        X: Floats,
        depth: int,
        setting: SweepSettings,
        variance: tuple[float, float],
        starts: tuple[Start, ...] = (),
        *,
        intercept: bool = False,
        moving: bool = True,
    ):
        self.X = np.ascontiguousarray(X, np.float64)
        self.depth, self.setting, self.nested = depth, setting, setting.branching == 0
        self.variance = np.array(variance, np.float64)
        self.starts, self.intercept, self.moving = starts, intercept, moving

    # ---- the start ----------------------------------------------------------------------------------------------

    def init(self, rng: np.random.Generator) -> MixtureTree:
        """One of the starts, or paths from the prior and k components at random."""
        n = len(self.X)
        if self.starts:
            start = self.starts[int(rng.integers(len(self.starts)))]
        else:
            start = Start(draw_paths(rng, n, self.depth, self.setting), rng.integers(0, 3, n))
        return self.state_at(rng, start)

    def state_at(self, rng: np.random.Generator, start: Start) -> MixtureTree:
        """A state with these paths and components, all else drawn."""
        n, n_features = self.X.shape
        n_slots = n * self.depth + 1 + self.depth if self.nested else n_complete(self.setting.branching, self.depth)
        _, component = np.unique(start.component, return_inverse=True)
        n_components = int(component.max()) + 1
        room = max(ROOM, n_components + 1)
        state = MixtureTree(
            path=np.zeros((n, self.depth), np.int64),
            component=component.astype(np.int64),
            augment=np.ones(n),
            parent=np.full(n_slots, -1, np.int64),
            first_child=np.full(n_slots, -1, np.int64),
            next_sibling=np.full(n_slots, -1, np.int64),
            below=np.zeros(n_slots, np.int64),
            free=np.zeros(n_slots, np.int64),
            n_free=np.zeros(1, np.int64),
            weight=np.full((n_slots, room), 1.0 / (n_components + 1)),
            rest=np.full(n_slots, 1.0 / (n_components + 1)),
            direction=self.setting.direction_scale * rng.standard_normal((n_slots, n_features + self.intercept)),
            size=np.bincount(component, minlength=room),
            total=np.zeros((room, n_features)),
            n_components=np.array([n_components]),
            variance=self.variance.copy(),
        )
        lay_out(start.path, state, self.setting.branching)
        bhmc_weights.refresh_totals(self.X, state)
        for _ in range(5):  # tables seated by uniform weights are soon forgotten
            bhmc_weights.draw_weights(rng, self._queue(state), state, self.setting)
        return state

    # ---- a sweep ------------------------------------------------------------------------------------------------

    def step(self, rng: np.random.Generator, state: MixtureTree) -> tuple[MixtureTree, Mapping[str, float]]:
        """Paths and components datum by datum, then weights, directions, means and variances."""
        before = state.path[:, -1].copy()
        bhmc_weights.refresh_totals(self.X, state)
        state = self._move(rng, state)
        queue = self._queue(state)
        cdll = float(bhmc_weights.update(rng, queue, self.X, state, self.setting))
        hinge = self._draw_directions(rng, queue, state)
        rcdll = cdll - 2.0 * self.setting.regularization * hinge
        info = {
            "log_joint": rcdll,  # Eq. (22), the regularised complete-data log-likelihood
            "n_nodes": float(np.count_nonzero(state.below[queue]) - 1),
            "n_components": float(state.n_components[0]),
            "cdll": cdll,
            "moved": float((before != state.path[:, -1]).mean()),
            "deviation": float(np.sqrt(state.variance[0])),
            "mean_deviation": float(np.sqrt(state.variance[1])),
        }
        return state, info

    def _move(self, rng: np.random.Generator, state: MixtureTree) -> MixtureTree:
        """Path and component of every datum in random order; arrays of components grow when they are full."""
        order = rng.permutation(len(self.X))
        move: Any = nested_paths.move_nested if self.nested else finite_paths.move_finite
        if not self.moving:
            move = mixture_tree.move_components
        done = 0
        while True:
            done = move(rng, order, done, self.X, state, self.setting)
            if done == len(order):
                return state
            state = grown(state)

    def _draw_directions(self, rng: np.random.Generator, queue: Ints, state: MixtureTree) -> float:
        """New directions; returns the sum of hinges."""
        if self.setting.regularization == 0.0:
            return 0.0  # nothing ever looks at them
        if self.setting.procedure == mixture_tree.PAPER:
            return float(directions.frozen_directions(rng, queue, self.X, state, self.setting))
        return float(directions.slice_directions(rng, queue, self.X, state, self.setting))

    def _queue(self, state: MixtureTree) -> Ints:
        """Slots in use, parents first."""
        if not self.nested:
            return np.arange(len(state.rest))
        queue = np.empty(len(state.rest), np.int64)
        return queue[: mixture_tree.breadth_first(state, queue)]

    # ---- what is kept -------------------------------------------------------------------------------------------

    def draw(self, state: MixtureTree) -> Mapping[str, NDArray[Any]]:
        """Nodes of the data on each level, [level, datum], and their components."""
        levels = np.ascontiguousarray(state.path.T, np.int32)
        return {"levels": levels, "component": state.component.astype(np.int32)}

    def pack(self, state: MixtureTree) -> Mapping[str, NDArray[Any]]:
        """All of the state."""
        return state._asdict()

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> MixtureTree:
        """The state that was packed."""
        return MixtureTree(**{name: np.array(arrays[name], order="C") for name in MixtureTree._fields})


class OneGroup(HierarchySampler):
    """All rows on one path and in one component, for rows that are all the same; all else is sampled."""

    def _move(self, rng: np.random.Generator, state: MixtureTree) -> MixtureTree:
        return state


def one_group(n: int, depth: int) -> Start:
    """n data on one path."""
    return Start(np.zeros((n, depth), np.int64), np.zeros(n, np.int64))


def n_complete(branching: int, depth: int) -> int:
    """Nodes of a complete tree."""
    return sum(branching**level for level in range(depth + 1))


def grown(state: MixtureTree) -> MixtureTree:
    """The state with room for twice as many components."""
    n_slots, room = state.weight.shape
    return state._replace(
        weight=np.concatenate([state.weight, np.full((n_slots, room), TINY)], axis=1),
        size=np.concatenate([state.size, np.zeros(room, np.int64)]),
        total=np.concatenate([state.total, np.zeros((room, state.total.shape[1]))]),
    )


def lay_out(path: Ints, state: MixtureTree, branching: int) -> None:
    """Give every group of the start a slot, link the slots, and count the data below them."""
    nested = branching == 0
    if not nested:
        n_inner = (len(state.rest) - 1) // branching
        for z in range(n_inner):
            first = branching * z + 1
            state.first_child[z] = first
            state.parent[first : first + branching] = z
            state.next_sibling[first : first + branching - 1] = np.arange(first + 1, first + branching)
    slot: dict[tuple[int, ...], int] = {(): 0}
    n_children = np.zeros(len(state.rest), np.int64)
    for n, row in enumerate(path):
        for level in range(len(row)):
            key = tuple(int(x) for x in row[: level + 1])
            if key not in slot:
                p = slot[key[:-1]]
                slot[key] = len(slot) if nested else branching * p + 1 + int(n_children[p])
                n_children[p] += 1
                if nested:
                    state.parent[slot[key]] = p
                    state.next_sibling[slot[key]] = state.first_child[p]
                    state.first_child[p] = slot[key]
            state.path[n, level] = slot[key]
            state.below[slot[key]] += 1
    state.below[0] = len(path)
    if nested:
        left = np.arange(len(state.rest) - 1, len(slot) - 1, -1)
        state.free[: len(left)] = left
        state.n_free[0] = len(left)


def draw_paths(rng: np.random.Generator, n: int, depth: int, setting: SweepSettings) -> Ints:
    """Paths of n data from the prior; numbers are those of children within their parent."""
    nested = setting.branching == 0
    path = np.zeros((n, depth), np.int64)
    seen: dict[tuple[int, ...], list[int]] = {}
    for row in path:
        key: tuple[int, ...] = ()
        for level in range(depth):
            count = seen.setdefault(key, [] if nested else [0] * setting.branching)
            extra = setting.path_concentration
            weight = [*count, extra] if nested else [c + extra / setting.branching for c in count]
            child = int(rng.choice(len(weight), p=np.array(weight) / sum(weight)))
            if child == len(count):
                count.append(0)
            count[child] += 1
            row[level] = child
            key = (*key, child)
    return path
