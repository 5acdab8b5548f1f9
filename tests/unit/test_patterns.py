"""Patterns of trees as columns: against the twin, text, stores, files, hashed columns."""

import re

import numpy as np
import pytest
from hypothesis import given

import arbora as ab
from arbora.errors import SettingError
from arbora.models.patterns import families as fm
from arbora.models.patterns.kernels import keys as kernels
from tests import examples
from tests.reference import patterns as twin


def as_sets(text):
    """Children of sets are sorted by number in ours, by text in the twin: put them in one order."""
    if not text.startswith("sets:") or "{" not in text:
        return text
    inside = re.fullmatch(r"(.*?)\{(.*)\}", text, re.DOTALL)
    return f"{inside[1]}{{{', '.join(sorted(inside[2].split(', ')))}}}"


def found(rows, names, t):
    row = rows[[t]]
    return {as_sets(names[j]): x for j, x in zip(row.indices, row.data, strict=True)}


def assert_as_twin(forest, families=fm.FAMILIES):
    model = ab.TreePatterns(families, values="counts", min_trees=1)
    rows = model.fit_transform(forest)
    names = model.get_feature_names_out()
    assert len(set(names)) == len(names)
    for t, tree in enumerate(forest):
        assert found(rows, names, t) == {as_sets(key): n for key, n in twin.patterns(tree, families).items()}
    assert (rows != model.transform(forest)).nnz == 0


def test_families_agree_with_the_twin(awkward):
    assert_as_twin(awkward)


@given(examples.forests(max_trees=4))
def test_families_agree_with_the_twin_on_any_trees(forest):
    assert_as_twin(forest)


@pytest.mark.parametrize("family", fm.FAMILIES)
def test_each_family_alone(family):
    assert_as_twin(examples.random_forest(seed=1), [family])


def test_columns_of_new_trees_are_those_of_training():
    """Other vocabularies, other orders of labels and trees, and unseen patterns change no column."""
    forest = examples.random_forest(40, seed=2)
    model = ab.TreePatterns(fm.FAMILIES, values="counts").fit(forest)
    names = model.get_feature_names_out()
    other = examples.random_forest(30, n_labels=6, seed=3)
    rows = model.transform(other.with_vocabulary([*reversed(other.vocabulary), "spare"]))
    for t, tree in enumerate(other.with_vocabulary(forest.vocabulary)):
        wanted = {as_sets(key): n for key, n in twin.patterns(tree).items()}
        known = {as_sets(name) for name in names}
        assert found(rows, names, t) == {key: n for key, n in wanted.items() if key in known}
        share = 1 - len(known & set(wanted)) / len(wanted)
        assert model.unseen_share(other[[t]])[0] == pytest.approx(share)
    assert model.unseen_share(other).max() > 0


def test_patterns_of_few_trees_have_no_column():
    forest = ab.Forest.from_nested([("a", ["b"]), ("a", ["c"]), ("a", ["b", "b"])])
    model = ab.TreePatterns(["rules", "rules2"])
    rows = model.fit_transform(forest)
    assert model.pattern_texts() == ["b", "b"]
    assert model.family_.tolist() == ["rules", "rules2"]
    assert rows.toarray().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert model.document_frequency_.tolist() == [2, 2]
    one = ab.TreePatterns(["rules"]).fit(forest[:1])
    assert one.pattern_texts() == ["b", "a(b)"]  # of a single tree all are kept
    most = ab.TreePatterns(["labels"], max_patterns=1).fit(forest)
    assert most.pattern_texts() == ["a"]


def test_examples_have_their_patterns():
    forest = examples.random_forest(30, seed=4)
    model = ab.TreePatterns(["rules3", "bigrams"]).fit(forest)
    names = model.get_feature_names_out()
    for column, (t, u) in enumerate(model.example_):
        assert 0 <= u < forest.sizes[t]
        assert names[column] in twin.patterns(forest[int(t)])
    rules = ab.TreePatterns(["rules"], min_trees=1).fit(forest)
    for text, (t, u) in zip(rules.pattern_texts(), rules.example_, strict=True):
        label = forest.vocabulary[forest.label[forest.tree_start[t] + u]]
        assert re.match(r"\w+", text)[0] == label


def test_values_and_weights():
    forest = ab.Forest.from_nested([("a", ["b", "b"]), ("a", ["b"]), "b"])
    counts = ab.TreePatterns(["labels"], values="counts").fit_transform(forest).toarray()
    assert counts.tolist() == [[2, 1], [1, 1], [1, 0]]
    assert ab.TreePatterns(["labels"]).fit_transform(forest).toarray().tolist() == (counts > 0).tolist()
    logs = ab.TreePatterns(["labels"], values="log").fit_transform(forest).toarray()
    np.testing.assert_allclose(logs, np.log1p(counts))
    weighed = ab.TreePatterns(["labels"], values="counts", weighting="tfidf").fit_transform(forest).toarray()
    np.testing.assert_allclose(weighed, counts * (np.log(4 / np.array([4, 3])) + 1))
    unit = ab.TreePatterns(["labels"], values="counts", norm="l2").fit_transform(forest)
    np.testing.assert_allclose((unit.toarray() ** 2).sum(axis=1), 1)


