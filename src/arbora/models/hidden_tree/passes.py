"""Passes over trees: the E-step of a mixture of trees and its relatives, over shards, threads and machines.

Counts are sums, so shards simply add; the functions of one shard are the same wherever they run.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from ...forest.stored_shards import StoredShards
from ...forest.trees import Trees
from ...inference import distribute
from . import tree_model as tm
from .distributions import TINY
from .lanes import Workspace, Workspaces

Floats = NDArray[np.float64]


class MixtureParams(NamedTuple):
    """Mixing weights and the parameters of all components."""

    weight: Floats  # [k]
    tree: tm.Arrays


class MixtureCounts(NamedTuple):
    """Expected counts of a set of trees; they add."""

    weight: Floats  # [k]
    tree: tm.Arrays


# ---- one shard ------------------------------------------------------------------------------------------------------


class Job(NamedTuple):
    """What a pass needs of the model; the same for all shards."""

    model: tm.TreeModel
    params: MixtureParams
    flow: Any  # parameters in the form of the kernels
    workspaces: Workspaces


class ShardTrees(NamedTuple):
    """What a pass may use of the trees of one shard besides the trees themselves."""

    weight: Floats | None  # of each tree; None: one each
    resp: Floats | None = None  # [tree, component], where responsibilities are given, times the weight


class ShardSums(NamedTuple):
    """What the E-step adds up."""

    sums: tm.Arrays
    shape: tm.Arrays
    weight: Floats  # [k]
    log_likelihood: Floats  # an array of one number, so that it can be added to


OnShard = Callable[[Job, SharedForest, ShardTrees, Workspace], Any]


def tree_log_prob(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> Floats:
    """Log P(tree | component) of every tree of the shard."""
    return np.asarray(_distinct(job, shard, workspace)[1][shard.tree_id])


def root_states(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> Floats:
    """P(state of the root | tree, component), [tree, state, component]; zero where the tree is impossible."""
    messages, log_prob = _distinct(job, shard, workspace)
    model: Any = job.model  # one with hidden states
    root = model.root_states(messages, shard, log_prob.shape[1])
    root = root * np.isfinite(log_prob)[:, None, :]
    return np.asarray(root[shard.tree_id])


def mixture_log_likelihood(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> float:
    """Weighted log-likelihood of the mixture, trees with probability zero left out."""
    _, log_prob = _distinct(job, shard, workspace)
    return responsibilities(log_prob, job.params.weight, shard.sum_by_tree(trees.weight))[1]


def expected_sums(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> ShardSums:
    """The E-step on one shard."""
    messages, log_prob = _distinct(job, shard, workspace)
    resp, log_likelihood = responsibilities(log_prob, job.params.weight, shard.sum_by_tree(trees.weight))
    if trees.resp is not None:
        given = np.zeros_like(log_prob)
        np.add.at(given, shard.tree_id, trees.resp)
        resp = np.where(np.isfinite(log_prob), given, 0.0)
    sums = job.model.empty_sums(resp.shape[1])
    job.model.downward(job.flow, shard, messages, resp, sums)
    shape = job.model.shape_counts(job.params.tree, shard, resp)
    return ShardSums(sums, shape, resp.sum(axis=0), np.array([log_likelihood]))


def _distinct(job: Job, shard: SharedForest, workspace: Workspace) -> tuple[Any, Floats]:
    messages, log_prob = job.model.upward(job.flow, job.params.tree, shard, workspace)
    of_shape = job.model.shape_log_prob(job.params.tree, shard)
    if of_shape is not None:
        log_prob += of_shape
    return messages, log_prob


def add_into(a: ShardSums, b: ShardSums) -> ShardSums:
    """a + b, in the memory of a."""
    tm.add_into(a, b)
    return a


def add_sums(a: ShardSums, b: ShardSums) -> ShardSums:
    """a + b; both stay as they are, since a cluster may need them again."""
    total: ShardSums = tm.mapped(operator.add, a, b)
    return total


# ---- all shards -----------------------------------------------------------------------------------------------------


def shards_of(forest: Trees, model: tm.TreeModel, max_units: int, shared: bool = True) -> Sequence[SharedForest]:
    """The trees of a forest (in training terms) as shards of about so many units; a store reads them when asked."""
    return forest.shards(model.n_slots, max(1024, max_units), shared, model.needs_structure, tm.wanted(model))


class Batch:
    """Trees ready for the passes: shards, in memory or in a store, weights of trees, and who works on them."""

    def __init__(
        self, model: tm.TreeModel, shards: Sequence[SharedForest], sample_weight: Floats | None, n_threads: int
    ):
        tm.check_names(model.tables)
        self.model, self.shards, self.n_threads = model, shards, n_threads
        sizes = shards.sizes if isinstance(shards, StoredShards) else [shard.n_trees for shard in shards]
        cuts = np.cumsum([0, *sizes])
        self.n_trees = int(cuts[-1])
        self.rows = [slice(int(lo), int(hi)) for lo, hi in pairwise(cuts)]
        self.sample_weight = sample_weight
        self.total_weight = float(self.n_trees if sample_weight is None else sample_weight.sum())
        self.workspaces = Workspaces()
        self.pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and len(shards) > 1 else None
        # Only what lies in a store can be read by other machines; trees in memory stay here.
        self.cluster = distribute.active() if isinstance(shards, StoredShards) else None

    def __getstate__(self) -> dict[str, Any]:
        # To another process go the trees; threads and their memory are made anew there.
        return {**self.__dict__, "pool": None, "n_threads": 1, "cluster": None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def _trees(self, s: int, resp: Floats | None) -> ShardTrees:
        """Weights, and responsibilities if they are given, of the trees of a shard."""
        rows = self.rows[s]
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return ShardTrees(weight, None if resp is None else resp[rows])

    def _job(self, params: MixtureParams) -> Job:
        return Job(self.model, params, self.model.prepare(params.tree), self.workspaces)

    def _map(self, function: OnShard, job: Job, resp: Floats | None = None) -> Iterator[Any]:
        """The function of every shard, in order, whoever computes it."""
        if self.cluster is not None:
            runs = self._runs(resp)
            for results in self.cluster.map(_each, runs, self._handle(), self.cluster.keep(job), function):
                yield from results
            return

        def one(s: int) -> Any:
            with self.workspaces.borrowed() as workspace:
                return function(job, self.shards[s], self._trees(s, resp), workspace)

        numbers = range(len(self.shards))
        yield from map(one, numbers) if self.pool is None else _ahead(self.pool, one, numbers, 2 * self.n_threads)

    def _sum(self, function: OnShard, job: Job, add: Any, add_apart: Any, resp: Floats | None = None) -> Any:
        """The sum over shards in the order of `reduce_pairwise`: it depends on the shards alone, and so the result."""
        if self.cluster is None:
            return distribute.reduce_pairwise(self._map(function, job, resp), add)
        kept = (self._handle(), self.cluster.keep(job), function, add)
        return self.cluster.sum(_added, self._runs(resp), add_apart, *kept)

    def _handle(self) -> Any:
        """The shards, on the cluster."""
        assert isinstance(self.shards, StoredShards)  # noqa: S101 (for mypy)
        assert self.cluster is not None  # noqa: S101
        return self.shards.on(self.cluster)

    def _runs(self, resp: Floats | None) -> "list[_Run]":
        """Neighbouring shards that make one task, with what is known of their trees."""
        assert isinstance(self.shards, StoredShards)  # noqa: S101 (for mypy)
        assert self.cluster is not None  # noqa: S101
        every = [(number, lo, self._trees(s, resp)) for s, (number, lo, _) in enumerate(self.shards.pieces)]
        length = self.cluster.run_length(len(every))
        return [every[lo : lo + length] for lo in range(0, len(every), length)]

    def log_likelihood(self, params: tm.Arrays) -> Floats:
        """Log P(tree | component) of every tree, not of the distinct ones only."""
        return self._by_tree(tree_log_prob, params, (tm.n_components(params),))

    def root_posterior(self, params: tm.Arrays) -> Floats:
        """P(state of the root | tree, component), [tree, state, component]; zero where the tree is impossible."""
        model: Any = self.model
        return self._by_tree(root_states, params, (model.n_states, tm.n_components(params)))

    def _by_tree(self, function: OnShard, params: tm.Arrays, shape: tuple[int, ...]) -> Floats:
        out = np.empty((self.n_trees, *shape))
        job = self._job(MixtureParams(np.ones(0), params))  # weights of components do not matter here
        for rows, values in zip(self.rows, self._map(function, job), strict=True):
            out[rows] = values
        return out

    def labels_of(self, joint: Floats) -> NDArray[np.int64]:
        """Most probable component of each tree, from log P(tree, component)."""
        return np.asarray(joint.argmax(axis=1))

    def start_labels(self, label: NDArray[np.int64], trees: NDArray[np.int64]) -> NDArray[np.int64]:
        """Clusters of some trees to start from, as they are."""
        return label

    def evaluate(self, params: MixtureParams) -> float:
        """Log-likelihood of the mixture, trees with probability zero left out."""
        return float(self._sum(mixture_log_likelihood, self._job(params), operator.add, operator.add))

    def expected_counts(self, params: MixtureParams, resp: Floats | None = None) -> tuple[MixtureCounts, float]:
        """The E-step: expected counts and log-likelihood; `resp`[tree, component] is taken as given if it is."""
        job = self._job(params)
        total = self._sum(expected_sums, job, add_into, add_sums, resp)
        counts = self.model.counts(job.flow, total.sums, total.shape, len(params.weight))
        return MixtureCounts(total.weight, counts), float(total.log_likelihood[0])


_Run = list[tuple[int, int, ShardTrees]]  # file of the store, first tree there, and what is known of the trees


def _each(run: _Run, shards: StoredShards, job: Job, function: OnShard) -> list[Any]:
    """On a worker: the function of some shards."""
    with job.workspaces.borrowed() as workspace:
        return [function(job, shards.piece(number, lo), trees, workspace) for number, lo, trees in run]


def _added(run: _Run, shards: StoredShards, job: Job, function: OnShard, add: Any) -> Any:
    """On a worker: the sum over some shards."""
    return distribute.reduce_pairwise((_each([one], shards, job, function)[0] for one in run), add)


def _ahead(pool: ThreadPoolExecutor, function: Any, numbers: range, n_ahead: int) -> Iterator[Any]:
    """As pool.map, but with at most `n_ahead` results waiting to be taken: each may be as large as the model."""
    waiting: deque[Future[Any]] = deque()
    for number in numbers:
        waiting.append(pool.submit(function, number))
        if len(waiting) > n_ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def responsibilities(log_prob: Floats, weight: Floats, tree_weight: Floats) -> tuple[Floats, float]:
    """Posterior of the component times the tree's weight, Eq. (4), and the weighted log-likelihood.

    Trees with probability zero under every component get no responsibility and leave the log-likelihood alone.
    """
    joint = log_joint(log_prob, weight)
    top = joint.max(axis=1, keepdims=True)
    possible = np.isfinite(top[:, 0])
    joint -= np.where(possible[:, None], top, 0.0)
    resp = np.exp(joint, out=joint)
    total = resp.sum(axis=1, keepdims=True)
    total[~possible] = 1.0
    resp *= tree_weight[:, None] / total
    resp[resp < TINY] = 0.0
    log_norm = np.where(possible, top[:, 0] + np.log(total[:, 0]), 0.0)
    return resp, float(np.dot(tree_weight, np.where(possible, log_norm, 0.0)))


def log_joint(log_prob: Floats, weight: Floats) -> Floats:
    """log P(tree, component)."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_prob + np.log(weight))


def log_sum(joint: Floats) -> Floats:
    """log sum exp over components; -inf where all are."""
    top = joint.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(joint - safe[:, None]).sum(axis=1)))
