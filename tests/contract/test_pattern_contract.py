"""TreePatterns and PatternMixture keep the contract of the other Forest estimators, as far as they can."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ModelFileError

MIXTURES = {
    "learnt": lambda: ab.PatternMixture(n_iter=4, n_chains=2, random_state=0),
    "given": lambda: ab.PatternMixture(3, n_iter=4, n_chains=2, random_state=0),
    "sample": lambda: ab.PatternMixture(
        fit_on=20, families=["pairs", "rules"], prior="finite", n_iter=4, random_state=0
    ),
}
ESTIMATORS = MIXTURES | {
    "patterns": lambda: ab.TreePatterns(),
    "hashed": lambda: ab.TreePatterns(["slots", "paths"], n_hashed=64, weighting="tfidf", norm="l2"),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "score", "score_samples", "novelty", "transform", "cut")


@pytest.fixture(scope="module")
def forest():
    return make_documents(12, random_state=0)


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


@pytest.fixture(params=sorted(MIXTURES))
def mixture(request):
    return MIXTURES[request.param]()


def learnt(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_") and isinstance(value, np.ndarray)}


def assert_same(a, b):
    assert learnt(a).keys() == learnt(b).keys()
    for key, value in learnt(a).items():
        assert np.array_equal(value, learnt(b)[key]), key


def told(model, forest):
    """What a model says of trees, as numbers."""
    if hasattr(model, "transform"):
        return model.transform(forest).toarray()
    return np.column_stack([model.score_samples(forest), model.predict_log_proba(forest), *model.novelty(forest)])


def test_parameters_are_stored_cloned_and_obeyed(estimator, forest):
    params = estimator.get_params()
    assert clone(estimator).get_params() == params
    assert type(estimator)().set_params(**params).get_params() == params
    assert not learnt(estimator)
    copy = pickle.loads(pickle.dumps(forest))
    assert estimator.fit(forest) is estimator
    assert estimator.get_params() == params
    assert forest == copy


def test_refit_equals_a_fresh_fit(estimator, forest):
    other = clone(estimator).fit(forest[:25])
    assert_same(other.fit(forest), clone(estimator).fit(forest))


def test_fit_predict_is_labels(mixture, forest):
    labels = mixture.fit_predict(forest)
    assert np.array_equal(labels, mixture.labels_)
    assert np.array_equal(labels, mixture.predict(forest))


def test_not_fitted_is_said(estimator, forest):
    for method in (name for name in METHODS if hasattr(type(estimator), name)):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)(1 if method == "cut" else forest)
    for method in ("get_feature_names_out", "merges", "n_groups_posterior", "chain_report", "co_clustering"):
        if hasattr(type(estimator), method):
            with pytest.raises(NotFittedError):
                getattr(estimator, method)()
    with pytest.raises(NotFittedError):
        estimator.save("nowhere")


def test_order_of_trees_and_numbering_of_labels_do_not_matter(estimator, forest):
    estimator.fit(forest)
    order = np.random.default_rng(0).permutation(len(forest))
    np.testing.assert_allclose(told(estimator, forest[order]), told(estimator, forest)[order], rtol=1e-9)
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    np.testing.assert_allclose(told(estimator, renumbered), told(estimator, forest), rtol=1e-9)


def test_numbering_of_labels_does_not_matter_for_a_fit(mixture, forest):
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    one, two = clone(mixture).fit(forest), mixture.fit(renumbered)
    assert np.array_equal(one.labels_, two.labels_)
    assert one.log_posterior_ == pytest.approx(two.log_posterior_, rel=1e-9)


def test_pickle_save_and_load(estimator, forest, tmp_path):
    estimator.fit(forest)
    copy = pickle.loads(pickle.dumps(estimator))
    assert_same(copy, estimator)
    assert np.array_equal(told(copy, forest), told(estimator, forest))
    estimator.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert type(loaded) is type(estimator)
    params = {key: tuple(x) if isinstance(x, list) else x for key, x in estimator.get_params().items()}
    assert loaded.get_params() == params
    assert_same(loaded, estimator)
    assert loaded.vocabulary_ == estimator.vocabulary_
    assert loaded.provenance_ == estimator.provenance_
    assert np.array_equal(told(loaded, forest), told(estimator, forest))


def test_damaged_model_files_are_refused(estimator, forest, tmp_path):
    estimator.fit(forest)
    path = tmp_path / "m.arbora"
    estimator.save(path)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], good[:-7], b"", b"PK nonsense"):
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            ab.load(path)
    n_refused = 0
    for x in range(0, len(good), max(1, len(good) // 20)):
        path.write_bytes(good[:x] + bytes([good[x] ^ 0xFF]) + good[x + 1 :])
        try:
            assert_same(ab.load(path), estimator)
        except ModelFileError:
            n_refused += 1
    assert n_refused > 10


def test_nested_trees_and_files_are_accepted(mixture, forest, tmp_path):
    mixture.fit(forest)
    assert np.array_equal(mixture.predict(list(forest)), mixture.predict(forest))
    ab.write_jsonl(forest, tmp_path / "trees.jsonl")
    assert np.array_equal(mixture.predict(tmp_path / "trees.jsonl"), mixture.predict(forest))
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        mixture.predict(3.0)


def test_a_pipeline_classifies(forest):
    train, test = train_test_split(forest, test_size=0.5, stratify=forest.target, random_state=0)
    pipeline = make_pipeline(ab.TreePatterns(norm="l2"), LinearSVC()).fit(train, train.target)
    assert pipeline.score(test, test.target) > 0.8


def test_cross_validation_splits_forests(mixture, forest):
    scores = cross_val_score(mixture, forest, cv=3)
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 3
