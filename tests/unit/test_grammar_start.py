"""Where EM of label chains starts: groups of patterns, or communities where trees have gaps."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.models.grammar import fitting, pattern_start
from arbora.models.grammar.events import alphabet_of
from arbora.models.grammar.pattern_start import PatternStart

KINDS = [
    [("a", [("b", ["c"] * (1 + n % 7)), "d"]) for n in range(40)],
    [("a", [("b", ["e"]), "d"])] * 60,
    [("p", ["q"] * (1 + n % 5)) for n in range(40)],
]
FOREST = ab.Forest.from_nested([tree for kind in KINDS for tree in kind])
TRUTH = np.repeat([0, 1, 2], [40, 60, 40])


def started(forest, seed=0):
    trees = fitting.trees_of(forest, alphabet_of(forest), None)
    return trees, PatternStart(forest, trees.tree_row, trees.data.weight, np.random.default_rng(seed))


def test_groups_of_patterns_are_found_and_copies_count():
    trees, begin = started(FOREST)
    assert begin.corpus.n_trees == len(FOREST)  # one row for each copy
    label = begin.clusters(3, np.random.default_rng(0))
    assert adjusted_rand_score(TRUTH, label[trees.tree_row]) == 1.0


def test_a_pattern_is_kept_if_two_copies_have_it():
    forest = ab.Forest.from_nested([*[("x", ["y"])] * 2, ("a", ["b"]), ("a", ["b", "b"])])
    _, begin = started(forest)
    in_trees = np.bincount(begin.corpus.rows.column)
    assert (in_trees >= 2).all()
    assert len(in_trees) > 3  # without copies x(y) and its parts would be in one tree


def test_trees_beyond_the_most_have_no_cluster_and_get_one_from_the_model(monkeypatch):
    monkeypatch.setattr(pattern_start, "MOST_TREES", 30)
    forest = make_documents(30, random_state=0)
    trees, begin = started(forest)
    label = begin.clusters(3, np.random.default_rng(0))
    assert begin.corpus.n_trees == 30
    assert (label == -1).sum() == len(label) - len(begin.some) > 0
    assert set(ab.TreeGrammarMixture(3, random_state=0).fit(forest).labels_) == {0, 1, 2}
    assert len(trees.tree_row) == len(forest)


def test_trees_with_gaps_start_from_communities(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(fitting, "PatternStart", fail)
    forest = make_asymmetric_trees(20, random_state=0)
    found = ab.TreeGrammarMixture(3, random_state=0).fit(forest)
    same = ab.TreeGrammarMixture(3, start="communities", random_state=0).fit(forest)
    assert found.positional_
    assert np.array_equal(found.labels_, same.labels_)
    with pytest.raises(AssertionError):
        ab.TreeGrammarMixture(3, random_state=0).fit(FOREST)


def test_the_knee_finds_patterns_once(monkeypatch):
    made = []

    class Counted(PatternStart):
        def __init__(self, *arguments):
            made.append(1)
            super().__init__(*arguments)

    monkeypatch.setattr(fitting, "PatternStart", Counted)
    ab.TreeGrammarMixture(None, max_iter=3, tol=0.0, random_state=0).fit(FOREST)
    assert len(made) == 1
