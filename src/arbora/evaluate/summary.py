"""What a clustering of trees says: for each cluster its size, labels, shapes and typical trees, as plain values."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ..forest.forest import Forest, as_forest
from ..forest.kernels import layout
from ..forest.node_columns import natural_order
from .metrics import ruzicka_distance, slot_label_counts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_LIFT = 1.5  # what is less than this many times as frequent as elsewhere sets no cluster apart
SURE = 0.99  # a tree whose cluster is more probable than this is not listed as uncertain


LEGEND = (
    "Labels and pairs of labels, parent > child: how many times as frequent as elsewhere (on so many nodes). "
    "Rules: how many times as frequent as in all trees (share of the trees of the cluster that have it). "
    "Shape: mean in the cluster (elsewhere). Skeleton: rules of most trees, joined from the root. "
    "Typical: the trees nearest to the mean of the cluster."
)


@dataclass(frozen=True)
class Trait:
    """A label, a pair ``parent > child`` or a label in a slot, much more frequent in a cluster than outside."""

    what: str
    count: int  # nodes of the cluster that have it
    elsewhere: int  # nodes of other clusters that have it
    lift: float  # relative frequency in the cluster over that outside, half a node added to each count


@dataclass(frozen=True)
class Shape:
    """The mean of a measure of shape in a cluster and in the others."""

    what: str
    mean: float
    elsewhere: float | None  # None: there is no other cluster
    difference: float | None  # of the means, in standard deviations over all trees


@dataclass(frozen=True)
class Rule:
    """A local pattern of trees, as ``a(b, c)``, that sets a cluster apart."""

    text: str
    lift: float  # how much more frequent than in all trees
    coverage: float  # share of the trees of the cluster that have it


@dataclass(frozen=True)
class Cluster:
    """One cluster: what it holds and what sets it apart, strongest evidence first."""

    cluster: int
    size: int
    share: float  # of all trees
    labels: tuple[Trait, ...]
    pairs: tuple[Trait, ...]
    slots: tuple[Trait, ...]
    shapes: tuple[Shape, ...]
    typical: tuple[str, ...]  # names of the trees nearest to the mean of the cluster
    typical_trees: tuple[int, ...]  # their numbers
    main_class: str | None  # the most frequent known class
    name: str | None = None  # from its rules; None if nobody named the clusters
    rules: tuple[Rule, ...] = ()
    skeleton: str | None = None  # rules of most trees joined from the root


@dataclass(frozen=True)
class Agreement:
    """Clusters against known classes."""

    ari: float  # adjusted Rand index
    nmi: float  # normalised mutual information
    classes: tuple[str, ...]
    clusters: tuple[int, ...]
    table: tuple[tuple[int, ...], ...]  # trees by class (row) and cluster (column)


@dataclass(frozen=True)
class LevelScore:
    """A coarser or finer grouping against known classes."""

    n_groups: int
    ari: float
    nmi: float


@dataclass(frozen=True)
class Uncertain:
    """A tree that could as well be in another cluster."""

    tree: int
    name: str
    cluster: int
    probability: float
    other: int
    other_probability: float


@dataclass(frozen=True)
class Summary:
    """All that `summarise` finds."""

    n_trees: int
    n_nodes: int
    n_labels: int
    clusters: tuple[Cluster, ...]
    agreement: Agreement | None
    uncertain: tuple[Uncertain, ...]
    n_uncertain: int  # all of them, listed or not
    folder: str  # what the names of all trees begin with: a folder, or nothing
    levels: tuple[LevelScore, ...] = ()  # the groupings of a hierarchy against known classes, finest first

    def short(self, name: str) -> str:
        """A name without the folder that all have in common."""
        return name.removeprefix(self.folder)

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, numbers and text, as JSON takes them."""
        return asdict(self)


class _Grouping(NamedTuple):
    """Clusters numbered 0, 1, ... and the number each has in the labels."""

    number: Ints
    cluster: Ints  # of each tree
    node: Ints  # cluster of each node


