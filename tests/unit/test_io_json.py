"""JSON documents, JSON lines, and the parser without recursion."""

import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora import MISSING, UNSEEN, Forest, ReadError
from arbora.io import read_json, read_jsonl, write_jsonl
from arbora.io.builder import Fault
from arbora.io.json_deep import parse_deep
from tests import examples


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- documents ------------------------------------------------------------------------------------------------------

DOCUMENT = '{"a": [1, -2.5e3, "x"], "b": {"c": true, "c": null}, "d": {}}'


@pytest.mark.parametrize(
    ("scalars", "wanted"),
    [
        (
            "kind",
            (
                "{}",
                [
                    ("a", [("[]", ["#number", "#number", "#string"])]),
                    ("b", [("{}", [("c", ["#boolean"]), ("c", ["#null"])])]),
                    ("d", ["{}"]),
                ],
            ),
        ),
        (
            "value",
            (
                "{}",
                [
                    ("a", [("[]", ["1", "-2.5e3", '"x"'])]),
                    ("b", [("{}", [("c", ["true"]), ("c", ["null"])])]),
                    ("d", ["{}"]),
                ],
            ),
        ),
        ("drop", ("{}", [("a", ["[]"]), ("b", [("{}", ["c", "c"])]), ("d", ["{}"])])),
    ],
)
def test_documents(tmp_path, scalars, wanted):
    path = put(tmp_path / "a.json", DOCUMENT)
    assert read_json(path, scalars=scalars) == Forest.from_nested([wanted], name=[str(path)])


def test_a_scalar_is_a_document(tmp_path):
    for text, kind in (("3", "#number"), ('"x"', "#string"), ("false", "#boolean"), ("NaN", "#number")):
        for scalars in ("kind", "drop"):
            assert read_json(put(tmp_path / "a.json", text), scalars=scalars).vocabulary == (kind,)


def test_numbers_of_any_length(tmp_path):
    digits = "9" * 10_000
    assert read_json(put(tmp_path / "a.json", digits), scalars="value").vocabulary == (digits,)


def test_bad_documents(tmp_path):
    with pytest.raises(ReadError, match=r"a\.json, line 2, column 3: not JSON \(expecting value\); correct the file"):
        read_json(put(tmp_path / "a.json", "[1,\n  ]"))
    with pytest.raises(ReadError, match="scalars='type'; wanted"):
        read_json(tmp_path, scalars="type")


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("n", "opening", "middle", "closing"),
    [
        (100_000, "[", "1", "]"),
        (100_000, '{"k":', "null", "}"),
        pytest.param(1_000_000, "[", "1", "]", marks=pytest.mark.slow),
    ],
)
def test_very_many_levels(tmp_path, n, opening, middle, closing):
    forest = read_json(put(tmp_path / "a.json", opening * n + middle + closing * n))
    assert forest.describe()["max_depth"] == (n if opening == "[" else 2 * n)
    with pytest.raises(ReadError, match=r"a\.json, line 1, column \d+: not JSON \(found the end"):
        read_json(put(tmp_path / "a.json", opening * n + middle))


# ---- the parser without recursion -----------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_deep_parser_agrees_with_the_standard_one(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert repr(parse_deep(text, pairs=False)) == repr(json.loads(text))


@given(st.lists(st.sampled_from([*'[]{}:,"', "1", "-", "0.5", "true", "nul", " ", "\n", '"a"', "\\"])).map("".join))
def test_deep_parser_refuses_what_the_standard_one_refuses(text):
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(Fault):
            parse_deep(text, pairs=False)
    else:
        assert parse_deep(text, pairs=False) == wanted


def test_deep_parser_says_where():
    with pytest.raises(Fault, match="wanted ',' or the closing bracket") as caught:
        parse_deep('{"a": [1, 2],\n "b": 3 "c"}', pairs=False)
    assert (caught.value.line, caught.value.column) == (2, 9)
    with pytest.raises(Fault, match="integer too long"):
        parse_deep("1" * (sys.get_int_max_str_digits() + 1), pairs=False)


# ---- lines of nested trees ------------------------------------------------------------------------------------------


def test_nested_trees(tmp_path):
    path = put(
        tmp_path / "a.jsonl",
        '{"label": "a", "children": [{"label": "b", "slot": 2}, {"label": null}, {"label": null, "unseen": true}]}\n'
        "\n"
        '{"label": 7, "children": null}\r\n',
    )
    forest = read_jsonl(path)
    wanted = [
        {"label": "a", "children": [{"label": "b", "slot": 2}, {"label": None}, {"label": None, "unseen": True}]},
        "7",
    ]
    assert forest == Forest.from_nested(wanted, name=[f"{path}:1", f"{path}:3"])
    assert forest.slot.tolist() == [2, 3, 4, -1, -1]
    assert sorted(forest.label.tolist())[:2] == [MISSING, UNSEEN]


