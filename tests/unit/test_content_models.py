"""Hidden trees over content: likelihoods against enumeration and peers, EM, estimators, files and warnings."""

# Where one column is all that tells groups apart, it carries the evidence; the warning has a test of its own.

import warnings

import numpy as np
import pytest

import arbora as ab
from arbora import Forest, HiddenTree, HiddenTreeMixture
from arbora.errors import ContentWarning, ForestError, SettingError
from arbora.forest.content import Column
from arbora.forest.sharing import share
from arbora.inference.em import EMResult
from arbora.models.hidden_tree import fitting, lanes
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.choice import emission_for
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.labels import Labels
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.switching_tree import Priors, SwitchingTree
from arbora.models.hidden_tree.top_down_tree import TopDownTree
from tests.reference.content import enumerated, recursion, recursion_down
from tests.unit.test_content import nested

pytestmark = pytest.mark.filterwarnings("ignore:column .* carries")
SMALL = Forest.from_nested([tree for tree in nested(5, 40) if len(str(tree)) < 700][:12])


def batch_of(forest, model, shared=True):
    content = forest.rows(tm.wanted(model))
    return Batch(model, share(forest.arrays, model.n_slots, shared=shared, content=content), None, 1)


@pytest.mark.parametrize("n_components", [1, 2])
def test_likelihood_equals_enumeration_and_recursion(n_components):
    model = SwitchingTree(2, emission_for("auto", SMALL), 2)
    params = model.draw(np.random.default_rng(0), n_components)
    few = SMALL.take(np.flatnonzero(SMALL.sizes <= 8))
    found = batch_of(few, model).log_likelihood(params)
    plain = batch_of(few, model, shared=False).log_likelihood(params)
    np.testing.assert_allclose(plain, found, rtol=1e-12)
    for k in range(n_components):
        np.testing.assert_allclose(found[:, k], enumerated(model, params, few, k), rtol=1e-11)
        np.testing.assert_allclose(found[:, k], recursion(model, params, few, k), rtol=1e-11)


def scaled(forest, factor):
    """The same trees with numbers times a factor."""
    return forest.with_content({**forest.content, "x": forest.content["x"].values * factor})


def without_offsets(monkeypatch):
    """The largest density of each row taken out and not put back: a bug."""
    monkeypatch.setattr(lanes, "VECTORS", False)
    rows = Columns.lane_rows
    monkeypatch.setattr(Columns, "lane_rows", lambda *given: rows(*given)._replace(offset=rows(*given).offset * 0.0))


@pytest.mark.parametrize(("kind", "twin"), [(SwitchingTree, recursion), (TopDownTree, recursion_down)])
def test_numbers_of_any_scale_keep_their_digits(monkeypatch, kind, twin):
    forest = scaled(Forest.from_nested(nested(6, 25, missing=0.2)), 30.0)
    model = kind(2, emission_for({"x": "gaussian"}, forest), 3)
    rng = np.random.default_rng(1)
    params = model.draw(rng, 2)
    narrow = params.emission["c1"]
    params.emission["c1"] = narrow._replace(mean=rng.normal(0, 30, (3, 2)), variance=np.full((3, 2), 0.04))
    found = batch_of(forest, model).log_likelihood(params)
    wanted = np.stack([twin(model, params, forest, k) for k in range(2)], axis=1)
    assert np.isfinite(wanted).all()
    assert wanted.min() < -1e4  # far beyond what an exponential holds
    possible = np.isfinite(found)
    assert possible.mean() > 0.9
    np.testing.assert_allclose(found[possible], wanted[possible], rtol=1e-11)
    without_offsets(monkeypatch)
    assert not np.allclose(batch_of(forest, model).log_likelihood(params)[possible], wanted[possible])


def test_other_units_shift_the_likelihood_and_nothing_else():
    forest = Forest.from_nested(nested(7, 30))
    n = int((~forest.content["x"].missing).sum())
    given = {"content": {"x": "gaussian"}, "random_state": 0, "max_iter": 20, "tol_per_node": 0.0}
    one = HiddenTreeMixture(2, 2, **given).fit(forest)
    two = HiddenTreeMixture(2, 2, **given).fit(scaled(forest, 1000.0))
    assert (one.labels_ == two.labels_).all()
    shift = one.score_samples(forest).sum() - two.score_samples(scaled(forest, 1000.0)).sum()
    assert shift == pytest.approx(n * np.log(1000.0), rel=1e-9)
    np.testing.assert_allclose(
        two.content_params_["x"]["mean"], 1000.0 * one.content_params_["x"]["mean"], rtol=1e-6, atol=1e-6
    )


