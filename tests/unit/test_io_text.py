"""Newick, brackets, CoNLL-U, INEX lines and Python source: exact trees and faults that say where."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbora import Forest, ReadError
from arbora.io import read_brackets, read_conllu, read_elastic, read_newick, read_python
from arbora.io.builder import Columns, Fault
from arbora.io.formats import newick
from tests import examples


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def trees(reader, tmp_path, text, **options):
    forest = reader(put(tmp_path / "a.txt", text), **options)
    forest.validate()
    return forest.with_name(None)


def fault(reader, tmp_path, text, **options):
    with pytest.raises(ReadError) as caught:
        reader(put(tmp_path / "a.txt", text), **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / "a.txt"))
    return message.removeprefix(str(tmp_path / "a.txt"))


READERS = [read_newick, read_brackets, read_conllu, read_elastic, read_python]


@pytest.mark.parametrize("reader", READERS)
def test_any_text_gives_a_forest_or_a_read_error(tmp_path, reader):
    pieces = st.sampled_from(
        ["(", ")", ",", ";", ":", "a", "b c", "'", "''", "[", "]", "1:", "$", "\t", "\n", "0", "1", "#"]
    )

    @given(st.lists(pieces | st.text(max_size=3), max_size=15).map("".join))
    def check(text):
        with contextlib.suppress(ReadError):
            trees(reader, tmp_path, text.encode("utf-8", "surrogatepass"))

    check()


@pytest.mark.parametrize("reader", [read_newick, read_brackets, read_conllu, read_elastic])
def test_a_file_without_trees_is_an_empty_forest(tmp_path, reader):
    assert len(trees(reader, tmp_path, "\n \n")) == 0


# ---- Newick ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a;", ["a"]),
        ("(a,b)c;", [("c", ["a", "b"])]),
        ("(a,b);\n((c)d,e)f;", [(None, ["a", "b"]), ("f", [("d", ["c"]), "e"])]),
        ("(,(,));", [(None, [None, (None, [None, None])])]),
        ("('a b','it''s':1)'(x)';", [("(x)", ["a b", "it's"])]),
        ("( a_1 , b )\n c ;", [("c", ["a_1", "b"])]),
        ("[&R] (a[one [two]],b[;)])c[x]:1[y];", [("c", ["a", "b"])]),
        ("('[not a comment]',b)c;", [("c", ["[not a comment]", "b"])]),
        ("(a[it's],b[don't],c)d;", [("d", ["a", "b", "c"])]),
        ("[it's a test](a,b);\n[isn't](c,'d[''s]');", [(None, ["a", "b"]), (None, ["c", "d['s]"])]),
        ("(a:1,b:2.5e-3,:-1)c:0;", [("c", ["a", "b", None])]),
        ("(a,'')c;", [("c", ["a", None])]),
    ],
)
def test_newick(tmp_path, text, wanted):
    assert trees(read_newick, tmp_path, text) == Forest.from_nested(wanted)


def test_newick_options(tmp_path):
    text = "(a:0.05,b:0.1,c:7,d,:2)e;"
    assert trees(read_newick, tmp_path, text, unnamed="inner")[0]["children"][4]["label"] == "inner"
    binned = trees(read_newick, tmp_path, text, length_bins=[0.1, 1])
    assert binned == Forest.from_nested([("e", ["a|0", "b|1", "c|2", "d", "|2"])])
    for bins in ([], [1, 1], [2, 1], [float("nan"), 1]):
        with pytest.raises(ReadError, match="wanted one edge or more, increasing"):
            read_newick(tmp_path, length_bins=bins)


@given(
    st.lists(
        st.sampled_from(
            [*"(),;: 'ab", "(a,b)", "(,)c;", "(a:1,b:.5e-3)c:2.;", "a;", ":1e5", ":nan", "\n", "\u2003", "é"]
        ),
        max_size=12,
    ).map("".join),
    st.sampled_from([None, "none"]),
    st.sampled_from([{}, {"a": "Alpha", "c": "b"}]),
)
@example("(a,b)c;(a,b:0.1 )c:1;", None, {})
@example("(a,b):1c;", None, {})
@example(":1(a,b);", None, {})
@example(";", None, {})
def test_newick_at_once_reads_as_name_by_name(text, unnamed, full):
    naming, found = newick.Naming(unnamed, None, full), []
    at_once = Columns()
    assert newick.add_plain_trees(text, naming, at_once) or not at_once.depth
    for columns in (at_once, Columns()):
        if columns is not at_once or not columns.depth:  # a text that needs a closer look
            with contextlib.suppress(Fault):
                newick.add_trees(text, 0, len(text), naming, columns)
        words = [*columns.words, *[None] * 2]
        found.append((columns.depth, [words[code] for code in columns.label], len(columns.name)))
    assert found[0] == found[1]


def test_newick_at_once_takes_what_is_common(tmp_path, monkeypatch):
    text = "((a:0.1,b)c:1e-3,(a,,d)) ;\n(b,c)a;b;" * 40
    assert newick.add_plain_trees(text, newick.Naming(None, None), Columns())
    (tmp_path / "a.nwk").write_text(text)
    forest = read_newick(tmp_path)
    monkeypatch.setattr(newick, "add_plain_trees", lambda *_: False)
    again = read_newick(tmp_path)
    assert forest.n_trees == 120
    assert all(forest[t] == again[t] for t in range(120))


def test_newick_names(tmp_path):
    one, two = put(tmp_path / "1.nwk", "(a)b;"), put(tmp_path / "2.nwk", "a;b;")
    assert read_newick(tmp_path).name.tolist() == [str(one), f"{two}#1", f"{two}#2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a,b)c", ", line 1, column 7: found the end of the file, wanted ';' after the root"),
        ("(a,\n(b,c);", ", line 2, column 6: found ';', wanted ',' or ')', with 1 '(' still open"),
        ("a,b;", ", line 1, column 2: found ',', wanted ';' after the root"),
        ("(a))b;", ", line 1, column 4: found ')', wanted ';' after the root"),
        ("(a b);", ", line 1, column 4: found 'b', wanted ',' or ')'"),
        ("a(b);", ", line 1, column 2: found '(', wanted ';' after the root"),
        ("(a)(b);", ", line 1, column 4: found '('"),
        (";", ", line 1, column 1: found ';', wanted a tree before it"),
        ("(a:);", ", line 1, column 3: found ':', wanted one number after ':'"),
        ("(a:1:2);", ", line 1, column 5: found ':', wanted one number after ':'"),
        ("(a:long)b;", ", line 1, column 4: found the branch length 'long', wanted a number"),
        ("(a:1_0)b;", ", line 1, column 4: found the branch length '1_0', wanted a number"),
        ("(a:\u0661)b;", ", line 1, column 4: found the branch length '\u0661', wanted a number"),
        ("('a,b);", ', line 1, column 2: found "\'"'),
        ("(a,b)c;\n(a[x,b);", ", line 2, column 3: the comment is not closed, wanted ']'"),
        ("(a],b);", ", line 1, column 3: found ']' without '['"),
    ],
)
def test_bad_newick(tmp_path, text, message):
    assert fault(read_newick, tmp_path, text).startswith(message)


NAMES = st.sampled_from(["a", "b", "it's", "(x", "[y]", "z w", ",", "é"])


def test_newick_round_trip(tmp_path):
    @given(examples.forests(labels=NAMES | st.none(), slots=False))
    def check(forest):
        text = "".join(newick_text(tree) + ";\n" for tree in forest)
        assert trees(read_newick, tmp_path, text) == forest

    check()


def newick_text(node):
    inner = ",".join(newick_text(child) for child in node.get("children", ()))
    quoted = "''" if node["label"] is None else "'" + node["label"].replace("'", "''") + "'"
    return f"({inner}){quoted}" if inner else quoted


# ---- brackets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(a)", ["a"]),
        (
            "(S (NP (DT the) (NN cat))\n   (VP sleeps)) (X)",
            [("S", [("NP", [("DT", ["the"]), ("NN", ["cat"])]), ("VP", ["sleeps"])]), "X"],
        ),
        ("( (S (NP it)) )", [("S", [("NP", ["it"])])]),
        ("((A) (B))", [(None, ["A", "B"])]),
        ("(S ((A) b))", [("S", [(None, ["A", "b"])])]),
        ("(-LRB- -LRB-)(S, .)", [("-LRB-", ["-LRB-"]), ("S,", ["."])]),
        ("()", [None]),
    ],
)
def test_brackets(tmp_path, text, wanted):
    assert trees(read_brackets, tmp_path, text) == Forest.from_nested(wanted)


def test_brackets_without_words(tmp_path):
    text = "(S (NP (DT the)) (VP sleeps))"
    assert trees(read_brackets, tmp_path, text, leaves=False) == Forest.from_nested([("S", [("NP", ["DT"]), "VP"])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a)\n(S (NP x)", ", line 2, column 1: the tree that starts here is not closed, wanted 1 more ')'"),
        ("(a))", ", line 1, column 4: found ')' outside a tree, wanted '('"),
        ("(a)\n word", ", line 2, column 2: found 'word' outside a tree, wanted '('"),
    ],
)
def test_bad_brackets(tmp_path, text, message):
    assert fault(read_brackets, tmp_path, text) == message


def test_brackets_names(tmp_path):
    path = put(tmp_path / "a.mrg", "(a) ((b))")
    assert read_brackets(path).name.tolist() == [f"{path}#1", f"{path}#2"]


# ---- depth ----------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("reader", "opening", "middle", "closing"),
    [
        (read_newick, "(", "a", ")b"),
        (read_brackets, "(b ", "a", ")"),
        (read_elastic, "b(", "a($)", ")"),
    ],
)
def test_a_million_levels(tmp_path, reader, opening, middle, closing):
    n = 1_000_000
    start, end = ("7:" if reader is read_elastic else ""), (";" if reader is read_newick else "")
    forest = trees(reader, tmp_path, start + opening * n + middle + closing * n + end)
    assert forest.describe()["max_depth"] == n
    assert forest.vocabulary == ("a", "b")
    assert forest.label[0] == 0


@pytest.mark.compiled
def test_a_sentence_of_a_hundred_thousand_levels(tmp_path):
    lines = [f"{n + 1}\tw\tw\tX\t_\t_\t{n}\tdep\t_\t_" for n in range(100_000)]
    assert trees(read_conllu, tmp_path, "\n".join(lines)).describe()["max_depth"] == 99_999


# ---- CoNLL-U --------------------------------------------------------------------------------------------------------

SENTENCES = """# sent_id = 1
1-2\tdont\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tnt\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\t_\t_\t_\t_\t_\t_
4\tthere\tthere\tADV\t_\t_\t3\tadvmod\t_\t_

