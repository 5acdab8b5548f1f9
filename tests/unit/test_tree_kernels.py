"""Features of kernels on trees against naive kernels, and against GraKeL where it is installed."""

import importlib.util
import warnings
from collections import Counter

import numpy as np
import pytest

from arbora import Forest
from papers.tree_kernels import ODDFeatures, WLFeatures
from tests import examples


def graph(forest, t):
    """Labels of the nodes of a tree, and their neighbours."""
    lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
    near = {u: [] for u in range(hi - lo)}
    for u in range(hi - lo - 1):
        p = int(forest.parent[lo + u] - lo)
        near[u].append(p)
        near[p].append(u)
    return [int(m) for m in forest.label[lo:hi]], near


def colours(label, near, n_iter):
    """Colours as nested tuples, how often each occurs."""
    colour = [(m,) for m in label]
    seen = Counter(colour)
    for _ in range(n_iter):
        colour = [(colour[u], *sorted([colour[v] for v in near[u]], key=repr)) for u in near]
        seen.update(colour)
    return seen


def subtrees(label, near, height):
    """Subtrees, as nested tuples, of the tree that each node sees, cut below a height."""
    seen = Counter()

    def below(u, came_from, left):
        parts = sorted((below(v, u, left - 1) for v in near[u] if v != came_from), key=repr) if left else []
        seen[label[u], *parts] += 1
        return (label[u], *parts)

    for v in near:
        below(v, None, height)
    return seen


def n_nodes(subtree):
    return 1 + sum(n_nodes(part) for part in subtree[1:])


def naive_kernel(forest, count, depth, weigh=lambda feature: 1.0):
    counts = [count(*graph(forest, t), depth) for t in range(forest.n_trees)]
    return np.array([[sum(a[c] * b[c] * weigh(c) for c in a) for b in counts] for a in counts], float)


@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_features_give_the_kernel(n_iter):
    forest = examples.random_forest(12, max_nodes=8, n_labels=2, seed=3)
    rows = WLFeatures(n_iter, normalised=False).fit_transform(forest)
    assert np.array_equal((rows @ rows.T).toarray(), naive_kernel(forest, colours, n_iter))


@pytest.mark.parametrize("height", [1, 2, 4])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_decomposition_features_give_the_kernel(height, decay):
    forest = examples.random_forest(12, max_nodes=8, n_labels=2, seed=3)
    rows = ODDFeatures(height, decay, normalised=False).fit_transform(forest)
    naive = naive_kernel(forest, subtrees, height, lambda feature: decay ** n_nodes(feature))
    np.testing.assert_allclose((rows @ rows.T).toarray(), naive, rtol=1e-12)


@pytest.mark.parametrize(("features", "count"), [(WLFeatures(2), colours), (ODDFeatures(2), subtrees)])
def test_new_trees_and_lengths(features, count):
    forest = examples.random_forest(12, max_nodes=8, n_labels=2, seed=3)
    kernel = naive_kernel(forest, count, 2)
    length = np.sqrt(np.diag(kernel))
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
            label, near = graph(forest, t)
            graphs.append(Graph(near, node_labels=dict(enumerate(label))))
        theirs = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram, normalize=True).fit_transform(graphs)
    ours = WLFeatures(3).fit_transform(forest)
    np.testing.assert_allclose((ours @ ours.T).toarray(), theirs, rtol=1e-6)
