"""TreeUnionMixture keeps the contract of the other Forest estimators, as far as it has their methods."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import arbora as ab
from arbora.datasets import make_documents, make_prototype_trees
from arbora.errors import ModelFileError

ESTIMATORS = {
    "default": lambda: ab.TreeUnionMixture(),
    "paper": lambda: ab.TreeUnionMixture(noise_cost=None, search="greedy"),
    "labels": lambda: ab.TreeUnionMixture(labels=True, code="kt", sparse_output=True),
}
METHODS = ("predict", "predict_proba", "merge_gains", "score", "score_samples", "transform")


@pytest.fixture(scope="module")
def forest():
    shapes = make_prototype_trees(3, 6, 8, 0.25, separation=5, random_state=0)
    label = np.random.default_rng(0).choice(["a", "b", "c"], shapes.n_nodes).tolist()
    tree = np.repeat(np.arange(len(shapes)), shapes.sizes)
    return ab.Forest.from_parents(shapes.parent, label, tree=tree, target=shapes.target)


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


def learnt(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_") and isinstance(value, np.ndarray)}


def assert_same(a, b):
    assert learnt(a).keys() == learnt(b).keys()
    for key, value in learnt(a).items():
        assert np.array_equal(value, learnt(b)[key]), key


def dense(value):
    return value.toarray() if hasattr(value, "toarray") else value


def test_parameters_are_stored_cloned_and_obeyed(estimator, forest):
    params = estimator.get_params()
    assert clone(estimator).get_params() == params
    assert type(estimator)().set_params(**params).get_params() == params
    assert not learnt(estimator)
    copy = pickle.loads(pickle.dumps(forest))
    assert estimator.fit(forest) is estimator
    assert estimator.get_params() == params
    assert forest == copy
    assert estimator.set_params(n_components=2).fit(forest).n_components_ == 2


def test_refit_equals_a_fresh_fit(estimator, forest):
    other = clone(estimator).fit(forest[:9])
    assert_same(other.fit(forest), clone(estimator).fit(forest))


def test_fit_predict_is_labels(estimator, forest):
    labels = estimator.fit_predict(forest)
    assert np.array_equal(labels, estimator.labels_)
    assert np.array_equal(labels, estimator.predict(forest))


def test_not_fitted_is_said(estimator, forest):
    for method in METHODS:
        with pytest.raises(NotFittedError):
            getattr(estimator, method)(forest)
    with pytest.raises(NotFittedError):
        estimator.sample(1)


def test_order_of_trees_and_labels_does_not_matter_to_predictions(estimator, forest):
    estimator.fit(forest)
    order = np.random.default_rng(0).permutation(len(forest))
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    for method in METHODS[:3]:
        told = getattr(estimator, method)(forest)
        np.testing.assert_allclose(getattr(estimator, method)(forest[order]), told[order], rtol=1e-12)
        np.testing.assert_allclose(getattr(estimator, method)(renumbered), told, rtol=1e-12)


def test_pickle_save_and_load(estimator, forest, tmp_path):
    estimator.fit(forest)
    estimator.save(tmp_path / "m.arbora")
    for copy in (pickle.loads(pickle.dumps(estimator)), ab.load(tmp_path / "m.arbora")):
        assert type(copy) is type(estimator)
        assert copy.get_params() == estimator.get_params()
        assert_same(copy, estimator)
        assert copy.vocabulary_ == estimator.vocabulary_
        assert copy.provenance_ == estimator.provenance_
        for method in METHODS:
            assert np.array_equal(dense(getattr(copy, method)(forest)), dense(getattr(estimator, method)(forest)))
        assert copy.sample(5, random_state=0) == estimator.sample(5, random_state=0)
        for a, b in zip(copy.unions_, estimator.unions_, strict=True):
            assert np.array_equal(a.parent, b.parent)
            assert np.array_equal(a.match, b.match)


def test_damaged_model_files_are_refused(forest, tmp_path):
    path = tmp_path / "m.arbora"
    model = ab.TreeUnionMixture().fit(forest)
    model.save(path)
    good = path.read_bytes()
    n_refused = 0
    for x in range(0, len(good), len(good) // 30):
        path.write_bytes(good[:x] + bytes([good[x] ^ 0xFF]) + good[x + 1 :])
        try:
            assert_same(ab.load(path), model)
        except ModelFileError:
            n_refused += 1
    assert n_refused > 15


def test_nested_trees_and_files_are_accepted(estimator, forest, tmp_path):
    estimator.fit(forest)
    assert np.array_equal(estimator.predict(list(forest)), estimator.predict(forest))
    ab.write_jsonl(forest, tmp_path / "trees.jsonl")
    assert np.array_equal(estimator.predict(tmp_path / "trees.jsonl"), estimator.predict(forest))
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        estimator.predict(3.0)


def test_pipelines_searches_and_splits(forest):
    train, test = train_test_split(forest, test_size=0.5, stratify=forest.target, random_state=0)
    pipeline = make_pipeline(ab.TreeUnionMixture(), LogisticRegression(max_iter=500)).fit(train, train.target)
    assert pipeline.score(test, test.target) > 0.6
    search = GridSearchCV(ab.TreeUnionMixture(), {"n_components": [1, None]}, cv=3, error_score="raise").fit(forest)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    scores = cross_val_score(ab.TreeUnionMixture(), forest, cv=3)
    assert np.isfinite(scores).all()


@pytest.mark.compiled
def test_one_compiled_signature_per_kernel():
    """Fit, save, load and predict in a fresh process, then count what was compiled."""
    code = """
import numba, importlib, tempfile
import numpy as np, arbora as ab
from arbora.datasets import make_prototype_trees
forest = make_prototype_trees(2, 4, 6, 0.3, random_state=0)
for settings in ({}, {"labels": True, "code": "kt"}, {"noise_cost": None, "search": "greedy", "n_components": 2}):
    model = ab.TreeUnionMixture(**settings).fit(forest)
    model.save(tempfile.gettempdir() + "/one-signature.arbora")
    for m in (model, ab.load(tempfile.gettempdir() + "/one-signature.arbora")):
        m.predict(forest[:3]); m.transform(model.sample(3, random_state=0)); m.score(model.sample(3, random_state=1))
        m.unions_[0].log_prob(forest); m.unions_[0].restrict([0])
many = {}
unions = "models.unions.kernels."
for name in ("forest.kernels.tree_shape", unions + "tree_alignment", unions + "union_order", unions + "union_gains"):
    for key, value in vars(importlib.import_module("arbora." + name)).items():
        mine = getattr(value, "__module__", "") == "arbora." + name
        if mine and hasattr(value, "signatures") and len(value.signatures) > 1 and not key.startswith("_"):
            many[f"{name}.{key}"] = [str(s) for s in value.signatures]
print(many)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{}"


def test_documents_by_labels_and_by_structure():
    forest = make_documents(6, random_state=0)
    by_labels = ab.TreeUnionMixture(labels=True).fit(forest)
    from sklearn.metrics import adjusted_rand_score

    assert adjusted_rand_score(forest.target, by_labels.labels_) > 0.5
