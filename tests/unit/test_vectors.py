"""The estimators over arrays: scikit-learn's own checks, results, prediction, files, refusals."""

import logging
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_clustering, check_estimator, parametrize_with_checks

import arbora as ab
from arbora.errors import ArboraError, ChainsDisagreeWarning, SettingError

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.ChainsDisagreeWarning")
BRIEF = {"n_iter": 20, "n_chains": 2, "n_jobs": 1, "random_state": 0}
PAPER = {"variant": "paper", "scale0": 1.0, "kappa0": 1.0, "n_iter": 3}
MODELS = [
    ab.DPGaussianMixture(**BRIEF),
    ab.NHCM(**BRIEF),
    ab.NHCM(prior="nested", **BRIEF),
]


# scikit-learn 1.6 gives a generator, which pytest no longer takes.
CHECKS = parametrize_with_checks([model.set_params(n_iter=5) for model in map(clone, MODELS)])


@pytest.mark.compiled
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_approves(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.compiled
@pytest.mark.parametrize("prior", ["flat", "nested"])
def test_a_learnt_spread_leaves_far_groups_apart(prior):
    """Were it unbounded, one cluster with far sub-clusters would explain any data of one covariance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_clustering("NHCM", ab.NHCM(prior=prior, spread=None, **BRIEF))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *(ab.DPGaussianMixture(), ab.NHCM(), ab.NHCM(prior="nested")),
        *(ab.NHCM(spread=None), ab.NHCM(prior="nested", spread=None)),
    ],
)
def test_scikit_learn_approves_the_defaults(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(model)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)


@pytest.fixture(scope="module", params=range(len(MODELS)), ids=["dp", "flat", "nested"])
def fitted(request, blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        return clone(MODELS[request.param]).set_params(n_iter=60).fit(blobs[0])


def test_plain_groups_are_found(fitted, blobs):
    # The nested prior likes sub-clusters: there the three groups are clusters, with the flat one sub-clusters.
    assert max(adjusted_rand_score(blobs[1], row) for row in fitted.level_labels_) > 0.9
    assert fitted.hierarchy_.n_levels == len(fitted.level_labels_)
    assert np.array_equal(fitted.hierarchy_.labels(1), fitted.labels_)
    assert fitted.labels_.dtype == np.int64


def test_levels_are_nested_and_ordered_by_size(fitted):
    for row in fitted.level_labels_:
        assert (np.diff(np.bincount(row)) <= 0).all()
    pairs = {tuple(pair) for pair in fitted.level_labels_.T.tolist()}
    assert len(pairs) == fitted.level_labels_[-1].max() + 1


def test_prediction_of_training_rows_and_of_strangers(fitted, blobs):
    X, _ = blobs
    proba = fitted.predict_proba(X)
    assert proba.shape == (120, fitted.n_components_ + 1)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert (fitted.predict(X) == fitted.labels_).mean() > 0.97
    assert fitted.predict([[500.0, -700.0]])[0] == -1
    assert fitted.set_params(novelty=1.0).predict([[500.0, -700.0]])[0] >= 0
    fitted.set_params(novelty=0.5)


def test_levels_of_new_rows_are_nested(fitted, blobs):
    levels = fitted.predict_levels(blobs[0])
    assert np.array_equal(levels[0], fitted.predict(blobs[0]))
    assert (levels == fitted.level_labels_).mean() > 0.95
    known = levels[-1] >= 0
    assert np.array_equal(fitted.cluster_[levels[-1][known]], levels[0][known])
    assert (fitted.predict_levels([[500.0, -700.0]]) == -1).all()


def test_the_predictive_density_integrates_to_one(fitted, blobs):
    low, high = blobs[0].min(axis=0) - 60, blobs[0].max(axis=0) + 60
    grid = [np.linspace(a, b, 420) for a, b in zip(low, high, strict=True)]
    cell = (grid[0][1] - grid[0][0]) * (grid[1][1] - grid[1][0])
    points = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    assert np.exp(fitted.score_samples(points)).sum() * cell == pytest.approx(1.0, abs=0.03)


def test_the_predictive_is_the_ratio_of_two_joints(blobs):
    """A new row's density is p(rows and it) / p(rows), summed over where it may sit: checked against the twin."""
    from tests.reference import nested_gaussian as reference

    X = blobs[0][:9]
    for prior in ("flat", "nested"):
        model = ab.NHCM(prior=prior, scale0=0.5, kappa0=0.3, spread=2.0, scaling=None, **BRIEF).fit(X)
        z, g = model.level_labels_[1], model.cluster_
        x, new = X - model.offset_, np.array([[3.0, 2.0]])
        both = np.vstack([x, new - model.offset_])
        twin = {"scale0": 0.5 * np.eye(2), "dof0": 4.0, "kappa0": 0.3, "spread": 2.0}
        options = [(t, g) for t in range(len(g))]
        options += [(len(g), np.append(g, r)) for r in range(g.max() + 2)]
        logs = [
            reference.log_prior(np.append(z, t), home, prior, 1.0, 1.0)
            + reference.log_likelihood(both, np.append(z, t), home, twin)
            for t, home in options
        ]
        base = reference.log_prior(z, g, prior, 1.0, 1.0) + reference.log_likelihood(x, z, g, twin)
        assert model.score_samples(new)[0] == pytest.approx(np.logaddexp.reduce(logs) - base, abs=1e-9)


def test_posterior_summaries(fitted):
    for level in range(len(fitted.level_labels_)):
        together = fitted.co_clustering(level)
        assert together.shape == (120, 120)
        assert np.allclose(np.diag(together), 1.0)
        assert fitted.n_groups_posterior(level).probability.sum() == pytest.approx(1.0)
        assert len(fitted.chain_report(level).distance) == 2
    assert fitted.draws().shape[:2] == (2, 30)
    assert fitted.history_.shape == (2, 60)


def test_files_bring_the_model_back(fitted, blobs, tmp_path):
    fitted.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(again.predict_proba(blobs[0]), fitted.predict_proba(blobs[0]))
    assert np.array_equal(again.labels_, fitted.labels_)
    assert again.hierarchy_.to_newick() == fitted.hierarchy_.to_newick()
    assert again.provenance_ == fitted.provenance_


def test_seeds_and_threads(blobs):
    X = blobs[0][:40]
    one = ab.NHCM(**BRIEF).fit(X)
    two = ab.NHCM(**{**BRIEF, "n_jobs": 2}).fit(X)
    other = ab.NHCM(**{**BRIEF, "random_state": 1}).fit(X)
    assert np.array_equal(one.draws(), two.draws())
    assert not np.array_equal(one.draws(), other.draws())


def test_a_checkpoint_goes_on_as_if_never_broken(blobs, tmp_path):
    X = blobs[0][:40]
    whole = ab.DPGaussianMixture(**{**BRIEF, "n_iter": 16, "burn_in": 2}).fit(X)
    settings = {**BRIEF, "burn_in": 2, "checkpoint": tmp_path / "c"}
    ab.DPGaussianMixture(**{**settings, "n_iter": 7}).fit(X)
    resumed = ab.DPGaussianMixture(**{**settings, "n_iter": 16}).fit(X)
    assert np.array_equal(whole.draws(), resumed.draws())


def test_results_do_not_depend_on_units_or_offset(blobs):
    X = blobs[0]
    plain = ab.DPGaussianMixture(**BRIEF).fit(X)
    moved = ab.DPGaussianMixture(**BRIEF).fit(X * [1000.0, 0.25] + [1e6, -3.0])
    assert adjusted_rand_score(plain.labels_, moved.labels_) == 1.0
    gap = plain.score_samples(X) - moved.score_samples(X * [1000.0, 0.25] + [1e6, -3.0])
    assert np.allclose(gap, np.log(250.0), atol=1e-4)


@pytest.mark.parametrize("estimate", ["vi", "least_squares", "best"])
def test_every_estimate_gives_a_hierarchy(blobs, estimate):
    for model in (ab.DPGaussianMixture, ab.NHCM):
        found = model(estimate=estimate, **BRIEF).fit(blobs[0])
        assert found.hierarchy_.n_data == 120
        assert np.isfinite(found.log_joint_)


@pytest.mark.parametrize("prior", [None, (2.0, 2.0)])
def test_concentrations_move_only_with_a_prior(blobs, prior):
    for model in (ab.DPGaussianMixture(**BRIEF), ab.NHCM(spread=None, **BRIEF), ab.NHCM(prior="nested", **BRIEF)):
        drawn = model.set_params(concentration_prior=prior).fit(blobs[0]).trace_.stack("concentration")
        assert (np.ptp(drawn[..., 0]) > 0) == (prior is not None)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 3)),
        np.ones((6, 2)),
        np.repeat([[0.0, 1.0], [5.0, 2.0]], 8, axis=0),
        np.outer(np.arange(12.0), [1.0, 2.0, 3.0]),
        1e8 + np.random.default_rng(0).normal(size=(20, 1)),
        1e-9 * np.random.default_rng(0).normal(size=(20, 2)),
    ],
    ids=["one row", "constant", "duplicates", "collinear", "offset", "tiny"],
)
def test_awkward_data(X):
    for model in (ab.DPGaussianMixture(**BRIEF), ab.NHCM(**BRIEF), ab.NHCM(**{**BRIEF, **PAPER})):
        model.fit(X)
        assert np.isfinite(model.log_joint_)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.score_samples(X)).all()


