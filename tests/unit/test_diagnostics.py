"""Diagnostics of draws of partitions against slow twins, enumeration of all set partitions, and chains gone wrong."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from arbora.inference import chain_agreement, diagnostics, drawn_partitions, point_estimates
from arbora.inference.convergence import ess_bulk, ess_tail, rhat
from arbora.inference.kernels import partitions as kernels
from tests.reference import partitions as twin

LOSSES = ["vi", "binder"]
TRUTH = np.repeat([0, 1, 2], [14, 10, 6])


@st.composite
def draws(draw, max_draws=5, max_data=8):
    """A few partitions of a few data, with names of groups that skip, repeat, and may be negative or huge."""
    n_data = draw(st.integers(1, max_data))
    names = st.sampled_from([-3, 0, 1, 2, 7, 2**40])
    one = st.lists(names, min_size=n_data, max_size=n_data)
    return np.array(draw(st.lists(one, min_size=1, max_size=max_draws)))


def rename(labels, seed):
    """The same partitions under other names, different in each draw."""
    rng = np.random.default_rng(seed)
    group = [np.unique(draw, return_inverse=True)[1] for draw in np.atleast_2d(labels)]
    return np.array([rng.permutation(50)[draw] - 20 for draw in group]).reshape(np.shape(labels))


def noisy(truth, n_draws, rng, noise=0.1):
    """Independent draws around a partition: some data go to a random group."""
    labels = np.tile(truth, (n_draws, 1))
    moved = rng.random(labels.shape) < noise
    labels[moved] = rng.integers(0, truth.max() + 1, moved.sum())
    return labels


# ---- comparisons ----------------------------------------------------------------------------------------------------


@given(draws())
def test_losses_equal_the_twins(labels):
    for loss in LOSSES:
        wanted = [twin.LOSSES[loss](labels[0], draw) for draw in labels]
        np.testing.assert_allclose(diagnostics.compare_to_draws(labels[0], labels, loss), wanted, rtol=0, atol=1e-10)
    wanted = [twin.LOSSES["vi"](labels[0], labels[-1]), twin.LOSSES["binder"](labels[0], labels[-1])]
    found = [f(labels[0], labels[-1]) for f in (diagnostics.variation_of_information, diagnostics.binder_loss)]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


@given(draws())
def test_adjusted_rand_is_that_of_scikit_learn(labels):
    wanted = [adjusted_rand_score(labels[0], draw) for draw in labels]
    found = diagnostics.compare_to_draws(labels[0], labels, "adjusted_rand")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
    assert diagnostics.adjusted_rand(labels[0], labels[-1]) == found[-1]


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_metrics(loss):
    every = np.array(twin.set_partitions(5))
    distance = np.array([diagnostics.compare_to_draws(x, every, loss) for x in every])
    np.testing.assert_allclose(distance, distance.T, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(distance < 1e-12, np.eye(len(every), dtype=bool))
    detour = (distance[:, :, None] + distance[None, :, :]).min(axis=1)
    assert (distance - detour).max() < 1e-12
    assert distance.max() == pytest.approx(np.log(5) if loss == "vi" else 1.0)


def test_many_small_groups_take_the_other_way_round():
    labels = np.random.default_rng(0).integers(0, 150, (6, 200))  # more groups in a draw than data in a group
    labels[0] = np.arange(200)
    for loss in LOSSES:
        found = [diagnostics.compare_to_draws(x, labels, loss) for x in labels[:3]]
        wanted = [[twin.LOSSES[loss](x, y) for y in labels] for x in labels[:3].tolist()]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


@given(draws(), st.integers(0, 2**31))
def test_names_do_not_matter(labels, seed):
    other = rename(labels, seed)
    for measure in ("vi", "binder", "adjusted_rand"):
        a, b = (diagnostics.compare_to_draws(x[0], x, measure) for x in (labels, other))
        np.testing.assert_array_equal(a, b)
    for of in (diagnostics.canonical, diagnostics.co_clustering_matrix):
        np.testing.assert_array_equal(of(labels), of(other))
    np.testing.assert_array_equal(
        diagnostics.align_labels(labels, labels[-1]), diagnostics.align_labels(other, labels[-1])
    )
    for a, b in zip(diagnostics.n_groups_posterior(labels), diagnostics.n_groups_posterior(other), strict=True):
        np.testing.assert_array_equal(a, b)
    estimates = [diagnostics.point_estimate(x, n_init=1, random_state=0) for x in (labels, other)]
    np.testing.assert_array_equal(estimates[0].labels, estimates[1].labels)
    balls = [diagnostics.credible_ball(x, e) for x, e in zip((labels, other), estimates, strict=True)]
    for a, b in zip(*balls, strict=True):
        np.testing.assert_array_equal(a, b)


@given(draws())
def test_co_clustering_equals_the_twin_and_gives_binders_loss(labels):
    together = diagnostics.co_clustering_matrix(labels)
    np.testing.assert_array_equal(together, twin.co_clustering(labels))
    np.testing.assert_array_equal(diagnostics.co_clustering_matrix(labels, rows=[-1, 0]), together[[-1, 0]])
    pairs = np.triu_indices(labels.shape[1], 1)
    mine = np.equal.outer(labels[0], labels[0])[pairs]
    expected = np.abs(mine - together[pairs]).sum() / max(len(mine), 1)
    assert diagnostics.compare_to_draws(labels[0], labels, "binder").mean() == pytest.approx(expected, abs=1e-12)


# ---- labels ---------------------------------------------------------------------------------------------------------


@given(draws())
def test_canonical_equals_the_twin(labels):
    np.testing.assert_array_equal(diagnostics.canonical(labels), [twin.canonical(draw) for draw in labels])
    np.testing.assert_array_equal(diagnostics.canonical(labels[0]), twin.canonical(labels[0]))


@given(draws(max_data=7))
def test_alignment_keeps_the_partition_and_the_most_names(labels):
    reference = labels[-1]
    aligned = diagnostics.align_labels(labels, reference)
    np.testing.assert_array_equal(aligned[-1], reference)
    for before, after in zip(labels, aligned, strict=True):
        np.testing.assert_array_equal(np.equal.outer(before, before), np.equal.outer(after, after))
        assert (after == reference).sum() == twin.best_overlap(before.tolist(), reference.tolist())
        new = set(after.tolist()) - set(reference.tolist())
        assert new == {int(reference.max()) + 1 + x for x in range(len(new))}


def test_alignment_names_no_group_after_one_it_never_meets():
    aligned = diagnostics.align_labels([0, 0, 1, 2, 2, 2], [5, 5, 5, 5, 5, 6])
    np.testing.assert_array_equal(aligned, [5, 5, 7, 6, 6, 6])
    aligned = diagnostics.align_labels([0, 0, 0, 0, 1], [5, 5, 5, 6, 5])
    np.testing.assert_array_equal(aligned, [5, 5, 5, 5, 7])
    aligned = diagnostics.align_labels([0, 0, 1, 1], [3, 3, 3, 3])
    np.testing.assert_array_equal(aligned, [3, 3, 4, 4])


def test_refits_get_the_same_names():
    refits = rename(np.tile(TRUTH, (2, 3, 1)).reshape(6, -1), 3).reshape(2, 3, -1)
    np.testing.assert_array_equal(diagnostics.align_labels(refits, TRUTH), np.broadcast_to(TRUTH, refits.shape))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagnostics.canonical([0.5, 1.0]), "labels: float64 of shape"),
        (lambda: diagnostics.canonical(np.empty((3, 0), int)), "wanted integers, one or more data"),
        (lambda: diagnostics.align_labels([[0, 1]], [0, 1, 2]), "wanted a label for each of 2 data"),
        (lambda: diagnostics.compare_to_draws([0, 1, 1], [[0, 1]]), "partition has shape"),
        (lambda: diagnostics.compare_to_draws([0, 1], [[0, 1]], "rand"), "wanted one of 'vi'"),
        (lambda: diagnostics.point_estimate([[0, 1]], "adjusted_rand"), 'wanted "vi" or "binder"'),
        (lambda: diagnostics.point_estimate([[0, 1]], max_groups=0), "max_groups=0; wanted 1 or more"),
        (lambda: diagnostics.credible_ball([[0, 1]], [0, 1], level=95), "wanted a share of the draws"),
        (lambda: diagnostics.summaries([[0, 1]]), r"wanted \[chain, draw, datum\]"),
        (lambda: diagnostics.summaries(np.zeros((2, 4, 3), int), np.zeros((4, 2))), r"shape \(4, 2\); wanted finite"),
        (lambda: diagnostics.check_chains(np.zeros((1, 8, 3), int)), "1 chain; wanted 2 or more"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- point estimate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@given(labels=draws(max_draws=6, max_data=5), max_groups=st.sampled_from([None, 1, 2, 3]))
def test_estimate_is_the_best_of_all_partitions(loss, labels, max_groups):
    found = diagnostics.point_estimate(labels, loss, max_groups=max_groups, random_state=0)
    assert found.expected_loss == pytest.approx(twin.expected_loss(found.labels, labels, loss), abs=1e-10)
    assert found.expected_loss == pytest.approx(twin.least_expected_loss(labels, loss, max_groups), abs=1e-10)
    assert found.n_groups == len(set(found.labels)) <= (max_groups or labels.shape[1])
    assert 1 <= found.n_found <= found.n_starts


@pytest.mark.compiled
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_data", [6, 7])
def test_estimate_is_optimal_for_many_posteriors(loss, n_data):
    rng = np.random.default_rng(n_data)
    every = np.array(twin.set_partitions(n_data))
    distance = np.array([diagnostics.compare_to_draws(x, every, loss) for x in every])
    beaten = 0
    for seed in range(100):
        center = rng.integers(len(every))
        weight = np.exp(-rng.choice([0.0, 3.0, 10.0]) * distance[center])  # from no opinion to a clear one
        chosen = rng.choice(len(every), rng.integers(1, 30), p=weight / weight.sum())
        found = diagnostics.point_estimate(every[chosen], loss, random_state=seed)
        expected = distance[:, chosen].mean(axis=1)
        assert found.expected_loss == pytest.approx(expected.min(), abs=1e-10)
        beaten += expected[chosen].min() > found.expected_loss + 1e-10
    assert beaten > 20  # the best draw alone would not do


@pytest.mark.compiled
@pytest.mark.parametrize("loss", LOSSES)
def test_estimate_of_many_data_recovers_what_no_draw_has(loss):
    rng = np.random.default_rng(4)
    truth = diagnostics.canonical(rng.integers(0, 6, 1200))  # too many for a linkage tree
    labels = noisy(truth, 60, rng, 0.2)
    found = diagnostics.point_estimate(labels.reshape(3, 20, -1), loss, n_init=2, random_state=1)
    np.testing.assert_array_equal(found.labels, truth)
    best_draw = min(diagnostics.compare_to_draws(x, labels, loss).mean() for x in labels)
    assert found.expected_loss < 0.8 * best_draw
    assert found.n_found == found.n_starts == 3


def test_estimate_may_have_far_more_groups_than_any_draw():
    """Four random groups in each draw: no two data are together in half of them, and Binder's loss wants all apart."""
    labels = np.array([np.random.default_rng(seed).permutation(np.arange(40) % 4) for seed in range(50)])
    assert np.triu(diagnostics.co_clustering_matrix(labels), 1).max() < 0.5
    found = diagnostics.point_estimate(labels, "binder", n_init=1, random_state=0)
    assert found.n_groups == 40
    capped = diagnostics.point_estimate(labels, "binder", n_init=1, max_groups=16, random_state=0)
    assert capped.n_groups == 16
    assert capped.expected_loss > found.expected_loss + 0.01


