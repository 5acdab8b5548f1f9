"""One file makes a format: everything that lists formats derives from what the file declares."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import arbora
from arbora.io.manual import imports
from arbora.io.registry import FORMATS, READERS, STORED

SOURCE = Path(arbora.__file__).parent
ROOT = SOURCE.parents[1]

OUTLINE = '''
"""Reader of outlines: a line is a node, as deep as its stars."""
from ..builder import Columns
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files


def read_outline(source, *, mark="*", max_bytes=MAX_BYTES, on_error="raise", vocabulary=None, progress=None):
    def read_file(path, columns: Columns):
        for line in decode(read_bytes(path, max_bytes)).split("\\n"):
            if line.startswith(mark):
                word = line.lstrip(mark)
                columns.depth.append(len(line) - len(word) - 1)
                columns.label.append(columns.words[word])
        columns.end_tree()

    return read_files(source, "outline", read_file, Policy(on_error, vocabulary, progress, max_bytes))


FORMAT = Format(
    name="outline",
    suffixes=(".outline",),
    makes="one tree per file: stars say how deep",
    manual="A line is a node.",
    options=(Option("mark", str, "what says how deep"), MAX_BYTES_OPTION),
    reader=read_outline,
    sniff=lambda text: 3 * text.startswith("* "),
)
'''

LOOK = """
import io, json, sys
import arbora as ab
from arbora.cli import app
from arbora.io.manual import with_formats
from fuzz.targets import TARGETS
from typer.testing import CliRunner
TARGETS["read-outline"](b"* a\\n** b\\n")
def run(*words):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
print(json.dumps({
    "public": "read_outline" in dir(ab) and "read_outline" in ab.__all__,
    "named": ab.read_outline("a.outline")[0],
    "chosen": ab.read("a.outline", mark="*")[0],
    "sniffed": ab.read("unknown")[0],
    "info": run("info", "other", "--format", "outline", "--read", "mark=-", "--json")["n_nodes"],
    "formats": run("formats", "--json")["outline"]["options"]["mark"],
    "manual": "### outline: `.outline`" in with_formats(open(sys.argv[1]).read()),
}))
"""


def test_a_format_is_one_file(tmp_path: Path) -> None:
    package = tmp_path / "src" / "arbora"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    (package / "io" / "formats" / "outline.py").write_text(OUTLINE)
    (tmp_path / "a.outline").write_text("* a\n** b\n")
    (tmp_path / "unknown").write_text("* a\n** b\n")
    (tmp_path / "other").write_text("- a\n-- b\n-- c\n")
    path = os.pathsep.join([str(tmp_path / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOOK, str(ROOT / "docs" / "reading.md")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    tree = {"label": " a", "children": [{"label": " b"}]}
    assert json.loads(done.stdout) == {
        "public": True,
        "named": tree,
        "chosen": tree,
        "sniffed": tree,
        "info": 3,
        "formats": {"values": "text", "default": "*", "meaning": "what says how deep"},
        "manual": True,
    }


def test_every_file_is_listed_and_says_its_own_name() -> None:
    files = {path.stem for path in (SOURCE / "io" / "formats").glob("*.py")} - {"__init__"}
    assert files == set(FORMATS) == {*READERS, *STORED}
    for name, format in FORMATS.items():
        assert format.name == name
        assert format.reader.__name__ == f"read_{name}" or name in STORED
        assert (format.parts is not None) == (name in STORED)
    suffixes = [suffix for format in FORMATS.values() if not format.asked for suffix in format.suffixes]
    assert len(set(suffixes)) == len(suffixes)


def test_type_checkers_see_every_reader() -> None:
    assert (SOURCE / "io" / "formats" / "__init__.py").read_text() == imports(), "run python -m arbora.io.manual"


def test_the_api_page_lists_every_reader() -> None:
    page = [(ROOT / "docs" / "api.md").read_text()]
    runpy.run_path(str(ROOT / "docs" / "conf.py"))["list_readers"](None, "api", page)
    assert [name for name in READERS if f".. autofunction:: read_{name}\n" not in page[0]] == []


def test_listing_formats_imports_no_reader() -> None:
    code = "import sys, arbora.io.registry as r; list(r.FORMATS); print('lxml' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
