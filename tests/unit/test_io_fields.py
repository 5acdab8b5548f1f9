"""Readers of traces, NEXUS, neurons and RNA structures."""

import json
import logging
import time

import dendropy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbora import Forest, ReadError, read
from arbora.errors import SkippedFilesWarning
from arbora.io import read_dotbracket, read_nexus, read_swc, read_traces
from arbora.io.spans import spans_of
from tests.examples import preorder

QUICK = settings(max_examples=60, deadline=None)


def put(folder, name, text):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def trees(forest):
    return Forest.from_nested(list(forest))


# ---- traces ---------------------------------------------------------------------------------------------------------


def span(own, parent=None, name=None, start=0, trace="t"):
    found = {"traceId": trace, "spanId": own, "name": name or own, "startTimeUnixNano": str(start)}
    return found | {"endTimeUnixNano": str(start + 5)} | ({} if parent is None else {"parentSpanId": parent})


def otlp(*spans, service="web"):
    attributes = [] if service is None else [{"key": "service.name", "value": {"stringValue": service}}]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}]}


SPANS = [span("c", "a", "sql", 30), span("b", "a", "parse", 20), span("a", None, "GET", 10), span("d", "b", "x", 25)]


def test_otlp_in_any_order(tmp_path):
    path = put(tmp_path, "x.otlp.json", otlp(*SPANS))
    forest = read(path, label="operation")
    assert forest == Forest.from_nested([("GET", [("parse", ["x"]), "sql"])], name=[f"{path}#t"])
    assert read(path)[0]["label"] == "web:GET"
    assert read(path, label="service").vocabulary == ("web",)
    nameless = read_traces(put(tmp_path, "n.otlp.json", otlp(*SPANS, service=None)))
    assert nameless[0]["label"] == "GET"


def test_lines_whose_traces_go_on_in_later_lines(tmp_path):
    lines = [otlp(SPANS[0], span("z", trace="u")), otlp(SPANS[1], SPANS[3]), otlp(SPANS[2])]
    forest = read_traces(put(tmp_path, "x.json", "\n\n".join(map(json.dumps, lines)) + "\n"), label="operation")
    assert trees(forest) == Forest.from_nested([("GET", [("parse", ["x"]), "sql"]), "z"])


def jaeger_span(own, references, start, process="p1"):
    found = {"traceID": "t", "spanID": own, "operationName": own, "startTime": start, "duration": 2}
    return found | {"processID": process, "references": references}


def test_jaeger_is_read_as_the_same_trace_in_otlp_is(tmp_path):
    child = [{"refType": "CHILD_OF", "traceID": "t", "spanID": "a"}]
    after = [{"refType": "CHILD_OF", "traceID": "other", "spanID": "q"}, {**child[0], "refType": "FOLLOWS_FROM"}]
    spans = [jaeger_span("c", after, 3), jaeger_span("b", child, 2), jaeger_span("a", [], 1)]
    trace = {"traceID": "t", "spans": spans, "processes": {"p1": {"serviceName": "web"}}}
    wanted = read_traces(put(tmp_path, "o.json", otlp(span("c", "a", start=3), span("b", "a", start=2), span("a"))))
    for n, value in enumerate(({"data": [trace]}, trace)):
        assert trees(read_traces(put(tmp_path, f"{n}.json", value))) == trees(wanted)
    first = next(spans_of(trace))
    assert (first.start, first.duration) == (3000, 2000)


