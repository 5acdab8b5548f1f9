"""A table of results as Markdown, and the arithmetic of its cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Table:
    """Rows of text under a header, with a title and remarks."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)  # name of a file -> PNG, written beside the table

    def markdown(self, command: str, seconds: float) -> str:
        """The table, its remarks, the command that made it and the time it took."""
        lines = [f"## {self.title}", "", _row(self.header), _row(["---"] * len(self.header))]
        lines += [_row(row) for row in self.rows]
        lines += ["", *(f"- {remark}" for remark in self.remarks)]
        lines += [f"- Made by `{command}` in {seconds:.0f} s.", ""]
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def mean_std(values: Sequence[float], digits: int = 2) -> str:
    """Mean and, in brackets, standard deviation as the papers print them; a dash where there is nothing."""
    if not len(values):
        return "-"
    return f"{np.mean(values):.{digits}f} ({np.std(values):.{digits}f})"