def test_em_with_all_families_and_missing_values_never_falls():
    forest = Forest.from_nested(nested(8, 30, missing=0.25))
    rng = np.random.default_rng(2)
    for absent, structure in (
        ("bottom", "branching"),
        ("literal", None),
        ("slot", None),
        ("renormalised", "branching"),
    ):
        model = SwitchingTree(2, emission_for("auto", forest), 3, absent, structure)
        start = MixtureParams(np.full(3, 1 / 3), model.start(rng, 3, forest, None))
        result = fitting.run(
            batch_of(forest, model), EMResult(start, [], False, False), Priors(*[1.05] * 5), 60, 0.0, False
        )
        assert np.diff(result.history).min() >= -1e-9 * abs(result.history[-1])
        assert result.history[-1] > result.history[0] + 1.0
    for structure in (None, "branching", "state"):
        model = TopDownTree(2, emission_for("auto", forest), 3, structure)
        start = MixtureParams(np.full(3, 1 / 3), model.start(rng, 3, forest, None))
        priors = model.priors_type(*[1.05] * len(model.priors_type._fields))
        result = fitting.run(batch_of(forest, model), EMResult(start, [], False, False), priors, 60, 0.0, False)
        assert np.diff(result.history).min() >= -1e-9 * abs(result.history[-1])


def test_labels_through_the_path_of_content_are_the_label_model():
    forest = Forest.from_nested(nested(9, 40)).with_content({})
    plain = SwitchingTree(2, Labels(2), 3, "bottom", "branching")
    column = SwitchingTree(2, Columns((("label", Categorical(2)),)), 3, "bottom", "branching")
    params = plain.draw(np.random.default_rng(3), 2)
    same = params._replace(emission={"c0": params.emission})
    a, b = batch_of(forest, plain), batch_of(forest, column)
    np.testing.assert_allclose(a.log_likelihood(params), b.log_likelihood(same), rtol=3e-13)
    one, _ = a.expected_counts(MixtureParams(np.array([0.3, 0.7]), params))
    two, _ = b.expected_counts(MixtureParams(np.array([0.3, 0.7]), same))
    np.testing.assert_allclose(one.tree.emission, two.tree.emission["c0"], rtol=1e-12)
    np.testing.assert_allclose(one.tree.transition, two.tree.transition, rtol=1e-12, atol=1e-12)


def chains(values):
    """Each sequence as a path, its first value at the leaf."""
    trees, columns = [], []
    for sequence in values:
        tree = None
        for _ in sequence:
            tree = ("a", [] if tree is None else [tree])
        trees.append(tree)
        columns.append(sequence)
    return Forest.from_nested(trees).with_content({"x": np.concatenate(columns)})


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_chains_equal_hmmlearn(family):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(4)
    lengths = [1 + 7 * x for x in range(1, 6)]
    gaussian = family == "gaussian"
    values = [rng.normal(0, 3, n) if gaussian else rng.poisson(4, n) for n in lengths]
    forest = chains(values)
    model = SwitchingTree(1, emission_for({"x": family, "label": None}, forest), 3)
    params = model.draw(rng, 1)
    found = batch_of(forest, model).log_likelihood(params)[:, 0]
    peer = hmm.GaussianHMM(3, "diag") if gaussian else hmm.PoissonHMM(3)
    peer.startprob_, peer.transmat_ = params.leaf[0, :, 0], params.transition[0, :3, :, 0]
    given = params.emission["c0"]
    if gaussian:
        peer.means_, peer.covars_ = given.mean, given.variance
    else:
        peer.lambdas_ = given
    wanted = [peer.score(np.asarray(sequence)[:, None]) for sequence in values]
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


