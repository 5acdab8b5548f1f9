"""Pictures of a clustering, drawn by matplotlib on axes of the caller's or on a figure of their own.

No function touches pyplot or its state.  Clusters differ in colour (Okabe and Ito's, safe for the colour-blind) and,
where no known classes are shown, in marker too.
"""

import io
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .errors import MissingDependencyError
from .summary import Agreement, counted

Floats = NDArray[np.float64]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6E6E6E", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">", "p", "h")
INK = "#333333"
MAX_LISTED = 14  # entries of a legend


def new_figure(width: float = 6.0, height: float = 4.5) -> Any:
    """A figure with a canvas of its own, for drawing to a file; of no account to pyplot."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("pictures need matplotlib; install arbora[plot]") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png_bytes(ax_or_figure: Any, dpi: int = 120) -> bytes:
    """A picture as PNG; equal pictures give equal bytes."""
    figure = getattr(ax_or_figure, "figure", ax_or_figure)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
    return out.getvalue()


def clusters_map(encoding: Any, labels: ArrayLike, target: ArrayLike | None = None, ax: Any = None) -> Any:
    """Draw all trees on a plane: two principal components of their encoding, colour by cluster, marker by class.

    `encoding` is what `transform` returns, sparse or not; rows are brought to one length before, so that large trees
    do not stand out for being large.
    """
    ax = _axes(ax)
    label = np.asarray(labels)
    clusters = np.unique(label)
    classes, kind = _classes(target, label)
    place, explained = principal_plane(encoding)
    for c, cluster in enumerate(clusters):
        for g in range(len(MARKERS)):
            shown = (label == cluster) & (kind % len(MARKERS) == g)
            if shown.any():
                ax.scatter(
                    *place[shown].T, s=26, c=_colour(c), marker=MARKERS[g], alpha=0.75, linewidths=0.4, ec="white"
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
    _plain(ax)
    return ax


def confusion(agreement: Agreement, ax: Any = None) -> Any:
    """Draw the trees by known class and cluster, darker where more of the class went."""
    ax = _axes(ax)
    table = np.array(agreement.table, float)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    ax.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    if table.size <= 400:  # numbers beyond that are not readable
        for (row, column), n in np.ndenumerate(table):
            if n:
                colour = "white" if share[row, column] > 0.55 else INK
                ax.text(column, row, f"{n:.0f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_xticks(range(table.shape[1]), [str(c) for c in agreement.clusters])
    ax.set_yticks(range(table.shape[0]), [_short(name) for name in agreement.classes])
    ax.set_xlabel("cluster")
    ax.set_title(f"classes by cluster: ARI {agreement.ari:.2f}, NMI {agreement.nmi:.2f}")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def history(values: ArrayLike, ax: Any = None) -> Any:
    """Draw the objective after each iteration."""
    ax = _axes(ax)
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    objective = np.asarray(values, float)
    ax.plot(np.arange(1, len(objective) + 1), objective, color=COLOURS[0], marker="o" if len(objective) < 3 else "")
    ax.set_xlabel("EM iteration")
    ax.set_ylabel("nats")
    ax.set_title("objective")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}" if np.ptp(objective) > 10 else "{x:,.6g}"))
    _plain(ax)
    return ax


def sizes(labels: ArrayLike, ax: Any = None) -> Any:
    """Draw the number of trees in each cluster."""
    ax = _axes(ax)
    clusters, count = np.unique(np.asarray(labels), return_counts=True)
    bars = ax.barh(np.arange(len(clusters)), count, color=[_colour(c) for c in range(len(clusters))])
    ax.bar_label(bars, padding=3, fontsize=9, color=INK)
    ax.set_yticks(np.arange(len(clusters)), [str(c) for c in clusters])
    ax.invert_yaxis()
    ax.set_xlim(0, count.max() * 1.12)
    ax.set_xticks([])
    ax.set_ylabel("cluster")
    ax.set_title("trees by cluster")
    _plain(ax)
    ax.spines["bottom"].set_visible(False)
    return ax


def overview(
    encoding: Any,
    labels: ArrayLike,
    objective: ArrayLike,
    target: ArrayLike | None = None,
    agreement: Agreement | None = None,
) -> Any:
    """Compose one picture: the map, the sizes, the objective and, if classes are known, the classes by cluster."""
    figure = new_figure(12.0, 6.5)
    n_small = 2 if agreement is None else 3
    grid = figure.add_gridspec(n_small, 2, width_ratios=(1.55, 1.0))
    clusters_map(encoding, labels, target, figure.add_subplot(grid[:, 0]))
    sizes(labels, figure.add_subplot(grid[0, 1]))
    if agreement is not None:
        confusion(agreement, figure.add_subplot(grid[1, 1]))
    history(objective, figure.add_subplot(grid[-1, 1]))
    return figure


def principal_plane(encoding: Any) -> tuple[Floats, Floats]:
    """First two principal components of the rows, each of length one, and the share of variance they explain.

    A sparse encoding is never made dense.  The sign is such that the entry of largest size is positive.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    rows = normalize(encoding if sp.issparse(encoding) else np.asarray(encoding, float))
    n, d = rows.shape
    place, explained = np.zeros((n, 2)), np.zeros(2)
    spread = (rows * rows).sum() / n - float((np.asarray(rows.mean(axis=0)) ** 2).sum())
    if spread < 1e-12:  # all trees are alike
        return place, explained
    if min(n, d) < 4:  # too small for an iterative solver
        rows = rows.toarray() if sp.issparse(rows) else rows
        left, scale, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        k = min(2, len(scale))
        place[:, :k] = left[:, :k] * scale[:k]
        explained[:k] = scale[:k] ** 2 / (scale**2).sum()
    else:
        pca = PCA(2, svd_solver="arpack", random_state=0)
        place, explained = pca.fit_transform(rows), pca.explained_variance_ratio_
    largest = place[np.abs(place).argmax(axis=0), [0, 1]]
    return place * np.where(largest < 0, -1.0, 1.0), explained


# ---- parts ----------------------------------------------------------------------------------------------------------


def _axes(ax: Any) -> Any:
    return new_figure().add_subplot() if ax is None else ax


def _colour(c: int) -> str:
    return COLOURS[c % len(COLOURS)]


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
        "cluster", [mark(_colour(c), shapes[c], str(cluster)) for c, cluster in enumerate(clusters)], "upper left", 1.0
    )
    if classes:
        lower = [mark(INK, MARKERS[g % len(MARKERS)], _short(name)) for g, name in enumerate(classes)]
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


def _short(name: str, limit: int = 24) -> str:
    """A name as it fits beside an axis; a dollar sign is text, not mathematics."""
    short = name if len(name) <= limit else name[: limit - 3] + "..."
    return "".join(c if c.isprintable() else "?" for c in short).replace("$", r"\$")


def _plain(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
