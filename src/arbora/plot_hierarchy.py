"""Pictures of a hierarchy of rows: where its groups lie, and how they nest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .hierarchy import Hierarchy
from .plot import COLOURS, INK, MARKERS, new_figure
from .summary import counted

Floats = NDArray[np.float64]
MOST_NAMED = 40  # rows written out beside the tree


def plane(X: ArrayLike) -> tuple[Floats, list[str]]:
    """Two coordinates for each row: the columns themselves, if there are two, else principal components."""
    rows = np.asarray(X, np.float64)
    if rows.shape[1] == 2:
        return rows, ["column 1", "column 2"]
    centred = rows - rows.mean(axis=0)
    scale = centred.std(axis=0)
    centred = centred / np.where(scale > 0, scale, 1.0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    place = np.zeros((len(rows), 2))
    k = min(2, len(size))
    place[:, :k] = left[:, :k] * size[:k]
    share = size**2 / max(float((size**2).sum()), 1e-300)
    share = np.append(share, np.zeros(2))
    return place, [f"principal component {c + 1}, {share[c]:.0%}" for c in range(2)]


def groups_map(X: ArrayLike, levels: ArrayLike, ax: Any, ellipses: bool = False) -> Any:
    """Draw rows on a plane: colour by the coarsest level, marker by the finest; ellipses of two deviations if asked."""
    from matplotlib.patches import Ellipse

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
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def icicle(hierarchy: Hierarchy, ax: Any) -> Any:
    """Draw the tree as nested bars: a column for each level, as high as a group is large."""
    top = hierarchy.nodes_at(min(1, hierarchy.n_levels))
    order = np.lexsort(tuple(hierarchy.nodes_at(level) for level in range(hierarchy.n_levels, -1, -1)))
    place = np.empty(hierarchy.n_data, np.int64)
    place[order] = np.arange(hierarchy.n_data)
    first = {int(z): c for c, z in enumerate(np.unique(top))}
    for z in range(hierarchy.n_nodes):
        mine = hierarchy.members(z)
        low, size = place[mine].min(), len(mine)
        colour = "#DDDDDD" if z == 0 else COLOURS[first[int(top[mine[0]])] % len(COLOURS)]
        ax.bar(hierarchy.level[z], size, 0.94, low, color=colour, ec="white", lw=1.0, alpha=0.85)
        if size >= 0.02 * hierarchy.n_data:
            ax.text(hierarchy.level[z], low + size / 2, str(size), ha="center", va="center", fontsize=7, color=INK)
    if hierarchy.n_data <= MOST_NAMED:
        for n in range(hierarchy.n_data):
            ax.text(hierarchy.n_levels + 0.55, place[n] + 0.5, hierarchy.names[n][:24], va="center", fontsize=6)
    ax.set_xticks(range(hierarchy.n_levels + 1), ["all", *(f"level {l}" for l in range(1, hierarchy.n_levels + 1))])
    ax.set_yticks([])
    ax.set_title(f"{counted(hierarchy.n_data, 'row')} by group")
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    return ax


def overview(X: ArrayLike, levels: ArrayLike, hierarchy: Hierarchy) -> Any:
    """One picture: the rows on a plane, and the tree."""
    figure = new_figure(11.0, 5.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.4, 1.0))
    ax = groups_map(X, levels, figure.add_subplot(grid[0, 0]))
    ax.set_title("colour: group of level 1" + ("; mark: of the finest level" if len(np.asarray(levels)) > 1 else ""))
    icicle(hierarchy, figure.add_subplot(grid[0, 1]))
    return figure
