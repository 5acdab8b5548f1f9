"""What the estimators that cluster a matrix of distances promise to scikit-learn's users."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

import arbora as ab
from arbora.datasets import load_demo
from arbora.errors import ModelFileError
from tests.contract.test_contract import assert_same, learnt

ESTIMATORS = {
    "edit": lambda: ab.TreeEditClustering(3, random_state=0),
    "edit, ordered, learnt": lambda: ab.TreeEditClustering(3, ordered=True, costs="learnt", method="average"),
    "edit, shape, dominant": lambda: ab.TreeEditClustering(labels=False, method="dominant"),
    "union": lambda: ab.UnionEmbedding(3, random_state=0),
    "union, labels, average": lambda: ab.UnionEmbedding(3, labels=True, method="average"),
}


@pytest.fixture(scope="module")
def forest():
    trees = load_demo()
    smallest = np.argsort(trees.sizes, kind="stable")
    chosen = [smallest[trees.target[smallest] == c][:6] for c in ("entry", "invoice", "recipe")]
    return trees[np.sort(np.concatenate(chosen))]


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


def test_init_stores_and_clone_copies(estimator):
    twin = clone(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    assert not learnt(estimator)
    params = estimator.get_params()
    assert type(estimator)().set_params(**params).get_params() == params


def test_fit_returns_self_and_leaves_parameters_and_data_alone(estimator, forest):
    before, copy = estimator.get_params(), pickle.loads(pickle.dumps(forest))
    assert estimator.fit(forest) is estimator
    assert estimator.get_params() == before
    assert forest == copy


def test_refit_equals_a_fresh_fit(estimator, forest):
    other = clone(estimator).fit(forest[:7])
    assert_same(other.fit(forest), clone(estimator).fit(forest))


def test_fit_predict_is_labels_and_labels_are_canonical(estimator, forest):
    labels = estimator.fit_predict(forest)
    assert np.array_equal(labels, estimator.labels_)
    assert np.array_equal(labels, estimator.predict(forest))
    assert (np.diff(np.bincount(labels)) <= 0).all()
    assert estimator.n_clusters_ == labels.max() + 1


def test_transform_names_its_columns(estimator, forest):
    found = estimator.fit_transform(forest)
    np.testing.assert_allclose(found, estimator.transform(forest), atol=1e-12)
    assert found.shape == (len(forest), len(estimator.get_feature_names_out()))
    assert np.isfinite(found).all()


def test_not_fitted_is_said(estimator, forest):
    for method in ("predict", "transform"):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)(forest)
    for method in ("medoids", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)()


def test_order_of_trees_and_numbering_of_labels_do_not_matter_to_predict(estimator, forest):
    estimator.fit(forest)
    order = np.random.default_rng(0).permutation(len(forest))
    assert np.array_equal(estimator.predict(forest[order]), estimator.predict(forest)[order])
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    assert np.array_equal(estimator.predict(renumbered), estimator.predict(forest))
    # Distances are the same whatever the numbering; only the last bits of learnt costs may tell.
    again = clone(estimator).fit(renumbered)
    assert np.array_equal(again.labels_, estimator.labels_)


def test_pickle_save_and_load(estimator, forest, tmp_path):
    estimator.fit(forest)
    assert_same(pickle.loads(pickle.dumps(estimator)), estimator)
    estimator.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert type(loaded) is type(estimator)
    assert loaded.get_params() == {**estimator.get_params(), "random_state": loaded.random_state}
    assert_same(loaded, estimator)
    assert loaded.vocabulary_ == estimator.vocabulary_
    assert loaded.provenance_ == estimator.provenance_
    assert np.array_equal(loaded.predict(forest), estimator.labels_)
    assert loaded.medoids() == estimator.medoids()


def test_damaged_model_files_are_refused(estimator, forest, tmp_path):
    estimator.fit(forest[:6])
    path = tmp_path / "m.arbora"
    estimator.save(path)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], good[:-7], b"", b"PK nonsense"):
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            ab.load(path)
    estimator.labels_ = estimator.labels_[:-1]
    estimator.save(path)
    with pytest.raises(ModelFileError, match=r"labels_ has shape \(5,\); wanted \(6,\)"):
        ab.load(path)


def test_nested_trees_and_files_are_accepted(estimator, forest, tmp_path):
    estimator.fit(list(forest))
    assert np.array_equal(estimator.predict(list(forest)), estimator.predict(forest))
    ab.write_jsonl(forest, tmp_path / "trees.jsonl")
    assert np.array_equal(estimator.predict(tmp_path / "trees.jsonl"), estimator.predict(forest))
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        estimator.predict(3.0)
    with pytest.raises(ab.ForestError, match="0 trees"):
        estimator.fit([])


def test_threads_do_not_change_the_result(estimator, forest):
    assert_same(clone(estimator).fit(forest), clone(estimator).set_params(n_jobs=2).fit(forest))


def test_pipelines_and_searches(forest):
    train, test = train_test_split(forest, test_size=0.4, stratify=forest.target, random_state=0)
    pipeline = make_pipeline(ab.TreeEditClustering(3, random_state=0), LogisticRegression(max_iter=500))
    assert pipeline.fit(train, train.target).score(test, test.target) >= 0.5
    search = GridSearchCV(
        make_pipeline(ab.UnionEmbedding(3, random_state=0), LogisticRegression(max_iter=500)),
        {"unionembedding__labels": [False, True]},
        cv=2,
        error_score="raise",
    )
    search.fit(forest, forest.target)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.compiled
def test_one_compiled_signature_per_kernel():
    """Use every way to the kernels in a fresh process, then count what was compiled."""
    code = """
import warnings
import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.models.edit.kernels import tree_cliques, tree_edit, tree_repair
from arbora.models.unions.matching import choose_matcher
from arbora.forest.kernels.tree_shape import make_shape
import numpy as np
warnings.simplefilter("ignore")
trees = make_asymmetric_trees(2, random_state=0)
trees = trees[np.sort(np.argsort(trees.sizes)[:3])]
for forest in (trees, trees[1:], ab.Forest.from_nested(list(trees[:2])), ab.Forest.concat([trees, trees])):
    for ordered in (True, False):
        for options in ({}, {"labels": False}, {"rename": {("1", "2"): 0.5}}, {"delete": 2.0, "n_jobs": 2}):
            ab.edit_distances(forest, ordered=ordered, **options)
            ab.edit_mapping(forest[[0]], forest[1], ordered=ordered)
        ab.TreeEditClustering(2, ordered=ordered, costs="learnt").fit(forest).predict(trees)
shape = make_shape(np.array([1, 2, -1]))
for name in ("edit", "relaxation"):
    choose_matcher(name)(shape, shape, np.ones((3, 3)))
tree_cliques.greedy(shape, shape, np.ones((3, 3)))
many = {}
for module in (tree_cliques, tree_edit, tree_repair):
    for name, value in vars(module).items():
        if hasattr(value, "signatures") and value.__module__ == module.__name__ and len(value.signatures) > 1:
            if not name.startswith("_"):
                many[name] = [str(signature) for signature in value.signatures]
print(many)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{}"