def test_no_start_alone_makes_the_estimate(monkeypatch):
    """Without good starts, or with the one sequential allocation only, the search still ends at the optimum."""
    labels = noisy(TRUTH, 40, np.random.default_rng(2), 0.25)
    wanted = diagnostics.point_estimate(labels, random_state=0)
    monkeypatch.setattr(point_estimates, "_good_starts", lambda *_: [])
    alone = diagnostics.point_estimate(labels, n_init=1, random_state=5)
    np.testing.assert_array_equal(alone.labels, wanted.labels)
    assert (alone.n_starts, wanted.n_starts) == (1, 10)


@pytest.mark.parametrize("start", ["together", "apart"])
@pytest.mark.parametrize("loss", LOSSES)
def test_search_merges_and_splits(loss, start):
    """From one group, or all apart, which moves of single data cannot leave, the search finds three groups."""
    labels = noisy(TRUTH, 30, np.random.default_rng(3), 0.02)
    group, _ = drawn_partitions.as_groups(labels)
    first, weight = point_estimates.distinct_draws(group)
    target = point_estimates._target(drawn_partitions.comparison(group[first], loss), weight)
    begin = np.zeros(len(TRUTH), np.int32) if start == "together" else np.arange(len(TRUTH), dtype=np.int32)
    found = point_estimates._search(np.random.default_rng(0), target, len(TRUTH), begin)
    np.testing.assert_array_equal(diagnostics.canonical(found), TRUTH)


