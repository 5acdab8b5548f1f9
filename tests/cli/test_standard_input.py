"""``-`` on the command line reads standard input."""

import json

import pytest
from typer.testing import CliRunner

from arbora.cli import app
from arbora.cli.standard_input import spooled


@pytest.fixture(autouse=True)
def fresh():
    spooled.cache_clear()
    yield
    spooled.cache_clear()


def run(*words, given):
    return CliRunner().invoke(app, [str(word) for word in words], input=given)


def test_trees_from_standard_input(tmp_path):
    out = tmp_path / "trees.jsonl"
    done = run("convert", "-", out, given='{"user": 1}\n{"error": {"line": 3}}\n')
    assert done.exit_code == 0, done.stderr
    assert [json.loads(line)["name"] for line in out.read_text().splitlines()] == ["stdin:1", "stdin:2"]


def test_the_format_is_recognised_or_given():
    assert run("info", "-", given="<a><b/></a>").exit_code == 0
    spooled.cache_clear()
    done = run("info", "-", given="((a,b),c);")
    assert done.exit_code == 1
    assert done.stderr.startswith("arbora: stdin: neither name nor content shows the format; choose one by --format")
    spooled.cache_clear()
    assert run("info", "-", "--format", "newick", given="((a,b),c);").exit_code == 0


def test_faults_name_standard_input():
    done = run("info", "-", "--format", "jsonl", given='{"label": "a"}\n{\n')
    assert done.exit_code == 1
    assert "arbora: stdin, line 2" in done.stderr
    assert "tmp" not in done.stderr


def test_empty_input_is_refused():
    done = run("info", "-", given="")
    assert done.exit_code == 1
    assert done.stderr == "arbora: stdin: it is empty; pipe trees into the command\n"


def test_nothing_else_beside_it(tmp_path):
    done = run("info", "-", tmp_path, given="")
    assert done.exit_code == 1
    assert "leave out the other paths" in done.stderr


def test_a_store_has_the_same_names(tmp_path):
    done = run("convert", "-", tmp_path / "s.store", "--format", "jsonl", given='{"label": "a"}\n{"label": "b"}\n')
    assert done.exit_code == 0, done.stderr
    spooled.cache_clear()
    done = run("convert", tmp_path / "s.store", tmp_path / "again.jsonl", given="")
    assert "stdin:2" in (tmp_path / "again.jsonl").read_text()
