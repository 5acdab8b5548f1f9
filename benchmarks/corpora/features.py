"""Plain counts of what is in a tree, the columns of the baselines: a sparse row per tree."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize


def _rows(forest, node, key):
    """Counts of keys by tree; nodes may occur several times, and in any order."""
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)[node]
    column = np.unique(key, return_inverse=True)[1]
    shape = (forest.n_trees, column.max() + 1)
    return sparse.coo_matrix((np.ones(len(key)), (tree, column)), shape=shape).tocsr()


def pairs(forest):
    """Labels of parent and child; the root's parent is a label of its own."""
    label = forest.label.astype(np.int64) + 2  # unseen and missing are -2 and -1
    above = np.where(forest.parent < 0, forest.n_labels + 2, label[forest.parent])
    return _rows(forest, np.arange(forest.n_nodes), above * (forest.n_labels + 3) + label)


def subtrees(forest, height=3):
    """Whole subtrees of at most this height, with the order of children."""
    words, children = {}, [[] for _ in range(forest.n_nodes)]
    name = np.full(forest.n_nodes, -1, np.int64)
    tall = np.zeros(forest.n_nodes, np.int64)
    parent, label = forest.parent.tolist(), forest.label.tolist()
    for node, up in enumerate(parent):  # children come before parents
        if tall[node] <= height:
            name[node] = words.setdefault((label[node], *children[node]), len(words))
        if up >= 0:
            children[up].append(int(name[node]))
            tall[up] = max(tall[up], tall[node] + 1)
    node = np.flatnonzero(name >= 0)
    return _rows(forest, node, name[node])


def paths(forest, longest=8):
    """Labels on the way from the root to a node, at most so many."""
    words, way, depth = {}, [0] * forest.n_nodes, [0] * forest.n_nodes
    parent, label = forest.parent.tolist(), forest.label.tolist()
    for node in range(forest.n_nodes - 1, -1, -1):  # parents before children
        up = parent[node]
        above, depth[node] = (-1, 1) if up < 0 else (way[up], depth[up] + 1)
        way[node] = words.setdefault((above, label[node]), len(words)) if depth[node] <= longest else above
    return _rows(forest, np.arange(forest.n_nodes), np.array(way))


def neighbourhoods(forest, rounds=3):
    """Labels refined so often by those of parent and children, in any order (Shervashidze and others 2011)."""
    word = forest.label.astype(np.int64)
    node, key, n = [], [], 0
    for i in range(rounds + 1):
        if i:
            word = _refined(forest, word)
        node.append(np.arange(forest.n_nodes))
        key.append(word - word.min() + n)
        n = key[-1].max() + 1
    return _rows(forest, np.concatenate(node), np.concatenate(key))


def _refined(forest, word):
    below = [[] for _ in range(forest.n_nodes)]
    parent, word = forest.parent.tolist(), word.tolist()
    for node, up in enumerate(parent):
        if up >= 0:
            below[up].append(word[node])
    words = {}
    rows = ((word[i], word[up] if up >= 0 else -9, *sorted(below[i])) for i, up in enumerate(parent))
    return np.array([words.setdefault(row, len(words)) for row in rows])


def seen_twice(counts):
    """Without the columns that only one tree has, unless that leaves a tree without any."""
    often = np.asarray((counts > 0).sum(axis=0)).ravel() > 1
    return counts[:, np.flatnonzero(often)] if often.any() else counts


def tfidf(counts):
    return TfidfTransformer(sublinear_tf=True).fit_transform(seen_twice(counts))


def logs(counts):
    """Logarithms of counts, rows of length one."""
    counts = seen_twice(counts).copy()
    counts.data = np.log1p(counts.data)
    return normalize(counts)
