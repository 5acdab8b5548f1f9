"""Metrics against slow twins, scikit-learn, properties that must hold, and the values of the published data."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import silhouette_samples as sklearn_silhouette

from arbora import Forest, datasets
from arbora.errors import DataNotFoundError
from arbora.evaluate import metrics
from tests.reference import metrics as twin

CONVENTIONS = ["sklearn", "paper"]


@st.composite
def labelled_counts(draw, max_rows=12):
    """A small matrix of counts with many equal and some empty rows, and two or more clusters."""
    n = draw(st.integers(3, max_rows))
    pool = draw(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=n))
    pick = draw(st.lists(st.integers(0, len(pool) - 1), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(lambda x: 2 <= len(set(x)) < n))
    return np.array([pool[x] for x in pick], float), np.array(labels)


@pytest.fixture(scope="module")
def forest():
    trees = datasets.make_random_trees(40, 3, 4, 12, missing=0.2, random_state=5)
    return Forest.concat([trees, trees[::3], Forest.from_nested([None, {"label": None}], vocabulary=["0"])])


def published(load, *args):
    try:
        return load(*args)
    except DataNotFoundError as error:
        pytest.skip(str(error))


# ---- representative matrices ----------------------------------------------------------------------------------------


def test_counts_equal_the_twin(forest):
    counts = metrics.slot_label_counts(forest)
    wanted = [twin.representative_matrix(tree, forest.n_slots, list(forest.vocabulary)).ravel() for tree in forest]
    np.testing.assert_array_equal(counts.toarray(), wanted)
    assert counts.has_canonical_format
    assert counts.sum() == (forest.label >= 0).sum() < forest.n_nodes


def test_counts_take_more_slots_and_refuse_fewer(forest):
    wide = metrics.slot_label_counts(forest, n_slots=9)
    narrow = metrics.slot_label_counts(forest)
    assert wide.shape == (len(forest), 10 * forest.n_labels)
    cut = forest.n_slots * forest.n_labels
    np.testing.assert_array_equal(wide.toarray()[:, :cut], narrow.toarray()[:, :cut])
    np.testing.assert_array_equal(wide.toarray()[:, -forest.n_labels :], narrow.toarray()[:, cut:])
    with pytest.raises(ValueError, match="n_slots=3, but the forest uses slots up to 3"):
        metrics.slot_label_counts(forest, n_slots=3)


def test_counts_of_far_slots_cost_nothing():
    forest = Forest.from_nested([{"label": "a", "children": [{"label": "b", "slot": 2**31 - 2}]}, "a"])
    assert metrics.slot_label_counts(forest).shape == (2, 2**32)
    np.testing.assert_allclose(metrics.ruzicka_distance(forest), [[0, 0.5], [0.5, 0]])


def test_counts_leave_the_forest_as_it_was(forest):
    before = [column.copy() for column in forest.arrays]
    metrics.slot_label_counts(forest)
    assert all(np.array_equal(x, y) for x, y in zip(before, forest.arrays, strict=True))


# ---- distances ------------------------------------------------------------------------------------------------------


def test_distances_equal_the_twin(forest):
    dense = metrics.slot_label_counts(forest).toarray()
    wanted = twin.distances(dense, dense)
    assert (wanted == 0).sum() > len(forest)  # duplicates and empty trees are in
    for data in (forest, dense, sp.coo_array(dense), sp.csc_matrix(dense)):
        np.testing.assert_allclose(metrics.ruzicka_distance(data), wanted, atol=1e-12)
    np.testing.assert_allclose(metrics.ruzicka_distance(dense[:5], dense[5:]), wanted[:5, 5:], atol=1e-12)


def test_distances_of_two_forests_match_labels_by_name():
    a = Forest.from_nested([("x", ["y", "z"]), "x"])
    b = Forest.from_nested([("x", ["y"]), "w", ("x", ["y", "z", "z"])])
    np.testing.assert_allclose(metrics.ruzicka_distance(a, b), [[1 / 3, 1, 1 / 4], [1 / 2, 1, 3 / 4]])
    np.testing.assert_array_equal(metrics.ruzicka_distance(a, b), metrics.ruzicka_distance(b, a).T)


def test_distances_of_real_counts():
    rng = np.random.default_rng(0)
    dense = rng.gamma(0.3, size=(20, 7)) * (rng.random((20, 7)) < 0.5)
    distance = metrics.ruzicka_distance(dense)
    np.testing.assert_allclose(distance, twin.distances(dense, dense), atol=1e-12)
    np.testing.assert_array_equal(distance, distance.T)
    assert distance.min() == 0.0


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_distances_refuse_what_is_no_count(bad):
    with pytest.raises(ValueError, match="negative number, a nan or an infinity"):
        metrics.ruzicka_distance(np.array([[1.0, bad]]))


def test_distances_refuse_unlike_arguments(forest):
    with pytest.raises(ValueError, match="2 and 3 columns"):
        metrics.ruzicka_distance(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="the other a forest"):
        metrics.ruzicka_distance(forest, np.ones((1, 2)))


# ---- silhouette -----------------------------------------------------------------------------------------------------


@given(labelled_counts(), st.sampled_from(CONVENTIONS))
def test_silhouette_equals_the_twin(data, convention):
    counts, labels = data
    wanted = twin.silhouette(twin.distances(counts, counts), labels, convention)
    np.testing.assert_allclose(metrics.silhouette_samples(counts, labels, convention), wanted, atol=1e-10)


@given(labelled_counts())
def test_silhouette_equals_scikit_learn(data):
    counts, labels = data
    wanted = sklearn_silhouette(metrics.ruzicka_distance(counts), labels, metric="precomputed")
    np.testing.assert_allclose(metrics.silhouette_samples(counts, labels), wanted, atol=1e-10)


@given(labelled_counts(), st.sampled_from(CONVENTIONS), st.randoms(use_true_random=False))
def test_silhouette_follows_a_permutation(data, convention, random):
    counts, labels = data
    order = np.arange(len(labels))
    random.shuffle(order)
    new_name = np.array(["d", "a", "c", "b"])[labels]  # clusters too change their order
    straight = metrics.silhouette_samples(counts, labels, convention)
    shuffled = metrics.silhouette_samples(counts[order], new_name[order], convention)
    np.testing.assert_allclose(shuffled, straight[order], atol=1e-12)


@given(labelled_counts())
def test_the_two_conventions_are_related(data):
    counts, labels = data
    outside, inside = (metrics.silhouette_samples(counts, labels, c) for c in CONVENTIONS)
    size = np.bincount(labels)[labels]
    check = (size > 1) & (outside > 0)  # at s = 0 with a = b = 0 both are 0
    np.testing.assert_allclose(inside[check], (outside + (1 - outside) / size)[check], atol=1e-10)
    distance = twin.distances(counts, counts)
    apart = np.array([distance[i, labels != c].min() > 0 for i, c in enumerate(labels)])
    assert (outside[size == 1] == 0).all()
    assert (inside[(size == 1) & apart] == 1).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_silhouette_of_a_forest_with_duplicates_and_empty_trees(forest, convention):
    labels = np.arange(len(forest)) % 5
    dense = metrics.slot_label_counts(forest).toarray()
    wanted = twin.silhouette(twin.distances(dense, dense), labels, convention)
    np.testing.assert_allclose(metrics.silhouette_samples(forest, labels, convention), wanted, atol=1e-10)
    assert metrics.silhouette_score(forest, labels, convention) == pytest.approx(wanted.mean(), abs=1e-12)


def test_silhouette_of_nothing_but_duplicates_is_zero():
    assert metrics.silhouette_samples(np.ones((4, 2)), [0, 0, 1, 1]).tolist() == [0.0] * 4
    assert metrics.silhouette_samples(np.zeros((4, 2)), [0, 0, 1, 1], "paper").tolist() == [0.0] * 4


def test_silhouette_of_singletons():
    counts = np.array([[1.0, 0], [1, 1], [0, 2]])
    assert metrics.silhouette_score(counts, [0, 1, 2], "paper") == 1.0
    with pytest.raises(ValueError, match="each of the 3 trees is alone"):
        metrics.silhouette_score(counts, [0, 1, 2])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_silhouette_refuses_one_cluster(convention):
    with pytest.raises(ValueError, match=r"found 1 cluster\(s\)"):
        metrics.silhouette_score(np.eye(3), [7, 7, 7], convention)


def test_silhouette_refuses_bad_arguments():
    with pytest.raises(ValueError, match=r"shape \(2,\); wanted one label for each of the 3"):
        metrics.silhouette_score(np.eye(3), [0, 1])
    with pytest.raises(ValueError, match="nan"):
        metrics.silhouette_score(np.eye(3), [0, 1, np.nan])
    with pytest.raises(ValueError, match="convention='matlab'"):
        metrics.silhouette_score(np.eye(3), [0, 1, 1], "matlab")
    with pytest.raises(ValueError, match="metric='cosine'"):
        metrics.silhouette_score(np.eye(3), [0, 1, 1], metric="cosine")
    with pytest.raises(ValueError, match="n_jobs=-2"):
        metrics.silhouette_score(np.eye(3), [0, 1, 1], n_jobs=-2)


def test_colliding_hashes_keep_unlike_rows_apart(monkeypatch):
    counts = np.random.default_rng(0).integers(0, 3, (30, 3)).astype(float)
    labels = np.arange(30) % 4
    wanted = metrics.silhouette_samples(counts, labels)
    monkeypatch.setattr(metrics, "_hash_rows", lambda rows: np.zeros(len(rows.size), np.int64))
    np.testing.assert_array_equal(metrics.silhouette_samples(counts, labels), wanted)


def test_duplicates_are_merged(forest):
    counts = metrics.slot_label_counts(forest)
    grouped = metrics.group_trees(counts, np.zeros(len(forest)))
    assert len(grouped.rows.size) == len(np.unique(counts.toarray(), axis=0)) < len(forest)
    assert grouped.cells.weight.sum() == len(forest)


def test_threads_change_nothing(forest):
    labels = np.arange(len(forest)) % 3
    alone = metrics.silhouette_samples(forest, labels)
    np.testing.assert_array_equal(metrics.silhouette_samples(forest, labels, n_jobs=4), alone)
    np.testing.assert_array_equal(metrics.silhouette_samples(forest, labels, n_jobs=-1), alone)
    similar = metrics.cluster_similarity(forest, labels)
    np.testing.assert_array_equal(metrics.cluster_similarity(forest, labels, n_jobs=3), similar)


@pytest.mark.compiled
def test_memory_stays_linear():
    import tracemalloc

    forest = datasets.make_random_trees(3000, 20, 3, 10, random_state=0)
    labels = np.arange(3000)  # the worst case: as many clusters as trees
    labels[1] = 0
    metrics.silhouette_score(forest[:50], labels[:50])  # compile first
    tracemalloc.start()
    try:
        metrics.silhouette_score(forest, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3000 * 3000 * 8 / 8  # an eighth of one square matrix


# ---- similarity of clusters -----------------------------------------------------------------------------------------


@given(labelled_counts())
def test_cluster_similarity_equals_the_twin(data):
    counts, labels = data
    similar = metrics.cluster_similarity(counts, labels)
    np.testing.assert_allclose(similar, twin.cluster_similarity(twin.distances(counts, counts), labels), atol=1e-10)
    np.testing.assert_array_equal(similar, similar.T)


def test_cluster_similarity_follows_sorted_names():
    counts = np.array([[1.0, 1, 0], [1, 0, 0], [0, 0, 1]])
    wanted = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]]
    assert metrics.cluster_similarity(counts, ["b", "c", "a"]).tolist() == wanted


# ---- published data -------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("split", "paper", "sklearn"), [("train", 0.5095, 0.507), (None, 0.5111, 0.509), ("test", 0.5239, 0.516)]
)
def test_truth_of_the_published_synthetic_set(split, paper, sklearn):
    forest = published(datasets.load_synthetic, split)
    assert metrics.silhouette_score(forest, forest.target, "paper") == pytest.approx(paper, abs=1e-4)
    assert metrics.silhouette_score(forest, forest.target, "sklearn") == pytest.approx(sklearn, abs=1e-3)


@pytest.mark.compiled
def test_truth_of_inex2005():
    forest = published(datasets.load_inex2005, "test")
    assert metrics.silhouette_score(forest, forest.target) == pytest.approx(0.196, abs=5e-4)


@pytest.mark.compiled
def test_class_6_of_inex2005_is_closer_to_class_11_than_to_itself():
    # The remark of Bacciu and Castellana 2019 on its Figure 9.
    forest = published(datasets.load_inex2005, "train")
    names = np.unique(forest.target).tolist()
    similar = metrics.cluster_similarity(forest, forest.target)
    six, eleven = names.index(type(names[0])(6)), names.index(type(names[0])(11))
    assert similar[six, eleven] > similar[six, six] > 0.2
    assert len(names) == 11


def test_counts_that_would_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        metrics.ruzicka_distance(np.full((2, 2), 1e308))
