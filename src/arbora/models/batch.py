"""The E-step of a mixture of hidden trees over shards and threads; counts are sums, so shards simply add."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..kernels import upward_downward as ud
from ..sharing import SharedForest
from . import tree_model as tm

Floats = NDArray[np.float64]


class MixtureParams(NamedTuple):
    """Mixing weights and the parameters of all components."""

    weight: Floats  # [k]
    tree: tm.Params


class MixtureCounts(NamedTuple):
    """Expected counts of a set of trees; they add."""

    weight: Floats  # [k]
    tree: tm.Counts


class Batch:
    """Trees ready for the passes: shards, their weights and the threads that work on them."""

    def __init__(self, spec: tm.Spec, shards: list[SharedForest], sample_weight: Floats | None, n_threads: int):
        self.spec, self.shards, self.n_threads = spec, shards, n_threads
        cuts = np.cumsum([0] + [shard.n_trees for shard in shards])
        self.n_trees = int(cuts[-1])
        self.rows = [slice(lo, hi) for lo, hi in pairwise(cuts)]
        every = np.ones(self.n_trees) if sample_weight is None else sample_weight
        self.tree_weight = [every[rows] for rows in self.rows]
        self.weight = [shard.sum_by_tree(w) for shard, w in zip(shards, self.tree_weight, strict=True)]
        self.total_weight = float(sum(w.sum() for w in self.weight))
        self.workspace = tm.Workspace()
        self.pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and len(shards) > 1 else None

    def __getstate__(self) -> dict[str, Any]:
        # To another process go the trees; threads and their memory are made anew there.
        return {**self.__dict__, "workspace": None, "pool": None, "n_threads": 1}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, workspace=tm.Workspace())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def map(self, function: Any) -> Iterator[Any]:
        """function(shard number) for every shard, in order; the order of the sums, and so the result, is fixed."""
        numbers = range(len(self.shards))
        return map(function, numbers) if self.pool is None else self.pool.map(function, numbers)

    def log_likelihood(self, params: tm.Params) -> Floats:
        """Log P(tree | component) of every tree, not of the distinct ones only."""
        flow = tm.as_flow(self.spec, params)
        out = np.empty((self.n_trees, params.switch.shape[1]))

        def one(s: int) -> None:
            out[self.rows[s]] = self._distinct(flow, params, s)[1][self.shards[s].tree_id]

        for _ in self.map(one):
            pass
        return out

    def root_posterior(self, params: tm.Params) -> Floats:
        """P(state of the root | tree, component), [tree, state, component]; zero where the tree is impossible."""
        flow = tm.as_flow(self.spec, params)
        out = np.empty((self.n_trees, self.spec.n_states, params.switch.shape[1]))

        def one(s: int) -> None:
            messages, log_prob = self._distinct(flow, params, s)
            root = tm.from_lanes(messages.up[self.shards[s].tree_root], log_prob.shape[1])
            root = root * np.isfinite(log_prob)[:, None, :]
            out[self.rows[s]] = root[self.shards[s].tree_id]

        for _ in self.map(one):
            pass
        return out

    def evaluate(self, params: MixtureParams) -> float:
        """Log-likelihood of the mixture, trees with probability zero left out."""
        flow = tm.as_flow(self.spec, params.tree)

        def one(s: int) -> float:
            _, log_prob = self._distinct(flow, params.tree, s)
            return responsibilities(log_prob, params.weight, self.weight[s])[1]

        return float(sum(self.map(one)))

    def expected_counts(self, params: MixtureParams, fixed: list[Floats] | None = None) -> tuple[MixtureCounts, float]:
        """The E-step: expected counts and log-likelihood; `fixed` replaces the responsibilities, shard by shard."""
        spec = self.spec
        flow = tm.as_flow(spec, params.tree)
        n_components = len(params.weight)

        def one(s: int) -> tuple[ud.Sums, tm.ShapeCounts, Floats, float]:
            messages, log_prob = self._distinct(flow, params.tree, s)
            resp, log_likelihood = responsibilities(log_prob, params.weight, self.weight[s])
            if fixed is not None:
                resp = np.where(np.isfinite(log_prob), fixed[s], 0.0)
            sums = tm.empty_sums(spec, flow)
            tm.downward(flow, self.shards[s], messages, resp, sums)
            shape = tm.structure_counts(spec, params.tree, self.shards[s], resp)
            return sums, shape, resp.sum(axis=0), log_likelihood

        results = self.map(one)
        sums, shape, weight, total = next(results)
        for more_sums, more_shape, more_weight, more in results:
            for into, x in zip((*sums, *shape), (*more_sums, *more_shape), strict=True):
                into += x
            weight = weight + more_weight
            total += more
        return MixtureCounts(weight, tm.counts_from_sums(spec, flow, sums, shape, n_components)), float(total)

    def sum_labels(self, label: NDArray[np.int64], n_components: int) -> list[Floats]:
        """Weight of every distinct tree in the component its copies are labelled with, shard by shard."""
        fixed = []
        for shard, rows, weight in zip(self.shards, self.rows, self.tree_weight, strict=True):
            resp = np.zeros((shard.n_distinct_trees, n_components))
            np.add.at(resp, (shard.tree_id, label[rows]), weight)
            fixed.append(resp)
        return fixed

    def _distinct(self, flow: ud.Flow, params: tm.Params, s: int) -> tuple[ud.Messages, Floats]:
        messages, log_prob = tm.upward(flow, self.shards[s], params.switch.shape[1], self.workspace)
        return messages, log_prob + tm.structure_log_prob(self.spec, params, self.shards[s])


def responsibilities(log_prob: Floats, weight: Floats, tree_weight: Floats) -> tuple[Floats, float]:
    """Posterior of the component times the tree's weight, Eq. (4), and the weighted log-likelihood.

    Trees with probability zero under every component get no responsibility and leave the log-likelihood alone.
    """
    joint = log_joint(log_prob, weight)
    top = joint.max(axis=1, keepdims=True)
    possible = np.isfinite(top[:, 0])
    resp = np.exp(joint - np.where(possible[:, None], top, 0.0))
    total = resp.sum(axis=1, keepdims=True)
    total[~possible] = 1.0
    resp *= tree_weight[:, None] / total
    resp[resp < tm.TINY] = 0.0
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
