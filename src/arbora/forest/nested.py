"""A tree of a forest as nested dictionaries."""

from typing import TYPE_CHECKING, Any

from .node_columns import UNSEEN

if TYPE_CHECKING:
    from .forest import Forest


class NestedTree(dict[str, Any]):
    """A tree as a dictionary, which a notebook draws."""

    def _repr_html_(self) -> str:
        from .forest import Forest
        from .notebook_view import tree_html

        return tree_html(Forest.from_nested([self]), 0)


def nested_tree(forest: "Forest", t: int) -> NestedTree:
    """Tree number t: label, content, children, and the slot where it is not the next one."""
    lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
    parent, slot, label = (c[lo:hi].tolist() for c in (forest.parent, forest.slot, forest.label))
    made: list[dict[str, Any]] = []
    for m in label:
        node: dict[str, Any] = {"label": forest.vocabulary[m] if m >= 0 else None}
        if m == UNSEEN:
            node["unseen"] = True
        made.append(node)
    for key, column in forest.content.items():
        for holder, value in zip(made, column.nested(lo, hi), strict=True):
            if value is not None:
                holder.setdefault("content", {})[key] = value
    for u in sorted(range(hi - lo - 1), key=lambda u: (parent[u], slot[u])):
        siblings = made[parent[u] - lo].setdefault("children", [])
        due = siblings[-1].get("slot", len(siblings) - 1) + 1 if siblings else 0
        if slot[u] != due or (siblings and "slot" in siblings[-1]):
            made[u]["slot"] = slot[u]
        siblings.append(made[u])
    return NestedTree(made[-1])
