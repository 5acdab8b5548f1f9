"""A table of results as Markdown, with its pictures and data, and the arithmetic of its cells."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class Picture(NamedTuple):
    """A drawing and the numbers in it; one without a caption is shown by the page that includes the table."""

    png: bytes
    caption: str = ""
    data: str = ""  # CSV


@dataclass
class Table:
    """Rows of text under a header, with a title and remarks; further tables and pictures come from the same runs.

    A column named "verdict" is about the one before it, and says at most why; the word comes from `papers.
    judges`, and so does the line `verdict`.
    """

    title: str
    header: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    more: list["Table"] = field(default_factory=list)
    pictures: dict[str, Picture] = field(default_factory=dict)  # by name of the file, without suffix
    verdict: str = ""  # how ours compare with what is published, in a line

    def markdown(self, command: str, seconds: float) -> str:
        """The tables, their remarks and pictures, the command that made them and the processor time it took."""
        lines = [self.body()]
        for name, picture in self.pictures.items():
            if picture.caption:
                numbers = f" (numbers: {name}.csv)" if picture.data else ""
                lines += [f"![{picture.caption}]({name}.png)", "", f"{picture.caption}{numbers}.", ""]
        lines += [f"Made by `{command}` in {seconds:.0f} s of processor time.", ""]
        return "\n".join(lines)

    def body(self) -> str:
        """The tables and their remarks alone."""
        lines = []
        for table in (self, *self.more):
            lines += [f"{'##' if table is self else '###'} {table.title}", ""]
            if table.header:
                lines += [row(table.header), row(["---"] * len(table.header)), *map(row, table.rows), ""]
            if table.verdict:
                lines += [f"{VERDICT}{table.verdict}", ""]
            if table.remarks:
                lines += [*(f"- {remark}" for remark in table.remarks), ""]
        return "\n".join(lines)

    def files(self) -> dict[str, bytes]:
        """Pictures and their data, by name of the file."""
        named = {f"{name}.png": picture.png for name, picture in self.pictures.items()}
        return named | {f"{name}.csv": picture.data.encode() for name, picture in self.pictures.items() if picture.data}


VERDICT = "**Verdict:** "


def read_tables(text: str) -> tuple[Table, str]:
    """The tables of a page that `Table.markdown` wrote, and the rest of it, which comes after them."""
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if line.startswith(("![", "Made by `"))), None)
    if end is None or not lines[0].startswith("## "):
        raise ValueError(f"not a page that python -m papers wrote: it begins {lines[0][:40]!r}")
    tables: list[Table] = []
    for line in lines[:end]:
        if line.startswith(("## ", "### ")):
            tables.append(Table(line.lstrip("# "), []))
        elif line.startswith("| ") and not tables[-1].header:
            tables[-1].header = _cells(line)
        elif line.startswith("| ") and not line.startswith("| --- |"):
            tables[-1].rows.append(_cells(line))
        elif line.startswith(VERDICT):
            tables[-1].verdict = line.removeprefix(VERDICT)
        elif line.startswith("- "):
            tables[-1].remarks.append(line[2:])
    tables[0].more = tables[1:]
    return tables[0], "\n".join(lines[end:])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:].removesuffix("|").split("|")]


def row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def as_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; fractions with six digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    return out.getvalue()


def mean_std(values: Sequence[float], digits: int = 2) -> str:
    """Mean and, in brackets, standard deviation as the papers print them; a dash where there is nothing."""
    if not len(values):
        return "-"
    return f"{np.mean(values):.{digits}f} ({np.std(values):.{digits}f})"
