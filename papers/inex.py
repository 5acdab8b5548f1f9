"""Bacciu and Castellana 2019, Tables 2 and 3 and Figures 8 to 11: the finite and the infinite mixture on INEX 2005."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from arbora.evaluate.agreement import agree
from arbora.evaluate.metrics import cluster_similarity, silhouette_score, slot_label_counts
from arbora.plot import confusion, png_bytes

from . import pictures
from .procedures import AUTHORS, LIBRARY, Procedure, Task, fit
from .published import FIGURE8, FIGURE8_CLASSES, FIGURE11_CLASSES, TABLE2, TABLE3, Row
from .runs import Run, Split, load, mean_silhouette, run_all
from .table import Picture, Table, as_csv, mean_std

N_RUNS = 5
COLUMNS = (
    AUTHORS,
    Procedure("labels only, the paper's start", "published", "bottom", None),
    Procedure("labels only, library", "own", "bottom", None),
    Procedure("library", "own"),
)
EMULATED, LIBRARY_LABELS = COLUMNS[0], COLUMNS[2]  # those that are drawn
LEAST_SHARE, WHOLE_SHARE = 0.1, 0.9  # of a class in a cluster, to be listed there, and without its share

Runs = dict[tuple[Procedure, Row], list[Run]]


def tables2_and_3(quick: bool = False) -> Table:
    """Silhouettes and clusters in use, 30 iterations, 5 runs; Figures 8, 10 and 11 are of the same runs."""
    rows = [Row("finite", 2, 6), Row("infinite", 2, 2.0)] if quick else list(TABLE2)
    return compare("inex2005", rows, 2 if quick else N_RUNS, 10 if quick else 30)


def compare(data: str, rows: Sequence[Row], n_runs: int, n_iter: int) -> Table:
    """Run every procedure on every row and lay the scores beside the paper's."""
    tasks = [
        Task(data, procedure, row, seed, n_iter) for procedure in COLUMNS for row in rows for seed in range(n_runs)
    ]
    runs: Runs = {}
    for task, run in zip(tasks, run_all("tables 2 and 3", fit, tasks), strict=True):
        runs.setdefault((task.procedure, task.row), []).append(run)
    table = _silhouettes(runs, rows)
    table.remarks += _remarks(runs, rows, load(data))
    target = np.asarray(load(data).test.target)
    table.more = [_clusters(runs, rows), _best_settings(runs, rows), _together(runs, rows, target)]
    for name, picture in (("8", _figure8), ("10", _figure10), ("11", _figure11)):
        table.pictures[f"mixtures-figure{name}"] = picture(runs, rows, target)
    return table


def figure9(quick: bool = False) -> Table:
    """Similarity of the classes of the training trees; a few of the trees if quick."""
    train = load("inex2005").train
    return similarity(train.take(np.arange(0, len(train), 20)) if quick else train)


# ---- tables ---------------------------------------------------------------------------------------------------------


def _silhouettes(runs: Runs, rows: Sequence[Row]) -> Table:
    table = Table(
        "Bacciu and Castellana 2019, Table 2: silhouette on INEX 2005",
        ["states", "model", "paper", *(text for p in COLUMNS for text in (p.name, "verdict"))],
    )
    for row in rows:
        cells = [text for procedure in COLUMNS for text in (_score(runs[procedure, row]), "")]
        table.rows.append([str(row.n_states), row.name, str(TABLE2[row]), *cells])
    return table


def _clusters(runs: Runs, rows: Sequence[Row]) -> Table:
    table = Table(
        "Bacciu and Castellana 2019, Table 3: clusters in use on INEX 2005",
        ["states", "model", "paper", *(text for p in COLUMNS for text in (p.name, "verdict"))],
    )
    for row in rows:
        cells = []
        for procedure in COLUMNS:
            n = [run.n_clusters for run in runs[procedure, row]]
            cells += [mean_std(n, 1), ""]
        table.rows.append([str(row.n_states), row.name, str(TABLE3[row]), *cells])
    table.remarks.append("Clusters of the test trees with at least one tree, mean (deviation); there are 11 classes.")
    return table


def _score(runs: Sequence[Run]) -> str:
    silhouette, collapsed = mean_silhouette(runs)
    return f"{silhouette} / {np.mean([r.nmi for r in runs]):.3f}{collapsed}"


