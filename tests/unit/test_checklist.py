"""The list of what the papers hold: references exist, states are those of the tables; pages say what code prints."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from papers import EXPERIMENTS
from papers.checklist import SOURCE, STATES, _expand, _state, checklist, look_up, not_reproduced, read_rows
from papers.judging import CLAIMS
from papers.table import Table, read_tables

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reproduction"


def resolve(name):
    """The object of a dotted name."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_every_reference_is_there():
    for row in read_rows():
        for place in row.where:
            assert (ROOT / place).exists() if "/" in place else resolve(place) is not None, place


def test_every_state_is_known_and_every_reason_given():
    rows = read_rows()
    assert len({row.paper for row in rows}) == 5
    for row in rows:
        state, _ = look_up(row.state, FOLDER)
        assert state in STATES, row
        assert row.why or state in ("implemented", "reproduced") or row.state.startswith("="), row
    named = " ".join(row.state for row in rows)
    unnamed = {name for name in EXPERIMENTS if name not in named}
    assert unnamed == {"encodings", "defaults", "readings", "bhmc-defaults"}  # evidence of our own


def test_every_claim_of_the_tables_is_in_the_list():
    """A claim that a table judges stands in the list under its words, or under the whole experiment."""
    listed = [x.strip() for row in read_rows() if row.state.startswith("=") for x in row.state[1:].split(";")]
    missing = []
    for name in EXPERIMENTS:
        table, _ = read_tables((FOLDER / f"{name}.md").read_text(encoding="utf-8"))
        for claim in {row[0] for part in table.more if part.title == CLAIMS for row in part.rows}:
            named = (re.fullmatch(SOURCE, source) for source in listed)
            words = [match[4] or "" for match in named if match[1] == name and not (match[2] or match[3])]
            if not any(claim.startswith(word) for word in words):
                missing.append((name, claim))
    assert not missing


def test_the_lists_are_those_of_the_tables():
    again = "python -m papers.checklist docs/reproduction writes them anew"
    assert (FOLDER / "checklist.md").read_text(encoding="utf-8") == checklist(FOLDER), again
    assert (FOLDER / "not-reproduced.md").read_text(encoding="utf-8") == not_reproduced(FOLDER), again


def test_states_follow_from_words(tmp_path):
    assert _expand("library: matches 2, differs 1") == ["matches", "matches", "differs"]
    assert _expand("matches: as the paper says") == ["matches"]
    assert [_state(x) for x in (["matches"], ["differs"], ["matches", "differs"], [], ["undefined"])] == [
        "reproduced",
        "differs",
        "in part",
        "not judged",
        "not judged",
    ]
    part = Table(
        "What the paper says in words",
        ["the paper", "ours", "verdict"],
        [["it works", "0.9", "differs: no"], ["works", "", "differs"]],
    )
    table = Table("T", ["a"], [["1"]], more=[part], verdict="all: matches 3; words: differs 1")
    (tmp_path / "x.md").write_text(table.markdown("python -m papers x", 1.0), encoding="utf-8")
    assert look_up("= x", tmp_path) == ("reproduced", "`x`: all: matches 3")
    assert look_up("= x#words", tmp_path) == ("differs", "`x`: words: differs 1")
    assert look_up("= x#What the paper@it works; x", tmp_path)[0] == "in part"
    assert look_up("= x: it works", tmp_path) == ("differs", "`x`: differs 1")
    assert look_up("= y", tmp_path) == ("open", "`y` has not been run")
    with pytest.raises(ValueError, match="no row begins 'it fails'"):
        look_up("= x: it fails", tmp_path)


# ---- pages say what today's code prints -----------------------------------------------------------------------------

HOLE = "\0"


def text_of(node):
    """A string of the source, with a hole for what is filled in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^{}]*\}", HOLE, node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or HOLE) + (text_of(node.right) or HOLE)
    return None


def sentences(text):
    return [part.strip(" .") for part in re.split(r"(?<=\.)\s+", text) if part.strip(" .")]


def printed():
    """Patterns of all sentences that the sources of the papers can print."""
    found = set()
    for path in (ROOT / "papers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = text_of(node)
            if text and " " in text:
                found.update(sentences(text))
    literal = {x for x in found if len(x.replace(HOLE, "").strip()) >= 8}
    return [re.compile(".*".join(map(re.escape, x.split(HOLE))), re.DOTALL) for x in literal]


def test_pages_say_only_what_the_code_prints():
    """Remarks and titles that today's code has no words for were left behind by older code."""
    patterns = printed()
    for page in sorted(FOLDER.glob("*.md")):
        if page.stem not in EXPERIMENTS:
            continue
        table, _ = read_tables(page.read_text(encoding="utf-8"))
        for part in (table, *table.more):
            for said in [part.title, *part.remarks]:
                stale = [x for x in sentences(said) if len(x) > 25 and not any(p.search(x) for p in patterns)]
                assert not stale, f"{page.stem}: {stale}; --again makes the page anew"
