"""Gaussian: a column of numbers, normal given the state, with a conjugate prior that keeps variances above zero.

mean | variance ~ N(centre, variance / strength), variance ~ InvGamma(dof / 2, dof scale / 2).  Values are centred at
`centre`, the mean of the column, before anything is squared: raw sums of squares of large numbers cancel digits.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..kernels.number_marginals import GAUSSIAN
from ..tree_model import Table

Floats = NDArray[np.float64]

STRENGTH, DOF = 0.01, 3.0  # of the prior: of the mean, in observations, and of the variance
LARGEST = 1e150  # of a mean or variance: their squares and quotients stay finite


class Normal(NamedTuple):
    """Parameters, [state, component]."""

    mean: Floats
    variance: Floats


class Moments(NamedTuple):
    """Statistics, [state, lane]: weights, and sums of centred values and their squares."""

    weight: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True)
class Gaussian:
    """One number per node, nan where it is missing."""

    centre: float  # the prior's mean: that of the column
    scale: float  # the prior's variance: a tenth to all of that of the column
    strength: float = STRENGTH
    dof: float = DOF

    name: ClassVar[str] = "gaussian"
    kind: ClassVar[str] = "numbers"
    holds: ClassVar[str] = "number"  # of each row: "word", "bag" or "number"

    def __post_init__(self) -> None:
        sound = abs(self.centre) <= LARGEST and 0.0 < self.scale <= LARGEST
        if not (sound and 0.0 < self.strength <= LARGEST and 0.0 < self.dof <= LARGEST):
            raise ValueError(f"{self}: wanted finite numbers, the last three above zero")

    def header(self) -> list[Any]:
        """Name and numbers."""
        return [self.name, self.centre, self.scale, self.strength, self.dof]

    def tables(self, at: str, n_states: int) -> Normal:
        """A mean and a variance per state."""
        mean = Table(f"{at}.mean", (n_states,), least=-LARGEST, most=LARGEST)
        variance = Table(f"{at}.variance", (n_states,), least=1.0 / LARGEST**2, most=LARGEST)
        return Normal(mean, variance)  # type: ignore[arg-type]

    def log_density(self, values: NDArray[Any], params: Normal) -> Floats:
        """Normal; 0 where the value is missing."""
        density = values[:, None, None] - params.mean
        density *= density
        density *= -0.5 / params.variance
        density -= 0.5 * np.log(2.0 * np.pi * params.variance)
        density[np.isnan(values)] = 0.0
        return density

    def log_terms(self, params: Normal) -> tuple[Floats, Floats, Floats]:
        """Mean, precision over two and constant, as `kernels.evidence.LogTables` takes them."""
        return params.mean, 0.5 / params.variance, -0.5 * np.log(2.0 * np.pi * params.variance)

    def row_constant(self, values: NDArray[Any]) -> Floats | float:
        """The part of the log density that no parameter enters and `log_terms` leave out."""
        return 0.0

    def statistics_tables(self, n_states: int) -> Moments:
        """Weights, sums and sums of squares."""
        weight, second = (Table("counts_", (n_states,), most=1e300) for _ in range(2))
        first = Table("counts_", (n_states,), least=-1e300, most=1e300)
        return Moments(weight, first, second)  # type: ignore[arg-type]

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Moments) -> None:
        """Three products of matrices."""
        moments = np.tensordot(self.row_moments(values).T, sums, axes=1)
        for into, more in zip(statistics_out, moments, strict=True):
            into += more

    def row_moments(self, values: NDArray[Any]) -> Floats:
        """[row, 3]: whether there is a number, the number centred, and its square."""
        seen = ~np.isnan(values)
        x = np.where(seen, values - self.centre, 0.0)
        return np.stack([seen.astype(np.float64), x, x * x], axis=1)

    def from_moments(self, sums: Floats) -> Moments:
        """Statistics from sums of `row_moments`, [3, state, component]."""
        return Moments(*sums)

    def number_prior(self) -> tuple[float, ...]:
        """The prior as `kernels.number_marginals` takes it."""
        return (GAUSSIAN, self.strength, self.dof, self.dof * self.scale)

    def constant_of(self, moments: Floats) -> Floats:
        """Log of the factor of each row, [row, 3], that `kernels.number_marginals` leaves out."""
        return np.asarray(-0.5 * np.log(2.0 * np.pi) * moments[:, 0])

    def _posterior(self, statistics: Moments) -> tuple[Floats, Floats, Floats, Floats]:
        """Strength, mean, shape and rate of the posterior."""
        n, first, second = statistics
        strength = self.strength + n
        mean = self.centre + first / strength
        shape = 0.5 * (self.dof + n)
        rate = 0.5 * (self.dof * self.scale + np.maximum(second - first * first / strength, 0.0))  # rounding
        return strength, mean, shape, rate

    def mode(self, statistics: Moments, params: Any, prior: float) -> Normal:
        """The joint mode of mean and variance."""
        _, mean, shape, rate = self._posterior(statistics)
        return Normal(mean, rate / (shape + 1.5))

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Normal:
        """Means at values picked at random, variances at that of the column."""
        known = values[~np.isnan(values)]
        some = known if len(known) else np.array([self.centre])
        mean = rng.choice(some, (n_states, n_components))
        spread = float(np.var(known - self.centre)) if len(known) else 0.0
        return Normal(mean, np.full(mean.shape, min(max(spread, self.scale), LARGEST)))

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Normal:
        """Variance, then mean."""
        given = Moments(*np.zeros((3, n_states, n_components))) if statistics is None else statistics
        strength, mean, shape, rate = self._posterior(given)
        variance = np.minimum(rate / np.maximum(rng.standard_gamma(shape), 1e-100), LARGEST)
        return Normal(mean + rng.standard_normal(mean.shape) * np.sqrt(variance / strength), variance)

    def uniform(self, n_states: int) -> Normal:
        """The centre and the scale in all states."""
        return Normal(np.full((n_states, 1), self.centre), np.full((n_states, 1), self.scale))

    def log_prior(self, params: Normal, prior: float) -> Floats:
        """Normal times inverse gamma, summed over states."""
        shape, rate = 0.5 * self.dof, 0.5 * self.dof * self.scale
        mean, variance = params
        log_variance = shape * np.log(rate) - gammaln(shape) - (shape + 1.0) * np.log(variance) - rate / variance
        square = self.strength * (mean - self.centre) ** 2 / variance
        log_mean = -0.5 * (np.log(2.0 * np.pi * variance / self.strength) + square)
        return np.asarray((log_variance + log_mean).sum(axis=0))

    def expected(self, statistics: Moments, params: Normal) -> Floats:
        """Expected log density by component."""
        n, first, second = statistics
        mean = params.mean - self.centre
        square = np.maximum(second - 2.0 * mean * first + mean * mean * n, 0.0)  # rounding
        return np.asarray(-0.5 * (n * np.log(2.0 * np.pi * params.variance) + square / params.variance).sum(axis=0))

    def log_marginal(self, statistics: Moments, prior: float) -> Floats:
        """Log density of the values, the parameters integrated out, [state, component]."""
        strength, _, shape, rate = self._posterior(statistics)
        first_shape, first_rate = 0.5 * self.dof, 0.5 * self.dof * self.scale
        gammas = gammaln(shape) - gammaln(first_shape)
        rates = first_shape * np.log(first_rate) - shape * np.log(rate)
        strengths = 0.5 * (np.log(self.strength) - np.log(strength))
        return np.asarray(gammas + rates + strengths - 0.5 * statistics.weight * np.log(2.0 * np.pi))

    def n_free(self, n_states: int) -> int:
        """Two in each state."""
        return 2 * n_states

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""
        return type(values)(*(x[order] for x in values))

    def sample(self, rng: np.random.Generator, params: Normal, state: Any, component: Any) -> Any:
        """Numbers of nodes in these states and components."""
        deviation = np.sqrt(params.variance[state, component])
        return params.mean[state, component] + deviation * rng.standard_normal(len(state))

    def shown(self, params: Normal, words: tuple[str, ...]) -> dict[str, Floats]:
        """Mean and standard deviation of each state."""
        return {"mean": params.mean[:, 0], "deviation": np.sqrt(params.variance[:, 0])}
