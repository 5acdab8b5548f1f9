"""R-hat and effective sample sizes against slow twins, against ArviZ, and on chains whose faults are planted."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbora.inference import convergence
from tests.reference import convergence as twin

FIGURES = ["rhat", "ess_bulk", "ess_tail"]


def arviz_figures(draws):
    """What ArviZ, of either generation, finds: R-hat, bulk and tail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version when imported
        arviz = pytest.importorskip("arviz", reason="ArviZ is not installed; it is in the `mcmc` extra")
        tail = {} if arviz.__version__.startswith("0.") else {"prob": (0.05, 0.95)}
        parts = (
            arviz.rhat(draws, method="rank"),
            arviz.ess(draws, method="bulk"),
            arviz.ess(draws, method="tail", **tail),
        )
    return [float(np.asarray(x)) for x in parts]


def wandering(rng, shape, memory):
    """Chains that forget slowly: x' = memory x + noise."""
    draws = rng.normal(size=shape)
    for t in range(1, shape[-1]):
        draws[..., t] += memory * draws[..., t - 1]
    return draws


CHAINS = {
    "independent": lambda rng: rng.normal(size=(4, 100)),
    "odd number": lambda rng: rng.normal(size=(3, 41)),
    "slow": lambda rng: wandering(rng, (4, 200), 0.95),
    "alternating": lambda rng: wandering(rng, (4, 100), -0.9),
    "one chain": lambda rng: wandering(rng, (1, 60), 0.5),
    "shortest": lambda rng: rng.normal(size=(2, 4)),
    "five draws": lambda rng: rng.normal(size=(2, 5)),
    "apart": lambda rng: rng.normal([[0.0], [0.0], [3.0]], size=(3, 50)),
    "wider": lambda rng: rng.normal(size=(3, 50)) * [[1.0], [1.0], [5.0]],
    "no mean": lambda rng: rng.standard_cauchy((4, 80)),
    "one stands still": lambda rng: np.where([[True], [False]], rng.normal(size=(2, 40)), 0.3),
    "huge": lambda rng: rng.normal(size=(2, 30)) * 1e300,
    "offset": lambda rng: 1e9 + rng.normal(size=(2, 30)),
}
TIES = {
    "coin": lambda rng: rng.integers(0, 2, (4, 50)) * 1.0,
    "few values": lambda rng: rng.integers(0, 4, (2, 33)) * 1.0,
    "rare": lambda rng: (rng.random((4, 60)) < 0.02) * 1.0,
}


@pytest.mark.parametrize("name", [*CHAINS, *TIES])
@pytest.mark.parametrize("figure", FIGURES)
def test_equals_the_twin(name, figure):
    draws = (CHAINS | TIES)[name](np.random.default_rng(0))
    wanted = getattr(twin, figure)(draws.tolist())
    np.testing.assert_allclose(getattr(convergence, figure)(draws), wanted, rtol=1e-9, atol=0)


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.integers(4, 13).flatmap(
            lambda m: st.lists(
                st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.0]), min_size=m, max_size=m), min_size=n, max_size=n
            )
        )
    )
)
def test_equals_the_twin_on_a_few_values(draws):
    for figure in FIGURES:
        wanted, found = getattr(twin, figure)(draws), getattr(convergence, figure)(draws)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CHAINS)
def test_equals_arviz(name, seed):
    draws = CHAINS[name](np.random.default_rng(seed))
    found = [getattr(convergence, figure)(draws) for figure in FIGURES]
    wanted = arviz_figures(draws)
    if len(draws) == 1:
        found[0] = wanted[0] = None  # ArviZ has no R-hat of one chain, though it has halves
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", TIES)
def test_equals_arviz_with_ties(name):
    """But for the tails: ArviZ interpolates between equal draws, and may miss them all by rounding."""
    draws = TIES[name](np.random.default_rng(0))
    found = [convergence.rhat(draws), convergence.ess_bulk(draws)]
    np.testing.assert_allclose(found, arviz_figures(draws)[:2], rtol=1e-9, atol=0)


def test_quantities_side_by_side_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    draws = np.stack(
        [rng.normal(size=(3, 21)), rng.integers(0, 3, (3, 21)), np.ones((3, 21)), wandering(rng, (3, 21), 0.9)]
    )
    for figure in FIGURES:
        function = getattr(convergence, figure)
        np.testing.assert_array_equal(function(draws), [function(one) for one in draws])
        np.testing.assert_array_equal(function(draws.reshape(2, 2, 3, 21)), function(draws).reshape(2, 2))
        assert function(draws[:0]).shape == (0,)


def test_what_stands_still():
    same, apart = np.full((3, 40), 0.1), np.repeat([[0.1], [0.1], [0.2]], 40, axis=1)
    jump = np.tile(np.repeat([0.1, 0.7], 20), (3, 1))  # all chains, and at their middle
    assert np.isnan([getattr(convergence, figure)(same) for figure in FIGURES]).all()
    assert convergence.rhat(apart) == np.inf
    assert convergence.rhat(jump) == np.inf
    assert convergence.ess_bulk(apart) < 10
    assert convergence.ess_tail(apart) < 10


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_has_no_figures_and_spoils_no_other(bad):
    draws = np.random.default_rng(0).normal(size=(2, 3, 20))
    spoilt = draws.copy()
    spoilt[0, 1, 7] = bad
    for figure in FIGURES:
        found = getattr(convergence, figure)(spoilt)
        assert np.isnan(found[0])
        assert found[1] == getattr(convergence, figure)(draws)[1]


def test_planted_faults_are_found():
    """Good chains pass; a shift, another spread, a drift and slow mixing each fail the figure made for it."""
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 500))
    assert convergence.rhat(good) < 1.01
    assert convergence.ess_bulk(good) > 1500
    assert convergence.ess_tail(good) > 1200
    assert convergence.rhat(good + np.array([[0], [0], [0], [1]])) > 1.05
    assert convergence.rhat(good * [[1], [1], [1], [3]]) > 1.05  # only the folded draws see this
    assert convergence.rhat(good + np.linspace(0, 2, 500)) > 1.05  # only halves see this
    slow = wandering(rng, (4, 500), 0.9)
    exact = 2000 * (1 - 0.9) / (1 + 0.9)
    assert 0.6 * exact < convergence.ess_bulk(slow) < 1.7 * exact
    sticky = np.where(np.abs(good) > 1.5, np.repeat(good[:, ::25], 25, axis=1) + 4, good)  # the tails move rarely
    assert convergence.ess_tail(sticky) < convergence.ess_bulk(sticky)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 8), (2, 0)])
def test_too_few_draws_are_refused(shape):
    with pytest.raises(ValueError, match=r"wanted \[..., chain, draw\] with 4 draws or more"):
        convergence.rhat(np.zeros(shape))


def test_long_chains():
    draws = np.random.default_rng(0).normal(size=(4, 50_000))
    assert convergence.rhat(draws) < 1.001
    assert 150_000 < convergence.ess_bulk(draws) < 260_000
