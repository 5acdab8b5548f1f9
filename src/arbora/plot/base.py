"""What all pictures share: colours, marks, and figures that are of no account to pyplot."""

import io
from typing import Any

from ..errors import MissingDependencyError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6E6E6E", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">", "p", "h")
INK = "#333333"
MAX_LISTED = 14  # entries of a legend


def new_figure(width: float = 6.0, height: float = 4.5) -> Any:
    """Make a figure with a canvas of its own, for drawing to a file.  pyplot does not see it.

    Parameters
    ----------
    width, height : float
        Size in inches.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("pictures need matplotlib; install arbora[plot]") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png_bytes(ax_or_figure: Any, dpi: int = 120) -> bytes:
    """Render a picture as PNG.  Equal pictures give equal bytes.

    Parameters
    ----------
    ax_or_figure : matplotlib axis or figure
        The picture.
    dpi : int, default 120
        Dots per inch.

    Returns
    -------
    bytes
        The file.
    """
    figure = getattr(ax_or_figure, "figure", ax_or_figure)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def axes_of(ax: Any, width: float = 6.0, height: float = 4.5) -> Any:
    """The axes given, or new ones."""
    return new_figure(width, height).add_subplot() if ax is None else ax


def colour_of(c: int) -> str:
    """Colour of group c; they come again after eight."""
    return COLOURS[c % len(COLOURS)]


def short_name(name: str, limit: int = 24) -> str:
    """A name as it fits beside an axis; a dollar sign is text, not mathematics."""
    short = name if len(name) <= limit else name[: limit - 3] + "..."
    return "".join(c if c.isprintable() else "?" for c in short).replace("$", r"\$")


def plain_sides(ax: Any, *sides: str) -> None:
    """Take the frame away, or these sides of it; without any named, those above and on the right."""
    for side in sides or ("top", "right"):
        ax.spines[side].set_visible(False)
