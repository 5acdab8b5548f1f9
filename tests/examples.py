"""Awkward trees, one list for every test module.

`SMALL` holds forests of trees of at most 8 nodes, which an enumeration oracle can handle; `AWKWARD` adds the deep and
the wide.  Both map a name to a function that makes the forest; the fixtures `awkward_small` and `awkward` run a test on
each.  `trees` and `forests` are hypothesis strategies, and `random_forest` draws a forest of any size.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from arbora import Forest

Nested = Any  # a label, (label, [children]) or {"label":, "children":, "slot":}


def single_node() -> Forest:
    return Forest.from_nested(["a"])


def single_nodes() -> Forest:
    """No tree has an edge, so there is no slot at all."""
    return Forest.from_nested(["a", "b", "a", None])


def pair() -> Forest:
    return Forest.from_nested([("a", ["b"])])


def chain() -> Forest:
    return chain_of(8)


def star() -> Forest:
    return Forest.from_nested([("a", ["b", "c", "b", "a", "c"])])


def gaps() -> Forest:
    """Slots that are not 0, 1, 2, ...: a first child in slot 3, holes between siblings, a lone child in slot 1."""
    lone = {"label": "b", "slot": 1, "children": [{"label": "a", "slot": 2}]}
    return Forest.from_nested([("a", [{"label": "b", "slot": 3}, {"label": "c", "slot": 7}]), ("a", [lone])])


def missing_labels() -> Forest:
    return Forest.from_nested([(None, ["a", (None, ["b", None])]), ("a", [None]), None])


def all_labels_missing() -> Forest:
    return Forest.from_nested([(None, [None, None])])


def unseen_labels() -> Forest:
    """Labels outside the vocabulary at a root, at an inner node and at a leaf."""
    return Forest.from_nested([("z", ["a", ("y", ["b"])]), ("a", ["x"]), "z"], vocabulary=["a", "b"])


def missing_and_unseen() -> Forest:
    return Forest.from_nested([("a", ["z", None, "b"]), (None, ["z"])], vocabulary=["a", "b"])


def spare_vocabulary() -> Forest:
    """A vocabulary with labels that no node has."""
    return Forest.from_nested([("b", ["d", "b"])], vocabulary=["a", "b", "c", "d", "e"])


def one_slot() -> Forest:
    """Chains of several lengths: every child is in slot 0."""
    return Forest.from_nested(["a", ("b", ["a"]), ("a", [("b", ["a"])]), ("b", [("b", [("a", ["b"])])])])


def one_label() -> Forest:
    return Forest.from_nested([("a", ["a", ("a", ["a"])]), ("a", ["a"])])


def duplicates() -> Forest:
    """The same tree three times, and a tree that holds one subtree twice in different slots."""
    tree = ("a", ["b", ("c", ["b"])])
    return Forest.from_nested([tree, tree, ("a", [("c", ["b"]), ("c", ["b"]), "b"]), tree])


def siblings_out_of_order() -> Forest:
    """Siblings stored in falling order of slot, which the order of nodes allows."""
    return Forest(
        parent=[4, 3, 3, 4, -1, 7, 7, -1],
        slot=[2, 1, 0, 0, -1, 5, 3, -1],
        label=[0, 1, 2, 1, 0, 2, 1, 0],
        tree_start=[0, 5, 8],
        vocabulary=("a", "b", "c"),
    )


def breadth_first() -> Forest:
    """Nodes stored level by level from the deepest: children precede parents, but not in post-order."""
    return Forest(
        parent=[4, 4, 5, 6, 6, 6, -1],
        slot=[0, 1, 0, 0, 1, 2, -1],
        label=[0, 1, 0, 2, 1, 2, 0],
        tree_start=[0, 7],
        vocabulary=("a", "b", "c"),
    )


def mirrored() -> Forest:
    """Same labels and degrees, opposite slots: only position tells these trees apart."""
    return Forest.from_nested([("a", [("b", ["c"]), "b"]), ("a", ["b", ("b", ["c"])])], target=[0, 1])


def named_with_classes() -> Forest:
    return Forest.from_nested(
        [("a", ["b"]), "a", ("b", ["a", "a"])], target=["x", "y", "x"], name=["one.xml", "two.xml", "three.xml"]
    )


def odd_names() -> Forest:
    """Labels that look like numbers, like nothing, or like markup."""
    return Forest.from_nested([("", ["10", "9", " ", "None"]), ("é", ["<a>", "a\nb", '"'])])


def empty() -> Forest:
    return Forest.from_nested([])


def deep_chain() -> Forest:
    return chain_of(10_000)


def wide_node() -> Forest:
    return star_of(5_000)


def far_slot() -> Forest:
    """A child in slot 9,999: models whose arrays grow with the slots must say so or cope."""
    return Forest.from_nested([("a", ["b", {"label": "c", "slot": 9_999}])])


def chain_of(n_nodes: int) -> Forest:
    """One chain, labels a, b, a, b, ... from the root down."""
    return Forest.from_parents(np.arange(-1, n_nodes - 1), np.arange(n_nodes) % 2, vocabulary=["a", "b"])


def star_of(n_children: int) -> Forest:
    """One root with this many leaves."""
    parent = np.zeros(n_children + 1, np.int64)
    parent[0] = -1
    return Forest.from_parents(parent, np.arange(n_children + 1) % 3, vocabulary=["a", "b", "c"])


def preorder(tree: dict[str, Any]) -> list[tuple[int, str | None]]:
    """Depth and label of every node of a nested tree, in document order."""
    found, stack = [], [(tree, 0)]
    while stack:
        node, level = stack.pop()
        found.append((level, node["label"]))
        stack += [(child, level + 1) for child in reversed(node.get("children", ()))]
    return found


def random_forest(
    n_trees: int = 20, max_nodes: int = 12, n_labels: int = 4, max_children: int = 3, seed: int = 0
) -> Forest:
    """Random trees: each new node hangs below a node with room left, in a random free slot; labels are uniform."""
    rng = np.random.default_rng(seed)
    parent: list[int] = []
    slot: list[int] = []
    for _ in range(n_trees):
        base = len(parent)
        parent.append(-1)
        slot.append(-1)
        free = {base: list(range(max_children))}
        for u in range(base + 1, base + int(rng.integers(1, max_nodes + 1))):
            p = int(rng.choice(list(free)))
            slot.append(free[p].pop(int(rng.integers(len(free[p])))))
            parent.append(p)
            if not free[p]:
                del free[p]
            free[u] = list(range(max_children))
    words = [f"w{m}" for m in range(n_labels)]
    return Forest.from_parents(parent, rng.integers(0, n_labels, len(parent)), slot=slot, vocabulary=words)


SMALL: dict[str, Callable[[], Forest]] = {
    make.__name__: make
    for make in (
        single_node,
        single_nodes,
        pair,
        chain,
        star,
        gaps,
        missing_labels,
        all_labels_missing,
        unseen_labels,
        missing_and_unseen,
        spare_vocabulary,
        one_slot,
        one_label,
        duplicates,
        siblings_out_of_order,
        breadth_first,
        mirrored,
        named_with_classes,
        odd_names,
    )
}
AWKWARD = {**SMALL, **{make.__name__: make for make in (deep_chain, wide_node, far_slot)}}


def trees(
    labels: st.SearchStrategy[str | None] | None = None, max_leaves: int = 6, slots: bool = True
) -> st.SearchStrategy[Nested]:
    """Nested trees in all three spellings, with gaps between slots if `slots`."""
    label = st.sampled_from(["a", "b", "c", None]) if labels is None else labels

    def grow(child: st.SearchStrategy[Nested]) -> st.SearchStrategy[Nested]:
        pairs = st.tuples(label, st.lists(child, max_size=3))
        return st.builds(_with_gaps, pairs, st.lists(st.integers(0, 2), min_size=3, max_size=3)) if slots else pairs

    return st.recursive(label, grow, max_leaves=max_leaves)


def forests(min_trees: int = 1, max_trees: int = 5, **options: Any) -> st.SearchStrategy[Forest]:
    return st.lists(trees(**options), min_size=min_trees, max_size=max_trees).map(Forest.from_nested)


def _with_gaps(node: tuple[str | None, list[Nested]], gaps: list[int]) -> Nested:
    """Leave some slots empty before each child; a child without a gap keeps its spelling."""
    label, children = node
    out = []
    slot = 0
    moved = False
    for child, gap in zip(children, gaps, strict=False):
        slot += gap
        moved |= gap > 0
        out.append({**_as_dict(child), "slot": slot} if moved else child)
        slot += 1
    return label, out


def _as_dict(item: Nested) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    if isinstance(item, tuple):
        return {"label": item[0], "children": item[1]}
    return {"label": item}
