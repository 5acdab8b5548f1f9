"""Reader of tables of numbers: CSV or tab-separated text, with or without a header, names and classes of rows."""

import csv
import io
import logging
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ReadError
from .builder import Fault
from .sources import decode, read_bytes

logger = logging.getLogger(__name__)

MAX_BYTES = 10**9
_DELIMITERS = ",;\t|"
# What Python's float takes besides (1_000, digits of other scripts, nan, infinity) is more often a name than a number.
_NUMBER = re.compile(r"[ \t]*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[ \t]*")
_DECIMAL_COMMA = re.compile(r"[ \t]*[-+]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?[ \t]*")
_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}  # what stands where a number is not there ...
_NO_VALUE = {*_MISSING, "inf", "infinity"}  # ... and what is none


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
    missing: bool = False,
) -> NumberTable:
    """Read a table of numbers; the delimiter is a comma, semicolon, tab or bar, whichever the first line has most of.

    A number has ASCII digits, perhaps a sign, a point and an exponent, and nothing else.  Without `header` the first
    line is one if a cell of it is no number.  `names` and `target` are columns (a name, or a number from 1) with names
    and classes of rows; a first column is taken for names if none is given and a cell of it is no number.  `columns`
    are those to use, all other ones by default.  With `missing`, an empty cell, or one of NA, N/A, NaN, null, None and
    ?, is nan.  Any other cell that is no number is refused with its line, and so are rows of another width, and rows of
    several lines: a stray quote makes them.
    """
    where = os.fspath(path)
    try:
        text = decode(read_bytes(where, MAX_BYTES, "give the rows to the model as an array"))
    except Fault as fault:
        raise ReadError(fault.at(where)) from None
    rows = _split(text, where)
    has_header = header if header is not None else _is_title(rows[0][1])
    if has_header and names is None and header is None and len(rows) > 1:
        # a first line like "oak,1,2" is data with a name, not a header
        has_header = _is_title(rows[0][1][1:]) or _is_number(rows[1][1][0])
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
    if of_names is None and of_target != 0 and 0 not in (use or ()) and _holds_names(body, where, title[0]):
        of_names = 0
    if use is None:
        use = [c for c in range(width) if c not in (of_names, of_target)]
    if not use:
        raise ReadError(f"{where}: no column of numbers is left; wanted one or more")
    X = np.array([[_number(cells[c], where, line, title[c], missing) for c in use] for line, cells in body])
    for line, row in zip((line for line, _ in body), X, strict=True):
        if np.isnan(row).all():
            raise ReadError(f"{where}, line {line}: no number at all; wanted one or more: leave the row out")
    told = [cells[of_names] if of_names is not None else str(n + 1) for n, (_, cells) in enumerate(body)]
    known = None if of_target is None else [cells[of_target] for _, cells in body]
    return NumberTable(X, [title[c] for c in use], told, known)


def named_columns(path: str | os.PathLike[str], *names: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line number, cells of these columns) of each row of a CSV table whose first line names its columns."""
    where = os.fspath(path)
    try:
        text = decode(read_bytes(where, MAX_BYTES, "give a smaller table"))
    except Fault as fault:
        raise ReadError(fault.at(where)) from None
    rows = csv_rows(text, where)
    _, title = next(rows, (1, list[str]()))
    if not set(names) <= set(title):
        wanted = f"wanted a table with the columns {' and '.join(names)}"
        raise ReadError(f"{where}, line 1: {wanted}; found {', '.join(title) or 'none'}")
    at = [title.index(name) for name in names]
    for line, cells in rows:
        if len(cells) != len(title):
            raise ReadError(f"{where}, line {line}: {len(cells)} cells; wanted {len(title)} as in the first line")
        yield line, tuple(cells[x] for x in at)


def _split(text: str, where: str) -> list[tuple[int, list[str]]]:
    """(line number, cells) of each line that is not empty."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise ReadError(f"{where}: the file is empty; wanted a table of numbers")
    rows = list(csv_rows(text, where, max(_DELIMITERS, key=first.count)))
    if not rows:
        raise ReadError(f"{where}: all cells are empty; wanted a table of numbers")
    return rows


def csv_rows(text: str, where: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of each row that is not empty; a row has one line, and its quotes are in order."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if reader.line_num > line:
                raise ReadError(
                    f"{where}, line {line}: a quoted cell continues to line {reader.line_num}, wanted each row in one "
                    "line; close the quote, or take the line break out"
                )
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        advice = (
            "close the quote that opens here, or take it out" if "unexpected end" in str(error) else "mend the line"
        )
        raise ReadError(f"{where}, line {line}: not a row of a table ({error}); {advice}") from None


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _has_no_value(cell: str) -> bool:
    return cell.strip().lower().lstrip("+-") in _NO_VALUE


def _is_title(cells: list[str]) -> bool:
    """Whether cells name columns: one of them is a word, and not one that stands for a number that is not there."""
    words = [cell for cell in cells if not _is_number(cell) and not _DECIMAL_COMMA.fullmatch(cell)]
    return len(words) == len(cells) > 0 or not all(map(_has_no_value, words))


def _holds_names(body: list[tuple[int, list[str]]], where: str, column: str) -> bool:
    """Whether the first column is one of names: not every cell is a number.  Says so if some are."""
    others = [(line, cells[0]) for line, cells in body if not _is_number(cells[0])]
    words = [(line, cell) for line, cell in others if not _has_no_value(cell)]
    if words and all(_DECIMAL_COMMA.fullmatch(cell) for _, cell in words):
        line, cell = words[0]
        what = f"{cell.strip()!r} has a decimal comma, wanted a point; write the numbers with points"
        raise ReadError(f"{where}, line {line}, column {column!r}: {what}, or name the column of names")
    if words and len(others) < len(body):
        line, cell = words[0]
        message = "%s: the column %r is taken for names of rows, since %r in line %d is no number"
        logger.warning(message, where, column, cell, line)
    return bool(words) or len(others) == len(body)


def _number(cell: str, where: str, line: int, column: str, missing: bool) -> float:
    if not _is_number(cell):
        if missing and cell.strip().lower() in _MISSING:
            return math.nan
        found = f"{cell!r}" if cell.strip() else "nothing"
        raise ReadError(f"{where}, line {line}, column {column!r}: {found}; wanted a number: {_advice(cell, column)}")
    value = float(cell)
    if not math.isfinite(value):
        raise ReadError(f"{where}, line {line}, column {column!r}: {cell.strip()}; wanted a finite number")
    return value


def _advice(cell: str, column: str) -> str:
    if _has_no_value(cell):
        return "fill it in, drop the row, choose other columns, or use a model that takes missing cells (nhcm, dpgmm)"
    return f"mend it, leave the column out, or give --classes {column} or --names {column} if it is not data"


def _find(name: str | None, title: list[str], where: str, what: str) -> int | None:
    return None if name is None else _place(name, title, where, what)


def _place(name: str, title: list[str], where: str, what: str) -> int:
    """Place of a column given by name, or by number from 1."""
    if name in title:
        return title.index(name)
    if name.isascii() and name.isdecimal() and len(name) < 10 and 1 <= int(name) <= len(title):
        return int(name) - 1
    raise ReadError(f"{where}: no column {name!r} for {what}; there are {', '.join(map(repr, title[:20]))}")
