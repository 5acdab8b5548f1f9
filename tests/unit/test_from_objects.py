"""Trees of other libraries and of tables."""

import ast
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

import dendropy
import nltk
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbora import Forest, ForestError
from tests import examples

pd = pytest.importorskip("pandas")  # extras bring both
pa = pytest.importorskip("pyarrow")

PLAIN = {"label": "a", "children": [{"label": "b"}, {"label": "c", "children": [{"label": "d"}]}]}


@dataclass
class Node:
    name: Any
    children: Any = field(default_factory=list)

    def label(self) -> Any:
        return self.name


def made(nested: Any) -> Any:
    """A tree of `Node` from what a Forest gives."""
    return Node(nested["label"], [made(child) for child in nested.get("children", ())])


# ---- objects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["name", "label", lambda node: node.name])
def test_attributes_methods_and_functions(label: Any) -> None:
    forest = Forest.from_objects([made(PLAIN)], label=label, children="children", target=["x"], name=["n"])
    assert forest == Forest.from_nested([PLAIN], target=["x"], name=["n"])


@settings(max_examples=40, deadline=None)
@given(forest=examples.forests())
def test_it_is_what_from_nested_gives(forest: Forest) -> None:
    plain = Forest.from_parents(forest.parent, [None if m < 0 else forest.vocabulary[m] for m in forest.label])
    assert Forest.from_objects([made(tree) for tree in plain], label="name", children="children") == plain


def test_dictionaries() -> None:
    assert Forest.from_objects([PLAIN], label="label", children="children") == Forest.from_nested([PLAIN])
    alone = {"label": "a", "children": None}
    assert Forest.from_objects([alone], label="label", children="children") == Forest.from_nested(["a"])


def test_trees_of_nltk_dendropy_element_tree_and_ast() -> None:
    text = "(a b (c d))"
    of_nltk = Forest.from_objects(
        [nltk.Tree.fromstring(text)],
        label=lambda node: node if isinstance(node, str) else node.label(),
        children=lambda node: None if isinstance(node, str) else node,
    )
    tree = dendropy.Tree.get(data="(b,(d)c)a;", schema="newick", suppress_internal_node_taxa=False)
    of_dendropy = Forest.from_objects([tree.seed_node], label=lambda u: u.taxon.label, children="child_nodes")
    of_xml = Forest.from_objects([ET.fromstring("<a><b/><c><d/></c></a>")], label="tag", children=list)  # noqa: S314
    assert of_nltk == of_dendropy == of_xml == Forest.from_nested([PLAIN])
    of_python = Forest.from_objects(
        [ast.parse("x = x")], label=lambda node: type(node).__name__, children=ast.iter_child_nodes
    )
    assert of_python.n_nodes == 6  # Load and Store, which all trees share, are nodes here


def test_a_child_that_is_not_there_leaves_its_slot_empty() -> None:
    tree = Node("a", (None, Node("b", None)))
    wanted = {"label": "a", "children": [{"label": "b", "slot": 1}]}
    assert Forest.from_objects([tree], label="name", children="children") == Forest.from_nested([wanted])


def test_labels_that_are_missing_or_numbers() -> None:
    forest = Forest.from_objects(
        [Node(None, [Node(3), Node(float("nan")), Node(pd.NA)])], label="name", children="children"
    )
    assert forest[0]["label"] is None
    assert forest.vocabulary == ("3",)
    assert Forest.from_objects([Node("a")], label="name", children="children", vocabulary=["b"]).label.tolist() == [-1]


def test_a_chain_of_any_depth() -> None:
    top = Node("end")
    for _ in range(200_000):
        top = Node("x", [top])
    assert Forest.from_objects([top], label="name", children="children").n_nodes == 200_001


def test_a_tree_that_holds_itself_and_one_without_end() -> None:
    loop = Node("a")
    loop.children = [Node("b", [loop])]
    with pytest.raises(ForestError, match="tree 1: a node 2 levels down holds itself"):
        Forest.from_objects([Node("x"), loop], label="name", children="children")
    with pytest.raises(ForestError, match="tree 0: more than 1000 nodes with it; raise max_nodes"):
        Forest.from_objects([Node("a")], label="name", children=lambda node: [Node("a")], max_nodes=1000)
    with pytest.raises(ForestError, match="more than 1000 nodes"):
        Forest.from_objects([Node("a")], label="name", children=lambda node: iter(lambda: Node("a"), 0), max_nodes=1000)


