"""Batches that bring new labels and words: `partial_fit` learns them, and all else is as if they were not there."""

import logging

import numpy as np
import pytest

import arbora as ab
from arbora.errors import SettingError
from arbora.models.grammar import backoff
from arbora.models.grammar import events as ev
from arbora.models.hidden_tree.emissions import choice
from tests.bag_of_labels import BagMixture

pytestmark = pytest.mark.compiled
UNSEEN = -1


def new_words(first, second):
    """Labels of the second batch that the first lacks, in their order."""
    return tuple(word for word in second.vocabulary if word not in first.vocabulary)


@pytest.fixture(scope="module")
def batches():
    """Two batches with vocabularies of their own; the second has labels that the first lacks."""
    demo = ab.datasets.load_demo()
    return [ab.Forest.from_nested(list(part)) for part in (demo[:60], demo[150:210])]


def hidden(**settings):
    return ab.HiddenTreeMixture(2, 2, init="random", learning_decay=1.0, random_state=0, **settings)


HIDDEN = {
    "up": hidden,
    "down": lambda: hidden(direction="down"),
    "one": lambda: ab.HiddenTree(2, learning_decay=1.0, random_state=0),
}


# ---- hidden trees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_new_label_says_nothing_of_states_and_is_counted(batches, kind, tmp_path):
    first, second = batches
    old, new = first.vocabulary, new_words(first, second)
    marked = second.with_vocabulary(old)
    n_new = int((marked.label == UNSEEN).sum())
    assert n_new > 20
    grown, frozen = HIDDEN[kind]().partial_fit(first), HIDDEN[kind]().partial_fit(first)
    grown.partial_fit(second)
    frozen.partial_fit(marked)
    assert grown.vocabulary_ == (*old, *new)
    assert frozen.vocabulary_ == old
    for name, count in frozen.counts_.items():
        rows = slice(len(old)) if name == "emission" else slice(None)
        np.testing.assert_allclose(grown.counts_[name][rows], count, rtol=1e-11, atol=1e-11)
    assert grown.counts_["emission"][len(old) :].sum() == pytest.approx(n_new)
    grown.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(again.score_samples(second), grown.score_samples(second))
    again.partial_fit(first)  # which lacks the label
    assert again.vocabulary_ == (*old, *new)


@pytest.mark.parametrize("without_label", [False, True])
def test_new_words_of_content_are_counted(batches, without_label, monkeypatch, tmp_path):
    def wordy(forest):
        own = [forest.vocabulary[m] for m in forest.label.tolist()]
        return forest.with_content({"word": own, "bag": [[word, "all"] for word in own]})

    first, second = map(wordy, batches)
    new = new_words(first, second)
    n_new = int((second.with_vocabulary(first.vocabulary).label == UNSEEN).sum())
    content = {"label": None, "word": "categorical", "bag": "bag"} if without_label else "auto"
    model = hidden(content=content).partial_fit(first).partial_fit(second)
    families = dict(model.spec_.emission.families)
    assert families["word"].words[-len(new) :] == families["bag"].words[-len(new) :] == new
    for x, column in enumerate(families):
        assert model.counts_[f"emission.c{x}"][-len(new) :].sum() == pytest.approx(n_new), column
    model.save(tmp_path / "m.arbora")
    assert np.array_equal(ab.load(tmp_path / "m.arbora").score_samples(second), model.score_samples(second))
    monkeypatch.setattr(choice, "MOST_WORDS", len(families["word"].words) - 1)
    with pytest.raises(SettingError, match="words by now, more than"):
        hidden(content=content).partial_fit(first).partial_fit(second)


def test_any_tree_model_grows(batches):
    first, second = batches
    model = BagMixture(2, random_state=0).partial_fit(first).partial_fit(second)
    assert model.label_prob_.shape == (2, first.n_labels + len(new_words(first, second)))
    assert (model.label_prob_[:, first.n_labels :] > 0.001).any()
    np.testing.assert_allclose(model.label_prob_.sum(axis=1), 1.0)


# ---- label chains ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positional", [False, True])
@pytest.mark.parametrize("n_more", [1, 2, 40])
def test_keys_of_cells_move_to_those_of_a_larger_alphabet(positional, n_more):
    forest = ab.Forest.from_nested(
        [
            {
                "label": "a",
                "children": [{"label": "b", "slot": 3}, {"label": "c", "slot": 25, "children": ["a", None]}],
            },
            ("a", ["b", ("c", ["a", "d"])]),
            "c",
        ]
    ).with_vocabulary(["a", "b", "c"])  # d is unseen
    more = forest.with_vocabulary([*forest.vocabulary, *map(str, range(n_more))])
    old, new = ev.Alphabet(forest.n_labels, positional), ev.Alphabet(more.n_labels, positional)
    key, wanted = ev.count(forest, old).key, ev.count(more, new).key
    assert np.array_equal(np.sort(ev.moved_keys(key, old, new, 2)), wanted)
    pair = ev.moved_keys(backoff.levels_of(key, old).pair_key, old, new, 1)
    assert np.array_equal(np.sort(pair), backoff.levels_of(wanted, new).pair_key)


