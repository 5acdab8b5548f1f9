"""Communities of nearest neighbours, against their definitions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.models.grammar.start import MOST_TREES, copies
from arbora.models.patterns import communities as cm
from arbora.models.patterns import marginals as mg
from arbora.models.patterns import search as se
from arbora.models.patterns.kernels.communities import move_nodes
from arbora.models.patterns.kernels.group_sweeps import Rows
from tests.reference import communities as slow


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def rows():
    """Three bunches of 12 rows about directions of their own."""
    rng = np.random.default_rng(0)
    centre = rng.random((3, 8)) ** 3
    return unit(np.repeat(centre, 12, axis=0) + 0.1 * rng.random((36, 8)))


@pytest.fixture
def graph(rows):
    return cm.neighbour_graph(rows, 6)


def test_a_small_graph_is_not_left_in_pieces(rows):
    two = cm.neighbour_graph(unit(np.repeat(np.eye(2), 10, axis=0)))
    assert cm.communities(two, np.random.default_rng(0)).max() + 1 > 10  # what it is there to mend
    assert cm.coarse_enough(two, np.random.default_rng(0)).tolist() == [0] * 10 + [1] * 10
    large = cm.neighbour_graph(rows, 6)
    usual = cm.communities(large, np.random.default_rng(0))
    assert cm.coarse_enough(large, np.random.default_rng(0)).tolist() == usual.tolist()


@pytest.mark.parametrize("k", [1, 5, 35])
def test_neighbours_are_those_of_the_twin(rows, k, monkeypatch):
    wanted = slow.neighbour_graph(rows, k)
    np.testing.assert_allclose(cm.neighbour_graph(rows, k).toarray(), wanted, atol=1e-12)
    monkeypatch.setattr(cm, "BLOCK", 7)
    np.testing.assert_allclose(cm.neighbour_graph(sparse.csr_array(rows), k).toarray(), wanted, atol=1e-12)


def test_the_number_of_neighbours_grows_with_the_root_of_the_rows(rows):
    one_way = (cm.neighbour_graph(rows).toarray() > 0).sum(axis=1)
    assert one_way.min() >= 12  # 2 sqrt(36), and those that have a row among theirs


@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.5])
def test_moves_and_modularity_are_those_of_the_twins(graph, resolution):
    order = np.random.default_rng(1).permutation(36)
    dense = graph.toarray()
    start, neighbour = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    label = move_nodes(start, neighbour, graph.data, graph.sum(axis=1), resolution, order)
    assert np.array_equal(label, slow.move_nodes(dense, resolution, order))
    assert cm.modularity(graph, label, resolution) == pytest.approx(slow.modularity(dense, label, resolution))


def test_loops_count_as_degree_and_not_as_links(graph):
    """As in a graph whose nodes are communities."""
    dense = graph.toarray() + np.diag(np.linspace(0.0, 3.0, 36))
    loops = sparse.csr_array(dense)
    order = np.arange(36)
    start, neighbour = loops.indptr.astype(np.int64), loops.indices.astype(np.int64)
    label = move_nodes(start, neighbour, loops.data, loops.sum(axis=1), 1.0, order)
    assert np.array_equal(label, slow.move_nodes(dense, 1.0, order))


def test_planted_communities_are_found(graph):
    label = cm.communities(graph, np.random.default_rng(0), 1.0)
    assert label.tolist() == np.repeat([0, 1, 2], 12).tolist()


def test_no_community_of_the_result_gains_by_joining_another(graph):
    label = cm.communities(graph, np.random.default_rng(0), 2.5)
    value = cm.modularity(graph, label, 2.5)
    for a in range(label.max() + 1):
        for b in range(a):
            assert cm.modularity(graph, np.where(label == a, b, label), 2.5) <= value + 1e-12


def test_rows_without_neighbours_are_one_community():
    rows = sparse.csr_array(np.array([[1.0, 0], [1, 0], [0, 0], [0, 1], [0, 1], [0, 0]]))
    label = cm.communities(cm.neighbour_graph(rows), np.random.default_rng(0), 1.0)
    assert label.tolist() == [0, 0, 2, 1, 1, 2]
    assert cm.communities(sparse.csr_array((3, 3)), np.random.default_rng(0)).tolist() == [0, 0, 0]
    assert cm.communities(cm.neighbour_graph(np.ones((1, 2))), np.random.default_rng(0)).tolist() == [0]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20, 35, 36, 40])
def test_as_many_clusters_as_wanted(rows, graph, n):
    assert cm.at_least(graph, n, np.random.default_rng(0)).max() + 1 >= min(n, 36)
    label = cm.clusters(rows, n, np.random.default_rng(0))
    assert np.unique(label).tolist() == list(range(min(n, 36)))


def test_each_join_is_the_best(graph):
    label = cm.at_least(graph, 9, np.random.default_rng(0))
    while label.max() > 0:
        n = int(label.max()) + 1
        options = [np.where(label == b, a, label) for a in range(n) for b in range(a + 1, n)]
        wanted = max(slow.modularity(graph.toarray(), one, cm.RESOLUTION) for one in options)
        label = cm.joined_to(graph, label, n - 1)
        assert cm.modularity(graph, label, cm.RESOLUTION) == pytest.approx(wanted)
    many = cm.at_least(graph, 9, np.random.default_rng(0))
    steps = cm.joined_to(graph, cm.joined_to(graph, many, 5), 2)
    assert np.array_equal(cm.joined_to(graph, many, 2), steps)


def test_distinct_rows():
    columns, start = np.array([0, 2, 1, 0, 2], np.int32), np.array([0, 2, 3, 5, 5, 5])
    assert se.distinct_rows(Rows(start, columns, np.zeros((5, 1), np.int64))).tolist() == [0, 1, 0, 2, 2]


def test_the_concentration_is_the_most_probable():
    a = np.linspace(0.02, 30.0, 60_000)
    for n_groups, n in ((3, 50), (10, 400), (40, 400)):
        log_p = n_groups * np.log(a) + gammaln(a) - gammaln(a + n) - a
        assert mg.best_concentration(n_groups, n) == pytest.approx(a[log_p.argmax()], rel=0.03)


def test_copies_of_a_tree_count_in_the_start_of_label_chains():
    """A kind of tree with one distinct member and many copies is a cluster of its own."""
    kinds = [
        [("a", [f"b{i}" for i in range(1 + n % 7)]) for n in range(40)],
        [("x", ["y", "z"])] * 60,
        [("p", ["q"] * (1 + n % 5)) for n in range(40)],
    ]
    forest = ab.Forest.from_nested([tree for kind in kinds for tree in kind])
    found = ab.TreeGrammarMixture(3, random_state=0).fit(forest).labels_
    assert adjusted_rand_score(np.repeat([0, 1, 2], [40, 60, 40]), found) == 1.0


def test_many_copies_are_drawn():
    weight = np.array([1e7, 0.0, 2e7, 0.25])
    drawn = copies(weight, np.random.default_rng(0), MOST_TREES)
    assert len(drawn) == MOST_TREES
    assert set(drawn) <= {0, 2, 3}
    assert np.bincount(copies(np.array([3.0, 0.0, 0.25]), np.random.default_rng(0), 9)).tolist() == [3, 0, 1]


@pytest.mark.parametrize("n", [5, 15, 50])
def test_identical_trees_are_one_group(n):
    trees = [("a", ["b", "c"])] * n + [("d", ["e", "e", "f"])] * n
    found = ab.PatternMixture(n_chains=1, n_iter=2, random_state=0).fit(trees).labels_
    assert found.tolist() == [0] * n + [1] * n


def test_trees_of_one_kind_get_the_most_frequent_label():
    kind, label = np.array([0, 0, 0, 1, 1, 2]), np.array([4, 2, 2, 0, 4, 3])
    assert se.alike_together(kind, label).tolist() == [2, 2, 2, 0, 0, 3]
