"""What every Forest estimator promises to scikit-learn's users; scikit-learn's own battery runs nothing on trees."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.errors import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::arbora.errors.StatesUsedUpWarning")

ESTIMATORS = {
    "single": lambda: ab.HiddenTree(3, max_iter=4, tol=0, random_state=0),
    "mixture": lambda: ab.HiddenTreeMixture(3, 2, max_iter=4, tol=0, random_state=0),
    "down": lambda: ab.HiddenTreeMixture(3, 2, direction="down", tied=True, max_iter=4, tol=0, random_state=0),
    "shapes": lambda: ab.HiddenTreeMixture(
        2, 2, direction="down", structure="state", max_iter=4, tol=0, random_state=0
    ),
    "learnt": lambda: ab.HiddenTreeMixture(
        2, "infer", max_states=4, structure=None, direction="down", max_iter=4, tol=0, n_init=1, random_state=0
    ),
    "sparse": lambda: ab.HiddenTreeMixture(2, 2, max_iter=4, tol=0, random_state=0, sparse_output=True),
    "infinite": lambda: ab.InfiniteHiddenTreeMixture(2, n_iter=4, random_state=3),
    "infinite, em": lambda: ab.InfiniteHiddenTreeMixture(2, update="em", n_iter=4, random_state=0),
    "map": lambda: ab.TopographicMap(4, basis=3, n_init=2, max_iter=4, random_state=0),
    "slot": lambda: ab.HiddenTreeMixture(2, 2, absent="slot", structure=None, max_iter=4, tol=0, random_state=0),
}


@pytest.fixture(scope="module")
def forest():
    return make_asymmetric_trees(6, random_state=0)


@pytest.fixture(params=sorted(ESTIMATORS))
def estimator(request):
    return ESTIMATORS[request.param]()


def learnt(model):
    """All fitted arrays."""
    return {key: value for key, value in vars(model).items() if key.endswith("_") and isinstance(value, np.ndarray)}


def assert_same(a, b):
    assert learnt(a).keys() == learnt(b).keys()
    for key, value in learnt(a).items():
        assert np.array_equal(value, learnt(b)[key]), key


def test_init_stores_and_clone_copies(estimator):
    twin = clone(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    assert not learnt(estimator)


def test_every_parameter_round_trips_through_set_params(estimator):
    params = estimator.get_params()
    assert type(estimator)().set_params(**params).get_params() == params


def test_fit_returns_self_and_leaves_parameters_and_data_alone(estimator, forest):
    before, copy = estimator.get_params(), pickle.loads(pickle.dumps(forest))
    assert estimator.fit(forest) is estimator
    assert estimator.get_params() == before
    assert forest == copy


def test_set_params_is_obeyed(forest):
    model = ab.HiddenTreeMixture(3, 2, max_iter=4, tol=0, random_state=0).fit(forest)
    model.set_params(n_components=2, n_states=3, max_iter=2).fit(forest)
    assert model.leaf_prob_.shape[0] == 2
    assert model.leaf_prob_.shape[2] == 3
    assert model.n_iter_ == 2


def test_refit_equals_a_fresh_fit_and_the_seed_decides(estimator, forest):
    other = clone(estimator).fit(forest[:18])
    assert_same(other.fit(forest), clone(estimator).fit(forest))
    changed = clone(estimator).set_params(random_state=1).fit(forest)
    assert not np.array_equal(changed.emission_prob_, other.emission_prob_)


def test_fit_predict_is_labels(estimator, forest):
    labels = estimator.fit_predict(forest)
    assert np.array_equal(labels, estimator.labels_)
    assert np.array_equal(labels, estimator.predict(forest))


def test_not_fitted_is_said(estimator, forest):
    methods = ("predict", "predict_proba", "score", "score_samples", "transform", "posterior", "decode", "bic")
    for method in (name for name in methods if hasattr(estimator, name)):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)(forest)
    with pytest.raises(NotFittedError):
        estimator.sample(1)


def test_order_of_trees_does_not_matter(estimator, forest):
    estimator.fit(forest)
    order = np.random.default_rng(0).permutation(len(forest))
    np.testing.assert_allclose(
        estimator.score_samples(forest[order]), estimator.score_samples(forest)[order], rtol=1e-12
    )
    np.testing.assert_allclose(
        estimator.predict_proba(forest[order]), estimator.predict_proba(forest)[order], rtol=1e-9
    )


def test_numbering_of_labels_does_not_matter(estimator, forest):
    estimator.fit(forest)
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    np.testing.assert_allclose(estimator.score_samples(renumbered), estimator.score_samples(forest), rtol=1e-12)


def test_pickle_to_a_worker(estimator, forest):
    estimator.fit(forest)
    copy = pickle.loads(pickle.dumps(estimator))
    assert_same(copy, estimator)
    assert np.array_equal(copy.predict(forest), estimator.predict(forest))


def test_save_and_load(estimator, forest, tmp_path):
    estimator.fit(forest)
    estimator.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert type(loaded) is type(estimator)
    assert loaded.get_params() == estimator.get_params()
    assert_same(loaded, estimator)
    assert loaded.vocabulary_ == estimator.vocabulary_
    assert loaded.provenance_ == estimator.provenance_
    assert np.array_equal(loaded.score_samples(forest), estimator.score_samples(forest))
    if "warm_start" not in estimator.get_params() or estimator.get_params()["n_states"] == "infer":
        return  # sampling goes on from a checkpoint instead, and a map is chosen among several
    continued = loaded.set_params(warm_start=True, max_iter=2).fit(forest)
    assert continued.history_[-1] > estimator.history_[-1]


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
    for x in range(0, len(good), len(good) // 40):  # a flipped byte: refused, or one that says nothing (a date)
        path.write_bytes(good[:x] + bytes([good[x] ^ 0xFF]) + good[x + 1 :])
        try:
            assert_same(ab.load(path), estimator)
        except ModelFileError:
            n_refused += 1
    assert n_refused > 20
    forest.save(tmp_path / "f.forest")
    with pytest.raises(ModelFileError, match="holds a forest"):
        ab.load(tmp_path / "f.forest")


def test_nested_trees_and_files_are_accepted(estimator, forest, tmp_path):
    estimator.fit(forest)
    some = forest[::4]
    labels = estimator.predict(some)
    assert np.array_equal(estimator.predict(list(some)), labels)
    ab.write_jsonl(some, tmp_path / "trees.jsonl")
    assert np.array_equal(estimator.predict(tmp_path / "trees.jsonl"), labels)
    assert np.array_equal(estimator.predict([str(tmp_path / "trees.jsonl")]), labels)
    with pytest.raises(ab.ForestError, match="wanted a Forest"):
        estimator.predict(3.0)


def test_pipeline_classifies(forest):
    train, test = train_test_split(forest, test_size=0.5, stratify=forest.target, random_state=0)
    encoder = ab.HiddenTreeMixture(3, 2, max_iter=10, tol=0, random_state=0)
    pipeline = make_pipeline(encoder, StandardScaler(), LogisticRegression(max_iter=500)).fit(train, train.target)
    assert pipeline.score(test, test.target) > 0.9


def test_grid_search_prefers_the_better_model(forest):
    search = GridSearchCV(
        ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0, random_state=0),
        {"n_components": [1, 3]},
        cv=3,
        error_score="raise",
    )
    search.fit(forest)
    assert search.best_params_ == {"n_components": 3}
    assert search.cv_results_["mean_test_score"][1] > search.cv_results_["mean_test_score"][0]


def test_cross_validation_splits_forests(estimator, forest):
    scores = cross_val_score(estimator, forest, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    assert len(set(scores)) == 3


def test_threads_and_shard_sizes_do_not_change_the_result(forest):
    settings = {"max_iter": 4, "tol": 0, "random_state": 0, "shard_bytes": 2**16}
    one = ab.HiddenTreeMixture(3, 2, **settings).fit(forest)
    two = ab.HiddenTreeMixture(3, 2, n_jobs=2, **settings).fit(forest)
    assert_same(one, two)
    whole = ab.HiddenTreeMixture(3, 2, **{**settings, "shard_bytes": 2**26}).fit(forest)
    np.testing.assert_allclose(whole.history_, one.history_, rtol=1e-10)
    plain = ab.HiddenTreeMixture(3, 2, **settings, shared=False).fit(forest)
    np.testing.assert_allclose(plain.history_, one.history_, rtol=1e-10)


@pytest.mark.compiled
def test_one_compiled_signature_per_kernel():
    """Run the battery in a fresh process, then count what was compiled."""
    import subprocess
    import sys

    code = """
