"""The slice sampler of learnt states, the reference without a bound: its oracle, and the weak limit beside it."""

import numpy as np
import pytest

from tests.reference import infinite_states as weak
from tests.reference import slice_states as twin
from tests.reference.hidden_tree import nodes_of
from tests.unit.test_infinite_states import TREES, directions

TWO = [nodes_of(TREES, t) for t in range(2)]


def apart(one, other):
    """Total variation between two exact distributions."""
    return 0.5 * sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in {*one, *other})


@directions
@pytest.mark.parametrize("bound", [None, 3])
def test_labellings_sum_to_one_over_partitions(direction, bound):
    total = 0.0
    for labels in np.ndindex(2, 2, 2):
        trees = [[(2, 0, labels[0]), (2, 1, labels[1]), (-1, -1, labels[2])]]
        total += twin.exact_keys(direction, trees, 2, 2, bound)[1]
    assert total == pytest.approx(1.0, abs=1e-12)


@directions
def test_the_two_oracles_agree_and_the_weak_limit_comes_close_to_no_bound(direction):
    by_states = weak.exact_keys(direction, TWO[:1], 2, 2, 3, (1.0, 1.0), 1.0, 1.0)[1]
    assert twin.exact_keys(direction, TWO[:1], 2, 2, 3)[1] == pytest.approx(by_states, rel=1e-12)
    free = twin.exact_keys(direction, TWO, 2, 2)[0]
    far = [apart(free, twin.exact_keys(direction, TWO, 2, 2, bound)[0]) for bound in (3, 12, 40)]
    assert far[0] > 2 * far[1] > 4 * far[2]
    assert far[2] < 0.03


@directions
def test_slices_draw_from_the_posterior_without_a_bound_and_planted_errors_do_not(direction):
    wanted = twin.exact_keys(direction, TWO, 2, 2)[0]
    assert weak.distance(wanted, twin.visited(direction, TWO, 2, 2, 1500)) < 0.15
    for bug in twin.BUGS:
        assert weak.distance(wanted, twin.visited(direction, TWO, 2, 2, 1500, bug=bug)) > 0.3


@pytest.mark.slow
@directions
def test_a_long_chain_of_slices_comes_close(direction):
    wanted = twin.exact_keys(direction, TWO, 2, 2)[0]
    assert weak.distance(wanted, twin.visited(direction, TWO, 2, 2, 16_000)) < 0.04