def test_label_chains_learn_new_labels(batches, tmp_path):
    """Nearly as if the label had been in the vocabulary all the time, with no tree that has it."""
    first, second = batches
    words = tuple(dict.fromkeys([*first.vocabulary, *second.vocabulary]))
    model, foreseen, frozen = (
        ab.TreeGrammarMixture(2, random_state=0).partial_fit(first.with_vocabulary(vocabulary))
        for vocabulary in (first.vocabulary, words, first.vocabulary)
    )
    for one, batch in ((model, second), (foreseen, second), (frozen, second.with_vocabulary(first.vocabulary))):
        one.partial_fit(batch)
    assert model.vocabulary_ == foreseen.vocabulary_ == words
    assert frozen.vocabulary_ == first.vocabulary
    assert np.array_equal(model.cell_key_, foreseen.cell_key_)
    assert np.abs(model.cell_count_ - foreseen.cell_count_).max() < 0.1
    assert np.abs(model.score_samples(second) - foreseen.score_samples(second)).max() < 0.05
    model.save(tmp_path / "m.arbora")
    assert np.array_equal(ab.load(tmp_path / "m.arbora").score_samples(second), model.score_samples(second))


# ---- patterns -------------------------------------------------------------------------------------------------------


def short(**settings):
    return ab.PatternMixture(n_chains=1, n_iter=2, random_state=0, **settings)


@pytest.mark.parametrize("families", [("rules", "rules2", "bigrams"), ("slots", "paths", "pairs")])
def test_patterns_that_are_new_get_columns(batches, families, tmp_path, caplog):
    """Counts are those of all trees in these groups, and so is the background."""
    first, second = batches
    model = short(min_trees=1, families=families).fit(first)
    label = np.append(model.labels_, model.predict(second))
    n_before = model.patterns_.table.n_columns
    with caplog.at_level(logging.INFO, "arbora"):
        model.partial_fit(second)
    assert np.array_equal(model.labels_, label[60:])
    both = ab.Forest.from_nested([*first, *second])
    whole = ab.TreePatterns(families, min_trees=1).fit(both)
    assert (
        f"{whole.table.n_columns - n_before} patterns and {len(new_words(first, second))} labels are new" in caplog.text
    )
    assert "never seen" not in caplog.text
    at = {name: j for j, name in enumerate(model.patterns_.get_feature_names_out().tolist())}
    order = [at[name] for name in whole.get_feature_names_out().tolist()]
    assert len(order) == len(at)
    has = whole.transform(both)
    counts = np.stack([np.asarray(has[np.flatnonzero(label == k)].sum(axis=0)).ravel() for k in np.unique(label)])
    assert np.array_equal(model.pattern_count_[:, order], counts)
    total = np.bincount(whole.table.family_of_columns(), counts.sum(axis=0))[whole.table.family_of_columns()]
    np.testing.assert_allclose(model.share_[order], counts.sum(axis=0) / total, rtol=1e-12)
    model.save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    assert np.array_equal(again.predict_proba(both), model.predict_proba(both))
    assert again.vocabulary_ == model.vocabulary_ == again.patterns_.vocabulary_
    assert again.novelty(second).unseen_share.max() == 0.0
    model.remove(second, label[60:])
    assert np.array_equal(model.pattern_count_[:, order], counts - _counts(has, 60, label))


def _counts(has, n_first, label):
    """Patterns of the trees after the first, by group."""
    later = np.arange(len(label)) >= n_first
    return np.stack(
        [np.asarray(has[np.flatnonzero(later & (label == k))].sum(axis=0)).ravel() for k in np.unique(label)]
    )


def test_patterns_of_few_trees_and_other_vocabularies_change_no_column(batches):
    first, second = batches
    model = short(min_trees=1).fit(first)
    columns, share = model.patterns_.table.n_columns, model.share_.copy()
    model.partial_fit(first)
    assert model.patterns_.table.n_columns == columns
    assert np.array_equal(model.share_, share)
    rare = short(min_trees=3).fit(first)
    columns = rare.patterns_.table.n_columns
    rare.partial_fit(second[:2])
    assert rare.patterns_.table.n_columns == columns
    assert rare.vocabulary_ == first.vocabulary
    rare.partial_fit(second)
    assert rare.patterns_.table.n_columns > columns
    watched = ab.Watcher(rare).update(second)
    assert watched.unseen.mean() < ab.Watcher(short(min_trees=3).fit(first)).update(second).unseen.mean()
