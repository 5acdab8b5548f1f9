"""Known classes: two that differ stay two, numbers stay numbers, and none is made of what is not there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora import Forest
from arbora.errors import ArboraError, ForestError
from arbora.forest.classes import class_column
from arbora.io import read_elastic, read_jsonl
from arbora.models import TreeClassifier

pd = pytest.importorskip("pandas")  # an extra brings it
BIG = 2**53


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "i"),
        (np.array([1, 2], object), "i"),
        (np.array(["a", "b"], object), "U"),
        ([True, False], "b"),
        (np.array([True, False], object), "b"),
        ([1, 2.5], "f"),
        ([BIG, BIG + 1], "i"),
        ([2**70, 1], "U"),
        (["a", 1], "U"),
        (pd.Series(["a", "b"]), "U"),
        (pd.Series([1, 2], dtype="Int64"), "i"),
        (pd.Series(["a", "b"], dtype="category"), "U"),
    ],
)
def test_kinds(values, kind):
    found = class_column(values)
    assert found.dtype.kind == kind
    wanted = [str(value) for value in values] if kind == "U" else list(values)
    assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([BIG, BIG + 1, 0.5], "are one number beside classes with a fraction"),
        (["x", "x\0"], "ends in a NUL"),
        ([1, "1"], "have the same text; make all of one kind"),
        (["True", True], "have the same text"),
        (["a", None], "the class of tree 1 is None"),
        ([None, None], "the class of tree 0 is None"),
        (["a", pd.NA], "the class of tree 1 is <NA>"),
        ([1, pd.NaT], "the class of tree 1 is NaT"),
        (np.ma.array([1, 2], mask=[False, True]), "the class of tree 1 is masked"),
        (["a", np.nan], "the class of tree 1 is nan"),
        ([True, np.nan], "the class of tree 1 is nan"),
        (pd.Series(["a", pd.NA], dtype="str"), "the class of tree 1 is nan"),
        (["b", b"a"], "is of bytes"),
        (np.array([b"a", b"b"]), "is of bytes"),
    ],
)
def test_classes_never_merge(values, told):
    with pytest.raises(ForestError, match=told):
        Forest.from_nested(["a", "b", "c"][: len(values)], target=values)
    with pytest.raises(ForestError, match=told):
        TreeClassifier().fit(["a", "b", "c"][: len(values)], values)


SCALARS = st.one_of(st.integers(-3, 3), st.floats(allow_nan=False), st.booleans(), st.text("a1\0.T", max_size=3))


@given(st.lists(SCALARS | st.integers(), min_size=1, max_size=8))
def test_distinct_classes_stay_distinct(values):
    try:
        found = class_column(values).tolist()
    except ForestError:
        return
    for value, held in zip(values, found, strict=True):
        for other, again in zip(values, found, strict=True):
            if held == again:
                assert value == other
                assert isinstance(value, str) == isinstance(other, str)


def test_joined_forests_keep_their_classes_apart():
    one, text = Forest.from_nested(["a"], target=[1]), Forest.from_nested(["a"], target=["1"])
    with pytest.raises(ForestError, match="have the same text"):
        Forest.concat([one, text])
    assert Forest.concat([one, Forest.from_nested(["a"], target=["x"])]).target.tolist() == ["1", "x"]
    near = [Forest.from_nested(["a"], target=[value]) for value in (BIG, BIG + 1, 0.5)]
    with pytest.raises(ForestError, match="one number"):
        Forest.concat(near)


def test_files_keep_classes_apart(tmp_path):
    path = tmp_path / "a.elastic"
    path.write_text("01:a($)\n1:a($)\n")
    assert read_elastic(path).target.tolist() == ["01", "1"]
    path.write_text("2:a($)\n10:a($)\n0:a($)\n")
    assert read_elastic(path).target.tolist() == [2, 10, 0]
    lines = tmp_path / "a.jsonl"
    for first, second in ((1, '"1"'), (f'{BIG}, "name": "a"', f"{BIG + 1}")):
        lines.write_text(
            f'{{"label": "a", "class": {first}}}\n{{"label": "a", "class": {second}}}\n{{"label": 1, "class": 0.5}}\n'
        )
        with pytest.raises(ArboraError, match=r"have the same text|one number"):
            read_jsonl(lines)


def test_scorers_take_what_a_classifier_says():
    from sklearn.metrics import accuracy_score

    trees = [("a", ["b"]), ("c", ["d", "d"])] * 6
    y = np.array([3, 7] * 6, object)
    model = TreeClassifier(random_state=0).fit(trees, y)
    assert model.classes_.dtype.kind == "i"
    assert accuracy_score(y.astype(int), model.predict(trees)) == model.score(trees, y) == 1.0


# ---- nested trees ---------------------------------------------------------------------------------------------------


def test_a_tree_that_holds_itself_is_refused():
    loop = {"label": "a", "children": []}
    loop["children"].append({"label": "b", "children": [loop]})
    pair = ["a", []]
    pair[1].append(pair)
    for tree in (loop, pair):
        with pytest.raises(ForestError, match=r"tree 1: a node \d levels down holds itself"):
            Forest.from_nested(["x", tree])


def test_a_branch_may_come_twice():
    twig = ("b", ["c"])
    assert Forest.from_nested([("a", [twig, twig, ("d", [twig])])]).n_nodes == 8
    assert Forest.from_nested([("a", ({"label": str(n)} for n in range(3)))]).n_nodes == 4


def test_too_many_nodes_are_refused_at_once():
    tree = "leaf"
    for _ in range(60):
        tree = ("a", [tree, tree])
    for endless in (tree, ("a", iter(lambda: "b", None))):
        with pytest.raises(ForestError, match="tree 0: more than 1000 nodes with it; raise max_nodes"):
            Forest.from_nested([endless], max_nodes=1000)
    assert Forest.from_nested([("a", ["b"] * 999)], max_nodes=1000).n_nodes == 1000
    with pytest.raises(ForestError, match="tree 500: more than 1000 nodes"):
        Forest.from_nested([("a", ["b"])] * 501, max_nodes=1000)


@pytest.mark.parametrize("gone", [None, np.nan, pd.NA, pd.NaT])
def test_a_label_that_is_not_there_is_missing(gone):
    wanted = Forest.from_nested([("a", [None, None])])
    assert Forest.from_nested([("a", [gone, {"label": gone}])]) == wanted
    assert Forest.from_parents([-1, 0, 0], ["a", gone, gone]) == wanted
    assert Forest.from_parents([-1, 0, 0], pd.Series(["a", gone, gone], dtype=object)) == wanted
    assert Forest.from_parents([-1, 0, 0], np.array([0, gone, gone], object), vocabulary=["a"]) == wanted


@pytest.mark.parametrize("children", [0, {}, "", False])
def test_children_that_are_no_list_are_refused(children):
    with pytest.raises(ForestError, match="tree 0, node 0: children must be a list"):
        Forest.from_nested([{"label": "a", "children": children}])