def _remarks(runs: Runs, rows: Sequence[Row], data: Split) -> list[str]:
    """What the cells mean, and the bars that a model should clear."""
    target = np.asarray(data.test.target)
    truth = [silhouette_score(data.counts, target, convention=c) for c in ("paper", "sklearn")]
    means = []
    for procedure in COLUMNS:
        nmi = np.mean([run.nmi for row in rows for run in runs[procedure, row]])
        seconds = sum(run.seconds for row in rows for run in runs[procedure, row])
        means.append(f"{procedure.name} {nmi:.3f}, {seconds:.0f} s")
    train = data.train
    bars = _kmeans_nmi(target, data.counts), _kmeans_nmi(np.asarray(train.target), slot_label_counts(train))
    return [
        "Cells: silhouette of Eq. (11), mean (deviation) of the runs / mean normalised mutual information with the 11 "
        "classes, on the test trees; k*: runs with one cluster only, which count as silhouette 0. Higher: above the "
        "paper's figure and above that of the true classes.",
        f"Labels only: `structure=None`. Library: {LIBRARY}. The "
        "paper's start: random parameters, or one component, maximum likelihood where the mixture is finite, and "
        "clusters drawn from the posterior.",
        f"Mean mutual information over the rows, and processor time of the fits: {'; '.join(means)}.",
        f"The true classes have silhouette {truth[0]:.3f} ({truth[1]:.3f} in scikit-learn's convention). k-means on "
        f"(slot, label) counts, 11 clusters, mean of 5 seeds, reaches a mutual information of {bars[0]:.3f} on the "
        f"test trees and of {bars[1]:.3f} on the training trees.",
    ]


def _kmeans_nmi(target: Any, counts: Any) -> float:
    """The bar that any model of trees should clear: k-means at the true number of classes."""
    rows = counts.copy()
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    labels = [KMeans(11, n_init=1, random_state=seed).fit_predict(rows) for seed in range(5)]
    return float(np.mean([normalized_mutual_info_score(target, label) for label in labels]))


# ---- figures --------------------------------------------------------------------------------------------------------


def _best(runs: Runs, rows: Sequence[Row], procedure: Procedure, wanted: Callable[[Row], bool]) -> tuple[Row, Run]:
    """The row of highest mean silhouette, and its best run."""

    def height(run: Run) -> float:
        return -1.0 if run.silhouette is None else run.silhouette

    row = max(filter(wanted, rows), key=lambda row: float(np.mean([height(run) for run in runs[procedure, row]])))
    return row, max(runs[procedure, row], key=height)


