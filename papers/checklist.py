"""Every equation, algorithm, table, figure, claim and announced extension of the papers, with its state.

`python -m papers.checklist FOLDER` writes checklist.md and not-reproduced.md beside the tables of a folder.  Rows are
in checklist.txt: item | what | state | where | why.  A state that begins with "=" is taken from the tables: the name of
an experiment, "#" and a part of its verdict or a table of it, "@" and the first cell of rows, or ":" and the beginning
of a claim.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from .judging import CLAIMS, columns
from .table import Table, read_tables, row

STATES = ("implemented", "reproduced", "in part", "differs", "not judged", "not reproduced", "open")
DONE = STATES[:2]
NOT_RUN = "has not been run"
SOURCE = r"([a-z0-9-]+)(?:#([^@:]+))?(?:@([^:]+))?(?:: (.*))?"


class Row(NamedTuple):
    """A line of the list."""

    paper: str
    item: str
    what: str
    state: str
    where: tuple[str, ...]
    why: str


def read_rows(path: Path | None = None) -> list[Row]:
    """The list as it is written, states not yet looked up."""
    paper, rows = "", []
    text = (path or Path(__file__).with_suffix(".txt")).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# "):
            paper = line[2:]
        elif line.strip():
            cells = [cell.strip() for cell in line.split(" |")]
            if len(cells) != 5:
                raise ValueError(f"line {number}: {len(cells)} columns; wanted item | what | state | where | why")
            item, what, state, where, why = cells
            rows.append(Row(paper, item, what, state, tuple(x.strip() for x in where.split(";") if x.strip()), why))
    return rows


def look_up(state: str, folder: Path) -> tuple[str, str]:
    """The state of a row and what it is taken from."""
    if not state.startswith("="):
        return state, ""
    found = [_words(source.strip(), folder) for source in state[1:].split(";")]
    words = [word for some, _ in found for word in some]
    if all(shown.endswith(NOT_RUN) for _, shown in found):
        return "open", found[0][1]
    return _state(words), "; ".join(shown for _, shown in found)


def _words(source: str, folder: Path) -> tuple[list[str], str]:
    """Verdicts of an experiment, of a part of it or of one claim, and how the page shows them."""
    name, part, key, claim = re.fullmatch(SOURCE, source).groups()  # type: ignore[union-attr]
    page = folder / f"{name}.md"
    if not page.exists():
        return [], f"`{name}` {NOT_RUN}"
    table, _ = read_tables(page.read_text(encoding="utf-8"))
    if claim or key:
        where = _part(table, CLAIMS if claim else part) if claim or part else table
        at = columns(where, "verdict")[-1]
        rows = [row for row in where.rows if (row[0].startswith(claim) if claim else row[0] == key)]
        verdicts = [row[at] for row in rows if row[at]]
        if not verdicts:
            raise ValueError(f"{page}: no row begins {claim or key!r}")
    else:
        said = next((x for x in table.verdict.split("; ") if part and x.startswith(f"{part}: ")), None)
        first = said or (_part(table, part) if part else table).verdict.partition("; ")[0]
        return _expand(first), f"`{name}`: {first}"
    words = [re.split(r"[ :]", verdict)[0] for verdict in verdicts]
    return words, f"`{name}`: " + ", ".join(f"{word} {words.count(word)}" for word in dict.fromkeys(words))


def _part(table: Table, title: str) -> Table:
    for part in table.more:
        if title in part.title:
            return part
    raise ValueError(f"{table.title}: no part {title!r}")


def _expand(line: str) -> list[str]:
    """From "x: matches 2, differs 1" or "matches: why": the words, each as often as it counts."""
    counted = re.findall(r"\b(matches|better|higher|differs|undefined) (\d+)", line)
    if counted:
        return [word for word, n in counted for _ in range(int(n))]
    found = re.match(r"matches|better|higher|differs|undefined", line)
    return [found[0]] if found else []


def _state(words: list[str]) -> str:
    good = sum(word in ("matches", "better") for word in words)
    bad = sum(word in ("differs", "higher") for word in words)
    if not words or not good + bad:
        return "not judged"
    return "in part" if good and bad else "reproduced" if good else "differs"


def checklist(folder: Path) -> str:
    """All rows, a table per paper, and a count of the states."""
    rows = [(x, *look_up(x.state, folder)) for x in read_rows()]
    count = {state: sum(found == state for _, found, _ in rows) for state in STATES}
    lines = [f"{len(rows)} rows: " + ", ".join(f"{state} {n}" for state, n in count.items() if n) + ".", ""]
    header = ["item", "what", "state", "found", "where"]
    for paper in dict.fromkeys(x.paper for x, *_ in rows):
        lines += [f"## {paper}", "", row(header), row(["---"] * len(header))]
        for x, state, found in rows:
            if x.paper == paper:
                where = ", ".join(f"`{place}`" for place in x.where)
                lines.append(row([x.item, x.what, state, found, where]))
        lines.append("")
    return "\n".join(lines)


def not_reproduced(folder: Path) -> str:
    """Rows that are neither implemented nor reproduced, with the reason, a list per paper."""
    lines = []
    rows = [(x, *look_up(x.state, folder)) for x in read_rows()]
    for paper in dict.fromkeys(x.paper for x, *_ in rows):
        lines += [f"## {paper.partition(':')[0]}: what is not reproduced", ""]
        for x, state, found in rows:
            if x.paper == paper and state not in DONE:
                reason = "; ".join(text for text in (x.why, found) if text)
                lines.append(f"- {x.item}, {x.what}: **{state}**. {reason[:1].upper()}{reason[1:]}.")
        lines.append("")
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write both lists."""
    (folder / "checklist.md").write_text(checklist(folder), encoding="utf-8")
    (folder / "not-reproduced.md").write_text(not_reproduced(folder), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