def test_positions_count_from_one_and_root_keys(tmp_path):
    path = put(
        tmp_path / "a.jsonl",
        '{"label": 1, "children": [{"label": 2, "children": [], "pos": 3}, {"label": 2, "pos": 1}], "class": 5, '
        '"split": "train", "id": "t1"}\n'
        '{"label": 2, "class": 6, "split": "test", "name": "t2"}\n',
    )
    forest = read_jsonl(path)
    first = {"label": 1, "children": [{"label": 2, "slot": 2}, {"label": 2, "slot": 0}]}
    assert forest == Forest.from_nested([first, 2], target=[5, 6], name=["t1", "t2"])
    assert forest.slot.tolist() == [0, 2, -1, -1]  # siblings by slot
    assert read_jsonl(path, split="test") == Forest.from_nested([2], target=[6], name=["t2"])
    with pytest.raises(ReadError, match='none of the 2 trees has "split": "dev"'):
        read_jsonl(path, split="dev")


@pytest.mark.parametrize(
    ("classes", "kind"),
    [([1, 2], "i"), ([1, 2.5], "f"), (["x", "y"], "U"), ([1, "y"], "U"), ([True, False], "b"), ([1.5, 2**60], "f")],
)
def test_classes_keep_their_type(tmp_path, classes, kind):
    lines = [json.dumps({"label": "a", "class": c}) for c in classes]
    target = read_jsonl(put(tmp_path / "a.jsonl", "\n".join(lines))).target
    assert target.dtype.kind == kind
    assert target.tolist() == (classes if kind != "U" else [str(c) for c in classes])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "found an array, wanted an object"),
        ('{"name": "x"}', "found an object with the keys 'name' as a node, wanted an object with the key \"label\""),
        ('{"label": "a", "children": ["b"]}', "found text as a node"),
        ('{"label": "a", "Children": [{"label": "b"}]}', "the key 'Children' holds nodes, wanted them in \"children\""),
        ('{"label": "a", "children": {"label": "b"}}', '"children" is an object'),
        ('{"label": "a", "children": {}}', '"children" is an object without keys, wanted an array'),
        ('{"label": "a", "children": 0}', '"children" is a number, wanted an array'),
        ('{"label": "a", "children": ""}', '"children" is text, wanted an array'),
        ('{"label": "a", "children": false}', '"children" is true or false, wanted an array'),
        ('{"label": "a", "children": ["x"], "children": []}', "an object has two members 'children'"),
        ('{"label": "a", "label": "b"}', "an object has two members 'label'"),
        ('{"label": null, "unseen": "no"}', '"unseen" is text, wanted true or false'),
        ('{"label": true}', '"label" is true or false, wanted text, a number or null'),
        ('{"label": ["a"]}', '"label" is an array'),
        (
            '{"label": "a", "children": [{"label": "b", "slot": -1}]}',
            "\"slot\" is '-1', wanted an integer of 0 or more",
        ),
        ('{"label": "a", "children": [{"label": "b", "pos": 0}]}', "\"pos\" is '0', wanted an integer of 1 or more"),
        ('{"label": "a", "children": [{"label": "b", "slot": 2147483648}]}', "wanted an integer of 0 or more"),
        ('{"label": "a", "children": [{"label": "b", "slot": 2147483647}]}', "comes to slot 2147483647"),
        ('{"label": "a", "children": [{"label": "b", "slot": true}]}', "wanted an integer"),
        (
            '{"label": "a", "children": [{"label": "b", "slot": 1}, {"label": "c", "slot": 1}]}',
            "two children in slot 1",
        ),
        (
            '{"label": "a", "children": [{"label": "b", "slot": 1}, {"label": "c", "slot": 0}, {"label": "c"}]}',
            "two children in slot 1",
        ),
        ('{"label": "a", "class": [1]}', '"class" is an array, wanted text or a number'),
        ('{"label": "a", "name": [1]}', '"name" is an array, wanted text'),
        ('{"label": "a", "class": 3}', "class 3, though the trees before have none"),
        ('{"label": "a"', "not JSON"),
        ('{"label": ' + "1" * 9999 + "}", "integer too long"),
    ],
)
def test_bad_lines(tmp_path, line, message):
    path = put(tmp_path / "a.jsonl", '{"label": "fine"}\n' + line + "\n")
    with pytest.raises(ReadError) as caught:
        read_jsonl(path)
    assert str(caught.value).startswith(f"{path}, line 2")
    assert message in str(caught.value)
    with pytest.warns(UserWarning, match="1 bad file or line"):
        assert read_jsonl(path, on_error="skip").vocabulary == ("fine",)


