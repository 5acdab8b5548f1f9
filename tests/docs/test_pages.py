"""Every example of every page runs, in order, in a folder with the files that the pages speak of."""

import doctest
import os
import re
import shlex
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from typer.testing import CliRunner

import arbora as ab
from arbora.cli import app
from arbora.datasets.documents import make_documents, write_documents

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "src/arbora/models").rglob("*.md"))]
# A fence, its language, and what is in it. Text, sphinx's directives and diagrams have other languages.
BLOCK = re.compile(r"^```(python|pycon|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = {str(page.relative_to(ROOT)): BLOCK.findall(page.read_text(encoding="utf-8")) for page in PAGES}
# What a page claims of its examples in words; holds once all its blocks have run.
CLAIMS = {
    "docs/classification.md": [
        'model.is_novel([("zebra", ["lion", ("gnu", ["emu"])])]).all()',
        "model.score(test) > 0.9",
        'len(ab.load("classifier.arbora").classes_) == 5',
    ]
}

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's folder: documents to learn from and new ones, and a table."""
    write_documents(make_documents(6, random_state=0), tmp_path / "corpus")
    write_documents(make_documents(3, random_state=1), tmp_path / "new")
    lines = [f"r{n},{x:.3f},{y:.3f}" for n, (x, y) in enumerate(rows())]
    (tmp_path / "table.csv").write_text("\n".join(["name,x,y", *lines]) + "\n")
    lines = [f"{line},{'ab'[n % 2]}" for n, line in enumerate(lines)]
    (tmp_path / "flowers.csv").write_text("\n".join(["name,x,y,species", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARBORA_DATA", str(tmp_path))  # examples need no data but these
    return tmp_path


def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(12, 2)), 6.0 + rng.normal(size=(12, 2))])


def given():
    """What the short examples take for granted."""
    forest = make_documents(6, random_state=0)
    names = {
        "ab": ab,
        "np": np,
        "forest": forest,
        "new": forest[:3],
        "X": rows(),
        "X_new": rows()[:3],
        "y": [0, 1] * 12,
    }
    return names | {"a": ("a", ["b", "c"]), "b": ("a", ["c"])}


def commands(block):
    """The lines of a block that are commands of Arbora; a backslash at the end joins lines."""
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "arbora", f"{line}: examples to run start with arbora; others are ```text"
            yield words[1:]


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_examples_of(page, folder):
    mpl.use("agg")
    names = given()
    for language, block in BLOCKS[page]:
        if language == "python":
            exec(compile(block, f"{page}: {block.splitlines()[0]}", "exec"), names)  # noqa: S102, our own pages
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            said = []
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            outcome = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append, clear_globs=False)
            assert not outcome.failed, "".join(said)
            names |= test.globs
        else:
            for words in commands(block):
                done = CliRunner().invoke(app, words)
                assert done.exit_code == 0, (words, done.stderr, done.exception, os.listdir())
    for claim in CLAIMS.get(page, []):
        assert eval(claim, names), claim  # noqa: S307, our own


def test_no_example_is_left_out():
    """Fences without a language hold output or diagrams; python by another name would escape the test above."""
    for page in PAGES:
        languages = re.findall(r"^```(\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        bare = re.findall(r"^```\n(arbora .*)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not bare, (page, bare)
        directives = {"{include}", "{image}", "{toctree}", "{eval-rst}"}
        directives |= {"{code-block}"} if page.name == "libraries.md" else set()  # run by test_libraries
        assert set(languages) <= {"python", "pycon", "sh", "text"} | directives, page


def test_a_wrong_example_is_noticed(monkeypatch, folder):
    monkeypatch.setitem(BLOCKS, "page", [("pycon", ">>> 1 + 1\n3\n")])
    with pytest.raises(AssertionError, match="Expected"):
        test_examples_of("page", folder)
    monkeypatch.setitem(BLOCKS, "page", [("sh", "arbora info nowhere\n")])
    with pytest.raises(AssertionError, match="nowhere"):
        test_examples_of("page", folder)
