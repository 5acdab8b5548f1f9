"""Clustering by edit distance and by one union, learnt costs, and clustering of a matrix of distances."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora import Forest, TreeEditClustering, UnionEmbedding, edit_distances
from arbora.errors import SettingError
from arbora.models.edit import pairwise
from arbora.models.edit.learn_costs import learn_costs
from arbora.models.edit.trees import bare
from tests import examples

pytestmark = pytest.mark.compiled  # the kernels are covered by the tests of distances and matchings

PROTOTYPES = (
    ("r", ["a", "b", "x", "x", "x", "b", "b", "a"]),
    ("r", [("a", [("a", [("a", [("b", [("x", [("b", ["x"])])])])])])]),
    ("r", [("b", [("x", ["x", "x"]), ("x", ["a", "a"])]), ("b", [("a", ["x", "x"])])]),
)


def grow(nested, n_extra, rng, label):
    """The tree with leaves of one label hung below random nodes."""
    tree = Forest.from_nested([nested])
    parent, words = tree.parent.tolist(), [tree.vocabulary[m] for m in tree.label]
    for _ in range(n_extra):
        parent.append(int(rng.integers(len(parent))))
        words.append(label)
    return Forest.from_parents(parent, words)


def noisy_classes(n_each, n_extra, seed, label="noise"):
    rng = np.random.default_rng(seed)
    trees = [grow(p, int(rng.integers(n_extra + 1)), rng, label) for p in PROTOTYPES for _ in range(n_each)]
    return Forest.concat(trees).with_target(np.repeat(np.arange(3), n_each))


@pytest.fixture(scope="module")
def forest():
    return noisy_classes(8, 3, 0)


# ---- estimators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", pairwise.METHODS)
@pytest.mark.parametrize("make", [TreeEditClustering, UnionEmbedding])
def test_planted_classes_are_found(make, method, forest):
    for labels in (True, False):
        model = make(3, method=method, labels=labels, random_state=0).fit(forest)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(forest.target, model.labels_) > 0.9
        fresh = noisy_classes(5, 3, 1)
        assert adjusted_rand_score(fresh.target, model.predict(fresh)) > 0.9
        sizes = np.bincount(model.labels_)
        assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("make", [TreeEditClustering, UnionEmbedding])
def test_the_number_of_clusters_is_chosen(make, forest):
    for method in ("average", "spectral"):
        assert make(method=method, random_state=0).fit(forest).n_clusters_ == 3
    found = make(method="dominant").fit(forest)
    assert adjusted_rand_score(forest.target, found.labels_) > 0.5  # dominant sets split, but do not mix


def test_medoids_and_distances_to_them(forest):
    model = TreeEditClustering(3, random_state=0).fit(forest)
    assert np.array_equal(model.distance_, edit_distances(forest, ordered=False))
    assert np.array_equal(model.labels_[model.medoid_], np.arange(3))
    assert model.medoids() == bare(forest).take(model.medoid_)
    assert np.array_equal(model.transform(forest), model.distance_[:, model.medoid_])
    for c, m in enumerate(model.medoid_):
        member = np.flatnonzero(model.labels_ == c)
        inside = model.distance_[np.ix_(member, member)].sum(axis=1)
        assert model.distance_[m, member].sum() == inside.min()
    assert model.linkage().shape == (len(forest) - 1, 4)


def test_labels_and_order_mean_what_they_say():
    forest = Forest.from_nested([("r", ["a", ("b", ["c"])]), ("r", [("b", ["c"]), "a"]), ("s", ["x", ("y", ["z"])])])
    groups = {
        (False, False): [0, 0, 0],
        (False, True): [0, 0, 1],
        (True, False): [0, 1, 0],
    }
    for (ordered, labels), wanted in groups.items():
        model = TreeEditClustering(2, method="average", ordered=ordered, labels=labels).fit(forest)
        assert model.labels_.tolist() == wanted


def test_labels_never_seen_are_predicted(forest):
    for costs in ("unit", "learnt"):
        model = TreeEditClustering(3, costs=costs, random_state=0).fit(forest)
        fresh = noisy_classes(3, 2, 2, label="never seen")
        assert adjusted_rand_score(fresh.target, model.predict(fresh)) > 0.9
        assert model.predict(Forest.from_nested([])).shape == (0,)


def test_one_tree_and_equal_trees():
    for make in (TreeEditClustering, UnionEmbedding):
        for trees in (["a"], ["a"] * 5):
            model = make().fit(trees)
            assert model.labels_.tolist() == [0] * len(trees)
            assert model.predict(trees).tolist() == [0] * len(trees)
        assert make(3).fit(["a"] * 3 + [("a", ["b", "b"])] * 2).n_clusters_ == 2  # no more than there are kinds


def test_vectors_say_which_nodes_of_the_union_a_tree_has(forest):
    model = UnionEmbedding(3, labels=True, random_state=0).fit(forest)
    vectors = model.transform(forest)
    assert np.array_equal(vectors.sum(axis=1), forest.sizes)
    np.testing.assert_allclose(vectors.mean(axis=0), model.node_prob_)
    # Ancestry is kept: the restriction of the union's order has as many pairs of ancestor and descendant as the tree.
    above = np.zeros((len(model.parent_),) * 2, bool)
    for u in range(len(model.parent_)):
        p = model.parent_[u]
        while p >= 0:
            above[p, u] = True
            p = model.parent_[p]
    for t, tree in enumerate(forest):
        has = vectors[t] > 0
        assert above[np.ix_(has, has)].sum() == _depths(tree)
    # The distance of vectors is never below the edit distance without labels.
    bare_distance = edit_distances(forest, ordered=False, labels=False)
    assert (pdist(vectors, "cityblock") >= squareform(bare_distance) - 1e-9).all()
    fresh = model.transform(noisy_classes(2, 4, 5))
    assert fresh.shape[1] == vectors.shape[1]
    assert set(np.unique(fresh)) <= {0.0, 1.0}
    assert (fresh.sum(axis=1) > 0).all()


def _depths(nested):
    """Sum of the depths of the nodes."""
    total, todo = 0, [(nested, 0)]
    while todo:
        node, depth = todo.pop()
        total += depth
        todo += [(child, depth + 1) for child in node.get("children", [])]
    return total


@pytest.mark.parametrize("make", [TreeEditClustering, UnionEmbedding])
def test_impossible_settings_are_refused(make, forest):
    for setting in ({"n_clusters": 0}, {"n_clusters": 99}, {"method": "ward"}, {"n_jobs": 0}):
        with pytest.raises(SettingError, match=next(iter(setting))):
            make(**setting).fit(forest)
    with pytest.raises(SettingError, match="costs"):
        TreeEditClustering(costs="free").fit(forest)
    with pytest.raises(SettingError, match="needs labels=True"):
        TreeEditClustering(costs="learnt", labels=False).fit(forest)
    with pytest.raises(SettingError, match="code='x'"):
        UnionEmbedding(code="x").fit(forest)


# ---- learnt costs ---------------------------------------------------------------------------------------------------


def test_labels_that_come_and_go_become_cheap():
    forest = noisy_classes(12, 5, 3)
    for ordered in (True, False):
        costs = learn_costs(bare(forest), ordered, 20_000, None, None)
        gap = dict(zip(forest.vocabulary, costs.delete[2:], strict=True))
        assert gap["noise"] < 0.5 * min(gap[word] for word in "abrx")
        assert costs.symmetric
        everything = np.zeros((len(costs.delete) + 1,) * 2)
        everything[:-1, :-1], everything[-1, :-1], everything[:-1, -1] = costs.rename, costs.delete, costs.delete
        assert (everything[:, None, :] <= everything[:, :, None] + everything[None, :, :] + 1e-9).all()
        assert (everything + np.eye(len(everything)) > 0).all()


def test_learnt_costs_help_where_noise_has_labels_of_its_own():
    scores = {}
    for costs in ("unit", "learnt"):
        runs = [
            TreeEditClustering(3, method="average", costs=costs).fit(noisy_classes(6, 14, seed)) for seed in range(4)
        ]
        scores[costs] = np.mean([adjusted_rand_score(np.repeat(np.arange(3), 6), run.labels_) for run in runs])
    assert scores["learnt"] > scores["unit"] + 0.1


# ---- clustering of a matrix -----------------------------------------------------------------------------------------


def test_cutting_equals_scipy_and_gives_exactly_k():
    rng = np.random.default_rng(0)
    distance = squareform(pdist(rng.normal(size=(40, 3))))
    merges = pairwise.average_linkage(distance)
    for k in range(1, 41):
        label = pairwise.cut_tree(merges, k)
        assert len(np.unique(label)) == k
        assert adjusted_rand_score(label, fcluster(merges, k, "maxclust")) == 1.0
    ties = 1.0 - np.eye(9)
    assert len(np.unique(pairwise.cut_tree(pairwise.average_linkage(ties), 4))) == 4


def test_dominant_sets_are_dominant():
    rng = np.random.default_rng(1)
    centre = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], [20, 12, 6], axis=0)
    distance = squareform(pdist(centre + rng.normal(size=centre.shape)))
    label = pairwise.cluster_distances(distance, "dominant", 3, 0)
    assert adjusted_rand_score(label, np.repeat([0, 1, 2], [20, 12, 6])) > 0.9
    affinity = pairwise.similarity(distance)
    inside = np.flatnonzero(pairwise.dominant_sets(affinity, None) == 0)
    np.fill_diagonal(affinity, 0.0)
    # An equilibrium: shares that make all members of the first set equally well off leave nobody outside better off.
    share = np.linalg.solve(affinity[np.ix_(inside, inside)], np.ones(len(inside)))
    assert (share > 0).all()
    payoff = affinity[:, inside] @ share
    assert payoff.max() < 1.0 + 1e-3


def test_equal_data_stay_together_and_seeds_repeat():
    rng = np.random.default_rng(2)
    points = np.repeat(rng.normal(size=(12, 2)), 3, axis=0)
    distance = squareform(pdist(points))
    for method in pairwise.METHODS:
        for k in (None, 4, 30):
            label = pairwise.cluster_distances(distance, method, k, 0)
            assert (label.reshape(12, 3) == label.reshape(12, 3)[:, :1]).all()
            assert np.array_equal(label, pairwise.cluster_distances(distance, method, k, 0))
            assert np.array_equal(label, pairwise.canonical(label))
            assert np.array_equal(pairwise.assign(distance, label), label)


def test_awkward_trees_are_clustered(awkward_small):
    for make in (TreeEditClustering, UnionEmbedding):
        model = make(random_state=0).fit(awkward_small)
        assert model.labels_.shape == (len(awkward_small),)
        assert np.array_equal(model.predict(awkward_small), model.labels_)


def test_random_trees_go_through_files(tmp_path):
    forest = examples.random_forest(12, 8)
    for model in (
        TreeEditClustering(3, costs="learnt", random_state=0),
        UnionEmbedding(3, labels=True, random_state=0),
    ):
        model.fit(forest).save(tmp_path / "model.arbora")
        loaded = ab.load(tmp_path / "model.arbora")
        fresh = examples.random_forest(6, 8, seed=1)
        assert np.array_equal(loaded.predict(fresh), model.predict(fresh))
        assert np.array_equal(loaded.transform(fresh), model.transform(fresh))
