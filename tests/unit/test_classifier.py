"""The two classifiers: what they learn, how sure they are, what they flag, what they refuse, and their files."""

import json
import zipfile

import numpy as np
import pytest
from scipy.sparse import issparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ArboraError, ForestError, ModelFileError, NoveltyUnknownWarning, SettingError
from arbora.files.container import read_container, write_container
from arbora.models.classifiers import readout as ro
from tests import examples


@pytest.fixture(scope="module")
def halves():
    forest = make_documents(16, noise=0.3, random_state=0)
    return forest[::2], forest[1::2]


def small(encoding="score"):
    return ab.HiddenTreeMixture(6, 2, encoding=encoding, max_iter=6, tol=0, random_state=0)


def quick(**changes):
    settings = {"encoder": small(), "readout": "logistic", "novelty": None, "random_state": 0}
    return ab.TreeClassifier(**{**settings, **changes})


# ---- learning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("readout", ["mlp", "logistic", KNeighborsClassifier(1), MultinomialNB()])
def test_every_read_out_learns(halves, readout):
    train, test = halves
    model = quick(readout=readout, hidden_units=10).fit(train)
    assert model.score(test) > 0.9
    proba = model.predict_proba(test)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    assert np.array_equal(model.predict(test), model.classes_[proba.argmax(axis=1)])
    assert list(model.classes_) == sorted(set(train.target))


def test_the_generative_classifier_is_bayes_rule(halves):
    train, test = halves
    model = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=4, tol=0), novelty=None, random_state=0).fit(train)
    joint = np.column_stack([one.score_samples(test) for one in model.models_])
    joint += np.log([np.mean(train.target == name) for name in model.classes_])
    expected = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(test), np.exp(expected), rtol=1e-9, atol=1e-12)
    assert model.score(test) > 0.9
    even = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=4, tol=0), novelty=None, class_prior="uniform")
    few = np.flatnonzero((train.target != train.target[0]) | (np.arange(len(train)) < 2))
    assert np.array_equal(even.set_params(random_state=0).fit(train[few]).class_prior_, np.full(5, 0.2))


def test_the_encoder_does_not_look_at_classes(halves):
    train, _ = halves
    shuffled = np.random.default_rng(0).permutation(train.target)
    a, b = quick().fit(train).encoder_, quick().fit(train, shuffled).encoder_
    assert np.array_equal(a.emission_prob_, b.emission_prob_)


def test_only_columns_in_use_reach_the_read_out(halves):
    train, test = halves
    model = quick(encoder=small("weighted")).fit(train)
    codes = model.transform(train)
    assert len(model.columns_) < codes.shape[1] == len(model.get_feature_names_out())
    assert np.array_equal(model.columns_, np.flatnonzero(np.asarray(np.abs(codes).sum(axis=0)).ravel()))
    assert model.readout_.n_features_in_ == len(model.columns_)
    assert model.predict(test).shape == (len(test),)


def test_merged_rows_give_the_same_regression(halves):
    train, _ = halves
    repeated = ab.Forest.concat([train, train[:20], train[:7]])
    model = quick().fit(repeated)
    codes = model.transform(repeated)[:, model.columns_]
    plain = LogisticRegression(max_iter=2000, tol=1e-8)
    merged = LogisticRegression(max_iter=2000, tol=1e-8)
    rows, total = ro.merge(repeated.target, np.unique(np.r_[: len(train), :20, :7], return_inverse=True)[1])
    assert len(rows) == len(train)
    assert total.sum() == len(repeated)
    plain.fit(codes, repeated.target)
    merged.fit(codes[rows], repeated.target[rows], sample_weight=total)
    np.testing.assert_allclose(plain.predict_proba(codes), merged.predict_proba(codes), atol=1e-4)
    shuffled = np.random.default_rng(1).permutation(repeated.target)  # equal trees of several classes stay apart
    rows, total = ro.merge(shuffled, np.zeros(len(repeated), np.int64))
    assert len(rows) == 5
    assert np.array_equal(np.sort(total), np.sort(np.unique(shuffled, return_counts=True)[1]))


