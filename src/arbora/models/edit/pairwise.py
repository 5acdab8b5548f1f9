"""Clustering from a matrix of distances alone: average linkage, spectral, dominant sets; and the number of clusters."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import SpectralClustering
from sklearn.metrics import silhouette_score

from ..settings import check_choice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["average", "spectral", "dominant"]

METHODS = ("average", "spectral", "dominant")
MOST_TRIED = 20  # numbers of clusters, where the data choose
NEIGHBOUR = 7  # whose distance is the scale of similarity around a datum (Zelnik-Manor and Perona 2004)


def check_method(method: Any) -> None:
    """Raise unless the method is one of ours."""
    check_choice("method", method, METHODS)


def cluster_distances(distance: Floats, method: Method, n_clusters: int | None, seed: int) -> Ints:
    """Cluster of each datum, numbered by falling size, ties by first datum; data at distance zero stay together.

    Without `n_clusters`, dominant sets find their number themselves, and the others take the best mean silhouette of
    2 to 20 clusters; all in one if no two data differ.
    """
    first = np.argmax(distance <= 0.0, axis=1) if len(distance) else np.zeros(0, np.int64)  # the first equal datum
    n_kinds = len(np.unique(first))
    if n_kinds < 2:
        return np.zeros(len(distance), np.int64)
    if n_clusters is not None or method == "dominant":
        k = None if n_clusters is None else min(n_clusters, n_kinds)
        return canonical(_cut(distance, method, k, seed)[first])
    best, best_score = np.zeros(len(distance), np.int64), -np.inf
    for k in range(2, min(MOST_TRIED, n_kinds - 1) + 1):
        label = _cut(distance, method, k, seed)[first]
        if len(np.unique(label)) < 2:
            continue
        score = float(silhouette_score(distance, label, metric="precomputed"))
        if score > best_score + 1e-12:
            best, best_score = label, score
    return canonical(best)


def canonical(label: Ints) -> Ints:
    """Renumber clusters by falling size, ties by first datum."""
    _, first, code, size = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort((first, -size))] = np.arange(len(first))
    return rank[code]


def _cut(distance: Floats, method: Method, k: int | None, seed: int) -> Ints:
    """Labels by one method; only dominant sets take None for k."""
    if k is None or method == "dominant":
        return dominant_sets(similarity(distance), k)
    if k == 1 or k >= len(distance):
        return np.arange(len(distance)) if k > 1 else np.zeros(len(distance), np.int64)
    if method == "average":
        return cut_tree(average_linkage(distance), k)
    model = SpectralClustering(k, affinity="precomputed", random_state=seed, assign_labels="kmeans")
    # A floor keeps the graph in one piece: the embedding of a graph in pieces is arbitrary.
    return np.asarray(model.fit_predict(np.maximum(similarity(distance), 1e-9)), np.int64)


def average_linkage(distance: Floats) -> Floats:
    """Merges of average linkage, as scipy writes them."""
    return np.asarray(linkage(squareform(distance, checks=False), "average"), np.float64)


def cut_tree(merges: Floats, k: int) -> Ints:
    """Labels after all but the last k - 1 merges: exactly k clusters, whatever the ties."""
    n = len(merges) + 1
    owner = np.arange(2 * n - 1)
    for x in range(n - k):
        owner[merges[x, :2].astype(np.int64)] = n + x
    for x in range(2 * n - 2, -1, -1):  # parents come after children
        owner[x] = owner[owner[x]]
    return owner[:n]


def similarity(distance: Floats) -> Floats:
    """exp(-d_ij^2 / (s_i s_j)), s_i the distance to the 7th neighbour, or to the nearest other datum if that is 0."""
    n = len(distance)
    ordered = np.sort(distance, axis=1)
    scale = ordered[:, min(NEIGHBOUR, n - 1)]
    nearest = np.where(distance > 0, distance, np.inf).min(axis=1, initial=np.inf)
    scale = np.where(scale > 0, scale, np.where(np.isfinite(nearest), nearest, 1.0))
    return np.asarray(np.exp(-(distance**2) / (scale[:, None] * scale)))


def dominant_sets(affinity: Floats, k: int | None) -> Ints:
    """Peel off sets whose members are more alike than they are to the rest (Pavan and Pelillo 2003).

    Replicator dynamics on what is left find the next set: the data that keep a share.  After k sets the rest goes to
    the set each is most alike on average; with k None, peeling ends when nothing is left.
    """
    n = len(affinity)
    label = np.full(n, -1, np.int64)
    left = np.arange(n)
    found = 0
    while len(left) and (k is None or found < k):
        inner = affinity[np.ix_(left, left)].copy()
        np.fill_diagonal(inner, 0.0)
        chosen = left[_replicate(inner)]
        label[chosen] = found
        found += 1
        left = np.flatnonzero(label < 0)
    if len(left):
        mean = np.column_stack([affinity[np.ix_(left, np.flatnonzero(label == c))].mean(axis=1) for c in range(found)])
        label[left] = mean.argmax(axis=1)
    return label


def _replicate(affinity: Floats) -> NDArray[np.bool_]:
    """Which data keep a share under replicator dynamics from equal shares; never none."""
    n = len(affinity)
    share = np.full(n, 1.0 / n)
    for _ in range(1000):
        payoff = affinity @ share
        mean = float(share @ payoff)
        if mean <= 0.0:  # nothing is like anything: each datum is a set of its own
            return np.arange(n) == 0
        moved = share * payoff / mean
        done = np.abs(moved - share).sum() < 1e-7
        share = moved
        if done:
            break
    return np.asarray(share > 1e-4 * share.max())


def medoids(distance: Floats, label: Ints) -> Ints:
    """Of each cluster, the datum with the least sum of distances to the others; the first among equals."""
    out = []
    for c in range(int(label.max(initial=-1)) + 1):
        member = np.flatnonzero(label == c)
        out.append(int(member[distance[np.ix_(member, member)].sum(axis=1).argmin()]))
    return np.array(out, np.int64)


def assign(distance: Floats, label: Ints) -> Ints:
    """Cluster of new data from their distances to the old: that of an equal datum, else the nearest on average."""
    n_clusters = int(label.max(initial=-1)) + 1
    member = label[:, None] == np.arange(n_clusters)
    mean = distance @ member / np.maximum(member.sum(axis=0), 1)
    out = mean.argmin(axis=1) if len(distance) else np.zeros(0, np.int64)
    equal = distance <= 0.0
    out = np.where(equal.any(axis=1), label[equal.argmax(axis=1)], out)
    return out.astype(np.int64)
