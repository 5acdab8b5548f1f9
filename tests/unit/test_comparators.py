"""The systems beside the mixture: maps of trees against loops over nodes, and a choice that never sees test trees."""

import importlib

import numpy as np
import pytest

from arbora.datasets import make_documents
from arbora.evaluate.metrics import slot_label_counts
from papers import encoder
from papers.judges import judge
from papers.som_sd import ABSENT, SOMSD

comparators = importlib.import_module("papers.comparators")  # the package has a function of that name


def _by_nodes(som, forest, weights):
    """Point of every node, by its label and the places of its children."""
    winner = np.zeros(forest.n_nodes, np.int64)
    for u in range(forest.n_nodes):
        label, place = np.eye(som.n_labels)[forest.label[u]], np.full((som.n_slots, 2), ABSENT)
        for v in np.flatnonzero(forest.parent == u):
            place[forest.slot[v]] = som.lattice[winner[v]]
        apart = (1.0 - som.structure) * ((weights.label - label) ** 2).sum(axis=1)
        winner[u] = (apart + som.structure * ((weights.place - place.ravel()) ** 2).sum(axis=1)).argmin()
    return winner


def _forest():
    return make_documents(3, noise=0.3, random_state=0)


def test_winners_and_codes_are_those_of_loops_over_nodes():
    forest = _forest()
    som = SOMSD(4, 0.3, n_epochs=3, seed=1).fit(forest)
    winner, n_points = _by_nodes(som, forest, som.weights), len(som.lattice)
    slot = np.where(forest.slot < 0, som.n_slots, forest.slot)
    wanted = np.zeros((forest.n_trees, (som.n_slots + 1) * n_points))
    np.add.at(wanted, (np.repeat(np.arange(forest.n_trees), forest.sizes), slot * n_points + winner), 1.0)
    np.testing.assert_array_equal(som.encode(forest).toarray(), wanted)


def test_a_step_of_the_map_is_a_weighted_mean_over_nodes():
    forest = _forest()
    still, moved = (SOMSD(4, 0.3, n_epochs=n, seed=1) for n in (0, 1))
    still.fit(forest), moved.fit(forest)
    winner = _by_nodes(still, forest, still.weights)
    apart = ((still.lattice[:, None] - still.lattice[winner]) ** 2).sum(axis=2) * 9.0
    near = np.exp(-apart / (2.0 * 2.0**2))  # the first radius is half a side
    near /= near.sum(axis=1, keepdims=True)
    place = np.full((forest.n_nodes, still.n_slots, 2), ABSENT)
    for v in np.flatnonzero(forest.parent >= 0):
        place[forest.parent[v], forest.slot[v]] = still.lattice[winner[v]]
    np.testing.assert_allclose(moved.weights.label, near @ np.eye(still.n_labels)[forest.label], atol=1e-12)
    np.testing.assert_allclose(moved.weights.place, near @ place.reshape(forest.n_nodes, -1), atol=1e-12)


@pytest.fixture
def small(monkeypatch):
    forest = make_documents(6, noise=0.3, random_state=0)
    train, test = forest[::2], forest[1::2]
    corpora = [encoder.Corpus("INEX 2005", train, test, slot_label_counts(test))]
    monkeypatch.setattr(encoder, "_corpus", lambda name, quick: corpora[0])
    monkeypatch.setattr(comparators, "DATA", ("INEX 2005",))
    monkeypatch.setattr(comparators, "SIZES", {comparators.TREE: (3,), comparators.MAP: (6,)})
    monkeypatch.setitem(comparators.SIZES, comparators.SOM, (0.1,))
    monkeypatch.setattr(comparators, "FIXED", {comparators.COUNTS: "as they come"})
    monkeypatch.setattr(encoder, "N_ITER", 2)
    return corpora


@pytest.mark.compiled
def test_settings_are_chosen_without_test_trees(small):
    whole = comparators.comparators(quick=True)
    judge("encoder-comparators", whole)
    assert [row[0] for row in whole.rows[:3]] == list(comparators.READ)
    assert all(len(row) == len(whole.header) for row in whole.rows)
    (corpus,) = small
    few = corpus.test.take(np.arange(3))
    small[0] = corpus._replace(test=few, counts=slot_label_counts(few))
    other = comparators.comparators(quick=True)
    assert [row[5:7] for row in other.rows[:3]] == [row[5:7] for row in whole.rows[:3]]
    assert [row[3] for row in other.rows] != [row[3] for row in whole.rows]
