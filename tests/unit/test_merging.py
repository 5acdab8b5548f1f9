"""Groups within groups of every mixture: merges against all partitions, cuts, hierarchies and linkages."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

import arbora as ab
from arbora.datasets import make_documents
from arbora.errors import ArboraError, SettingError
from arbora.models.merging import coarser_levels, expected_losses, groupings, least_losses

pytestmark = pytest.mark.compiled

TREES = make_documents(6, random_state=0)
MODELS = {
    "mixture": lambda: ab.HiddenTreeMixture(5, 2, max_iter=8, tol=0, random_state=0),
    "infinite": lambda: ab.InfiniteHiddenTreeMixture(2, n_iter=6, n_start=4, update="em", random_state=0),
    "unions": lambda: ab.TreeUnionMixture(4, search="greedy"),
    "grammar": lambda: ab.TreeGrammarMixture(5, random_state=0),
    "patterns": lambda: ab.PatternMixture(5, n_iter=4, n_chains=1, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]().fit(TREES)


def test_cuts_are_nested_and_end_at_the_labels(model: Any) -> None:
    used = len(np.unique(model.labels_))
    before = np.zeros(TREES.n_trees, np.int64)
    for n in range(1, used + 1):
        label = model.cut(n)
        assert len(np.unique(label)) == n
        assert np.all(np.diff(np.bincount(label)) <= 0)
        assert len(np.unique(np.column_stack([before, label]), axis=0)) == n  # inside the groups before
        before = label
    assert len(np.unique(np.column_stack([before, model.labels_]), axis=0)) == used
    for wrong in (0, TREES.n_trees + 1, True):
        with pytest.raises(SettingError):
            model.cut(wrong)


def test_hierarchy_and_linkage_tell_of_the_cuts(model: Any) -> None:
    tree, used = model.hierarchy_, len(np.unique(model.labels_))
    assert tree.n_levels == max(used - 1, 1)
    for level in range(1, tree.n_levels + 1):
        np.testing.assert_array_equal(tree.labels(level), model.cut(level + 1 if used > 1 else 1))
    assert tree.to_newick().endswith(";")
    rows = model.linkage()
    assert is_valid_linkage(rows)
    assert rows[-1, 3] == len(rows) + 1
    assert np.all(np.diff(rows[:, 2]) >= 0)
    merges = model.merges()
    np.testing.assert_allclose(np.diff(merges.log_posterior), merges.gain, atol=1e-6)
    if used == len(rows) + 1 and np.all(np.diff(rows[:, 2]) > 0):
        two = fcluster(rows, 2, "maxclust")[model.labels_]
        assert len(np.unique(np.column_stack([two, model.cut(2)]), axis=0)) == 2


def test_a_saved_model_has_the_same_merges(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    for one, two in zip(model.merges(), loaded.merges(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(model.cut(2), loaded.cut(2))


def test_expected_losses_equal_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    likelihood, weight = rng.normal(size=(7, 3)) * 4, np.array([0.5, 0.3, 0.2])
    joint = likelihood + np.log(weight)
    share = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    wanted = [
        [sum(share[n, k] * (likelihood[n, k] - likelihood[n, r]) for n in range(7)) for r in range(3)] for k in range(3)
    ]
    np.testing.assert_allclose(expected_losses(joint, weight), wanted, atol=1e-10)
    lost = np.vstack([joint, np.full(3, -np.inf)])  # no component explains the last tree
    np.testing.assert_allclose(expected_losses(lost, weight), wanted, atol=1e-10)


def test_components_that_cannot_produce_a_tree_cost_much_and_are_no_error() -> None:
    joint = np.array([[-1.0, -np.inf, -np.inf], [-2.0, -1.0, -np.inf]])
    loss = expected_losses(joint, np.array([0.6, 0.4, 0.0]))
    assert np.isfinite(loss).all()
    assert loss[0, 1] > 1e8
    assert loss[2].tolist() == [0.0, 0.0, 0.0]  # the last has no trees
    assert least_losses(loss, 0.0).pair.shape == (2, 2)


def test_least_losses_take_the_best_pair_each_time() -> None:
    rng = np.random.default_rng(1)
    loss = rng.gamma(1.0, size=(5, 5))
    np.fill_diagonal(loss, 0.0)
    found = least_losses(loss, -10.0)

    def total(group: np.ndarray) -> float:
        parts = [np.flatnonzero(group == g) for g in np.unique(group)]
        return sum(min(sum(loss[k, r] for k in part) for r in part) for part in parts)

    steps = groupings(found.pair, 5)
    for before, after, gain in zip(steps, steps[1:], found.gain, strict=False):
        every = [total(np.where(before == b, a, before)) for a, b in itertools.combinations(np.unique(before), 2)]
        assert total(after) == pytest.approx(min(every))
        assert total(before) - total(after) == pytest.approx(gain)
    assert found.log_posterior[-1] == pytest.approx(-10.0 - total(steps[-1]))


def test_a_model_without_losses_says_so() -> None:
    model = MODELS["mixture"]().fit(TREES)
    model.merge_loss_ = None
    with pytest.raises(ArboraError, match="fit a mixture"):
        model.merges()


def test_levels_are_the_cuts(model: Any) -> None:
    levels = coarser_levels(model, model.labels_)
    assert [level.n_groups for level in levels] == list(range(len(np.unique(model.labels_)) - 1, 0, -1))
    for level in levels:
        label = level.group[model.labels_]
        assert len(np.unique(np.column_stack([label, model.cut(level.n_groups)]), axis=0)) == level.n_groups
        one, two = level.joined
        assert len({int(level.group[k]) for k in one + two}) == 1


def test_components_without_trees_make_no_level() -> None:
    model = ab.HiddenTreeMixture(6, 2, max_iter=2, tol=0, random_state=0).fit(TREES)
    model.labels_ = np.where(model.labels_ >= 3, 0, model.labels_)
    assert [level.n_groups for level in coarser_levels(model, model.labels_)] == [2, 1]
    assert coarser_levels(ab.HiddenTree(2, max_iter=2, tol=0, random_state=0).fit(TREES), model.labels_) == []


@pytest.mark.compiled
def test_leaves_of_the_hierarchy_have_the_names_of_trees():
    forest = ab.Forest.from_nested([("a", ["b", "c"])] * 4 + [("d", ["e"])] * 4).with_name([f"t{i}" for i in range(8)])
    model = ab.PatternMixture(2, n_chains=1, n_iter=2, random_state=0).fit(forest)
    assert all(f"t{i}" in model.hierarchy_.to_newick() for i in range(8))