def test_hidden_units_are_chosen_by_cross_validation(halves):
    train, _ = halves
    model = quick(readout="mlp", hidden_units=(1, 12)).fit(train)
    assert isinstance(model.readout_, GridSearchCV)
    assert model.readout_.best_params_ == {"hidden_layer_sizes": (12,)}
    assert model.readout_.n_splits_ == 3


def test_seeds_reproduce(halves):
    train, test = halves
    for make in (
        lambda seed: quick(encoder="mixture", readout="mlp", hidden_units=5, random_state=seed),
        lambda seed: quick(encoder=ab.HiddenTreeMixture(3, 2, max_iter=2, tol=0), random_state=seed),
        lambda seed: ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=2, tol=0), novelty=None, random_state=seed),
    ):
        one, two, other = (make(seed).fit(train).predict_proba(test) for seed in (3, 3, 4))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)


def test_plain_pipeline_parts_and_a_search_over_the_whole(halves):
    train, test = halves
    pipe = make_pipeline(small().set_params(sparse_output=True), LogisticRegression(max_iter=300))
    search = GridSearchCV(pipe, {"hiddentreemixture__encoding": ["log", "score"]}, cv=3, error_score="raise")
    assert search.fit(train, train.target).best_params_ == {"hiddentreemixture__encoding": "score"}
    grid = {"encoder__encoding": ["log", "score"], "readout": ["logistic"]}
    search = GridSearchCV(quick(), grid, cv=3, error_score="raise").fit(train, train.target)
    assert search.best_params_["encoder__encoding"] == "score"
    assert search.score(test, test.target) > 0.9


# ---- patterns -------------------------------------------------------------------------------------------------------


def test_the_default_is_a_linear_read_out_on_patterns(halves):
    train, test = halves
    model = ab.TreeClassifier(random_state=0).fit(train)
    assert isinstance(model.encoder_, ab.TreePatterns)
    assert isinstance(model.readout_, LogisticRegression)
    rows = model.transform(test)
    assert issparse(rows)
    np.testing.assert_allclose(np.sqrt(rows.multiply(rows).sum(axis=1)), 1.0)
    assert model.score(test) > 0.9
    assert model.is_novel(test).mean() < 0.2
    assert model.readout_.C == 30.0
    assert quick().fit(train).readout_.C == 1.0  # codes are no rows of length one
    assert ab.TreeClassifier().get_params()["readout"] == "auto"
    for encoder in ("mixture", small()):
        network = quick(encoder=encoder, readout="auto", hidden_units=3).fit(train)
        assert isinstance(network.readout_, MLPClassifier)
        assert isinstance(network.encoder_, ab.HiddenTreeMixture)


def test_shapes_without_labels_are_told_apart():
    """A comb and a balanced tree: all labels are missing, and only what is below a node differs."""

    def grown(rng, depth):
        return (None, [grown(rng, depth - 1), grown(rng, depth - 1)]) if depth and rng.random() < 0.9 else None

    def comb(rng):
        tree = None
        for _ in range(rng.integers(4, 16)):
            tree = (None, [tree, None])
        return tree

    rng = np.random.default_rng(0)
    trees = [make for _ in range(30) for make in (comb(rng), grown(rng, 4))]
    y = np.array(["comb", "grown"] * 30)
    model = ab.TreeClassifier(random_state=0).fit(trees[::3], y[::3])
    assert model.score(trees[1::3], y[1::3]) > 0.8


def test_left_out_surprise_is_that_of_a_classifier_without_the_tree(halves):
    train, _ = halves
    forest = train.take(np.arange(0, len(train), 2))
    target = forest.target
    for min_trees in (1, 2):
        encoder = ab.TreePatterns(["rules", "bigrams"], norm="l2", min_trees=min_trees)
        whole = quick(encoder=encoder, novelty=0.05).fit(forest, target)
        left_out = whole._left_out_surprise(forest, target)
        for n in (0, 7, 19):
            others = np.delete(np.arange(len(forest)), n)
            part = quick(encoder=encoder).fit(forest.take(others), target[others])
            assert np.array_equal(part.classes_, whole.classes_)
            assert left_out[n] == pytest.approx(part.surprise(forest.take(np.array([n])))[0])


