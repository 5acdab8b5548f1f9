"""Torsello and Hancock 2003, Figures 2 and 3, on glyphs: structure alone against rivals that use geometry."""

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from arbora.forest.forest import Forest
from arbora.forest.kernels.tree_shape import make_shape
from arbora.models import TreeUnionMixture
from arbora.models.edit import pairwise
from arbora.models.edit.distance import edit_distances
from arbora.models.unions.kernels.tree_alignment import align

from .glyphs import COLUMNS, FONTS, GLYPHS, glyph_trees
from .runs import run_all
from .table import Table

Floats = NDArray[np.float64]

PAPER: dict[str, Any] = {"noise_cost": None, "search": "greedy"}  # its code and its search
EVERY = dict.fromkeys(COLUMNS, "gaussian")
MIXTURES: dict[str, dict[str, Any]] = {
    "mixture, structure alone, the paper's code and search": PAPER,
    "mixture, structure alone": {},
    "mixture, border, the paper's code and search": {**PAPER, "content": {"border": "gaussian"}},
    "mixture, border": {"content": {"border": "gaussian"}},
    "mixture, all three, the paper's code and search": {**PAPER, "content": EVERY},
    "mixture, all three": {"content": EVERY},
}
N_GLYPHS, N_FONTS = 5, 5  # of a set of 25 shapes, the paper's number
N_SETS = 20
MAIN = "mixture, structure alone, the paper's code and search"


def glyphs(quick: bool = False) -> Table:
    """All methods on all glyphs, and on sets of 25 of them."""
    n_sets = 2 if quick else N_SETS
    fonts = FONTS[:N_FONTS] if quick else FONTS
    methods = [*MIXTURES, *(f"{distance}, {how}" for distance in DISTANCES for how in ("dominant sets", "spectral"))]
    tasks = [
        Task(method, told, part, fonts) for method in methods for told in (False, True) for part in range(-1, n_sets)
    ]
    found = dict(zip(tasks, run_all("glyphs", judge, tasks), strict=True))
    forest = glyph_trees(fonts)
    header = [f"all {forest.n_trees}", f"all {forest.n_trees}, {len(GLYPHS)} clusters", f"sets of {N_GLYPHS * N_FONTS}"]
    table = Table(
        "Torsello and Hancock 2003, Figures 2 and 3: shock trees of glyphs, with a geometric attribute",
        ["method", *header, f"{header[-1]}, {N_GLYPHS} clusters"],
    )
    for method in methods:
        cells = [[found[Task(method, told, -1, fonts)]] for told in (False, True)]
        cells += [[found[Task(method, told, part, fonts)] for part in range(n_sets)] for told in (False, True)]
        table.rows.append([method, *map(_cell, cells)])
    table.remarks += _remarks(forest, n_sets)
    table.more.append(_differences(methods, {x: found[x] for x in tasks if x.part >= 0 and not x.told}))
    return table


def _remarks(forest: Forest, n_sets: int) -> list[str]:
    return [
        "Cells: fraction of pairs of trees rightly together or apart / adjusted Rand index / normalised mutual "
        "information (clusters). Without a number of clusters given, mixtures choose it by description length, "
        "dominant sets by themselves, spectral clustering by the silhouette among 2 to 20.",
        f"{forest.n_trees} trees, {forest.n_nodes} nodes: the glyphs {', '.join(GLYPHS[:-1])} and {GLYPHS[-1]} of "
        f"{forest.n_trees // len(GLYPHS)} fonts that come with Matplotlib. The class is the glyph. A node is a branch "
        "of the medial axis and holds its share of the border, which is the paper's attribute, its mean radius and the "
        "change of its radius. The paper's 25 shapes are not public.",
        f"Sets of {N_GLYPHS * N_FONTS}, as many shapes as the paper has: {N_GLYPHS} glyphs of {N_FONTS} fonts each, "
        f"both drawn at random, means over {n_sets} sets.",
        "Mixtures have no attribute, the border, or all three. The rivals of Figure 2 weigh nodes by their share of "
        "the border, as the paper's do: in edit distances a node costs its weight, and a pair the difference of its "
        "weights; the one union is built with that attribute, and the vector of a tree holds the weights at its nodes.",
    ]


def _differences(methods: list[str], found: dict["Task", "Scores"]) -> Table:
    """The adjusted Rand index of each method less that of the mixture by structure alone, set by set."""
    index = {m: np.array([s.ari for x, s in found.items() if x.method == m]) for m in methods}
    shared = {m: np.array([s.nmi for x, s in found.items() if x.method == m]) for m in methods}
    part = Table(
        "Beside the mixture by structure alone, set by set", ["method", "adjusted Rand index", "mutual information"]
    )
    for method in methods:
        if method != MAIN:
            part.rows.append([method, *(_difference(x[method] - x[MAIN]) for x in (index, shared))])
    part.remarks.append(
        "Clusters as each method finds them, on the sets; the mixture has the paper's code and search. Mean difference "
        "and its standard error over the sets, which share glyphs and fonts."
    )
    return part


