"""Pictures of Huang et al. 2021: convergence, improvement over a grid, F by level, co-occurrence, trees."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arbora.evaluate.hierarchy import Hierarchy
from arbora.plot import COLOURS, hierarchy, new_figure, png_bytes

DPI = 80


def convergence(runs: Mapping[str, Any]) -> bytes:
    """Figures 6 and 13: log-likelihoods of the first four chains, complete-data and regularised."""
    figure = new_figure(2.9 * len(runs), 2.8)
    axes = figure.subplots(1, len(runs))
    for ax, (name, run) in zip(axes, runs.items(), strict=True):
        for chain in range(min(4, run.trace.n_chains)):
            for what, width, colour in (("cdll", 0.5, "#BBBBBB"), ("log_joint", 0.5, COLOURS[chain])):
                values = run.trace.info[what][chain]
                step = max(1, len(values) // 400)
                ax.plot(np.arange(0, len(values), step), values[::step], lw=width, c=colour)
        ax.set_title(name, fontsize=7)
        ax.tick_params(labelsize=6)
        ax.set_xlabel("sweep", fontsize=7)
    axes[0].set_ylabel("CDLL (grey), RCDLL", fontsize=7)
    return png_bytes(figure, DPI)


def collapse(runs: Mapping[str, Any]) -> bytes:
    """Number of nodes by sweep, mean over chains: the literal target loses its branches."""
    figure = new_figure(7.0, 3.6)
    ax = figure.subplots()
    shown = [name for name in runs if "finite" not in name]
    for c, name in enumerate(shown):
        values = runs[name].trace.info["n_nodes"].mean(axis=0)
        window = max(1, len(values) // 60)
        smooth = np.convolve(values, np.ones(window) / window, "valid")
        ax.plot(smooth, c=COLOURS[c % len(COLOURS)], lw=1.2, label=name)
    ax.set_xlabel("sweep")
    ax.set_ylabel("nodes below the root")
    ax.legend(fontsize=6)
    return png_bytes(figure, DPI)


def grid(gain: NDArray[np.float64], strengths: Sequence[float], margins: Sequence[float]) -> bytes:
    """Figures 7 and 14: improvement in percent over C and epsilon_0; [kind, measure, strength, margin]."""
    figure = new_figure(9.0, 5.0)
    axes = figure.subplots(2, 3)
    for i, kind in enumerate(("finite", "own")):
        for j, measure in enumerate(("AID", "AID>1", "AOD")):
            ax, values = axes[i, j], gain[i, j]
            ax.imshow(np.clip(values, -40, 40), cmap="RdBu", vmin=-40, vmax=40, aspect="auto")
            for (a, b), value in np.ndenumerate(values):
                ax.text(b, a, f"{value:+.0f}", ha="center", va="center", fontsize=8)
            ax.set_xticks(range(len(margins)), [f"{x:g}" for x in margins], fontsize=7)
            ax.set_yticks(range(len(strengths)), [f"{x:g}" for x in strengths], fontsize=7)
            ax.set_title(f"{kind}: improvement of {measure}, %", fontsize=8)
            ax.set_xlabel("epsilon_0", fontsize=7)
            ax.set_ylabel("C", fontsize=7)
    return png_bytes(figure, DPI)


def f_boxes(runs: Mapping[str, Any]) -> bytes:
    """Figures 9 and 16: F by level of the tree of highest (R)CDLL of each chain."""
    n_levels = next(iter(runs.values())).best_f.shape[1]
    figure = new_figure(3.0 * n_levels, 3.4)
    axes = figure.subplots(1, n_levels, sharey=True)
    for level, ax in enumerate(axes):
        ax.boxplot([run.best_f[:, level] for run in runs.values()], widths=0.6)
        for x, run in enumerate(runs.values(), start=1):
            ax.plot([x], [run.consensus_f[level]], "D", c=COLOURS[5], ms=4)
        ax.set_xticks(range(1, len(runs) + 1), list(runs), rotation=60, ha="right", fontsize=6)
        ax.set_title(f"level {level + 1}; diamond: consensus", fontsize=8)
    axes[0].set_ylabel("F")
    return png_bytes(figure, DPI)


def heat_maps(runs: Mapping[str, Any], target: ArrayLike) -> bytes:
    """Figures 10 to 12 and 17 to 19: how often two data share a node, two chains of each run, sorted by class."""
    order = np.argsort(np.asarray(target), kind="stable")
    n_levels = next(iter(runs.values())).together.shape[1]
    figure = new_figure(1.5 * len(runs) * 2, 1.7 * n_levels)
    axes = figure.subplots(n_levels, 2 * len(runs), squeeze=False)
    for r, (name, run) in enumerate(runs.items()):
        for chain in range(2):
            for level in range(n_levels):
                ax = axes[level, 2 * r + chain]
                ax.imshow(run.together[chain, level][np.ix_(order, order)], cmap="Greys", vmin=0, vmax=1)
                ax.set_xticks([])
                ax.set_yticks([])
                if level == 0:
                    ax.set_title(f"{name}\nchain {chain}", fontsize=5)
        axes[0, 0].set_ylabel("level 1", fontsize=6)
    return png_bytes(figure, DPI)


def trees(found: Mapping[str, Hierarchy]) -> bytes:
    """Figures 8 and 15: the trees of highest (R)CDLL of the first chain."""
    figure = new_figure(3.4 * len(found), 5.0)
    axes = figure.subplots(1, len(found))
    for ax, (name, tree) in zip(axes, found.items(), strict=True):
        hierarchy(tree, ax)
        ax.set_title(name, fontsize=7)
        ax.tick_params(labelsize=6)
    return png_bytes(figure, DPI)