def started(loss, group, seed, n_slots=9):
    """Draws, and a search that has placed its data: (draws, target, fit)."""
    draws = drawn_partitions.comparison(
        drawn_partitions.as_groups(noisy(TRUTH, 25, np.random.default_rng(seed), 0.15))[0], loss
    )
    target = point_estimates._target(draws, np.full(25, 0.04))
    table = np.zeros((len(target.row_weight), n_slots), np.int32)
    fit = kernels.Fit(np.full(30, -1, np.int32), np.zeros(n_slots, np.int64), table)
    kernels.place_all(np.asarray(group, np.int32), target, fit)
    return draws, target, fit


def scaled_loss(draws, group, loss):
    """Expected loss in the units of the search."""
    return twin.expected_loss(group.tolist(), draws.group.tolist(), loss) * (30 if loss == "vi" else 30 * 29)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_a_merger_is_the_best_there_is(loss, seed):
    draws, target, fit = started(loss, TRUTH * 2 + np.arange(30) % 2, seed)
    before = fit.group.copy()
    changes = [
        scaled_loss(draws, np.where(before == b, a, before), loss) - scaled_loss(draws, before, loss)
        for a in range(6)
        for b in range(a)
    ]
    assert kernels._merge_best(target, fit) == pytest.approx(min(changes), abs=1e-9)
    assert min(changes) < 0
    after = scaled_loss(draws, fit.group, loss)
    assert after - scaled_loss(draws, before, loss) == pytest.approx(min(changes), abs=1e-9)


