"""The invariants of a forest, and which tree and node breaks one."""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ForestError
from .kernels import layout
from .node_columns import Ints, ends_of

if TYPE_CHECKING:
    from .forest import Forest


def check_forest(forest: "Forest", number: Ints | None = None) -> None:
    """Check the invariants; `number` is the caller's number of each node, its place in the tree if left out."""
    n = forest.n_nodes
    if len(forest.slot) != n or len(forest.label) != n:
        raise ForestError(
            f"parent has {n} nodes, slot {len(forest.slot)}, label {len(forest.label)}; want as many each"
        )
    if len(forest.tree_start) == 0 or forest.tree_start[0] != 0 or forest.tree_start[-1] != n:
        raise ForestError(f"tree_start must run from 0 to the number of nodes, {n}; it is {ends_of(forest.tree_start)}")
    falls = np.flatnonzero(np.diff(forest.tree_start) < 0)
    if len(falls):
        raise ForestError(f"tree {falls[0]}: tree_start falls; offsets must increase")
    if len(set(forest.vocabulary)) != len(forest.vocabulary):
        raise ForestError("the vocabulary names a label twice; names must differ")
    code, t, u = layout.check(*forest.arrays, len(forest.vocabulary))
    if code == layout.UNSORTED:
        code, t, u = _same_slot(forest)
    if code != layout.OK:
        raise ForestError(_complaint(forest, code, int(t), int(u), number))


def _same_slot(forest: "Forest") -> tuple[int, int, int]:
    """Look for two children in one slot when siblings are not stored in slot order."""
    order = np.lexsort((forest.slot, forest.parent))
    p, s = forest.parent[order], forest.slot[order]
    clash = np.flatnonzero((p[1:] == p[:-1]) & (s[1:] == s[:-1]) & (p[1:] >= 0))
    if not len(clash):
        return layout.OK, -1, -1
    u = int(order[clash[0] + 1])
    return layout.SAME_SLOT, int(np.searchsorted(forest.tree_start, u, "right")) - 1, u


def place_of(forest: "Forest", u: int, number: Ints | None = None) -> str:
    """Tree and node, as messages begin; `number` as for `check_forest`."""
    t = int(np.searchsorted(forest.tree_start, u, "right")) - 1
    where = f"tree {t}" + (f' ("{forest.name[t]}")' if forest.name is not None else "")
    return f"{where}, node {u - int(forest.tree_start[t]) if number is None else number[u]}"


def _complaint(forest: "Forest", code: int, t: int, u: int, number: Ints | None) -> str:
    where = f"tree {t}" + (f' ("{forest.name[t]}")' if forest.name is not None else "")
    lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
    node = f"{where}, node {u - lo if number is None else number[u]}"
    if code == layout.EMPTY_TREE:
        return f"{where}: it has no nodes; a tree has at least a root, leave empty trees out"
    if code == layout.BAD_PARENT:
        return (
            f"{node}: its parent is {int(forest.parent[u]) - lo}; wanted a later node of the same tree "
            f"(children come before parents; Forest.from_parents takes any order)"
        )
    if code == layout.ROOT_NOT_LAST:
        return f"{node}: the last node of a tree must be its root (parent -1); use Forest.from_parents to reorder"
    if code == layout.BAD_SLOT:
        wanted = "-1 at the root" if u == hi - 1 else "0 or more"
        return f"{node}: slot {forest.slot[u]}; wanted {wanted}"
    if code == layout.BAD_LABEL:
        known = f"a number below {forest.n_labels}, the size of the vocabulary"
        return f"{node}: label {forest.label[u]}; wanted -2 (missing), -1 (unseen) or {known}"
    return f"{node}: two children in slot {forest.slot[u]} of one parent; slots must differ"
