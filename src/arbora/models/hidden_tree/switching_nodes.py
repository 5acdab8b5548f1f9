"""States, labels and shapes at the nodes of `SwitchingTree`: the most probable ones, and draws."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.forest import Forest
from ...forest.sharing import SharedForest
from . import draw_trees
from .distributions import TINY
from .kernels import node_states
from .switching_params import Params

if TYPE_CHECKING:
    from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def best_states(model: "SwitchingTree", params: Params, shard: SharedForest, lanes: Ints) -> Ints:
    """State of every node of a plain shard in the most probable joint choice, each in its component."""
    flow = params.transition * np.maximum(params.switch, TINY)[:, None, None, :]
    best_tail = np.zeros((model.n_slots + 1, model.n_states, flow.shape[-1]))  # the best absent slot from here on
    if model.absent_is_state:
        best_tail[:-1] = np.maximum.accumulate(flow[::-1, model.n_states], axis=0)[::-1]
    rows = model.emission.rows(params.emission, shard.contents).prob
    arrays = tuple(np.ascontiguousarray(x) for x in (params.leaf, rows, flow, best_tail))
    return np.asarray(node_states.best_states(shard.units, lanes, arrays))


def draw_nodes(
    rng: np.random.Generator, model: "SwitchingTree", params: Params, shard: SharedForest, lanes: Ints, rows: Floats
) -> tuple[Any, Any]:
    """States of the nodes of a plain shard, and their rows of the emission."""
    transition = params.transition
    if not model.absent_is_state:  # a row for the absent child keeps one signature; it is never read
        transition = np.pad(transition, ((0, 0), (0, 1), (0, 0), (0, 0)))
    arrays = (params.leaf, rows, params.switch, transition)
    restrict = not model.absent_is_state
    state, row = node_states.draw_states_labels(rng, shard.units, lanes, arrays, restrict)
    return state, row


def draw_shapes(rng: np.random.Generator, model: "SwitchingTree", params: Params, component: Ints) -> Forest:
    """Trees without labels by the branching of their components."""
    if model.structure is None:
        raise ArboraError(
            "sample: this model does not describe shapes; give skeleton=forest to draw labels for given shapes, "
            "or fit with structure='branching'"
        )
    return draw_trees.draw_shapes(rng, params.branching, component, model.pooled)