def test_surprise_of_patterns_by_hand():
    """Class x has a(b), b, a(b) and b; class y has c.  Of a(b) and an unseen pattern, by the class that has it."""
    encoder = ab.TreePatterns(["rules"], min_trees=1)
    model = quick(encoder=encoder, novelty=0.05).fit([("a", ["b"]), ("a", ["b"]), "c"], ["x", "x", "y"])
    names = model.encoder_.pattern_texts()
    assert dict(zip(names, model.class_count_.T.tolist(), strict=True)) == {"b": [2, 0], "c": [0, 1], "a(b)": [2, 0]}
    in_x = np.log((10 * 2 / 5 + 2) / (10 + 4))
    known, half, none = model.surprise([("a", ["b"]), ("zebra", ["b"]), "zebra"])
    assert known == pytest.approx(-in_x)
    assert half == pytest.approx((np.log(5) - in_x) / 2)
    assert none == pytest.approx(np.log(5))


def test_hashed_patterns_cannot_tell_novel_trees(halves):
    train, test = halves
    model = quick(encoder=ab.TreePatterns(["rules"], n_hashed=256), readout="auto", novelty=0.01).fit(train)
    assert model.class_count_ is None
    assert model.predict(test).shape == (len(test),)
    with pytest.raises(ForestError, match="gives no probability to trees"):
        model.surprise(test)


def test_files_from_when_the_mixture_was_the_default(halves, tmp_path):
    """They name no encoder, hold a mixture and no counts of patterns; a new fit must ask for the mixture again."""
    train, test = halves
    path = tmp_path / "m.arbora"
    model = quick(encoder="mixture", readout="mlp", hidden_units=3, novelty=0.05).fit(train)
    model.save(path)
    version, header, arrays = read_container(path, "model")
    header["params"]["encoder"] = None
    del header["attributes"]["class_count_"]
    write_container(path, kind="model", version=version, header=header, arrays=arrays)
    old = ab.load(path)
    assert np.array_equal(old.predict_proba(test), model.predict_proba(test))
    assert np.array_equal(old.is_novel(test), model.is_novel(test))
    assert old.encoder == "mixture"
    assert isinstance(old.fit(train).encoder_, ab.HiddenTreeMixture)


def test_tampered_counts_of_patterns_are_refused(halves, tmp_path):
    path = tmp_path / "m.arbora"
    ab.TreeClassifier(random_state=0).fit(halves[0]).save(path)
    version, header, arrays = read_container(path, "model")
    count = arrays["class_count_"]
    for wrong in (count[:, 1:], count - 1, count.astype(np.float64), np.zeros_like(count)):
        write_container(path, kind="model", version=version, header=header, arrays={**arrays, "class_count_": wrong})
        with pytest.raises(ModelFileError, match="does not make a TreeClassifier"):
            ab.load(path)


# ---- weights --------------------------------------------------------------------------------------------------------


def test_class_weights_pull_towards_rare_classes():
    """Two classes that overlap: the rare one is improbable unless classes weigh the same."""
    rng = np.random.default_rng(0)
    trees = [("a", ["b" if rng.random() < p else "c" for _ in range(3)]) for p in [0.6] * 90 + [0.4] * 15]
    y = np.repeat(["many", "few"], [90, 15])
    encoder = ab.HiddenTreeMixture(1, 2, encoding="score", max_iter=3, tol=0, random_state=0)
    given = {}
    for readout in ("logistic", "mlp"):
        for weight in (None, "balanced", {"few": 6.0, "many": 1.0}):
            model = quick(encoder=encoder, readout=readout, hidden_units=4, class_weight=weight).fit(trees, y)
            given[readout, str(weight)] = float(model.predict_proba(trees)[:, 0].mean())
        assert given[readout, "None"] == pytest.approx(15 / 105, abs=0.05)
        assert given[readout, "balanced"] > 0.3
        assert given[readout, str({"few": 6.0, "many": 1.0})] > 0.3


