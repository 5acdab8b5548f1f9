"""Which files are read: each once, by name or by content, and what is left out is told."""

import gzip
import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora.errors import ReadError
from arbora.io import read, read_json, read_newick, read_xml
from arbora.io.finding import find_files, search
from arbora.io.sniffing import BEGINNING, sniff


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


XML = ["a.xml", "b.svg", "c.rdf", "d.xsd", "e.weird", "f", "g.xslt.gz", "deep/h.gml"]


@pytest.fixture
def corpus(tmp_path):
    for name in XML:
        text = b"<?xml version='1.0'?>\n<!-- c --><r/>"
        put(tmp_path / "c" / name, gzip.compress(text) if name.endswith(".gz") else text)
    return tmp_path / "c"


def test_xml_of_any_suffix_is_read(corpus, caplog):
    assert read(corpus).n_trees == read_xml(corpus).n_trees == read(corpus, "xml").n_trees == len(XML)
    assert not caplog.records


def test_what_is_not_read_is_told_by_suffix(corpus, caplog):
    for name in ("1.txt", "2.txt", "x.png", "README", ".git/config"):
        put(corpus / name, b"\x89PNG\0\0" if name == "x.png" else "words")
    put(corpus / "t.nwk", "(a,b)c;")
    os.symlink("nowhere", corpus / "broken.xml")
    with caplog.at_level(logging.WARNING):
        assert read_xml(corpus).n_trees == len(XML)
    (said,) = caplog.messages
    assert said.startswith(f"{corpus}: 7 files were not read (")
    for part in ("2 .txt", "1 .png", "1 .nwk", "1 without a suffix", "1 hidden", "1 no regular file"):
        assert part in said
    found = search(corpus, ("xml",))
    assert len(found.files) + sum(found.not_read.values()) == sum(len(names) for _, _, names in os.walk(corpus))


def test_a_format_that_is_asked_for_applies_to_every_file_that_may_have_it(tmp_path):
    for name in ("a.nwk", "b.txt", "c", "d.phy"):
        put(tmp_path / name, "(x,y)r;")
    put(tmp_path / "p.py", "x = 1")
    put(tmp_path / "q.bin", b"\0\1\2")
    put(tmp_path / "r.unknown", "<r/>")
    found = search(tmp_path, ("newick",), every=True)
    assert [os.path.basename(path) for path in found.files] == ["a.nwk", "b.txt", "c", "d.phy"]
    assert found.not_read == {".py": 1, ".bin": 1, ".unknown": 1}
    assert read(tmp_path, "newick").n_trees == 4
    assert read_newick(tmp_path).n_trees == 1
    assert search(tmp_path, ("newick",)).not_read == {
        ".py": 1,
        ".bin": 1,
        ".unknown": 1,
        ".txt": 1,
        ".phy": 1,
        "without a suffix": 1,
    }


def test_a_folder_without_such_files_says_what_it_holds(tmp_path):
    put(tmp_path / "a.txt", "words")
    with pytest.raises(ReadError, match=r"no file in this directory ends in \.xml \(1 file was not read \(1 \.txt\)\)"):
        read_xml(tmp_path)


@pytest.mark.parametrize(
    ("data", "kind", "is_text"),
    [
        (b"<a/>", "xml", True),
        (b"\xef\xbb\xbf\n<!-- x --><a b='1'>", "xml", True),
        ("<?xml version='1.0'?><a/>".encode("utf-16"), "xml", True),
        (b"<!DOCTYPE article SYSTEM 'a'><article>", "xml", True),
        (b"<?xml version='1.0'?><html>", "xml", True),
        (b"<!doctype HTML><p>", "html", True),
        (b"<!-- c --><HTML lang=en>", "html", True),
        (b"<html5x/>", "xml", True),
        (b'{"a": 1}', "json", True),
        (b"[1, 2]", "json", True),
        (b' [ {"a": [] } ]', "json", True),
        (b'{"label": "a"}\n{"label": "b"}\n', "jsonl", True),
        (b'{"label": "a",\n"b": 1}\n', "json", True),
        (b"[&R] (a,b);", None, True),
        (b"(S (NP x))", None, True),
        (b"< no tag", None, True),
        (b"a < b", None, True),
        (b"", None, True),
        (b"\0<a/>", None, False),
        (b"<a/>\x01", None, False),
        (b"%PDF-1.4\n\x03", None, False),
    ],
)
def test_content_is_recognised(data, kind, is_text):
    assert sniff(data) == (kind, is_text)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_looked_at(data):
    kind, is_text = sniff(data)
    assert kind is None or is_text