def test_a_shared_node_is_there_as_often_as_it_is_reached() -> None:
    top = Node("z")
    for _ in range(5):
        top = Node("a", [top, top])
    assert Forest.from_objects([top], label="name", children="children").n_nodes == 63
    with pytest.raises(ForestError, match="more than 62 nodes"):
        Forest.from_objects([top], label="name", children="children", max_nodes=62)


@pytest.mark.parametrize(
    ("roots", "label", "children", "said"),
    [
        (nltk.Tree("a", ["b"]), "label", list, "roots: found Tree, wanted a list of roots; wrap a single tree"),
        ([Node("a")], "nme", "children", "tree 0, node 0 .Node.: no label .*nme.*; check label="),
        ([Node("a")], "name", "kids", "tree 0, node 0 .Node.: no children .*kids"),
        ([{"x": 1}], "label", "children", "no label .KeyError: 'label'"),
        ([PLAIN], "label", "Children", "no node has the key 'Children'; check children="),
        ([Node("a", "bc")], "name", "children", "its children are str; wanted a list of nodes"),
        ([Node(["a"])], "name", "children", "its label is list; wanted text"),
        ([Node("a")], 3, "children", "label: found int, wanted the name of an attribute"),
    ],
)
def test_what_is_refused(roots: Any, label: Any, children: Any, said: str) -> None:
    with pytest.raises(ForestError, match=said):
        Forest.from_objects(roots, label=label, children=children)


# ---- tables ---------------------------------------------------------------------------------------------------------

TABLE = {"id": ["d", "a", "b", "c"], "up": ["c", None, "a", "a"], "word": ["d", "a", "b", "c"]}
KEYS = {"node": "id", "parent": "up", "label": "word"}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pa.table])
def test_tables_of_any_kind(kind: Any) -> None:
    assert Forest.from_table(kind(TABLE), **KEYS) == Forest.from_nested([PLAIN])


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    assert Forest.from_table(pl.DataFrame(TABLE), **KEYS) == Forest.from_nested([PLAIN])
    with pytest.raises(ForestError, match="there is no column 'x'; found 'id', 'up', 'word'"):
        Forest.from_table(pl.DataFrame(TABLE), node="x", parent="up", label="word")


def test_whole_numbers_that_pandas_makes_fractions() -> None:
    frame = pd.DataFrame({"id": [4, 1, 2, 3], "up": [3, None, 1, 1], "word": list("dabc")})
    assert frame["up"].dtype == float
    assert Forest.from_table(frame, **KEYS) == Forest.from_nested([PLAIN])
    arrays = {"id": np.array([4, 1, 2, 3]), "up": np.array([3, -1, 1, 1]), "word": np.array(list("dabc"))}
    assert Forest.from_table(arrays, **KEYS, no_parent=-1) == Forest.from_nested([PLAIN])


def test_ids_that_lost_digits_as_doubles_are_refused() -> None:
    """2^53 and 2^53 + 1 are one double, so that a child of the one would become a child of the other."""
    ids = [2**53, 2**53 + 1, 7]
    frame = pd.DataFrame({"id": ids, "up": [None, ids[0], ids[1]], "word": list("abc")})
    assert frame["up"][2] == ids[0]
    with pytest.raises(ForestError, match=r"row 1: the parent is 9007199254740992.0, a double in which .* lose digits"):
        Forest.from_table(frame, **KEYS)
    frame["up"] = pd.array([None, ids[0], ids[1]], "Int64")
    assert Forest.from_table(frame, **KEYS) == Forest.from_nested([("a", [("b", ["c"])])])
    with pytest.raises(ForestError, match="row 0: the node is 1e\\+16, a double"):
        Forest.from_table({"id": [1e16], "up": [None], "word": ["a"]}, **KEYS)


def test_several_trees() -> None:
    table = {"t": [2, 1, 2], "id": [0, 0, 1], "up": [None, None, 0], "word": ["a", "b", None]}
    forest = Forest.from_table(table, **KEYS, tree="t")
    assert forest == Forest.from_nested([("a", [None]), "b"], name=["2", "1"])
    by_root = {"id": [3, 1, 2], "up": [2, None, None], "word": ["a", "b", "c"]}
    assert Forest.from_table(by_root, **KEYS) == Forest.from_nested(["b", ("c", ["a"])])


