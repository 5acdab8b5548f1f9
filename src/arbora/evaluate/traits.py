"""What sets a cluster of trees apart: labels, pairs of labels, slots and shapes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ..forest.forest import Forest
from ..forest.kernels import layout

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


MIN_LIFT = 1.5  # what is less than this many times as frequent as elsewhere sets no cluster apart


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


class Grouping(NamedTuple):
    """Clusters numbered 0, 1, ... and the number each has in the labels."""

    number: Ints
    cluster: Ints  # of each tree
    node: Ints  # cluster of each node


def group_trees(forest: Forest, labels: ArrayLike) -> Grouping:
    values = np.asarray(labels)
    if values.shape != (forest.n_trees,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"labels have shape {values.shape} and type {values.dtype}; wanted a whole number for each of the "
            f"{forest.n_trees} trees"
        )
    if not forest.n_trees:
        raise ValueError("there are no trees to summarise; give at least one")
    number, cluster = np.unique(values, return_inverse=True)
    return Grouping(number.astype(np.int64), cluster.astype(np.int64), np.repeat(cluster, forest.sizes))


def label_traits(forest: Forest, grouping: Grouping, n_best: int) -> list[tuple[Trait, ...]]:
    known = forest.label >= 0
    names = np.array(forest.vocabulary, object)
    return _traits(forest.label[known].astype(np.int64), grouping.node[known], names, len(grouping.number), n_best)


def pair_traits(forest: Forest, grouping: Grouping, n_best: int) -> list[tuple[Trait, ...]]:
    child = np.flatnonzero(forest.parent >= 0)
    above, below = forest.label[forest.parent[child]].astype(np.int64), forest.label[child].astype(np.int64)
    known = (above >= 0) & (below >= 0)
    found, key = np.unique(above[known] * forest.n_labels + below[known], return_inverse=True)
    words = forest.vocabulary
    names = np.array([f"{words[k // forest.n_labels]} > {words[k % forest.n_labels]}" for k in found.tolist()], object)
    return _traits(key, grouping.node[child[known]], names, len(grouping.number), n_best)


def slot_traits(forest: Forest, grouping: Grouping, n_best: int) -> list[tuple[Trait, ...]]:
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


def _evidence(inside: Floats, n_in: Floats, outside: Floats, n_out: Floats) -> Floats:
    """Log-likelihood ratio, in nats, of two frequencies against a common one."""

    def log_likelihood(hits: Floats, n: Floats) -> Floats:
        rate = hits / np.maximum(n, 1.0)
        return np.asarray(xlogy(hits, rate) + xlogy(n - hits, 1.0 - rate))

    apart = log_likelihood(inside, n_in) + log_likelihood(outside, n_out)
    return np.maximum(apart - log_likelihood(inside + outside, n_in + n_out), 0.0)


def cluster_shapes(forest: Forest, grouping: Grouping) -> list[tuple[Shape, ...]]:
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