def test_sample_weight_stands_for_repeated_trees(halves):
    train, test = halves
    weight = np.ones(len(train))
    weight[:5] = 3.0
    often = ab.Forest.concat([train, train[:5], train[:5]])
    counts = ab.SlotLabelCounts()
    weighted = quick(encoder=counts).fit(train, sample_weight=weight).predict_proba(test)
    repeated = quick(encoder=counts).fit(often).predict_proba(test)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)
    model = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=2, tol=0), novelty=None, random_state=0)
    assert model.fit(train, sample_weight=weight).class_prior_ == pytest.approx(model.fit(often).class_prior_)


def test_weights_that_cannot_be_obeyed_are_refused(halves):
    train, _ = halves
    with pytest.raises(SettingError, match="KNeighborsClassifier takes no weights"):
        quick(readout=KNeighborsClassifier(1), class_weight="balanced").fit(train)
    with pytest.raises(SettingError, match="class_weight names nonsense"):
        quick(class_weight={"nonsense": 2.0}).fit(train)
    with pytest.raises(SettingError, match="class_weight='even'"):
        quick(class_weight="even").fit(train)


# ---- probabilities --------------------------------------------------------------------------------------------------


def test_a_temperature_undoes_overconfidence():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    true_proba = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    true = np.array([rng.choice(3, p=p) for p in true_proba])
    sure = ro.soften(3.0 * logits, 1.0)  # three times too sure
    temperature = ro.fit_temperature(sure, true, None)
    assert temperature == pytest.approx(3.0, rel=0.1)
    best = log_loss(true, np.exp(ro.soften(sure, temperature)))
    for other in (1.0, temperature / 1.5, temperature * 1.5):
        assert best < log_loss(true, np.exp(ro.soften(sure, other)))
    weight = (true == 0) + 1e-9  # only trees of one class count: be sure of them
    assert ro.fit_temperature(sure, true, weight.astype(float)) != pytest.approx(temperature, rel=0.01)


def test_calibration_improves_held_out_probabilities_and_keeps_the_classes():
    forest = make_documents(60, noise=1.0, random_state=1)
    train, test = forest[::2], forest[1::2]
    tree = ab.HiddenTree(2, structure=None, max_iter=5, tol=0)
    raw = ab.GenerativeTreeClassifier(tree, novelty=None, random_state=0).fit(train)
    calm = ab.GenerativeTreeClassifier(tree, novelty=None, calibration="temperature", random_state=0).fit(train)
    assert calm.temperature_ > 1.2
    assert log_loss(test.target, calm.predict_proba(test)) < log_loss(test.target, raw.predict_proba(test))
    readout = quick(calibration="temperature").fit(train)
    plain = quick().fit(train)
    assert readout.temperature_ != 1.0
    assert np.array_equal(readout.predict(test), plain.predict(test))


# ---- novelty --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["readout", "generative"])
def test_novel_trees_are_flagged_and_known_ones_seldom(kind):
    forest = make_documents(60, noise=0.1, random_state=2)
    train, test = forest[::2], forest[1::2]
    if kind == "readout":
        model = quick(novelty=0.05).fit(train)
    else:
        model = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=5, tol=0), novelty=0.05, random_state=0).fit(
            train
        )
    assert model.is_novel(test).mean() < 0.15
    words = list(forest.vocabulary)
    strange = ab.Forest.from_nested([("nobody", ["knows", ("these", ["labels"])]), (words[-1], [words[0]] * 40)])
    assert model.is_novel(strange).all()
    assert model.set_params(novelty=1.0).is_novel(test).mean() > 0.9
    assert model.set_params(novelty=0.0).is_novel(train).mean() < 0.05


def test_unseen_labels_are_a_surprise(halves):
    train, _ = halves
    model = quick(novelty=0.05).fit(train)
    tree = next(iter(train))
    odd = {**tree, "label": "never seen"}
    known, unseen = model.surprise([tree, odd])
    size = train.sizes[0]
    base = model.encoder_.score_samples(ab.Forest.from_nested([odd]))[0]
    assert unseen == pytest.approx((np.log(train.n_nodes) - base) / size)
    assert unseen > known


