"""Posteriors of the parameters of families, in place of parameters: what variational EM has of each column.

Passes take expected log densities.  Families are conjugate, so a posterior is of the form of its prior, and expected
log densities are of the form of log densities: kernels are the same.  `log_prior` is minus the divergence of the
posterior from the prior, so that the objective of EM is the variational bound.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from .. import dirichlet_rows as rows
from ..tree_model import Table
from .bag import Bag
from .categorical import Categorical
from .flag import Flag
from .gaussian import Gaussian, Moments, Normal
from .poisson import Poisson, Totals
from .wrapped import Wrapped

Floats = NDArray[np.float64]

START_STRENGTH = 100.0  # observations that a start is worth
MOST = 1e300


class WordPosterior(Wrapped):
    """Dirichlet posteriors of codes, flags and bags: parameters are [word, state, component]."""

    def tables(self, at: str, n_states: int) -> Table:
        """Parameters of Dirichlet distributions."""
        return Table(f"{at}.posterior", (self.family.n_words, n_states), most=MOST)

    def log_words(self, params: Floats) -> Floats:
        """Expected log-probability of each word."""
        return rows.expected_log(params, 0)

    def mode(self, statistics: Any, params: Any, prior: float) -> Floats:
        """The posterior given expected counts."""
        return prior + self._counts(statistics)

    def _counts(self, statistics: Any) -> Floats:
        if isinstance(self.family, Flag):
            return np.stack([np.maximum(statistics.weight - statistics.hits, 0.0), statistics.hits])  # rounding
        return np.asarray(statistics)

    def _around(self, point: Floats) -> Floats:
        each = np.stack([1.0 - point, point]) if isinstance(self.family, Flag) else point
        return START_STRENGTH * np.maximum(each, 1e-12)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Close to draws of the family."""
        return self._around(self.family.draw(rng, n_states, n_components, prior, statistics))

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """Close to a start of the family."""
        return self._around(self.family.start(rng, n_states, n_components, values))

    def uniform(self, n_states: int) -> Floats:
        """All words alike."""
        return np.ones((self.family.n_words, n_states, 1))

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Minus the divergence from the prior."""
        return -rows.divergence(params, np.full((1, 1, 1), prior), 0)

    def mean(self, params: Floats) -> Floats:
        """Mean probabilities, as the family has them."""
        mean = rows.mean(params, 0)
        return np.asarray(mean[1]) if isinstance(self.family, Flag) else mean

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""
        return values[:, order] if isinstance(values, np.ndarray) else self.family.in_order(values, order)


class NormalPosterior(NamedTuple):
    """mean | variance ~ N(mean, variance / strength), variance ~ InvGamma(shape, rate); [state, component]."""

    strength: Floats
    mean: Floats
    shape: Floats
    rate: Floats


class GammaPosterior(NamedTuple):
    """rate of a Poisson ~ Gamma(shape, rate); [state, component]."""

    shape: Floats
    rate: Floats


class NumberPosterior(Wrapped):
    """What posteriors of numbers share; parameters are a named tuple of [state, component]."""

    def _around(self, point: Any) -> Any:
        raise NotImplementedError

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Any:
        """Close to draws of the family."""
        return self._around(self.family.draw(rng, n_states, n_components, prior, statistics))

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Any:
        """Close to a start of the family."""
        return self._around(self.family.start(rng, n_states, n_components, values))

    def uniform(self, n_states: int) -> Any:
        """All states alike."""
        return self._around(self.family.uniform(n_states))

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""
        return type(values)(*(x[order] for x in values))


class GaussianPosterior(NumberPosterior):
    """Normal-inverse-gamma posteriors of a Gaussian column."""

    def tables(self, at: str, n_states: int) -> NormalPosterior:
        """Four numbers per state."""
        names = NormalPosterior._fields
        least = {"mean": -MOST}
        return NormalPosterior(*(Table(f"{at}.{x}", (n_states,), None, least.get(x, 0.0), MOST) for x in names))  # type: ignore[arg-type]

    def log_terms(self, params: NormalPosterior) -> tuple[Floats, Floats, Floats]:
        """Those of E log N(x): the expected precision, and what uncertainty of mean and variance takes off."""
        strength, mean, shape, rate = params
        third = 0.5 * (digamma(shape) - np.log(rate) - np.log(2.0 * np.pi) - 1.0 / strength)
        return mean, 0.5 * shape / rate, third

    def mode(self, statistics: Moments, params: Any, prior: float) -> NormalPosterior:
        """The posterior given expected moments."""
        return NormalPosterior(*self.family._posterior(statistics))

    def _around(self, point: Normal) -> NormalPosterior:
        many = np.full(point.mean.shape, START_STRENGTH)
        return NormalPosterior(many, point.mean, 0.5 * many, 0.5 * many * point.variance)

    def log_prior(self, params: NormalPosterior, prior: float) -> Floats:
        """Minus the divergence from the prior."""
        one: Gaussian = self.family
        strength, mean, shape, rate = params
        apart = one.strength * (mean - one.centre) ** 2 * shape / rate
        of_mean = 0.5 * (one.strength / strength - 1.0 + np.log(strength / one.strength) + apart)
        of_precision = _gamma_divergence(shape, rate, 0.5 * one.dof, 0.5 * one.dof * one.scale)
        return -np.asarray((of_mean + of_precision).sum(axis=0))

    def mean(self, params: NormalPosterior) -> Normal:
        """Mean of the mean, and one over the mean of the precision."""
        return Normal(params.mean, params.rate / params.shape)


class PoissonPosterior(NumberPosterior):
    """Gamma posteriors of a Poisson column."""

    def tables(self, at: str, n_states: int) -> GammaPosterior:
        """Shape and rate per state."""
        return GammaPosterior(*(Table(f"{at}.{x}", (n_states,), most=MOST) for x in GammaPosterior._fields))  # type: ignore[arg-type]

    def log_terms(self, params: GammaPosterior) -> tuple[Floats, Floats, Floats]:
        """Those of E log P(x): expected log rate and rate."""
        shape, rate = params
        return digamma(shape) - np.log(rate), shape / rate, np.zeros_like(shape)

    def mode(self, statistics: Totals, params: Any, prior: float) -> GammaPosterior:
        """The posterior given expected totals."""
        return GammaPosterior(self.family.shape + statistics.total, self.family.rate + statistics.weight)

    def _around(self, point: Floats) -> GammaPosterior:
        many = np.full(point.shape, START_STRENGTH)
        return GammaPosterior(many, many / np.maximum(point, 1e-12))

    def log_prior(self, params: GammaPosterior, prior: float) -> Floats:
        """Minus the divergence from the prior."""
        return -np.asarray(_gamma_divergence(*params, self.family.shape, self.family.rate).sum(axis=0))

    def mean(self, params: GammaPosterior) -> Floats:
        """Mean rates."""
        return np.asarray(params.shape / params.rate)


def _gamma_divergence(shape: Floats, rate: Floats, shape0: float, rate0: float) -> Floats:
    """Kullback-Leibler divergence of Gamma(shape, rate) from Gamma(shape0, rate0)."""
    shapes = gammaln(shape0) - gammaln(shape) + (shape - shape0) * digamma(shape)
    return np.asarray(shapes + shape0 * np.log(rate / rate0) + shape * (rate0 - rate) / rate)


#: Posterior of each family, by the class of the family.
POSTERIORS: dict[type, type[Any]] = {
    Categorical: WordPosterior,
    Bag: WordPosterior,
    Flag: WordPosterior,
    Gaussian: GaussianPosterior,
    Poisson: PoissonPosterior,
}


def posterior_of(family: Any) -> Any:
    """The posteriors of the parameters of a family."""
    return POSTERIORS[type(family)](family)
