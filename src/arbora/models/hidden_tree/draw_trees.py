"""Draw trees, or labels for given shapes, from a mixture of hidden trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.forest import Forest
from ...forest.node_columns import MISSING
from ...forest.sharing import share
from ...seeds import draw_rows
from .hidden_model import HiddenModel
from .kernels import node_states
from .node_posteriors import plain_shards
from .passes import Batch, MixtureParams, log_joint, log_sum

# A drawn tree larger than this is taken as a sign that the branching does not die out.
MAX_NODES = 1_000_000


def draw_forest(
    rng: np.random.Generator,
    model: HiddenModel,
    params: MixtureParams,
    vocabulary: tuple[str, ...],
    n_samples: int,
    skeleton: Forest | None,
) -> Forest:
    """Trees with their component as target: shapes first (or given), then labels from the leaves up."""
    if not vocabulary:
        raise ArboraError("sample: the model has no labels to draw")
    proba = np.tile(params.weight, (n_samples, 1)) if skeleton is None else shape_posterior(model, params, skeleton)
    component = draw_rows(rng, proba)
    shape = model.draw_shapes(rng, params.tree, component) if skeleton is None else skeleton
    lane = np.repeat(component, shape.sizes)
    label = np.empty(shape.n_nodes, np.int32)
    node = 0
    for shard in plain_shards(model, 1, shape):
        rows = slice(node, node + shard.n_units)
        label[rows] = model.draw_labels(rng, params.tree, shard, lane[rows].copy())
        node += shard.n_units
    return Forest(shape.parent, shape.slot, label, shape.tree_start, vocabulary, target=component, name=shape.name)


def shape_posterior(model: HiddenModel, params: MixtureParams, skeleton: Forest) -> NDArray[np.float64]:
    """P(component | shape) of every tree; the mixing weights where no component can produce the shape.

    A tree whose labels are all missing has the probability of its shape: every labelling is summed over.
    """
    blank = np.full(skeleton.n_nodes, MISSING, np.int32)
    bare = Forest(skeleton.parent, skeleton.slot, blank, skeleton.tree_start, skeleton.vocabulary)
    batch = Batch(model, share(bare.arrays, model.n_slots), None, 1)
    joint = log_joint(batch.log_likelihood(params.tree), params.weight)
    total = log_sum(joint)
    impossible = ~np.isfinite(total)
    proba = np.exp(joint - np.where(impossible, 0.0, total)[:, None])
    proba[impossible] = params.weight
    return np.asarray(proba)


def draw_shapes(
    rng: np.random.Generator, branching: NDArray[np.float64], component: NDArray[np.int64], pooled: bool
) -> Forest:
    """Trees without labels, one for each component given, by branching[slot, component]."""
    children = branching.sum(axis=0)
    if pooled:
        last = branching[-1]
        children += last / np.maximum(1.0 - last, 1e-12) - last
    endless = component[children[component] >= 1.0]
    if len(endless):
        k = endless[0]
        raise ArboraError(
            f"sample: component {k} has {children[k]:.2f} children a node on average, so its trees may never end; "
            f"fit with a lower branching_prior or more trees, or give skeleton="
        )
    return shapes_of(node_states.draw_shapes(rng, branching, component, MAX_NODES, pooled), component)


def shapes_of(drawn: Any, component: NDArray[np.int64]) -> Forest:
    """A forest without labels from what a kernel has drawn: parent, slot and tree of nodes, and trees finished."""
    parent, slot, tree, done = drawn
    if done < len(component):
        raise ArboraError(
            f"sample: a tree of component {component[done]} grew beyond {MAX_NODES} nodes; give skeleton= for shapes"
        )
    blank = np.full(len(parent), -2, np.int32)
    return Forest.from_parents(parent, blank, slot=slot, tree=tree, vocabulary=["-"])