def test_constant_columns_are_told(caplog):
    X = np.column_stack([np.random.default_rng(0).normal(size=20), np.full(20, 3.0)])
    with caplog.at_level(logging.WARNING):
        ab.DPGaussianMixture(**BRIEF).fit(X)
    assert "column 1 is constant; it is left out of the model" in caplog.text


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"scaling": "rows"}, "scaling='rows'"),
        ({"estimate": "mean"}, "estimate='mean'"),
        ({"init": "random"}, "init='random'"),
        ({"n_iter": 0}, "n_iter=0"),
        ({"burn_in": 20}, "burn_in=20"),
        ({"kappa0": -1.0}, "kappa0=-1.0"),
        ({"dof0": 0.5}, "dof0=0.5"),
        ({"scale0": np.ones((2, 3))}, "scale0 has shape"),
        ({"scale0": -np.eye(2)}, "positive definite"),
        ({"n_split_merge": 1.5}, "n_split_merge=1.5"),
        ({"novelty": 2}, "novelty=2"),
        ({"concentration_prior": (0.0, 1.0)}, "shape of concentration_prior"),
    ],
)
def test_settings_that_make_no_sense_are_refused(blobs, settings, told):
    for kind in (ab.DPGaussianMixture, ab.NHCM):
        with pytest.raises(SettingError, match=told.replace("(", r"\(")):
            kind(**{**BRIEF, **settings}).fit(blobs[0])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"variant": "new"}, "variant='new'"),
        ({"prior": "deep"}, "prior='deep'"),
        ({"spread": 0.0}, "spread=0.0"),
        ({"variant": "paper"}, "scale0=None"),
        ({**PAPER, "prior": "nested"}, "prior='flat'"),
        ({"cluster_concentration": 0.0}, "cluster_concentration"),
    ],
)
def test_settings_of_nhcm(blobs, settings, told):
    with pytest.raises(SettingError, match=told):
        ab.NHCM(**{**BRIEF, **settings}).fit(blobs[0])