def test_draws_count_by_their_weight():
    """Co-clustering of distinct draws with unequal weights is that of the draws written out."""
    draws = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 1]], np.int32)
    weight = np.array([0.5, 0.125, 0.375])
    share = np.zeros((2, 4))
    kernels.add_together(draws, weight, np.array([2, 0]), share)
    written_out = np.repeat(draws, (8 * weight).astype(int), axis=0)
    np.testing.assert_allclose(share, diagnostics.co_clustering_matrix(written_out, rows=[2, 0]))
    np.testing.assert_allclose(share[0], [0.375, 0.5, 1.0, 0.5])


@pytest.mark.parametrize("seed", range(4))
def test_the_rival_is_the_member_least_often_with_the_first(seed):
    draws, target, _ = started("vi", TRUTH, seed)
    members = np.random.default_rng(seed).permutation(30)
    together = (draws.group[:, members] == draws.group[:, members[:1]]).mean(axis=0)
    rival = kernels._rival(members, target)
    assert together[members == rival] == together.min() < together[-1]
    alike = members[together == 1.0]
    assert kernels._rival(alike, target) == alike[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_slots", [3, 9])
def test_a_break_up_pays_or_is_undone(loss, seed, n_slots):
    undone = paid = 0
    for start in (TRUTH, np.zeros(30, int), np.arange(30) % 3):
        draws, target, fit = started(loss, start, seed, n_slots)
        change = kernels._break_up(np.random.default_rng(seed), 0, target, fit)
        gain = scaled_loss(draws, fit.group, loss) - scaled_loss(draws, start, loss)
        assert change == pytest.approx(gain, abs=1e-9)
        if change == 0.0:
            np.testing.assert_array_equal(fit.group, start)
        undone += change == 0.0
        paid += change < 0.0
    assert undone > 0
    assert paid > 0


def test_search_merges_where_no_datum_would_move_alone():
    """Two blocks that 6 of 10 draws join: each datum is better off with its block, and both blocks with each other."""
    blocks = np.repeat([0, 1], 20).astype(np.int32)
    draws = drawn_partitions.comparison(np.stack([np.zeros_like(blocks), blocks]), "vi")
    target = point_estimates._target(draws, np.array([0.6, 0.4]))
    fit = kernels.Fit(np.full(40, -1, np.int32), np.zeros(9, np.int64), np.zeros((3, 9), np.int32))
    kernels.place_all(blocks, target, fit)
    assert kernels.seat_all(np.arange(40), target, fit) == 0.0
    kernels.descend(np.random.default_rng(0), target, fit)
    assert len(set(fit.group)) == 1


def test_search_keeps_its_tables_true():
    draws, target, fit = started("vi", np.arange(30) % 4, 6)
    kernels.descend(np.random.default_rng(0), target, fit)
    np.testing.assert_array_equal(fit.size, np.bincount(fit.group, minlength=9))
    table = [[((g == x) & (fit.group == k)).sum() for k in range(9)] for g in draws.group for x in range(g.max() + 1)]
    np.testing.assert_array_equal(fit.table, table)


# ---- credible ball and number of groups -----------------------------------------------------------------------------


@given(draws(max_draws=12, max_data=6), st.sampled_from([0.2, 0.5, 0.95, 1.0]), st.sampled_from(LOSSES))
def test_ball_is_the_smallest_and_its_bounds_are_on_the_edge(labels, level, loss):
    estimate = diagnostics.point_estimate(labels, loss, random_state=0)
    ball = diagnostics.credible_ball(labels, estimate, level)
    distance = np.array([twin.LOSSES[loss](estimate.labels, draw) for draw in labels])
    assert ball.mass == (distance <= ball.radius + 1e-10).mean() >= level - 1e-12
    assert (distance < ball.radius - 1e-10).mean() < level
    inside = distance <= ball.radius + 1e-10
    count = np.array([len(set(draw.tolist())) for draw in labels])
    few, many = count[inside].min(), count[inside].max()
    for bound, among in ((ball.upper, count == few), (ball.lower, count == many), (ball.horizontal, inside)):
        edge = distance[inside & among].max()
        wanted = {tuple(twin.canonical(x)) for x in labels[inside & among & (distance >= edge - 1e-10)]}
        assert sorted(tuple(twin.canonical(x)) for x in bound) == sorted(wanted)
    assert ball.loss == loss == estimate.loss


def test_ball_of_bare_labels_by_the_loss_asked_for():
    labels = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 0]]
    by_vi, by_binder = (diagnostics.credible_ball(labels, labels[0], loss=loss) for loss in (None, "binder"))
    assert by_vi.radius == pytest.approx(3 * np.log(3) / 4, abs=1e-12)
    assert by_binder.radius == pytest.approx(3 / 6, abs=1e-12)
    np.testing.assert_array_equal(by_vi.upper, [[0, 0, 0, 0]])
    np.testing.assert_array_equal(by_vi.lower, [[0, 0, 2, 1]])
    np.testing.assert_array_equal(by_vi.horizontal, [[0, 0, 1, 1]])
    np.testing.assert_array_equal(by_binder.horizontal, [[0, 0, 1, 1], [0, 0, 0, 0]])  # as far as each other


