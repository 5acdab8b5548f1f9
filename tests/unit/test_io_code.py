"""Source code by tree-sitter, where it is installed."""

import sys

import pytest

from arbora import Forest, ReadError, read
from arbora.errors import MissingDependencyError
from arbora.io import read_code
from arbora.io.formats.code import parser_of

SCRIPT = """// a comment
class A { twice(x) { return x + x; } }
function f() { return () => 1; }
"""


def put(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    parser_of.cache_clear()
    with pytest.raises(MissingDependencyError, match="python needs tree-sitter and tree-sitter-python; install arbora"):
        read_code(put(tmp_path, "a.py", "x"))


def test_options_that_mean_nothing(tmp_path):
    with pytest.raises(ReadError, match="unit='x'; wanted"):
        read_code(tmp_path, unit="x")
    with pytest.raises(ReadError, match=r"language='os.path'; wanted the name of a language"):
        read_code(tmp_path, language="os.path")
    with pytest.raises(ReadError, match=r"a\.zig: the suffix '.zig' says no language; wanted one of .py"):
        read_code(put(tmp_path, "a.zig", "x"))


def test_only_files_of_its_suffixes_and_only_if_asked_for(tmp_path):
    put(tmp_path, "a.py", "x")
    put(tmp_path, "b.js", "x")
    put(tmp_path, "notes.md", "x")
    assert read(tmp_path).vocabulary == ("Expr", "Module", "Name")  # by the reader of Python
    pytest.importorskip("tree_sitter")
    assert [name.rpartition("/")[2] for name in read(tmp_path, "code").name] == ["a.py", "b.js"]


def test_files_and_functions(tmp_path):
    pytest.importorskip("tree_sitter")
    path = put(tmp_path, "a.js", SCRIPT)
    functions = read_code(path, unit="function")
    assert [tree["label"] for tree in functions] == ["method_definition", "function_declaration"]
    assert functions.name.tolist() == [f"{path}#1", f"{path}#2"]
    whole = read_code(path)
    assert [child["label"] for child in whole[0]["children"]] == ["class_declaration", "function_declaration"]
    assert "identifier:x" in read_code(path, names=True).vocabulary
    other = put(tmp_path, "a.txt", "def f(x): return x")
    value = ("return_statement", ["identifier"])
    wanted = ("module", [("function_definition", ["identifier", ("parameters", ["identifier"]), ("block", [value])])])
    assert read_code(other, language="python") == Forest.from_nested([wanted], name=[str(other)])


def test_errors_of_syntax_have_a_place(tmp_path):
    pytest.importorskip("tree_sitter")
    with pytest.raises(ReadError, match=r"a\.py, line 2, column \d+: not python as tree-sitter reads it"):
        read_code(put(tmp_path, "a.py", "x = 1\ny = = 2\n"))
