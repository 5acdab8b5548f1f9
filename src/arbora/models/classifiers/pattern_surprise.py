"""How improbable the patterns of a tree are, whatever its class: the surprise of classifiers that see patterns.

In how many training trees of a class each pattern occurs says how probable the pattern is in that class:

    p(j | k) = (STRENGTH m_j + C_kj) / (STRENGTH + N_k)        m_j: share of pattern j among those of all classes

A pattern without a column counts as one of all the occurrences.  The surprise of a tree is the mean of -log p over its
distinct patterns, by the class where this is least.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STRENGTH = 10.0  # of the shares of all classes, in patterns


def count_by_class(rows: Any, true: Ints, n_classes: int) -> Ints:
    """Trees of each class that have each pattern, [class, column]."""
    has = sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    members = sparse.csr_array((np.ones(len(true)), (true, np.arange(len(true)))), shape=(n_classes, len(true)))
    return np.asarray((members @ has).toarray()).astype(np.int64)


def surprise_of_patterns(rows: Any, n_distinct: Ints, class_count: Ints) -> Floats:
    """Nats per pattern of each tree; `rows` are its known patterns, `n_distinct` says how many it has in all."""
    total = class_count.sum(axis=0)
    share = STRENGTH * total / total.sum()
    has = sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    best = np.full(rows.shape[0], -np.inf)
    for count in class_count:
        best = np.maximum(best, has @ np.log((share + count) / (STRENGTH + count.sum())))
    n_unseen = n_distinct - np.diff(rows.indptr)
    return np.asarray(n_unseen * np.log(max(total.sum(), 2)) - best) / np.maximum(n_distinct, 1)


def surprise_left_out(rows: Any, n_distinct: Ints, class_count: Ints, true: Ints, min_trees: int) -> Floats:
    """The same of each training tree, by a classifier of all the others, as if each had been fitted.

    A pattern that fewer than `min_trees` others have would be no column there; so its occurrences do not count.
    """
    n_trees, n_own = rows.shape[0], np.diff(rows.indptr)
    tree = np.repeat(np.arange(n_trees), n_own)
    total = class_count.sum(axis=0)
    others = total[rows.indices] - 1
    lost = others < min_trees
    gone_column, gone_tree = rows.indices[lost], tree[lost]
    column, tree, others, lost_others = rows.indices[~lost], tree[~lost], others[~lost], others[lost]
    n_known = np.bincount(tree, minlength=n_trees)
    left = np.maximum(total.sum() - n_own - np.bincount(gone_tree, lost_others, n_trees), 1.0)
    share = STRENGTH * others / left[tree]
    best = np.full(n_trees, -np.inf)
    for k, count in enumerate(class_count):
        own = true == k
        gone = np.bincount(gone_tree, count[gone_column] - own[gone_tree], n_trees)
        in_class = count.sum() - own * n_own - gone
        log_p = np.log((share + count[column] - own[tree]) / (STRENGTH + in_class[tree]))
        best = np.maximum(best, np.bincount(tree, log_p, n_trees))
    return np.asarray((n_distinct - n_known) * np.log(np.maximum(left, 2.0)) - best) / np.maximum(n_distinct, 1)
