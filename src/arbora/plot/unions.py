"""Pictures of a mixture of tree-unions: its archetypes, and the order in which trees were merged."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import COLOURS, INK, axes_of, new_figure, plain_sides

Floats = NDArray[np.float64]

MAX_AREA = 160.0  # of a node that every tree has, in square points
MAX_DRAWN = 12  # archetypes of one picture
MAX_NODES = 400  # nodes of an archetype; the least probable beyond these are left out


def layout_union(parent: Any) -> tuple[Floats, Floats]:
    """Place each node: leaves side by side, parents above the middle of their children; y is minus the depth.

    Parameters
    ----------
    parent : array
        Parent of each node, -1 for a root; children come before parents.

    Returns
    -------
    x, y : ndarray
        Coordinates of the nodes.
    """
    n = len(parent)
    below: list[list[int]] = [[] for _ in range(n + 1)]
    for u in range(n):
        below[parent[u]].append(u)  # -1 is the last: the roots
    weight = np.ones(n)
    depth = np.zeros(n)
    for u in range(n):
        if parent[u] >= 0:
            weight[parent[u]] += weight[u]
    for u in range(n - 1, -1, -1):
        if parent[u] >= 0:
            depth[u] = depth[parent[u]] + 1
    x = np.zeros(n)
    n_leaves = 0
    stack = [(u, False) for u in below[n]]
    while stack:
        u, done = stack.pop()
        if not below[u]:
            x[u] = n_leaves
            n_leaves += 1
        elif done:
            x[u] = np.mean([x[v] for v in below[u]])
        else:
            stack.append((u, True))
            stack.extend((v, False) for v in sorted(below[u], key=lambda v: weight[v]))
    return x, -depth


def union_archetype(
    union: Any, ax: Any = None, colour: str = COLOURS[0], least: float = 0.0, names: bool = True
) -> Any:
    """Draw one archetype.  The area of a node is its probability.

    Parameters
    ----------
    union : TreeUnion
        The archetype.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.
    colour : str
        Colour of the nodes.
    least : float, default 0.0
        Nodes of lower probability are left out.
    names : bool, default True
        Whether to write labels beside the nodes.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    prob, shown = union.node_prob, np.arange(union.n_nodes)
    if union.n_nodes > MAX_NODES:
        shown = np.sort(np.argsort(-prob, kind="stable")[:MAX_NODES])
    shown = shown[prob[shown] >= least]
    parent = union.restrict(shown)
    ax = axes_of(ax)
    x, y = layout_union(parent)
    for u in range(len(parent)):
        if parent[u] >= 0:
            ax.plot([x[u], x[parent[u]]], [y[u], y[parent[u]]], color=INK, lw=0.4 + 1.2 * prob[shown[u]], zorder=1)
    ax.scatter(x, y, s=MAX_AREA * prob[shown], color=colour, edgecolor=INK, linewidth=0.5, zorder=2)
    if names and union.label_count is not None and len(shown) <= 60:
        words = union.label_names()
        for u in range(len(parent)):
            ax.annotate(words[shown[u]], (x[u], y[u]), (3, 3), textcoords="offset points", fontsize=6, color=INK)
    hidden = union.n_nodes - len(shown)
    more = f", {hidden} rare nodes not drawn" if hidden else ""
    ax.set_title(f"{union.n_assigned} trees, {union.n_nodes} nodes{more}", fontsize=9, color=INK)
    ax.margins(0.08)
    ax.set_axis_off()
    return ax


def union_modes(union: Any, n_modes: int = 3) -> tuple[Floats, Floats]:
    """Compute the principal modes of the pattern vectors of a union: how its trees vary about the archetype.

    A pattern vector says which nodes of the union a tree has; their mean is `node_prob`.

    Parameters
    ----------
    union : TreeUnion
        The archetype.
    n_modes : int, default 3
        Most modes.

    Returns
    -------
    share : ndarray
        Share of the variance along each mode, largest first.
    mode : ndarray of shape (modes, nodes)
        Unit vectors; the largest entry of each is positive.
    """
    vector = np.zeros((len(union.tree), union.n_nodes))
    vector[np.repeat(np.arange(len(union.tree)), np.diff(union.match_start)), union.match] = 1.0
    _, size, mode = np.linalg.svd(vector - vector.mean(axis=0), full_matrices=False)
    kept = int(min(n_modes, (size > 1e-9).sum()))
    mode, total = mode[:kept], float((size**2).sum())
    top = np.abs(mode).argmax(axis=1)
    mode = mode * np.sign(mode[np.arange(kept), top])[:, None]
    return size[:kept] ** 2 / (total or 1.0), mode


