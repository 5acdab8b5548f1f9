"""Readers asked for content: which columns, of which kinds, at which nodes; and nothing unless they are asked."""

import json
import math
import time

import pytest

import arbora as ab
from arbora.errors import ReadError
from arbora.io.builder import Columns

NEXUS = "#NEXUS begin trees; translate 1 ape, 2 man; tree a = [&R] (1[&rate=0.5]:1.5,2:2)[&rate=2]:0; end;"
SWC = "1 1 0 0 0 5 -1\n2 3 3 4 0 1 1\n3 3 3 4 12 2 2\n4 3 9 4 12 1 3\n5 3 3 4 20 1 3\n"
OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {"traceId": "t", "spanId": "a", "name": "GET", "startTimeUnixNano": "0",
                         "endTimeUnixNano": "2000000000", "kind": 2, "status": {"code": "STATUS_CODE_ERROR"}},
                        {"traceId": "t", "spanId": "b", "parentSpanId": "a", "name": "sql",
                         "startTimeUnixNano": "5", "endTimeUnixNano": "5"},
                    ]
                }
            ]
        }
    ]
}  # fmt: skip
CONLLU = "1\tcats\tcat\tNOUN\tNNS\tNumber=Plur|Case=Nom\t2\tnsubj\t_\t_\n2\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\t_\n"
HTML = '<html><body><img width="10" alt="a cat"><p>Two words<b>bold</b> more</p><img width="20"></body></html>'
XML = '<a><b n="1.5" ok="true">one <c/>two</b><b n="2" kind="x"/></a>'


def read(tmp_path, name, text, **options):
    (tmp_path / name).write_text(text)
    return ab.read(tmp_path / name, **options)


def content(tree):
    """Label and content of all nodes, parents first."""
    found = [(tree["label"], tree.get("content", {}))]
    for child in tree.get("children", []):
        found += content(child)
    return found


def test_newick_lengths_and_annotations(tmp_path):
    text = "((a:0.5[&&NHX:S=human:B=90],'b[&x=1]':2)c[&rate=0.25,name=\"q\"]:1e-2,d)e;(x:1,y:nan)z;"
    forest = read(tmp_path, "a.nwk", text, content=True)
    assert content(forest[0]) == [
        ("e", {}),
        ("c", {"length": 0.01, "rate": 0.25, "name": "q"}),
        ("a", {"length": 0.5, "S": "human", "B": 90}),
        ("b[&x=1]", {"length": 2.0}),
        ("d", {}),
    ]
    assert content(forest[1]) == [("z", {}), ("x", {"length": 1.0}), ("y", {})]
    assert set(read(tmp_path, "a.nwk", text, content="length").content) == {"length"}
    assert not read(tmp_path, "a.nwk", text).content
    assert read(tmp_path, "a.nwk", text) == forest.with_content({})


def test_nexus(tmp_path):
    forest = read(tmp_path, "a.nex", NEXUS, content="all")
    assert content(forest[0]) == [
        (None, {"length": 0.0, "rate": 2.0}),
        ("ape", {"length": 1.5, "rate": 0.5}),
        ("man", {"length": 2.0}),
    ]


def test_swc(tmp_path):
    forest = read(tmp_path, "a.swc", SWC, content=["radius", "length", "distance"])
    assert content(forest[0]) == [
        ("soma", {"radius": 5.0}),
        ("basal dendrite", {"radius": 2.0, "length": 17.0, "distance": 13.0}),
        ("basal dendrite", {"radius": 1.0, "length": 6.0, "distance": math.dist((0, 0, 0), (9, 4, 12))}),
        ("basal dendrite", {"radius": 1.0, "length": 8.0, "distance": math.dist((0, 0, 0), (3, 4, 20))}),
    ]
    with pytest.raises(ReadError, match="no such column; this format has radius"):
        read(tmp_path, "a.swc", SWC, content="colour")


def test_traces(tmp_path):
    forest = read(tmp_path, "a.otlp.json", json.dumps(OTLP), content=True)
    assert content(forest[0]) == [
        ("GET", {"duration": 2.0, "log_duration": math.log(2.0), "status": "error", "kind": "server"}),
        ("sql", {"duration": 0.0}),
    ]


def test_xml_and_html(tmp_path):
    forest = read(tmp_path, "a.xml", XML, content=True)
    assert content(forest[0]) == [
        ("a", {}),
        ("b", {"@n": 1.5, "@ok": True, "words": {"one": 1, "two": 1}}),
        ("c", {}),
        ("b", {"@n": 2.0, "@kind": "x"}),
    ]
    assert forest.with_content({}) == read(tmp_path, "a.xml", XML)
    space = '<p:a xmlns:p="u" p:z="3"><p:b/></p:a>'
    for namespaces in ("strip", "prefix", "keep"):
        plain = read(tmp_path, "b.xml", space, namespaces=namespaces)
        assert read(tmp_path, "b.xml", space, namespaces=namespaces, content="words") == plain
    page = read(tmp_path, "a.html", HTML, content=["@width", "words"])
    assert content(page[0])[2:] == [
        ("img", {"@width": 10}),
        ("p", {"words": {"more": 1, "two": 1, "words": 1}}),
        ("b", {"words": {"bold": 1}}),
        ("img", {"@width": 20}),
    ]


