"""Topographic maps: labels on a plane, steps that never fall, places of trees and nodes, and what a page shows."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import arbora as ab
from arbora.errors import ModelFileError
from arbora.models.hidden_tree import map_start
from arbora.models.hidden_tree.emissions import emission_of, plane
from arbora.models.hidden_tree.emissions.plane import PlaneLabels
from arbora.models.hidden_tree.switching_params import Priors
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.report import gather
from tests.reference import hidden_tree as twin

PLANE = PlaneLabels(4, 5, 3, 1.0, 0.1)


def small(**more):
    return ab.TopographicMap(**{"side": 4, "basis": 3, "n_init": 1, "max_iter": 5, "random_state": 0, **more})


@pytest.fixture(scope="module")
def documents():
    forest = ab.datasets.make_documents(12, noise=0.3, random_state=0)
    return forest[::2], forest[1::2]


@pytest.fixture(scope="module")
def fitted(documents):
    return small(side=6, basis=4, max_iter=15, n_init=2).fit(documents[0])


# ---- emissions ------------------------------------------------------------------------------------------------------


def objective(emission, counts, weights):
    """Expected log-likelihood plus log prior, written out."""
    total = 0.0
    for i, phi in enumerate(emission.bumps):
        score = phi @ weights[:, :, 0]
        total += counts[:, i, 0] @ (score - np.log(np.exp(score).sum()))
    return total - 0.5 * emission.decay * (weights**2).sum()


def falls(emission, n=200):
    """How many steps from random weights lower the objective."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(n):
        counts = rng.gamma(0.3, rng.choice([0.1, 10.0, 1000.0]), (4, 25, 1))
        weights = rng.normal(0.0, rng.choice([0.1, 3.0, 10.0]), (10, 4, 1))
        before = objective(emission, counts, weights)
        after = objective(emission, counts, emission.mode(counts, weights, 1.0))
        found += after < before - 1e-9 * abs(before)
    return found


def test_no_step_lowers_the_objective_and_many_reach_the_top(monkeypatch):
    assert falls(PLANE) == 0
    rng = np.random.default_rng(1)
    counts, weights = rng.gamma(0.3, 10.0, (4, 25, 1)), np.zeros((10, 4, 1))
    for _ in range(400):
        weights = PLANE.mode(counts, weights, 1.0)
    top = objective(PLANE, counts, weights)
    for _ in range(50):
        assert objective(PLANE, counts, weights + rng.normal(0.0, 0.02, weights.shape)) < top
    monkeypatch.setattr(plane, "cho_factor", lambda curvature: plane_factor(curvature * 0.2))  # a planted bug
    assert falls(PLANE) > 20


def plane_factor(curvature):
    from scipy.linalg import cho_factor

    return cho_factor(curvature)


def test_labels_are_distributions_and_near_points_are_alike():
    weights = PLANE.draw(np.random.default_rng(0), 25, 1, 1.0)
    prob = PLANE.rows(weights, None).prob[:, :, 0]
    np.testing.assert_allclose(prob.sum(axis=0), 1.0, rtol=1e-12)
    assert PLANE.lattice.shape == (25, 2)
    assert np.abs(PLANE.lattice).max() == 1.0
    near = np.abs(prob[:, :-1] - prob[:, 1:])[:, np.arange(24) % 5 != 4].mean()
    far = np.abs(prob - prob[:, ::-1]).mean()
    assert near < far
    np.testing.assert_allclose(PLANE.log_prior(weights, 1.0), [-0.05 * (weights**2).sum()])
    assert PLANE.n_free(25) == 30


def test_a_start_puts_labels_where_they_are_wanted():
    place = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    prob = PLANE.rows(PLANE.placed(place, np.full(4, 0.25)), None).prob[:, :, 0]
    corner = [int(np.abs(PLANE.lattice - p).sum(axis=1).argmin()) for p in place]
    assert prob[:, corner].argmax(axis=0).tolist() == [0, 1, 2, 3]


def test_headers_come_back_and_odd_ones_are_refused():
    assert emission_of(PLANE.header()) == PLANE
    for wrong in (["plane", 4, 5, 6, 1.0, 0.1], ["plane", 4, 5, 3, -1.0, 0.1], ["plane", -1, 5, 3, 1.0, 0.1], ["pane"]):
        with pytest.raises(ValueError, match=r"plane|pane"):
            emission_of(wrong)