def summarise(
    forest: Any,
    labels: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    n_traits: int = 5,
    n_typical: int = 3,
    n_uncertain: int = 10,
    new_group: bool = False,
    named: Sequence[Any] | None = None,
    levels: Sequence[ArrayLike] = (),
) -> Summary:
    """Describe the clusters that `labels` makes of the trees; clusters without trees are left out.

    `probabilities`, one row per tree and one column per cluster, name the least certain trees; with `new_group` the
    last column is a group never seen, called -1.  Traits are ranked by the
    log-likelihood ratio of their counts inside and outside; typical trees are nearest, by Ruzicka's distance, to the
    mean representative matrix of their cluster.  `named` are the clusters 0, 1, ... as
    `arbora.models.patterns.name_groups` describes them.  `levels` are other groupings of the trees, coarser or finer,
    to compare with known classes.

    >>> found = summarise([("a", ["b"]), ("a", ["b"]), "c"], [0, 0, 1])
    >>> [cluster.labels[0].what for cluster in found.clusters]
    ['a', 'c']
    """
    forest = as_forest(forest)
    grouping = _group(forest, labels)
    label_traits = _label_traits(forest, grouping, n_traits)
    pair_traits = _pair_traits(forest, grouping, n_traits)
    slot_traits = _slot_traits(forest, grouping, n_traits)
    shapes = _shapes(forest, grouping)
    typical, names = _typical(forest, grouping, n_typical), tree_names(forest)
    agreement = None if forest.target is None else agree(forest.target, np.asarray(labels))
    size = np.bincount(grouping.cluster, minlength=len(grouping.number))
    clusters = tuple(
        Cluster(
            cluster=int(number),
            size=int(size[c]),
            share=int(size[c]) / forest.n_trees,
            labels=label_traits[c],
            pairs=pair_traits[c],
            slots=slot_traits[c],
            shapes=shapes[c],
            typical=tuple(names[t] for t in typical[c]),
            typical_trees=typical[c],
            main_class=None if agreement is None else _main_class(agreement, c),
            **_description(named, int(number)),
        )
        for c, number in enumerate(grouping.number)
    )
    uncertain, n_all = _uncertain(forest, probabilities, n_uncertain, new_group)
    folder = common_folder(names)
    scores = () if forest.target is None else tuple(_level_score(forest.target, level) for level in levels)
    sizes = forest.n_trees, forest.n_nodes, forest.n_labels
    return Summary(*sizes, clusters, agreement, uncertain, n_all, folder, scores)


def agree(target: ArrayLike, labels: ArrayLike) -> Agreement:
    """Adjusted Rand index, normalised mutual information and contingency table of classes and clusters."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    classes, row = np.unique(np.asarray(target), return_inverse=True)
    clusters, column = np.unique(np.asarray(labels), return_inverse=True)
    table = np.bincount(row * len(clusters) + column, minlength=len(classes) * len(clusters))
    return Agreement(
        ari=float(adjusted_rand_score(row, column)),
        nmi=float(normalized_mutual_info_score(row, column)),
        classes=tuple(str(name) for name in classes.tolist()),
        clusters=tuple(int(number) for number in clusters.tolist()),
        table=tuple(tuple(int(n) for n in counts) for counts in table.reshape(len(classes), -1)),
    )


def _level_score(target: ArrayLike, labels: ArrayLike) -> LevelScore:
    found = agree(target, labels)
    return LevelScore(len(found.clusters), found.ari, found.nmi)


def class_facts(known: Sequence[Any], found: Sequence[str]) -> dict[str, Any]:
    """Error, scores of each class and the confusion matrix: rows are known classes, columns the classes given."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    truth = [str(name) for name in known]
    names = sorted({*truth, *found}, key=natural_order)
    parts = precision_recall_fscore_support(truth, found, labels=names, zero_division=0.0)
    by_class = {
        name: {"trees": int(n), "precision": precision, "recall": recall, "f1": f1}
        for name, precision, recall, f1, n in zip(names, *(part.tolist() for part in parts), strict=True)
    }
    present = sorted(set(truth))
    return {
        "error": sum(a != b for a, b in zip(truth, found, strict=True)) / max(len(truth), 1),
        "mean_f1": sum(by_class[name]["f1"] for name in present) / max(len(present), 1),
        "by_class": by_class,
        "confusion": {"classes": names, "table": confusion_matrix(truth, found, labels=names).tolist()},
    }


def tree_names(forest: Forest) -> list[str]:
    """Name of each tree, or its number where there are no names."""
    return [f"tree {t}" for t in range(forest.n_trees)] if forest.name is None else [str(x) for x in forest.name]


def common_folder(names: Sequence[str]) -> str:
    """The folder, with the slash at its end, in which all names lie; empty if there is none.

    >>> common_folder(["data/news/a.xml", "data/news/b.xml", "data/new/c.xml"])
    'data/'
    """
    return "".join(os.path.commonprefix(list(names)).rpartition("/")[:2])  # noqa: RUF071 (cut at a slash)


