"""BHMC and RBHMC as estimators."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

import arbora as ab
from arbora.errors import ChainsDisagreeWarning, SettingError
from arbora.inference.diagnostics import canonical
from arbora.models.bhmc.consensus import consensus, least_expected_vi
from arbora.models.bhmc.starts import crowded, ward_start

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")


@pytest.fixture(scope="module")
def blobs():
    """Two far groups of two near groups each."""
    centres = [[0, 0, 0], [8, 0, 0], [20, 20, 0], [20, 28, 0]]
    X, y = make_blobs(80, centers=np.array(centres, float), cluster_std=0.4, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def fitted(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        return ab.RBHMC(n_iter=100, n_chains=2, random_state=0).fit(blobs[0])


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [ab.BHMC, ab.RBHMC])
def test_scikit_learns_own_checks(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(kind(n_iter=16, n_chains=2), on_fail="raise")


def test_groups_of_groups_are_found(blobs, fitted):
    X, y = blobs
    assert adjusted_rand_score(y // 2, fitted.labels_) == 1.0
    assert adjusted_rand_score(y, fitted.component_) > 0.6
    alone = ab.BHMC(n_iter=200, n_chains=2, random_state=0).fit(X)  # without a regulariser near groups part, too
    assert adjusted_rand_score(y, alone.level_labels_[-1]) > 0.9
    tree = fitted.hierarchy_
    assert tree.n_data == 80
    assert tree.n_levels == 3
    np.testing.assert_array_equal(fitted.labels_, fitted.level_labels_[0])
    far = y // 2  # the two far groups never meet below the root
    for row in fitted.level_labels_:
        assert all(len(set(far[row == g])) == 1 for g in np.unique(row))


def test_new_rows_go_where_their_neighbours_are(blobs, fitted):
    X, _ = blobs
    rng = np.random.default_rng(0)
    near = fitted.predict_levels(X + 0.05 * rng.standard_normal(X.shape))
    assert near.shape == (3, 80)
    assert ((near == fitted.level_labels_)[:2].mean(axis=1) > 0.97).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict_levels(X)[0])
    assert np.isin(fitted.predict(1e6 * X[:5]), fitted.labels_).all()


def test_new_rows_go_where_their_neighbours_are_on_all_levels(blobs, fitted):
    X, _ = blobs
    near = fitted.predict_levels(X + 0.05 * np.random.default_rng(0).standard_normal(X.shape))
    assert (near == fitted.level_labels_).mean() > 0.97


def test_seeds_reproduce_and_threads_change_nothing(blobs, fitted):
    again = ab.RBHMC(n_iter=100, n_chains=2, random_state=0, n_jobs=2).fit(blobs[0])
    np.testing.assert_array_equal(again.draws(), fitted.draws())
    np.testing.assert_array_equal(again.level_labels_, fitted.level_labels_)
    np.testing.assert_array_equal(again.predict(blobs[0]), fitted.predict(blobs[0]))


def test_files_keep_all_that_predicts(blobs, fitted, tmp_path):
    path = tmp_path / "model.arbora"
    fitted.save(path)
    back = ab.load(path)
    assert isinstance(back, ab.RBHMC)
    np.testing.assert_array_equal(back.predict_levels(blobs[0]), fitted.predict_levels(blobs[0]))
    np.testing.assert_array_equal(back.level_labels_, fitted.level_labels_)
    np.testing.assert_equal(back.compare(), fitted.compare())


def test_without_regularization_it_is_bhmc(blobs):
    X = blobs[0][::4]
    one = ab.BHMC(n_iter=30, n_chains=1, random_state=3).fit(X)
    other = ab.RBHMC(regularization=0.0, n_iter=30, n_chains=1, random_state=3, intercept=False).fit(X)
    np.testing.assert_array_equal(one.draws(), other.draws())
    np.testing.assert_allclose(one.trace_.info["cdll"], other.trace_.info["log_joint"])


@pytest.mark.parametrize(
    "settings",
    [
        {"tree": "nested"},
        {"tree": "nested", "procedure": "own"},
        {"tree": "nested", "procedure": "paper", "intercept": False},
        {"start": "prior", "component_variance": 0.2, "mean_variance": 1.0},
        {"estimate": "vi"},
        {"estimate": "best"},
        {"estimate": "least_squares"},
        {"scaling": None, "n_projected": 2},
        {"depth": 1, "branching": 3},
    ],
)
def test_every_setting_runs_and_gives_a_nested_tree(blobs, settings):
    model = ab.RBHMC(**{"n_iter": 30, "n_chains": 2, "random_state": 0, **settings}).fit(blobs[0])
    tree = model.hierarchy_  # refuses levels that are not nested
    assert tree.n_levels == model.depth
    assert np.isfinite(model.trace_.info["log_joint"]).all()
    assert model.predict(blobs[0]).shape == (80,)
    co = model.co_occurrence(0)
    assert co.shape == (80, 80)
    np.testing.assert_allclose(np.diag(co), 1.0)
    assert (co >= model.co_occurrence(model.depth - 1) - 1e-12).all()  # who is together below is together above


def test_the_best_draw_has_the_highest_likelihood(blobs):
    model = ab.RBHMC(n_iter=40, n_chains=2, estimate="best", random_state=0).fit(blobs[0])
    joint = model.trace_.info["log_joint"][:, model.trace_.draw_sweep]
    assert model.log_joint_ == joint.max()
    chain, draw = np.unravel_index(joint.argmax(), joint.shape)
    assert adjusted_rand_score(model.draws()[chain, draw, 2], model.level_labels_[2]) == 1.0


def test_linkage_stands_beside(blobs, fitted):
    found = {rival.name: rival for rival in fitted.compare(blobs[1])}
    assert set(found) == {"RBHMC", "ward", "average"}
    assert found["ward"].n_groups == found["RBHMC"].n_groups
    assert all(0.0 < rival.purity <= 1.0 for rival in found.values())
    assert len(found["RBHMC"].f_measure) == 3
    assert np.isnan(fitted.compare()[0].purity)


def test_units_of_columns_are_told_apart(blobs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    assert ab.BHMC(n_iter=4, n_chains=1).fit(X).scaling_ == "common"
    assert ab.BHMC(n_iter=4, n_chains=1).fit(X * [1, 1, 1, 1000.0]).scaling_ == "columns"
    # The result does not depend on the unit or the origin of all columns together.
    one, other = (ab.BHMC(n_iter=10, n_chains=1, random_state=0).fit(rows) for rows in (X, 1000.0 * X - 77.0))
    np.testing.assert_array_equal(one.draws(), other.draws())


@pytest.mark.parametrize(
    "X",
    [np.zeros((1, 2)), np.zeros((6, 3)), np.arange(5.0)[:, None], np.ones((4, 1)) * 1e8, np.eye(3)],
    ids=["one row", "constant", "one column", "far and constant", "as many as columns"],
)
@pytest.mark.parametrize("tree", ["finite", "nested"])
def test_small_and_poor_data(X, tree):
    model = ab.RBHMC(n_iter=12, n_chains=2, random_state=0, tree=tree).fit(X)
    assert len(model.labels_) == len(X)
    assert np.isfinite(model.trace_.info["log_joint"]).all()
    assert model.predict(X).shape == (len(X),)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tree": "oak"}, "tree='oak'; wanted one of 'finite', 'nested'"),
        ({"procedure": "paper"}, "set tree='nested'"),
        ({"branching": 60, "depth": 4}, "12960000 leaves; wanted at most 100000"),
        ({"depth": 2**40}, "depth=1099511627776; wanted 100 at most"),
        ({"depth": 0}, "depth=0; wanted a whole number"),
        ({"regularization": -1.0}, "regularization=-1.0; wanted a number from 0"),
        ({"component_variance": 0.0}, "component_variance=0.0"),
        ({"estimate": "mean"}, "estimate='mean'; wanted one of"),
        ({"n_projected": 0}, "n_projected=0"),
        ({"scaling": "rows"}, "scaling='rows'"),
    ],
)
def test_bad_settings_are_named(blobs, settings, words):
    with pytest.raises(SettingError, match=words):
        ab.RBHMC(**settings).fit(blobs[0])


# ---- starts and estimates -------------------------------------------------------------------------------------------


def test_a_crowded_node_shares_its_last_child():
    path = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]])
    assert crowded(path, 2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 0], [1, 1]]
    assert crowded(path, 0).tolist() == path.tolist()


def test_ward_start_of_many_rows_goes_through_centres():
    X, y = make_blobs(2500, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.3, random_state=0)
    start = ward_start(X, 2, 5, seed=0)
    assert start.path.shape == (2500, 2)
    assert all(len(set(y[start.component == k])) == 1 for k in np.unique(start.component))


def test_estimates_of_draws_that_agree_are_that_tree():
    levels = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]], np.int32)
    draws = np.repeat(levels[None], 20, axis=0)
    for found in (consensus(draws), least_expected_vi(draws)):
        for row, truth in zip(found, levels, strict=True):
            assert adjusted_rand_score(row, truth) == 1.0


def test_a_level_is_never_coarser_than_the_one_above():
    """Whatever draws say: of four groups above and two below, the cut below keeps the four."""
    fine, coarse = np.repeat(np.arange(4), 5), np.repeat([0, 1], 10)
    draws = np.repeat(np.stack([fine, coarse])[None], 20, axis=0).astype(np.int32)
    assert [len(np.unique(row)) for row in consensus(draws)] == [4, 4]


def test_consensus_divides_nothing_that_the_draws_do_not():
    rng = np.random.default_rng(0)
    sure = np.repeat([0, 1], 20)
    unsure = 2 * sure + rng.integers(2, size=(50, 40))  # each draw cuts both groups in two, at random
    draws = np.stack([np.tile(sure, (50, 1)), unsure], axis=1).astype(np.int32)
    assert [len(np.unique(row)) for row in consensus(draws)] == [2, 2]
    cut_in_halves = 2 * sure + np.tile([0, 1], 20)
    draws[:, 1] = cut_in_halves
    assert adjusted_rand_score(cut_in_halves, consensus(draws)[1]) == 1.0


@pytest.mark.parametrize(("place", "first_level"), [(1.0, [0, 0, 1]), (9.0, [0, 1, 1])])
def test_consensus_looks_at_rows_where_draws_say_nothing(place, first_level):
    """Half of the draws have the group in the middle with the first, half with the last: its place decides."""
    fine = np.repeat([0, 1, 2], 5)
    draws = np.array([[np.array(pairs)[fine], fine] for pairs in ([0, 0, 1], [0, 1, 1]) * 15], np.int32)
    found = consensus(draws, np.array([0.0, place, 10.0])[fine, None])
    assert adjusted_rand_score(fine, found[1]) == 1.0
    assert len(np.unique(found[0])) == 2
    assert adjusted_rand_score(np.array(first_level)[fine], found[0]) == 1.0


def test_an_estimator_shows_its_rows_to_the_consensus():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    model = ab.RBHMC(n_iter=30, n_chains=2, random_state=0).fit(rows)
    flat = model.draws().reshape(-1, *model.draws().shape[2:])
    np.testing.assert_array_equal(model.level_labels_, canonical(consensus(flat, model.rows_)))
    assert not np.array_equal(model.level_labels_, canonical(consensus(flat)))  # here it matters


def test_too_many_rows_for_a_consensus_get_the_draw_in_the_middle(blobs, monkeypatch):
    monkeypatch.setattr("arbora.models.bhmc.estimator.MOST_JOINED", 10)
    settings = {"n_iter": 20, "n_chains": 2, "random_state": 0}
    found = ab.RBHMC(**settings).fit(blobs[0])
    middle = ab.RBHMC(estimate="least_squares", **settings).fit(blobs[0])
    np.testing.assert_array_equal(found.level_labels_, middle.level_labels_)


def test_estimates_do_not_follow_a_stray_draw():
    levels = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 3]], np.int32)
    stray = np.array([[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1]], np.int32)
    draws = np.array([levels] * 9 + [stray])
    for found in (consensus(draws), least_expected_vi(draws)):
        for row, truth in zip(found, levels, strict=True):
            assert adjusted_rand_score(row, truth) == 1.0