# ---- the model ------------------------------------------------------------------------------------------------------


def test_probabilities_positions_and_counts_are_those_of_enumeration(awkward_small):
    forest = awkward_small
    if forest.sizes.max() > 5 or forest.n_slots > 3:
        forest = ab.Forest.from_nested([("a", ["b", ("c", ["b"])]), ("a", [{"label": "b", "slot": 2}]), "c"])
    model = ab.TopographicMap(2, basis=2, n_init=1, max_iter=2, random_state=0).fit(forest)
    theta = twin.Theta(
        model.leaf_prob_, model.emission_prob_, model.switch_prob_, model.transition_prob_, None, "bottom"
    )
    place, nodes, log_prob = model.transform(forest), model.node_positions(forest), model.score_samples(forest)
    known, done = forest.with_vocabulary(model.vocabulary_), 0
    for t in range(forest.n_trees):
        found = twin.enumerate_tree(twin.nodes_of(known, t), theta)
        assert log_prob[t] == pytest.approx(found.log_prob, rel=1e-11, abs=1e-13)
        np.testing.assert_allclose(place[t], found.node[-1] @ model.lattice_, rtol=1e-10, atol=1e-12)
        mine = nodes[done : done + len(found.node)]
        np.testing.assert_allclose(mine, found.node @ model.lattice_, rtol=1e-10, atol=1e-12)
        done += len(found.node)


def test_the_passes_are_those_of_the_hidden_tree(documents):
    """The same trees under a hidden tree with the same tables, and hmmlearn's model on chains through it."""
    train, test = documents
    model = small().fit(train)
    same = ab.HiddenTree.from_parameters(
        leaf_prob=model.leaf_prob_,
        emission_prob=model.emission_prob_,
        switch_prob=model.switch_prob_,
        transition_prob=model.transition_prob_,
        vocabulary=model.vocabulary_,
    )
    np.testing.assert_allclose(model.score_samples(test), same.score_samples(test), rtol=1e-11)
    np.testing.assert_allclose(model.encode(test).toarray(), same.transform(test), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(test), same.predict_proba(test), rtol=1e-9)


def test_chains_are_those_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    chain = ("a", [("b", [("b", [("a", [("c", ["a"])])])])])
    model = small().fit([chain, ("b", ["a"])])
    other = hmm.CategoricalHMM(16)
    other.startprob_, other.transmat_ = model.leaf_prob_[0], model.transition_prob_[0, :16]
    other.emissionprob_, other.n_features = model.emission_prob_, 3
    leaf_first = np.array([[model.vocabulary_.index(word)] for word in "acabba"])
    assert model.score_samples([chain])[0] == pytest.approx(other.score(leaf_first), rel=1e-11)


@pytest.mark.parametrize("places", ["random", "contexts"])
@pytest.mark.parametrize("prior", [1.0, 1.2])
def test_the_objective_never_falls(documents, places, prior):
    model = small(places=places, prior=prior, max_iter=25).fit(documents[0])
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])
    if prior == 1.0:  # the objective is that of the parameters returned
        decay = 0.5 * model.weight_decay * (model.emission_weight_**2).sum()
        wanted = model.score_samples(documents[0]).sum() - decay
        assert model.history_[-1] == pytest.approx(wanted, rel=1e-11)


def test_a_step_in_the_wrong_direction_is_found(documents, monkeypatch):
    right = PlaneLabels.mode

    def wrong(self, statistics, params, prior):
        return 2 * params - right(self, statistics, params, prior)

    monkeypatch.setattr(PlaneLabels, "mode", wrong)
    assert np.diff(small(max_iter=8).fit(documents[0]).history_).min() < 0


def test_sum_over_all_labels_of_a_shape_is_one(fitted):
    words = fitted.vocabulary_[:3]
    model = small().fit([(a, [b, c]) for a in words for b in words for c in words])
    every = [(a, [b, (c, [d])]) for a in words for b in words for c in words for d in words]
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-12)


# ---- places ---------------------------------------------------------------------------------------------------------