def test_labels_of_spans_tell_failures_and_durations(tmp_path):
    spans = [span("a"), span("b", "a", start=2), span("c", "a", start=3)]
    spans[0] |= {"endTimeUnixNano": str(2 * 10**9 + 1)}
    spans[1] |= {"endTimeUnixNano": str(5 * 10**7 + 2), "status": {"code": 2}}
    path = put(tmp_path, "d.otlp.json", otlp(*spans, service=None))
    assert read_traces(path).n_labels == 3
    names = [word.split("|") for word in read_traces(path, status=True, duration_bins=[0.05, 1]).vocabulary]
    assert sorted(name[1:] for name in names) == [["0"], ["1", "error"], ["2"]]
    assert [word for word in read_traces(path, status=True).vocabulary if "|" in word] == [f"{names[1][0]}|error"]
    for bad in ([], [1, 1], [float("nan")]):
        with pytest.raises(ReadError, match=r"duration_bins=.*wanted one edge or more, increasing"):
            read_traces(path, duration_bins=bad)


def test_traces_are_recognised_among_other_json(tmp_path):
    put(tmp_path, "a.json", otlp(*SPANS))
    put(tmp_path, "b.json", {"other": 1})
    assert read(tmp_path, "traces").n_trees == 1
    assert read(tmp_path, "json").n_trees == 2
    with pytest.raises(ReadError, match=r"several formats \(json, traces\)"):
        read(tmp_path)
    (tmp_path / "a.json").rename(tmp_path / "a.log")
    assert read(tmp_path / "a.log").n_nodes == 4


@pytest.mark.parametrize(
    ("spans", "said", "n_split"),
    [
        ([span("a"), span("b")], "trace 't': 2 spans have no parent, wanted one root; broken=split", 2),
        ([span("a"), span("b", "x"), span("c", "b")], "the parent 'x' of span 'b' is not there", 2),
        ([span("b", "x")], "the parent 'x' of span 'b' is not there", 1),
    ],
)
def test_broken_traces(tmp_path, caplog, spans, said, n_split):
    path = put(tmp_path, "a.json", otlp(*spans, span("z", trace="whole")))
    with pytest.raises(ReadError, match=said):
        read_traces(path)
    with caplog.at_level(logging.WARNING):
        assert read_traces(path, broken="split").n_trees == n_split + 1
        assert read_traces(path, broken="drop").name.tolist() == [f"{path}#whole"]
    assert "1 traces with several roots or spans without their parent were split" in caplog.text
    assert "were left out" in caplog.text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (otlp(span("a", "b"), span("b", "a")), "trace 't', span 'a': the parents form a cycle"),
        (otlp(span("a"), span("a", name="b")), "two spans have the id 'a'"),
        (otlp({"spanId": "a"}), r"resourceSpans\[0\].scopeSpans\[0\].spans\[0\]: 'startTimeUnixNano' is not there"),
        (otlp({**span("a"), "startTimeUnixNano": "x"}), "'startTimeUnixNano' is text 'x', wanted a whole number"),
        (otlp({**span("a"), "name": 3}), "'name' is a number, wanted text"),
        (otlp(3), r"resourceSpans\[0\].scopeSpans\[0\].spans\[0\]: found a number, wanted an object"),
        ({"resourceSpans": 3}, "resourceSpans: found a number, wanted an array"),
        ([], "found an array, wanted OTLP with the key 'resourceSpans'"),
        (otlp(), "there is no span in it, wanted one at least"),
        ({"data": [{"spans": [jaeger_span("a", [], 1)], "processes": {}}]}, "its process 'p1' is not one of"),
        ({"data": [{"spans": []}]}, r"data\[0\]\.processes: found null, wanted an object"),
    ],
)
def test_what_is_no_trace(tmp_path, value, said):
    with pytest.raises(ReadError, match=said):
        read_traces(put(tmp_path, "a.json", value))


def test_the_line_of_a_bad_document(tmp_path):
    nameless = {key: value for key, value in span("b").items() if key != "name"}
    path = put(tmp_path, "a.json", "\n".join(map(json.dumps, (otlp(span("a")), otlp(nameless)))))
    with pytest.raises(ReadError, match=r"a\.json, line 2: .*'name' is not there"):
        read_traces(path)


# ---- NEXUS ----------------------------------------------------------------------------------------------------------

