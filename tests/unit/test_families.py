"""Families of content: densities, modes, draws and marginals against other libraries, with bugs that must be found."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, sparse, stats

from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions.bag import Bag
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.flag import Flag, Hits
from arbora.models.hidden_tree.emissions.gaussian import Gaussian, Moments, Normal
from arbora.models.hidden_tree.emissions.poisson import Poisson

PRIOR = 1.3
FAMILIES = {
    "gaussian": Gaussian(0.5, 0.8, 0.3, 3.0),
    "poisson": Poisson(0.4),
    "flag": Flag(),
    "categorical": Categorical(3, ("p", "q", "r")),
    "bag": Bag(3, ("p", "q", "r")),
}


def values_of(name, rng, n, missing=0.25):
    """Values of a column, some of them missing."""
    gone = rng.random(n) < missing
    if name == "gaussian":
        return np.where(gone, np.nan, rng.normal(rng.normal(), 0.5 + rng.random(), n))
    if name == "poisson":
        return np.where(gone, np.nan, rng.poisson(2.0, n))
    if name == "flag":
        return np.where(gone, np.nan, rng.random(n) < 0.3)
    if name == "categorical":
        return np.where(gone, -1, rng.integers(3, size=n)).astype(np.int32)
    return sparse.csr_array(np.where(gone[:, None], 0.0, rng.poisson(0.8, (n, 3))))


def statistics_of(family, values, weight):
    """Statistics of weighted values in one state."""
    made = tm.mapped(lambda table: np.zeros((*table.shape, 1)), family.statistics_tables(1))
    family.add_statistics(values, weight[:, None, None], made)
    return made


def moved(rng, params):
    """Parameters nearby, legal ones."""

    def move(x):
        y = x * np.exp(1e-3 * rng.standard_normal(x.shape))
        return y / y.sum(axis=0) if x.ndim == 3 else y

    if isinstance(params, Normal):
        return Normal(params.mean + 1e-3 * rng.standard_normal(params.mean.shape), move(params.variance))
    return move(params)


def finds_better(family, name, seed):
    """Whether parameters near the mode are better: they never are."""
    rng = np.random.default_rng(seed)
    n = 1 + seed * 3
    values, weight = values_of(name, rng, n), rng.random(n)
    mode = family.mode(statistics_of(family, values, weight), None, PRIOR)

    def objective(params):
        reference = FAMILIES[name]
        return float(
            (reference.log_density(values, params)[:, 0, 0] * weight).sum() + reference.log_prior(params, PRIOR)[0]
        )

    best = objective(mode)
    return any(objective(moved(rng, mode)) > best + 1e-12 * abs(best) for _ in range(20))


@pytest.mark.parametrize("name", FAMILIES)
def test_modes_cannot_be_bettered(name):
    assert not any(finds_better(FAMILIES[name], name, seed) for seed in range(30))


@pytest.mark.parametrize("name", FAMILIES)
def test_expected_log_density_and_missing_values(name):
    rng = np.random.default_rng(1)
    family, n = FAMILIES[name], 40
    values, weight = values_of(name, rng, n), rng.random((n, 2, 3))
    params = family.draw(rng, 2, 3, 1.0)
    made = tm.mapped(lambda table: np.zeros((*table.shape, 3)), family.statistics_tables(2))
    family.add_statistics(values, weight, made)
    density = family.log_density(values, params)
    np.testing.assert_allclose(family.expected(made, params), (density * weight).sum(axis=(0, 1)), rtol=1e-10)
    gone = values_of(name, rng, n, missing=1.0)
    assert not family.log_density(gone, params).any()
    made = tm.mapped(lambda table: np.zeros((*table.shape, 3)), family.statistics_tables(2))
    family.add_statistics(gone, weight, made)
    assert not any(np.any(x) for x in tm.named(made).values())
    halves = tm.mapped(lambda table: np.zeros((*table.shape, 3)), family.statistics_tables(2))
    for part in (slice(0, 17), slice(17, n)):  # statistics add
        family.add_statistics(values[part], weight[part], halves)
    whole = tm.mapped(lambda table: np.zeros((*table.shape, 3)), family.statistics_tables(2))
    family.add_statistics(values, weight, whole)
    for one, two in zip(tm.named(halves).values(), tm.named(whole).values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_densities_are_those_of_scipy_and_sum_to_one():
    rng = np.random.default_rng(2)
    gaussian, poisson = FAMILIES["gaussian"], FAMILIES["poisson"]
    normal, rate = gaussian.draw(rng, 2, 1, 1.0), poisson.draw(rng, 2, 1, 1.0)
    x = rng.normal(0, 3, 20)
    wanted = stats.norm.logpdf(x[:, None], normal.mean[:, 0], np.sqrt(normal.variance[:, 0]))
    np.testing.assert_allclose(gaussian.log_density(x, normal)[:, :, 0], wanted, rtol=1e-12)
    count = np.arange(200.0)
    wanted = stats.poisson.logpmf(count[:, None], rate[:, 0])
    np.testing.assert_allclose(poisson.log_density(count, rate)[:, :, 0], wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.exp(poisson.log_density(count, rate)).sum(axis=0), 1.0, atol=1e-12)
    span = 12 * np.sqrt(normal.variance[0, 0])
    one = Normal(normal.mean[:1], normal.variance[:1])
    area, _ = integrate.quad(
        lambda value: float(np.exp(gaussian.log_density(np.array([value]), one)[0, 0, 0])),
        one.mean[0, 0] - span, one.mean[0, 0] + span, epsabs=1e-12,
    )  # fmt: skip
    assert area == pytest.approx(1.0, abs=2e-10)


def by_quadrature(name, values):
    """Log of the integral of the likelihood over the prior, which scipy writes."""
    family = FAMILIES[name]
    if name == "flag":
        known = values[~np.isnan(values)]
        prior = stats.beta(PRIOR, PRIOR)
        return np.log(
            integrate.quad(lambda p: prior.pdf(p) * stats.bernoulli.pmf(known, p).prod(), 0, 1, epsabs=1e-13)[0]
        )
    if name == "poisson":
        known = values[~np.isnan(values)]
        prior = stats.gamma(family.shape, scale=1.0 / family.rate)
        return np.log(
            integrate.quad(lambda r: prior.pdf(r) * stats.poisson.pmf(known, r).prod(), 0, 60, epsabs=1e-14)[0]
        )
    if name == "gaussian":
        known = values[~np.isnan(values)]
        variances = stats.invgamma(family.dof / 2, scale=family.dof * family.scale / 2)

        def inner(log_variance):
            variance = np.exp(log_variance)
            means = stats.norm(family.centre, np.sqrt(variance / family.strength))
            middle, width = known.mean(), 12 * np.sqrt(variance / len(known))
            mean = np.linspace(middle - width, middle + width, 2001)
            logs = means.logpdf(mean) + stats.norm.logpdf(known[:, None], mean, np.sqrt(variance)).sum(axis=0)
            return np.trapezoid(np.exp(logs), mean) * variances.pdf(variance) * variance

        return np.log(integrate.quad(inner, -12, 12, epsabs=1e-14, limit=400)[0])
    counts = np.asarray(values.sum(axis=0)).ravel() if name == "bag" else np.bincount(values[values >= 0], minlength=3)

    def on_simplex(q, p):
        r = 1.0 - p - q
        if r <= 0:
            return 0.0
        return stats.dirichlet.pdf([p, q, r], [PRIOR] * 3) * p ** counts[0] * q ** counts[1] * r ** counts[2]

    return np.log(integrate.dblquad(on_simplex, 0, 1, 0, lambda p: 1 - p, epsabs=1e-11)[0])


def marginal_is_wrong(family, name):
    """Whether the marginal differs from the integral."""
    rng = np.random.default_rng(3)
    values = values_of(name, rng, 5)
    found = float(family.log_marginal(statistics_of(family, values, np.ones(5)), PRIOR)[0, 0])
    return abs(found - by_quadrature(name, values)) > 1e-6


@pytest.mark.parametrize("name", FAMILIES)
def test_marginals_equal_quadrature(name):
    assert not marginal_is_wrong(FAMILIES[name], name)


def draws_are_wrong(family, name):
    """Whether the mean density of a new value over posterior draws differs from the ratio of marginals: |z| > 4.5."""
    rng = np.random.default_rng(4)
    n = 20_000
    values = values_of(name, rng, 12)
    made = statistics_of(family, values, np.ones(12))
    copied = tm.mapped(lambda x: np.repeat(x, n, axis=-1), made)
    drawn = family.draw(rng, 1, n, PRIOR, copied)
    worst = 0.0
    for _ in range(4):
        new = values_of(name, rng, 1, missing=0.0)
        density = np.exp(FAMILIES[name].log_density(new, drawn)[0, 0])
        both = statistics_of(FAMILIES[name], new, np.ones(1))
        joint = tm.mapped(np.add, statistics_of(FAMILIES[name], values, np.ones(12)), both)
        before = FAMILIES[name].log_marginal(statistics_of(FAMILIES[name], values, np.ones(12)), PRIOR)
        wanted = np.exp(float((FAMILIES[name].log_marginal(joint, PRIOR) - before)[0, 0]))
        error = density.std() / np.sqrt(n)
        worst = max(worst, abs(density.mean() - wanted) / error if error > 0 else 0.0)
    return worst > 4.5


@pytest.mark.parametrize("name", FAMILIES)
def test_draws_have_the_density_that_marginals_say(name):
    assert not draws_are_wrong(FAMILIES[name], name)


# ---- bugs that the checks above must find ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ModeOfVarianceAlone(Gaussian):
    def mode(self, statistics, params, prior):
        _, mean, shape, rate = self._posterior(statistics)
        return Normal(mean, rate / (shape + 1.0))


@dataclass(frozen=True)
class SquareOverN(Gaussian):
    def _posterior(self, statistics):
        strength, mean, shape, _ = super()._posterior(statistics)
        n, first, second = statistics
        return strength, mean, shape, 0.5 * (self.dof * self.scale + second - first**2 / np.maximum(n, 1e-9))


@dataclass(frozen=True)
class NotCentred(Gaussian):
    def add_statistics(self, values, sums, statistics_out):
        Gaussian(0.0, self.scale).add_statistics(values, sums, statistics_out)


@dataclass(frozen=True)
class MissingIsZero(Gaussian):
    def add_statistics(self, values, sums, statistics_out):
        super().add_statistics(np.nan_to_num(values), sums, statistics_out)


@dataclass(frozen=True)
class PriorTwice(Gaussian):
    def _posterior(self, statistics):
        n, first, second = statistics
        return super()._posterior(Moments(n + self.strength, first, second))


@dataclass(frozen=True)
class MeanTooWide(Gaussian):
    def draw(self, rng, n_states, n_components, prior, statistics=None):
        drawn = super().draw(rng, n_states, n_components, prior, statistics)
        _, mean, _, _ = self._posterior(statistics)
        return Normal(mean + rng.standard_normal(mean.shape) * np.sqrt(drawn.variance), drawn.variance)


@dataclass(frozen=True)
class MeanNotMode(Poisson):
    def mode(self, statistics, params, prior):
        return (statistics.total + self.shape) / (statistics.weight + self.rate)


@dataclass(frozen=True)
class RateForgotten(Poisson):
    def draw(self, rng, n_states, n_components, prior, statistics=None):
        return rng.standard_gamma(self.shape + statistics.total) / np.maximum(statistics.weight, 0.1)


@dataclass(frozen=True)
class NoFactorial(Poisson):
    def log_marginal(self, statistics, prior):
        return super().log_marginal(statistics._replace(log_factorial=0.0), prior)


@dataclass(frozen=True)
class PriorHalf(Flag):
    def mode(self, statistics, params, prior):
        return super().mode(statistics, params, 1.0 + (prior - 1.0) / 2)


@dataclass(frozen=True)
class HitsForMisses(Flag):
    def draw(self, rng, n_states, n_components, prior, statistics=None):
        return super().draw(
            rng, n_states, n_components, prior, Hits(statistics.weight, statistics.weight - statistics.hits)
        )


@dataclass(frozen=True)
class PriorOneTooMuch(Categorical):
    def mode(self, statistics, params, prior):
        return super().mode(statistics, params, prior + 1.0)


@dataclass(frozen=True)
class FlatDraw(Categorical):
    def draw(self, rng, n_states, n_components, prior, statistics=None):
        return super().draw(rng, n_states, n_components, 2.0 * prior, statistics)


@dataclass(frozen=True)
class TotalsOfRows(Bag):
    def log_marginal(self, statistics, prior):
        return super().log_marginal(np.minimum(statistics, 1.0), prior)


GAUSSIAN = (0.5, 0.8, 0.3, 3.0)
WORDS = (3, ("p", "q", "r"))


@pytest.mark.parametrize(
    ("bug", "name", "check"),
    [
        (ModeOfVarianceAlone(*GAUSSIAN), "gaussian", "mode"),
        (SquareOverN(*GAUSSIAN), "gaussian", "mode"),
        (NotCentred(*GAUSSIAN), "gaussian", "mode"),
        (MissingIsZero(*GAUSSIAN), "gaussian", "mode"),
        (PriorTwice(*GAUSSIAN), "gaussian", "mode"),
        (PriorTwice(*GAUSSIAN), "gaussian", "marginal"),
        (MeanTooWide(*GAUSSIAN), "gaussian", "draws"),
        (MeanNotMode(0.4), "poisson", "mode"),
        (RateForgotten(0.4), "poisson", "draws"),
        (NoFactorial(0.4), "poisson", "marginal"),
        (PriorHalf(), "flag", "mode"),
        (HitsForMisses(), "flag", "draws"),
        (PriorOneTooMuch(*WORDS), "categorical", "mode"),
        (FlatDraw(*WORDS), "categorical", "draws"),
        (TotalsOfRows(*WORDS), "bag", "marginal"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_planted_bugs_are_found(bug, name, check):
    if check == "mode":
        assert any(finds_better(bug, name, seed) for seed in range(30))
    elif check == "marginal":
        assert marginal_is_wrong(bug, name)
    else:
        assert draws_are_wrong(bug, name)


def test_bags_can_be_capped():
    long = sparse.csr_array(np.array([[30.0, 10.0, 0.0], [1.0, 1.0, 0.0]]))
    capped = Bag(3, ("p", "q", "r"), 20)
    params = capped.draw(np.random.default_rng(0), 2, 1, 1.0)
    plain = FAMILIES["bag"].log_density(long, params)
    np.testing.assert_allclose(capped.log_density(long, params), plain * np.array([0.5, 1.0])[:, None, None])
    made = statistics_of(capped, long, np.ones(2))
    assert made.sum() == pytest.approx(22.0)


def test_families_are_read_from_headers():
    from arbora.models.hidden_tree.emissions import emission_of
    from arbora.models.hidden_tree.emissions.columns import Columns

    columns = Columns((("label", Categorical(4)), *FAMILIES.items()))
    assert emission_of(columns.header()) == columns
    without = Columns(tuple(FAMILIES.items()), 4)
    assert emission_of(without.header()) == without
    assert without.n_labels == columns.n_labels == 4
    for bad in (["poisson", -1.0], ["categorical", 2, ["a"]], ["categorical", 2, ["a", "a"]], ["bag", 1, ["a"], -3]):
        with pytest.raises(ValueError, match=r"sense|above zero"):
            emission_of({"x": bad})