def test_unseen_labels_are_told_once(halves, caplog):
    model = quick().fit(halves[0])
    caplog.clear()
    model.predict_proba([("zebra", ["lion"])])
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 2 nodes have labels never seen in training; the model learnt nothing of these labels"
    ]


def test_without_novelty_nothing_is_flagged(halves):
    train, test = halves
    with pytest.raises(ForestError, match="no training tree was held out to compare with; set novelty"):
        quick().fit(train).is_novel(test)
    with pytest.raises(ForestError, match="gives no probability to trees"):
        quick(encoder=ab.SlotLabelCounts(), novelty=0.01).fit(train).surprise(test)


@pytest.mark.parametrize("n_rare", [1, 2])
def test_classes_too_small_to_hold_trees_out_cost_novelty_alone(halves, n_rare):
    train, _ = halves
    rare = np.where(np.arange(len(train)) < n_rare, "rare", "common")
    model = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=2, tol=0), random_state=0)
    with pytest.warns(NoveltyUnknownWarning, match=f"{n_rare} trees of the class rare: too few to hold some out"):
        model.fit(train, rare)
    plain = clone(model).set_params(novelty=None).fit(train, rare)  # no warning: nothing was asked for
    assert np.array_equal(model.predict_proba(train), plain.predict_proba(train))
    with pytest.raises(ForestError, match="3 trees or more of each class"):
        model.is_novel(train)
    assert quick(novelty=0.01).fit(train, rare).is_novel(train).dtype == bool  # one mixture for all classes