def test_maps_keep_neighbours_and_the_best_start_is_kept(documents, monkeypatch):
    train, test = documents
    seen = []
    right = map_start.trustworthiness
    monkeypatch.setattr(
        map_start, "trustworthiness", lambda *given, **more: seen.append(right(*given, **more)) or seen[-1]
    )
    model = small(side=6, basis=4, n_init=4).fit(train)
    assert len(seen) == 4
    assert model.trustworthiness_ == max(seen) > min(seen)
    assert model.trustworthiness(train) == pytest.approx(model.trustworthiness_)
    np.testing.assert_allclose(model.embedding_, model.transform(train), rtol=1e-12)
    assert np.abs(model.transform(test)).max() <= 1.0


def test_trees_of_like_labels_lie_together():
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    trees = [(f"{'abc'[k]}", [f"{'abc'[k]}{rng.integers(3)}" for _ in range(rng.integers(1, 4))]) for k in kind]
    forest = ab.Forest.from_nested(trees)
    model = small(side=6, basis=4, max_iter=15, n_init=2).fit(forest[:60])
    chance = map_start.trustworthiness(forest[60:], rng.random((30, 2)))
    assert model.trustworthiness(forest[60:]) > chance + 0.2
    old, new = model.embedding_, model.transform(forest[60:])
    nearest = np.linalg.norm(new[:, None] - old, axis=2).argmin(axis=1)
    assert np.mean(kind[:60][nearest] == kind[60:]) > 0.9


def test_places_of_nodes_of_the_root_and_of_unseen_trees(fitted, documents):
    test = documents[1]
    nodes = fitted.node_positions(test)
    assert nodes.shape == (test.n_nodes, 2)
    np.testing.assert_allclose(nodes[test.tree_start[1:] - 1], fitted.transform(test), rtol=1e-9)
    assert len(np.unique(nodes.round(3), axis=0)) > 50
    unseen = fitted.transform(["zebra"])
    np.testing.assert_allclose(unseen[0], fitted.leaf_prob_[-1] @ fitted.lattice_, rtol=1e-9, atol=1e-12)
    assert fitted.transform([]).shape == (0, 2)


def test_the_verdict_is_by_trustworthiness(fitted):
    model = copy.copy(fitted)
    levels = {}
    for trust in (0.95, 0.8, 0.55, float("nan")):
        model.trustworthiness_ = trust
        levels[trust] = model.verdict().level
    assert [*levels.values()] == ["sound", "look again", "do not trust", "look again"]
    model.trustworthiness_ = 0.95
    spread = np.random.default_rng(0).uniform(0.2, 1.0, (60, 2))
    model.embedding_ = np.concatenate([np.zeros((61, 2)), spread])
    assert "50% of the trees lie in one place" in model.verdict().reason
    model.embedding_ = model.embedding_[2:]
    assert model.verdict().level == "sound"


def test_the_legend_names_likely_labels(fitted):
    words = fitted.point_labels()
    assert words.shape == (36,)
    assert set(words) <= set(fitted.vocabulary_)
    best = fitted.emission_prob_.argmax(axis=1)
    assert [fitted.vocabulary_[m] for m in best] == words.tolist()
    assert fitted.emissions(3)[0].values.shape == (36, 3)


def test_a_map_of_one_label_or_few_trees():
    one = small().fit([("a", ["a"]), ("a", ["a", "a"]), "a"])
    assert np.isnan(one.trustworthiness_)
    assert np.isfinite(one.transform(["a", ("a", ["a"])])).all()
    none = small().fit([(None, [None])])
    assert none.point_labels().tolist() == [""] * 16
    two = small(places="contexts").fit([("a", ["b"]), ("b", ["a", "b"])] * 4)
    assert np.isfinite(two.embedding_).all()


# ---- the estimator --------------------------------------------------------------------------------------------------


def test_settings_are_checked(documents):
    for wrong in (
        {"basis": 5},
        {"side": 0},
        {"side": 101},
        {"width": 0.0},
        {"weight_decay": 0.0},
        {"places": "somewhere"},
        {"encoding": "weighted"},
        {"prior": 0.9},
        {"n_init": 0},
    ):
        with pytest.raises(ab.ArboraError):
            small(**wrong).fit(documents[0])
    with pytest.raises(ab.ArboraError, match="no partial_fit"):
        small().partial_fit(documents[0])


