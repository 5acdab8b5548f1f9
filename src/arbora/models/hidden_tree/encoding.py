"""Trees as sparse vectors: sums of node posteriors by slot (Bacciu and Castellana 2018) or by label, and variants of
them.

What is summed is P(state of the node | tree, component), for every component of the model; docs/classification.md
describes when to use which encoding and what each was worth on several corpora.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...errors import SettingError
from ...forest.forest import Forest
from ...forest.sharing import SharedForest, share
from ..settings import check_choice
from . import node_posteriors as nodes
from .emissions.columns import Columns
from .emissions.labels import Labels
from .hidden_model import HiddenModel
from .kernels import node_states
from .tree_model import Arrays, n_components, wanted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A component less probable than this, given the tree, leaves no trace in an encoding weighted by components.
NEGLIGIBLE = 1e-6


class Recipe(NamedTuple):
    """What an encoding is made of; columns of the parts follow each other."""

    #: "slots": [component, slot, state], the root's slot last; "labels": [component, label, state]; "components": their
    #: posterior.
    parts: tuple[Literal["slots", "labels", "components"], ...]
    weighted: bool = False  # the sums of a component times its posterior
    log: bool = False  # log(1 + sum) in place of the sum


ENCODINGS: dict[str, Recipe] = {
    "sum": Recipe(("slots",)),
    "weighted": Recipe(("slots",), weighted=True),
    "log": Recipe(("slots",), log=True),
    "posterior": Recipe(("slots", "components")),
    "score": Recipe(("slots", "labels", "components"), log=True),
}


def find(name: Any) -> Recipe:
    """The recipe of an encoding."""
    check_choice("encoding", name, ENCODINGS)
    return ENCODINGS[name]


def needs_posterior(recipe: Recipe) -> bool:
    """Whether `encode` looks at the posterior of the components."""
    return recipe.weighted or "components" in recipe.parts


def check_dtype(dtype: Any) -> Any:
    """The dtype of codes, once it is known to be one."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted not in (np.float64, np.float32):
        raise SettingError(f"dtype={dtype!r}; wanted float64 or float32")
    return wanted


def encode(
    recipe: Recipe,
    model: HiddenModel,
    params: Arrays,
    forest: Forest,
    posterior: Floats | None = None,
    dtype: Any = np.float64,
) -> sparse.csr_array:
    """Sparse [tree, column] by this recipe; posterior[tree, component] where `needs_posterior` says so.

    Identical trees are encoded once; memory is proportional to the values that are not zero.
    """
    n_lanes = n_components(params)
    n_columns = sum(_widths(recipe, model, n_lanes))
    dtype = check_dtype(dtype)
    if forest.n_trees == 0:
        return sparse.csr_array((0, n_columns), dtype=dtype)
    (distinct,) = share(forest.arrays, model.n_slots, content=forest.rows(wanted(model)))
    once = forest.take(distinct.tree_first)
    given = np.ones((1, 1)) if posterior is None else posterior[distinct.tree_first]
    rows = []
    done = 0
    for shard in nodes.plain_shards(model, n_lanes, once):
        mine = given[done : done + shard.n_trees] if posterior is not None else given
        rows.append(_compact(_encode_shard(recipe, model, params, shard, mine).astype(dtype, copy=False)))
        done += shard.n_trees
    return _compact(sparse.vstack(rows, format="csr")[distinct.tree_id])


def column_names(recipe: Recipe, n_lanes: int, model: HiddenModel, vocabulary: tuple[str, ...]) -> NDArray[Any]:
    """Names of the columns, component by component in each part."""
    slots = [f"slot{l}" for l in range(model.n_slots)] + ["root"]
    names: list[str] = []
    for part in recipe.parts:
        for k in range(n_lanes):
            if part == "components":
                names.append(f"component{k}")
                continue
            places = slots if part == "slots" else _labels(model).encoded_names(vocabulary)
            names += [f"component{k}_{place}_state{i}" for place in places for i in range(model.n_states)]
    return np.array(names, object)


def _labels(model: HiddenModel) -> Labels | Columns:
    """The emission, if labels are a part of it, so that they can be columns of an encoding."""
    emission: Any = model.emission
    if not emission.has_labels:
        raise SettingError("encoding='score' sums by label; take another for a model without labels")
    return emission


