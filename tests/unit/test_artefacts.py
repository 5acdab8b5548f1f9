"""Skeletons, paths and schemas of groups: slow twins, the jsonschema package, lxml, and coverage on held-out trees."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arbora as ab
from arbora.artefacts import describe_clusters
from arbora.artefacts.paths import label_paths
from arbora.artefacts.queries import Chosen, json_path, selected, xpath
from arbora.artefacts.schemas import documents_of, meets, schema_of


def slow_paths(tree: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every label path of a nested tree, once per node."""
    mine = (*above, tree["label"])
    return [mine, *(path for child in tree.get("children", []) for path in slow_paths(child, mine))]


def test_label_paths_are_those_of_a_walk_through_the_trees() -> None:
    forest = ab.datasets.make_documents(6, random_state=1)
    paths = label_paths(forest)
    names = [paths.labels(p) for p in range(len(paths.label))]
    assert len(set(names)) == len(names)
    assert all(paths.above[p] < p for p in range(len(names)))
    count = paths.count.toarray()
    for t, tree in enumerate(forest):
        walked = [path for path in slow_paths(tree) if len(path) <= 16]
        assert {names[p]: n for p, n in enumerate(count[t]) if n} == {path: walked.count(path) for path in walked}


def test_a_skeleton_has_the_paths_of_half_the_trees_with_their_shares() -> None:
    trees = [("a", ["b", "b", ("c", ["d"])])] * 3 + [("a", ["b", "e"])] * 3 + [("x", ["y"])] * 2
    first, second = describe_clusters(trees, [0] * 6 + [1] * 2)
    (root,) = first.skeleton
    assert (root.label, root.probability) == ("a", 1.0)
    assert [(one.label, one.probability) for one in root.children] == [("b", 1.0), ("e", 0.5), ("c", 0.5)]
    assert root.children[0].number == pytest.approx(1.5)
    assert root.children[2].children[0].label == "d"
    assert second.held_out == "none"
    assert second.coverage["paths"].own is None
    assert "too few" in second.coverage_text("skeleton")


def test_paths_select_the_group_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    trees, labels = [], []
    for _ in range(60):  # group 0 has b and lacks c; neither alone is enough
        has = rng.random(3) < [0.6, 0.5, 0.5]
        trees.append(("a", [word for word, there in zip("bcd", has, strict=True) if there]))
        labels.append(int(not (has[0] and not has[1])))
    one, _ = describe_clusters(trees, labels)
    assert set(map(str, one.paths.conditions)) == {"has /a/b", "lacks /a/c"}
    assert (one.paths.precision, one.paths.recall) == (1.0, 1.0)
    assert one.coverage["paths"] == (1.0, 0.0)


def test_xpath_selects_the_documents_that_the_conditions_select(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    texts = ["<a><b i='1'>t</b><c.d/></a>"] * 6 + ["<a><b>t</b></a>"] * 6 + ["<a><e-f/></a>"] * 6
    for n, text in enumerate(texts):
        (tmp_path / f"{n:02}.xml").write_text(text)
    forest = ab.read_xml(tmp_path, attributes="name", text="kind")
    label = np.repeat([0, 1, 2], 6)
    for one in describe_clusters(forest, label):
        found = [bool(etree.fromstring(text).xpath(one.paths.expression)) for text in texts]
        assert found == (label == one.cluster).tolist(), one.paths.expression


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (("a", "b-c"), "/a/b-c"),
        (("a b", "it's"), "/*[name()='a b']/*[name()=\"it's\"]"),
        (("'\"",), "/*[name()=concat('', \"'\", '\"')]"),
    ],
)
def test_labels_that_are_no_names_are_quoted(labels: tuple[str, ...], wanted: str) -> None:
    etree = pytest.importorskip("lxml.etree")
    assert xpath(labels) == wanted
    etree.XPath(xpath(labels))


def test_json_paths() -> None:
    assert json_path(("{}", "a", "[]", "{}", "{}", "#null")) == ('$.a[*]["{}"]', "null")
    assert json_path(("[]", "[]", "#number")) == ("$[*][*]", "number")
    assert json_path(("{}", 'k"', '"text"')) == ('$["k\\""]', '"text"')
    assert json_path(("{}", "{}")) == ('$["{}"]', "")