# ---- estimators -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trees():
    """Two groups that differ in numbers and words alone."""
    rng = np.random.default_rng(5)
    forest = Forest.from_nested(nested(10, 60)).with_content({})
    group = np.arange(60) % 2
    of_node = np.repeat(group, forest.sizes)
    x = rng.normal(np.where(of_node, 2.0, -2.0), 1.0)
    x[rng.random(len(x)) < 0.2] = np.nan
    words = [["hot"] * 2 if g else ["cold", "wet"] for g in of_node]
    words[3] = None
    count = np.where(rng.random(len(x)) < 0.2, -1, rng.poisson(np.where(of_node, 1.0, 4.0)))
    content = {"x": x, "words": words, "n": Column("counts", count), "ok": rng.random(len(x)) < 0.5}
    return forest.with_content(content).with_target(group)


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("kind", [HiddenTreeMixture, HiddenTree])
def test_estimators_take_content(kind, direction, trees, tmp_path):
    given = {"direction": direction} | ({} if kind is HiddenTree else {"n_components": 2})
    model = kind(n_states=2, random_state=0, max_iter=30, **given)
    model = model.set_params(init="random").fit(trees) if kind is HiddenTreeMixture else model.fit(trees)
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])
    assert (model.predict(trees) == model.labels_).all()
    score = model.score_samples(trees)
    model.save(tmp_path / "model.arbora")
    again = ab.load(tmp_path / "model.arbora")
    np.testing.assert_array_equal(again.score_samples(trees), score)
    np.testing.assert_array_equal(again.content_params_["x"]["mean"], model.content_params_["x"]["mean"])
    assert again.spec_ == model.spec_
    store = ab.ForestStore.write(trees, tmp_path / "trees.store", shard_nodes=60)
    np.testing.assert_allclose(model.score_samples(store), score, rtol=1e-10)
    assert model.transform(trees).shape == (60, len(model.get_feature_names_out()))
    state = model.posterior(trees)
    assert state.shape[0] == trees.n_nodes
    np.testing.assert_allclose(state.reshape(trees.n_nodes, -1).sum(axis=1), 1.0, rtol=1e-9)
    assert set(model.decode(trees)) <= {0, 1}
    drawn = model.sample(5, random_state=0)
    assert set(drawn.content) == {"x", "n", "ok"}  # the model says nothing of the lengths of bags
    assert model.sample(1, trees, random_state=0).content["n"].values.min() >= 0
    names = [f"state{i}" for i in range(2)]
    assert all(any(name.endswith(end) for end in names) for name in model.get_feature_names_out())
    assert model.emissions(4)[0].values.shape == (2, 4)
    assert model.n_parameters() > 0


def test_groups_told_by_content_alone_are_found(trees):
    from sklearn.metrics import adjusted_rand_score

    found = HiddenTreeMixture(2, 2, random_state=0).fit(trees).labels_
    assert adjusted_rand_score(trees.target, found) > 0.9
    without = HiddenTreeMixture(2, 2, random_state=0, content=None).fit(trees).labels_
    assert adjusted_rand_score(trees.target, without) < 0.3


