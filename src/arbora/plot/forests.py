"""Pictures of trees and of the parameters of hidden trees."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SettingError
from ..evaluate.traits import tree_shapes
from ..evaluate.wording import counted
from ..forest.forest import as_forest
from .base import INK, MARKERS, axes_of, colour_of, plain_sides, short_name

MAX_LABELS = 25  # columns of a heat map


def forest_shapes(forest: Any, labels: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw every tree by its number of nodes and its depth.

    Depths are whole numbers, so marks are spread a little around them.

    Parameters
    ----------
    forest : Forest
        The trees.
    labels : array or None, default None
        Cluster or class of each tree, for colour and mark.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    trees = as_forest(forest)
    shape = tree_shapes(trees)
    groups, kind = (
        ([None], np.zeros(trees.n_trees, int)) if labels is None else np.unique(np.asarray(labels), return_inverse=True)
    )
    shake = np.random.default_rng(0).uniform(-0.3, 0.3, trees.n_trees)
    for g, name in enumerate(groups):
        mine = kind == g
        ax.scatter(
            shape["nodes"][mine],
            (shape["depth"] + shake)[mine],
            s=16,
            c=colour_of(g),
            marker=MARKERS[g % len(MARKERS)],
            alpha=0.7,
            linewidths=0.3,
            ec="white",
            label=None if name is None else short_name(str(name)),
        )
    if len(shape["nodes"]) and shape["nodes"].max() > 20 * max(np.median(shape["nodes"]), 1.0):
        ax.set_xscale("log")
    ax.set_xlabel("nodes")
    ax.set_ylabel("depth")
    ax.set_title(f"{counted(trees.n_trees, 'tree')}, {counted(trees.n_nodes, 'node')}")
    if labels is not None and len(groups) <= len(MARKERS):
        ax.legend(fontsize=8, frameon=False)
    plain_sides(ax)
    return ax


def parameters(model: Any, what: str = "emission_prob_", component: int = 0, ax: Any = None) -> Any:
    """Draw probabilities of one component as a heat map: labels, slots or child states by hidden state.

    Parameters
    ----------
    model : HiddenTree or mixture of hidden trees
        The fitted model.
    what : str, default ``"emission_prob_"``
        ``"emission_prob_"`` (the most probable labels), ``"transition_prob_"`` (its mean over slots, weighted by the
        switch or by how often a slot is taken), ``"branching_prob_"``, or one that the direction of the model has:
        ``"leaf_prob_"``, ``"switch_prob_"``, ``"root_prob_"``.
    component : int, default 0
        The component.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    mixture = getattr(model, "mixture_", model)
    names = mixture.probabilities()
    if what not in names:
        raise SettingError(f"what={what!r}; wanted the name of a fitted array: {', '.join(names)}")
    if not 0 <= component < len(mixture.weight_):
        raise SettingError(f"component={component}; wanted 0 to {len(mixture.weight_) - 1}")
    values = mixture._by_component(what)[component]
    columns, title = [str(c) for c in range(values.shape[-1])], what.strip("_").replace("_", " ")
    if what == "emission_prob_":
        top = np.argsort(-values.max(axis=0), kind="stable")[:MAX_LABELS]
        values, columns = values[:, top], [short_name(model.vocabulary_[m], 14) for m in top]
    elif what == "transition_prob_":
        values = mixture.mean_transition(component)
    values = np.atleast_2d(values)
    image = ax.imshow(values, cmap="cividis", vmin=0.0, vmax=max(float(values.max(initial=0.0)), 1e-9), aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="probability", shrink=0.8)
    ax.set_xticks(range(len(columns)), columns, rotation=90 if what == "emission_prob_" else 0, fontsize=8)
    ax.set_yticks(range(len(values)))
    ax.tick_params(length=0, colors=INK)
    ax.set_title(f"component {component}: {title}", fontsize=10)
    plain_sides(ax, "top", "right", "left", "bottom")
    return ax
