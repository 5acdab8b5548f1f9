"""What every classifier of trees promises to scikit-learn's users."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ModelFileError


def mixture():
    return ab.HiddenTreeMixture(3, 2, encoding="score", max_iter=4, tol=0, random_state=0)


CLASSIFIERS = {
    "patterns": lambda: ab.TreeClassifier(ab.TreePatterns(["slots", "rules"], values="log", norm="l2"), random_state=0),
    "network": lambda: ab.TreeClassifier(mixture(), hidden_units=8, random_state=0),
    "logistic": lambda: ab.TreeClassifier(mixture(), "logistic", calibration="temperature", random_state=0),
    "given": lambda: ab.TreeClassifier(mixture(), LogisticRegression(max_iter=300), novelty=None, random_state=0),
    "counts": lambda: ab.TreeClassifier(ab.SlotLabelCounts(), "logistic", random_state=0),
    "transducer": lambda: ab.TransducerClassifier(4, max_iter=8, random_state=0),
    "generative": lambda: ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=4, tol=0), random_state=0),
}


# Shares of trees whose class is found; a transducer reads one path through the children, and these classes are shapes.
LEAST_SCORE = {ab.TransducerClassifier: 0.4}
CHANGED = ("n_states", "log", "min_trees")  # settings of encoders and models; the tests change the one there is


@pytest.fixture(scope="module")
def forest():
    return make_asymmetric_trees(16, random_state=0)


@pytest.fixture(params=sorted(CLASSIFIERS))
def classifier(request):
    return CLASSIFIERS[request.param]()


def settings(model):
    """Parameters without the estimators among them, whose own are there one by one."""
    return {key: value for key, value in model.get_params().items() if not hasattr(value, "get_params")}


def changed_setting(classifier):
    """A setting of the classifier, its encoder or its model, that may be one."""
    names = [*CHANGED, *(f"{part}__{x}" for part in ("model", "encoder") for x in CHANGED)]
    return next(name for name in names if name in classifier.get_params())


def test_init_stores_and_clone_copies(classifier):
    twin = clone(classifier)
    assert settings(twin) == settings(classifier)
    assert not [name for name in vars(twin) if name.endswith("_")]
    assert is_classifier(classifier)


def test_fit_leaves_parameters_parts_and_data_alone(classifier, forest):
    before, copy = settings(classifier), pickle.loads(pickle.dumps(forest))
    assert classifier.fit(forest, forest.target) is classifier
    assert settings(classifier) == before
    assert forest == copy
    for part in classifier.get_params(deep=False).values():
        assert not [name for name in vars(part) if name.endswith("_")] if hasattr(part, "get_params") else True


def test_set_params_is_obeyed_and_a_refit_equals_a_fresh_fit(classifier, forest):
    other = clone(classifier).fit(forest[::2])
    assert np.array_equal(other.fit(forest).predict_proba(forest), clone(classifier).fit(forest).predict_proba(forest))
    name = changed_setting(classifier)
    changed = clone(classifier).set_params(**{name: 1}).fit(forest)
    assert changed.get_params()[name] == 1
    assert not np.array_equal(changed.predict_proba(forest), other.predict_proba(forest))


def test_not_fitted_is_said(classifier, forest):
    for method in ("predict", "predict_proba", "predict_log_proba", "score", "surprise", "is_novel"):
        with pytest.raises(NotFittedError):
            getattr(classifier, method)(forest)
    with pytest.raises(NotFittedError):
        classifier.save("nowhere.arbora")


def test_classes_probabilities_and_score(classifier, forest):
    train, test = forest[::2], forest[1::2]
    classifier.fit(train)
    proba = classifier.predict_proba(test)
    assert proba.shape == (len(test), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(test)), proba, rtol=1e-9)
    found = classifier.predict(test)
    assert found.dtype == classifier.classes_.dtype
    assert classifier.score(test) == classifier.score(test, test.target) == np.mean(found == test.target)
    assert classifier.score(test) > LEAST_SCORE.get(type(classifier), 0.9)
    assert classifier.predict(test[:0]).shape == (0,)


def test_order_of_trees_and_numbering_of_labels_do_not_matter(classifier, forest):
    classifier.fit(forest)
    order = np.random.default_rng(0).permutation(len(forest))
    np.testing.assert_allclose(
        classifier.predict_proba(forest[order]), classifier.predict_proba(forest)[order], rtol=1e-5, atol=1e-7
    )
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    assert np.array_equal(classifier.predict(renumbered), classifier.predict(forest))


def test_nested_trees_files_and_integer_classes_are_accepted(classifier, forest, tmp_path):
    _, index = np.unique(forest.target, return_inverse=True)
    classifier.fit(list(forest), index)
    assert set(classifier.predict(forest).tolist()) <= {0, 1, 2}
    ab.write_jsonl(forest, tmp_path / "trees.jsonl")
    assert np.array_equal(classifier.predict(tmp_path / "trees.jsonl"), classifier.predict(forest))
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        classifier.predict(3.0)


def test_pickle_to_a_worker_and_files(classifier, forest, tmp_path):
    classifier.fit(forest)
    proba = classifier.predict_proba(forest)
    assert np.array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(forest), proba)
    classifier.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert settings(loaded) == settings(classifier)
    assert np.array_equal(loaded.predict_proba(forest), proba)
    good = (tmp_path / "m.arbora").read_bytes()
    for bad in (good[: len(good) // 2], b"", good[:-9]):
        (tmp_path / "m.arbora").write_bytes(bad)
        with pytest.raises(ModelFileError):
            ab.load(tmp_path / "m.arbora")


def test_searches_and_cross_validation(classifier, forest):
    scores = cross_val_score(classifier, forest, forest.target, cv=2)
    assert scores.min() > LEAST_SCORE.get(type(classifier), 0.8)
    proba = cross_val_predict(clone(classifier), forest, forest.target, cv=2, method="predict_proba")
    assert proba.shape == (len(forest), 3)
    name = changed_setting(classifier)
    if "novelty" in classifier.get_params():
        classifier.set_params(novelty=None)
    search = GridSearchCV(classifier, {name: [1, 2]}, cv=2, error_score="raise")
    search.fit(forest, forest.target)
    assert search.best_score_ > LEAST_SCORE.get(type(classifier), 0.8)
