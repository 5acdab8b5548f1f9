"""What a model of outputs at nodes promises to scikit-learn's users."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ModelFileError


def model():
    return ab.TreeTransducer(2, max_iter=4, random_state=0)


@pytest.fixture(scope="module")
def forest():
    return make_documents(4, random_state=0)


@pytest.fixture(scope="module")
def outputs(forest):
    """A list per tree: whether a node has children, and its slot; every third is not known."""
    inner = np.isin(np.arange(forest.n_nodes), forest.parent)
    flat = [None if u % 3 == 0 else f"{inner[u]}{min(forest.slot[u], 1)}" for u in range(forest.n_nodes)]
    cuts = forest.tree_start.tolist()
    return [flat[lo:hi] for lo, hi in pairwise(cuts)]


def joined(outputs):
    return [value for tree in outputs for value in tree]


def test_init_stores_and_clone_copies():
    assert clone(model()).get_params() == model().get_params()
    assert not [name for name in vars(model()) if name.endswith("_")]
    params = ab.TreeTransducer(3, tie=("slot",), prior=1.2, n_jobs=2).get_params()
    assert ab.TreeTransducer().set_params(**params).get_params() == params


def test_fit_returns_self_and_leaves_parameters_and_data_alone(forest, outputs):
    estimator, copy, given = model(), pickle.loads(pickle.dumps(forest)), [list(tree) for tree in outputs]
    before = estimator.get_params()
    assert estimator.fit(forest, outputs) is estimator
    assert estimator.get_params() == before
    assert forest == copy
    assert outputs == given


def test_a_refit_equals_a_fresh_fit_and_the_seed_decides(forest, outputs):
    other = model().fit(forest[:10], outputs[:10])
    fresh = model().fit(forest, outputs)
    assert np.array_equal(other.fit(forest, outputs).predict_proba(forest), fresh.predict_proba(forest))
    changed = model().set_params(random_state=1).fit(forest, outputs)
    assert not np.array_equal(changed.output_prob_, fresh.output_prob_)
    assert model().set_params(n_states=3).fit(forest, outputs).output_prob_.shape[1] == 3


def test_not_fitted_is_said(forest):
    for method in ("predict", "predict_proba", "decode", "sample", "transduce", "predict_tree", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(model(), method)(forest)
    with pytest.raises(NotFittedError):
        model().save("nowhere.arbora")


def test_order_of_trees_and_numbering_of_labels_do_not_matter(forest, outputs):
    estimator = model().fit(forest, outputs)
    order = np.random.default_rng(0).permutation(len(forest))
    scores = estimator.score_samples(forest, outputs)
    np.testing.assert_allclose(estimator.score_samples(forest[order], [outputs[t] for t in order]), scores[order])
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    np.testing.assert_allclose(estimator.predict_proba(renumbered), estimator.predict_proba(forest), rtol=1e-12)


def test_pickle_files_and_damaged_files(forest, outputs, tmp_path):
    estimator = model().fit(forest, outputs)
    proba = estimator.predict_proba(forest, outputs)
    assert np.array_equal(pickle.loads(pickle.dumps(estimator)).predict_proba(forest, outputs), proba)
    path = tmp_path / "m.arbora"
    estimator.save(path)
    loaded = ab.load(path)
    assert loaded.get_params() == estimator.get_params()
    assert loaded.provenance_ == estimator.provenance_
    assert np.array_equal(loaded.predict_proba(forest, outputs), proba)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], good[:-7], b""):
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            ab.load(path)


def test_nested_trees_and_files_are_accepted(forest, outputs, tmp_path):
    estimator = model().fit(list(forest), outputs)
    wanted = estimator.predict(forest)
    ab.write_jsonl(forest, tmp_path / "trees.jsonl")
    assert np.array_equal(estimator.predict(tmp_path / "trees.jsonl"), wanted)
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        estimator.predict(3.0)


def test_searches_and_cross_validation_split_trees(forest, outputs):
    scores = cross_val_score(model(), forest, outputs, cv=2)
    assert scores.shape == (2,)
    assert scores.min() > 0.5
    search = GridSearchCV(model(), {"n_states": [1, 2]}, cv=2, error_score="raise").fit(forest, outputs)
    assert search.best_params_["n_states"] in (1, 2)
    assert search.best_estimator_.predict(forest).shape == (len(joined(outputs)),)
