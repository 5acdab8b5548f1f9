"""Drawings of the figures of Bacciu and Castellana 2019: each function draws on axes and returns them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.plot import COLOURS, INK, MARKERS, new_figure

Floats = NDArray[np.float64]


def panels(n_rows: int, n_columns: int, width: float = 4.6, height: float = 3.4) -> tuple[Any, list[Any]]:
    """A figure and its axes, row by row."""
    figure = new_figure(width * n_columns, height * n_rows)
    return figure, list(np.ravel(figure.subplots(n_rows, n_columns, squeeze=False)))


def curves(ax: Any, x: Sequence[float], named: Mapping[str, Floats], style: Mapping[str, str] | None = None) -> Any:
    """Mean and, as a band, deviation over runs: `named` holds [run, place on x] by name."""
    for n, (name, values) in enumerate(named.items()):
        colour, mean, spread = COLOURS[n % len(COLOURS)], values.mean(axis=0), values.std(axis=0)
        line, every = (style or {}).get(name, "-"), max(1, len(x) // 6)
        marker = MARKERS[n % len(MARKERS)]
        ax.plot(x, mean, line, color=colour, marker=marker, markevery=every, markersize=4, label=name)
        ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
    ax.legend(fontsize=8, frameon=False)
    return _bare(ax)


def matrix(ax: Any, values: Floats, names: Sequence[str]) -> Any:
    """A symmetric table as colours, with its numbers."""
    ax.imshow(values, cmap="cividis", vmin=0.0, vmax=max(1e-9, float(values.max())))
    bright = 0.6 * values.max()
    for (row, column), value in np.ndenumerate(values):
        colour = INK if value > bright else "white"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6.5, color=colour)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    return ax


def bars(ax: Any, groups: Sequence[str], named: Mapping[str, tuple[Floats, Floats]], unit: str) -> Any:
    """Means with deviations, a bar for each name in every group."""
    width = 0.8 / len(named)
    place = np.arange(len(groups))
    for n, (name, (mean, deviation)) in enumerate(named.items()):
        low = np.minimum(deviation, mean)  # no bar goes below zero
        ax.bar(
            place + (n - (len(named) - 1) / 2) * width,
            mean,
            width,
            yerr=np.stack([low, deviation]),
            color=COLOURS[n % len(COLOURS)],
            label=name,
            error_kw={"elinewidth": 0.8, "ecolor": INK},
        )
    ax.set_xticks(place, groups)
    ax.set_ylabel(unit)
    ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])  # room for the legend
    ax.legend(fontsize=8, frameon=False, ncols=len(named), loc="upper center")
    return _bare(ax)


def _bare(ax: Any) -> Any:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
