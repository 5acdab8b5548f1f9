"""Finding files, gzip, the error policy, names, progress, and choosing the reader."""

import gzip
import inspect
import io
import os
import sys
import warnings

import pytest

from arbora import Forest, ReadError
from arbora import progress as bars
from arbora.errors import SkippedFilesWarning
from arbora.io import FORMATS, read, read_elastic, read_jsonl, read_newick, read_xml, write_jsonl


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.fixture
def corpus(tmp_path):
    put(tmp_path / "b.xml", "<b/>")
    put(tmp_path / "a.xml", "<a/>")
    put(tmp_path / "deep" / "er" / "c.xml", "<c/>")
    put(tmp_path / "deep" / "note.txt", "no tree")
    put(tmp_path / "z.xml.gz", gzip.compress(b"<z/>"))
    return tmp_path


def roots(forest):
    return [tree["label"] for tree in forest]


# ---- finding --------------------------------------------------------------------------------------------------------


def test_sources_of_every_kind(corpus):
    assert roots(read_xml(corpus)) == ["a", "b", "c", "z"]
    assert roots(read_xml(str(corpus / "a.xml"))) == ["a"]
    assert roots(read_xml(str(corpus / "*.xml"))) == ["a", "b"]
    assert roots(read_xml(str(corpus / "**" / "*.xml"))) == ["a", "b", "c"]
    assert roots(read_xml([corpus / "b.xml", str(corpus / "a.xml")])) == ["b", "a"]
    assert roots(read_xml([str(corpus / "deep"), str(corpus / "?.xml*")])) == ["c", "a", "b", "z"]


def test_names_are_the_paths_as_given(corpus, monkeypatch):
    monkeypatch.chdir(corpus)
    assert read_xml("*.xml").name.tolist() == ["a.xml", "b.xml"]
    assert read_xml(["b.xml", "deep"]).name.tolist() == ["b.xml", os.path.join("deep", "er", "c.xml")]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    assert roots(read_xml(put(tmp_path / "a[1].xml", "<odd/>"))) == ["odd"]


@pytest.mark.parametrize("source", ["nowhere.xml", "nowhere/*.xml", ".", [], 3, b"a.xml", "nul\0.xml"])
def test_nothing_to_read_is_an_error(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match=r"no such file|no file|is empty|cannot read from"):
        read_xml(source)


def test_a_file_that_cannot_be_opened(tmp_path, monkeypatch):
    path = put(tmp_path / "a.xml", "<a/>")

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ReadError, match=r"a\.xml: the file cannot be opened \(permission denied\)"):
        read_xml(path)


@pytest.mark.parametrize(
    "data",
    [b"not gzip at all", gzip.compress(b"<a/>" * 999)[:-12], gzip.compress(b"<a/>")[:5]],
    ids=["no gzip", "cut short", "header only"],
)
def test_damaged_gzip(tmp_path, data):
    with pytest.raises(ReadError, match=r"a\.xml\.gz: the gzip data is damaged or cut short"):
        read_xml(put(tmp_path / "a.xml.gz", data))
    with pytest.raises(ReadError, match="the gzip data is damaged or cut short"):
        read_elastic(put(tmp_path / "a.elastic.gz", data))


# ---- the error policy -----------------------------------------------------------------------------------------------


def test_skipping_files_counts_them_and_gives_the_first_reason(corpus):
    put(corpus / "aa.xml", "<open>")
    put(corpus / "bb.xml", "")
    with pytest.raises(ReadError, match=r"aa\.xml, line 1, column 7: not well-formed XML"):
        read_xml(corpus)
    with pytest.warns(SkippedFilesWarning) as caught:
        forest = read_xml(corpus, on_error="skip")
    assert roots(forest) == ["a", "b", "c", "z"]
    assert forest.vocabulary == ("a", "b", "c", "z")
    assert len(caught) == 1
    assert "2 bad files or lines" in str(caught[0].message)
    assert "aa.xml, line 1" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_skipping_lines_keeps_the_others(tmp_path):
    path = put(tmp_path / "a.elastic", "1:a(b($))\n\n2:a(\n3:c($)\nx\n")
    with pytest.raises(ReadError, match=r"a\.elastic, line 3, column 4: 1 brackets are still open"):
        read_elastic(path)
    with pytest.warns(SkippedFilesWarning, match="2 bad files or lines"):
        forest = read_elastic(path, on_error="skip")
    assert forest == Forest.from_nested([("a", ["b"]), "c"], target=[1, 3], name=[f"{path}:1", f"{path}:4"])


def test_a_broken_file_of_lines_goes_as_a_whole(tmp_path):
    whole = gzip.compress(b"".join(b"1:a(b($) %d($))\n" % n for n in range(9999)))
    put(tmp_path / "a.elastic.gz", whole[: len(whole) // 2])
    put(tmp_path / "b.elastic", "7:z($)")
    with pytest.warns(SkippedFilesWarning, match="1 bad file or line"):
        forest = read_elastic(tmp_path, on_error="skip")
    assert forest.vocabulary == ("z",)
    assert forest.target.tolist() == [7]


def test_all_bad_is_an_error_even_when_skipping(tmp_path):
    put(tmp_path / "a.xml", "<a>")
    with pytest.raises(ReadError, match=r"nothing could be read; the first reason: .*a\.xml, line 1"):
        read_xml(tmp_path, on_error="skip")


def test_bad_policy(corpus):
    with pytest.raises(ReadError, match="on_error='ignore'; wanted"):
        read_xml(corpus, on_error="ignore")


def test_files_without_a_tree_are_told(tmp_path, caplog):
    """An empty file is an empty forest, as `write_jsonl` writes one; among others it is told."""
    empty, blank = put(tmp_path / "a.jsonl", ""), put(tmp_path / "b.jsonl", "\n \n")
    assert read_jsonl(empty).n_trees == read_jsonl(blank).n_trees == 0
    assert not caplog.text
    put(tmp_path / "c.jsonl", '{"label": "a"}\n')
    assert read_jsonl(tmp_path).n_trees == 1
    assert "2 of 3 files have no tree in them, such as " in caplog.text
    assert empty in caplog.text


def test_good_files_do_not_warn(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_xml(corpus, on_error="skip")) == 4


def test_vocabulary_is_kept(corpus):
    forest = read_xml(corpus, vocabulary=("z", "a", "q"))
    assert forest.vocabulary == ("z", "a", "q")
    assert forest.label.tolist() == [1, -1, -1, 0]


def test_not_utf8_names_the_line(tmp_path):
    path = put(tmp_path / "a.nwk", b"(a,b);\n(a,\xff);\n")
    with pytest.raises(ReadError, match=r"a\.nwk, line 2: byte 0xff is not UTF-8"):
        read_newick(path)
    path = put(tmp_path / "a.jsonl", b'{"label": "a"}\n{"label": "\xe9"}\n')
    with pytest.raises(ReadError, match=r"a\.jsonl, line 2: byte 0xe9 is not UTF-8"):
        read_jsonl(path)


def test_a_byte_order_mark_is_no_label(tmp_path):
    assert roots(read_newick(put(tmp_path / "a.nwk", b"\xef\xbb\xbfa;"))) == ["a"]


# ---- progress -------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(
    ("progress", "terminal", "quiet_seconds", "shows"),
    [
        (None, True, 0, True),
        (None, True, 99, False),
        (None, False, 0, False),
        (True, True, 1, True),
        (False, True, 0, False),
    ],
)
def test_progress_only_where_it_is_wanted(corpus, monkeypatch, progress, terminal, quiet_seconds, shows):
    monkeypatch.setattr(sys, "stderr", Terminal(terminal))
    monkeypatch.setattr(bars, "QUIET_SECONDS", quiet_seconds)
    monkeypatch.setenv("TERM", "xterm")
    read_xml(corpus, progress=progress)
    assert ("reading" in sys.stderr.getvalue()) == shows


# ---- choosing -------------------------------------------------------------------------------------------------------


def test_read_chooses_by_suffix(tmp_path):
    texts = {
        "a.xml": "<r><x/></r>",
        "a.jsonl": '{"label": "r", "children": [{"label": "x"}]}',
        "a.nwk": "(x)r;",
        "a.tree": "(x)r;",
        "a.mrg": "(r x)",
        "a.conllu": "1\tx\tx\t_\t_\t_\t2\tx\t_\t_\n2\tr\tr\t_\t_\t_\t0\tr\t_\t_\n",
    }
    wanted = Forest.from_nested([("r", ["x"])])
    for name, text in texts.items():
        assert read(put(tmp_path / name, text)).with_name(None) == wanted, name
    for name in ("a.forest", "a.parquet"):
        wanted.save(tmp_path / name)
        assert read(tmp_path / name) == wanted
    write_jsonl(wanted, tmp_path / "b.jsonl.gz")
    assert read(tmp_path / "b.jsonl.gz") == wanted
    assert read(put(tmp_path / "a.elastic.tree", "5:r(x($))")).target.tolist() == [5]
    assert read(put(tmp_path / "a.HTML", "<p>")).vocabulary == ("body", "html", "p")
    assert read(put(tmp_path / "a.json", "[1]")).vocabulary == ("#number", "[]")
    assert read(put(tmp_path / "a.py", "")).vocabulary == ("Module",)


def test_read_by_format_and_options(tmp_path):
    path = put(tmp_path / "a.dat", "<r a='1'/>")
    assert read(path, "xml", attributes=True).vocabulary == ("@a", "r")
    assert read(path).vocabulary == ("r",)
    with pytest.raises(ReadError, match=r"b\.dat: neither name nor content shows the format; choose one by format="):
        read(put(tmp_path / "b.dat", "(a,b)c;"))
    with pytest.raises(ReadError, match="format='yaml'; wanted one of brackets"):
        read(path, "yaml")
    with pytest.raises(ReadError, match="colour='red': the reader of xml has no such option"):
        read(path, "xml", colour="red")


def test_read_a_folder_of_one_format_or_say_that_it_is_mixed(corpus):
    assert roots(read(corpus)) == ["a", "b", "c", "z"]
    put(corpus / "t.nwk", "a;")
    with pytest.raises(ReadError, match=r"several formats \(newick, xml\); choose one by format="):
        read(corpus)
    assert roots(read_newick(corpus)) == ["a"]
    with pytest.raises(ReadError, match=r"note\.txt, line 1"):  # a format that is asked for applies to it, too
        read(corpus, "newick")


def test_stored_forests_are_joined(tmp_path):
    Forest.from_nested(["a"]).save(tmp_path / "1.forest")
    Forest.from_nested(["b"]).save(tmp_path / "2.forest")
    assert roots(read(tmp_path)) == ["a", "b"]


def test_every_reader_has_the_common_options():
    for name, format in FORMATS.items():
        if format.parts is not None:
            continue
        parameters = inspect.signature(format.reader).parameters
        assert {"on_error", "vocabulary", "progress"} <= set(parameters), name
        assert parameters["on_error"].default == "raise"
        assert all("." in suffix.removesuffix(".gz") for suffix in format.suffixes), name
