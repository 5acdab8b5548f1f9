"""Node tables of other people's schema in Parquet."""

import pytest

import arbora as ab
from arbora.errors import SkippedFilesWarning
from arbora.io import read_nodes
from arbora.io.choose_reader import stream
from arbora.io.sources import Sink

pa = pytest.importorskip("pyarrow", reason="arbora[parquet] is not installed")
from pyarrow import parquet  # noqa: E402 (after the check that it is there)

SPANS = {
    "trace": ["t", "t", "t", "u", "u"],
    "span": ["x", "z", "y", "x", "y"],
    "above": ["y", "y", None, None, "x"],
    "name": ["a", "b", "r", "r", None],
    "start": [2, 1, 0, 0, 1],
    "ms": [1.5, None, 3.0, 4.0, 5.0],
}
NAMES = {"node": "span", "parent": "above", "label": "name"}
FIRST = {"label": "r", "children": [{"label": "b"}, {"label": "a"}]}


@pytest.fixture
def table(tmp_path):
    def write(columns=None, **more):
        path = tmp_path / "spans.parquet"
        parquet.write_table(pa.table({**(columns or SPANS), **more}), path, row_group_size=2)
        return path

    return write


def test_trees_over_several_row_groups(table, monkeypatch):
    path = table()
    for rows in (1, 2, 65536):
        monkeypatch.setattr("arbora.io.formats.nodes._BATCH", rows)
        forest = read_nodes(path, **NAMES, tree="trace", order="start", content=["ms"])
        assert forest.name.tolist() == ["t", "u"]
        assert forest.with_content({})[0] == FIRST
        assert forest.with_content({})[1] == {"label": "r", "children": [{"label": None}]}
        assert forest.content["ms"].nested(0, 5) == [None, 1.5, 3.0, 5.0, 4.0]


def test_the_same_trees_as_from_table(table):
    ours = read_nodes(table(), **NAMES, tree="trace", order="start")
    theirs = ab.Forest.from_table(SPANS, **NAMES, tree="trace", order="start")
    assert list(ours) == list(theirs)


@pytest.mark.parametrize(("ids", "above"), [([5, 6, 7], [None, 5, 5]), ([b"a", b"b", b"c"], [None, b"a", b"a"])])
def test_ids_of_other_types_and_every_root_a_tree(ids, above, table):
    path = table({"id": [*ids, *ids], "parent": [*above, *above], "label": list("abcdef"), "t": list("xxxyyy")})
    assert ab.read(path, "nodes", tree="t").n_trees == 2
    path = table({"id": [*ids], "parent": [None, None, ids[0]], "label": list("abc")})
    assert list(ab.read(path, "nodes")) == [{"label": "a", "children": [{"label": "c"}]}, {"label": "b"}]


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({"span": ["x", "x", "y", "x", "y"]}, {}, "tree 't': two nodes have the id 'x'"),
        ({"span": ["x", None, "y", "x", "y"]}, {}, "row 1: there is no 'span', wanted an id"),
        ({"above": ["q", "y", None, None, "x"]}, {}, "tree 't': the parent 'q' of node 'x' is no node of its tree"),
        ({"above": ["z", "x", None, None, "x"]}, {}, "tree 't': the parents of node 'z' form a cycle"),
        ({"above": [None, "y", None, None, "x"]}, {}, "tree 't': 2 of its nodes have no parent, wanted one root"),
        ({"start": [2, None, 0, 0, 1]}, {}, "tree 't': no value in 'start', which orders siblings, in row 1"),
        (
            {"trace": ["t", "u", "t", "u", "u"], "above": [None, None, None, None, "x"]},
            {},
            "row 2: tree 't' continues after another; sort the table",
        ),
        ({}, {"label": "nme"}, "there is no column 'nme' for label=; it has 'trace', 'span'"),
        ({}, {"content": "weight"}, "there is no column 'weight' for content="),
        ({}, {"max_bytes": 20}, "the rows from 0 on hold more than 20 bytes"),
        ({"span": [[1], [2], [3], [1], [2]]}, {}, "row 2: 'span' is a list, wanted an id that can be compared"),
        ({"above": [2.0**60, None, None, None, None]}, {}, "a double in which whole numbers of this size lose digits"),
        ({}, {"tree": ""}, "found an empty name"),
    ],
)
def test_faults_say_where(changes, options, said, table):
    with pytest.raises(ab.ReadError) as caught:
        read_nodes(table(**changes), **({**NAMES, "tree": "trace", "order": "start"} | options))
    assert said in str(caught.value)


def test_bad_trees_are_left_out_when_asked(table):
    path = table(above=["q", "y", None, None, "x"])
    with pytest.warns(SkippedFilesWarning, match="the parent 'q'"):
        assert read_nodes(path, **NAMES, tree="trace", on_error="skip").name.tolist() == ["u"]


def test_no_parquet(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(ab.ReadError, match="it is damaged or not parquet"):
        read_nodes(tmp_path / "a.parquet")


def test_a_table_is_read_part_by_part_from_a_url(table):
    fsspec = pytest.importorskip("fsspec")
    columns = {"id": list(range(90)), "parent": [None, *([0] * 2)] * 30, "label": ["a"] * 90}
    columns["parent"] = [None if n % 3 == 0 else n - n % 3 for n in range(90)]
    columns["t"] = [n // 3 for n in range(90)]
    system = fsspec.filesystem("memory")
    system.put(str(table(columns)), "/bucket/nodes.parquet")
    parts = []
    sink = Sink(lambda part, at: parts.append(part), max_nodes=30)
    stream(["memory://bucket/nodes.parquet"], "nodes", sink, tree="t")
    system.rm("/bucket", recursive=True)
    assert [part.n_trees for part in parts] == [10, 10, 10]
