"""Archetypes of a mixture of tree-unions, and the order in which trees were merged into them."""

from typing import Any

import numpy as np

from ..plot.unions import dendrogram_places, layout_union
from . import columns as col

MAX_ARCHETYPES = 30
MAX_UNION_NODES = 150
MAX_MERGES = 1_500


def gather_unions(model: Any) -> dict[str, Any]:
    """Both pictures, as coordinates."""
    n = model.n_components_
    shown = [_archetype(union, c) for c, union in enumerate(model.unions_[:MAX_ARCHETYPES])]
    note = f"The {MAX_ARCHETYPES} largest of {n} classes." if n > MAX_ARCHETYPES else ""
    return {"archetypes": {"unions": shown, "note": note}, "merges": _merges(model)}


def _archetype(union: Any, c: int) -> dict[str, Any]:
    prob = union.node_prob
    shown = np.sort(np.argsort(-prob, kind="stable")[:MAX_UNION_NODES])
    parent = union.restrict(shown)
    x, y = layout_union(parent)
    words = union.label_names() if union.label_count is not None else None
    return {
        "name": str(c),
        "n_trees": int(union.n_assigned),
        "n_nodes": int(union.n_nodes),
        "hidden": int(union.n_nodes - len(shown)),
        "parent": parent.tolist(),
        "x": col.rounded(x, 2),
        "depth": (-y).astype(np.int64).tolist(),
        "p": col.rounded(prob[shown]),
        "labels": None if words is None else [col.shortened(words[u]) for u in shown],
    }


def _merges(model: Any) -> dict[str, Any] | None:
    """The dendrogram: places of the distinct trees along x, and for each merge its two parts and the gain."""
    pairs = np.asarray(model.merges_)
    n = len(model.arrays_["sample_weight"])
    if not len(pairs) or len(pairs) > MAX_MERGES:
        return None
    x, _ = dendrogram_places(n, pairs)
    return {
        "n": n,
        "x": col.rounded(x, 2),
        "pairs": pairs.tolist(),
        "gain": [col.figure(g, 4) for g in np.asarray(model.merge_gain_).tolist()],
    }
