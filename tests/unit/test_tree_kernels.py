"""The Weisfeiler-Lehman features against a naive kernel, and against GraKeL where it is installed."""

import importlib.util
import warnings
from collections import Counter

import numpy as np
import pytest

from arbora import Forest
from arbora.reproduce.tree_kernels import WLFeatures
from tests import examples


def naive_kernel(forest, n_iter):
    """Colours as nested tuples, counted tree by tree."""
    counts = []
    for t in range(forest.n_trees):
        lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
        parent = forest.parent[lo:hi] - lo
        near = [[v for v in range(hi - lo) if parent[v] == u] for u in range(hi - lo)]
        for u in range(hi - lo - 1):
            near[u].append(int(parent[u]))
        colour = [(int(m),) for m in forest.label[lo:hi]]
        seen = Counter(colour)
        for _ in range(n_iter):
            colour = [(colour[u], *sorted([colour[v] for v in near[u]], key=repr)) for u in range(hi - lo)]
            seen.update(colour)
        counts.append(seen)
    return np.array([[sum(a[c] * b[c] for c in a) for b in counts] for a in counts], float)


@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_features_give_the_kernel(n_iter):
    forest = examples.random_forest(12, max_nodes=8, n_labels=2, seed=3)
    rows = WLFeatures(n_iter, normalised=False).fit_transform(forest)
    assert np.array_equal((rows @ rows.T).toarray(), naive_kernel(forest, n_iter))


def test_new_trees_and_lengths():
    forest = examples.random_forest(12, max_nodes=8, n_labels=2, seed=3)
    kernel = naive_kernel(forest, 2)
    length = np.sqrt(np.diag(kernel))
    features = WLFeatures(2)
    old, new = features.fit_transform(forest[:7]), features.transform(forest[7:])
    np.testing.assert_allclose((new @ old.T).toarray(), (kernel / np.outer(length, length))[7:, :7], rtol=1e-12)


@pytest.mark.skipif(
    importlib.util.find_spec("grakel") is None, reason="grakel, a peer for benchmarks, is not installed"
)
def test_agrees_with_grakel():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from grakel import Graph, VertexHistogram, WeisfeilerLehman

        forest: Forest = examples.random_forest(10, max_nodes=9, n_labels=3, seed=5)
        graphs = []
        for t in range(forest.n_trees):
            lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
            edges = [(u - lo, forest.parent[u] - lo) for u in range(lo, hi - 1)]
            near = {u: [] for u in range(hi - lo)}
            for u, v in edges:
                near[int(u)].append(int(v))
                near[int(v)].append(int(u))
            graphs.append(Graph(near, node_labels={u: int(forest.label[lo + u]) for u in range(hi - lo)}))
        theirs = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram, normalize=True).fit_transform(graphs)
    ours = WLFeatures(3).fit_transform(forest)
    np.testing.assert_allclose((ours @ ours.T).toarray(), theirs, rtol=1e-6)
