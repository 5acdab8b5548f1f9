"""Trees behind URLs, by fsspec's file system in memory."""

import functools
import gzip
import http.server
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.errors import MissingDependencyError
from arbora.files.urls import as_given, is_url

fsspec = pytest.importorskip("fsspec", reason="arbora[remote] is not installed")


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.pipe(
        {
            "/corpus/a.xml": b"<a><b/></a>",
            "/corpus/sub/b.xml": b"<a/>",
            "/corpus/notes.txt": b"no tree",
            "/corpus/lines.jsonl.gz": gzip.compress(b'{"label": "x"}\n{"label": "y"}\n'),
            "/broken/bad.xml": b"<a>",
        }
    )
    yield system
    for folder in ("/corpus", "/broken"):
        system.rm(folder, recursive=True)


def test_files_patterns_and_folders(memory, caplog):
    assert ab.read("memory://corpus/a.xml")[0] == {"label": "a", "children": [{"label": "b"}]}
    assert ab.read("memory://corpus/**/*.xml").n_trees == 2
    assert ab.read_xml("memory://corpus").name.tolist() == ["memory:///corpus/a.xml", "memory:///corpus/sub/b.xml"]
    assert ".txt" in caplog.text  # what was not read is said
    assert ab.read("memory://corpus/lines.jsonl.gz").vocabulary == ("x", "y")
    assert ab.read(["memory://corpus/a.xml", "memory://corpus/a.xml"]).n_trees == 1


def test_a_file_without_suffix_is_recognised(memory):
    memory.pipe("/corpus/page", b"<html><body><p>x</p></body></html>")
    assert ab.read("memory://corpus/page")[0]["label"] == "html"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://corpus/none.xml", "there is no such file"),
        ("memory://corpus/*.nwk", "no file matches"),
        ("nowhere://x", "check the part before"),
        ("memory://broken/bad.xml", "not well-formed"),
    ],
)
def test_faults_name_the_url(memory, url, message):
    with pytest.raises(ab.ReadError, match=message) as caught:
        ab.read(url)
    assert str(caught.value).startswith(url)


def test_commands_take_urls(memory, tmp_path):
    done = CliRunner().invoke(app, ["convert", "memory://corpus/**/*.xml", str(tmp_path / "out.jsonl")])
    assert done.exit_code == 0, done.stderr
    assert ab.read(tmp_path / "out.jsonl").n_trees == 2
    done = CliRunner().invoke(app, ["convert", "memory://corpus/lines.jsonl.gz", str(tmp_path / "out.store")])
    assert done.exit_code == 0, done.stderr
    assert ab.ForestStore(tmp_path / "out.store").n_trees == 2


def test_models_take_urls(memory):
    assert ab.TreePatterns(["labels"], min_trees=1).fit_transform("memory://corpus/**/*.xml").shape == (2, 2)


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingDependencyError, match=r"install arbora\[remote\]"):
        ab.read("memory://corpus/a.xml")


def test_what_is_a_url():
    assert is_url("s3://bucket/key")
    assert not any(map(is_url, ("C:/folder", "a.xml", Path("a"))))
    assert as_given(Path("s3://bucket/key")) == "s3://bucket/key"
    assert as_given(Path("folder/a.xml")) == str(Path("folder/a.xml"))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.filterwarnings("ignore")  # of the client's loop
def test_files_of_a_server_are_read_by_lines_and_whole(tmp_path):
    """The file objects of servers have fewer methods than files: lines up to a length are none of them."""
    pytest.importorskip("aiohttp")
    (tmp_path / "a.jsonl").write_text('{"label": "x"}\n{"label": "y"}\n')
    (tmp_path / "a.iupac").write_text("Gal(b1-4)Glc\n" * 3)
    (tmp_path / "a.xml").write_text("<a/>")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"label": "x"}\n' * 9))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        assert [ab.read(f"{at}/{name}").n_trees for name in ("a.jsonl", "a.iupac", "a.xml", "b.jsonl.gz")] == [
            2,
            3,
            1,
            9,
        ]
        with pytest.raises(ab.ReadError, match=r"a.jsonl, line 1: the line holds more than 9 bytes"):
            ab.read_jsonl(f"{at}/a.jsonl", max_bytes=9)
        server.shutdown()