NEXUS = """#NEXUS
Begin TAXA; Dimensions ntax=3; TaxLabels a 'b; c' d; END;
begin characters; matrix a 01 'x;' 10; end;
Begin Trees;
  [a comment; with a semicolon]
  TRANSLATE 1 a, 2 'b; c', x d;
  tree S_0 [&lnP=-1] = [&R] ((1:0.1,2:0.2)2:0.3,x);
  TREE * 'S 1' = [&U] (1,(2,other));
  utree last = 3;
End;
"""


def test_nexus(tmp_path):
    path = put(tmp_path, "a.nex", NEXUS)
    wanted = [(None, [("b; c", ["a", "b; c"]), "d"]), (None, ["a", (None, ["b; c", "other"])]), "d"]
    assert read(path) == Forest.from_nested(wanted, name=[f"{path}#{n}" for n in (1, 2, 3)])
    assert trees(read_nexus(path, burn_in=2)) == Forest.from_nested(["d"])
    binned = read_nexus(path, length_bins=[0.15], unnamed="u")[0]
    assert binned["children"][0]["children"][0]["label"] == "a|0"
    (tmp_path / "a.nex").rename(tmp_path / "a.t")
    assert read(tmp_path / "a.t").n_trees == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("begin trees; end;", "found 'begin trees; end;', wanted #NEXUS"),
        ("#NEXUS begin trees; end;", "there is no tree in it"),
        (
            "#NEXUS\nbegin trees;\n tree a = (a,b);",
            "line 2, column 1: the block 'trees' that starts here is not closed",
        ),
        ("#NEXUS\nbegin trees;\n tree a = (a,b;\nend;", "line 3, column 15: found ';', wanted ',' or"),
        ("#NEXUS\nbegin trees;\n tree (a,b);\nend;", "line 3, column 2: found a tree without name"),
        (
            "#NEXUS\nbegin trees; translate 1 a b, 2 c; end;",
            "line 2, column 29: found 3 words, wanted a short name and",
        ),
        ("#NEXUS\nbegin trees; translate 1 a, 1 c; end;", "'1' is translated twice"),
        ("#NEXUS\nbegin trees; begin trees; end;", "line 2, column 14: the block 'trees' is not closed"),
        (
            "#NEXUS\nbegin trees;\n ttee a = (a,b);\nend;",
            "line 3, column 2: found 'ttee' before what looks like a tree",
        ),
        ("#NEXUS\nbegin trees;\n tree a = b; tre a = [&R] (a);\nend;", "line 3, column 14: found 'tre' before what"),
        ("#NEXUS\nbegin trees;\n traslate 1 a, 2 b;\nend;", "line 3, column 2: found 'traslate' before what looks"),
        ("#NEXUS\nbegin taxa; taxlabel a b; end;", "line 2, column 1: the block 'taxa' that starts here has no names"),
        ("#NEXUS\nbegin trees; tree a = b; end", "line 2, column 28: the last command is not closed"),
    ],
)
def test_what_is_no_nexus(tmp_path, text, said):
    with pytest.raises(ReadError, match=said):
        read_nexus(put(tmp_path, "a.nex", text))


N_LONG = 40_000


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_nexus, "#NEXUS begin trees; tree" + " " * N_LONG + "; end;"),
        (read_nexus, "#NEXUS begin trees; tree" + "[]" * N_LONG + "a; end;"),
        (read_nexus, "#NEXUS begin trees; tre" + "=[ " * N_LONG + "]; end;"),
        (read_nexus, "#NEXUS begin taxa; taxlabels " + "a b," * N_LONG + "; end;"),
        (read_dotbracket, "." * N_LONG + "?"),
        (read_dotbracket, "(" * N_LONG + " ?" * N_LONG),
    ],
)
def test_text_made_to_take_long_is_refused_at_once(tmp_path, reader, text):
    """Quadratic time would be half a minute here."""
    path = put(tmp_path, "a.txt", text)
    start = time.process_time()
    with pytest.raises(ReadError):
        reader(path)
    assert time.process_time() - start < 2.0


