"""Rows of an array as a model over vectors takes them: a number in every cell, columns that vary, scales that are safe.

Squares of deviations must neither overflow nor vanish, so columns are measured in units of a power of two near their
largest value.  This changes no bit of a mean or a deviation that could be computed without it.
"""

import logging
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..errors import RowsError

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FARTHEST = 1e100  # that a row may be, in the space of the model: squares must be numbers
LARGEST, SMALLEST = 1e300, 1e-300  # value, and deviation, of a column that is scaled
ROUNDING = 1e-12  # of the largest value of a column: a deviation up to this is rounding
CHANGED = 1e-9  # of the value of a column that did not vary: a difference beyond this is logged
MOST_NAMED = 5  # columns in a message

# As in tables: what Python's float takes besides (1_000, digits of other scripts) is more often a mistake.
_NUMBER = re.compile(r"[ \t]*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[ \t]*")

WANTED = "wanted a number in every cell: fill it in, or leave out the row or the column"
FILLING = "; DPGaussianMixture and NHCM take rows with missing cells"


class Columns(NamedTuple):
    """What the training rows say of each column."""

    mean: Floats
    spread: Floats  # standard deviation
    largest: Floats  # absolute value
    varies: NDArray[np.bool_]  # by more than rounding


# ---- cells ----------------------------------------------------------------------------------------------------------


def read_rows(estimator: Any, X: Any, reset: bool, missing: bool = False) -> Floats:
    """The rows as doubles, checked by scikit-learn.

    With `missing`, cells that are nan, missing or masked become nan, but every row must have a value, and in training
    every column.  Without, they are refused by row and column.
    """
    X = _unmasked(X, missing)
    if hasattr(X, "isna") and getattr(X, "ndim", 0) == 2:
        gone = np.asarray(X.isna(), bool)
        if not missing:
            _refuse(gone, "missing", X)
        elif gone.any():
            X = X.astype(object).mask(gone, np.nan)
    _refuse_text(X)
    try:
        with np.errstate(over="ignore"):
            rows = validate_data(
                *(estimator, X), reset=reset, dtype=np.float64, order="C", ensure_min_samples=1, ensure_all_finite=False
            )
    except TypeError:
        _refuse(_missing(X), "missing", X)
        raise
    if missing:
        _refuse_empty(np.isnan(rows), reset)
    else:
        _refuse(np.isnan(rows), "NaN", X)
    for value in (np.inf, -np.inf):
        _refuse(rows == value, str(value), X)
    return np.asarray(rows)


def _refuse_empty(missing: NDArray[np.bool_], training: bool) -> None:
    """Raise where nothing is known of a row, or in training of a column."""
    for axis, what in ((0, "column"), (1, "row")) if training else ((1, "row"),):
        empty = np.flatnonzero(missing.all(axis=axis))
        if len(empty):
            raise RowsError(f"{what} {empty[0]} has no value at all; wanted one or more: leave the {what} out")


