"""Which groups come up in all chains: by hand, against sets, and in the words of a verdict."""

import numpy as np
import pytest

import arbora as ab
from arbora.inference.stability import STABLE, group_stability
from arbora.inference.verdict import Run, Shown, judge_chains

SHOWN = np.repeat([0, 1, 2, 3], 10)


def chains(*fates):
    """Two chains of six draws of 40 data in four groups; the second chain does to the groups what is asked."""
    draws = np.tile(SHOWN, (2, 6, 1))
    for k, fate in enumerate(fates):
        if fate == "splits":
            draws[1, :, 10 * k : 10 * k + 5] = 10 + k
        if fate == "joins others":
            draws[1, :, 10 * k : 10 * k + 10] = (k + 1) % 4
        if fate == "comes and goes":
            draws[1, :, 10 * k : 10 * k + 10] = np.random.default_rng(k).integers(20, 26, (6, 10))
    draws[:, ::2, 0] = 99  # something moves
    return draws


def test_jaccard_by_sets():
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 5, (3, 7, 40))
    found = group_stability(SHOWN, draws)
    for k in range(4):
        mine = set(np.flatnonzero(k == SHOWN).tolist())
        each = np.zeros((3, 7))
        for c, d in np.ndindex(3, 7):
            theirs = [set(np.flatnonzero(draws[c, d] == g).tolist()) for g in range(5)]
            each[c, d] = max(len(mine & one) / len(mine | one) for one in theirs)
        assert found.stability[k] == pytest.approx(each.mean(axis=1).min())
    assert found.size.tolist() == [10] * 4


def test_unions_by_sets():
    draws = np.random.default_rng(1).integers(0, 9, (2, 5, 40)) + 9 * (np.random.default_rng(2).random(40) < 0.5)
    found = group_stability(SHOWN, draws)
    for k in range(4):
        mine = set(np.flatnonzero(k == SHOWN).tolist())
        each = np.zeros((2, 5))
        for c, d in np.ndindex(2, 5):
            theirs = [set(np.flatnonzero(draws[c, d] == g).tolist()) for g in range(18)]
            inside = set().union(*(one for one in theirs if one and 2 * len(one & mine) >= len(one)))
            each[c, d] = len(mine & inside) / len(mine | inside)
        assert found.in_parts[k] == pytest.approx(each.mean(axis=1).min())


def test_fates():
    found = group_stability(SHOWN, chains("stable", "splits", "stable", "stable"))
    assert found.fates() == ["stable", "splits", "stable", "stable"]
    assert found.share_stable == 0.75
    assert group_stability(SHOWN, chains("stable", "joins others")).fates()[1:3] == ["joins others", "joins others"]
    assert group_stability(SHOWN, chains("comes and goes")).fates()[0] == "splits"  # into pieces of its own
    mixed = chains("stable")
    mixed[1, :, 15:35] = np.tile([5, 6], 10)  # halves of groups are mixed
    assert group_stability(SHOWN, mixed).fates()[2] == "comes and goes"


def test_one_bad_chain_is_enough():
    draws = np.tile(SHOWN, (4, 6, 1))
    draws[3, :, :5] = 9
    found = group_stability(SHOWN, draws)
    assert found.stability[0] == 0.5 < STABLE
    assert (found.stability[1:] == 1.0).all()


def test_data_of_no_group_do_not_count():
    shown = SHOWN.copy()
    shown[35:] = -1
    found = group_stability(shown, np.tile(SHOWN, (2, 4, 1)))
    assert found.group.tolist() == [0, 1, 2, 3]
    assert found.size.tolist() == [10, 10, 10, 5]
    assert found.stability.tolist() == [1.0, 1.0, 1.0, 0.5]


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="wanted"):
        group_stability(SHOWN[:-1], np.tile(SHOWN, (2, 4, 1)))
    with pytest.raises(ValueError, match="wanted"):
        group_stability(SHOWN, np.tile(SHOWN, (4, 1)))


def joint(draws):
    return np.random.default_rng(1).normal(size=draws.shape[:2])


def test_the_verdict_names_the_groups_that_are_not_stable():
    draws = chains("stable", "splits")
    coarser = np.minimum(SHOWN, 2)
    found = judge_chains(draws, joint(draws), Run(12), n_groups=4, shown=Shown(SHOWN, (coarser,), "trees"))
    assert found.level == "look again"
    assert "3 of 4 groups, with 75% of the trees, come up in all 2 independent runs" in found.reason
    assert "runs; group 1 splits" in found.reason
    assert found.what_to_do == "rely on the stable groups or join groups to 3, whose borders all runs keep"


def test_stable_groups_are_sound_though_trees_move():
    draws = np.tile(SHOWN, (2, 6, 1))
    draws[0, :, 0] = 1
    draws[0, 0, 1] = 1
    found = judge_chains(draws, joint(draws), Run(12), shown=Shown(SHOWN, (), "trees"))
    assert found.level == "sound"
    assert found.reason.startswith("all 4 groups come up in each of 2 independent runs")


def test_a_coarser_grouping_that_is_stable_is_told():
    draws = np.tile(SHOWN, (2, 6, 1))
    draws[1, :, 5:15] = 1 - draws[1, :, 5:15]
    draws[1, :, 25:35] = 5 - draws[1, :, 25:35]
    draws[0, 0, 0] = 77
    shown = Shown(SHOWN, (np.repeat([0, 1], 20),), "trees")
    found = judge_chains(draws, joint(draws), Run(12), shown=shown)
    assert found.level == "do not trust"
    assert found.reason.startswith("none of 4 groups comes up in all 2 independent runs")
    assert found.what_to_do == "join groups to 2, whose borders all runs keep"


def test_one_group_and_one_tree():
    draws = np.random.default_rng(0).integers(0, 4, (2, 6, 40))
    found = judge_chains(draws, joint(draws), Run(12), shown=Shown(np.zeros(40, np.int64), (), "trees"))
    assert found.level == "look again"
    assert found.reason == "no clear groups; 2 independent runs part the trees in different ways, into 4 groups"
    single = np.zeros((2, 6, 1), np.int64)
    assert judge_chains(single, joint(single), Run(12), shown=Shown([0], (), "trees")).reason == (
        "there is one tree, and one alone has no groups"
    )


def test_chains_that_agree_but_are_short_are_judged_by_their_groups():
    draws = np.tile(SHOWN, (4, 10, 1))
    draws[:, :, 0] = np.random.default_rng(3).integers(0, 2, (4, 10))
    assert judge_chains(draws, joint(draws), Run(20)).level == "look again"
    assert judge_chains(draws, joint(draws), Run(20), shown=Shown(SHOWN, (), "trees")).level == "sound"
    still = np.tile(SHOWN, (4, 10, 1))
    stuck = judge_chains(still, np.zeros((4, 10)), Run(20), shown=Shown(SHOWN, (), "trees"))
    assert stuck.level == "look again"
    assert stuck.reason.startswith("no chain moved")


@pytest.mark.compiled
def test_a_fitted_model_tells_of_its_groups():
    trees = [("a", ["b", "c"])] * 15 + [("d", ["e", "e", "f"])] * 15
    model = ab.PatternMixture(random_state=0).fit(trees)
    found = model.stability()
    assert found.group.tolist() == [0, 1]
    assert (found.stability > 0.9).all()
    assert model.stability(np.zeros(30, np.int64)).stability[0] < 0.6
