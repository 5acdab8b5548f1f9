"""How good is a clustering of trees: representative matrices, Ruzicka's distance, the silhouette, class similarity.

Everything here works on counts of (slot, label) pairs and on sums of minima between them, so nothing larger than the
forest is ever held, except the square matrix of `ruzicka_distance` for those who ask for it.  Measures that only
compare two labellings (adjusted Rand index, mutual information) are scikit-learn's.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..forest.forest import Forest, as_forest
from .kernels import overlap

Floats = NDArray[np.float64]
Convention = Literal["sklearn", "paper"]

_N_BLOCKS = 64  # of rows; fixed, so that the order of every sum, and with it the last bit, is the same on any machine


def slot_label_counts(forest: Any, n_slots: int | None = None) -> sp.csr_array:
    """Count the nodes of each tree by slot and label: the representative matrix R of every tree, one row per tree.

    Column ``l * n_labels + m`` counts the nodes in slot l with label m; l = n_slots is the root, which has no slot and
    therefore a row of R of its own.  A node whose label is missing or unseen is left out: it says nothing about which
    labels stand where, and two unknown labels are not the same label.  A tree without any known label is an empty row.

    `n_slots` (default: the forest's own) gives forests of one vocabulary the same columns.

    >>> from arbora import Forest
    >>> slot_label_counts(Forest.from_nested([("a", ["b", "b"]), "a"])).toarray()
    array([[0., 1., 0., 1., 1., 0.],
           [0., 0., 0., 0., 1., 0.]])
    """
    trees = forest if hasattr(forest, "parts") else as_forest(forest)
    n_slots = trees.n_slots if n_slots is None else n_slots
    if n_slots < trees.n_slots:
        raise ValueError(f"n_slots={n_slots}, but the forest uses slots up to {trees.n_slots - 1}")
    parts = [_count_pairs(part, n_slots) for part in trees.parts()]
    return parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")


def _count_pairs(forest: Forest, n_slots: int) -> sp.csr_array:
    start = forest.tree_start
    key = np.where(forest.slot < 0, n_slots, forest.slot).astype(np.int64) * forest.n_labels + forest.label
    known = forest.label >= 0
    if not known.all():
        key = key[known]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[start]
    # Repeated columns of a row add up, which is the counting.
    shape = (forest.n_trees, (n_slots + 1) * forest.n_labels)
    counts = sp.csr_array((np.ones(len(key)), key, start.copy()), shape=shape)
    counts.sum_duplicates()
    return counts


def ruzicka_distance(a: Any, b: Any = None) -> Floats:
    """Dense matrix of Ruzicka's distances, d(R, R') = 1 - sum min(R, R') / sum max(R, R').

    Eq. (9) of Bacciu and Castellana 2019.

    `a` and `b` are forests (their labels are matched by name) or matrices of counts, sparse or not, one row per tree;
    without `b`, the rows of `a` among themselves.  Two empty rows are at distance 0.

    >>> ruzicka_distance([("a", ["b", "b"]), "a"]).round(3)
    array([[0.   , 0.667],
           [0.667, 0.   ]])
    """
    rows, others = (_as_counts(a), None) if b is None else _matched_counts(a, b)
    both = rows if others is None else sp.vstack([rows, others], format="csr")
    packed, n_columns = _pack(both)
    n = rows.shape[0]
    left = _slice_rows(packed, 0, n)
    right = left if others is None else _slice_rows(packed, n, both.shape[0])
    distance = np.empty((len(left.size), len(right.size)))
    overlap.distances(left, right, _invert(right, n_columns), distance)
    return distance


def silhouette_samples(
    data: Any, labels: ArrayLike, convention: Convention = "sklearn", metric: str = "ruzicka", n_jobs: int | None = None
) -> Floats:
    """Silhouette of each tree, s = (b - a) / max(a, b), by Ruzicka's distance between representative matrices.

    b is the smallest mean distance to the trees of another cluster; a, the mean distance to those of the own one, is

    - ``convention="sklearn"``: Rousseeuw's; the tree itself is left out of a, and a tree alone in its cluster scores 0;
    - ``convention="paper"``: Eq. (11) of Bacciu and Castellana 2019 as printed; the tree itself counts, at distance 0:
      a tree alone in its cluster scores 1.  Where Rousseeuw's s >= 0 it is s + (1 - s) / (size of the cluster).

    a = b = 0 scores 0.  With a single cluster b is a minimum over nothing: both conventions refuse it, and
    scikit-learn's also refuses clusters of one tree each.  `data` is a forest or a matrix of counts, one row per tree;
    memory is linear in it.  `n_jobs` threads (-1: all processors) change the time and nothing else.
    """
    _check_metric(metric)
    if convention not in ("sklearn", "paper"):
        raise ValueError(f'convention={convention!r}; wanted "sklearn" or "paper"')
    grouped = group_trees(_as_counts(data), labels)
    cells, n_data, n_clusters = grouped.cells, len(grouped.cell), len(grouped.cells.cluster_size)
    if n_clusters < 2:
        raise ValueError(f"found {n_clusters} cluster(s) in labels; the silhouette needs 2 or more to compare")
    if convention == "sklearn" and n_clusters == n_data:
        raise ValueError(
            f"each of the {n_data} trees is alone in its cluster; the silhouette of scikit-learn's convention "
            f'needs a cluster of 2 or more (convention="paper" scores every tree 1)'
        )
    parts = np.empty((len(cells.cluster), 2))  # by cell: summed distance to the own cluster, mean one to the next best

    def fill(block: NDArray[np.int64]) -> None:
        overlap.silhouette_parts(block, grouped.rows, grouped.inverted, cells, _work(grouped), parts)

    for _ in _over_blocks(fill, len(grouped.rows.size), n_jobs):
        pass
    size = cells.cluster_size[cells.cluster]
    alone = (size == 1.0) & (convention == "sklearn")
    within = parts[:, 0] / (size if convention == "paper" else np.maximum(size - 1.0, 1.0))
    between = parts[:, 1]
    largest = np.maximum(within, between)
    score = np.divide(between - within, largest, out=np.zeros_like(largest), where=(largest > 0.0) & ~alone)
    return score[grouped.cell]


def silhouette_score(
    data: Any, labels: ArrayLike, convention: Convention = "sklearn", metric: str = "ruzicka", n_jobs: int | None = None
) -> float:
    """Mean silhouette of all trees (Bacciu and Castellana 2019, Eqs. 10-11); `silhouette_samples` has two conventions.

    >>> round(silhouette_score(["a", "a", ("b", ["c"]), ("b", ["d"])], [0, 0, 1, 1]), 3)
    0.667
    """
    return float(np.mean(silhouette_samples(data, labels, convention, metric, n_jobs)))


def cluster_similarity(data: Any, labels: ArrayLike, n_jobs: int | None = None) -> Floats:
    """Mean Ruzicka similarity between the trees of any two clusters (Bacciu and Castellana 2019, Figure 9).

    Row and column c belong to ``numpy.unique(labels)[c]``.  The mean runs over all pairs, as the paper says, so on the
    diagonal it includes the similarity, 1, of each tree to itself.

    >>> cluster_similarity(["a", "a", ("a", ["c"]), ("b", ["d"])], [0, 0, 1, 1])
    array([[1.  , 0.25],
           [0.25, 0.5 ]])
    """
    grouped = group_trees(_as_counts(data), labels)
    n_clusters = len(grouped.cells.cluster_size)

    def add_up(block: NDArray[np.int64]) -> Floats:
        part = np.zeros((n_clusters, n_clusters))
        overlap.similarity_sums(block, grouped.rows, grouped.inverted, grouped.cells, _work(grouped), part)
        return part

    total = np.zeros((n_clusters, n_clusters))
    for part in _over_blocks(add_up, len(grouped.rows.size), n_jobs):
        total += part
    mean: Floats = total / np.outer(grouped.cells.cluster_size, grouped.cells.cluster_size)
    return (mean + mean.T) / 2.0  # symmetric but for rounding; now to the last bit


# ---- from data to what kernels take ---------------------------------------------------------------------------------


class _Grouped(NamedTuple):
    """Distinct rows of counts, how many data of each cluster have them, and where each datum went."""

    rows: overlap.Rows
    inverted: overlap.Inverted
    cells: overlap.Cells
    cell: NDArray[np.int64]  # of each datum: which (row, cluster)


def group_trees(counts: sp.csr_array, labels: ArrayLike) -> _Grouped:
    """Merge identical rows, which all have the same distances, and count the clusters of the data that share one."""
    cluster, n_clusters = _check_labels(labels, counts.shape[0])
    packed, n_columns = _pack(counts)
    kind, first = overlap.distinct_rows(packed.start, packed.column, packed.amount, _hash_rows(packed))
    rows = _take_rows(packed, first)
    key, cell, weight = np.unique(kind * n_clusters + cluster, return_inverse=True, return_counts=True)
    cells = overlap.Cells(
        start=np.searchsorted(key, np.arange(len(first) + 1) * n_clusters),
        cluster=key % n_clusters,
        weight=weight.astype(np.float64),
        cluster_size=np.bincount(cluster, minlength=n_clusters).astype(np.float64),
    )
    return _Grouped(rows, _invert(rows, n_columns), cells, cell)


def _as_counts(data: Any) -> sp.csr_array:
    """Counts of a forest, or a matrix of counts in canonical sparse form: sorted, no zeros, nothing negative."""
    if not sp.issparse(data) and not (isinstance(data, np.ndarray) and data.ndim == 2):
        return slot_label_counts(data)
    counts = sp.csr_array(data, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if not np.isfinite(counts.data).all() or counts.data.min(initial=0.0) < 0.0:
        raise ValueError("counts hold a negative number, a nan or an infinity; Ruzicka's distance wants counts >= 0")
    if counts.data.max(initial=0.0) > 1e290:
        raise ValueError("counts above 1e290 would overflow when summed; scale them down")
    return counts


def _matched_counts(a: Any, b: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """Counts of two data sets over the same columns."""
    matrices = [sp.issparse(x) or isinstance(x, np.ndarray) for x in (a, b)]
    if all(matrices):
        rows, others = _as_counts(a), _as_counts(b)
        if rows.shape[1] != others.shape[1]:
            raise ValueError(f"the counts have {rows.shape[1]} and {others.shape[1]} columns; wanted as many in each")
        return rows, others
    if any(matrices):
        raise ValueError("one argument is a matrix of counts and the other a forest; give two of the same kind")
    first, second = as_forest(a), as_forest(b)
    words = list(dict.fromkeys(first.vocabulary + second.vocabulary))
    n_slots = max(first.n_slots, second.n_slots)
    rows, others = (slot_label_counts(x.with_vocabulary(words), n_slots) for x in (first, second))
    return rows, others


def _pack(counts: sp.csr_array) -> tuple[overlap.Rows, int]:
    """Rows as kernels take them, over the columns in use only, and the number of those."""
    used, column = np.unique(counts.indices, return_inverse=True)
    start = counts.indptr.astype(np.int64)
    return overlap.Rows(start, column.astype(np.int32), counts.data, counts.sum(axis=1)), len(used)


def _hash_rows(rows: overlap.Rows) -> NDArray[np.int64]:
    """A number of 0 or more for each row, the sum of the mixed bits of its entries; equal rows share it."""
    bits = rows.column.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + rows.amount.view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    # Sums of unsigned integers wrap around, and so do differences of running sums: they are exact.
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits)])
    total = running[rows.start[1:]] - running[rows.start[:-1]]
    return (total >> np.uint64(1)).astype(np.int64)


def _slice_rows(rows: overlap.Rows, lo: int, hi: int) -> overlap.Rows:
    """Rows lo..hi - 1."""
    x, y = rows.start[lo], rows.start[hi]
    return overlap.Rows(rows.start[lo : hi + 1] - x, rows.column[x:y], rows.amount[x:y], rows.size[lo:hi])


def _take_rows(rows: overlap.Rows, chosen: NDArray[np.int64]) -> overlap.Rows:
    """The chosen rows, in this order."""
    width = np.diff(rows.start)[chosen]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(width)])
    place = np.arange(start[-1]) + np.repeat(rows.start[chosen] - start[:-1], width)
    return overlap.Rows(start, rows.column[place], rows.amount[place], rows.size[chosen])


def _invert(rows: overlap.Rows, n_columns: int) -> overlap.Inverted:
    """The same counts by column, rows ascending."""
    order = np.argsort(rows.column, kind="stable")
    row = np.repeat(np.arange(len(rows.size), dtype=np.int32), np.diff(rows.start))
    start = np.searchsorted(rows.column[order], np.arange(n_columns + 1)).astype(np.int64)
    return overlap.Inverted(start, row[order], rows.amount[order])


def _work(grouped: _Grouped) -> overlap.Work:
    n_rows, n_clusters = len(grouped.rows.size), len(grouped.cells.cluster_size)
    return overlap.Work(
        np.zeros(n_rows), np.empty(n_rows, np.int64), np.zeros(n_clusters), np.empty(n_clusters, np.int64)
    )


def _over_blocks(do: Callable[[NDArray[np.int64]], Any], n_rows: int, n_jobs: int | None) -> Iterator[Any]:
    """Results of `do` for blocks of rows, always the same blocks in the same order, from `n_jobs` threads."""
    edge = np.linspace(0, n_rows, min(_N_BLOCKS, max(n_rows, 1)) + 1).astype(np.int64)
    blocks = [edge[x : x + 2] for x in range(len(edge) - 1)]
    n_threads = (cpu_count() or 1) if n_jobs == -1 else n_jobs or 1
    if n_threads < 1:
        raise ValueError(f"n_jobs={n_jobs}; wanted a number of threads, -1 for all processors or None for one")
    if n_threads == 1:
        yield from map(do, blocks)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(do, blocks)


def _check_labels(labels: ArrayLike, n_data: int) -> tuple[NDArray[np.int64], int]:
    """Clusters numbered 0, 1, ... in the order of their sorted names."""
    values = np.asarray(labels)
    if values.ndim != 1 or len(values) != n_data:
        raise ValueError(f"labels have shape {values.shape}; wanted one label for each of the {n_data} trees")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("labels hold a nan or an infinity; every tree needs a cluster")
    names, cluster = np.unique(values, return_inverse=True)
    return cluster.astype(np.int64), len(names)


def _check_metric(metric: str) -> None:
    if metric != "ruzicka":
        raise ValueError(f'metric={metric!r}; the only one is "ruzicka"')