def test_nests_of_any_depth(tmp_path):
    n = 100_000
    nexus = put(tmp_path, "a.nex", f"#NEXUS begin trees; tree a = {'(' * n}a{')' * n}; end;")
    assert read_nexus(nexus).n_nodes == n + 1
    assert read_dotbracket(put(tmp_path, "a.dbn", "(" * n + "." + ")" * n)).n_nodes == n + 2


def test_a_line_of_many_taxa(tmp_path):
    labels = " ".join(f"t{i}" for i in range(N_LONG))
    text = f"#NEXUS begin taxa; taxlabels {labels}; end; begin trees; tree a = (1,{N_LONG}); end;"
    start = time.process_time()
    forest = read_nexus(put(tmp_path, "a.nex", text))
    assert time.process_time() - start < 2.0
    assert forest.vocabulary == ("t0", f"t{N_LONG - 1}")


def test_a_number_that_is_the_name_of_a_taxon_is_that_taxon(tmp_path):
    text = "#NEXUS begin taxa; taxlabels x 1 y; end; begin trees; tree a = (1,3); end;"
    assert read_nexus(put(tmp_path, "a.nex", text)).vocabulary == ("1", "y")


def test_a_span_that_was_sent_again_counts_once(tmp_path):
    """Exporters that get no answer send a span again; Jaeger keeps both."""
    once, twice = (read(put(tmp_path, f"{n}.otlp.json", otlp(*SPANS * n))) for n in (1, 2))
    assert list(once) == list(twice)


def test_a_bad_file_does_not_count_its_broken_traces(tmp_path, caplog):
    """What is left out as a whole is not told again as a trace without its root."""
    orphan = {"traceId": "t", "spanId": "a", "parentSpanId": "x", "name": "n", "startTimeUnixNano": "1"}
    twice = [dict(orphan, traceId="u", parentSpanId="", name=name) for name in "nm"]
    good = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [dict(orphan, parentSpanId="")]}]}]})
    bad = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [orphan, *twice]}]}]})
    files = [put(tmp_path, "a.otlp.json", good), put(tmp_path, "b.otlp.json", bad)]
    with pytest.warns(SkippedFilesWarning, match="two spans have the id 'a'"):
        assert read_traces(files, broken="split", on_error="skip").n_trees == 1
    assert "traces" not in caplog.text


def test_burn_in_that_leaves_nothing(tmp_path):
    with pytest.raises(ReadError, match="burn_in=3 leaves none of its 3 trees"):
        read_nexus(put(tmp_path, "a.nex", NEXUS), burn_in=3)
    with pytest.raises(ReadError, match="burn_in=-1; wanted 0 or more"):
        read_nexus(tmp_path / "a.nex", burn_in=-1)


@st.composite
def nexus_texts(draw):
    taxa = draw(st.lists(st.sampled_from(["a", "b_c", "'d e'", "Homo", "x.y", "'it''s'"]), min_size=2, unique=True))
    keys = [str(n) if draw(st.booleans()) else f"k{n}" for n in range(1, len(taxa) + 1)]
    translated = draw(st.booleans())
    names = keys if translated else taxa
    rows = []
    for n in range(draw(st.integers(1, 3))):
        parts = draw(st.permutations(names))
        while len(parts) > 1:  # join two at a time
            first, second, *rest = parts
            length = draw(st.sampled_from(["", ":0.5", ":1e-3", "[&x=1]:2"]))
            parts = [*rest, f"({first}{length},{second})"]
        rows.append(f"tree t{n} = {draw(st.sampled_from(['', '[&R] ']))}{parts[0]};")
    pairs = ", ".join(f"{key} {taxon}" for key, taxon in zip(keys, taxa, strict=True))
    translate = f"translate {pairs};" if translated else ""
    return f"#NEXUS\nbegin taxa; dimensions ntax={len(taxa)}; taxlabels {' '.join(taxa)}; end;\n" + "\n".join(
        ["begin trees;", translate, *rows, "end;"]
    )


