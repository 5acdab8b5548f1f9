"""Classifiers and encoders on trees whose content says the class and whose labels do not."""

import pickle
import warnings

import numpy as np
import pytest

import arbora as ab
from arbora import Column, Forest, GenerativeTreeClassifier, HiddenTree, HiddenTreeMixture, TreeClassifier

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def trees():
    """Trees of one shape and one label; class p has numbers near 0 and its own word, class q near 3 and another."""
    rng = np.random.default_rng(0)
    forest = Forest.from_nested([("a", ["a", ("a", ["a"])])] * 40)
    group = np.arange(40) % 2
    node = np.repeat(group, forest.sizes)
    x = rng.normal(3.0 * node, 1.0)
    x[rng.random(len(x)) < 0.2] = np.nan
    word = [None if rng.random() < 0.5 else "never" if rng.random() < 0.3 else "pq"[g] for g in node]
    only_q = Column.numbers([None if g == 0 else 1.0 + rng.random() for g in node])
    content = {"x": x, "word": word, "only": only_q}
    return forest.with_content(content).with_target(np.array(["p", "q"])[group])


def test_classifiers_read_content(trees, tmp_path):
    train, test = trees[:30], trees[30:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            GenerativeTreeClassifier(HiddenTree(2, tol=0.01), novelty=None, random_state=0),
            TreeClassifier(
                HiddenTreeMixture(2, 2, encoding="score", max_iter=15), "logistic", novelty=None, random_state=0
            ),
        ):
            model.fit(train)
            assert (model.predict(test) == test.target).mean() == 1.0
            model.save(tmp_path / "m.arbora")
            np.testing.assert_array_equal(ab.load(tmp_path / "m.arbora").predict_proba(test), model.predict_proba(test))
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.predict_proba(test), model.predict_proba(test))
            blind = test.with_content({name: Column(c.kind, gone(c), c.words) for name, c in test.content.items()})
            np.testing.assert_allclose(model.predict_proba(blind)[:, 0], model.predict_proba(blind)[0, 0], rtol=1e-9)


def gone(column):
    """All values missing."""
    return np.full(len(column), np.nan if column.kind == "numbers" else -1)


def test_models_of_all_classes_have_the_words_and_columns_of_all(trees):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one column decides
        model = GenerativeTreeClassifier(HiddenTree(2, tol=0.01), novelty=None, random_state=0).fit(trees)
    first, second = (one.spec_.emission.families for one in model.models_)
    assert first == second
    assert dict(first)["word"].words == ("never", "p", "q")
    assert "only" in dict(first)
    lone = Forest.from_nested(["a"]).with_content(
        {"x": Column.numbers([None]), "word": ["q"], "only": Column.numbers([None])}
    )
    assert model.predict(lone).tolist() == ["q"]  # improbable in p, and not missing there
    assert not hasattr(model.models_[0], "_content_trees")


def test_trees_of_equal_labels_are_not_merged_for_the_read_out(trees):
    """All trees have equal labels: merged by them, the read-out would see one row per class."""
    encoder = HiddenTreeMixture(2, 2, encoding="score", max_iter=5)
    model = TreeClassifier(encoder, "logistic", novelty=None, random_state=0)
    seen = []
    readout = model._fit_readout

    def watched(made, *given):
        fit = made.fit
        made.fit = lambda rows, target, **weights: seen.append(len(target)) or fit(rows, target, **weights)
        return readout(made, *given)

    model._fit_readout = watched
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(trees)
    assert seen == [trees.n_trees]


@pytest.mark.parametrize("direction", ["up", "down"])
def test_stores_batches_frames_and_files_of_content(trees, direction, tmp_path):
    given = {"n_components": 2, "n_states": 2, "direction": direction, "random_state": 0, "max_iter": 8}
    model = HiddenTreeMixture(**given).fit(trees)
    score = model.score_samples(trees)
    store = ab.ForestStore.write(trees, tmp_path / "s.store", shard_nodes=40)
    np.testing.assert_allclose(model.score_samples(store), score, rtol=1e-10)
    halves = Forest.concat([trees[:20], trees[20:]])
    assert halves == trees
    np.testing.assert_allclose(model.score_samples(halves), score, rtol=1e-12)
    less = Forest.concat([trees[:1].with_target(None), Forest.from_nested(["a"])])  # what one has, the other lacks
    assert np.isfinite(model.score_samples(less)).all()
    stepwise = HiddenTreeMixture(**given)
    for part in (trees[:20], trees[20:]):
        stepwise.partial_fit(part)
    assert np.isfinite(stepwise.score_samples(trees)).all()
    frame = model.set_output(transform="pandas").transform(trees)
    assert frame.shape == (40, len(model.get_feature_names_out()))
    assert np.isfinite(frame.to_numpy()).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(trees), score)