def test_lines_that_are_documents(tmp_path, caplog):
    path = put(tmp_path / "a.jsonl", DOCUMENT + '\n[1]\n{"label": "x"}\n')
    forest = read_jsonl(path)
    assert "each line is read as a document" in caplog.text
    assert forest.name.tolist() == [f"{path}:{n}" for n in (1, 2, 3)]
    alone = [read_json(put(tmp_path / f"{n}.json", text)) for n, text in enumerate(path.read_text().splitlines())]
    assert forest == Forest.concat(alone).with_name(forest.name)
    values = read_jsonl(path, scalars="value")
    assert values[2]["children"][0]["children"] == [{"label": '"x"'}]
    with pytest.raises(ReadError, match="line 1: found an object with the keys 'b' as a node"):
        read_jsonl(put(tmp_path / "c.jsonl", '{"b": 1}'), lines="trees")
    trees = put(tmp_path / "b.jsonl", '{"label": "a"}\n{"b": 1}\n')
    with pytest.raises(ReadError, match="line 2: found an object with the keys 'b' as a node"):
        read_jsonl(trees)  # the first line is a tree, so all must be
    assert read_jsonl(trees, lines="documents")[0]["children"][0]["label"] == "label"
    with pytest.raises(ReadError, match="lines='all'; wanted auto, trees or documents"):
        read_jsonl(trees, lines="all")


def test_items_of_an_array(tmp_path):
    path = put(tmp_path / "a.json", f"[{DOCUMENT}, [], 3]")
    forest = read_json(path, unit="item")
    assert forest.name.tolist() == [f"{path}#{n}" for n in (1, 2, 3)]
    assert forest[0] == read_json(put(tmp_path / "b.json", DOCUMENT))[0]
    assert forest[1:].vocabulary[forest.label[-1]] == "#number"
    with pytest.raises(ReadError, match="holds an object, wanted an array"):
        read_json(tmp_path / "b.json", unit="item")
    with pytest.raises(ReadError, match="unit='line'"):
        read_json(path, unit="line")
    with pytest.raises(ReadError, match="leave one of them out"):
        read_json(path, unit="item", label="a")


def test_two_members_of_one_name_far_down(tmp_path):
    line = '{"label":"a","children":[' * 5000 + '{"label":"b","label":"c"}' + "]}" * 5000
    with pytest.raises(ReadError, match="an object has two members 'label'"):
        read_jsonl(put(tmp_path / "a.jsonl", line))


# ---- round trips ----------------------------------------------------------------------------------------------------


