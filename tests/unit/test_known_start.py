"""Where the search starts from known classes: at groups or at a classifier's classes, as the known trees choose."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.models.patterns import known_start as ks

pytestmark = pytest.mark.compiled


def test_what_groups_tell_is_left_one_out():
    label = np.array([0, 0, 0, 1, 1, 2])
    code = np.array([0, 0, 1, 1, 1, 1])
    # The last is alone in its group, and the others of its group tell the third that it is of class 0.
    assert ks.told_by_groups(label, code) == pytest.approx(4 / 6)


def test_the_classifier_is_cross_validated():
    rng = np.random.default_rng(0)
    code = rng.integers(2, size=60)
    rows = sparse.csr_array(rng.normal(size=(60, 200)))  # noise in more columns than rows: a classifier fits it
    assert ks.told_by_classifier(rows, code) < 0.75
    told = sparse.csr_array(np.column_stack([code, 1 - code]).astype(float))
    assert ks.told_by_classifier(told, code) == 1.0


@pytest.mark.parametrize("groups_tell", [True, False])
def test_the_known_trees_choose(groups_tell):
    """Columns 0 and 1 tell the classes, columns 2 and 3 tell something else."""
    rng = np.random.default_rng(1)
    code, other = rng.integers(2, size=80), rng.integers(2, size=80)
    rows = sparse.csr_array(np.column_stack([code, 1 - code, other, 1 - other]).astype(float))
    known = np.arange(0, 80, 4)
    label = code if groups_tell else other
    found = ks.from_known(rows, label, known, code[known])
    assert (found is label) == groups_tell
    assert np.array_equal(found, code)


def test_there_are_as_many_groups_as_wanted():
    """Those beyond the classes are groups without a known tree, then single trees."""
    rng = np.random.default_rng(1)
    code = rng.integers(2, size=80)
    rows = sparse.csr_array(np.column_stack([code, 1 - code]).astype(float))
    label = rng.integers(2, size=80)
    known = np.arange(20)
    label[70:] = 2  # without a known tree
    label[75:] = 3
    label[[30, 60]] = 3
    label[:4] = 4
    found = ks.from_known(rows, label, known, code[known])
    assert len(np.unique(found)) == 5
    assert np.array_equal(found[known], code[known])
    sizes = np.bincount(found)
    assert sorted(sizes[2:].tolist()) == [1, 5, 7]


def trees(n, seed):
    """Trees of two classes that one leaf in each of some places tells, and of two kinds that much more tells."""
    rng = np.random.default_rng(seed)
    made, classes = [], []
    for _ in range(n):
        kind, target = rng.integers(2), int(rng.integers(2))
        own = [f"k{kind}{x}" for x in rng.permutation(12)[:8]]
        made.append(("root", [("part", [word]) for word in own] + [("mark", [f"c{target}"])]))
        classes.append(target)
    return ab.Forest.from_nested(made), np.array(classes)


def test_known_classes_turn_groups_that_are_not_the_classes():
    forest, classes = trees(160, 0)
    known = [int(c) if t % 8 == 0 else None for t, c in enumerate(classes)]
    rest = np.arange(160) % 8 > 0
    settings = {"n_components": 2, "n_chains": 1, "n_iter": 2, "random_state": 0}
    free = ab.PatternMixture(**settings).fit(forest).labels_
    given = ab.PatternMixture(**settings).fit(forest, known=known)
    assert adjusted_rand_score(classes[rest], free[rest]) < 0.1
    assert adjusted_rand_score(classes[rest], given.labels_[rest]) > 0.9
    assert len({given.labels_[t] for t in range(0, 160, 8) if classes[t] == 0}) == 1
