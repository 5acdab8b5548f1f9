"""Both passes over one shard for tree models with hidden states: contents become evidence, sums become statistics."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from .emissions import Emission
from .lanes import Workspace, from_lanes, lane_shape, to_lanes
from .tree_model import mapped

Floats = NDArray[np.float64]


class Kernels(NamedTuple):
    """The modules that hold `upward` and `downward`."""

    many: Any
    single: Any


class Upward(NamedTuple):
    """What the upward pass leaves for the downward pass."""

    used: Any  # messages
    flow: Any  # with the evidence of the shard
    row_sums: Any  # memory for sums by row; None where rows are labels


def run_upward(
    kernels: Kernels, emission: Emission, flow: Any, params: Any, shard: SharedForest, memory: tuple[Any, Workspace]
) -> tuple[Upward, Floats]:
    """Run the upward pass; log P(contents of distinct tree t | component k).

    `memory` is (messages, the workspace that they are in).
    """
    n_components = params.transition.shape[-1]
    messages, workspace = memory
    offset = sums = None
    if not emission.by_label:
        rows = emission.lane_rows(params.emission, shard.contents, workspace)
        flow, offset = flow._replace(emission=rows.prob), rows.offset
        sums = workspace.rows(rows.prob.shape, 1)
    (kernels.single if n_components == 1 else kernels.many).upward(shard.units, flow, messages)
    log_prob = from_lanes(messages.log_prob[shard.tree_root], n_components)
    if offset is not None:
        counts = shard.label_counts
        log_prob = log_prob + counts @ offset[: counts.shape[1]]
    return Upward(messages, flow, sums), log_prob


def run_downward(
    kernels: Kernels, emission: Emission, messages: Upward, shard: SharedForest, weight: Floats, outputs: Any
) -> None:
    """Run the downward pass with weight[distinct tree, component].

    `outputs` is (sums to add to, posterior[unit] to fill or None).
    """
    used, flow, row_sums = messages
    sums_out, posterior = outputs
    if posterior is None:
        posterior = np.empty((0, *used.up.shape[1:]))
    into = sums_out
    if not emission.by_label:
        row_sums.fill(0.0)
        into = sums_out._replace(emission=row_sums)
    weighted = (shard.tree_root, to_lanes(weight))
    kernel = (kernels.single if weight.shape[1] == 1 else kernels.many).downward
    kernel(shard.units, flow, used, weighted, posterior, into)
    if not emission.by_label:
        emission.add_statistics(into.emission, shard.contents, sums_out.emission)


def empty_statistics(emission: Emission, n_states: int, n_components: int) -> Any:
    """Zeros in the shapes of an emission's statistics, in lanes."""
    lanes = lane_shape(n_components)
    return mapped(lambda table: np.zeros((*table.shape, *lanes)), emission.statistics_tables(n_states))
