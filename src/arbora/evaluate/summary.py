"""What a clustering of trees says: for each cluster its size, labels, shapes and typical trees, as plain values."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..forest.forest import Forest, as_forest
from ..forest.trees import Trees
from ..inference.stability import Stability
from .agreement import Agreement, LevelScore, agree, level_score
from .metrics import ruzicka_distance, slot_label_counts
from .traits import Grouping, Shape, Trait, cluster_shapes, group_trees, label_traits, pair_traits, slot_traits

MOSTLY = 0.6  # share of the trees of a cluster in a folder that is worth a word
SURE = 0.99  # a tree whose cluster is more probable than this is not listed as uncertain


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
    stability: float | None = None  # how well it is found again in all chains, 1 if exactly; None without chains
    folder: str | None = None  # the folder, below that of all trees, in which most of its trees are
    fate: str | None = None  # what becomes of it in the chains: stable, splits, joins others, comes and goes


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
    stability: Stability | None = None,
) -> Summary:
    """Describe the clusters that `labels` makes of the trees; clusters without trees are left out.

    `probabilities`, one row per tree and one column per cluster, name the least certain trees; with `new_group` the
    last column is a group never seen, called -1.  Traits are ranked by the
    log-likelihood ratio of their counts inside and outside; typical trees are nearest, by Ruzicka's distance, to the
    mean representative matrix of their cluster.  `named` are the clusters 0, 1, ... as
    `arbora.models.patterns.name_groups` describes them.  `levels` are other groupings of the trees, coarser or finer,
    to compare with known classes.  `stability` says how well the clusters are found again in all chains.

    >>> found = summarise([("a", ["b"]), ("a", ["b"]), "c"], [0, 0, 1])
    >>> [cluster.labels[0].what for cluster in found.clusters]
    ['a', 'c']
    """
    forest = as_forest(forest)
    grouping = group_trees(forest, labels)
    by_label, by_pair, by_slot = (find(forest, grouping, n_traits) for find in (label_traits, pair_traits, slot_traits))
    shapes = cluster_shapes(forest, grouping)
    typical, names = _typical(forest, grouping, n_typical), tree_names(forest)
    agreement = None if forest.target is None else agree(forest.target, np.asarray(labels))
    folder = common_folder(names)
    folders = _main_folders([name.removeprefix(folder) for name in names], grouping)
    size = np.bincount(grouping.cluster, minlength=len(grouping.number))
    clusters = tuple(
        Cluster(
            cluster=int(number),
            size=int(size[c]),
            share=int(size[c]) / forest.n_trees,
            labels=by_label[c],
            pairs=by_pair[c],
            slots=by_slot[c],
            shapes=shapes[c],
            typical=tuple(names[t] for t in typical[c]),
            typical_trees=typical[c],
            main_class=None if agreement is None else _main_class(agreement, c),
            **_description(named, int(number)),
            **_stability(stability, int(number)),
            folder=folders[c],
        )
        for c, number in enumerate(grouping.number)
    )
    uncertain, n_all = _uncertain(forest, probabilities, n_uncertain, new_group)
    scores = () if forest.target is None else tuple(level_score(forest.target, level) for level in levels)
    sizes = forest.n_trees, forest.n_nodes, forest.n_labels
    return Summary(*sizes, clusters, agreement, uncertain, n_all, folder, scores)


def tree_names(forest: Trees) -> list[str]:
    """Name of each tree, or its number where there are no names."""
    return [f"tree {t}" for t in range(forest.n_trees)] if forest.name is None else [str(x) for x in forest.name]


def common_folder(names: Sequence[str]) -> str:
    """The folder, with the slash at its end, in which all names lie; empty if there is none.

    >>> common_folder(["data/news/a.xml", "data/news/b.xml", "data/new/c.xml"])
    'data/'
    """
    return "".join(os.path.commonprefix(list(names)).rpartition("/")[:2])  # noqa: RUF071 (cut at a slash)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _description(named: Sequence[Any] | None, number: int) -> dict[str, Any]:
    """Name, rules and skeleton of a cluster, where there are some."""
    if named is None or not 0 <= number < len(named):
        return {}
    one = named[number]
    rules = tuple(Rule(str(text), float(lift), float(coverage)) for text, lift, coverage in one.patterns)
    return {"name": one.name, "rules": rules, "skeleton": one.skeleton_text or None}


def _stability(stability: Stability | None, number: int) -> dict[str, Any]:
    """How well a cluster is found again, where chains say so."""
    if stability is None or number not in stability.group:
        return {}
    at = stability.group.tolist().index(number)
    return {"stability": float(stability.stability[at]), "fate": stability.fates()[at]}


def _main_folders(names: Sequence[str], grouping: Grouping) -> list[str | None]:
    """The outermost folder that holds most trees of a cluster, where trees are in several."""
    top, folder = np.unique([name.partition("/")[0] if "/" in name else "" for name in names], return_inverse=True)
    n_clusters = len(grouping.number)
    if len(top) < 2:
        return [None] * n_clusters
    share = np.zeros((n_clusters, len(top)))
    np.add.at(share, (grouping.cluster, folder), 1.0)
    share /= share.sum(axis=1, keepdims=True)
    return [f"{top[x]}/" if top[x] and row[x] >= MOSTLY else None for row in share for x in [int(row.argmax())]]


def _main_class(agreement: Agreement, c: int) -> str:
    return agreement.classes[int(np.argmax([counts[c] for counts in agreement.table]))]


def _typical(forest: Forest, grouping: Grouping, n_best: int) -> list[tuple[int, ...]]:
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
