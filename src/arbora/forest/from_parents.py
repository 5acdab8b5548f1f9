"""Forests from parallel arrays in any order of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ForestError
from .assemble import RawColumns, finish
from .classes import is_missing
from .forest import Forest
from .kernels import layout
from .node_columns import MISSING, Ints, Ints32, integer_column


def _encode_labels(label: Any, vocabulary: Sequence[str] | None) -> tuple[Ints32, Sequence[Any]]:
    """Labels as numbers, with the words they stand for."""
    # Lists go through objects: as fixed-width text, one long label would cost its width at every node.
    values = label if isinstance(label, np.ndarray) else np.asarray(label, object)
    if values.ndim != 1:
        raise ForestError(f"label must be one-dimensional; found shape {values.shape}")
    items = [None if is_missing(x) else x for x in values.tolist()] if values.dtype.kind not in "iuU" else []
    if vocabulary is not None and values.dtype.kind == "O" and _all_integers(items):
        codes = [MISSING if x is None else x for x in items]
        return integer_column(codes, np.int32, "label"), list(vocabulary)
    if values.dtype.kind in "iu" and vocabulary is not None:
        return integer_column(values, np.int32, "label"), list(vocabulary)
    if values.dtype.kind in "iuU":
        words, code = np.unique(values, return_inverse=True)
        return code.astype(np.int32), words.tolist()
    seen: dict[str, int] = {}
    codes = [MISSING if x is None else seen.setdefault(str(x), len(seen)) for x in items]
    return np.array(codes, np.int32), list(seen)


def _all_integers(values: list[Any]) -> bool:
    kinds = {kind for kind in map(type, values) if kind is not type(None)}
    return all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds)


def _check_tree_numbers(number: Ints, parents: Ints, root: Ints) -> None:
    """Make sure that each tree has exactly one root and that no edge leaves its tree."""
    if len(number) != len(parents):
        raise ForestError(f"parent has {len(parents)} nodes and tree {len(number)}; they must be as long")
    n_trees = int(number.max(initial=-1)) + 1
    if len(number) and number.min() < 0:
        raise ForestError(f"node {number.argmin()}: tree number {number.min()}; wanted 0 or more")
    if n_trees > len(number):
        raise ForestError(f"tree number {n_trees - 1} with only {len(number)} nodes; number the trees 0, 1, ...")
    n_roots = np.bincount(number[root], minlength=n_trees)
    wrong = np.flatnonzero(n_roots != 1)
    if len(wrong):
        raise ForestError(f"tree {wrong[0]}: {n_roots[wrong[0]]} roots; a tree has exactly one (parent -1)")
    crossing = np.flatnonzero((parents >= 0) & (number != number[parents]))
    if len(crossing):
        u = crossing[0]
        raise ForestError(
            f"node {u}: it is of tree {number[u]} and its parent, node {parents[u]}, of tree {number[parents[u]]}; "
            f"give both the same tree number"
        )


def forest_of_parents(
    parent: ArrayLike,
    label: ArrayLike | Sequence[str | None],
    slot: ArrayLike | None,
    tree: ArrayLike | None,
    vocabulary: Sequence[str] | None,
    target: ArrayLike | None,
    name: Sequence[str] | None,
    content: Mapping[str, Any] | None = None,
) -> Forest:
    """See `Forest.from_parents`."""
    parents = integer_column(parent, np.int64, "parent")
    n = len(parents)
    code, words = _encode_labels(label, vocabulary)
    bad = np.flatnonzero((parents < -1) | (parents >= n) | (parents == np.arange(n)))
    if len(bad):
        raise ForestError(
            f"node {bad[0]}: parent {parents[bad[0]]} is not another node; wanted 0..{n - 1}, or -1 at a root"
        )
    slots = layout.sibling_rank(parents) if slot is None else integer_column(slot, np.int32, "slot")
    if len(code) != n or len(slots) != n:
        raise ForestError(f"parent has {n} nodes, label {len(code)} and slot {len(slots)}; they must be as long")
    root = np.flatnonzero(parents < 0)
    if tree is None:
        number = np.full(n, -1, np.int64)
        number[root] = np.arange(len(root))
    else:
        number = integer_column(tree, np.int64, "tree")
        _check_tree_numbers(number, parents, root)
    slots = np.where(parents < 0, np.int32(-1), slots).astype(np.int32)
    return finish(RawColumns(parents, slots, code, number), words, vocabulary, target, name, content=content)
