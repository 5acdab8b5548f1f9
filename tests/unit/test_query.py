"""Trees most worth labelling next: entropies, likeness, the public call."""

import numpy as np
import pytest

import arbora as ab
from arbora.models.classifiers.query import most_telling

PROBA = np.array([[0.5, 0.5], [0.99, 0.01], [0.52, 0.48], [0.6, 0.4], [0.9, 0.1]])


def test_the_most_uncertain_first_and_then_what_is_unlike_it():
    codes = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    assert most_telling(PROBA, None, 3).tolist() == [0, 2, 3]
    assert most_telling(PROBA, codes, 3).tolist() == [0, 3, 4]  # row 2 is row 0 again
    assert sorted(most_telling(PROBA, codes, 9).tolist()) == [0, 1, 2, 3, 4]


def test_a_classifier_asks_for_trees_between_its_classes():
    trees = [("a", ["b"] * (1 + t % 3)) for t in range(6)] + [("c", ["d"] * (1 + t % 3)) for t in range(6)]
    model = ab.TreeClassifier(random_state=0).fit(trees, ["x"] * 6 + ["y"] * 6)
    asked = model.query([("a", ["b"]), ("c", ["d"]), ("a", ["b", ("c", ["d"])]), ("a", ["b", "b"])], 2)
    assert asked[0] == 2
    assert len(asked) == 2
    with pytest.raises(ValueError, match="n="):
        model.query(trees, 0)