def test_shards_threads_stores_and_batches_agree(trees, tmp_path):
    given = {"random_state": 0, "max_iter": 5, "tol": 0.0, "init": "kmeans"}
    one = HiddenTreeMixture(2, 2, **given).fit(trees)
    many = HiddenTreeMixture(2, 2, shard_bytes=1, n_jobs=2, **given).fit(trees)
    np.testing.assert_allclose(one.history_, many.history_, rtol=1e-9)
    plain = HiddenTreeMixture(2, 2, shared=False, **given).fit(trees)
    np.testing.assert_allclose(one.history_, plain.history_, rtol=1e-9)
    store = ab.ForestStore.write(trees, tmp_path / "trees.store", shard_nodes=60)
    np.testing.assert_allclose(HiddenTreeMixture(2, 2, **given).fit(store).history_, one.history_, rtol=1e-7)
    stepwise = HiddenTreeMixture(2, 2, random_state=0)
    for part in (trees[:30], trees[30:]):
        stepwise.partial_fit(part)
    assert stepwise.n_batches_ == 2
    assert np.isfinite(stepwise.score(trees))
    path = tmp_path / "fit.checkpoint"
    saved = HiddenTreeMixture(2, 2, checkpoint=path, **given).fit(trees)
    resumed = HiddenTreeMixture(2, 2, checkpoint=path, **given).fit(trees)
    np.testing.assert_array_equal(saved.history_, resumed.history_)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_surprise_of_a_root_is_minus_log_p_of_all_content(trees, direction):
    model = HiddenTreeMixture(2, 2, random_state=0, structure=None, direction=direction).fit(trees)
    surprise = model.node_surprise(trees)
    np.testing.assert_allclose(surprise[trees.tree_start[1:] - 1], -model.score_samples(trees), rtol=1e-9)
    u = int(trees.tree_start[2])  # a leaf: content without it, by hand
    hidden = {name: column.values.copy() for name, column in trees.content.items() if column.kind != "bags"}
    hidden["x"][u], hidden["n"][u], hidden["ok"][u] = np.nan, -1, -1
    words = trees.content["words"].nested(0, trees.n_nodes)
    words[u] = None
    label = trees.label.copy()
    label[u] = ab.MISSING
    content = {
        "x": hidden["x"],
        "n": Column("counts", hidden["n"]),
        "ok": Column("flags", hidden["ok"]),
        "words": words,
    }
    blank = Forest(trees.parent, trees.slot, label, trees.tree_start, trees.vocabulary, content=content)
    wanted = model.score_samples(blank)[2] - model.score_samples(trees)[2]
    assert surprise[u] == pytest.approx(wanted, rel=1e-8)


def test_column_scores_tell_which_column_speaks(trees):
    model = HiddenTreeMixture(2, 2, random_state=0).fit(trees)
    scores = model.column_scores(trees)
    assert set(scores) == {"label", "x", "words", "n", "ok"}
    assert sum(one.share for one in scores.values()) == pytest.approx(1.0)
    assert min(scores["x"].gain, scores["words"].gain) > 5 * max(scores["label"].gain, scores["ok"].gain)
    again = model.column_scores(scaled(trees, 1.0))
    assert again["x"].log_likelihood == pytest.approx(scores["x"].log_likelihood)
    assert HiddenTreeMixture(2, 2, random_state=0, content=None).fit(trees).column_scores(trees) == {}


def test_warnings_of_columns_that_mislead(trees):
    spiked = trees.content["x"].values.copy()
    spiked[: len(spiked) // 10] = 0.0
    with pytest.warns(ContentWarning, match=r"column 'x': one value, 0, makes up 1\d%"):
        HiddenTreeMixture(2, 2, random_state=0, content={"x": "gaussian"}).fit(trees.with_content({"x": spiked}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContentWarning)
        HiddenTreeMixture(2, 2, random_state=0, content={"x": "gaussian", "n": "poisson"}).fit(trees)
    long = [["hot"] * 60 if g else ["cold"] * 60 for g in np.repeat(trees.target, trees.sizes)]
    loud = trees.with_content({"words": long, "x": trees.content["x"]})
    with pytest.warns(ContentWarning, match=r"column 'words' carries \d\d% of what the states explain"):
        HiddenTreeMixture(2, 2, random_state=0).fit(loud)
    nothing = trees.with_content({"x": trees.content["x"], "none": Column.numbers([None] * trees.n_nodes)})
    with pytest.warns(ContentWarning, match="column 'none' has no value"):
        model = HiddenTree(2, random_state=0, content={"none": "gaussian"}).fit(nothing)
    np.testing.assert_allclose(model.content_params_["none"]["mean"], 0.0)
    assert set(HiddenTree(2, random_state=0).fit(nothing).content_params_) == {"label", "x"}


def test_constant_columns_and_unseen_words_do_no_harm(trees):
    constant = trees.with_content({"c": np.full(trees.n_nodes, 7.0), "k": ["p"] * trees.n_nodes})
    model = HiddenTree(2, random_state=0).fit(constant)
    assert np.isfinite(model.score_samples(constant)).all()
    other = trees.with_content({"c": np.full(trees.n_nodes, 7.0), "k": ["new"] * trees.n_nodes})
    gone = trees.with_content({"c": np.full(trees.n_nodes, 7.0), "k": Column.codes([None] * trees.n_nodes)})
    np.testing.assert_allclose(model.score_samples(other), model.score_samples(gone))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({"y": "gaussian"}, "no column 'y'; found 'x', 'words', 'n', 'ok'"),
        ({"words": "gaussian"}, "column 'words' holds bags, family 'gaussian' takes numbers or counts"),
        ({"x": "poisson"}, "holds numbers, family 'poisson' takes counts"),
        ({"x": "cauchy"}, "wanted one of categorical, flag, gaussian, poisson, bag"),
        ({"words": "bag:-1"}, "wanted a number of words after bag:"),
        ({"label": None}, "nothing to model"),
        ({"label": "gaussian"}, "the label has family 'gaussian'"),
        (["x"], "wanted 'auto', None or families by column"),
    ],
)
def test_settings_that_make_no_sense_are_refused(trees, content, match):
    with pytest.raises(SettingError, match=match):
        HiddenTreeMixture(2, 2, content=content).fit(trees)