def test_a_matrix_as_scale0_is_in_units_of_the_data(blobs):
    X = blobs[0]
    by_number = ab.DPGaussianMixture(scale0=0.1, kappa0=0.1, **BRIEF).fit(X)
    matrix = 0.1 * np.diag(X.var(axis=0))
    by_matrix = ab.DPGaussianMixture(scale0=matrix, kappa0=0.1, **BRIEF).fit(X)
    assert np.array_equal(by_number.draws(), by_matrix.draws())


def test_unfitted_models_say_so(blobs):
    for method in ("predict", "predict_proba", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(ab.NHCM(), method)(blobs[0])
    with pytest.raises(NotFittedError):
        ab.NHCM().draws()
    with pytest.raises(NotFittedError):
        ab.NHCM().save("nowhere.arbora")


def test_chains_that_disagree_are_told_of(blobs):
    far = np.concatenate([blobs[0] + 50 * n for n in range(6)])
    with pytest.warns(ChainsDisagreeWarning, match="chain"):
        ab.DPGaussianMixture(n_iter=8, n_split_merge=0, n_chains=4, n_jobs=1, random_state=1).fit(far)


def test_a_damaged_file_is_refused(fitted, tmp_path):
    broken = clone(fitted)
    broken.__dict__.update(fitted.__dict__)
    broken.names_ = ["only one"]
    broken.save(tmp_path / "m.arbora")
    with pytest.raises(ArboraError, match="level_labels_ has shape"):
        ab.load(tmp_path / "m.arbora")


def test_data_frames_name_rows_and_columns(blobs, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs[0][:20], columns=["a", "b"], index=[f"row {n}" for n in range(20)])
    model = ab.NHCM(**BRIEF).fit(frame)
    assert model.hierarchy_.names[3] == "row 3"
    model.save(tmp_path / "m.arbora")
    assert ab.load(tmp_path / "m.arbora").feature_names_in_.tolist() == ["a", "b"]
