"""Kernels of the Gaussian hierarchies against their slow twin: slots, weights, marginals, factors."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from arbora.models.gaussian import sampler as gs
from arbora.models.gaussian.kernels import blocks as bl
from arbora.models.gaussian.kernels import nested_gaussian as ng
from arbora.models.gaussian.kernels import seating
from arbora.models.gaussian.kernels import split_merge as sm
from tests.reference import nested_gaussian as reference

KINDS = ("single", "flat", "nested")


def setting_of(kind, d, temper=1.0, **more):
    """A setting with everything fixed, and the same prior as the twin takes it."""
    spread = 0.0 if kind == "single" else 2.5
    scales = np.array([0.7, 0.4, spread])
    base = np.eye(d) + 0.3 * np.ones((d, d))
    dof0 = d + 1.5
    setting = gs.GibbsSettings(gs.PRIORS[kind], (0.8, 1.3), None, dof0, base, scales, scales, temper=temper, **more)
    return setting, {"scale0": 0.7 * base, "dof0": dof0, "kappa0": 0.4, "spread": spread}


def a_state(rng, n, kind):
    """A random state of n data, numbered by first appearance."""
    z = rng.integers(0, 4, n)
    g = np.arange(4) if kind == "single" else rng.integers(0, 3, 4)
    fine, home = reference.canonical(z, g)
    return np.array(fine), np.array(home)


def filled(sampler, z, g, hyper):
    return sampler._filled(sampler.x, z, g, hyper, len(g) + 8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_weights_of_a_datum_are_ratios_of_joint_probabilities(kind, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(9, d)) * 1.7
    setting, prior = setting_of(kind, d)
    sampler = gs.NestedGibbs(x, setting)
    hyper = sampler.hyper(np.array([0.8, 1.3]), setting.low)
    for n in (0, 4, 8):
        z, g = a_state(rng, 9, kind)
        without = z.copy()
        without[n] = -1
        pool = filled(sampler, without, g, hyper)
        weight = np.empty(40)
        many = seating.weigh(pool, hyper, x, n, seating.prior_predictive(x, hyper), (np.empty(d), weight))
        subs = pool.subs[: pool.n_used[0]]
        options = [(int(t), int(g[t])) for t in subs]
        if kind != "single":
            options += [(len(g), int(r)) for r in pool.clusters[: pool.n_used[1]]]
        options.append((len(g), int(g.max()) + 1))
        wanted = []
        for t, r in options:
            there, home = z.copy(), np.append(g, r)
            there[n] = t
            fine, coarse = reference.canonical(there, home)
            wanted.append(
                reference.log_prior(fine, coarse, kind, 0.8, 1.3) + reference.log_likelihood(x, fine, coarse, prior)
            )
        assert many == len(options)
        got = weight[:many] - weight[0]
        assert np.allclose(got, np.array(wanted) - wanted[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["within", "apart"])
def test_the_gain_of_a_split_is_the_ratio_of_the_priors(kind, how):
    """From the merged state and from the split one, for sub-clusters with and without siblings."""
    if (kind, how) == ("single", "within"):
        pytest.skip("a cluster is its one sub-cluster")
    rng = np.random.default_rng(1)
    setting, _ = setting_of(kind, 2, temper=0.0)
    sampler = gs.NestedGibbs(rng.normal(size=(9, 2)), setting)
    hyper = sampler.hyper(np.array([0.8, 1.3]), setting.low)
    siblings = set()
    for _ in range(20):
        z, g = a_state(rng, 9, kind)
        t = int(np.bincount(z).argmax())
        members = np.flatnonzero(z == t)
        n_two = int(rng.integers(1, len(members)))
        split = z.copy()
        split[members[-n_two:]] = len(g)
        home = np.append(g, g[t] if how == "within" else g.max() + 1)
        wanted = reference.log_prior(split, home, kind, 0.8, 1.3) - reference.log_prior(z, g, kind, 0.8, 1.3)
        for state, groups, merged in ((z, g, True), (split, home, False)):
            pool = filled(sampler, state, groups, hyper)
            move, sizes = sm.WITHIN if how == "within" else sm.APART, (len(members) - n_two, n_two)
            got = sm._log_gain(pool, hyper, move, (int(g[t]), merged), sizes, 0.0)
            assert got == pytest.approx(wanted, abs=1e-10)
        siblings.add(int((g == g[t]).sum()))
    assert kind == "single" or len(siblings) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_pool_after_a_sweep_is_that_built_from_scratch(kind):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3)) + 4.0 * rng.integers(0, 2, (60, 1))
    setting, _ = setting_of(kind, 3)
    sampler = gs.NestedGibbs(x, setting)
    hyper = sampler.hyper(np.array([0.8, 1.3]), setting.low)
    z, g = a_state(rng, 60, kind)
    pool = sampler._filled(sampler.x, z, g, hyper, 64)
    assert seating.sweep(rng, x, 0, z, pool, hyper) == 60
    again = sampler._filled(sampler.x, z, pool.home, hyper, len(pool.home))
    used, clusters = pool.subs[: pool.n_used[0]], pool.clusters[: pool.n_used[1]]
    assert set(used) == set(again.subs[: again.n_used[0]])
    for name in ("number", "total", "mean", "shrink", "constant"):
        assert np.allclose(getattr(pool, name)[used], getattr(again, name)[used], atol=1e-10), name
    for name in ("size", "n_sub", "kappa", "moment", "log_det"):
        assert np.allclose(getattr(pool, name)[clusters], getattr(again, name)[clusters], atol=1e-10), name
    lower = np.tril(pool.chol[clusters]), np.tril(again.chol[clusters])
    assert np.allclose(*lower, atol=1e-10)


def test_a_full_pool_stops_the_sweep_and_a_larger_one_goes_on():
    rng = np.random.default_rng(0)
    x = 100.0 * rng.normal(size=(30, 2))
    setting, _ = setting_of("single", 2, start="sequential", n_split_merge=0)
    sampler = gs.NestedGibbs(x, setting)
    hyper = sampler.hyper(np.array([1e6, 1.0]), setting.low)
    z = np.full(30, -1)
    pool = sampler._filled(sampler.x, z, np.zeros(0, np.int64), hyper, 4)
    stopped = seating.sweep(rng, x, 0, z, pool, hyper)
    assert 0 < stopped < 30
    assert (z[stopped:] == -1).all()
    many = gs.NestedGibbs(x, setting._replace(concentration=(1e6, 0.0)))
    state, info = many.step(rng, many.init(rng))
    assert state.subcluster.min() == 0
    assert info["n_subclusters"] > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_on_many_rows_seats_a_sample_well_and_the_first_sweep_all(kind):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=1200)
    x = 8.0 * np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[truth] + 0.5 * rng.normal(size=(1200, 2))
    setting, _ = setting_of(kind, 2, start="sequential")
    sampler = gs.NestedGibbs(x, setting)
    state = sampler.init(rng)
    seated = state.subcluster >= 0
    assert seated.sum() == gs.N_SAMPLE
    assert adjusted_rand_score(truth[seated], state.subcluster[seated]) > 0.9
    state, _ = sampler.step(rng, state)
    assert (state.subcluster >= 0).all()
    assert adjusted_rand_score(truth, state.subcluster) > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3])
def test_log_joint_equals_the_dense_one(kind, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(12, d))
    setting, prior = setting_of(kind, d)
    sampler = gs.NestedGibbs(x, setting)
    for _ in range(4):
        z, g = a_state(rng, 12, kind)
        blocks = bl.summarise(x, z, len(g))
        state = gs.NestedClusters(z, g, np.array([0.8, 1.3]), setting.low)
        dense = reference.log_prior(z, g, kind, 0.8, 1.3) + reference.log_likelihood(x, z, g, prior)
        assert sampler.log_joint(state, blocks) == pytest.approx(dense, abs=1e-10)


def test_drawing_an_index_follows_the_weights():
    rng = np.random.default_rng(0)
    log_weight = np.log([0.2, 0.5, 0.3])
    drawn = [seating.draw_index(rng, log_weight + 700.0, 3) for _ in range(4000)]
    assert np.allclose(np.bincount(drawn) / 4000, [0.2, 0.5, 0.3], atol=0.03)
    assert seating.draw_index(rng, np.array([-np.inf, 0.0]), 2) == 1


def test_each_kernel_has_one_signature():
    from arbora.models.gaussian.kernels import split_merge as sm

    rng = np.random.default_rng(0)
    for kind in KINDS:
        for d in (1, 3):
            setting, _ = setting_of(kind, d)
            sampler = gs.NestedGibbs(rng.normal(size=(20, d)), setting)
            state = sampler.init(rng)
            for _ in range(2):
                state, _ = sampler.step(rng, state)
    for kernel in (
        seating.sweep,
        ng.build,
        sm.split_merge,
        sm._propose,
        bl.seat_blocks,
        bl.cluster_score,
        bl.draw_scales,
    ):
        if hasattr(kernel, "signatures"):  # not if uncompiled
            assert len(kernel.signatures) <= 1, kernel.__name__  # none where a cached caller holds it