def test_only_the_beginning_is_looked_at(tmp_path):
    put(tmp_path / "big.unknown", b"<a>" + b" " * (4 * BEGINNING) + b"\0</a>")
    assert search(tmp_path, ("xml",)).files


# ---- each file once -------------------------------------------------------------------------------------------------


def test_a_file_that_is_named_twice_is_read_once(tmp_path, caplog, monkeypatch):
    put(tmp_path / "a.xml", "<a/>")
    put(tmp_path / "b.xml", "<b/>")
    os.symlink("a.xml", tmp_path / "c.xml")
    monkeypatch.chdir(tmp_path)
    for source in (
        ["a.xml", "a.xml"],
        ["a.xml", os.path.join(tmp_path, "a.xml")],
        ["a.xml", "c.xml"],
        ["a.xml", "./a.xml", "a.*"],
    ):
        caplog.clear()
        assert read_xml(source).name.tolist() == ["a.xml"]
        assert "named twice and read once" in caplog.text
    assert read_xml(["b.xml", tmp_path]).n_trees == 2
    assert read_xml(".").n_trees == 2
    os.link("b.xml", tmp_path / "copy.xml")  # two names in their own right
    assert read_xml(".").n_trees == 3


def test_links_that_form_a_loop_are_gone_through_once(tmp_path, monkeypatch):
    put(tmp_path / "d/a.xml", "<a/>")
    put(tmp_path / "d/e/b.xml", "<b/>")
    for name in ("loop", "e/loop", "e/again"):
        os.symlink(tmp_path / "d", tmp_path / "d" / name)
    other = put(tmp_path / "far/c.xml", "<c/>").parent
    os.symlink(other, tmp_path / "d/link")
    monkeypatch.chdir(tmp_path)
    wanted = ["d/a.xml", "d/e/b.xml", "d/link/c.xml"]
    for source in ("d", "d/**/*.xml", "**/d/**/*.xml"):
        found = find_files(source, ("xml",))
        assert [os.path.realpath(path) for path in found] == [os.path.realpath(path) for path in wanted]


@pytest.mark.parametrize(
    "pattern",
    ["**", "**/*", "**/*.x", "a/**", "a/**/*.x", "**/b/**", "a/**/b/**/*.x", "**/.h/*", "*/**/c.x", "**/[!.]?x"]
)  # fmt: skip
def test_patterns_mean_what_they_mean_to_glob(tmp_path, monkeypatch, pattern):
    import glob

    for name in ("c.x", "a/c.x", "a/b/c.x", "a/b/b/d.y", "a/.h/c.x", ".h/c.x", "b/.hidden.x", "b/q"):
        put(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)
    for start in ("", f"{tmp_path}/", "./"):
        wanted = sorted(path for path in set(glob.glob(start + pattern, recursive=True)) if os.path.isfile(path))
        assert find_files(start + pattern, ("xml",)) == wanted


def test_many_links_take_no_longer_than_few(tmp_path, monkeypatch):
    """Paths through six folders that all lead to each other would be hundreds of thousands."""
    for name in "abcdef":
        put(tmp_path / name / f"{name}.xml", "<a/>")
    for name in "abcdef":
        for other in "abcdef":
            os.symlink(tmp_path / other, tmp_path / name / f"to_{other}")
    monkeypatch.chdir(tmp_path)
    for source in (".", "**/*.xml", "**/to_a/**/*.xml", "**/a/**/to_b/**/*.xml"):
        assert len(find_files(source, ("xml",))) == 6


def test_json_of_other_suffixes(tmp_path):
    put(tmp_path / "a.geojson", '{"a": 1}')
    put(tmp_path / "b.ipynb", '{"b": []}')
    assert read(tmp_path).n_trees == read_json(tmp_path).n_trees == 2
