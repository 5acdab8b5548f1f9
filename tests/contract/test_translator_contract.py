"""What a model of trees given trees promises to scikit-learn's users."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.NotConvergedWarning")


def model():
    return ab.TreeTranslator(2, 2, max_iter=3, n_draws=4, random_state=0)


@pytest.fixture(scope="module")
def forest():
    return make_documents(6, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def outputs(forest):
    """The kind of each document, and a leaf for every four of its nodes."""
    kinds, sizes = np.asarray(forest.target), forest.sizes
    return ab.Forest.from_nested([(f"kind {k}", ["part"] * int(n // 4)) for k, n in zip(kinds, sizes, strict=True)])


def test_init_stores_and_clone_copies():
    assert clone(model()).get_params() == model().get_params()
    assert not [name for name in vars(model()) if name.endswith("_")]
    params = ab.TreeTranslator(3, tied=True, prior=1.2, n_jobs=2).get_params()
    assert ab.TreeTranslator().set_params(**params).get_params() == params


def test_fit_returns_self_and_leaves_parameters_and_data_alone(forest, outputs):
    estimator, copies = model(), pickle.loads(pickle.dumps((forest, outputs)))
    before = estimator.get_params()
    assert estimator.fit(forest, outputs) is estimator
    assert estimator.get_params() == before
    assert (forest, outputs) == copies


def test_a_refit_equals_a_fresh_fit_and_the_seed_decides(forest, outputs):
    other, fresh = model().fit(forest[:20], outputs[:20]), model().fit(forest, outputs)
    assert np.array_equal(other.fit(forest, outputs).gate_weight_, fresh.gate_weight_)
    changed = model().set_params(random_state=1).fit(forest, outputs)
    assert not np.array_equal(changed.gate_weight_, fresh.gate_weight_)
    assert model().set_params(n_components=3).fit(forest, outputs).predict_proba(forest).shape[1] == 3


def test_not_fitted_is_said(forest, outputs):
    for method in ("predict", "predict_proba", "sample"):
        with pytest.raises(NotFittedError):
            getattr(model(), method)(forest)
    with pytest.raises(NotFittedError):
        model().score_samples(forest, outputs)
    with pytest.raises(NotFittedError):
        model().save("nowhere.arbora")


def test_order_of_trees_and_numbering_of_labels_do_not_matter(forest, outputs):
    estimator = model().fit(forest, outputs)
    order = np.random.default_rng(0).permutation(len(forest))
    scores = estimator.score_samples(forest, outputs)
    np.testing.assert_allclose(estimator.score_samples(forest[order], outputs[order]), scores[order])
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    np.testing.assert_allclose(estimator.predict_proba(renumbered), estimator.predict_proba(forest), rtol=1e-12)
    turned = outputs.with_vocabulary([*reversed(outputs.vocabulary), "spare"])
    np.testing.assert_allclose(estimator.score_samples(forest, turned), scores)


def test_pickle_files_and_damaged_files(forest, outputs, tmp_path):
    estimator = model().fit(forest, outputs)
    found = estimator.predict(forest)
    assert pickle.loads(pickle.dumps(estimator)).predict(forest) == found
    path = tmp_path / "m.arbora"
    estimator.save(path)
    loaded = ab.load(path)
    assert loaded.get_params() == estimator.get_params()
    assert loaded.provenance_ == estimator.provenance_
    assert loaded.predict(forest) == found
    assert np.array_equal(loaded.score_samples(forest, outputs), estimator.score_samples(forest, outputs))
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], good[:-7], b""):
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            ab.load(path)


def test_nested_trees_and_files_are_accepted(forest, outputs, tmp_path):
    estimator = model().fit(list(forest), list(outputs))
    wanted = estimator.predict_proba(forest)
    ab.write_jsonl(forest, tmp_path / "x.jsonl")
    ab.write_jsonl(outputs, tmp_path / "y.jsonl")
    assert np.array_equal(estimator.predict_proba(tmp_path / "x.jsonl"), wanted)
    again = model().fit(tmp_path / "x.jsonl", tmp_path / "y.jsonl")
    np.testing.assert_allclose(again.score_samples(forest, outputs), estimator.score_samples(forest, outputs))
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        estimator.predict(3.0)


def test_searches_and_cross_validation_split_pairs(forest, outputs):
    scores = cross_val_score(model(), forest, outputs, cv=2)
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(model(), {"n_states": [1, 2]}, cv=2, error_score="raise").fit(forest, outputs)
    assert search.best_params_["n_states"] in (1, 2)
