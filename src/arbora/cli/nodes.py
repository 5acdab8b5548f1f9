"""A row per node: its tree, number, label, path from the root, and how surprising it is."""

from typing import Any

from ..evaluate.summary import tree_names
from ..forest.trees import Trees
from .files import Columns

MOST_PATH = 200  # characters; the end of a path is kept


def node_columns(model: Any, forest: Trees) -> Columns:
    """Columns about each node, with its surprise."""
    return {**label_columns(forest), "surprise": model.node_surprise(forest)}


def label_columns(forest: Trees) -> dict[str, list[Any]]:
    """Tree, number, label and path of each node, numbered from 0 in each tree, children before their parents.

    Labels in a path are joined by slashes; an empty one is missing.
    """
    names, first = tree_names(forest), 0
    out: dict[str, list[Any]] = {"tree": [], "node": [], "label": [], "path": []}
    for part in forest.parts():
        label = [part.vocabulary[m] if m >= 0 else "" for m in part.label.tolist()]
        path = list(label)
        for u in range(part.n_nodes - 1, -1, -1):  # parents come after their children
            above = int(part.parent[u])
            if above >= 0:
                path[u] = _shortened(f"{path[above]}/{label[u]}")
        for t, size in enumerate(part.sizes.tolist()):
            out["tree"] += [names[first + t]] * size
            out["node"] += range(size)
        first += part.n_trees
        out["label"] += label
        out["path"] += path
    return out


def _shortened(path: str) -> str:
    return path if len(path) <= MOST_PATH else f"...{path[-MOST_PATH + 3 :]}"
