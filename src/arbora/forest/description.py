"""Sizes, depths, degrees and label use of a forest, as plain numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import notebook
from .kernels import layout
from .node_columns import MISSING, Ints

if TYPE_CHECKING:
    from .forest import Forest


class Description(dict[str, Any]):
    """Plain numbers by name, which print as a table."""

    def rows(self) -> list[tuple[str, str]]:
        """What to show: names and values in words."""
        low, _, middle, _, high = self["tree_size_quartiles"]
        words = ", ".join(f"{word} {count:,}" for word, count in self["top_labels"].items())
        content = ", ".join(f"{name} ({one['kind']})" for name, one in self.get("content", {}).items())
        rows = [
            ("trees", f"{self['n_trees']:,}"),
            ("nodes", f"{self['n_nodes']:,}, of which {self['leaf_fraction']:.0%} are leaves"),
            ("nodes per tree", f"{low:,} to {high:,}, median {middle:,}"),
            ("depth", f"up to {self['max_depth']:,}"),
            ("children", f"up to {self['max_children']:,}"),
            ("labels", f"{self['n_labels']:,}"),
            ("frequent labels", words or "none"),
        ]
        rare = (("missing labels", "n_missing_labels"), ("unseen labels", "n_unseen_labels"), ("classes", "n_classes"))
        rows += [(what, f"{self[key]:,}") for what, key in rare if self[key]]
        return rows + ([("content", content)] if content else [])

    def __repr__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        return notebook.table(self.rows())


def describe(forest: "Forest") -> Description:
    """Sizes, depths, degrees and label use, as plain numbers for printing."""
    depth = layout.depth(forest.parent)
    degree = np.bincount(forest.parent[forest.parent >= 0], minlength=forest.n_nodes)
    count = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels)
    top = np.argsort(-count, kind="stable")[:10]
    facts = {
        "n_trees": forest.n_trees,
        "n_nodes": forest.n_nodes,
        "n_labels": forest.n_labels,
        "n_slots": forest.n_slots,
        "tree_size_quartiles": size_quartiles(forest.sizes),
        "max_depth": int(depth.max(initial=0)),
        "max_children": int(degree.max(initial=0)),
        "leaf_fraction": int((degree == 0).sum()) / max(forest.n_nodes, 1),
        "n_missing_labels": int((forest.label == MISSING).sum()),
        "n_unseen_labels": forest.n_unseen(),
        "top_labels": {forest.vocabulary[m]: int(count[m]) for m in top if count[m]},
        "n_classes": None if forest.target is None else len(np.unique(forest.target)),
        **({"content": {name: one.describe() for name, one in forest.content.items()}} if forest.content else {}),
    }
    return Description(facts)


def size_quartiles(sizes: Ints) -> list[int]:
    """Least, lower quartile, median, upper quartile and greatest of the sizes of trees; zeros of none."""
    some = sizes if len(sizes) else np.zeros(1, np.int64)
    return [int(q) for q in np.quantile(some, [0, 0.25, 0.5, 0.75, 1], method="nearest")]