def modes(union: Any, n_modes: int = 3) -> Any:
    """Draw the principal modes of a union: nodes of one colour come together, and go where those of the other come.

    The area of a node is its part of the mode; nodes without part are dots.

    Parameters
    ----------
    union : TreeUnion
        The archetype, as one of `TreeUnionMixture.unions_`.
    n_modes : int, default 3
        Most modes, one panel each.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    share, mode = union_modes(union, n_modes)
    n = max(len(share), 1)
    figure = new_figure(3.4 * n, 3.2)
    x, y = layout_union(union.parent)
    for m in range(n):
        ax = figure.add_subplot(1, n, m + 1)
        for u, p in enumerate(union.parent):
            if p >= 0:
                ax.plot([x[u], x[p]], [y[u], y[p]], color=INK, lw=0.6, zorder=1)
        part = mode[m] if len(share) else np.zeros(union.n_nodes)
        colour = [COLOURS[0] if value >= 0 else COLOURS[1] for value in part]
        ax.scatter(x, y, s=4.0 + MAX_AREA * np.abs(part), color=colour, edgecolor=INK, linewidth=0.5, zorder=2)
        said = f"mode {m + 1}: {share[m]:.0%} of the variance" if len(share) else "all trees have all nodes"
        ax.set_title(said, fontsize=9, color=INK)
        ax.margins(0.08)
        ax.set_axis_off()
    return figure


def archetypes(model: Any, least: float = 0.0) -> Any:
    """Draw the largest archetypes of a fitted `TreeUnionMixture`, one panel each.

    Parameters
    ----------
    model : TreeUnionMixture
        The fitted model.
    least : float, default 0.0
        Nodes of lower probability are left out.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    n = min(model.n_components_, MAX_DRAWN)
    columns = min(n, 4)
    rows = -(-n // columns)
    figure = new_figure(3.4 * columns, 3.0 * rows)
    for c in range(n):
        ax = figure.add_subplot(rows, columns, c + 1)
        union_archetype(model.unions_[c], ax, COLOURS[c % len(COLOURS)], least)
        ax.set_title(f"class {c}: {ax.get_title()}", fontsize=9, color=INK)
    if model.n_components_ > n:
        figure.suptitle(f"the {n} largest of {model.n_components_} classes; area: probability of the node", fontsize=10)
    else:
        figure.suptitle("area: probability of the node", fontsize=10)
    return figure


def merges(model: Any, ax: Any = None) -> Any:
    """Draw the order in which distinct trees were merged.  The height is the number of the merge.

    Merging stops where it no longer shortens the description, so the picture has one tree per group left after merging.

    Parameters
    ----------
    model : TreeUnionMixture
        The fitted model.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    n, pairs = len(model.arrays_["sample_weight"]), model.merges_
    ax = axes_of(ax, 9.0)
    x, height = dendrogram_places(n, pairs)
    for k, (a, b) in enumerate(pairs):
        top = height[n + k]
        ax.plot([x[a], x[a], x[b], x[b]], [height[a], top, top, height[b]], color=COLOURS[0], lw=0.8)
    ax.set_xlabel(f"{n} distinct trees")
    ax.set_ylabel("merge")
    ax.set_xticks([])
    plain_sides(ax, "top", "right", "bottom")
    return ax


def dendrogram_places(n: int, merges: Any) -> tuple[Floats, Floats]:
    """Places of trees and merges: trees in the order of a walk that keeps merges from crossing."""
    is_part = np.zeros(n + len(merges), bool)
    is_part[np.asarray(merges).reshape(-1)] = True
    x = np.zeros(n + len(merges))
    place = 0
    stack = [u for u in range(n + len(merges) - 1, -1, -1) if not is_part[u]]
    while stack:
        u = stack.pop()
        if u < n:
            x[u] = place
            place += 1
        else:
            stack += [int(merges[u - n][1]), int(merges[u - n][0])]
    height = np.zeros(n + len(merges))
    for k, (a, b) in enumerate(merges):  # parts come before what they are merged into
        x[n + k] = (x[a] + x[b]) / 2.0
        height[n + k] = k + 1.0
    return x, height