def _difference(values: Floats) -> str:
    return f"{values.mean():+.3f} ({values.std(ddof=1) / np.sqrt(len(values)):.3f})"


class Task(NamedTuple):
    """One method, told the number of clusters or not, on one set of shapes; -1 is all of them."""

    method: str
    told: bool
    part: int
    fonts: tuple[str, ...]


class Scores(NamedTuple):
    """Agreement with the glyphs."""

    pairs: float
    ari: float
    nmi: float
    clusters: int


def _cell(scores: list[Scores]) -> str:
    pairs, ari, nmi, clusters = np.mean(np.array(scores, np.float64), axis=0)
    many = f"{clusters:.0f}" if len(scores) == 1 else f"{clusters:.1f}"
    return f"{pairs:.2f} / {ari:.2f} / {nmi:.2f} ({many})"


def judge(task: Task) -> Scores:
    """One fit beside the classes."""
    rows = _chosen(task.part, len(task.fonts))
    forest = glyph_trees(task.fonts).take(rows)
    truth = np.asarray(forest.target)
    number = len(np.unique(truth)) if task.told else None
    if task.method in MIXTURES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            label = TreeUnionMixture(number, **MIXTURES[task.method]).fit(forest).labels_
    else:
        name, _, how = task.method.rpartition(", ")
        distance = DISTANCES[name](task.fonts, task.part)
        label = pairwise.cluster_distances(
            distance, "dominant" if how.startswith("dominant") else "spectral", number, 0
        )
    pairs, ari, nmi = (float(f(truth, label)) for f in (rand_score, adjusted_rand_score, normalized_mutual_info_score))
    return Scores(pairs, ari, nmi, len(np.unique(label)))


def _chosen(part: int, n_fonts: int) -> Any:
    """Which trees are in a set: a tree is that of a font and a glyph."""
    every = np.arange(n_fonts * len(GLYPHS)).reshape(n_fonts, len(GLYPHS))
    if part < 0:
        return every.ravel()
    rng = np.random.default_rng(part)
    font = np.sort(rng.permutation(n_fonts)[:N_FONTS])
    glyph = np.sort(rng.permutation(len(GLYPHS))[:N_GLYPHS])
    return every[np.ix_(font, glyph)].ravel()


@cache
def _unweighted(fonts: tuple[str, ...]) -> Floats:
    return np.asarray(edit_distances(glyph_trees(fonts), ordered=False, labels=False))


@cache
def _weighted(fonts: tuple[str, ...]) -> Floats:
    return weighted_distances(glyph_trees(fonts))


def weighted_distances(forest: Forest) -> Floats:
    """Edit distances with the share of the border as weight, of matchings that fit into one tree."""
    start, weight = forest.tree_start, forest.content["border"].values
    spans = [slice(int(a), int(b)) for a, b in itertools.pairwise(start)]
    shapes = [make_shape(np.where(forest.parent[x] < 0, -1, forest.parent[x] - x.start)) for x in spans]
    out = np.zeros((forest.n_trees, forest.n_trees))
    for s in range(forest.n_trees):
        for t in range(s):
            here, there = weight[spans[s]], weight[spans[t]]
            gain = np.ascontiguousarray(2.0 * np.minimum.outer(here, there))
            rest = here.sum() + there.sum() - align(shapes[s], shapes[t], gain).value
            out[s, t] = out[t, s] = max(rest, 0.0)
    return out


def _embedded(forest: Forest) -> Floats:
    """All trees in one attributed union: the vector of a tree holds the share of the border at each node of it."""
    model = TreeUnionMixture(1, content={"border": "gaussian"}, **PAPER).fit(forest)
    vector = np.zeros((forest.n_trees, model.unions_[0].n_nodes))
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    np.add.at(vector, (tree, model.node_match_), forest.content["border"].values)
    return np.asarray(np.abs(vector[:, None] - vector[None]).sum(axis=2))


def _part(of: Callable[[tuple[str, ...]], Floats]) -> Callable[[tuple[str, ...], int], Floats]:
    """Distances within a set, from those of all trees."""

    def distances(fonts: tuple[str, ...], part: int) -> Floats:
        rows = _chosen(part, len(fonts))
        return of(fonts)[np.ix_(rows, rows)]

    return distances


def _one_union(fonts: tuple[str, ...], part: int) -> Floats:
    return _embedded(glyph_trees(fonts).take(_chosen(part, len(fonts))))


DISTANCES: dict[str, Callable[[tuple[str, ...], int], Floats]] = {
    "unweighted edit distance": _part(_unweighted),
    "weighted edit distance": _part(_weighted),
    "one attributed union": _one_union,
}