1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
"""


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("deprel", [("root", ["aux", "advmod", "advmod"]), "root"]),
        ("upos", [("VERB", ["AUX", "PART", "ADV"]), "INTJ"]),
        ("form", [("go", ["do", "nt", "there"]), "Yes"]),
        ("lemma", [("go", ["do", "not", "there"]), "yes"]),
    ],
)
def test_conllu(tmp_path, label, wanted):
    for text in (SENTENCES, SENTENCES.replace("\n", "\r\n"), SENTENCES.rstrip()):
        assert trees(read_conllu, tmp_path, text, label=label) == Forest.from_nested(wanted)


def test_ranges_and_empty_nodes_are_no_words(tmp_path):
    text = word("0.1", "_") + word("1-2", "_") + word(1, 0) + word("1.1", "_") + word(2, 1) + word("2.10", "_")
    assert trees(read_conllu, tmp_path, text) == Forest.from_nested([("dep", ["dep"])])


def test_conllu_names(tmp_path):
    path = put(tmp_path / "a.conllu", SENTENCES)
    assert read_conllu(path).name.tolist() == [f"{path}#1", f"{path}#2"]


def word(n, head):
    return f"{n}\tw\tw\tX\t_\t_\t{head}\tdep\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tw\tw\n", ", line 1: found 3 columns, wanted 10"),
        ("# c\n" + word(1, "_"), ", line 2: found ID '1' and HEAD '_', wanted whole numbers"),
        (word("²", 0), ", line 1: found ID '²'"),
        *((word(1, 0) + word(odd, 1), f", line 2: found ID '{odd}'") for odd in ("-5", "a-b", "x.y", "1-", "2.", ".1")),
        *((word(1, 0) + word(odd, 1), f", line 2: found ID '{odd}'") for odd in ("1.0", "01-2", "1-2-3", "1.2.3", "")),
        (word(1, 0) + word("2-1", "_"), ", line 2: found the range '2-1', wanted one that increases"),
        (word(1, 0) + word("1-1", "_"), ", line 2: found the range '1-1', wanted one that increases"),
        (word("1-2", "_") + "\n" + word(1, 0), ", line 1: the sentence of this line has no words"),
        (word(1, 0) + word(2, 5), ", line 2: HEAD 5 is not a word of the sentence"),
        (word(1, 0) + "\n" + word(1, 2) + word(2, 1), ", line 3: the sentence that starts here has 0 roots"),
        (word(1, 0) + word(2, 0), ", line 1: the sentence that starts here has 2 roots"),
        (word(1, 0) + word(2, 3) + word(3, 2), ", line 1: the heads of the sentence that starts here form a cycle"),
        (word(1, 0) + word(1, 1), ", line 1: two words of the sentence that starts here have the same ID"),
    ],
)
def test_bad_conllu(tmp_path, text, message):
    assert fault(read_conllu, tmp_path, text).startswith(message)


def test_conllu_label_option(tmp_path):
    with pytest.raises(ReadError, match="label='xpos'; wanted"):
        read_conllu(tmp_path, label="xpos")


# ---- INEX lines -----------------------------------------------------------------------------------------------------


def test_elastic(tmp_path):
    path = put(tmp_path / "a.elastic", "3:10(9($) 2(9($) 10($)) )\n1:9($)\n")
    wanted = Forest.from_nested(
        [("10", ["9", ("2", ["9", "10"])]), "9"], target=[3, 1], name=[f"{path}:1", f"{path}:2"]
    )
    forest = read_elastic(path)
    assert forest == wanted
    assert forest.vocabulary == ("2", "9", "10")
    assert forest.target.dtype.kind == "i"


def test_elastic_classes_may_be_words(tmp_path):
    assert trees(read_elastic, tmp_path, "news:a($)\n2:b($)").target.tolist() == ["news", "2"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("10(9($))", ", column 1: found '10(9($))', wanted class:label(...)"),
        ("1:", ", column 3: the tree is empty"),
        ("1:a(b($)", ", column 8: 1 brackets are still open at the end of the line"),
        ("1:a($))", ", column 7: found ')'"),
        ("1:a($) b($)", ", column 8: found 'b' after the end of the tree, wanted one tree per line"),
        ("1:a(b c($))", ", column 5: found 'b', wanted label(children) or label($)"),
        ("1:a(b($) $)", ", column 10: found '$'"),
    ],
)
def test_bad_elastic(tmp_path, line, message):
    assert fault(read_elastic, tmp_path, "1:a($)\n" + line).startswith(", line 2" + message)


# ---- Python ---------------------------------------------------------------------------------------------------------


def test_python(tmp_path):
    text = "def f(x):\n    return x + 1\n"
    wanted = (
        "Module",
        [("FunctionDef", [("arguments", ["arg"]), ("Return", [("BinOp", ["Name", "Add", "Constant"])])])],
    )
    assert trees(read_python, tmp_path, text) == Forest.from_nested([wanted])
    named = trees(read_python, tmp_path, text, names=True)
    assert set(named.vocabulary) >= {"FunctionDef:f", "arg:x", "Name:x", "Constant"}
    assert named.n_nodes == 9


def test_python_is_read_as_its_own_encoding_and_without_warnings(tmp_path):
    forest = trees(read_python, tmp_path, "# coding: latin-1\né = '\\d'\n".encode("latin-1"), names=True)
    assert "Name:é" in forest.vocabulary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = = 2\n", ", line 2, column 5: not Python of this version (invalid syntax)"),
        ("x = \0", "not Python"),
        ("x = " + "(" * 5000, "not Python of this version (too many nested parentheses)"),
        ("x = " + "-" * 100_000 + "1", ""),
        ("x = " + "9" * 10_000, "not Python"),
        (b"x = '\xff'", "not Python"),
    ],
    ids=range(6),
)
def test_bad_python(tmp_path, text, message):
    assert message in fault(read_python, tmp_path, text)


def test_python_of_many_terms(tmp_path):
    """Deeper than the recursion limit of this interpreter, which must not matter to our own walk."""
    assert trees(read_python, tmp_path, "x = 1" + " + 1" * 900).n_nodes == 4 + 3 * 900
