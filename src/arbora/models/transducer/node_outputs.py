"""Outputs of nodes as people give them: an array by node, a list by tree, trees of the same shapes, or a column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ForestError
from ...forest.classes import class_column, is_missing
from ...forest.forest import Forest, as_forest
from ...forest.trees import Trees
from .coded_trees import NO_OUTPUT

Codes32 = NDArray[np.int32]


def known_outputs(y: Any, trees: Trees, who: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Output of every node, and whether it is known; where it is not, the value means nothing.

    Outputs come in the order of the nodes, children before their parents.  None, nan and what data frames have for a
    missing value are not known.
    """
    if isinstance(y, str):
        return _of_column(y, trees, who)
    if isinstance(y, Forest) or hasattr(y, "to_forest"):
        return _of_trees(as_forest(y), trees, who)
    values = _flat(y, trees, who)
    if values.shape != (trees.n_nodes,):
        raise ForestError(
            f"{who}: outputs of shape {values.shape}; wanted one per node, ({trees.n_nodes},), a list of them per "
            f"tree, or trees of the same shapes; None where an output is not known"
        )
    if values.dtype.kind in "biuU":
        return class_column(values), np.ones(len(values), bool)
    if values.dtype.kind == "f":
        return values, ~np.isnan(values)
    known = np.array([not is_missing(value) for value in values.tolist()], bool)
    some = class_column(np.array([*values[known]], object))
    out = np.zeros(len(values), some.dtype)
    out[known] = some
    return out, known


def _flat(y: Any, trees: Trees, who: str) -> NDArray[Any]:
    """One value per node; lists by tree are joined."""
    if hasattr(y, "dtype") and np.ma.isMaskedArray(y):
        masked: Any = y
        return np.asarray(masked.astype(object).filled(None))
    if hasattr(y, "dtype") and getattr(y, "ndim", 1) == 1 and np.asarray(y).dtype.kind != "O":
        return np.asarray(y)
    try:
        items = list(y)
    except TypeError:
        raise ForestError(f"{who}: outputs are a {type(y).__name__}; wanted a list of outputs per node") from None
    if not any(_is_list(item) for item in items):
        return _objects(items)
    sizes = np.concatenate([part.sizes for part in trees.parts()])
    if len(items) != trees.n_trees:
        raise ForestError(f"{who}: lists of outputs for {len(items)} trees; wanted {trees.n_trees}")
    for t, (item, size) in enumerate(zip(items, sizes.tolist(), strict=True)):
        if not _is_list(item) or len(item) != size:
            found = f"{len(item)} outputs" if _is_list(item) else f"a {type(item).__name__}"
            raise ForestError(f"{who}: tree {t} has {size} nodes, and its list has {found}; wanted one per node")
    return _objects([value for item in items for value in item])


def _is_list(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.ndim > 0)


def _objects(items: list[Any]) -> NDArray[Any]:
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _of_trees(outputs: Forest, trees: Trees, who: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Outputs that are the labels of other trees of the same shapes."""
    if (outputs.n_trees, outputs.n_nodes) != (trees.n_trees, trees.n_nodes):
        raise ForestError(
            f"{who}: {outputs.n_trees} trees of outputs with {outputs.n_nodes} nodes; wanted {trees.n_trees} with "
            f"{trees.n_nodes}: the same shapes"
        )
    tree = node = 0
    for part in trees.parts():
        mine = outputs.take(np.arange(tree, tree + part.n_trees))
        same = np.array_equal(mine.tree_start, part.tree_start) and np.array_equal(mine.parent, part.parent)
        if not same or not np.array_equal(mine.slot, part.slot):
            differ = np.flatnonzero(mine.sizes != part.sizes)
            where = f"tree {tree + int(differ[0])}" if len(differ) else f"trees from {tree} on"
            raise ForestError(f"{who}: {where}: the tree of outputs has another shape, or its nodes another order")
        tree, node = tree + part.n_trees, node + part.n_nodes
    words = np.array([*outputs.vocabulary, ""], np.str_) if outputs.n_labels else np.array([""], np.str_)
    known = outputs.label >= 0
    return words[np.where(known, outputs.label, -1)], known


def _of_column(name: str, trees: Trees, who: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Outputs that are a column of the content of the nodes."""
    values, known = [], []
    for part in trees.parts():
        column = part.content.get(name)
        if column is None or column.kind == "bags":
            has = ", ".join(part.content) or "none"
            found = "holds bags of words" if column is not None else f"is none of the columns of the nodes ({has})"
            raise ForestError(f"{who}: {name!r} {found}; wanted a column with one value per node")
        if column.kind == "codes":
            words = np.array([*column.words, ""], np.str_)
            values.append(words[column.values])
        else:
            values.append(column.values.astype(bool) if column.kind == "flags" else column.values)
        known.append(~np.isnan(column.values) if column.kind == "numbers" else column.values >= 0)
    return np.concatenate(values), np.concatenate(known)


def numbered(y: Any, trees: Trees, who: str) -> tuple[NDArray[Any], Codes32]:
    """The distinct outputs, in order, and the number of each node's; `NO_OUTPUT` where it is not known."""
    values, known = known_outputs(y, trees, who)
    outputs, index = np.unique(values[known], return_inverse=True)
    if not len(outputs):
        raise ForestError(f"{who}: no node has a known output; there is nothing to learn from")
    code = np.full(len(values), NO_OUTPUT, np.int32)
    code[known] = index
    return outputs, code


def in_terms_of(y: Any, trees: Trees, outputs: NDArray[Any], who: str) -> Codes32:
    """Numbers of given outputs among those that were learnt; others are refused."""
    values, known = known_outputs(y, trees, who)
    if values.dtype.kind != outputs.dtype.kind and "U" in (values.dtype.kind, outputs.dtype.kind) and known.any():
        raise ForestError(f"{who}: outputs of {values.dtype}; the model has learnt outputs of {outputs.dtype}")
    given = values[known]
    at = np.minimum(np.searchsorted(outputs, given), len(outputs) - 1)
    wrong = np.flatnonzero(outputs[at] != given)
    if len(wrong):
        node = int(np.flatnonzero(known)[wrong[0]])
        raise ForestError(f"{who}: node {node} has the output {given[wrong[0]]!s:.80}, which training had not")
    code = np.full(len(values), NO_OUTPUT, np.int32)
    code[known] = at
    return code