@QUICK
@given(text=nexus_texts())
def test_nexus_is_that_of_dendropy(tmp_path_factory, text):
    path = put(tmp_path_factory.mktemp("n"), "a.nex", text)
    theirs = dendropy.TreeList.get(path=str(path), schema="nexus", preserve_underscores=True)
    ours = Forest.from_objects(
        [tree.seed_node for tree in theirs], label=lambda u: u.taxon and u.taxon.label, children="child_nodes"
    )
    assert trees(read_nexus(path)) == trees(ours)


# ---- neurons --------------------------------------------------------------------------------------------------------

# A soma, a dendrite that forks, and an axon that turns into another type at its end.
SWC = """# from a microscope
 1 1 0 0 0 5 -1
 2 3 1 0 0 1 1
 3 3 2 0 0 1 2
 4 3 3 1 0 .5 3
 5 3 3 -1 0 0.5 3 # a tip
 6 2.0 -1 0 0 1e0 1

 7 2 -2 0 0 1 6
 8 7 -3 0 0 1 7
"""


def test_neurons(tmp_path):
    path = put(tmp_path, "n.swc", SWC)
    dendrite = "basal dendrite"
    sections = ("soma", [(dendrite, [dendrite, dendrite]), ("axon", ["type 7"])])
    assert read(path) == Forest.from_nested([sections], name=[str(path)])
    samples = ("soma", [(dendrite, [(dendrite, [dendrite, dendrite])]), ("axon", [("axon", ["type 7"])])])
    assert trees(read_swc(path, nodes="samples")) == Forest.from_nested([samples])


def test_samples_may_come_before_their_parents(tmp_path):
    lines = SWC.splitlines()
    forest = read_swc(put(tmp_path, "a.swc", "\n".join(lines[:1] + lines[:0:-1])))
    assert sorted(preorder(forest[0])) == sorted(preorder(read_swc(put(tmp_path, "b.swc", SWC))[0]))


def test_neurons_with_several_roots(tmp_path):
    path = put(tmp_path, "n.swc", SWC + "9 2 0 0 0 1 -1\n10 2 0 0 0 1 9\n")
    with pytest.raises(
        ReadError, match=r"n\.swc, line 11: a second root, after that of line 2, wanted one; roots=split"
    ):
        read_swc(path)
    assert read_swc(path, roots="split").sizes.tolist() == [6, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1 0 0 0 5", "line 1: found 6 columns, wanted 7"),
        ("1 1 0 0 0 5 -1\n1 1 0 0 0 5 1", "line 2: the id 1 is that of line 1 already"),
        ("1 1 0 0 0 5 -1\n2 1 0 0 0 5 3", "line 2: the parent 3 is not there"),
        ("1 1 0 0 0 5 2\n2 1 0 0 0 5 1", "the parents of this sample form a cycle"),
        ("1 1 0 0 0 nan -1", "line 1: found 'nan', wanted a number"),
        ("1 x 0 0 0 1 -1", "line 1: found the type 'x', wanted a whole number"),
        ("-1 1 0 0 0 1 -1", "found id -1 and type 1, wanted 0 or more"),
        ("# nothing\n", "there is no sample in it"),
    ],
)
def test_what_is_no_neuron(tmp_path, text, said):
    with pytest.raises(ReadError, match=said):
        read_swc(put(tmp_path, "a.swc", text))


def test_a_long_neurite(tmp_path):
    n = 50_000
    rows = "\n".join(f"{k} 2 0 0 0 1 {k - 1 if k > 1 else -1}" for k in range(1, n + 1))
    path = put(tmp_path, "a.swc", rows)
    assert (read_swc(path).n_nodes, read_swc(path, nodes="samples").n_nodes) == (2, n)


