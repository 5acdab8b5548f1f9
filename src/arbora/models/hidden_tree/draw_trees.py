"""Draw trees, or labels for given shapes, from a mixture of hidden trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.content import Column, concat_content, empty_column
from ...forest.content_rows import LABEL
from ...forest.forest import Forest
from ...forest.node_columns import MISSING
from ...forest.sharing import SharedForest, share
from ...seeds import draw_rows
from .hidden_model import HiddenModel
from .kernels import node_states
from .node_posteriors import plain_shards
from .passes import Batch, MixtureParams, log_joint, log_sum
from .tree_model import wanted

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
    proba = np.tile(params.weight, (n_samples, 1)) if skeleton is None else shape_posterior(model, params, skeleton)
    return draw_given(rng, model, params, vocabulary, draw_rows(rng, proba), skeleton)


def draw_given(
    rng: np.random.Generator,
    model: HiddenModel,
    params: MixtureParams,
    vocabulary: tuple[str, ...],
    component: NDArray[np.int64],
    skeleton: Forest | None = None,
) -> Forest:
    """One tree of each of these components, which are the target; `skeleton` gives the shapes."""
    if not vocabulary and model.emission.by_label:
        raise ArboraError("sample: the model has no labels to draw")
    shape = model.draw_shapes(rng, params.tree, component) if skeleton is None else skeleton
    shape = shape.with_content(_nothing(model, shape.n_nodes))
    lane = np.repeat(component, shape.sizes)
    drawn = []
    node = 0
    for shard in plain_shards(model, 1, shape):
        rows = slice(node, node + shard.n_units)
        drawn.append(_draw_shard(rng, model, params, shard, lane[rows].copy()))
        node += shard.n_units
    label = np.concatenate([np.zeros(0, np.int32), *(one for one, _ in drawn)]).astype(np.int32)
    content = concat_content([held for _, held in drawn], [len(one) for one, _ in drawn])
    columns = (shape.parent, shape.slot, label, shape.tree_start, vocabulary)
    return Forest(*columns, target=component, name=shape.name, content=content)


def _draw_shard(
    rng: np.random.Generator, model: HiddenModel, params: MixtureParams, shard: SharedForest, lane: Any
) -> tuple[Any, dict[str, Column]]:
    """Labels and content of the nodes of a plain shard, each in its component."""
    emission: Any = model.emission
    if emission.by_label:
        return model.draw_labels(rng, params.tree, shard, lane), {}
    tree: Any = params.tree
    drawn = emission.sample(rng, tree.emission, model.draw_states(rng, tree, shard, lane), lane)
    return drawn.pop(LABEL, np.full(len(lane), MISSING, np.int32)), drawn


def _nothing(model: HiddenModel, n_nodes: int) -> dict[str, Column]:
    """The columns of the model, without a value."""
    return {one.name: empty_column(one.kind, n_nodes) for one in wanted(model) if one.name != LABEL}


def shape_posterior(model: HiddenModel, params: MixtureParams, skeleton: Forest) -> NDArray[np.float64]:
    """P(component | shape) of every tree; the mixing weights where no component can produce the shape.

    A tree whose labels are all missing has the probability of its shape: every labelling is summed over.
    """
    blank = np.full(skeleton.n_nodes, MISSING, np.int32)
    bare = Forest(skeleton.parent, skeleton.slot, blank, skeleton.tree_start, skeleton.vocabulary)
    rows = bare.with_content(_nothing(model, bare.n_nodes)).rows(wanted(model))
    batch = Batch(model, share(bare.arrays, model.n_slots, content=rows), None, 1)
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
            f"sample: component {k} has {children[k]:.2f} children per node on average, so its trees may never end; "
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
