"""What judges share: words for verdict columns, claims beside findings, and numbers read from cells."""

import re
from collections.abc import Mapping, Sequence

from .table import Table
from .verdict import NUMBER, Wanted, compare, tally, with_word

CLAIMS = "What the paper says in words"


def fill(table: Table, wanted: Wanted = "high", truths: Mapping[str, float] | None = None) -> None:
    """Words for every verdict column: the column before it against the published one on its left, and tallies.

    The silhouette of the true classes is that of a remark, or that of `truths` by the first cell of a row.
    """
    tallies = []
    for at in columns(table, "verdict"):
        beside = max(k for k in range(at) if table.header[k].startswith("paper"))
        error = "error" in table.header[beside]
        side: Wanted = "low" if error else wanted
        for cells in table.rows:
            truth = None if error or wanted == "same" else true_silhouette(table) or (truths or {}).get(cells[0])
            cells[at] = with_word(compare(cells[beside], cells[at - 1], side, truth), cells[at])
        ours, (_, _, theirs) = table.header[at - 1], table.header[beside].partition(": ")
        what = f"{theirs if ours == 'ours' else ours}: ".removeprefix(": ")
        tallies.append(what + tally(cells[at] for cells in table.rows))
    table.verdict = "; ".join(tallies)


def true_silhouette(table: Table) -> float | None:
    """The silhouette of the true classes, as a remark states it."""
    found = re.search(rf"The true (?:types|classes) have silhouette ({NUMBER})", "\n".join(table.remarks))
    return float(found[1]) if found else None


def columns(table: Table, header: str) -> list[int]:
    """Where columns of a name are."""
    return [k for k, name in enumerate(table.header) if name == header]


def claims(table: Table, listed: Sequence[tuple[str, str, str]], remarks: Sequence[str] = ()) -> str:
    """Lay what the paper says in words beside what we find; gives a line that counts the verdicts."""
    words = Table(CLAIMS, ["the paper", "ours", "verdict"], [list(x) for x in listed])
    words.remarks = list(remarks)
    put(table, words)
    return f"what the paper says in words: {tally(verdict for *_, verdict in listed)}"


def put(table: Table, part: Table) -> None:
    """Append a part, in place of an earlier one of its title."""
    table.more = [other for other in table.more if other.title != part.title] + [part]


def numbers(cell: str) -> list[float]:
    """All numbers of a cell."""
    return [float(x) for x in re.findall(NUMBER, cell)]


def first(cell: str) -> float:
    """The first number of a cell."""
    return numbers(cell)[0]


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)
