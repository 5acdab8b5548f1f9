"""Hierarchy: building, reading off levels, merging for display, exports and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from arbora import Hierarchy
from arbora.evaluate.stored_hierarchy import HierarchyError
from arbora.inference.diagnostics import canonical
from arbora.io import read_newick

LEVELS = [[0, 0, 0, 1, 1, 2], [5, 5, 1, 2, 2, 3], [0, 1, 2, 3, 3, 4]]
NAMES = ["an oak", "ash", "it's", "elm", "fir", "yew"]


@st.composite
def nested_levels(draw):
    """Random nested partitions, coarse to fine."""
    n, depth = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rows = [np.zeros(n, int)]
    for _ in range(depth):
        split = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
        rows.append(np.unique(rows[-1] * 3 + split, return_inverse=True)[1])
    return np.array(rows[1:])


@given(nested_levels())
def test_levels_come_back(levels):
    tree = Hierarchy.from_levels(levels)
    assert tree.n_levels == len(levels)
    for level, row in enumerate(levels, start=1):
        assert np.array_equal(tree.labels(level), canonical(row))
    assert (tree.labels(0) == 0).all()
    assert tree.size[0] == tree.n_data
    for z in range(tree.n_nodes):
        assert len(tree.members(z)) == tree.size[z]
        if len(tree.children(z)):
            assert tree.size[tree.children(z)].sum() == tree.size[z]


@given(nested_levels())
def test_linkage_cuts_to_the_levels(levels):
    tree = Hierarchy.from_levels(levels)
    if tree.n_data < 2:
        with pytest.raises(HierarchyError, match="2 data or more"):
            tree.to_linkage()
        return
    linkage = tree.to_linkage()
    assert is_valid_linkage(linkage)
    for level in range(tree.n_levels + 1):
        cut = fcluster(linkage, tree.n_levels + 1 - level, "distance")
        assert np.array_equal(canonical(cut), tree.labels(level))


@given(nested_levels())
def test_merged_keeps_the_groups_and_has_no_only_children(levels):
    tree = Hierarchy.from_levels(levels)
    merged = tree.merged()
    n_children = np.bincount(merged.parent[1:], minlength=merged.n_nodes)
    assert not (n_children == 1).any()
    groups = {tuple(tree.members(z)) for z in range(tree.n_nodes)}
    assert {tuple(merged.members(z)) for z in range(merged.n_nodes)} == groups


@given(nested_levels())
def test_json_comes_back(levels):
    tree = Hierarchy.from_levels(levels)
    again = Hierarchy.from_json(tree.to_json())
    for name in ("parent", "level", "leaf"):
        assert np.array_equal(getattr(tree, name), getattr(again, name))
    assert again.names == tree.names


def test_newick_is_read_by_our_reader(tmp_path):
    tree = Hierarchy.from_levels(LEVELS, NAMES)
    path = tmp_path / "t.nwk"
    path.write_text(tree.to_newick())
    forest = read_newick(path)
    assert forest.n_nodes == tree.n_nodes + tree.n_data
    assert set(NAMES) <= set(forest.vocabulary)
    assert "root" in forest.vocabulary


def test_node_weights_follow_their_nodes():
    weight = [[[0.5, 0.5]], np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])]
    tree = Hierarchy.from_levels([[2, 2, 0, 1]], node_weight=weight)
    assert np.allclose(tree.node_weight, [[0.5, 0.5], [0.3, 0.7], [0.1, 0.9], [0.2, 0.8]])
    assert Hierarchy.from_json(tree.to_json()).node_weight.shape == (4, 2)
    assert tree.merged().node_weight.shape == (4, 2)


def test_networkx_has_levels_and_members():
    pytest.importorskip("networkx")
    graph = Hierarchy.from_levels(LEVELS, NAMES).to_networkx()
    assert graph.number_of_edges() == graph.number_of_nodes() - 1
    assert graph.nodes[0]["members"] == NAMES
    assert graph.nodes[1]["level"] == 1


def test_a_deep_chain_is_no_trouble():
    tree = Hierarchy.from_levels(np.zeros((3000, 2), int))
    assert tree.merged().n_nodes == 1
    assert len(tree.to_newick()) > 3000


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([[0, 0, 1], [0, 1, 1]], "level 2: datum 2 shares a group with datum 1"),
        ([0, 1], "wanted integers"),
        ([[0.5, 1.0]], "wanted integers"),
    ],
)
def test_what_is_no_hierarchy_is_refused(levels, told):
    with pytest.raises(HierarchyError, match=told):
        Hierarchy.from_levels(levels)


def test_other_refusals():
    with pytest.raises(HierarchyError, match="1 names for 2 data"):
        Hierarchy.from_levels([[0, 1]], ["a"])
    tree = Hierarchy.from_levels([[0, 1]])
    with pytest.raises(HierarchyError, match="level 2"):
        tree.labels(2)
    with pytest.raises(HierarchyError, match="not a hierarchy"):
        Hierarchy.from_dict({"nodes": [{"parent": 3, "level": 0, "data": [0]}], "names": ["a"]})
    with pytest.raises(HierarchyError, match="not a hierarchy"):
        Hierarchy.from_dict({"names": []})


def stored(*nodes, names=("a", "b")):
    """A stored hierarchy of nodes given as parent, level and data."""
    told = [{"parent": parent, "level": level, "data": data} for parent, level, data in nodes]
    return {"names": list(names), "nodes": told}


ROOT = (None, 0, [])


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        "text",
        {"names": "ab", "nodes": [{"parent": None, "level": 0, "data": [0, 1]}]},
        {"names": ["a"], "nodes": {}},
        {"names": ["a"], "nodes": []},
        {"names": ["a"], "nodes": [3]},
        {"names": 3, "nodes": [{"parent": None, "level": 0, "data": [0]}]},
        stored((0, 0, [0, 1])),
        stored((-1, 0, [0, 1])),
        stored((None, 1, [0, 1])),
        stored((None, False, [0, 1])),
        stored(ROOT, (None, 1, [0, 1])),
        stored(ROOT, (1, 1, [0, 1])),  # its own parent
        stored(ROOT, (2, 1, [0]), (1, 2, [1])),  # a cycle
        stored(ROOT, (7, 1, [0, 1])),
        stored(ROOT, (-1, 1, [0, 1])),
        stored(ROOT, (0.0, 1, [0, 1])),
        stored(ROOT, (True, 1, [0, 1])),
        stored(ROOT, ("0", 1, [0, 1])),
        stored(ROOT, (0, 0, [0, 1])),
        stored(ROOT, (0, -1, [0, 1])),
        stored(ROOT, (0, 1.5, [0, 1])),
        stored(ROOT, (0, float("nan"), [0, 1])),
        stored(ROOT, (0, 10**18, [0, 1])),
        stored(ROOT, (0, 2, [0]), (1, 1, [1])),
        stored(ROOT, (0, 1, [0])),
        stored(ROOT, (0, 1, [0, 1, 1])),
        stored(ROOT, (0, 1, [0, 1]), (0, 1, [1])),
        stored(ROOT, (0, 1, [0, -1])),
        stored(ROOT, (0, 1, [0, 2])),
        stored(ROOT, (0, 1, [0, 10**30])),
        stored(ROOT, (0, 1, [0, 1.0])),
        stored(ROOT, (0, 1, [0, None])),
        stored(ROOT, (0, 1, [0, [1]])),
        stored(ROOT, (0, 1, "01")),
        stored(ROOT, (0, 1, {"0": 1})),
        {"names": ["a"], "nodes": [{"parent": None, "level": 0, "data": [0], "size": 7}]},
        {"names": ["a"], "nodes": [{"parent": None, "level": 0, "data": [0], "node_weight": [float("nan")]}]},
        {"names": ["a"], "nodes": [{"parent": None, "level": 0, "data": [0], "node_weight": ["x"]}]},
        {"names": ["a"], "nodes": [{"parent": None, "level": 0, "data": [0], "node_weight": [-1.0]}]},
        {"names": ["a"], "nodes": [{"parent": None, "level": 0, "data": [0], "node_weight": 3}]},
    ],
)
def test_what_is_no_stored_hierarchy_is_refused(wrong):
    with pytest.raises(HierarchyError, match="not a hierarchy"):
        Hierarchy.from_dict(wrong)


def test_what_is_a_hierarchy_is_not():
    assert Hierarchy.from_dict(stored(ROOT, (0, 2, [0]), (0, 1, [1]))).size.tolist() == [2, 1, 1]


@pytest.mark.parametrize("text", ["{", "", "nonsense", "[" * 100_000, "9" * 10_000, "[]", "null", None, 3, b"\xff"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(HierarchyError, match="not a hierarchy"):
        Hierarchy.from_json(text)