@given(draws(max_draws=40, max_data=6), st.sampled_from([0.5, 0.8, 0.95]))
def test_number_of_groups(labels, level):
    count = [len(set(draw.tolist())) for draw in labels]
    found = diagnostics.n_groups_posterior(labels, level)
    assert dict(zip(found.n_groups.tolist(), found.probability, strict=True)) == {
        k: count.count(k) / len(count) for k in sorted(set(count))
    }
    assert found.mode == max(sorted(set(count)), key=count.count)
    assert found.mean == pytest.approx(np.mean(count))
    low, high = found.interval
    assert np.mean([low <= k <= high for k in count]) >= level - 1e-12
    assert np.mean([k < low for k in count]) <= (1 - level) / 2 + 1e-12
    assert np.mean([k > high for k in count]) <= (1 - level) / 2 + 1e-12


# ---- chains ---------------------------------------------------------------------------------------------------------


def chains(truths, n_draws, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    return np.array([rename(noisy(np.asarray(truth), n_draws, rng, noise), c) for c, truth in enumerate(truths)])


def test_summaries_are_what_they_say():
    labels = chains([TRUTH, TRUTH], 5, 0)
    log_joint = np.arange(10.0).reshape(2, 5)
    found = diagnostics.summaries(labels, log_joint, reference=TRUTH)
    for c, s in np.ndindex(2, 5):
        draw = labels[c, s].tolist()
        share = np.array([draw.count(x) for x in set(draw)]) / len(draw)
        wanted = [len(share), -(share * np.log(share)).sum(), share.max()]
        wanted += [twin.variation_of_information(TRUTH.tolist(), draw), log_joint[c, s]]
        np.testing.assert_allclose([value[c, s] for value in found.values()], wanted, rtol=0, atol=1e-10)
    assert list(found) == ["n_groups", "entropy", "largest_share", "vi_to_reference", "log_joint"]
    np.testing.assert_allclose(
        diagnostics.summaries(labels)["vi_to_reference"], found["vi_to_reference"], rtol=0, atol=1e-12
    )  # the estimate from the draws is the truth


def test_convergence_takes_what_never_moves():
    x = np.random.default_rng(0).normal(size=(3, 40))
    stuck = np.repeat([[1.0], [1.0], [2.0]], 40, axis=1)
    found = diagnostics.convergence({"x": x, "same": np.ones((3, 40)), "stuck": stuck, "two": (x > 0) * 2.0})
    assert found["x"] == (rhat(x), ess_bulk(x), ess_tail(x))
    assert np.isnan(found["same"]).all()
    assert found["stuck"].rhat == np.inf
    assert found["stuck"].ess_bulk < 10
    assert 0.9 < found["two"].rhat < 1.2
    assert diagnostics.convergence({}) == {}


@pytest.mark.parametrize("n_draws", [4, 11, 30])
def test_r_hat_of_the_co_clustering_equals_the_twin(n_draws):
    labels = chains([TRUTH[::4], TRUTH[::4], TRUTH[::-4]], n_draws, 1, 0.3)
    found = diagnostics.check_chains(labels)
    assert found.co_clustering_rhat == pytest.approx(twin.co_clustering_rhat(labels.tolist()), abs=1e-10)
    assert found.distance.shape == (3, 3)
    np.testing.assert_allclose(found.distance, found.distance.T, rtol=0, atol=1e-12)
    a, b = (labels[c, h] for c, h in ((0, slice(None, n_draws // 2)), (2, slice((n_draws + 1) // 2, None))))
    halves = chain_agreement._half_distances(*[chain_agreement._as_chains(labels)[x] for x in (0, 2)])
    assert halves[0, 5] == pytest.approx(np.mean([twin.binder(x, y) for x in a for y in b]), abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_good_chains_pass(seed):
    found = diagnostics.check_chains(chains([TRUTH] * 4, 200, seed))
    assert found.agree
    assert found.verdict == "the 4 chains agree"
    assert found.odd is None
    assert abs(found.co_clustering_rhat - 1.0) < 0.01


@pytest.mark.parametrize("seed", range(5))
def test_chains_in_different_modes_fail(seed):
    """The planted bug: every summary of the sizes has one law in all chains, and only who is with whom differs."""
    other = np.random.default_rng(seed).permutation(TRUTH)
    labels = chains([TRUTH, TRUTH, other, TRUTH], 200, seed)
    found = diagnostics.check_chains(labels)
    assert not found.agree
    assert found.odd == 2
    assert found.co_clustering_rhat > 1.2
    assert found.verdict.startswith("chain 2 disagrees: it differs from the others on ")
    sizes = [found.convergence[name].rhat for name in ("n_groups", "entropy", "largest_share")]
    assert np.nanmax(sizes) < 1.05


def test_a_reference_in_the_middle_does_not_hide_two_modes():
    """Two modes as far from the pooled estimate as each other: no summary sees them, the co-clustering does."""
    left, right = np.repeat([0, 0, 1, 2], 10), np.repeat([2, 0, 1, 1], 10)  # mirror images
    labels = chains([left, right], 100, 0, noise=0.05)
    values = diagnostics.summaries(labels, reference=np.repeat([0, 1, 2, 3], 10))
    assert np.nanmax([x.rhat for x in diagnostics.convergence(values).values()]) < 1.05
    found = diagnostics.check_chains(labels)
    assert not found.agree
    assert found.co_clustering_rhat > 1.2
    assert "the 2 chains disagree: R-hat of " in found.verdict


def test_verdict_counts_groups_and_weighs_the_log_joint():
    finer = np.where(np.arange(30) % 2, TRUTH, TRUTH + 3)
    log_joint = np.random.default_rng(0).normal(size=(4, 100)) - [[0], [50], [0], [0]]
    found = diagnostics.check_chains(chains([TRUTH, finer, TRUTH, TRUTH], 100, 0, noise=0.01), log_joint)
    assert found.odd == 1
    start = "chain 1 disagrees: it has 6 groups where the others have 3, and its log joint is "
    assert found.verdict.startswith(start)
    assert 49 < float(found.verdict[len(start) :].split()[0]) < 51
    assert found.verdict.endswith("lower; run longer, or more chains from other starts")


def test_several_chains_apart_and_chains_that_drift_fail():
    merged = np.minimum(TRUTH, 1)
    found = diagnostics.check_chains(chains([TRUTH, TRUTH, merged, merged], 100, 0, noise=0.01))
    assert not found.agree
    assert found.odd is None
    assert "the 4 chains disagree: R-hat of " in found.verdict
    assert "mostly 3, 3, 2, 2 groups" in found.verdict
    drift = np.concatenate([chains([TRUTH] * 2, 50, 0), chains([TRUTH[::-1]] * 2, 50, 1)], axis=1)
    assert not diagnostics.check_chains(drift).agree  # both went the same way, and neither had arrived


def test_stuck_chains_and_slow_ones():
    other = diagnostics.check_chains(np.repeat([[TRUTH], [TRUTH[::-1]], [TRUTH]], 40, axis=1))
    assert other.co_clustering_rhat == np.inf
    assert other.odd == 1
    few = diagnostics.check_chains(chains([TRUTH] * 2, 30, 0), threshold=1.5)
    assert few.agree
    assert few.verdict.endswith("effective draws: run longer")
    content = diagnostics.check_chains(chains([TRUTH] * 2, 30, 0), threshold=1.5, min_ess=1)
    assert content.verdict == "the 2 chains agree"


@pytest.mark.parametrize("log_joint", [None, np.zeros((3, 40)), np.tile([[0.0], [1.0], [2.0]], 40)])
def test_chains_that_never_moved_do_not_agree(log_joint):
    """The planted bug: one partition, under other names in each draw, and a sampler that changes nothing."""
    labels = chains([TRUTH] * 3, 40, 0, noise=0.0)
    found = diagnostics.check_chains(labels, log_joint)
    assert not found.agree
    start = "no chain moved: every draw of the 3 chains is the same partition, of 3 groups; "
    assert found.verdict == start + "run longer, or from other starts"
    assert np.isnan(found.co_clustering_rhat)
    assert all(np.isnan(x).all() for name, x in found.convergence.items() if name != "log_joint")
    assert found.odd is None
    one = diagnostics.check_chains(np.zeros((2, 8, 5), int))
    assert "the same partition, of 1 group;" in one.verdict


def test_one_datum_that_moved_once_is_a_move():
    labels = np.tile(TRUTH, (3, 401, 1))
    labels[0, 7, 0] = 5
    found = diagnostics.check_chains(labels)
    assert found.agree
    assert found.verdict.startswith("the 3 chains agree")


def test_a_certain_partition_is_not_called_stuck():
    """The sampler moves, as its log joint shows, and every draw has the partition that the data force upon it."""
    rng = np.random.default_rng(0)
    labels = np.tile(TRUTH, (4, 200, 1))
    found = diagnostics.check_chains(labels, rng.normal(size=(4, 200)))
    assert found.agree
    assert found.verdict == "every draw of the 4 chains is the same partition, of 3 groups"
    apart = diagnostics.check_chains(labels, rng.normal([[0.0], [0.0], [0.0], [9.0]], size=(4, 200)))
    assert ", but their log joints differ (R-hat " in apart.verdict
    frozen = rng.normal(size=(4, 200)) * [[1.0], [1.0], [1.0], [0.0]]
    assert not diagnostics.check_chains(labels, frozen).agree


@pytest.mark.parametrize("n_draws", [4, 5, 9])
def test_short_chains_are_told_to_run_longer(n_draws):
    for seed in range(10):
        found = diagnostics.check_chains(chains([TRUTH] * 3, n_draws, seed, 0.3))
        assert "run longer" in found.verdict
        assert found.agree == found.verdict.startswith("the 3 chains agree")


def test_one_stuck_chain_among_good_ones_is_found():
    labels = chains([TRUTH] * 4, 200, 0)
    labels[2] = TRUTH
    found = diagnostics.check_chains(labels)
    assert not found.agree
    assert found.odd == 2


@pytest.mark.parametrize("n", [2, 3, 40])
def test_cuts_of_a_linkage_are_those_of_scipy(n: int) -> None:
    from scipy.cluster.hierarchy import cut_tree, linkage

    tree = linkage(np.random.default_rng(n).normal(size=(n, 2)), "average")
    numbers = np.arange(1, n + 1)
    wanted = [cut_tree(tree, int(k))[:, 0] for k in numbers]
    np.testing.assert_array_equal(diagnostics.cut_levels(tree, numbers), wanted)


def test_cuts_of_a_linkage_with_ties_are_nested() -> None:
    from scipy.cluster.hierarchy import linkage

    points = np.random.default_rng(0).integers(0, 4, (40, 2)).astype(float)
    cuts = diagnostics.cut_levels(linkage(points, "average"), np.arange(1, 41))
    assert [len(np.unique(cut)) for cut in cuts] == list(range(1, 41))
    for coarse, fine in pairwise(cuts):
        assert len(np.unique(np.stack([coarse, fine]), axis=1).T) == fine.max() + 1


def test_groups_are_numbered_by_size_and_equal_ones_as_before():
    group = np.array([[0, 1, 1, 2, 3, 3, 4], [0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 4, 5, 6]], np.int32)
    kernels.sort_by_size(group, np.array([5, 3, 7]), group)
    assert group.tolist() == [[2, 0, 0, 3, 1, 1, 4], [0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 4, 5, 6]]