@pytest.mark.parametrize("make", [lambda: LogisticRegression(max_iter=500), lambda: MLPClassifier((4,), max_iter=50)])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_log_probabilities_of_read_outs_have_no_floor(make, n_classes):
    """Codes far from those of training: the logarithm of their probabilities would be that of the least number."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    codes = rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[y]
    readout = make().set_params(random_state=0).fit(codes, y)
    np.testing.assert_allclose(np.exp(ro.log_proba_of(readout, codes)), readout.predict_proba(codes), rtol=1e-6)
    far = ro.log_proba_of(readout, 1e5 * codes)
    assert np.isfinite(far).all()
    assert far.min() < -1000.0
    np.testing.assert_allclose(logsumexp(far, axis=1), 0.0, atol=1e-9)


def test_log_probabilities_of_the_generative_classifier_have_no_floor(halves):
    model = ab.GenerativeTreeClassifier(ab.HiddenTree(2, max_iter=3, tol=0), novelty=None, random_state=0)
    model.fit(halves[0])
    unlikely = [("x", [next(iter(halves[0]))] * 300)]
    log_proba = model.predict_log_proba(unlikely)
    joint = [one.score_samples(unlikely)[0] for one in model.models_] + np.log(model.class_prior_)
    np.testing.assert_allclose(log_proba[0], joint - logsumexp(joint), rtol=1e-9)
    assert log_proba.min() < -1000.0


def test_log_probabilities_of_other_read_outs_are_those_of_their_probabilities(halves):
    model = quick(readout=KNeighborsClassifier(1), calibration="temperature").fit(halves[0])
    assert np.isneginf(model.predict_log_proba(halves[1])).any()
    assert np.isfinite(model.temperature_)


def test_impossible_trees_get_the_prior_and_the_largest_surprise():
    trees = ["a", ("a", ["b"]), "c", ("c", ["d"])] * 3
    y = np.array(["x", "x", "y", "y"] * 3)
    model = ab.GenerativeTreeClassifier(ab.HiddenTree(1, prior=1.0, max_iter=2, tol=0), novelty=None).fit(trees, y)
    odd = ab.Forest.from_nested([("a", ["d"])])
    np.testing.assert_allclose(model.predict_proba(odd), [[0.5, 0.5]])
    assert model.surprise(odd)[0] == 1e300


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [quick, lambda: ab.GenerativeTreeClassifier(random_state=0)])
def test_what_cannot_be_learnt_is_refused(kind, halves):
    train, _ = halves
    with pytest.raises(ForestError, match="have no classes; give y"):
        kind().fit(examples.random_forest(5))
    with pytest.raises(ForestError, match=r"y has shape \(2,\)"):
        kind().fit(train, [0, 1])
    with pytest.raises(ForestError, match="1 class; wanted two"):
        kind().fit(train, np.zeros(len(train)))
    with pytest.raises(ForestError, match="not a number"):
        kind().fit(train, np.full(len(train), np.nan))
    with pytest.raises(ForestError, match="is None"):
        kind().fit(train, np.array([None] * len(train)))
    with pytest.raises(SettingError, match="calibration='isotonic'"):
        kind().set_params(calibration="isotonic").fit(train)
    with pytest.raises(SettingError, match=r"novelty=2"):
        kind().set_params(novelty=2.0).fit(train)
    rare = np.where(np.arange(len(train)) < 2, "rare", "common")
    with pytest.raises(SettingError, match="a class has 2 trees"):
        kind().set_params(calibration="temperature").fit(train, rare)


def test_settings_that_cannot_be_are_refused(halves):
    train, _ = halves
    for changes, words in (
        ({"readout": "svm"}, "readout='svm'; wanted 'auto', 'mlp', 'logistic'"),
        ({"readout": 3}, "wanted a classifier with fit and predict_proba"),
        ({"encoder": 3}, "encoder=3; wanted None for patterns, 'mixture', or a transformer"),
        ({"encoder": "codes"}, "encoder='codes'; wanted None for patterns, 'mixture', or a transformer"),
        ({"readout": "mlp", "hidden_units": 0}, "hidden_units=0"),
        ({"readout": "mlp", "hidden_units": ()}, "hidden_units is empty"),
    ):
        with pytest.raises(SettingError, match=words):
            quick(**changes).fit(train)
    rare = np.where(np.arange(len(train)) < 2, "rare", "common")
    with pytest.raises(SettingError, match="give one number"):
        quick(readout="mlp", hidden_units=(2, 3)).fit(train, rare)
    for prior in ("nonsense", [0.5, 0.5], [0.2, 0.2, 0.2, 0.2, 0.3]):
        with pytest.raises(SettingError, match="class_prior="):
            ab.GenerativeTreeClassifier(class_prior=prior).fit(train)


# ---- counts ---------------------------------------------------------------------------------------------------------


def test_slot_label_counts_pool_later_slots_and_leave_out_unseen_labels():
    encoder = ab.SlotLabelCounts().fit([("a", ["b", "b"]), "b"])
    names = encoder.get_feature_names_out().tolist()
    new = [("a", ["b", "z", "a", "b"]), "z"]
    found = dict(zip(names, encoder.transform(new).toarray()[0], strict=True))
    assert found == {
        "slot0_label:a": 0,
        "slot0_label:b": 1,
        "slot1_label:a": 1,
        "slot1_label:b": 1,
        "root_label:a": 1,
        "root_label:b": 0,
    }
    assert not encoder.transform(new)[1:].nnz
    logs = ab.SlotLabelCounts(log=True, sparse_output=False).fit([("a", ["b", "b"]), "b"]).transform(new)
    assert np.array_equal(logs, np.log1p(encoder.transform(new).toarray()))


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: quick(encoder=None, readout="auto", novelty=0.05),
        lambda: quick(encoder="mixture", readout="mlp", hidden_units=3),
        lambda: quick(encoder=ab.TreePatterns(["rules"], n_hashed=64), readout="mlp", hidden_units=3),
        lambda: quick(readout=MLPClassifier((4, 3), max_iter=1500, random_state=0)),
        lambda: quick(readout=LogisticRegression(C=0.5, max_iter=500)),
        lambda: quick(encoder=ab.SlotLabelCounts(log=True), calibration="temperature"),
        lambda: quick(encoder=ab.InfiniteHiddenTreeMixture(2, n_iter=2, n_start=3)),
        lambda: ab.GenerativeTreeClassifier(small(), class_prior="uniform", random_state=1),
    ],
)
def test_files_round_trip(make, halves, tmp_path):
    train, test = halves
    model = make().fit(train)
    model.save(tmp_path / "m.arbora")
    assert not any(b"pickle" in name.encode() for name in zipfile.ZipFile(tmp_path / "m.arbora").namelist())
    loaded = ab.load(tmp_path / "m.arbora")
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.predict_proba(test), model.predict_proba(test))
    assert np.array_equal(loaded.predict(test), model.predict(test))
    assert loaded.provenance_ == model.provenance_
    again = loaded.fit(train)  # what was loaded can be fitted again
    assert again.score(test) == pytest.approx(model.score(test), abs=0.3)


def test_two_classes_round_trip(halves, tmp_path):
    train, test = halves
    y = np.where(train.target == train.target[0], 1, 0)
    for readout in ("mlp", "logistic"):
        model = quick(readout=readout, hidden_units=4, class_weight={0: 1.0, 1: 2.0}).fit(train, y)
        model.save(tmp_path / "m.arbora")
        loaded = ab.load(tmp_path / "m.arbora")
        assert np.array_equal(loaded.predict_proba(test), model.predict_proba(test))
        assert loaded.classes_.dtype == y.dtype
        assert loaded.get_params()["class_weight"] == {0: 1.0, 1: 2.0}
        assert loaded.readout_.predict(model.transform(test)[:, model.columns_]).shape == (len(test),)


def test_what_cannot_be_saved_is_refused(halves, tmp_path):
    train, _ = halves
    with pytest.raises(ArboraError, match="the read-out is a DummyClassifier"):
        quick(readout=DummyClassifier()).fit(train).save(tmp_path / "m.arbora")
    assert not (tmp_path / "m.arbora").exists()


@pytest.mark.parametrize("readout", ["mlp", "logistic"])
def test_tampered_files_are_refused(readout, halves, tmp_path):
    train, _ = halves
    path = tmp_path / "m.arbora"
    quick(readout=readout, hidden_units=3).fit(train).save(path)
    version, header, arrays = read_container(path, "model")
    weights = next(name for name in arrays if name.startswith("readout.coef"))

    def refused(header, arrays):
        write_container(path, kind="model", version=version, header=header, arrays=arrays)
        with pytest.raises(ModelFileError, match="does not make a TreeClassifier"):
            ab.load(path)

    refused(header, {**arrays, weights: arrays[weights][:-1]})
    refused(header, {**arrays, weights: np.full_like(arrays[weights], np.nan)})
    refused(header, {**arrays, "classes_": arrays["classes_"][:-1]})
    refused(header, {**arrays, "columns_": arrays["columns_"] + 10**6})
    refused(header, {**arrays, "surprise_quantiles_": np.full(5, np.nan)})
    changed = json.loads(json.dumps(header))
    changed["readout"]["readout"] = "Popen"
    refused(changed, arrays)
    changed = json.loads(json.dumps(header))
    changed["encoder"]["model"] = "Nothing"
    refused(changed, arrays)
    changed = json.loads(json.dumps(header))
    changed["attributes"]["temperature_"] = -1.0
    refused(changed, arrays)
    changed = json.loads(json.dumps(header))
    changed["attributes"]["vocabulary_"] = ["a"]
    refused(changed, arrays)


def test_trees_without_labels_give_counts_nothing_to_learn():
    with pytest.raises(ForestError, match="codes of all trees are zero"):
        quick(encoder=ab.SlotLabelCounts()).fit([None, (None, [None])] * 3, [0, 1] * 3)
    model = quick().fit([None, (None, [None])] * 3, [0, 1] * 3)  # a mixture still sees the shapes
    assert model.score([None, (None, [None])], [0, 1]) == 1.0


def test_progress_is_told_when_asked(halves, monkeypatch):
    from arbora.progress import Progress

    train, _ = halves
    shown: list[str] = []
    monkeypatch.setattr(Progress, "show", lambda self: shown.append(self.what) if self.wanted else None)
    tree = ab.HiddenTree(2, max_iter=1, tol=0)
    quick().fit(train)
    assert shown == []
    quick(verbose=1).fit(train)
    assert shown == ["fitting the read-out", "judging trees held out", "judging trees held out"]
    ab.GenerativeTreeClassifier(tree, novelty=None, verbose=1, random_state=0).fit(train)
    assert shown[3:] == ["fitting a model of each class"] * 5
