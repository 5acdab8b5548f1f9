"""Sums of minima between sparse rows of counts, through an inverted index: only rows that share a column meet.

Ruzicka's similarity is sum min / sum max, and sum max = |R| + |R'| - sum min: the minima are enough.
"""

from typing import NamedTuple

import numpy as np

from ...jit import jit


class Rows(NamedTuple):
    """Sparse rows of counts: row i holds amount[x] in column[x] for x in start[i]..start[i + 1] - 1."""

    start: np.ndarray  # int64
    column: np.ndarray  # int32
    amount: np.ndarray  # float64, positive
    size: np.ndarray  # float64, sum of the counts of a row


class Inverted(NamedTuple):
    """The same counts by column: column c holds amount[x] in row[x] for x in start[c]..start[c + 1] - 1."""

    start: np.ndarray  # int64
    row: np.ndarray  # int32
    amount: np.ndarray  # float64


class Cells(NamedTuple):
    """Who lives where: weight[x] data of cluster[x] have row i, for x in start[i]..start[i + 1] - 1."""

    start: np.ndarray  # int64
    cluster: np.ndarray  # int64
    weight: np.ndarray  # float64
    cluster_size: np.ndarray  # float64, data in each cluster


@jit
def distinct_rows(start, column, amount, hashed):
    """Number of the distinct row each row equals, and the first row of each kind; columns must be sorted in a row.

    hashed[i] is a number of 0 or more that equal rows share; it only decides where the search begins.
    """
    n_rows = start.shape[0] - 1
    n_places = 16
    while n_places < 2 * n_rows:
        n_places *= 2
    place = np.full(n_places, -1, np.int64)  # hash table of first rows, open addressing
    kind = np.empty(n_rows, np.int64)
    first = np.empty(n_rows, np.int64)
    n_kinds = 0
    for i in range(n_rows):
        at = hashed[i] & (n_places - 1)
        while True:
            j = place[at]
            if j < 0:  # a new kind
                place[at] = i
                first[n_kinds] = i
                kind[i] = n_kinds
                n_kinds += 1
                break
            same = start[j + 1] - start[j] == start[i + 1] - start[i]
            x, y = start[i], start[j]
            while same and x < start[i + 1]:
                same = column[x] == column[y] and amount[x] == amount[y]
                x += 1
                y += 1
            if same:
                kind[i] = kind[j]
                break
            at = (at + 1) & (n_places - 1)
    return kind, first[:n_kinds].copy()


@jit
def _meet(i, rows, inverted, total_out, touched_out):
    """Add sum_c min(rows[i, c], inverted[c, j]) to total_out[j] for the j that share a column with i; list those j."""
    n_touched = 0
    for x in range(rows.start[i], rows.start[i + 1]):
        c, mine = rows.column[x], rows.amount[x]
        for p in range(inverted.start[c], inverted.start[c + 1]):
            j = inverted.row[p]
            if total_out[j] == 0.0:
                touched_out[n_touched] = j
                n_touched += 1
            total_out[j] += min(mine, inverted.amount[p])
    return n_touched


@jit
def distances(rows, others, inverted, distance_out):
    """Ruzicka's distance 1 - sum min / sum max of every row to every other row; two empty rows are 0 apart."""
    total = np.zeros(others.size.shape[0])  # sum of minima with row i
    touched = np.empty(others.size.shape[0], np.int64)
    for i in range(rows.size.shape[0]):
        distance_out[i] = 1.0
        if rows.size[i] == 0.0:
            for j in range(others.size.shape[0]):
                if others.size[j] == 0.0:
                    distance_out[i, j] = 0.0
        for x in range(_meet(i, rows, inverted, total, touched)):
            j = touched[x]
            largest = rows.size[i] + others.size[j] - total[j]
            distance_out[i, j] = max(largest - total[j], 0.0) / largest
            total[j] = 0.0


@jit
def _cluster_similarity(i, rows, inverted, cells, work):
    """Sum of the similarities of row i to the data of each cluster it meets, in work.near; list those clusters.

    The rows of `inverted` are those of `rows`, all different.  The caller puts work.near back to zero.
    """
    n_clusters = 0
    n_touched = _meet(i, rows, inverted, work.total, work.touched)
    if n_touched == 0:  # an empty row meets nobody but is itself
        work.touched[0] = i
        n_touched = 1
    for x in range(n_touched):
        j = work.touched[x]
        least = work.total[j]
        similarity = 1.0 if j == i else least / (rows.size[i] + rows.size[j] - least)
        work.total[j] = 0.0
        for y in range(cells.start[j], cells.start[j + 1]):
            c = cells.cluster[y]
            if work.near[c] == 0.0:
                work.met[n_clusters] = c
                n_clusters += 1
            work.near[c] += similarity * cells.weight[y]
    return n_clusters


class Work(NamedTuple):
    """Scratch of one thread; `total` and `near` are zero between rows."""

    total: np.ndarray  # float64 by row: sum of minima with the row at hand
    touched: np.ndarray  # int64: rows that meet it
    near: np.ndarray  # float64 by cluster: sum of similarities with the row at hand
    met: np.ndarray  # int64: clusters that meet it


@jit
def silhouette_parts(block, rows, inverted, cells, work, parts_out):
    """Of each cell of the rows block[0]..block[1] - 1: summed distance to its own cluster, mean one to the next best.

    parts_out[x, 0] = sum of d(x, .) over the own cluster, itself included; parts_out[x, 1] = b(x), the smallest mean
    distance to another cluster.  A cluster that shares no column with the row is at distance 1 without being looked at.
    """
    for i in range(block[0], block[1]):
        n_met = _cluster_similarity(i, rows, inverted, cells, work)
        best, second, nearest = 0.0, 0.0, -1  # mean similarity to the two closest clusters, and which is the closest
        for x in range(n_met):
            c = work.met[x]
            mean = work.near[c] / cells.cluster_size[c]
            if mean > best:
                best, second, nearest = mean, best, c
            elif mean > second:
                second = mean
        for y in range(cells.start[i], cells.start[i + 1]):
            c = cells.cluster[y]
            parts_out[y, 0] = max(cells.cluster_size[c] - work.near[c], 0.0)
            parts_out[y, 1] = max(1.0 - (second if c == nearest else best), 0.0)
        for x in range(n_met):
            work.near[work.met[x]] = 0.0


@jit
def similarity_sums(block, rows, inverted, cells, work, sum_out):
    """Add the similarities of all data of the rows block[0]..block[1] - 1 to sum_out[own cluster, other cluster]."""
    for i in range(block[0], block[1]):
        n_met = _cluster_similarity(i, rows, inverted, cells, work)
        for x in range(n_met):
            c = work.met[x]
            for y in range(cells.start[i], cells.start[i + 1]):
                sum_out[cells.cluster[y], c] += cells.weight[y] * work.near[c]
            work.near[c] = 0.0
