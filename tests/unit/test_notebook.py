"""What objects show in a notebook, and as data frames."""

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import arbora as ab
from arbora import notebook
from arbora.errors import ArboraError
from arbora.models.assignments import Assignments

EVIL = "<script>alert(1)</script>"


def drawn(html):
    """The drawings of a page, parsed; raises where the markup is not well formed."""
    page = ET.fromstring(f"<div>{html}</div>")  # noqa: S314, our own
    return list(page.iter("svg")), page


def test_a_forest_shows_sizes_labels_and_trees():
    forest = ab.Forest.from_nested([("a", ["b", (EVIL, ["c"])]), None, "a", "b"], target=[0, 1, 1, 0])
    pictures, page = drawn(forest._repr_html_())
    assert len(pictures) == 3  # of four trees
    assert [len(list(svg.iter("circle"))) for svg in pictures] == [4, 1, 1]
    assert [text.text for text in pictures[0].iter("text")] == ["a", "b", EVIL[:23] + "…", "c"]
    assert "Forest of 4 trees, 7 nodes, 4 labels" in "".join(page.itertext())
    assert "<script" not in forest._repr_html_()


def test_one_tree_is_drawn_and_is_a_dictionary_still():
    forest = ab.Forest.from_nested([("a", ["b", (EVIL, ["c"])]), "a"])
    (picture,), _ = drawn(forest[0]._repr_html_())
    assert [text.text for text in picture.iter("text")] == ["a", "b", EVIL[:23] + "…", "c"]
    assert json.loads(json.dumps(forest[0])) == forest[0]
    assert ab.Forest.from_nested(list(forest)) == forest


def test_a_description_prints_as_a_table():
    told = ab.Forest.from_nested([("a", ["b", ("c", ["d"])]), ("a", [None])], target=[0, 1]).describe()
    lines = dict(line.split("  ", 1) for line in repr(told).splitlines())
    assert lines["nodes per tree"].strip() == "2 to 4, median 2"
    assert {"missing labels", "classes"} <= lines.keys()
    assert "unseen labels" not in lines
    assert json.loads(json.dumps(told)) == told
    assert "<th style='text-align: left'>depth</th>" in told._repr_html_()


def test_large_trees_are_cut_at_the_nodes_nearest_to_the_root():
    html = notebook.drawing([-1] + [0] * 30 + [1] * 30, [str(u) for u in range(61)])
    (picture,), page = drawn(html)
    shown = [text.text for text in picture.iter("text")]
    assert len(shown) == notebook.MOST_NODES
    assert {"0", *map(str, range(1, 31))} <= set(shown)
    assert shown[:3] == ["0", "1", "31"]  # in document order
    assert "21 more nodes are not drawn" in "".join(page.itertext())


def test_an_inner_node_stands_between_its_children():
    (picture,), _ = drawn(notebook.drawing([-1, 0, 0, 0], ["r", "a", "b", "c"]))
    root, *leaves = (float(circle.get("cy")) for circle in picture.iter("circle"))
    assert leaves == sorted(leaves)
    assert root == (leaves[0] + leaves[-1]) / 2


def test_deep_and_empty_forests():
    chain = ab.Forest.from_parents(np.arange(-1, 4999), ["a"] * 5000)
    assert "4960 more nodes" in chain._repr_html_()
    assert "Forest of 0 trees" in chain[:0]._repr_html_()


@pytest.mark.compiled
def test_a_fitted_model_shows_what_it_found():
    forest = ab.datasets.make_documents(6, random_state=0)
    model = ab.PatternMixture(3, random_state=0)
    assert "sizes of groups" not in model._repr_mimebundle_()["text/html"]
    html = model.fit(forest)._repr_mimebundle_()["text/html"]
    assert f"{forest.n_trees} trees in 3 groups" in html
    assert model.verdict().level in html
    assert html.endswith(model._repr_html_()) or "sk-" in html  # with the parameters below


def test_a_hierarchy_is_drawn():
    tree = ab.Hierarchy.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]], names=["w", "x", "y", EVIL])
    (picture,), _ = drawn(tree._repr_html_())
    assert [text.text for text in picture.iter("text")][:2] == ["4", "3"]
    assert "y" in [text.text for text in picture.iter("text")]


@pytest.mark.compiled
def test_a_union_is_drawn():
    union = ab.TreeUnion.of([("a", ["b"]), ("a", ["b", "c"])])
    (picture,), _ = drawn(union._repr_html_())
    assert [text.text for text in picture.iter("text")] == ["100%", "100%", "50%"]


# ---- frames ---------------------------------------------------------------------------------------------------------


def test_nodes_as_a_frame():
    pytest.importorskip("pandas")
    trees = ab.Forest.from_nested([("a", ["b", None]), "c"], name=["x", "y"])
    forest = trees.with_content({"length": [0.5, None, 1.0, 2.0], "slot": ["u", "v", None, "u"]})
    table = forest.to_frame()
    assert table["tree"].tolist() == ["x", "x", "x", "y"]
    assert table["parent"].tolist() == [2, 2, -1, -1]
    assert table["label"].isna().tolist() == [False, True, False, False]
    assert table["label"].dropna().tolist() == ["b", "a", "c"]
    assert table["length"].isna().tolist() == [False, True, False, False]
    assert table["content_slot"][0] == "u"
    assert table["slot"].tolist() == [0, 1, -1, -1]
    again = ab.Forest.from_table(table, node="node", parent="parent", label="label", tree="tree", no_parent=-1)
    assert again == trees


def test_assignments_as_a_frame():
    pytest.importorskip("pandas")
    found = Assignments(np.array([1, -1]), np.array([[0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]), np.array([-1.0, -2.0]), True)
    table = found.to_frame(["x", "y"])
    assert table.index.tolist() == ["x", "y"]
    assert table["probability"].tolist() == [0.7, 0.8]
    assert table["log_likelihood"].tolist() == [-1.0, -2.0]
    assert Assignments(np.array([0])).to_frame().columns.tolist() == ["cluster"]
    with pytest.raises(ArboraError, match="library='arrow'"):
        found.to_frame(library="arrow")


@pytest.mark.compiled
def test_a_model_gives_a_frame_of_new_trees():
    pytest.importorskip("pandas")
    forest = ab.datasets.make_documents(6, random_state=0)
    model = ab.PatternMixture(3, random_state=0).fit(forest)
    table = model.to_frame(forest)
    assert table.index.tolist() == forest.name.tolist()
    assert table["cluster"].tolist() == model.predict(forest).tolist()
