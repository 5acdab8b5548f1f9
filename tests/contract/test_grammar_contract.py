"""TreeGrammarMixture keeps the contract of the other Forest estimators, as far as it has their methods."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ModelFileError

ESTIMATORS = {
    "default": lambda: ab.TreeGrammarMixture(3, random_state=0),
    "plain": lambda: ab.TreeGrammarMixture(
        2, burstiness=0.0, start="random", n_init=2, max_iter=5, tol=0, random_state=0
    ),
    "knee": lambda: ab.TreeGrammarMixture(None, max_iter=5, tol=0, random_state=0),
    "infinite": lambda: ab.TreeGrammarMixture(None, number="process", n_iter=4, n_chains=1, random_state=0),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "score", "score_samples")


@pytest.fixture(scope="module")
def forest():
    return make_asymmetric_trees(12, random_state=0)


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


def learnt(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_") and isinstance(value, np.ndarray)}


def assert_same(a, b):
    assert learnt(a).keys() == learnt(b).keys()
    for key, value in learnt(a).items():
        assert np.array_equal(value, learnt(b)[key]), key


def test_parameters_are_stored_cloned_and_obeyed(estimator, forest):
    params = estimator.get_params()
    assert clone(estimator).get_params() == params
    assert type(estimator)().set_params(**params).get_params() == params
    assert not learnt(estimator)
    copy = pickle.loads(pickle.dumps(forest))
    assert estimator.fit(forest) is estimator
    assert estimator.get_params() == params
    assert forest == copy
    assert estimator.set_params(n_components=4).fit(forest).n_components_ == 4


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
            assert np.array_equal(getattr(copy, method)(forest), getattr(estimator, method)(forest))
        assert copy.sample(5, random_state=0, max_nodes=500, redraw=True) == estimator.sample(
            5, random_state=0, max_nodes=500, redraw=True
        )
        assert copy.hierarchy_.to_dict() == estimator.hierarchy_.to_dict()
        assert copy.history_ == estimator.history_


def test_damaged_model_files_are_refused(forest, tmp_path):
    path = tmp_path / "m.arbora"
    model = ab.TreeGrammarMixture(2, random_state=0).fit(forest)
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


def test_searches_and_splits(forest):
    model = ab.TreeGrammarMixture(3, random_state=0)
    search = GridSearchCV(
        model, {"n_components": [1, 3]}, cv=KFold(3, shuffle=True, random_state=0), error_score="raise"
    ).fit(forest)
    assert search.best_params_ == {"n_components": 3}
    scores = cross_val_score(model, forest, cv=3)
    assert np.isfinite(scores).all()


def test_seeds_decide(forest):
    a, b = (
        ab.TreeGrammarMixture(3, start="random", max_iter=2, tol=0, random_state=seed).fit(forest) for seed in (0, 1)
    )
    assert not np.array_equal(a.cell_count_, b.cell_count_)


@pytest.mark.compiled
def test_one_compiled_signature_per_kernel():
    """Fit, save, load and predict in a fresh process, then count what was compiled."""
    code = """
import importlib, tempfile, warnings
import numpy as np, arbora as ab
from arbora.datasets import make_asymmetric_trees
warnings.simplefilter("ignore")
trees = make_asymmetric_trees(5, random_state=0)
path = tempfile.gettempdir() + "/one-grammar.arbora"
for forest in (trees, trees[3:9], ab.Forest.from_nested(list(trees[:4])), ab.Forest.from_nested(["a", None])):
    for settings in (
        {"n_components": 3}, {"n_components": 1, "burstiness": 0}, {"n_components": None},
        {"n_components": None, "number": "process", "n_iter": 2},
    ):
        model = ab.TreeGrammarMixture(**settings).fit(forest)
        model.save(path)
        for m in (model, ab.load(path)):
            m.predict(forest[:2]); m.sample(2, random_state=0, redraw=True); m.score(trees); m.hierarchy_
        if settings["n_components"]:
            model.fit(forest, sample_weight=np.ones(len(forest))).partial_fit(trees)
many = {}
for name in ("chains", "draw", "gibbs", "leave_one_out"):
    for key, value in vars(importlib.import_module("arbora.models.grammar.kernels." + name)).items():
        if hasattr(value, "signatures") and len(value.signatures) > 1 and not key.startswith("_"):
            many[f"{name}.{key}"] = [str(s) for s in value.signatures]
print(many)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{}"
