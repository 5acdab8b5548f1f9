"""A table of results as Markdown, with its pictures and data, and the arithmetic of its cells."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class Picture(NamedTuple):
    """A drawing and the numbers in it."""

    caption: str
    png: bytes
    data: str  # CSV


@dataclass
class Table:
    """Rows of text under a header, with a title and remarks; further tables and pictures come from the same runs."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    more: list["Table"] = field(default_factory=list)
    pictures: dict[str, Picture] = field(default_factory=dict)  # by name of the file, without suffix
    finished: bool = True  # False: interrupted, and shown as far as it came
    verdict: str = ""  # how ours compare with the published numbers, in a line
    images: dict[str, bytes] = field(default_factory=dict)  # pictures without data, by name of the file

    def markdown(self, command: str, seconds: float) -> str:
        """The tables, their remarks and pictures, the command that made them and the processor time it took."""
        lines = [f"## {self.title}", ""]
        for table in (self, *self.more):
            if table is not self:
                lines += [f"### {table.title}", ""]
            if table.header:
                lines += [row(table.header), row(["---"] * len(table.header)), *map(row, table.rows), ""]
            if table.remarks:
                lines += [*(f"- {remark}" for remark in table.remarks), ""]
        for name, picture in self.pictures.items():
            lines += [f"![{picture.caption}]({name}.png)", "", f"{picture.caption} (numbers: {name}.csv).", ""]
        lines += [f"Made by `{command}` in {seconds:.0f} s of processor time.", ""]
        return "\n".join(lines)

    def files(self) -> dict[str, bytes]:
        """Pictures and their data, by name of the file."""
        named = self.images | {f"{name}.png": picture.png for name, picture in self.pictures.items()}
        return named | {f"{name}.csv": picture.data.encode() for name, picture in self.pictures.items()}


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