def same(forest, other):
    """Equal, and with the same columns in the canonical order."""
    assert forest == other
    assert (forest.target is None) == (other.target is None)
    if forest.target is not None:
        assert forest.target.dtype.kind == other.target.dtype.kind
    a, b = forest.canonical(), other.canonical()
    assert a.vocabulary == b.vocabulary
    return True


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_awkward_forests_come_back(awkward, tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    write_jsonl(awkward, path)
    assert same(read_jsonl(path), awkward)
    write_jsonl(read_jsonl(path), tmp_path / f"b.{suffix}")
    assert path.read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_an_empty_forest_comes_back(tmp_path):
    write_jsonl(examples.empty(), tmp_path / "a.jsonl")
    assert len(read_jsonl(tmp_path / "a.jsonl")) == 0


def test_random_forests_come_back(tmp_path):
    @given(examples.forests(labels=st.none() | st.text(max_size=3)), st.booleans(), st.booleans())
    def check(forest, with_target, with_name):
        n = len(forest)
        forest = forest.with_target([math.pi * t for t in range(n)] if with_target else None)
        forest = forest.with_name([f"näme {t}" for t in range(n)] if with_name else None)
        write_jsonl(forest, tmp_path / "a.jsonl")
        assert same(read_jsonl(tmp_path / "a.jsonl"), forest)

    check()


@pytest.mark.compiled
@pytest.mark.parametrize("n", [30_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_a_very_deep_tree_comes_back(tmp_path, n):
    chain = examples.chain_of(n)
    write_jsonl(chain, tmp_path / "a.jsonl")
    assert read_jsonl(tmp_path / "a.jsonl") == chain


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = put(tmp_path / "a.jsonl", "old")

    def stop(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("arbora.io.formats.jsonl._line_pieces", stop)
    with pytest.raises(KeyboardInterrupt):
        write_jsonl(examples.pair(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_targets_of_numpy_types(tmp_path):
    forest = examples.single_nodes().with_target(np.array([1, 2, 3, 1], np.int8))
    write_jsonl(forest, tmp_path / "a.jsonl")
    assert read_jsonl(tmp_path / "a.jsonl").target.tolist() == [1, 2, 3, 1]


# ---- documents that are trees already -------------------------------------------------------------------------------

PLAN = [
    {
        "Plan": {
            "Node Type": "Hash Join",
            "Rows": 3,
            "Plans": [{"Node Type": "Seq Scan"}, {"Node Type": "Hash", "Plans": []}],
        }
    },
    {"Plan": {"Node Type": "Result", "Plans": None}},
]
SCRIPT = {
    "type": "Program",
    "body": [{"type": "If", "test": {"type": "Name", "id": "x"}, "then": {"loc": {"a": 1}, "of": [{"type": "Block"}]}}],
}


def test_query_plans(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(PLAN))
    forest = read_json(tmp_path / "a.json", label="Node Type", children="Plans")
    path = str(tmp_path / "a.json")
    wanted = [("Hash Join", ["Seq Scan", "Hash"]), "Result"]
    assert forest == Forest.from_nested(wanted, name=[f"{path}#1", f"{path}#2"])


def test_children_under_any_key(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(SCRIPT))
    name = [str(tmp_path / "a.json")]
    every = [("Program", [("If", ["Name", "Block"])])]
    assert read_json(tmp_path / "a.json", label="type") == Forest.from_nested(every, name=name)
    some = read_json(tmp_path / "a.json", label="type", children=["test", "body"])
    assert some == Forest.from_nested([("Program", [("If", ["Name"])])], name=name)
    assert some == read_json(tmp_path / "a.json", label="type", children="test,body")


@pytest.mark.parametrize(
    ("value", "options", "said"),
    [
        ({"a": 1}, {"label": "type"}, "no object has the key 'type'"),
        ({"type": []}, {"label": "type"}, "tree 1, node 1: 'type' is an array, wanted text, a number or null"),
        (
            {"type": "x", "in": 3},
            {"label": "type", "children": "in"},
            "tree 1, node 1: 'in' is a number, wanted an array",
        ),
        (
            {"type": "x", "in": [{}]},
            {"label": "type", "children": "in"},
            "tree 1, node 2: found an object without keys",
        ),
        ({"type": "x", "in": []}, {"label": "type", "children": "In"}, "no node has the key 'In'; check children="),
        ({}, {"children": "in"}, "without label="),
        ({}, {"label": "x", "scalars": "drop"}, "only objects with a label are nodes"),
    ],
)
def test_documents_that_are_no_trees(tmp_path, value, options, said):
    (tmp_path / "a.json").write_text(json.dumps(value))
    with pytest.raises(ReadError, match=said):
        read_json(tmp_path / "a.json", **options)


def test_labelled_objects_of_any_depth(tmp_path):
    (tmp_path / "a.json").write_text('{"n":1,"c":[' * 50_000 + '{"n":null}' + "]}" * 50_000)
    for options in ({}, {"children": "c"}):
        forest = read_json(tmp_path / "a.json", label="n", **options)
        assert (forest.n_nodes, forest.vocabulary) == (50_001, ("1",))


def test_comments(tmp_path):
    text = '// first\n{"a": "// no, /* no */", /* two\nlines */ "b": ["x,]", 1, ], }\n// last'
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text('{"a": "// no, /* no */", "b": ["x,]", 1]}')
    both = [read_json(tmp_path / name, comments=True, scalars="value")[0] for name in ("a.json", "b.json")]
    assert both[0] == both[1]
    with pytest.raises(ReadError, match="line 1, column 1: not JSON"):
        read_json(tmp_path / "a.json")
    (tmp_path / "c.json").write_text('{"a":\n /* 1}')
    with pytest.raises(ReadError, match=r"c\.json, line 2, column 2: the comment is not closed"):
        read_json(tmp_path / "c.json", comments=True)
    (tmp_path / "d.json").write_text('{"a": 1, /* x */\n "b" 2}')
    with pytest.raises(ReadError, match=r"d\.json, line 2, column 6: not JSON"):
        read_json(tmp_path / "d.json", comments=True)
