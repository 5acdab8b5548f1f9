"""One output per tree: rules that read it off a model of outputs at nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from ..hidden_tree.lanes import Workspace
from ..hidden_tree.passes import Batch, Job, ShardTrees, tree_log_prob
from .input_output_tree import BoundTree, Params
from .kernels import passes

Floats = NDArray[np.float64]

RULES = ("joint", "pool", "root", "vote")
LEAST = 1e-300  # of a probability whose logarithm is added up


def lanes_of(rule: str) -> str:
    """What the passes of a rule are given: every output everywhere, or none."""
    return "classes" if rule == "joint" else "none"


def by_tree(batch: Batch, params: Params, rule: str, n_outputs: int) -> Floats:
    """Score of each output of each tree, [tree, output]; the highest is the tree's.

    joint: log P(this output at every node).  pool: sum over nodes of its log-probabilities.  root: its log-probability
    at the root.  vote: the number of nodes where it is the likeliest.
    """
    function = {"joint": tree_log_prob, "pool": _pool, "root": _root, "vote": _vote}[rule]
    return batch._by_tree(function, params, (n_outputs,))


def _marginals(job: Job, shard: SharedForest, workspace: Workspace) -> Floats:
    """P(output) of every unit, where none is known: what lies above a node does not change it."""
    bound: Any = job.model
    assert isinstance(bound, BoundTree)  # noqa: S101 (for mypy)
    messages, _ = bound.upward(job.flow, job.params.tree, shard, workspace)
    proba = np.empty((shard.n_units, bound.model.n_outputs))
    output = bound.model.outputs(job.params.tree)
    passes.output_marginals(shard.units, job.flow.row_input, messages.up[:, 0], np.ascontiguousarray(output), proba)
    return proba


def _pool(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> Floats:
    score = np.log(np.maximum(_marginals(job, shard, workspace), LEAST))
    passes.sum_below(shard.units, score)
    return np.asarray(score[shard.tree_root][shard.tree_id])


def _root(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> Floats:
    score = _marginals(job, shard, workspace)[shard.tree_root]
    return np.asarray(np.log(np.maximum(score, LEAST))[shard.tree_id])


def _vote(job: Job, shard: SharedForest, trees: ShardTrees, workspace: Workspace) -> Floats:
    proba = _marginals(job, shard, workspace)
    vote = np.zeros_like(proba)
    vote[np.arange(len(proba)), proba.argmax(axis=1)] = 1.0
    passes.sum_below(shard.units, vote)
    return np.asarray(vote[shard.tree_root][shard.tree_id])
