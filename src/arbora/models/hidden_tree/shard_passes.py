"""Both passes over one shard for tree models with hidden states: contents become evidence, sums become statistics."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from .emissions import Emission
from .kernels import upward_downward as ud
from .lanes import Workspace, from_lanes, in_vectors, lane_shape, states_in_vectors, to_lanes
from .tree_model import mapped

Floats = NDArray[np.float64]


class Kernels(NamedTuple):
    """The modules that hold `upward` and `downward`."""

    many: Any
    single: Any
    states: Any  # of a single component, in vectors
    vectors: Any
    takes_content: bool  # whether `vectors` compute rows of content themselves; else they take them as they take labels
    by_state: int  # so many of the messages are by state, from the first on; others are one number for each unit


class Upward(NamedTuple):
    """What the upward pass leaves for the downward pass."""

    used: Any  # messages: [unit, ..., lane], or in vectors [block, unit, ..., 4]
    flow: Any  # with the evidence of the shard
    row_sums: Any  # memory for sums by row; None where rows are labels, or the kernels have no need of it
    content: Any = None  # rows of content in vectors; None where rows are labels, or the kernels are others

    @property
    def blocked(self) -> bool:
        """Whether the messages are in blocks, which puts an axis before that of the units."""
        return self.used.up.ndim == 4

    def at(self, name: str, units: Any) -> Floats:
        """One of the messages at these units, [unit, ..., lane]."""
        x = getattr(self.used, name)
        if not self.blocked:
            return np.asarray(x[units])
        x = np.moveaxis(x[:, units], 0, -2)
        return x.reshape(*x.shape[:-2], -1)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Units, states and lanes."""
        shape = self.used.up.shape
        return (*shape[1:3], shape[0] * shape[3]) if self.blocked else shape


def run_upward(
    kernels: Kernels, emission: Emission, flow: Any, params: Any, shard: SharedForest, memory: tuple[int, Workspace]
) -> tuple[Upward, Floats]:
    """Run the upward pass; log P(contents of distinct tree t | component k).

    `memory` is (number of states, workspace to take memory from).
    """
    n_components = params.transition.shape[-1]
    n_states, workspace = memory
    used = _messages(kernels, shard.n_units, n_states, n_components, workspace)
    messages, offset = _with_evidence(kernels, Upward(used, flow, None), emission, params, shard, workspace)
    flow = messages.flow
    if messages.blocked:
        tables = _tables(n_states, 0, flow)
        kernels.vectors.upward(shard.units, _flat(flow), *_content(kernels, messages), used, tables, (0,) * n_states)
    elif states_in_vectors(n_states, n_components):
        kernels.states.upward(shard.units, flow, used, (0,) * n_states)
    else:
        (kernels.single if n_components == 1 else kernels.many).upward(shard.units, flow, used)
    log_prob = from_lanes(messages.at("log_prob", shard.tree_root), n_components)
    if offset is not None:
        counts = shard.label_counts
        log_prob = log_prob + counts @ offset[: counts.shape[1]]
    return messages, log_prob


def _content(kernels: Kernels, messages: Upward) -> tuple[Any, ...]:
    """The argument of content, for kernels that have one."""
    return (messages.content,) if kernels.takes_content else ()


def _with_evidence(
    kernels: Kernels, messages: Upward, emission: Emission, params: Any, shard: SharedForest, workspace: Workspace
) -> tuple[Upward, Floats | None]:
    """Messages with the evidence of the shard, and its offsets, unless the pass computes both."""
    if emission.by_label:
        return messages, None
    if messages.blocked and kernels.takes_content:
        columns: Any = emission  # what is not by label has rows of content
        terms, content = columns.rows_in_vectors(params.emission, shard, workspace)
        return messages._replace(flow=messages.flow._replace(emission=terms), content=content), None
    rows = emission.lane_rows(params.emission, shard.contents, workspace)
    flow = messages.flow._replace(emission=rows.prob)
    return messages._replace(flow=flow, row_sums=workspace.rows(rows.prob.shape, 1)), rows.offset


def _messages(kernels: Kernels, n_units: int, n_states: int, n_components: int, workspace: Workspace) -> Any:
    """Arrays for the messages of a shard, not set to anything."""
    lanes = lane_shape(n_components)
    before: tuple[int, ...] = ()
    if in_vectors(n_states, n_components):
        before, lanes = (lanes[0] // ud.LANES,), (ud.LANES,)
    of = kernels.many.Messages
    shapes = [(n_states,)] * kernels.by_state + [()] * (len(of._fields) - kernels.by_state)
    return of(*workspace.arrays([(*before, n_units, *shape, *lanes) for shape in shapes]))


def _flat(arrays: Any) -> tuple[Floats, ...]:
    """Arrays [..., lane] as the kernels for vectors take them, [row, lane]: views, which may be written to."""
    if not all(x.flags.c_contiguous for x in arrays):
        raise ValueError("an array that is not contiguous: sums would be added to a copy")
    n_lanes = arrays[0].shape[-1]
    return tuple([x.reshape(-1, n_lanes) for x in arrays])


def _tables(n_states: int, n_more: int, *arrays: Any) -> Floats:
    """Memory for one block of the lanes of all these arrays, and for so many rows of all states."""
    each = [x for group in arrays for x in group]
    return np.empty((sum(x.size for x in each) // each[0].shape[-1] + n_more * n_states) * ud.LANES)


def run_downward(
    kernels: Kernels, emission: Emission, messages: Upward, shard: SharedForest, weight: Floats, outputs: Any
) -> None:
    """Run the downward pass with weight[distinct tree, component].

    `outputs` is (sums to add to, posterior[unit] to fill or None).
    """
    used, flow, row_sums, content = messages
    sums_out, posterior = outputs
    if posterior is None:
        posterior = np.empty((0, *messages.shape[1:]))
    into = sums_out
    if content is not None:
        into = sums_out._replace(emission=np.zeros_like(flow.emission))
    elif row_sums is not None:
        row_sums.fill(0.0)
        into = sums_out._replace(emission=row_sums)
    weighted = (shard.tree_root, to_lanes(weight))
    if messages.blocked:
        n_states = used.up.shape[2]
        n_shared = 0 if content is None else len(content.seen)
        out = (weighted, posterior, _flat(into), _tables(n_states, n_shared, flow, into))
        kernels.vectors.downward(shard.units, _flat(flow), *_content(kernels, messages), used, out, (0,) * n_states)
    elif states_in_vectors(used.up.shape[1], weight.shape[1]):
        states = (0,) * used.up.shape[1]
        kernels.states.downward(shard.units, flow, used, (weighted, posterior, into), states)
    else:
        kernel = (kernels.single if weight.shape[1] == 1 else kernels.many).downward
        kernel(shard.units, flow, used, weighted, posterior, into)
    if content is not None:
        columns: Any = emission
        columns.add_row_sums(into.emission, sums_out.emission)
    elif row_sums is not None:
        emission.add_statistics(into.emission, shard.contents, sums_out.emission)


def empty_statistics(emission: Emission, n_states: int, n_components: int) -> Any:
    """Zeros in the shapes of an emission's statistics, in lanes."""
    lanes = lane_shape(n_components)
    return mapped(lambda table: np.zeros((*table.shape, *lanes)), emission.statistics_tables(n_states))
