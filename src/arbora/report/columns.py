"""Columns of a page: numbers rounded, names shortened and linked, long lists thinned, matrices as text."""

import base64
import math
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..evaluate.summary import common_folder

MAX_ITEMS = 10_000  # trees or rows on a page; of more, so many evenly spread
MAX_NAME_BYTES = 90  # of a name; a longer one loses its middle
MAX_POINTS = 400  # of a line
GRID = 2_000  # steps of a coordinate of the map
FAR = 20 * GRID  # where no zoom reaches

Ints = NDArray[np.int64]


def spread(n: int, most: int) -> Ints:
    """At most `most` of 0..n - 1, evenly apart."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, most)).astype(np.int64))


def rounded(values: ArrayLike, digits: int = 3) -> list[Any]:
    """Numbers as a page needs them; None where there is no finite one, whole numbers without a point."""
    found = np.asarray(values, np.float64)
    if found.ndim > 1:
        return [rounded(row, digits) for row in found]
    return [_short(x, digits) for x in found.tolist()]


def _short(x: float, digits: int) -> float | int | None:
    if not math.isfinite(x):
        return None
    short = round(x, digits)
    return int(short) if short == int(short) and abs(short) < 2**53 else short


def figure(value: float, digits: int = 3) -> float | int | None:
    """One number, rounded to so many digits that count."""
    if not math.isfinite(value):
        return None
    return _short(float(f"{value:.{digits}g}"), 12)


def thinned(values: ArrayLike) -> dict[str, Any]:
    """A line of at most MAX_POINTS points: `step`, the distance of two, and `y`, to six digits."""
    y = np.asarray(values, np.float64)
    step = max(1, -(-len(y) // MAX_POINTS))
    return {"step": step, "n": len(y), "y": [figure(x, 7) for x in y[::step].tolist()]}


def packed(shares: ArrayLike) -> str:
    """A table of shares, 0 to 1, as base64 of one byte each."""
    byte = np.rint(np.clip(np.asarray(shares, np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
    return base64.b64encode(byte.tobytes()).decode()


def on_grid(place: ArrayLike) -> dict[str, Any]:
    """Coordinates as whole numbers, and the frame that holds all but a few of them far out."""
    values = np.asarray(place, np.float64)
    page: dict[str, Any] = {"frame": []}
    for axis, column in zip("xy", values.T, strict=True):
        low, high = float(column.min()), float(column.max())
        room = max(high - low, 1e-12)
        page[axis] = np.rint((column - low) / room * GRID).astype(np.int64).tolist()
        inner = np.quantile(column, (0.01, 0.99))
        margin = float(inner[1] - inner[0])
        ends = np.clip([inner[0] - margin, inner[1] + margin], low, high)
        page["frame"].append(np.rint((ends - low) / room * GRID).astype(np.int64).tolist())
    return page


# ---- names ----------------------------------------------------------------------------------------------------------


def shortened(name: str) -> str:
    """A name of at most MAX_NAME_BYTES bytes, the middle left out if need be; what is no text as escapes."""
    plain = name
    if not name.isprintable():
        plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    raw = plain.encode("utf-8", "backslashreplace")
    if len(raw) <= MAX_NAME_BYTES:
        return raw.decode()
    half = MAX_NAME_BYTES // 2 - 2
    return raw[:half].decode("utf-8", "ignore") + "\u2026" + raw[-half:].decode("utf-8", "ignore")


def named(names: Sequence[str], report: str) -> dict[str, Any]:
    """Names of documents without the folder they share, and where to find them from the page, if they are files."""
    folder = common_folder(names)
    short = [shortened(name.removeprefix(folder)) for name in names]
    base = link_base(names, folder, report)
    page: dict[str, Any] = {"name": short, "folder": shortened(_told_folder(folder)), "base": base}
    if base is not None:  # a name that was changed leads nowhere
        page["unlinked"] = [t for t, name in enumerate(names) if name.removeprefix(folder) != short[t]]
    return page


def _told_folder(folder: str) -> str:
    """A folder as the page names it: as it was typed, but of an absolute path the last part alone."""
    return folder.rstrip("/").rpartition("/")[2] + "/" * (folder != "/") if os.path.isabs(folder) else folder


def link_base(names: Sequence[str], folder: str, report: str) -> str | None:
    """What to put before the name of a document to link it from the page; None if the names are not all files.

    The way there must not show folders that nobody named, nor from an absolute path of those above the page's
    neighbours: no link if there would be any.
    """
    if not names or not all(os.path.isfile(name) for name in names):
        return None
    try:
        way = os.path.relpath(folder or ".", os.path.dirname(report) or ".")
    except ValueError:  # another drive
        return None
    down = [part for part in way.replace(os.sep, "/").split("/") if part not in ("..", ".")]
    typed = [part for part in os.path.normpath(folder or ".").replace(os.sep, "/").split("/") if part not in ("", ".")]
    if down and down != typed[-len(down) :]:
        return None
    if os.path.isabs(folder) and way.split(os.sep).count("..") > 1:
        return None
    return "./" + quote(os.fsencode(way.replace(os.sep, "/"))) + "/"  # names need not be text