def test_json(tmp_path):
    document = '{"a": 1.5, "b": [true, "two words"], "c": null}'
    forest = read(tmp_path, "a.json", document, content="number,truth,words")
    assert [held for _, held in content(forest[0]) if held] == [
        {"number": 1.5}, {"truth": True}, {"words": {"two": 1, "words": 1}},
    ]  # fmt: skip
    plan = '{"type": "Join", "cost": 3.5, "rows": 10, "Plans": [{"type": "Scan", "cost": 1, "index": "i"}]}'
    nodes = read(tmp_path, "b.json", plan, label="type", children="Plans", content=True)
    assert content(nodes[0]) == [("Join", {"cost": 3.5, "rows": 10}), ("Scan", {"cost": 1.0, "index": "i"})]
    mixed = '{"type": "a", "x": 1, "k": [{"type": "b", "x": "word"}]}'
    assert content(read(tmp_path, "c.json", mixed, label="type", content="x")[0]) == [
        ("a", {"x": "1"}), ("b", {"x": "word"}),
    ]  # fmt: skip


def test_json_lines_go_both_ways(tmp_path):
    from tests.unit.test_content import nested

    forest = ab.Forest.from_nested(nested(), name=[f"t{x}" for x in range(12)])
    ab.io.write_jsonl(forest, tmp_path / "a.jsonl")
    assert ab.read(tmp_path / "a.jsonl", content=True) == forest
    assert ab.read(tmp_path / "a.jsonl") == forest.with_content({})


def test_conllu_and_python(tmp_path):
    forest = read(tmp_path, "a.conllu", CONLLU, content="lemma,xpos,feats")
    assert content(forest[0]) == [
        ("root", {"lemma": "sleep"}),
        ("nsubj", {"lemma": "cat", "xpos": "NNS", "feats": {"Case=Nom": 1, "Number=Plur": 1}}),
    ]
    code = read(tmp_path, "a.py", "x = 2\ny = 'some text'\n", content=True)
    held = [pair for pair in content(code[0]) if pair[1]]
    assert held == [
        ("Name", {"name": "x"}), ("Constant", {"number": 2.0}), ("Name", {"name": "y"}),
        ("Constant", {"words": {"some": 1, "text": 1}}),
    ]  # fmt: skip


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.DiGraph([("a", "b")])
    graph.nodes["b"]["length"] = 2.5
    assert content(ab.from_networkx(graph, label=None, content=["length"])[0]) == [("a", {}), ("b", {"length": 2.5})]


def test_bad_files_leave_nothing_behind_and_rare_words_go(tmp_path, monkeypatch):
    from arbora.io import contents

    (tmp_path / "a.nwk").write_text("(a:1,b:2)c;")
    (tmp_path / "b.nwk").write_text("(d:7,e:8;")
    (tmp_path / "c.nwk").write_text("(f:3,g)h;")
    with pytest.warns(ab.errors.SkippedFilesWarning):
        forest = ab.read(tmp_path / "*.nwk", content="length", on_error="skip")
    assert content(forest[1]) == [("h", {}), ("f", {"length": 3.0}), ("g", {})]
    monkeypatch.setattr(contents, "MOST_WORDS", 2)
    page = read(tmp_path, "a.xml", "<a>x x y<b>y z</b></a>", content="words")
    assert content(page[0]) == [("a", {"words": {"x": 2, "y": 1}}), ("b", {"words": {"y": 1}})]


def test_digits_of_other_scripts_are_no_numbers(tmp_path):
    page = read(tmp_path, "a.xml", '<a w="\u0663"><b w="2"/></a>', content=["@w"])
    assert page.content["@w"].kind == "codes"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.xml", XML), ("a.html", HTML), ("a.nwk", "(a:1)b;"), ("a.nex", NEXUS), ("a.jsonl", '{"label": "a"}')],
)
def test_a_column_that_no_node_has_is_told(tmp_path, caplog, name, text):
    with caplog.at_level("WARNING"):
        forest = read(tmp_path, name, text, content=["lost"])
    assert forest.content == {}
    assert caplog.messages[-1] == "content: no node has 'lost'; check the names of the columns"
    caplog.clear()
    read(tmp_path, name, text, content=True)
    assert "no node has" not in caplog.text


def test_bad_trees_among_trees_with_content_take_linear_time():
    def seconds(n):
        columns, start = Columns(), time.process_time()
        for i in range(n):
            for bad in (False, True):
                mark = columns.mark()
                columns.depth.append(0)
                columns.label.append(0)
                columns.hold(i + bad, "x", 1)
                if bad:
                    columns.rewind(mark)
        return time.process_time() - start

    assert min(seconds(8000) / seconds(1000) for _ in range(3)) < 20  # of squares 64