def test_siblings_in_the_order_of_a_column() -> None:
    table = TABLE | {"at": [0, 1, 3, 2]}
    wanted = ("a", [("c", ["d"]), "b"])
    assert Forest.from_table(table, **KEYS, order="at") == Forest.from_nested([wanted])
    with pytest.raises(ForestError, match="row 1: no value in 'at'"):
        Forest.from_table(TABLE | {"at": [0, None, 3, 2]}, **KEYS, order="at")
    with pytest.raises(ForestError, match="'at': its values have no order"):
        Forest.from_table(TABLE | {"at": [0, "x", 3, 2]}, **KEYS, order="at")


@settings(max_examples=40, deadline=None)
@given(forest=examples.forests(), seed=st.integers(0, 99))
def test_rows_in_any_order_with_ids_of_any_kind(forest: Forest, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = [(int(u), "id") if u % 2 else f"n{u}" for u in rng.permutation(forest.n_nodes)]
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    rows = sorted(range(forest.n_nodes), key=lambda u: (tree[u], rng.random()))
    words = [None if m < 0 else forest.vocabulary[m] for m in forest.label]
    table = {
        "id": [ids[u] for u in rows],
        "up": [None if forest.parent[u] < 0 else ids[forest.parent[u]] for u in rows],
        "word": [words[u] for u in rows],
        "at": [int(forest.slot[u]) for u in rows],
        "t": [int(tree[u]) for u in rows],
    }
    wanted = Forest.from_parents(forest.parent, words, name=[str(t) for t in range(forest.n_trees)])
    assert Forest.from_table(table, **KEYS, order="at", tree="t") == _packed_slots(wanted, forest)


def _packed_slots(wanted: Forest, forest: Forest) -> Forest:
    """The same trees with slots 0, 1, ... in the order of the slots."""
    order = np.lexsort((forest.slot, forest.parent))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first = {int(forest.parent[u]): int(rank[u]) for u in order[::-1]}
    slot = [-1 if forest.parent[u] < 0 else int(rank[u]) - first[int(forest.parent[u])] for u in range(forest.n_nodes)]
    words = [None if m < 0 else wanted.vocabulary[m] for m in wanted.label]
    return Forest.from_parents(wanted.parent, words, slot, name=wanted.name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": ["d", "a", "b", "b"]}, "tree 7, row 3: node 'b' is in row 2 already; ids must differ"),
        ({"up": ["x", None, "a", "a"]}, "tree 7, row 0: the parent 'x' of node 'd' is no node of its tree; add it"),
        ({"up": ["c", None, None, "a"]}, "tree 7, row 2: node 'b' is a second root, after node 'a' of row 1"),
        ({"up": ["c", None, "a", "d"]}, "tree 7, row 0: the parents form a cycle, 'd' -> 'c' -> 'd'"),
        ({"up": ["c", "a", "a", "a"]}, "tree 7, row 1: the parents form a cycle, 'a' -> 'a'"),
        ({"id": ["d", None, "b", "c"]}, "row 1: the node is missing; every row needs an id of its node"),
        ({"id": ["d", ["a"], "b", "c"]}, "row 1: the node is list, which cannot be compared"),
        ({"t": [7, 7, None, 7]}, "row 2: the tree is missing"),
        ({"t": [7, 7, 7, 8]}, "tree 7, row 0: the parent 'c' of node 'd' is no node of its tree"),
        ({"up": ["c"]}, "column 'id' has 4 rows and 'up' 1; they must be as long"),
    ],
)
def test_what_is_wrong_is_said_with_tree_and_row(change: Any, said: str) -> None:
    with pytest.raises(ForestError, match=said):
        Forest.from_table(TABLE | {"t": [7] * 4} | change, **KEYS, tree="t")


def test_no_table_no_column_and_no_row() -> None:
    with pytest.raises(ForestError, match="there is no column 'x'; found 'id', 'up', 'word'"):
        Forest.from_table(pa.table(TABLE), node="x", parent="up", label="word")
    with pytest.raises(ForestError, match="cannot read list as a table"):
        Forest.from_table([1], **KEYS)
    assert Forest.from_table({"id": [], "up": [], "word": []}, **KEYS).n_trees == 0


def test_a_long_chain_in_a_table() -> None:
    n = 100_000
    table = {"id": list(range(n)), "up": [None, *range(n - 1)], "word": ["x"] * n}
    assert Forest.from_table(table, **KEYS).describe()["max_depth"] == n - 1
