"""Groups of one or two trees are called odd trees, where there are few of them."""

import numpy as np
import pytest

from arbora.cli.levels import odd_lines


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([40, 30, 1], ["Group 2 is one odd tree rather than a kind of tree."]),
        ([40, 30, 2, 2], ["Groups 2 and 3 are two odd trees each rather than kinds of trees."]),
        ([50, 30, 2, 1, 1], ["Groups 2, 3 and 4 are one or two odd trees each rather than kinds of trees."]),
        ([40, 30, 3], []),
        ([4, 2, 2], []),  # most groups of few trees are small
        ([1], []),
    ],
)
def test_few_small_groups_are_odd_trees(sizes, told):
    assert odd_lines(np.repeat(np.arange(len(sizes)), sizes)) == told


def test_a_number_without_trees_is_no_group():
    assert odd_lines(np.repeat([0, 2, 3], [20, 20, 1])) == ["Group 3 is one odd tree rather than a kind of tree."]
