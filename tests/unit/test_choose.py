"""Which model suits which trees, and labels by size for trees that have none."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.errors import ForestError, SettingError
from arbora.models.choose import choose_model
from arbora.models.patterns.sizes import label_by_size


def shape(seed: int, skewed: bool, n_leaves: int = 12) -> tuple:
    """A binary shape without labels: split one leaf off at a time, or in halves."""
    rng = np.random.default_rng(seed)

    def grow(n: int):
        if n == 1:
            return None
        k = 1 if skewed else max(1, n // 2 + int(rng.integers(-1, 2)))
        k = min(max(k, 1), n - 1)
        return (None, [grow(k), grow(n - k)])

    return grow(n_leaves + seed % 3)


def leaves(tree) -> int:
    """Slow twin: leaves of a nested tree of (label, children)."""
    return 1 if tree is None else sum(leaves(child) for child in tree[1])


def test_labels_that_say_more_than_shapes_call_for_patterns() -> None:
    found = choose_model(make_documents(5, random_state=0))
    assert found.model == "patterns"
    assert "labels" in found.reason


def test_missing_and_equal_labels_call_for_sizes() -> None:
    forest = ab.Forest.from_nested([shape(seed, seed % 2 == 0) for seed in range(10)])
    assert choose_model(forest).model == "sizes"
    same = ab.Forest.from_nested([("a", ["a", ("a", ["a"])])] * 4)
    assert choose_model(same).model == "sizes"


def test_labels_that_repeat_the_number_of_children_call_for_hidden_trees_if_slots_are_empty() -> None:
    assert choose_model(make_asymmetric_trees(10, random_state=0)).model == "infinite"


def test_labels_that_repeat_full_slots_call_for_sizes_or_patterns() -> None:
    binary = [("inner", [("inner", ["leaf", "leaf"]), "leaf"]), ("inner", ["leaf", "leaf"])] * 5
    assert choose_model(binary).model == "sizes"
    wider = [("3", [("2", ["0", "0"]), ("1", ["0"]), ("4", ["0"] * 4)]), ("2", ["0", ("1", ["0"])])] * 5
    assert choose_model(wider).model == "patterns"


def test_no_trees_are_refused() -> None:
    with pytest.raises(ForestError, match="0 trees"):
        choose_model([])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20])
def test_trees_that_are_all_alike_are_one_group(n: int) -> None:
    for seed in range(4):
        model = ab.PatternMixture(n_iter=4, n_chains=1, random_state=seed).fit([("a", ["b", "c"])] * n)
        assert model.n_components_ == 1
        assert not model.predict([("a", ["b", "c"])]).any()


def test_a_store_is_looked_at_like_its_forest(tmp_path) -> None:
    forest = make_documents(5, random_state=0)
    assert choose_model(ab.ForestStore.write(forest, tmp_path / "a.store")) == choose_model(forest)


def test_sizes_equal_the_twin() -> None:
    trees = [shape(seed, seed % 2 == 0, 5 + seed) for seed in range(8)]
    forest = ab.Forest.from_nested(trees)
    labelled = label_by_size(forest)
    np.testing.assert_array_equal(labelled.parent, forest.parent)
    for t, tree in enumerate(trees):
        root = labelled.vocabulary[labelled.label[labelled.tree_start[t + 1] - 1]]
        n = leaves(tree)
        low, _, high = root.split()[0].partition("-")
        assert int(low) <= n <= int(high or low)


def test_shapes_without_labels_are_grouped_by_size_alone() -> None:
    trees = [shape(seed, seed % 2 == 0) for seed in range(40)]
    truth = np.arange(40) % 2
    by_size = ab.PatternMixture(2, labels="sizes", random_state=0).fit(trees)
    assert len(np.unique(by_size.labels_[truth == 0])) == 1
    assert (by_size.predict(trees) == by_size.labels_).all()
    assert abs(np.corrcoef(by_size.labels_, truth)[0, 1]) == pytest.approx(1.0)


def test_sizes_of_a_store_and_unknown_labels_are_refused(tmp_path) -> None:
    store = ab.ForestStore.write(ab.Forest.from_nested([shape(0, True)] * 3), tmp_path / "a.store")
    with pytest.raises(SettingError, match="to_forest"):
        ab.TreePatterns(labels="sizes").fit(store)
    with pytest.raises(SettingError, match="labels='names'"):
        ab.TreePatterns(labels="names").fit(["a"])
