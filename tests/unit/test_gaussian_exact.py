"""The samplers of DPGaussianMixture and NHCM leave the posterior invariant: enumeration, Geweke, and planted errors."""

import numpy as np
import pytest

from arbora.models.gaussian import sampler as gs
from arbora.models.gaussian.kernels.split_merge import split_merge
from arbora.models.gaussian.nhcm_paper import PaperProcedure
from tests.reference import nested_gaussian as reference
from tests.unit.test_gaussian_kernels import setting_of

pytestmark = pytest.mark.compiled
A0, A1 = 0.8, 1.3


def frequencies(sampler, n_sweeps, seed):
    """Share of each state among the sweeps of one chain."""
    rng = np.random.default_rng(seed)
    state, seen = sampler.init(rng), {}
    for _ in range(n_sweeps):
        state, _ = sampler.step(rng, state)
        key = reference.canonical(state.subcluster, state.cluster)
        seen[key] = seen.get(key, 0) + 1
    return {key: count / n_sweeps for key, count in seen.items()}


def distance(found, truth):
    """Total variation."""
    return 0.5 * sum(abs(found.get(key, 0.0) - p) for key, p in truth.items()) + 0.5 * sum(
        p for key, p in found.items() if key not in truth
    )


def noise(truth, n):
    """Mean total variation of n independent draws, roughly: sum of mean absolute deviations."""
    p = np.array(list(truth.values()))
    return 0.5 * np.sqrt(2.0 * p * (1 - p) / (np.pi * n)).sum()


def data(n):
    return np.random.default_rng(1).normal(size=(n, 2)) * 1.6


@pytest.mark.parametrize(("n_split_merge", "n_scans"), [(0, 0), (6, 0), (6, 2)])
@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_frequencies_of_all_states_are_the_enumerated_posterior(kind, n_split_merge, n_scans):
    x = data(4)
    setting, prior = setting_of(kind, 2, n_split_merge=n_split_merge, n_scans=n_scans, start="one")
    truth = reference.posterior(x, kind, A0, A1, prior)
    found = frequencies(gs.NestedGibbs(x, setting), 3000, 3)
    assert distance(found, truth) < 1.6 * noise(truth, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_frequencies_of_five_data(kind):
    x = data(5)
    setting, prior = setting_of(kind, 2, start="one")
    truth = reference.posterior(x, kind, A0, A1, prior)
    found = frequencies(gs.NestedGibbs(x, setting), 60_000, 3)
    assert distance(found, truth) < 1.4 * noise(truth, 60_000)


@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_without_data_the_prior_comes_out(kind):
    x = data(4)
    setting, prior = setting_of(kind, 2, temper=0.0)
    truth = reference.posterior(x, kind, A0, A1, prior, temper=0.0)
    assert sum(truth.values()) == pytest.approx(1.0)
    found = frequencies(gs.NestedGibbs(x, setting), 3000, 4)
    assert distance(found, truth) < 1.6 * noise(truth, 3000)


class WrongNewCluster(gs.NestedGibbs):
    """Planted: a new cluster weighs a quarter of what it should."""

    def hyper(self, concentration, scales):
        return super().hyper(concentration, scales)._replace(cluster_concentration=0.25 * concentration[0])


class WrongPredictive(gs.NestedGibbs):
    """Planted: the Student's constant of a sub-cluster grows with its data."""

    def hyper(self, concentration, scales):
        hyper = super().hyper(concentration, scales)
        return hyper._replace(log_predictive=hyper.log_predictive + 0.5 * np.arange(len(self.x) + 1))


class OnlySplits(gs.NestedGibbs):
    """Only splits and mergers move data: what Gibbs would mend shows."""

    def _move_data(self, rng, x, state):
        hyper = self.hyper(state.concentration, state.scales)
        z = state.subcluster.copy()
        pool = self._filled(self.x, z, state.cluster, hyper, 2 * len(state.cluster) + 40)
        tries = 12
        while tries:
            made, accepted = split_merge(rng, self.x, z, pool, self.proposal(hyper), (tries, 1))
            tries -= made
            if accepted:
                pool = self._filled(self.x, z, pool.home, hyper, len(pool.home))
        used, z = np.unique(z, return_inverse=True)
        return z, np.unique(pool.home[used], return_inverse=True)[1], 0

    def proposal(self, hyper):
        return hyper


class WrongSplits(OnlySplits):
    """Planted: the marginal of a cluster has a wrong constant."""

    def proposal(self, hyper):
        return hyper._replace(log_det0=hyper.log_det0 + 1.0)


@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_splits_and_mergers_alone_sample_the_posterior(kind):
    x = data(4)
    setting, prior = setting_of(kind, 2, start="one")
    truth = reference.posterior(x, kind, A0, A1, prior)
    limit = noise(truth, 3000)
    assert distance(frequencies(OnlySplits(x, setting), 3000, 3), truth) < 2.0 * limit
    assert distance(frequencies(WrongSplits(x, setting), 3000, 3), truth) > 2.5 * limit


class WrongBlocks(gs.NestedGibbs):
    """Planted: sub-clusters are seated with a wrong spread."""

    def step(self, rng, state):
        after, told = super().step(rng, state._replace(scales=state.scales * [1.0, 1.0, 8.0]))
        return after._replace(scales=state.scales), told


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [("single", WrongNewCluster), ("nested", WrongNewCluster), ("single", WrongPredictive), ("flat", WrongBlocks)],
)
def test_planted_errors_are_caught(kind, wrong):
    x = data(4)
    setting, prior = setting_of(kind, 2, n_split_merge=0, start="one")
    truth = reference.posterior(x, kind, A0, A1, prior)
    found = frequencies(wrong(x, setting), 3000, 3)
    assert distance(found, truth) > 2.0 * noise(truth, 3000)