# ---- RNA ------------------------------------------------------------------------------------------------------------


def test_structures(tmp_path):
    path = put(tmp_path, "a.dbn", ">one two\nGGAAUCC\n((..).) (-1.2)\n\n((.))\nACGT\n....\n")
    forest = read(path)
    pair = ("()", [("()", [".", "."]), "."])
    wanted = [("root", [pair]), ("root", [("()", [("()", ["."])])]), ("root", list("...."))]
    names = [f"{path}#one two", f"{path}#2", f"{path}#3"]
    assert forest == Forest.from_nested(wanted, name=names)
    assert read(path, unpaired=False).n_nodes == 3 + 4


def test_bases(tmp_path):
    path = put(tmp_path, "a.dbn", "ggaaTCC\n((..).)\n")
    assert read(path, label="bases")[0] == Forest.from_nested([("root", [("GC", [("GU", ["A", "A"]), "C"])])])[0]
    with pytest.raises(ReadError, match="line 1: there is no sequence before this structure"):
        read(put(tmp_path, "b.dbn", "(.)"), label="bases")
    with pytest.raises(ReadError, match="line 2: found 3 places, wanted 4 as in the sequence"):
        read(put(tmp_path, "b.dbn", "ACGU\n(.)"), label="bases")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ACGU\n(.)", "line 2: found 3 places, wanted 4 as in the sequence"),
        (">a\nACG\n(.)\n>b\nACG\n", "line 4: there is no structure for the name or sequence here"),
        (">a\nACG\n>b\nACG\n(.)\n", "line 1: there is no structure"),
        ("(.)\nACG\n", "line 2: there is no structure"),
    ],
)
def test_records_cut_short_are_refused_whatever_the_labels(tmp_path, text, said):
    with pytest.raises(ReadError, match=said):
        read(put(tmp_path, "b.dbn", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(.))", "line 1, column 4: found '.' without '.'"),
        ("((.)", "line 1, column 1: this '.' is not closed"),
        ("(.[.)]", "line 1, column 3: found '.', a pair that may cross others"),
        ("AC1\n(.)", "line 1: found 'AC1', wanted a sequence of bases, or dots and brackets"),
    ],
)
def test_what_is_no_structure(tmp_path, text, said):
    with pytest.raises(ReadError, match=said):
        read_dotbracket(put(tmp_path, "a.dbn", text))


def test_pseudoknots_as_unpaired(tmp_path):
    path = put(tmp_path, "a.dbn", "(.[.)]A.a")
    assert trees(read_dotbracket(path, pseudoknots="unpaired")) == Forest.from_nested(
        [("root", [("()", list("...")), *"...."])]
    )


@QUICK
@given(nested=st.recursive(st.just("."), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=20))
def test_structures_as_written_by_recursion(tmp_path_factory, nested):
    def written(item):
        return item if isinstance(item, str) else f"({''.join(map(written, item))})"

    def wanted(item):
        return item if isinstance(item, str) else ("()", [wanted(below) for below in item])

    path = put(tmp_path_factory.mktemp("r"), "a.dbn", written(nested) + ".")
    assert trees(read_dotbracket(path)) == Forest.from_nested([("root", [wanted(nested), "."])])


# ---- all ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reader", "options"),
    [
        (read_traces, {"label": "x"}),
        (read_traces, {"broken": "x"}),
        (read_swc, {"nodes": "x"}),
        (read_swc, {"roots": "x"}),
        (read_dotbracket, {"label": "x"}),
        (read_dotbracket, {"pseudoknots": "x"}),
    ],
)
def test_options_that_mean_nothing(reader, options):
    (option,) = options
    with pytest.raises(ReadError, match=f"{option}='x'; wanted"):
        reader("nowhere", **options)
