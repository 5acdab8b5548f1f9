"""Pictures of what a sampler drew: numbers by sweep, chain by chain, and how often two data are together."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SettingError
from .base import COLOURS, INK, axes_of, colour_of, plain_sides

COUNTS = ("n_groups", "n_clusters", "n_nodes", "n_components")  # what samplers call the number of groups
MAX_POINTS = 2_000  # of a line; a longer trace is thinned


def trace(draws: Any, what: str = "log_joint", ax: Any = None) -> Any:
    """Draw a quantity of every sweep, one line per chain.  Sweeps before the dotted line were not kept.

    Parameters
    ----------
    draws : Trace
        The `trace_` of a fitted model.
    what : str, default "log_joint"
        The quantity, a key of ``draws.info``.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    if what not in draws.info:
        raise SettingError(f"what={what!r}; the trace has {', '.join(draws.info)}")
    values = np.asarray(draws.info[what], float)
    step = max(1, -(-values.shape[1] // MAX_POINTS))
    for chain, row in enumerate(values):
        style = ("-", "--", "-.", ":")[chain % 4]
        sweep = np.arange(1, len(row) + 1)
        ax.plot(sweep[::step], row[::step], style, color=colour_of(chain), lw=1.0, label=f"chain {chain}")
    burn_in = draws.schedule.burn_in
    if burn_in:
        ax.axvline(burn_in + 0.5, color=INK, lw=0.8, ls=":")
    ax.set_xlabel("sweep")
    ax.set_ylabel(what.replace("_", " "))
    if 1 < len(values) <= 8:
        ax.legend(fontsize=8, frameon=False)
    plain_sides(ax)
    return ax


def components_per_sweep(draws: Any, ax: Any = None) -> Any:
    """Draw the number of groups after every sweep.

    Parameters
    ----------
    draws : Trace
        The `trace_` of a fitted model.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    what = next((name for name in COUNTS if name in draws.info), None)
    if what is None:
        raise SettingError(f"the trace holds no number of groups; it has {', '.join(draws.info)}")
    from matplotlib.ticker import MaxNLocator

    ax = trace(draws, what, ax)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def co_occurrence(together: ArrayLike, labels: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw how often two data share a group.

    Parameters
    ----------
    together : array of shape (n_data, n_data)
        Share of the draws in which two data share a group.
    labels : array or None, default None
        Groups by which data are sorted and framed.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    from matplotlib.patches import Rectangle

    ax = axes_of(ax, 5.0)
    values = np.asarray(together, float)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise SettingError(f"together has shape {values.shape}; wanted a row and a column for each datum")
    order = np.arange(len(values)) if labels is None else np.argsort(np.asarray(labels), kind="stable")
    image = ax.imshow(values[np.ix_(order, order)], cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    if labels is not None:
        low = 0
        for size in np.unique(np.asarray(labels), return_counts=True)[1]:
            ax.add_patch(Rectangle((low - 0.5, low - 0.5), size, size, fill=False, ec=COLOURS[5], lw=1.2))
            low += size
    ax.figure.colorbar(image, ax=ax, label="share of draws in one group", shrink=0.8)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax
