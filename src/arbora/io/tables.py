"""Reader of tables of numbers: CSV or tab-separated text, with or without a header, names and classes of rows."""

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ReadError
from .builder import Fault
from .sources import decode, read_bytes

MAX_BYTES = 10**9
_DELIMITERS = ",;\t|"


class NumberTable(NamedTuple):
    """Rows of numbers, and what is known of them."""

    X: NDArray[np.float64]  # [row, column]
    columns: list[str]
    names: list[str]  # of rows
    target: list[str] | None  # known classes


def read_table(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    names: str | None = None,
    target: str | None = None,
    columns: Sequence[str] | None = None,
) -> NumberTable:
    """Read a table of numbers; the delimiter is a comma, semicolon, tab or bar, whichever the first line has most of.

    Without `header` the first line is one if a cell of it is no number.  `names` and `target` are columns (a name, or a
    number from 1) with names and classes of rows; a first column of text is taken for names if none is given.
    `columns` are those to use, all other ones by default.  A cell that is no number is refused, and told.
    """
    where = os.fspath(path)
    try:
        text = decode(read_bytes(where, MAX_BYTES, "give the rows to the model as an array"))
    except Fault as fault:
        raise ReadError(fault.at(where)) from None
    rows = _split(text, where)
    has_header = header if header is not None else any(not _is_number(cell) for cell in rows[0][1])
    if has_header and names is None and header is None and len(rows) > 1:
        # a first line like "oak,1,2" is data with a name, not a header
        has_header = any(not _is_number(cell) for cell in rows[0][1][1:]) or _is_number(rows[1][1][0])
    title = [cell.strip() or f"column {c + 1}" for c, cell in enumerate(rows[0][1])] if has_header else []
    body = rows[1:] if has_header else rows
    if not body:
        raise ReadError(f"{where}: a header and no rows; wanted a row of numbers for each datum")
    width = len(rows[0][1])
    title = title or [str(c + 1) for c in range(width)]
    twice, n_called = max(Counter(title).items(), key=itemgetter(1))
    if n_called > 1:
        raise ReadError(f"{where}: two columns are called {twice!r}, wanted names that differ; rename one of them")
    for line, cells in body:
        if len(cells) != width:
            raise ReadError(f"{where}, line {line}: {len(cells)} cells; wanted {width} as in the first line")
    of_names = _find(names, title, where, "names")
    of_target = _find(target, title, where, "classes")
    use = None if columns is None else [_place(name, title, where, "columns") for name in columns]
    if of_names is None and of_target != 0 and not _is_number(body[0][1][0]) and 0 not in (use or ()):
        of_names = 0
    if use is None:
        use = [c for c in range(width) if c not in (of_names, of_target)]
    if not use:
        raise ReadError(f"{where}: no column of numbers is left; wanted one or more")
    X = np.array([[_number(cells[c], where, line, title[c]) for c in use] for line, cells in body])
    told = [cells[of_names] if of_names is not None else str(n + 1) for n, (_, cells) in enumerate(body)]
    known = None if of_target is None else [cells[of_target] for _, cells in body]
    return NumberTable(X, [title[c] for c in use], told, known)


def _split(text: str, where: str) -> list[tuple[int, list[str]]]:
    """(line number, cells) of each line that is not empty."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise ReadError(f"{where}: the file is empty; wanted a table of numbers")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ReadError(f"{where}, line {reader.line_num}: not a table ({error})") from None
    if not rows:
        raise ReadError(f"{where}: all cells are empty; wanted a table of numbers")
    return rows


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, where: str, line: int, column: str) -> float:
    if not _is_number(cell):
        found = f"{cell!r}" if cell.strip() else "nothing"
        raise ReadError(
            f"{where}, line {line}, column {column!r}: {found}; wanted a number: fill it in, drop the row, "
            "or choose other columns"
        )
    value = float(cell)
    if not math.isfinite(value):
        raise ReadError(f"{where}, line {line}, column {column!r}: {cell.strip()}; wanted a finite number")
    return value


def _find(name: str | None, title: list[str], where: str, what: str) -> int | None:
    return None if name is None else _place(name, title, where, what)


def _place(name: str, title: list[str], where: str, what: str) -> int:
    """Place of a column given by name, or by number from 1."""
    if name in title:
        return title.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(title):
        return int(name) - 1
    raise ReadError(f"{where}: no column {name!r} for {what}; there are {', '.join(map(repr, title[:20]))}")