def _widths(recipe: Recipe, model: HiddenModel, n_lanes: int) -> list[int]:
    """Columns of each part."""
    one = {"slots": (model.n_slots + 1) * model.n_states, "labels": model.n_labels * model.n_states, "components": 1}
    return [n_lanes * one[part] for part in recipe.parts]


def _encode_shard(recipe: Recipe, model: HiddenModel, params: Arrays, shard: SharedForest, given: Floats) -> Any:
    n_lanes = n_components(params)
    state = nodes.node_posteriors(model, params, shard, np.ones((shard.n_trees, n_lanes)))
    start = np.append(0, shard.tree_root + 1)  # the root is the last node of its tree
    weight = np.ones((shard.n_trees, n_lanes))
    if recipe.weighted:
        weight = np.where(given < NEGLIGIBLE, 0.0, given)
    slot = shard.units.slot
    parts = []
    for part in recipe.parts:
        if part == "slots":
            rows = _sum_by_key(np.where(slot < 0, model.n_slots, slot), start, state, model.n_slots + 1, weight)
        elif part == "labels":
            label, n_labels = _labels(model).encoded(shard)
            known = label >= 0  # a label missing or never seen is no label
            where = np.append(0, np.cumsum(known))[start]
            rows = _sum_by_key(label[known], where, state[known], n_labels, weight)
        else:
            rows = sparse.csr_array(np.where(given < NEGLIGIBLE, 0.0, given))
        if recipe.log and part != "components":
            rows.data = np.log1p(rows.data)
        parts.append(rows)
    whole = sparse.hstack(parts, format="csr") if len(parts) > 1 else parts[0]
    whole.eliminate_zeros()
    return whole


def _sum_by_key(key: NDArray[Any], start: Ints, state: Floats, n_keys: int, weight: Floats) -> Any:
    """Sparse [tree, (component, key, state)]: posteriors of the nodes with each key, times weight[tree, component]."""
    _, n_states, n_components = state.shape
    n_trees = len(start) - 1
    shape = (n_trees, n_components * n_keys * n_states)
    if not len(key):
        return sparse.csr_array(shape)
    block_start, block_key = _blocks(key.astype(np.int32), start, n_keys)
    n_blocks = np.diff(block_start)
    data = np.empty(len(block_key) * n_states * n_components)
    node_states.encode_rows(start, key.astype(np.int32), state, block_start, block_key, data)
    # A row holds, component by component, the keys of its tree, and for each key all states.
    tree = np.repeat(np.arange(n_trees), n_components)
    component = np.tile(np.arange(n_components), n_trees)
    column = _ranges(block_start[tree], n_blocks[tree])
    first = (np.repeat(component, n_blocks[tree]) * n_keys + block_key[column]) * n_states
    data *= np.repeat(weight.ravel(), n_blocks[tree] * n_states)
    index = (first[:, None] + np.arange(n_states)).ravel()
    return sparse.csr_array((data, index, block_start * n_states * n_components), shape=shape)


def _blocks(key: NDArray[np.int32], start: Ints, n_keys: int) -> tuple[Ints, NDArray[np.int32]]:
    """Keys each tree has, increasing: offsets and keys."""
    shape = (len(start) - 1, n_keys)
    used = sparse.csr_array((np.zeros(len(key), np.int8), key, start.copy()), shape=shape)
    used.sum_duplicates()
    return used.indptr.astype(np.int64), used.indices.astype(np.int32)


def _ranges(first: Ints, length: Ints) -> Ints:
    """first[x], first[x] + 1, ... of each x, one after another."""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - length), length)


def stack(parts: list[Any]) -> sparse.csr_array:
    """Codes of some trees above those of others."""
    return parts[0] if len(parts) == 1 else _compact(sparse.vstack(parts, format="csr"))


def _compact(codes: Any) -> sparse.csr_array:
    """The same matrix with 32-bit indices where they suffice: half the memory, and what scikit-learn takes."""
    if max(codes.nnz, *codes.shape) < np.iinfo(np.int32).max:
        codes.indices, codes.indptr = codes.indices.astype(np.int32), codes.indptr.astype(np.int32)
    return codes
