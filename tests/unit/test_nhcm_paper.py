"""Algorithm 1 of Mohamad et al. as the kernel has it, number by number beside the equations of the paper."""

import numpy as np
import pytest

from arbora.models.gaussian.kernels import nhcm_paper as kernel
from arbora.models.gaussian.sampler import NestedGibbs
from tests.reference import nhcm_paper as twin
from tests.unit.test_gaussian_kernels import setting_of

A0, A1 = 0.8, 1.3
N, N_SLOTS = 14, 10
#: Sub-cluster of each datum, with gaps; cluster of each sub-cluster.
SEATS = np.array([0, 0, 0, 2, 2, 2, 2, 3, 5, 5, 6, 6, 6, 0])
HOME = {0: 1, 2: 1, 3: 1, 5: 4, 6: 0}


@pytest.fixture(params=[1, 2, 3], ids=["1 column", "2 columns", "3 columns"])
def model(request):
    """Rows, the prior as kernels see it, and as the twin does."""
    d = request.param
    x = 1.5 * np.random.default_rng(d).normal(size=(N, d))
    setting, prior = setting_of("flat", d)
    state = NestedGibbs(x, setting).init(np.random.default_rng(0))
    return x, NestedGibbs(x, setting).hyper(state.concentration, state.scales), prior


def arrays(x, z):
    """Statistics and room as a sweep makes them."""
    d = x.shape[1]
    cluster = np.zeros(N_SLOTS, np.int64)
    cluster[list(HOME)] = list(HOME.values())
    seats = kernel.Seats(*kernel.empty_seats(z, cluster, d))
    for row, t in zip(x, z, strict=True):
        if t >= 0:
            seats.count[t] += 1
            seats.total[t] += row
            seats.square[t] += np.outer(row, row)
    work = kernel.Work(*kernel.make_work(N_SLOTS, d))
    work.weight[:], work.option[:] = np.nan, -1
    return seats, work


def probability(weight):
    return weight / weight.sum()


@pytest.mark.parametrize("i", [0, 4, 7, 9])
@pytest.mark.parametrize("scope", [1, 4, None])
def test_where_a_datum_goes(model, i, scope):
    """Eqs. (17) to (24): joining each sub-cluster of its cluster, and a new one."""
    x, hyper, prior = model
    z = SEATS.copy()
    z[i] = -1
    options, logs = twin.log_weights_of_datum(x, z, HOME, i, scope, A1, prior)
    seats, work = arrays(x, z)
    weight, option = work.weight, work.option
    n, rng = len(logs), np.random.default_rng(3)
    t = kernel._seat_datum(rng, x, (i, -1 if scope is None else scope), seats, hyper, work)
    assert option[: n - 1].tolist() == options
    assert option[n - 1] == 1  # the first slot that nobody is in
    assert np.isnan(weight[n:]).all()
    np.testing.assert_allclose(probability(weight[:n]), probability(np.exp(logs)), rtol=1e-9, atol=1e-16)
    assert z[i] == t
    assert seats.count[t] == np.count_nonzero(z == t)


@pytest.mark.parametrize("j", [0, 3, 5, 6])
def test_where_a_sub_cluster_goes(model, j):
    """Eqs. (25) to (33): joining each cluster with another sub-cluster, and a new one."""
    x, hyper, prior = model
    options, logs = twin.log_weights_of_sub(x, SEATS, HOME, j, A0, prior)
    seats, work = arrays(x, SEATS.copy())
    weight, option = work.weight, work.option
    n = len(logs)
    kernel._seat_sub(np.random.default_rng(3), x, j, seats, hyper, work)
    assert option[: n - 1].tolist() == options
    assert option[n - 1] == twin.least(options)
    assert np.isnan(weight[n:]).all()
    np.testing.assert_allclose(probability(weight[:n]), probability(np.exp(logs)), rtol=1e-9, atol=1e-16)
    assert seats.cluster[j] in option[:n]


@pytest.mark.parametrize("seed", [0, 1])
def test_sweeps_from_nobody_seated_go_the_same_way(model, seed):
    """With the same random numbers both end in the same groups, the first pass included."""
    x, hyper, prior = model
    mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    z, cluster = np.full(N, -1), np.zeros(N + 2, np.int64)
    seats, home = z.copy(), {}
    for _ in range(4):
        order = mine.permutation(N)
        assert kernel.paper_sweep(mine, x, order, z, cluster, hyper) == N
        seats, home = twin.sweep(theirs, x, theirs.permutation(N), seats, home, A0, A1, prior)
        np.testing.assert_array_equal(z, seats)
        assert {t: int(cluster[t]) for t in home} == home


def test_a_sweep_without_room_says_where_it_stopped(model):
    x, hyper, _ = model
    z, cluster = np.full(N, -1), np.zeros(3, np.int64)
    done = kernel.paper_sweep(np.random.default_rng(0), x, np.arange(N), z, cluster, hyper)
    assert 2 <= done < N
    assert np.count_nonzero(z >= 0) == done
    assert len(np.unique(z[z >= 0])) == 2
