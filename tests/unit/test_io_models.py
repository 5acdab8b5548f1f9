"""Readers of glycans and of decision trees."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, export_text

from arbora import Forest, ForestError, ReadError, from_sklearn, read
from arbora.io import read_decisions, read_glycans
from tests.examples import preorder

QUICK = settings(max_examples=60, deadline=None)


def put(folder, name, text):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def trees(forest):
    return Forest.from_nested(list(forest))


# ---- glycans --------------------------------------------------------------------------------------------------------

CORE = "Man(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-4)[Fuc(a1-6)]GlcNAc"


def test_glycans(tmp_path):
    path = put(tmp_path, "a.iupac", f"{CORE}\n\nGal(b1-3)GalNAc(a1-\n")
    core = ("GlcNAc", [("GlcNAc", [("Man", ["Man", "Man"])]), "Fuc"])
    wanted = Forest.from_nested([core, ("GalNAc", ["Gal"])], name=[f"{path}:1", f"{path}:3"])
    assert read(path) == wanted
    labels = [label for _, label in preorder(read(path, label="residue:linkage")[0])]
    assert labels == ["GlcNAc", "GlcNAc:b1-4", "Man:b1-4", "Man:a1-3", "Man:a1-6", "Fuc:a1-6"]
    assert read(path, label="residue:linkage")[1]["label"] == "GalNAc:a1"


def test_branches_in_branches(tmp_path):
    text = "A(1)[B(2)[C(3)]D(4)][E(5)]F"
    wanted = ("F", ["A", ("D", ["B", "C"]), "E"])
    assert trees(read_glycans(put(tmp_path, "a.iupac", text))) == Forest.from_nested([wanted])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("GalGlcNAc(b1-4)[Fuc]Glc", "line 1, column 20: no linkage after 'Fuc', wanted one as in"),
        ("Gal(b1-4)[Fuc(a1-3)", "line 1, column 10: found '.' without '.'"),
        ("Gal(b1-4)]Glc", "line 1, column 10: found '.' without '.'"),
        ("Gal(b1-4)[]Glc", "line 1, column 10: the branch is empty"),
        ("Gal(b1-4)[Glc(a1-3)]", "line 1, column 20: found '.', wanted the sugar that the branch is bound to"),
        ("{Neu5Ac(a2-3)}Gal", "line 1, column 14: found '}', wanted sugars.*parts of unknown place are no trees"),
        ("Gal(b1-4", "x"),
        ("Gal(b1 4)Glc", "line 1, column 9: found"),
        ("Gal(b1-4)\0Glc", "line 1, column 10: found '.x00Glc', wanted the name of a sugar without control"),
        ("\0\0\0", "line 1, column 1: found .* wanted the name of a sugar"),
        ("Gal b", "line 1, column 4: no linkage after 'Gal'"),
    ],
)
def test_what_is_no_glycan(tmp_path, text, said):
    path = put(tmp_path, "a.iupac", text)
    if said == "x":
        assert read_glycans(path).n_nodes == 1
        return
    with pytest.raises(ReadError, match=said):
        read_glycans(path)


def test_bad_lines_are_left_out_one_by_one(tmp_path):
    with pytest.warns(UserWarning, match="1 bad file or line was left out"):
        assert read_glycans(put(tmp_path, "a.iupac", "Gal\n[\nGlc"), on_error="skip").n_trees == 2
    with pytest.raises(ReadError, match=r'label=.x.; wanted "residue"'):
        read_glycans(tmp_path, label="x")


def test_a_long_glycan(tmp_path):
    assert read_glycans(put(tmp_path, "a.iupac", "Glc(a1-4)" * 50_000 + "Glc")).n_nodes == 50_001


@QUICK
@given(
    nested=st.recursive(
        st.sampled_from(["Gal", "Neu5Ac", "D-Fuc"]).map(lambda name: (name, [])),
        lambda below: st.tuples(st.sampled_from(["Man", "GlcNAc6S"]), st.lists(below, min_size=1, max_size=3)),
        max_leaves=12,
    )
)
def test_glycans_as_written_by_recursion(tmp_path_factory, nested):
    def written(node):
        name, children = node
        parts = [f"{written(child)}(b1-{n})" for n, child in enumerate(children)]
        return "".join([*parts[:1], *(f"[{part}]" for part in parts[1:]), name])

    path = put(tmp_path_factory.mktemp("g"), "a.iupac", written(nested))
    assert trees(read_glycans(path)) == Forest.from_nested([nested])


# ---- decision trees -------------------------------------------------------------------------------------------------


def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    return x, (x[:, 0] + x[:, 2] > 0).astype(int)


def test_trees_of_scikit_learn_are_those_it_prints():
    x, y = rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y)
    told = []
    for line in export_text(model, feature_names=["a", "b", "c"], max_depth=9).splitlines():
        depth, word = line.count("|"), line.rpartition("|--- ")[2].split()[0]
        if word == "class:":
            told.append((depth - 1, "leaf"))
        elif "<=" in line:
            told.append((depth - 1, word))
    assert preorder(from_sklearn(model, feature_names=["a", "b", "c"])[0]) == told


def test_forests_of_scikit_learn():
    x, y = rows()
    forest = from_sklearn(model := RandomForestClassifier(5, max_depth=3, random_state=0).fit(x, y))
    assert forest.sizes.tolist() == [tree.tree_.node_count for tree in model.estimators_]
    assert set(forest.vocabulary) <= {"f0", "f1", "f2", "leaf"}
    boosted = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(x, y)
    assert from_sklearn(boosted).n_trees == 3
    with pytest.raises(ForestError, match="feature_names has 1 names; the model has 3 features"):
        from_sklearn(model, feature_names=["a"])
    with pytest.raises(ForestError, match="DecisionTreeClassifier has no fitted decision trees; fit it"):
        from_sklearn(DecisionTreeClassifier())


XGBOOST = {
    "nodeid": 0, "depth": 0, "split": "age", "split_condition": 3, "yes": 1, "no": 2, "missing": 1,
    "children": [{"nodeid": 2, "leaf": 0.5}, {"nodeid": 1, "split": "f1", "split_condition": [1], "yes": 3, "no": 4,
                 "children": [{"nodeid": 3, "leaf": 1}, {"nodeid": 4, "leaf": 2}]}],
}  # fmt: skip
LIGHTGBM = {
    "feature_names": ["x", "age", "f1"],
    "tree_info": [
        {"tree_structure": {
            "split_feature": 1, "threshold": 3, "right_child": {"leaf_value": 1},
            "left_child": {"split_feature": 2, "threshold": "1||2", "left_child": {"leaf_value": 1},
                           "right_child": {"leaf_value": 2}}}},
        {"tree_structure": {"leaf_value": 3}},
    ],
}  # fmt: skip
MODEL = {
    "learner": {
        "feature_names": ["x", "age", "f1"],
        "gradient_booster": {"model": {"trees": [
            {"left_children": [1, 3, -1, -1, -1], "right_children": [2, 4, -1, -1, -1],
             "split_indices": [1, 2, 0, 0, 0], "split_conditions": [3, 1, 0.5, 1, 2]}]}},
    }
}  # fmt: skip
TREE = ("age", [("f1", ["leaf", "leaf"]), "leaf"])


@pytest.mark.parametrize(("value", "more"), [([XGBOOST], []), (LIGHTGBM, ["leaf"]), (MODEL, [])])
def test_dumps(tmp_path, value, more):
    forest = read_decisions(put(tmp_path, "a.json", value))
    assert trees(forest) == Forest.from_nested([TREE, *more])
    assert read(tmp_path, "decisions").n_trees == 1 + len(more)
    (tmp_path / "a.json").rename(tmp_path / "a.dump")
    assert read(tmp_path / "a.dump").n_trees == 1 + len(more)


def changed(value, *path, to):
    value = json.loads(json.dumps(value))
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return value


TREES = ("learner", "gradient_booster", "model", "trees")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "found an object without keys, wanted a dump of XGBoost"),
        ([], "there is no tree in it"),
        ([3], "tree 0, node 0: found a number, wanted 'split' or 'leaf'"),
        (changed([XGBOOST], 0, "no", to=1), "'yes' and 'no' are not its two children"),
        (changed([XGBOOST], 0, "no", to=[]), "'yes' and 'no' are not its two children"),
        (changed([XGBOOST], 0, "split", to=[]), "'split' is an array, wanted the name of a feature"),
        (changed(LIGHTGBM, "feature_names", to=["x"]), r"tree_info\[0\], node 0: its feature 1 has no name"),
        (changed(LIGHTGBM, "tree_info", to=3), "tree_info: found a number, wanted an array"),
        (changed(LIGHTGBM, "tree_info", 1, to={}), r"tree_info\[1\]: .*wanted an object with the key 'tree_structure'"),
        (
            changed(MODEL, *TREES, 0, "left_children", 1, to=0),
            r"node 2: its row is '0', wanted one of 5 rows",
        ),
        (changed(MODEL, *TREES, 0, "left_children", 1, to=9), "its row is '9'"),
        (changed(MODEL, *TREES, 0, "left_children", to=[-1]), "its columns are empty or differ in length"),
        (
            changed(MODEL, *TREES, 0, "left_children", 0, to=3),
            r"trees\[0\]: row 1 is no row's child, wanted a tree of all",
        ),
        (changed(MODEL, *TREES, to=[]), "there is no tree in it"),
    ],
)
def test_what_is_no_dump(tmp_path, value, said):
    with pytest.raises(ReadError, match=said):
        read_decisions(put(tmp_path, "a.json", value))


@pytest.mark.parametrize("by", ["number", "mark"])
def test_rows_that_were_pruned_are_no_nodes(tmp_path, by):
    pruned = changed(MODEL, *TREES, 0, "left_children", 1, to=-1)
    if by == "number":
        pruned = changed(pruned, *TREES, 0, "tree_param", to={"num_deleted": "2"})
    else:
        pruned = changed(pruned, *TREES, 0, "split_indices", to=[1, 2, 0, 2**31 - 1, 2**31 - 1])
    assert trees(read_decisions(put(tmp_path, "a.json", pruned))) == Forest.from_nested([("age", ["leaf", "leaf"])])
