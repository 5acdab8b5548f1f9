"""Pictures of a hierarchy of rows: where its groups lie, and how they nest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..evaluate.hierarchy import Hierarchy
from ..evaluate.projection import plane
from ..evaluate.wording import counted
from .base import COLOURS, INK, MARKERS, axes_of, new_figure, plain_sides

MOST_NAMED = 40  # rows written out beside the tree


def groups_map(X: ArrayLike, levels: ArrayLike, ax: Any = None, ellipses: bool = False) -> Any:
    """Draw rows on a plane: colour by the coarsest level, marker by the finest.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The rows.
    levels : array of shape (n_levels, n_rows)
        Groups of each level, coarse to fine.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.
    ellipses : bool, default False
        Whether to draw ellipses of two standard deviations.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    from matplotlib.patches import Ellipse

    ax = axes_of(ax)
    place, axis = plane(X)
    table = np.asarray(levels)
    top, fine = table[0], table[-1]
    for group in np.unique(fine):
        mine = fine == group
        colour = COLOURS[int(top[mine][0]) % len(COLOURS)]
        marker = MARKERS[int(group) % len(MARKERS)] if len(table) > 1 else "o"
        ax.scatter(*place[mine].T, s=14, c=colour, marker=marker, alpha=0.75, linewidths=0.3, ec="white")
        if ellipses and mine.sum() > 2:
            value, vector = np.linalg.eigh(np.cov(place[mine].T))
            width, height = 4.0 * np.sqrt(np.maximum(value[::-1], 0.0))
            angle = float(np.degrees(np.arctan2(vector[1, 1], vector[0, 1])))
            ax.add_patch(Ellipse(place[mine].mean(axis=0), width, height, angle=angle, fill=False, ec=colour, lw=1.2))
    ax.set_xlabel(axis[0])
    ax.set_ylabel(axis[1])
    plain_sides(ax)
    return ax


def hierarchy(tree: Hierarchy, ax: Any = None) -> Any:
    """Draw the tree as nested bars: a column for each level, as high as a group is large.

    Parameters
    ----------
    tree : Hierarchy
        The tree.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    top = tree.nodes_at(min(1, tree.n_levels))
    order = np.lexsort(tuple(tree.nodes_at(level) for level in range(tree.n_levels, -1, -1)))
    place = np.empty(tree.n_data, np.int64)
    place[order] = np.arange(tree.n_data)
    first = {int(z): c for c, z in enumerate(np.unique(top))}
    for z in range(tree.n_nodes):
        mine = tree.members(z)
        low, size = place[mine].min(), len(mine)
        colour = "#DDDDDD" if z == 0 else COLOURS[first[int(top[mine[0]])] % len(COLOURS)]
        ax.bar(tree.level[z], size, 0.94, low, color=colour, ec="white", lw=1.0, alpha=0.85)
        if size >= 0.02 * tree.n_data:
            ax.text(tree.level[z], low + size / 2, str(size), ha="center", va="center", fontsize=7, color=INK)
    if tree.n_data <= MOST_NAMED:
        for n in range(tree.n_data):
            ax.text(tree.n_levels + 0.55, place[n] + 0.5, tree.names[n][:24], va="center", fontsize=6)
    ax.set_xticks(range(tree.n_levels + 1), ["all", *(f"level {l}" for l in range(1, tree.n_levels + 1))])
    ax.set_yticks([])
    ax.set_title(f"{counted(tree.n_data, 'row')} by group")
    plain_sides(ax, "top", "right", "left", "bottom")
    return ax


def hierarchy_overview(X: ArrayLike, levels: ArrayLike, tree: Hierarchy) -> Any:
    """Draw one picture: the rows on a plane, and the tree.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The rows.
    levels : array of shape (n_levels, n_rows)
        Groups of each level, coarse to fine.
    tree : Hierarchy
        The tree.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    figure = new_figure(11.0, 5.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.4, 1.0))
    ax = groups_map(X, levels, figure.add_subplot(grid[0, 0]))
    ax.set_title("colour: group of level 1" + ("; mark: of the finest level" if len(np.asarray(levels)) > 1 else ""))
    hierarchy(tree, figure.add_subplot(grid[0, 1]))
    return figure
