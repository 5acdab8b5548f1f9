"""How many looks a hierarchy saves: every policy and path written out, and cases one can count."""

import numpy as np
import pytest

from papers.search_value import looks_saved
from tests.reference import search_value as twin


def nested_levels(rng, n, depth):
    """Levels each of which divides the nodes above in two, labels not in order; and the same with names of branches."""
    branches = rng.integers(2, size=(depth, n))
    above, levels = np.zeros(n, int), []
    for branch in branches:
        above = 2 * above + branch
        levels.append(rng.permutation(2**depth)[above])
    return np.array(levels), branches


@pytest.mark.parametrize("seed", range(1, 7))
def test_it_is_the_best_of_all_policies(seed):
    rng = np.random.default_rng(seed)
    n, variance = int(rng.integers(20, 35)), rng.choice([0.3, 1.0, 3.0])
    levels, branches = nested_levels(rng, n, 3)
    rows = rng.standard_normal((n, 2))
    for depth, level in enumerate(levels):  # nodes lie apart, most of all the topmost
        rows += 5.0 / (1 + depth) * rng.standard_normal((level.max() + 1, 2))[level]
    wanted = twin.looks_saved(rows, levels, variance)
    assert wanted > twin.looks_saved(rows, levels[:1], variance) > 0.05  # the second level serves, too
    assert looks_saved(rows, levels, variance) == pytest.approx(wanted, abs=1e-12)
    assert looks_saved(rows, branches, variance) == pytest.approx(wanted, abs=1e-12)


def test_counted_cases():
    n = 16
    far = 100.0 * (np.arange(n) // 4)[:, None] + 0.01 * np.arange(n)[:, None]
    groups = np.arange(n) // 4
    # four centroids and two and a half data, where a plain search takes eight and a half
    assert looks_saved(far, [groups]) == pytest.approx(1 - 6.5 / 8.5)
    # two centroids twice
    assert looks_saved(far, [groups // 2, groups]) == pytest.approx(1 - 6.5 / 8.5)
    # an only child costs nothing, and a tree that is too fine need not be followed to its end
    assert looks_saved(far, [0 * groups, groups, groups, np.arange(n)]) == pytest.approx(1 - 6.5 / 8.5)
    # labels that mean nothing are not worth a look
    assert looks_saved(np.zeros((n, 1)), [groups]) == 0.0
    assert looks_saved(far, [np.arange(n) % 4]) == 0.0


def test_what_is_easier_to_tell_apart_saves_more():
    groups = np.repeat([0, 1, 2, 3], 5)
    saved = [looks_saved(gap * groups[:, None] + 0.1 * np.arange(20)[:, None] % 0.5, [groups]) for gap in (1, 2, 4)]
    assert 0.0 <= saved[0] < saved[1] < saved[2]