def test_trees_without_the_columns_of_a_model_are_refused(trees):
    model = HiddenTree(2, random_state=0).fit(trees)
    with pytest.raises(ForestError, match="the trees have no column 'x'"):
        model.score_samples(trees.with_content({}))
    more = trees.with_content({**trees.content, "extra": np.zeros(trees.n_nodes)})
    np.testing.assert_array_equal(model.score_samples(more), model.score_samples(trees))


def test_labels_can_be_left_out(trees, tmp_path):
    model = HiddenTreeMixture(2, 2, random_state=0, content={"label": None, "x": "gaussian"}).fit(trees)
    blind = Forest(trees.parent, trees.slot, 0 * trees.label, trees.tree_start, trees.vocabulary, content=trees.content)
    np.testing.assert_allclose(model.score_samples(blind), model.score_samples(trees))
    model.save(tmp_path / "model.arbora")
    assert ab.load(tmp_path / "model.arbora").spec_ == model.spec_
    assert model.sample(2, random_state=0).label.max() == ab.MISSING
    with pytest.raises(SettingError, match="sums by label"):
        model.set_params(encoding="score").transform(trees)


def test_forged_files_of_content_are_refused(trees, tmp_path):
    from arbora.errors import ModelFileError
    from arbora.files.container import read_container, write_container

    HiddenTree(2, random_state=0).fit(trees).save(tmp_path / "model.arbora")
    version, header, arrays = read_container(tmp_path / "model.arbora", "model")
    name = next(key for key in arrays if key.startswith("content_.") and key.endswith("variance"))
    for broken in ({name: -arrays[name]}, {name: arrays[name][:1]}, {name: arrays[name].astype(np.float32)}):
        write_container(tmp_path / "bad.arbora", "model", version, header, {**arrays, **broken})
        with pytest.raises(ModelFileError):
            ab.load(tmp_path / "bad.arbora")
    write_container(
        tmp_path / "bad.arbora", "model", version, header, {key: x for key, x in arrays.items() if key != name}
    )
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "bad.arbora")


@pytest.mark.parametrize(
    "model",
    [
        ab.PatternMixture(2, n_chains=1, random_state=0),
        ab.TreeGrammarMixture(2, random_state=0),
        ab.TreeClassifier(random_state=0),
    ],
)
def test_models_of_labels_say_what_they_do_not_read(model, caplog):
    forest = ab.Forest.from_nested(
        [{"label": word, "content": {"x": n * 1.5}, "children": ["b", word]} for n, word in enumerate("aacc")]
    )
    model.fit(forest, [0, 0, 1, 1])
    assert "the content of nodes in x is not read" in caplog.text
    caplog.clear()
    model.fit(forest.with_content({}), [0, 0, 1, 1])
    assert "not read" not in caplog.text


@pytest.mark.parametrize("value", [1e153, -1e160, 1e308])
@pytest.mark.parametrize("n", [1, 4])
def test_numbers_whose_squares_overflow_are_refused(value, n):
    trees = [{"label": "a", "content": {"x": x}} for x in [0.5, *[value] * n]]
    with pytest.raises(SettingError, match="beyond 1e75"):
        emission_for("auto", Forest.from_nested(trees))
