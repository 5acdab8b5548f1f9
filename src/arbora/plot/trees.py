"""Pictures of single trees, their nodes coloured by a value."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError
from ..evaluate.summary import tree_names
from ..evaluate.wording import counted
from ..forest.forest import as_forest
from .base import INK, axes_of, plain_sides, short_name

MAX_NODES = 400


def tree(forest: Any, i: int, values: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw one tree, root at the left, its nodes coloured by a value.

    Parameters
    ----------
    forest : Forest or trees
        The trees.
    i : int
        Number of the tree.
    values : array or None, default None
        A number per node of the whole forest, or of this tree alone, as `node_surprise` gives.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    trees = as_forest(forest)
    if not 0 <= i < trees.n_trees:
        raise SettingError(f"i={i}; wanted 0 to {trees.n_trees - 1}, the number of a tree")
    lo, hi = int(trees.tree_start[i]), int(trees.tree_start[i + 1])
    if hi - lo > MAX_NODES:
        raise SettingError(f"tree {i} has {counted(hi - lo, 'node')}; at most {MAX_NODES} can be drawn")
    colour: Any = INK
    if values is not None:
        colour = np.asarray(values, np.float64)
        if colour.shape not in ((trees.n_nodes,), (hi - lo,)):
            wanted = f"wanted one per node of all trees, {trees.n_nodes}, or of this one, {hi - lo}"
            raise SettingError(f"values of shape {colour.shape}; {wanted}")
        colour = colour if len(colour) == hi - lo else colour[lo:hi]
    parent = np.where(trees.parent[lo:hi] >= 0, trees.parent[lo:hi] - lo, -1)
    x, y = _places(parent, trees.slot[lo:hi])
    ax = axes_of(ax, 7.0, max(2.0, 0.24 * (float(y.max()) + 2)))
    for u in np.flatnonzero(parent >= 0).tolist():
        p = int(parent[u])
        ax.plot([x[p], x[p] + 0.5, x[u]], [y[p], y[u], y[u]], color="#bbbbbb", lw=0.8, zorder=1)
    marks = ax.scatter(x, y, s=30, c=colour, cmap="cividis_r", zorder=2, ec=INK, linewidths=0.4)
    if values is not None:
        ax.figure.colorbar(marks, ax=ax, shrink=0.8)
    for u, m in enumerate(trees.label[lo:hi].tolist()):
        word = short_name(trees.vocabulary[m], 18) if m >= 0 else "?"
        ax.annotate(word, (x[u], y[u]), (4, 3), textcoords="offset points", fontsize=7, color=INK)
    ax.set_xlim(-0.3, float(x.max()) + 1.0)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(short_name(tree_names(trees)[i], 60), fontsize=10)
    plain_sides(ax, "top", "right", "left", "bottom")
    return ax


def _places(parent: NDArray[Any], slot: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Depth and row of each node: leaves one below the other, a parent in the middle of its children."""
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for u in np.lexsort((slot, parent)).tolist():
        if parent[u] >= 0:
            children[parent[u]].append(u)
    x, y = np.zeros(n), np.zeros(n)
    order, stack, row = [], [n - 1], 0  # the root is last
    while stack:
        u = stack.pop()
        order.append(u)
        x[u] = 0.0 if parent[u] < 0 else x[parent[u]] + 1.0
        stack += reversed(children[u])
        if not children[u]:
            y[u], row = row, row + 1
    for u in reversed(order):
        if children[u]:
            y[u] = (y[children[u][0]] + y[children[u][-1]]) / 2.0
    return x, y
