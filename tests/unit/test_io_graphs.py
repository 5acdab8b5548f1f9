"""Forests from and to networkx."""

import sys

import pytest
from hypothesis import given

from arbora import Forest, ForestError
from arbora.errors import MissingDependencyError
from arbora.io import from_networkx, to_networkx
from tests import examples

nx = pytest.importorskip("networkx")


def graph(edges, labels=None):
    out = nx.DiGraph(edges)
    for u in out:
        out.nodes[u]["label"] = labels[u] if labels else f"l{u}"
    return out


def test_a_tree():
    assert from_networkx(graph([(1, 2), (1, 3), (3, 4)])) == Forest.from_nested([("l1", ["l2", ("l3", ["l4"])])])


def test_labels_and_slots_from_other_attributes():
    g = nx.DiGraph([("r", "x"), ("r", "y")])
    nx.set_node_attributes(g, {"r": 1, "x": 2, "y": None}, "kind")
    nx.set_node_attributes(g, {"x": 4, "y": 0}, "place")
    wanted = {"label": "1", "children": [{"label": "2", "slot": 4}, {"label": None, "slot": 0}]}
    assert from_networkx(g, label="kind", slot="place") == Forest.from_nested([wanted])
    assert from_networkx(g, label=None) == Forest.from_nested([("r", ["x", "y"])])
    assert from_networkx(g, label=None, vocabulary=["x"]).vocabulary == ("x",)


def test_several_trees_and_graphs():
    two = graph([(1, 2), (3, 4)])
    one = nx.DiGraph()
    one.add_node("alone", label="z")
    assert from_networkx([two, one]) == Forest.from_nested([("l1", ["l2"]), ("l3", ["l4"]), "z"])
    two.graph["name"] = "x"
    assert from_networkx([two, one]).name is None
    one.graph.update(name="y", target=4)
    assert from_networkx([two, one]).name.tolist() == ["x", "x", "y"]
    assert from_networkx(one).target.tolist() == [4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: graph([(1, 2), (3, 2)]), "graph 0, node 2: 2 parents"),
        (lambda: graph([(1, 2), (2, 1)]), "graph 0: it is empty or has a cycle"),
        (lambda: graph([(0, 9), (1, 2), (2, 1)]), "has a cycle"),
        (nx.DiGraph, "graph 0: it is empty"),
        (lambda: nx.Graph([(1, 2)]), "undirected"),
        (lambda: nx.MultiDiGraph([(1, 2)]), "multiple edges"),
        (lambda: nx.DiGraph([(1, 2)]), "graph 0, node 1: no attribute 'label'"),
        (lambda: [3], "graph 0 is int; wanted a networkx DiGraph"),
        (lambda: 3, "graph 0 is int"),
    ],
)
def test_what_is_no_tree(make, message):
    with pytest.raises(ForestError, match=message):
        from_networkx(make())


def test_awkward_forests_come_back(awkward):
    assert from_networkx(to_networkx(awkward)) == awkward


@given(examples.forests())
def test_random_forests_come_back(forest):
    assert from_networkx(to_networkx(forest)) == forest


def test_networkx_agrees_that_these_are_trees():
    for g in to_networkx(examples.random_forest(5)):
        assert nx.is_arborescence(g) or len(g) == 1


def test_without_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match=r"arbora\[graphs\]"):
        to_networkx(examples.pair())


def test_an_undirected_tree_and_its_root():
    g = nx.Graph([("b", "a"), ("a", "c"), ("c", "d")], name="g")
    wanted = Forest.from_nested([("a", ["b", ("c", ["d"])])], name=["g"])
    assert from_networkx(g, label=None, root="a") == wanted
    assert from_networkx(g, label=None, root=lambda graph: "a") == wanted
    nx.set_node_attributes(g, {u: u.upper() for u in g}, "label")
    assert from_networkx([g, g], root="d").n_nodes == 8
    assert from_networkx(g, root="d")[0]["children"][0]["label"] == "C"


@pytest.mark.parametrize(
    ("edges", "root", "said"),
    [
        ([(1, 2)], None, "graph 0: it is undirected and no root is given; wanted root=NODE"),
        ([(1, 2)], 3, "graph 0: it is undirected and the root 3 is not one of its nodes"),
        ([(1, 2), (2, 3), (3, 1)], 1, "two ways lead to it from the root"),
        ([(1, 1)], 1, "graph 0, node 1: two ways lead to it"),
        ([(1, 2), (3, 4)], 1, "graph 0, node 3: no way leads to it from the root"),
    ],
)
def test_undirected_graphs_that_are_no_trees(edges, root, said):
    with pytest.raises(ForestError, match=said):
        from_networkx(nx.Graph(edges), label=None, root=root)
    with pytest.raises(ForestError, match="its edges have a direction, which says the root; leave root out"):
        from_networkx(nx.DiGraph([(1, 2)]), label=None, root=1)