def counted(n: int, what: str) -> str:
    """A number of things: "1 tree", "2 trees"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def told(trait: Trait) -> str:
    """A trait in a few words: how much more frequent, and on how many nodes."""
    times = "over 100 times" if trait.lift > 100 else f"{trait.lift:.{0 if trait.lift >= 10 else 1}f} times"
    return f"{trait.what} {times if trait.elsewhere else 'only here'} ({trait.count})"


def rule_told(rule: Rule, most: int | None = None) -> str:
    """A rule in a few words: how much more frequent, and in how many trees of the cluster; cut after `most` letters."""
    times = "over 100 times" if rule.lift > 100 else f"{rule.lift:.{0 if rule.lift >= 10 else 1}f} times"
    text = rule.text if most is None or len(rule.text) <= most else rule.text[: most - 3] + "..."
    return f"{text} {times} (in {rule.coverage:.0%})"


def shape_told(cluster: Cluster) -> str:
    """Means of the measures of shape, those of other clusters in brackets."""
    words = []
    for shape in cluster.shapes:
        other = "" if shape.elsewhere is None else f" ({shape.elsewhere:.1f})"
        words.append(f"{shape.mean:.1f}{other} {shape.what}")
    return ", ".join(words)


def tree_shapes(forest: Forest) -> dict[str, Floats]:
    """Nodes, depth (in edges) and mean number of children of the inner nodes, of each tree."""
    first = forest.tree_start[:-1]
    degree = np.bincount(forest.parent[forest.parent >= 0], minlength=forest.n_nodes)
    inner = np.add.reduceat((degree > 0).astype(np.int64), first)
    return {
        "nodes": forest.sizes.astype(np.float64),
        "depth": np.maximum.reduceat(layout.depth(forest.parent), first).astype(np.float64),
        "children": (forest.sizes - 1) / np.maximum(inner, 1),
    }


# ---- parts ----------------------------------------------------------------------------------------------------------


def _group(forest: Forest, labels: ArrayLike) -> _Grouping:
    values = np.asarray(labels)
    if values.shape != (forest.n_trees,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"labels have shape {values.shape} and type {values.dtype}; wanted a whole number for each of the "
            f"{forest.n_trees} trees"
        )
    if not forest.n_trees:
        raise ValueError("there are no trees to summarise; give at least one")
    number, cluster = np.unique(values, return_inverse=True)
    return _Grouping(number.astype(np.int64), cluster.astype(np.int64), np.repeat(cluster, forest.sizes))


def _description(named: Sequence[Any] | None, number: int) -> dict[str, Any]:
    """Name, rules and skeleton of a cluster, where there are some."""
    if named is None or not 0 <= number < len(named):
        return {}
    one = named[number]
    rules = tuple(Rule(str(text), float(lift), float(coverage)) for text, lift, coverage in one.patterns)
    return {"name": one.name, "rules": rules, "skeleton": one.skeleton_text or None}


def _main_class(agreement: Agreement, c: int) -> str:
    return agreement.classes[int(np.argmax([counts[c] for counts in agreement.table]))]


def _label_traits(forest: Forest, grouping: _Grouping, n_best: int) -> list[tuple[Trait, ...]]:
    known = forest.label >= 0
    names = np.array(forest.vocabulary, object)
    return _traits(forest.label[known].astype(np.int64), grouping.node[known], names, len(grouping.number), n_best)


def _pair_traits(forest: Forest, grouping: _Grouping, n_best: int) -> list[tuple[Trait, ...]]:
    child = np.flatnonzero(forest.parent >= 0)
    above, below = forest.label[forest.parent[child]].astype(np.int64), forest.label[child].astype(np.int64)
    known = (above >= 0) & (below >= 0)
    found, key = np.unique(above[known] * forest.n_labels + below[known], return_inverse=True)
    words = forest.vocabulary
    names = np.array([f"{words[k // forest.n_labels]} > {words[k % forest.n_labels]}" for k in found.tolist()], object)
    return _traits(key, grouping.node[child[known]], names, len(grouping.number), n_best)


def _slot_traits(forest: Forest, grouping: _Grouping, n_best: int) -> list[tuple[Trait, ...]]:
    """Labels by their place among siblings, counted from 1 as people do."""
    known = (forest.label >= 0) & (forest.slot >= 0)
    slot, label = forest.slot[known].astype(np.int64), forest.label[known].astype(np.int64)
    found, key = np.unique(slot * forest.n_labels + label, return_inverse=True)
    words = forest.vocabulary
    names = [f"{words[k % forest.n_labels]} as child {k // forest.n_labels + 1}" for k in found.tolist()]
    return _traits(key, grouping.node[known], np.array(names, object), len(grouping.number), n_best)


def _traits(key: Ints, cluster: Ints, names: NDArray[Any], n_clusters: int, n_best: int) -> list[tuple[Trait, ...]]:
    """The traits of each cluster that its nodes have MIN_LIFT times as often as others, by log-likelihood ratio."""
    shape = (n_clusters, max(len(names), 1))
    counts = sp.coo_array((np.ones(len(key)), (cluster, key)), shape=shape).tocsr().tocoo()  # adds up what is repeated
    row, column, inside = counts.row, counts.col, counts.data
    n_in = np.bincount(cluster, minlength=n_clusters)[row].astype(np.float64)
    n_out = len(key) - n_in
    outside = np.bincount(key, minlength=shape[1])[column] - inside
    lift = ((inside + 0.5) / (n_in + 1.0)) / ((outside + 0.5) / (n_out + 1.0))
    order = np.lexsort((column, -_evidence(inside, n_in, outside, n_out), row))
    order = order[((lift >= MIN_LIFT) & (n_out > 0))[order]]
    start = np.searchsorted(row[order], np.arange(n_clusters + 1))
    return [
        tuple(
            Trait(str(names[column[x]]), int(inside[x]), int(outside[x]), float(lift[x]))
            for x in order[start[c] : min(start[c] + n_best, start[c + 1])]
        )
        for c in range(n_clusters)
    ]


def _evidence(inside: Floats, n_in: Floats, outside: Floats, n_out: Floats) -> Floats:
    """Log-likelihood ratio, in nats, of two frequencies against a common one."""

    def log_likelihood(hits: Floats, n: Floats) -> Floats:
        rate = hits / np.maximum(n, 1.0)
        return np.asarray(xlogy(hits, rate) + xlogy(n - hits, 1.0 - rate))

    apart = log_likelihood(inside, n_in) + log_likelihood(outside, n_out)
    return np.maximum(apart - log_likelihood(inside + outside, n_in + n_out), 0.0)


def _shapes(forest: Forest, grouping: _Grouping) -> list[tuple[Shape, ...]]:
    size = np.bincount(grouping.cluster)
    rest = forest.n_trees - size
    found: list[list[Shape]] = [[] for _ in size]
    for what, value in tree_shapes(forest).items():
        total = np.bincount(grouping.cluster, value)
        mean, elsewhere = total / size, (value.sum() - total) / np.maximum(rest, 1)
        spread = value.std()
        gap = (mean - elsewhere) / spread if spread > 0 else np.zeros_like(mean)
        for c, shapes in enumerate(found):
            alone = rest[c] == 0
            shapes.append(
                Shape(what, float(mean[c]), None if alone else float(elsewhere[c]), None if alone else float(gap[c]))
            )
    return [tuple(shapes) for shapes in found]


def _typical(forest: Forest, grouping: _Grouping, n_best: int) -> list[tuple[int, ...]]:
    """The trees nearest to the mean of their cluster: one row of distances a cluster, never N x N."""
    counts = slot_label_counts(forest)
    best = []
    for c in range(len(grouping.number)):
        member = np.flatnonzero(grouping.cluster == c)
        rows = counts[member]
        mean = sp.csr_array(np.full((1, len(member)), 1.0 / len(member))) @ rows  # sparse, however many columns
        order = np.argsort(ruzicka_distance(rows, mean)[:, 0], kind="stable")[:n_best]
        best.append(tuple(member[order].tolist()))
    return best


def _uncertain(
    forest: Forest, probabilities: ArrayLike | None, n_listed: int, new_group: bool
) -> tuple[tuple[Uncertain, ...], int]:
    """Trees whose best two clusters are closest, and the number of trees that are not sure."""
    if probabilities is None:
        return (), 0
    proba = np.asarray(probabilities, np.float64)
    if proba.ndim != 2 or len(proba) != forest.n_trees:
        raise ValueError(f"probabilities have shape {proba.shape}; wanted a row for each of the {forest.n_trees} trees")
    if proba.shape[1] < 2:
        return (), 0
    order = np.argsort(-proba, axis=1, kind="stable")[:, :2]
    best, second = np.take_along_axis(proba, order, axis=1).T
    unsure = np.flatnonzero(best < SURE)
    listed = unsure[np.argsort((best - second)[unsure], kind="stable")][:n_listed]
    names = tree_names(forest)
    if new_group:
        order[order == proba.shape[1] - 1] = -1
    rows = (
        Uncertain(int(t), names[t], int(order[t, 0]), float(best[t]), int(order[t, 1]), float(second[t]))
        for t in listed
    )
    return tuple(rows), len(unsure)
