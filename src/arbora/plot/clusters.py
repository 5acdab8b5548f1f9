"""Pictures of a clustering: all trees on a plane, sizes, silhouettes, known classes, the objective."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError
from ..evaluate.agreement import Agreement
from ..evaluate.projection import principal_plane
from ..evaluate.wording import counted
from .base import COLOURS, INK, MARKERS, MAX_LISTED, axes_of, colour_of, new_figure, plain_sides, short_name

Floats = NDArray[np.float64]


def clusters_map(encoding: Any, labels: ArrayLike, target: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw all trees on a plane: two principal components of their encoding, colour by cluster, marker by class.

    Rows are scaled to length one before, so that large trees do not stand out for their size.

    Parameters
    ----------
    encoding : array or sparse matrix
        What `transform` returns.
    labels : array
        Cluster of each tree.
    target : array or None, default None
        Known class of each tree.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    label = np.asarray(labels)
    clusters = np.unique(label)
    classes, kind = _classes(target, label)
    place, explained = principal_plane(encoding)
    for c, cluster in enumerate(clusters):
        for g in range(len(MARKERS)):
            shown = (label == cluster) & (kind % len(MARKERS) == g)
            if shown.any():
                ax.scatter(
                    *place[shown].T, s=26, c=colour_of(c), marker=MARKERS[g], alpha=0.75, linewidths=0.4, ec="white"
                )
    _legends(ax, clusters, classes)
    n_outside = _frame(ax, place)
    ax.set_xlabel(
        f"first principal component of the encoding, {explained[0]:.0%} of its variance\n"
        "Clusters that overlap in these two dimensions need not overlap in the model."
    )
    ax.set_ylabel(f"second principal component of the encoding, {explained[1]:.0%}")
    outside = f"; {n_outside} far out, not shown" if n_outside else ""
    ax.set_title(f"{counted(len(label), 'tree')}, one mark each{outside}")
    plain_sides(ax)
    return ax


def confusion(agreement: Agreement, ax: Any = None) -> Any:
    """Draw the trees by known class and cluster, darker where more of the class went.

    Parameters
    ----------
    agreement : Agreement
        Counts of trees by class and cluster.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    table = np.array(agreement.table, float)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    if table.size <= 400:  # numbers beyond that are not readable
        for (row, column), n in np.ndenumerate(table):
            if n:
                colour = "white" if share[row, column] > 0.55 else INK
                ax.text(column, row, f"{n:.0f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(table.shape[1]), [str(c) for c in agreement.clusters])
    ax.set_yticks(range(table.shape[0]), [short_name(name) for name in agreement.classes])
    ax.set_xlabel("cluster")
    ax.set_title(f"classes by cluster: ARI {agreement.ari:.2f}, NMI {agreement.nmi:.2f}")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def history(values: ArrayLike, ax: Any = None) -> Any:
    """Draw the objective after each iteration.

    Parameters
    ----------
    values : array
        The objective.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    objective = _some(values, "values", "an objective for each iteration, as model.history_").astype(float)
    ax.plot(np.arange(1, len(objective) + 1), objective, color=COLOURS[0], marker="o" if len(objective) < 3 else "")
    ax.set_xlabel("EM iteration")
    ax.set_ylabel("nats")
    ax.set_title("objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}" if np.ptp(objective) > 10 else "{x:,.6g}"))
    plain_sides(ax)
    return ax


def sizes(labels: ArrayLike, ax: Any = None) -> Any:
    """Draw the number of trees in each cluster.

    Parameters
    ----------
    labels : array
        Cluster of each tree.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    clusters, count = np.unique(_some(labels, "labels", "the cluster of each tree"), return_counts=True)
    bars = ax.barh(np.arange(len(clusters)), count, color=[colour_of(c) for c in range(len(clusters))])
    ax.bar_label(bars, padding=3, fontsize=9, color=INK)
    ax.set_yticks(np.arange(len(clusters)), [str(c) for c in clusters])
    ax.invert_yaxis()
    ax.set_xlim(0, count.max() * 1.12)
    ax.set_xticks([])
    ax.set_ylabel("cluster")
    ax.set_title("trees by cluster")
    plain_sides(ax)
    ax.spines["bottom"].set_visible(False)
    return ax


def silhouette(values: ArrayLike, labels: ArrayLike, ax: Any = None) -> Any:
    """Draw the silhouette of every tree as a bar, best first within its cluster.  The dashed line is the mean.

    Parameters
    ----------
    values : array
        What `metrics.silhouette_samples` returns.
    labels : array
        Cluster of each tree.
    ax : matplotlib axis or None, default None
        Where to draw; None makes a figure.

    Returns
    -------
    matplotlib axis
        The axis.
    """
    ax = axes_of(ax)
    score = _some(values, "values", "the silhouette of each tree").astype(float)
    label = np.asarray(labels)
    clusters = np.unique(label)
    low, gap = 0, max(1, len(score) // 50)
    ticks = []
    for c, cluster in enumerate(clusters):
        mine = np.sort(score[label == cluster])[::-1]
        place = np.arange(low, low + len(mine))
        ax.fill_betweenx(place, 0.0, mine, step="mid", color=colour_of(c), lw=0.8)
        ticks.append(low + (len(mine) - 1) / 2)
        low += len(mine) + gap
    ax.axvline(float(score.mean()), color=INK, lw=0.9, ls="--")
    ax.set_yticks(ticks, [str(cluster) for cluster in clusters])
    ax.invert_yaxis()
    ax.set_xlabel("silhouette")
    ax.set_ylabel("cluster")
    ax.set_title(f"mean silhouette {score.mean():.2f}")
    plain_sides(ax)
    return ax


def overview(
    encoding: Any,
    labels: ArrayLike,
    objective: ArrayLike | None,
    target: ArrayLike | None = None,
    agreement: Agreement | None = None,
) -> Any:
    """Draw one picture: the map, the sizes, and, if given, the objective and the classes by cluster.

    Parameters
    ----------
    encoding : array or sparse matrix
        What `transform` returns.
    labels : array
        Cluster of each tree.
    objective : array or None, default None
        The objective after each iteration.
    agreement : Agreement or None, default None
        Counts of trees by class and cluster.
    target : array or None, default None
        Known class of each tree.

    Returns
    -------
    matplotlib figure
        The figure.
    """
    figure = new_figure(12.0, 6.5)
    n_small = 1 + (agreement is not None) + (objective is not None)
    grid = figure.add_gridspec(n_small, 2, width_ratios=(1.55, 1.0))
    clusters_map(encoding, labels, target, figure.add_subplot(grid[:, 0]))
    sizes(labels, figure.add_subplot(grid[0, 1]))
    if agreement is not None:
        confusion(agreement, figure.add_subplot(grid[1, 1]))
    if objective is not None:
        history(objective, figure.add_subplot(grid[-1, 1]))
    return figure


# ---- parts ----------------------------------------------------------------------------------------------------------


def _some(values: ArrayLike, name: str, wanted: str) -> NDArray[Any]:
    """The values as an array, if there are any."""
    found = np.asarray(values)
    if not found.size:
        raise SettingError(f"{name} is empty, and there is nothing to draw; wanted {wanted}")
    return found


def _classes(target: ArrayLike | None, label: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the classes and the class of each tree; without classes, clusters stand for them and have no names."""
    if target is None:
        return [], np.unique(label, return_inverse=True)[1]
    names, kind = np.unique(np.asarray(target), return_inverse=True)
    return [str(name) for name in names.tolist()], kind


def _legends(ax: Any, clusters: NDArray[Any], classes: list[str]) -> None:
    """Clusters by colour, upper right; classes by shape, apart from them, lower right."""
    from matplotlib.lines import Line2D

    def mark(colour: str, marker: str, text: str) -> Any:
        return Line2D([], [], linestyle="", color=colour, marker=marker, markersize=6, label=text)

    def legend(title: str, marks: list[Any], place: str, y: float) -> Any:
        listed = marks if len(marks) <= MAX_LISTED else [*marks[:MAX_LISTED], mark("none", "", "...")]
        style = {"fontsize": 8, "title_fontsize": 8, "frameon": False, "alignment": "left", "borderaxespad": 0.0}
        return ax.legend(handles=listed, title=title, loc=place, bbox_to_anchor=(1.02, y), **style)

    shapes = ["o" if classes else MARKERS[c % len(MARKERS)] for c in range(len(clusters))]
    upper = legend(
        "cluster",
        [mark(colour_of(c), shapes[c], str(cluster)) for c, cluster in enumerate(clusters)],
        "upper left",
        1.0,
    )
    if classes:
        lower = [mark(INK, MARKERS[g % len(MARKERS)], short_name(name)) for g, name in enumerate(classes)]
        legend("class", lower, "lower left", 0.0)
        ax.add_artist(upper)


def _frame(ax: Any, place: Floats) -> int:
    """Set limits that a few trees far out do not stretch; the number of trees outside."""
    outside = np.zeros(len(place), bool)
    for values, set_limits in zip(place.T, (ax.set_xlim, ax.set_ylim), strict=True):
        low, high = np.quantile(values, (0.01, 0.99))
        room = max(high - low, 1e-9)
        inside = (values >= low - room) & (values <= high + room)
        outside |= ~inside
        low, high = values[inside].min(), values[inside].max()
        margin = max(0.05 * (high - low), 1e-3)
        set_limits(low - margin, high + margin)
    return int(outside.sum())