def _unmasked(X: Any, missing: bool) -> Any:
    """The data of a masked array; masked cells are nan if they may be missing, and refused otherwise."""
    if isinstance(X, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.array(X)
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if missing:
        return np.where(np.ma.getmaskarray(X), np.nan, np.ma.getdata(X).astype(np.float64))
    if X.ndim == 2:
        _refuse(np.ma.getmaskarray(X), "masked", X)
    return np.ma.getdata(X)


def _missing(X: Any) -> NDArray[np.bool_]:
    """Which cells of a list or an array of objects are pandas' NA or NaT; none where rows differ in length."""
    try:
        cells = np.array(X, dtype=object)
    except ValueError:
        return np.zeros((0, 0), bool)
    if cells.ndim != 2:
        return np.zeros((0, 0), bool)
    return np.array([[type(x).__name__ in ("NAType", "NaTType") for x in row] for row in cells], bool)


def _refuse_text(X: Any) -> None:
    """Raise if a cell is text that is no plain number; text such as "1.5" is taken as scikit-learn takes it."""
    try:
        cells = np.asarray(X)
    except ValueError:  # rows that differ in length; scikit-learn says so
        return
    if cells.ndim != 2 or cells.dtype.kind not in "OSTU":
        return
    odd = np.array([[isinstance(x, (str, bytes)) and not _is_number(x) for x in row] for row in cells], bool)
    if odd.any():
        first = cells[tuple(np.argwhere(odd)[0])]
        _refuse(odd, f"the text {str(first)[:40]!r}", X)


def _is_number(cell: str | bytes) -> bool:
    text = cell.decode("latin-1") if isinstance(cell, bytes) else cell
    return _NUMBER.fullmatch(text) is not None


def _refuse(bad: NDArray[np.bool_], what: str, X: Any) -> None:
    """Raise if a cell is bad, by the first one's row and column, and by their names where X is a data frame."""
    if not bad.any():
        return
    row, column = (int(x) for x in np.argwhere(bad)[0])
    where = [f"row {row}", f"column {column}"]
    if hasattr(X, "iloc"):
        where = [f"row {row} ({X.index[row]})", f"column {column} ({X.columns[column]})"]
    n_more = int(bad.sum()) - 1
    more = f"; {n_more} more cells are" if n_more > 1 else "; one more cell is" if n_more else ""
    instead = FILLING if what in ("missing", "masked", "NaN") else ""
    raise RowsError(f"{', '.join(where)}: {what}{more}; {WANTED}{instead}")


# ---- scales ---------------------------------------------------------------------------------------------------------


def measure(rows: Floats) -> Columns:
    """Mean and deviation of the values of each column, whatever its scale, and whether it varies."""
    gaps = np.isnan(rows).any()
    largest = (np.nanmax if gaps else np.max)(np.abs(rows), axis=0)
    power = np.frexp(largest)[1]
    near_one = np.ldexp(rows, -power)
    mean, spread = (f(near_one, axis=0) for f in ((np.nanmean, np.nanstd) if gaps else (np.mean, np.std)))
    varies = spread > ROUNDING * np.ldexp(largest, -power)
    return Columns(np.ldexp(mean, power), np.ldexp(spread, power), largest, varies)


def root_mean_square(values: Floats) -> float:
    """Of values of any scale."""
    power = int(np.frexp(np.abs(values).max())[1])
    return float(np.ldexp(np.sqrt(np.mean(np.ldexp(values, -power) ** 2)), power))


def units(columns: Columns, scaling: str | None) -> Floats:
    """What each column is divided by; 1 for those that do not vary.  Refuses scales at the ends of the doubles."""
    unit, inside = np.ones(len(columns.mean)), np.flatnonzero(columns.varies)
    if not len(inside):
        return unit
    most = inside[columns.largest[inside].argmax()]
    if columns.largest[most] > LARGEST:
        raise RowsError(
            f"column {most} has values of {columns.largest[most]:.3g}; wanted at most {LARGEST:g}: change its unit"
        )
    if scaling is None:
        _check_unscaled(columns.spread[inside])
    elif scaling == "columns":
        unit[inside] = columns.spread[inside]
        least = inside[unit[inside].argmin()]
        if unit[least] < SMALLEST:
            raise RowsError(
                f"column {least} varies by {unit[least]:.3g}; wanted at least {SMALLEST:g}: change its unit"
            )
    else:
        unit[inside] = root_mean_square(columns.spread[inside])
        if unit[inside[0]] < SMALLEST:
            raise RowsError(
                f"the columns vary by {unit[inside[0]]:.3g}; wanted at least {SMALLEST:g}: change their units"
            )
    return unit


def _check_unscaled(spread: Floats) -> None:
    widest = float(spread.max())
    if not 1.0 / FARTHEST <= widest <= FARTHEST:
        raise RowsError(
            f"scaling=None and a column that varies by {widest:.3g}; wanted {1.0 / FARTHEST:g} to {FARTHEST:g}, whose "
            f"squares are numbers: change the unit, or set scaling to 'columns' or 'common'"
        )


# ---- words ----------------------------------------------------------------------------------------------------------


def tell_constant(varies: NDArray[np.bool_], names: list[str] | None) -> None:
    """Say which columns leave the model."""
    still = np.flatnonzero(~varies)
    if not len(still):
        return
    if len(still) == len(varies):
        log.warning("all rows are the same: one group")
        return
    told = ", ".join(str(c) if names is None else names[c] for c in still[:MOST_NAMED])
    told += ", ..." if len(still) > MOST_NAMED else ""
    if len(still) == 1:
        log.warning("column %s is constant; it is left out of the model", told)
    else:
        log.warning("columns %s are constant; they are left out of the model", told)


def tell_changed(rows: Floats, offset: Floats, inside: Ints, names: list[str] | None) -> None:
    """Say which columns that never changed in training do so now; the model cannot look at them."""
    still = np.setdiff1d(np.arange(rows.shape[1]), inside)
    with np.errstate(over="ignore"):
        changed = (np.abs(rows[:, still] - offset[still]) > CHANGED * np.abs(offset[still])).sum(axis=0)
    for c, n in list(zip(still[changed > 0], changed[changed > 0], strict=True))[:MOST_NAMED]:
        log.warning(
            "column %s was %g in every training row and is not in the model; %d rows have another value there, which "
            "is ignored",
            *(c if names is None else names[c], offset[c], n),
        )