import numba, importlib, pkgutil, warnings
import numpy as np, arbora as ab
from arbora.datasets import make_asymmetric_trees
from arbora.evaluate.metrics import silhouette_score, cluster_similarity, ruzicka_distance
warnings.simplefilter("ignore")
forest = make_asymmetric_trees(5, random_state=0)
forests = (forest, forest[3:9], forest.take([0, 0, 2]), ab.Forest.from_nested(list(forest[:4])),
           ab.Forest.concat([forest, forest]), ab.Forest.from_nested(["a", "b", None]))
settings = [(absent, structure) for absent in ("bottom", "slot", "literal", "renormalised")
            for structure in (None, "branching")]
for n, forest in enumerate(forests):  # every forest, and every setting, at least once; the first forest under three
    for absent, structure in settings[5:] if n == 0 else settings[n - 1 : n]:
        for model in (ab.HiddenTree(2, absent=absent, structure=structure, max_iter=2, tol=0),
                      ab.HiddenTreeMixture(3, 2, absent=absent, structure=structure, max_iter=2, tol=0, n_jobs=2,
                                           shard_bytes=2**14, n_slots=2)):
            model.fit(forest, sample_weight=np.ones(len(forest)))
            model.predict(forest[:2]); model.transform(forest)
            model.set_params(encoding="score").transform(forest); model.posterior(forest); model.decode(forest)
            model.sample(skeleton=forest); model.draw_labels(forest); model.partial_fit(forest)
        for update in ("em", "gibbs"):
            model = ab.InfiniteHiddenTreeMixture(2, absent=absent, structure=structure, update=update, n_iter=2)
            model.fit(forest).predict(forest[:2])
    silhouette_score(forest, np.arange(len(forest)) % 2); cluster_similarity(forest, np.arange(len(forest)) % 2)
    ruzicka_distance(forest)
many = {}
for info in pkgutil.walk_packages(ab.__path__, "arbora."):
    if ".kernels." not in info.name or info.name.endswith((".hash_tables", ".draws", "hidden_tree.kernels.blocks")):
        # only kernels call these, on any type
        continue
    for name, value in vars(importlib.import_module(info.name)).items():
        if hasattr(value, "signatures") and value.__module__ == info.name and len(value.signatures) > 1:
            if not name.startswith("_"):
                many[f"{info.name}.{name}"] = len(value.signatures)
print(many)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{}"