def test_a_store_gives_the_same_columns_as_a_forest(tmp_path):
    forest = examples.random_forest(60, seed=5)
    store = ab.ForestStore.write(forest, tmp_path / "s", shard_nodes=60)
    assert len(store.entries) > 3
    for settings in ({}, {"families": fm.FAMILIES, "values": "counts", "max_patterns": 50}, {"n_hashed": 16}):
        one, two = ab.TreePatterns(**settings), ab.TreePatterns(**settings)
        rows = one.fit_transform(forest)
        assert (two.fit_transform(store) != rows).nnz == 0
        assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()
        assert np.array_equal(one.example_, two.example_)
        assert np.array_equal(one.document_frequency_, two.document_frequency_)
        assert (one.transform(store) != rows).nnz == 0


def test_hashed_columns_depend_on_texts_alone():
    forest = examples.random_forest(30, seed=6)
    model = ab.TreePatterns(n_hashed=2**22, values="counts").fit(forest[:3])
    rows = model.transform(forest)
    renumbered = forest.with_vocabulary([*reversed(forest.vocabulary), "spare"])
    assert (ab.TreePatterns(n_hashed=2**22, values="counts").fit(renumbered).transform(renumbered) != rows).nnz == 0
    exact = ab.TreePatterns(values="counts", min_trees=1).fit_transform(forest)
    assert rows.sum() == exact.sum()
    assert np.array_equal(np.sort((exact @ exact.T).toarray().ravel()), np.sort((rows @ rows.T).toarray().ravel()))
    with pytest.raises(SettingError, match="hashed columns"):
        model.unseen_share(forest)


def test_keys_that_hash_alike_stay_apart(monkeypatch):
    """With a hash that is the same for all, patterns are still told apart: keys are compared in full."""
    start = np.arange(0, 41, 2)
    symbol = np.arange(40).astype(np.int32) // 4
    number, *_ = kernels.number(start, symbol, *fm.empty_keys(), 0, True)
    assert number.tolist() == [x // 2 for x in range(20)]
    plain = getattr(kernels.number, "py_func", kernels.number)
    monkeypatch.setattr(kernels, "_hash", lambda symbol, lo, hi, seed: np.uint64(7))
    monkeypatch.setattr(kernels, "rehash", getattr(kernels.rehash, "py_func", kernels.rehash))
    again, *_ = plain(start, symbol, *fm.empty_keys(), 0, True)
    assert again.tolist() == number.tolist()


def test_many_keys_make_the_table_grow():
    symbol = np.random.default_rng(0).integers(0, 3000, 20_000).astype(np.int32)
    number, _, known, first = kernels.number(np.arange(20_001), symbol, *fm.empty_keys(), 1, True)
    assert np.array_equal(known[number], symbol)
    assert np.array_equal(symbol[first], known)
    assert len(np.unique(known)) == len(known)


@pytest.mark.parametrize("settings", [{"families": fm.FAMILIES}, {"n_hashed": 8, "weighting": "tfidf"}])
def test_save_and_load(settings, tmp_path):
    forest = examples.random_forest(30, seed=7)
    model = ab.TreePatterns(**settings).fit(forest)
    model.save(tmp_path / "p.arbora")
    loaded = ab.load(tmp_path / "p.arbora")
    assert loaded.get_params() == model.get_params()
    assert (loaded.transform(forest) != model.transform(forest)).nnz == 0
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {"families": []},
        {"families": "rules"},
        {"families": ["rules", "rules"]},
        {"families": ["rulez"]},
        {"values": "count"},
        {"weighting": "idf"},
        {"norm": "l1"},
        {"min_trees": 0},
        {"max_patterns": 0},
        {"n_hashed": 2**40},
    ],
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        ab.TreePatterns(**settings).fit(["a"])


def test_no_trees():
    with pytest.raises(ab.ForestError, match="0 trees"):
        ab.TreePatterns().fit([])
    model = ab.TreePatterns().fit(["a", ("a", ["b"])])
    assert model.transform([]).shape == (0, model.n_features_out_)


def test_children_that_come_in_another_order_than_their_slots():
    parent, slot = np.array([2, 2, 6, 6, 5, 6, -1]), np.array([4, 1, 3, 7, 0, 2, -1])
    forest = ab.Forest(parent=parent, slot=slot, label=np.zeros(7, int), tree_start=np.array([0, 7]), vocabulary=["a"])
    start, child = fm.children_by_slot(forest)
    found = [child[start[u] : start[u + 1]].tolist() for u in range(7)]
    assert found == [[], [], [1, 0], [], [], [4], [5, 2, 3]]