def test_the_papers_procedure_does_not_sample_its_model():
    x = data(4)
    setting, prior = setting_of("flat", 2, start="one")
    truth = reference.posterior(x, "flat", A0, A1, prior)
    assert distance(frequencies(PaperProcedure(x, setting), 3000, 3), truth) > 0.1


# ---- Geweke: data and state redrawn in turn leave the joint distribution as it was ---------------------------------


def functionals(z, g, x, state):
    """Bounded numbers of a joint draw."""
    return [
        len(np.unique(z)),
        len(np.unique(np.asarray(g)[z])),
        float(z[0] == z[1]),
        float(np.asarray(g)[z[0]] == np.asarray(g)[z[1]]),
        np.tanh(x[0, 0]),
        np.tanh(np.abs(x).mean()),
        np.tanh(np.abs(x[0] - x[1]).sum()),
        np.log(state.scales[0]),
        np.log(state.scales[1]),
        np.log(state.scales[2] + 1e-3),
        np.log(state.concentration[0]),
    ]


def learning(kind, d):
    """A setting in which scales and concentrations are drawn too."""
    spread = (0.0, 0.0) if kind == "single" else (0.5, 8.0)
    low, high = np.array([0.3, 0.2, spread[0]]), np.array([3.0, 2.0, spread[1]])
    prior = (6.0, 5.0)
    return gs.GibbsSettings(gs.PRIORS[kind], (1.0, 1.0), prior, d + 2.0, np.eye(d), low, high, start="one")


def from_prior(rng, kind, setting, n, d):
    """A joint draw: scales, concentrations, partition, data."""
    free = setting.low < setting.high
    scales = setting.low.copy()
    scales[free] = np.exp(rng.uniform(np.log(setting.low[free]), np.log(setting.high[free])))
    a = rng.gamma(setting.concentration_prior[0], 1.0 / setting.concentration_prior[1], 2)
    prior = {"scale0": scales[0] * np.eye(d), "dof0": setting.dof0, "kappa0": scales[1], "spread": scales[2]}
    z, g, x = reference.sample(rng, n, d, kind, a[0], a[1], prior)
    return z, g, x, gs.NestedClusters(z, g, a, scales)


def geweke(kind, n_prior, n_sweeps, seed, n=4, d=1, sampler=gs.NestedGibbs):
    """z-scores of all functionals: draws from the joint against a chain that redraws state and data in turn."""
    rng = np.random.default_rng(seed)
    setting = learning(kind, d)
    direct = np.array([functionals(*from_prior(rng, kind, setting, n, d)) for _ in range(n_prior)])
    _, _, x, state = from_prior(rng, kind, setting, n, d)
    chained = []
    for _ in range(n_sweeps):
        state, _ = sampler(x, setting).step(rng, state)
        scales = state.scales
        prior = {"scale0": scales[0] * np.eye(d), "dof0": setting.dof0, "kappa0": scales[1], "spread": scales[2]}
        x = reference.rows(rng, state.subcluster, state.cluster, d, prior)
        chained.append(functionals(state.subcluster, state.cluster, x, state))
    batches = np.array(chained[n_sweeps % 30 :]).reshape(30, -1, direct.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / n_prior + batches.var(axis=0, ddof=1) / 30) + 1e-9
    return (direct.mean(axis=0) - batches.mean(axis=0)) / error


@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_geweke(kind):
    assert np.abs(geweke(kind, 3000, 3000, 11)).max() < 4.2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single", "flat", "nested"])
def test_geweke_longer_in_two_dimensions(kind):
    assert np.abs(geweke(kind, 30_000, 30_000, 12, n=5, d=2)).max() < 4.2


class WrongScales(gs.NestedGibbs):
    """Planted: the scales are drawn with a degree of freedom too many.

    A likelihood to the power of a half would not show: scales are locations of log data, and the chain stays symmetric.
    """

    def terms(self, concentration):
        terms = super().terms(concentration)
        return terms._replace(dof0=terms.dof0 + 1.0)


@pytest.mark.slow
def test_geweke_catches_wrong_scales():
    assert np.abs(geweke("flat", 10_000, 10_000, 11, sampler=WrongScales)).max() > 6.0


@pytest.mark.slow
def test_geweke_catches_the_papers_procedure():
    class Paper(PaperProcedure):
        """Algorithm 1, with scales and concentrations held."""

    assert np.abs(geweke("flat", 10_000, 10_000, 11, sampler=Paper)[:7]).max() > 6.0


def test_concentrations_follow_their_posterior():
    """With the partition fixed, the draws of a nested concentration match a numerical integral."""
    rng = np.random.default_rng(0)
    rooms, n_tables, prior = np.array([6, 3, 9]), 7, (2.0, 1.5)
    value, draws = 1.0, []
    for _ in range(20_000):
        value = gs.draw_concentration(rng, value, n_tables, rooms, prior)
        draws.append(value)
    from scipy.special import gammaln

    grid = np.linspace(1e-3, 30, 30_000)
    logs = (prior[0] - 1 + n_tables) * np.log(grid) - prior[1] * grid
    logs += sum(gammaln(grid) - gammaln(grid + n) for n in rooms)
    weight = np.exp(logs - logs.max())
    assert np.mean(draws) == pytest.approx((grid * weight).sum() / weight.sum(), rel=0.03)