DOCUMENTS = [
    {"id": 1, "tags": ["x"], "at": {"u": 1.5}},
    {"id": 2, "tags": [], "at": None},
    {"id": 3, "tags": ["y", None], "at": {"u": 2, "v": "w"}, "{}": {"a": {}}},
    {"id": "4", "tags": ["z"]},
    ["id", {"id": True}],
    [],
    {},
    3,
    None,
]


def read(tmp_path: Path, documents: list[Any], scalars: str = "kind") -> ab.Forest:
    for n, one in enumerate(documents):
        (tmp_path / f"{n:03}.json").write_text(json.dumps(one))
    return ab.read_json(tmp_path, scalars=scalars)


@pytest.mark.parametrize("scalars", ["kind", "value"])
def test_meeting_a_schema_is_what_jsonschema_says(tmp_path: Path, scalars: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    seen = documents_of(read(tmp_path, DOCUMENTS, scalars))
    for some in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [4, 5], [6], [2], list(range(9))):
        schema = schema_of(seen[n] for n in some)
        checker = jsonschema.Draft202012Validator
        checker.check_schema(schema)
        assert [meets(one, schema) for one in seen] == [checker(schema).is_valid(one) for one in DOCUMENTS]
        assert all(meets(seen[n], schema) for n in some)


def test_a_schema_requires_what_nearly_all_have_and_takes_many_rare_keys_for_a_map() -> None:
    frequent = [("object", {"a": ("number", None), **({"b": ("string", None)} if n else {})}) for n in range(40)]
    schema = schema_of(frequent)
    assert schema["required"] == ["a", "b"]
    assert not meets(frequent[0], schema)
    maps = [("object", {f"k{n}": ("number", None), f"k{n + 1}": ("number", None)}) for n in range(20)]
    assert schema_of(maps)["additionalProperties"] == {"type": "number"}
    assert meets(("object", {"new": ("number", None)}), schema_of(maps))
    assert not meets(("object", {"new": ("string", None)}), schema_of(maps))


def test_coverage_is_on_trees_the_artefact_was_not_made_from(tmp_path: Path) -> None:
    """Documents that all have a key of their own: a schema made from them would fit, one made without them does not."""
    documents = [{f"key {n}": n} for n in range(7)] + [[n] for n in range(10)]
    forest = read(tmp_path, documents)
    label = np.array([0] * 7 + [1] * 10)
    mixed, lists = describe_clusters(forest, label)
    assert mixed.held_out == "cross-fitting"
    assert lists.coverage["schema"] == (1.0, 0.0)
    assert lists.coverage["paths"] == (1.0, 0.0)
    odd, rest = [("a", [f"b{n}"]) for n in range(10)], [("c", [])] * 10
    one, _ = describe_clusters([*odd, *rest], [0] * 10 + [1] * 10)
    assert one.coverage["skeleton"].own == 1.0  # of the root alone: nothing below it is frequent


def test_coverage_on_given_trees_is_that_of_the_whole_artefact() -> None:
    trees, labels = [("a", ["b"])] * 8 + ["x"] * 8, [0] * 8 + [1] * 8
    others, known = [("a", ["b"]), ("a", ["c"]), ("x", ["new"]), "x"], [0, 0, 1, 1]
    first, second = describe_clusters(trees, labels, others, known)
    assert first.held_out == "given trees"
    assert first.coverage["skeleton"].own == pytest.approx(0.75)
    assert first.coverage["skeleton"].elsewhere == 0.0
    assert second.coverage["paths"] == (1.0, 0.0)
    assert "given" in first.coverage_text("paths")


def test_no_conditions_select_everything() -> None:
    paths = label_paths(ab.Forest.from_nested(["a", "b"]))
    assert selected(paths, Chosen((), (), 1.0, 1.0), np.array([True, True])) == 1.0


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(ab.ArboraError, match="wanted the group of each of 2 trees"):
        describe_clusters(["a", "b"], [0])
    with pytest.raises(ab.ArboraError, match="held_out_labels"):
        describe_clusters(["a", "b"], [0, 1], ["a"])
