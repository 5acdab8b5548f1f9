"""The sampler of hierarchies: every kernel against its twin, with the same random numbers."""

import numpy as np
import pytest
from scipy import stats

from arbora.models.bhmc.kernels import bhmc_weights, directions, margin
from arbora.models.bhmc.kernels.mixture_tree import EXACT, OWN, PAPER, SweepSettings
from arbora.models.bhmc.kernels.random_draws import draw_augment
from arbora.models.bhmc.sampler import HierarchySampler
from tests.reference.bhmc import Twin


def setting(regularization=0.3, procedure=EXACT, branching=3, margin=1.0, path_concentration=1.5):
    return SweepSettings(path_concentration, 1.3, 0.9, regularization, margin, 1.2, branching, procedure)


def data(n=14, d=2, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((n, d)) + 2.0 * rng.integers(-1, 2, (n, 1))


def sampler(X, setting, depth=2, intercept=True):
    return HierarchySampler(X, depth, setting, (1.0, 2.0), intercept=intercept)


def assert_same(state, twin):
    """The kernel's state is that of the twin: same tree, same seats, same numbers."""
    theirs = Twin.of(twin.X, state, twin.setting)
    assert theirs.component == twin.component
    mine, other = theirs.root.breadth_first(), twin.root.breadth_first()
    assert [node.below for node in mine] == [node.below for node in other]
    assert [mine.index(leaf) for leaf in theirs.leaf] == [other.index(leaf) for leaf in twin.leaf]
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose([*a.weight, a.rest], [*b.weight, b.rest], rtol=1e-10, atol=1e-290)
        np.testing.assert_allclose(a.direction, b.direction, rtol=1e-10, atol=1e-10)


CASES = [
    (False, EXACT, 0.0),
    (False, EXACT, 0.3),
    (True, EXACT, 0.0),
    (True, EXACT, 0.3),
    (True, OWN, 0.3),
    (True, PAPER, 0.3),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("nested", "procedure", "regularization"), CASES)
def test_sweeps_are_those_of_the_twin(nested, procedure, regularization, intercept):
    X, s = data(), setting(regularization, procedure, 0 if nested else 3)
    chain = sampler(X, s, intercept=intercept)
    state = chain.init(np.random.default_rng(1))
    for seed in range(12):
        twin = Twin.of(X, state, s)
        rcdll = twin.sweep(np.random.default_rng(seed))
        state, info = chain.step(np.random.default_rng(seed), state)
        assert_same(state, twin)
        assert info["log_joint"] == pytest.approx(rcdll, rel=1e-10)


@pytest.mark.parametrize("nested", [False, True])
def test_books_are_kept_over_many_sweeps(nested):
    """Counts, sums and links are what paths and components say; weights of a node sum to one."""
    X, s = data(30, 3), setting(0.2, branching=0 if nested else 3, path_concentration=3.0)
    chain = sampler(X, s, depth=3)
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    for _ in range(200):
        state, _ = chain.step(rng, state)
    k = state.n_components[0]
    np.testing.assert_array_equal(state.size[:k], np.bincount(state.component, minlength=k))
    np.testing.assert_allclose(state.total[:k], [X[state.component == j].sum(axis=0) for j in range(k)], atol=1e-9)
    queue = chain._queue(state)
    below = np.bincount(state.path.reshape(-1), minlength=len(state.rest))
    below[0] = len(X)
    np.testing.assert_array_equal(state.below[queue], below[queue])
    np.testing.assert_allclose(state.weight[queue, :k].sum(axis=1) + state.rest[queue], 1.0, rtol=1e-12)
    np.testing.assert_array_equal(state.parent[state.path[:, 1:]], state.path[:, :-1])
    if nested:
        in_use = set(queue.tolist())
        free = set(state.free[: state.n_free[0]].tolist())
        assert in_use.isdisjoint(free)
        assert len(in_use) + len(free) == len(state.rest)
        assert (state.below[queue] > 0).all()


def test_the_arrays_of_components_grow():
    """More components than there is room for at first, in the midst of a sweep."""
    X = 50.0 * np.random.default_rng(0).standard_normal((40, 2))
    chain = HierarchySampler(X, 2, setting(0.0), (1.0, 2500.0))
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    for _ in range(20):
        state, info = chain.step(rng, state)
    assert info["n_components"] > 20
    assert state.weight.shape[1] > 20


def test_far_data_are_seated_by_logarithms():
    """Densities that underflow, even as ratios, leave finite numbers and separate components."""
    X = np.array([[0.0], [1e6], [1e6 + 1.0], [-1e8]])
    chain = sampler(X, setting(0.1))
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    for _ in range(50):
        state, info = chain.step(rng, state)
        assert np.isfinite(list(info.values())).all()
    assert state.component[1] == state.component[2]
    assert len(set(state.component[[0, 1, 3]].tolist())) == 3


@pytest.mark.parametrize("b", [0.0, 1e-3, 0.3, 1.0, 7.0, 50.0])
def test_augmentation_is_generalised_inverse_gaussian(b):
    rng = np.random.default_rng(3)
    drawn = np.array([draw_augment(rng, b) for _ in range(4000)])
    if b > 0:  # GIG(1/2, 1, b^2) is one over an inverse Gaussian
        assert stats.kstest(1.0 / drawn, stats.invgauss(1.0 / b).cdf).pvalue > 1e-3
    else:
        assert stats.kstest(drawn, stats.chi2(1).cdf).pvalue > 1e-3


def test_total_hinge_and_violations_agree():
    X = data()
    for branching in (0, 3):
        s = setting(branching=branching)
        state = sampler(X, s).init(np.random.default_rng(2))
        worst = np.empty(state.path.shape)
        directions.fill_violations(X, state, s.margin, worst)
        twin = Twin.of(X, state, s)
        assert np.maximum(worst.max(axis=1), 0.0).sum() == pytest.approx(twin.total_hinge(), rel=1e-12)
        assert margin.total_hinge(X, state, s.margin) == pytest.approx(twin.total_hinge(), rel=1e-12)


def test_variances_follow_their_posterior():
    """Inverse-gamma given means: mean and spread of many draws."""
    X = data(40, 3)
    s = setting(0.0)._replace(within_prior=(3.0, 2.0), between_prior=(4.0, 5.0))
    chain = HierarchySampler(X, 2, s, (1.0, 2.0))
    rng = np.random.default_rng(0)
    state = chain.init(rng)
    mean = np.empty((state.n_components[0], 3))
    bhmc_weights.draw_means(rng, state, mean)
    drawn = np.empty((4000, 2))
    for row in drawn:
        bhmc_weights.draw_variances(rng, X, mean, state, s)
        row[:] = state.variance
    within = stats.invgamma(3.0 + 60.0, scale=2.0 + 0.5 * ((X - mean[state.component]) ** 2).sum())
    between = stats.invgamma(4.0 + 1.5 * len(mean), scale=5.0 + 0.5 * (mean**2).sum())
    assert stats.kstest(drawn[:, 0], within.cdf).pvalue > 1e-3
    assert stats.kstest(drawn[:, 1], between.cdf).pvalue > 1e-3