def _confusions(chosen: Sequence[tuple[str, Run]], target: Any, n_columns: int, caption: str) -> Picture:
    """Classes by cluster of some runs, as pictures side by side and as one list."""
    figure, axes = pictures.panels(-(-len(chosen) // n_columns), n_columns, 5.4, 3.8)
    lines = []
    for ax, (title, run) in zip(axes, chosen, strict=True):
        by_size = np.unique(run.labels, return_inverse=True, return_counts=True)
        rank = np.argsort(np.argsort(-by_size[2], kind="stable"), kind="stable")  # clusters by decreasing size
        found = agree(_ordered(target), rank[by_size[1]])
        confusion(found, ax)
        ax.set_title(f"{title}\nNMI {found.nmi:.2f}, silhouette {run.silhouette or float('nan'):.2f}", fontsize=9)
        ax.set_ylabel("class")
        for name, counts in zip(found.classes, found.table, strict=True):
            lines += [(title, name, cluster, n) for cluster, n in enumerate(counts) if n]
    return Picture(png_bytes(figure, 90), caption, as_csv(["model", "class", "cluster", "trees"], lines))


def _ordered(target: Any) -> Any:
    """Classes as numbers where they are numbers, so that 10 comes after 9."""
    return np.array([int(x) for x in target]) if all(str(x).isdigit() for x in target) else target


def _bests(runs: Runs, rows: Sequence[Row]) -> list[tuple[str, Row, Run]]:
    """The best setting of each model, by the emulation and by the library, and its best run."""
    chosen = []
    for procedure in (EMULATED, LIBRARY_LABELS):
        for model in ("finite", "infinite"):
            row, run = _best(runs, rows, procedure, lambda row, model=model: row.model == model)  # type: ignore[misc]
            chosen.append((f"{procedure.name}: {row.n_states} states, {row.name}", row, run))
    return chosen


def _best_settings(runs: Runs, rows: Sequence[Row]) -> Table:
    table = Table(
        "Bacciu and Castellana 2019, Figure 8: clusters in use, best run of the best setting",
        ["model", "paper", "ours", "verdict"],
    )
    for title, row, run in _bests(runs, rows):
        table.rows.append([title, str(FIGURE8[row.model]), str(run.n_clusters), ""])
    return table


def _together(runs: Runs, rows: Sequence[Row], target: Any) -> Table:
    """The clusters of the runs that Figures 8 and 11 show, as lists of classes."""
    table = Table(
        "Bacciu and Castellana 2019, Figures 8 and 11: classes that share a cluster",
        ["figure", "run", "the paper", "clusters", "verdict"],
    )
    for title, row, run in _bests(runs, rows):
        table.rows.append(["8", title, FIGURE8_CLASSES[row.model], _classes(target, run), ""])
    for title, run in _by_states(runs, rows):
        said = next((words for states, words in FIGURE11_CLASSES.items() if f" {states} states" in title), "")
        table.rows.append(["11", title, said, _classes(target, run), ""])
    table.remarks.append(
        f"Clusters by decreasing size. A class is listed where at least {LEAST_SHARE:.0%} of its trees are, with the "
        f"share if it is below {WHOLE_SHARE:.0%}. The paper's words list class 9 twice and class 10 not at all, so "
        "neither is judged."
    )
    return table


def _classes(target: Any, run: Run) -> str:
    """Clusters by decreasing size, each with the classes that have a good part of their trees in it."""
    names = _ordered(target)
    size = {name: int((names == name).sum()) for name in np.unique(names)}
    found = []
    for cluster in sorted(np.unique(run.labels), key=lambda k: -int((run.labels == k).sum())):
        share = {name: float((run.labels[names == name] == cluster).mean()) for name in size}
        listed = [
            f"{name}" if part >= WHOLE_SHARE else f"{name} ({part:.0%})"
            for name, part in share.items()
            if part >= LEAST_SHARE
        ]
        found.append("{" + ", ".join(listed) + "}")
    return " ".join(found)


def _by_states(runs: Runs, rows: Sequence[Row]) -> list[tuple[str, Run]]:
    """The best run of the infinite mixture for each number of states, by the emulation and by the library."""
    states = sorted({row.n_states for row in rows if row.model == "infinite"})
    chosen = []
    for procedure in (EMULATED, LIBRARY_LABELS):
        for c in states:
            row, run = _best(runs, rows, procedure, lambda row, c=c: row.model == "infinite" and row.n_states == c)  # type: ignore[misc]
            chosen.append((f"{procedure.name}: {c} states, {row.name}", run))
    return chosen


def _figure8(runs: Runs, rows: Sequence[Row], target: Any) -> Picture:
    chosen = [(title, run) for title, _, run in _bests(runs, rows)]
    return _confusions(chosen, target, 2, "Figure 8: classes by cluster, best setting of each model")


def _figure11(runs: Runs, rows: Sequence[Row], target: Any) -> Picture:
    chosen = _by_states(runs, rows)
    caption = "Figure 11: best clusters of the infinite mixture by states"
    return _confusions(chosen, target, len(chosen) // 2, caption)


def _figure10(runs: Runs, rows: Sequence[Row], _: Any) -> Picture:
    """Clusters in use against components and against the prior, beside the paper's."""
    figure, axes = pictures.panels(2, 3)
    lines = []
    for r, model in enumerate(("finite", "infinite")):
        mine = [row for row in rows if row.model == model]
        sizes = sorted({row.size for row in mine})
        for c, procedure in enumerate((None, EMULATED, LIBRARY_LABELS)):
            named = {}
            for n_states in sorted({row.n_states for row in mine}):
                values = [_in_use(runs, procedure, Row(model, n_states, size)) for size in sizes]  # type: ignore[arg-type]
                named[f"{n_states} states"] = np.array([v[0] for v in values]), np.array([v[1] for v in values])
                name = "paper" if procedure is None else procedure.name
                lines += [(name, model, n_states, size, *v) for size, v in zip(sizes, values, strict=True)]
            ax = axes[3 * r + c]
            pictures.bars(ax, [f"{size:g}" for size in sizes], named, "clusters in use")
            ax.set_xlabel("components" if model == "finite" else "alpha")
            ax.set_title(f"{name}, {model}", fontsize=9)
    data = as_csv(["procedure", "model", "states", "components or alpha", "mean", "deviation"], lines)
    return Picture(png_bytes(figure, 90), "Figure 10: clusters in use against hyper-parameters", data)


def _in_use(runs: Runs, procedure: Procedure | None, row: Row) -> tuple[float, float]:
    if procedure is None:
        return TABLE3[row]
    n = [run.n_clusters for run in runs[procedure, row]]
    return float(np.mean(n)), float(np.std(n))


def similarity(train: Any) -> Table:
    """Figure 9: mean Ruzicka similarity between any two classes."""
    target = _ordered(np.asarray(train.target))
    names = [str(name) for name in np.unique(target)]
    values = cluster_similarity(slot_label_counts(train), target)
    figure, (ax,) = pictures.panels(1, 1, 5.6, 5.0)
    pictures.matrix(ax, values, names)
    ax.set_xlabel("class")
    ax.set_ylabel("class")
    apart = values - np.diag(np.full(len(values), np.inf))
    closest = [names[k] for k in apart.argmax(axis=1)]
    strangers = [name for k, name in enumerate(names) if apart[k].max() > values[k, k]]
    table = Table(
        "Bacciu and Castellana 2019, Figure 9: similarity of the classes of INEX 2005",
        ["class", "trees", "within", "closest other class", "similarity to it"],
        [
            [name, str(int((target == u).sum())), f"{values[k, k]:.2f}", closest[k], f"{apart[k].max():.2f}"]
            for k, (name, u) in enumerate(zip(names, np.unique(target), strict=True))
        ],
        ["Mean Ruzicka similarity of the training trees, each tree with itself included as in the paper."],
    )
    said = ", ".join(strangers) if strangers else "none"
    table.remarks.append(f"Classes more similar to another one than to themselves: {said}; the paper names class 6.")
    data = as_csv(["class", *names], [[name, *map(float, line)] for name, line in zip(names, values, strict=True)])
    table.pictures["mixtures-figure9"] = Picture(png_bytes(figure, 90), "Figure 9: similarity between classes", data)
    return table