def test_stores_threads_and_sharing_do_not_change_the_map(documents, tmp_path):
    train, test = documents
    store = ab.ForestStore.write(train, tmp_path / "s", shard_nodes=200)
    whole, stored = small(n_init=2).fit(train), small(n_init=2, n_jobs=2).fit(store)
    np.testing.assert_allclose(stored.history_, whole.history_, rtol=1e-9)
    np.testing.assert_allclose(stored.transform(test), whole.transform(test), rtol=1e-6, atol=1e-8)
    plain = small(n_init=2, shared=False).fit(train)
    np.testing.assert_allclose(plain.history_, whole.history_, rtol=1e-9)
    np.testing.assert_allclose(stored.node_positions(store), whole.node_positions(train), rtol=1e-6, atol=1e-8)
    assert abs(stored.encode(store) - whole.encode(train)).max() < 1e-6


def test_dask_gives_the_same_bits(documents, tmp_path):
    dask = pytest.importorskip("distributed")
    store = ab.ForestStore.write(documents[0], tmp_path / "s", shard_nodes=200)
    alone = small(max_iter=3).fit(store)
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
        ab.distributed(client),
    ):
        far = small(max_iter=3).fit(store)
    assert far.history_ == alone.history_
    assert np.array_equal(far.embedding_, alone.embedding_)


def test_files_and_refits(fitted, documents, tmp_path):
    train, test = documents
    fitted.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.transform(test), fitted.transform(test))
    assert loaded.trustworthiness_ == fitted.trustworthiness_
    assert np.array_equal(clone(fitted).fit(train).embedding_, fitted.embedding_)
    header, arrays = fitted._pack()
    for name, value in (
        ("emission_weight_", arrays["emission_weight_"][:-1]),
        ("emission_weight_", arrays["emission_weight_"] * np.inf),
        ("embedding_", arrays["embedding_"] * 9),
        ("transition_prob_", arrays["transition_prob_"] * 0.5),
    ):
        with pytest.raises(ValueError, match=name[:-1]):
            ab.TopographicMap(**header["params"])._restore(header, {**arrays, name: value})
    (tmp_path / "m.arbora").write_bytes(b"no model")
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "m.arbora")


def test_weights_are_copies(documents):
    train = documents[0][:6]
    spec = SwitchingTree(3, PlaneLabels(train.n_labels, 4, 3, 1.0, 0.1), 16)
    assert spec.from_header(spec.header()) == spec
    start = map_start.start(np.random.default_rng(0), spec, train, "random")
    from arbora.forest.sharing import share
    from arbora.models.hidden_tree import fitting
    from arbora.models.hidden_tree.passes import Batch, MixtureParams

    first = MixtureParams(np.ones(1), start)
    weight = np.array([2.0, 1, 1, 1, 1, 1])
    once = Batch(spec, share(train.arrays, 3), weight, 1).expected_counts(first)
    twice = Batch(spec, share(train.take([0, 0, 1, 2, 3, 4, 5]).arrays, 3), None, 1).expected_counts(first)
    a, b = (fitting.m_step(spec, counts, first, Priors()) for counts, _ in (once, twice))
    np.testing.assert_allclose(a.tree.emission, b.tree.emission, rtol=1e-9)


# ---- the page -------------------------------------------------------------------------------------------------------


def test_a_page_opens_with_the_plane_and_its_labels(fitted, documents, tmp_path):
    train = documents[0]
    page = gather(fitted, train)
    assert page["map"]["name"] == "the model's plane"
    assert f"{fitted.trustworthiness_:.3f}" in page["map"]["about"]
    assert len(page["map"]["points"]) == 36
    assert {word for _, _, word in page["map"]["points"]} == set(fitted.point_labels())
    assert page["map"]["others"][0]["name"] in ("neighbours", "principal components")
    x, low, high = fitted.embedding_[:, 0], fitted.embedding_[:, 0].min(), fitted.embedding_[:, 0].max()
    assert page["map"]["x"] == np.rint((x - low) / (high - low) * 2000).astype(int).tolist()
    corner = page["map"]["points"][0]
    assert corner[0] == max(round((-1.0 - low) / (high - low) * 2000), -40000)
    rows = page["lattice"]["rows"]
    assert sum(trees for row in rows for _, trees in row) == train.n_trees
    assert rows[0][0][0] == fitted.point_labels()[5]  # the upper left corner is x = -1, y = 1
    fitted.report(train, tmp_path / "map.html")
    assert "the model's plane" in (tmp_path / "map.html").read_text(encoding="utf-8")
