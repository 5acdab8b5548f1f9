"""Poisson: a column of counts, a rate per state, with a Gamma prior around the mean of the column."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ..kernels.number_marginals import POISSON
from ..tree_model import Table

Floats = NDArray[np.float64]

SHAPE = 2.0  # of the prior: with rate 1 / mean, its mode is the mean of the column
LARGEST, LEAST = 1e150, 1e-100  # of a rate


class Totals(NamedTuple):
    """Statistics, [state, lane]: weights, sums of counts, and of the logarithms of their factorials."""

    weight: Floats
    total: Floats
    log_factorial: Floats


@dataclass(frozen=True)
class Poisson:
    """A count per node, nan where it is missing; parameters are [state, component]."""

    rate: float  # of the prior: one over the mean of the column
    shape: float = SHAPE

    name: ClassVar[str] = "poisson"
    kind: ClassVar[str] = "counts"
    holds: ClassVar[str] = "number"  # of each row: "word", "bag" or "number"

    def __post_init__(self) -> None:
        if not (0.0 < self.rate <= LARGEST and 0.0 < self.shape <= LARGEST):
            raise ValueError(f"{self}: wanted finite numbers above zero")

    def header(self) -> list[Any]:
        """Name and numbers."""
        return [self.name, self.rate, self.shape]

    def tables(self, at: str, n_states: int) -> Table:
        """A rate per state."""
        return Table(f"{at}.rate", (n_states,), most=LARGEST)

    def log_density(self, values: NDArray[Any], params: Floats) -> Floats:
        """Poisson; 0 where the count is missing."""
        seen = ~np.isnan(values)
        x = np.where(seen, values, 0.0)
        with np.errstate(divide="ignore"):
            log_rate = np.log(params)
        density = x[:, None, None] * log_rate if np.isfinite(log_rate).all() else xlogy(x[:, None, None], params)
        density -= params
        density -= gammaln(x + 1.0)[:, None, None]
        density[~seen] = 0.0
        return np.asarray(density)

    def log_terms(self, params: Floats) -> tuple[Floats, Floats, Floats]:
        """Log rate and rate, as `kernels.evidence.LogTables` takes them."""
        with np.errstate(divide="ignore"):
            return np.log(params), params, np.zeros_like(params)

    def row_constant(self, values: NDArray[Any]) -> Floats | float:
        """The part of the log density that no parameter enters and `log_terms` leave out."""
        return np.asarray(-gammaln(np.where(np.isnan(values), 0.0, values) + 1.0))

    def statistics_tables(self, n_states: int) -> Totals:
        """Weights and sums."""
        weight, total, log_factorial = (Table("counts_", (n_states,), most=1e300) for _ in range(3))
        return Totals(weight, total, log_factorial)  # type: ignore[arg-type]

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Totals) -> None:
        """Three products of matrices."""
        moments = np.tensordot(self.row_moments(values).T, sums, axes=1)
        for into, more in zip(statistics_out, moments, strict=True):
            into += more

    def row_moments(self, values: NDArray[Any]) -> Floats:
        """[row, 3]: whether there is a count, the count, and the logarithm of its factorial."""
        seen = ~np.isnan(values)
        x = np.where(seen, values, 0.0)
        return np.stack([seen.astype(np.float64), x, gammaln(x + 1.0)], axis=1)

    def from_moments(self, sums: Floats) -> Totals:
        """Statistics from sums of `row_moments`, [3, state, component]."""
        return Totals(*sums)

    def number_prior(self) -> tuple[float, ...]:
        """The prior as `kernels.number_marginals` takes it."""
        return (POISSON, self.shape, self.rate, 0.0)

    def constant_of(self, moments: Floats) -> Floats:
        """Log of the factor of each row, [row, 3], that `kernels.number_marginals` leaves out."""
        return np.asarray(-moments[:, 2])

    def mode(self, statistics: Totals, params: Any, prior: float) -> Floats:
        """The mode of the Gamma posterior."""
        return np.maximum(statistics.total + self.shape - 1.0, 0.0) / (statistics.weight + self.rate)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Gamma draws."""
        none = np.zeros((n_states, n_components))
        weight, total = (none, none) if statistics is None else statistics[:2]
        return np.clip(rng.standard_gamma(self.shape + total) / (self.rate + weight), LEAST, LARGEST)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """The mean of the column times Gamma(2) / 2."""
        return np.clip(rng.standard_gamma(2.0, (n_states, n_components)) / (2.0 * self.rate), LEAST, LARGEST)

    def uniform(self, n_states: int) -> Floats:
        """The mode of the prior in all states."""
        return np.full((n_states, 1), max(self.shape - 1.0, 0.5) / self.rate)

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Gamma, summed over states."""
        constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return np.asarray((constant + xlogy(self.shape - 1.0, params) - self.rate * params).sum(axis=0))

    def expected(self, statistics: Totals, params: Floats) -> Floats:
        """Expected log density by component."""
        weight, total, log_factorial = statistics
        return np.asarray((xlogy(total, params) - weight * params - log_factorial).sum(axis=0))

    def log_marginal(self, statistics: Totals, prior: float) -> Floats:
        """Log P(values), the parameters integrated out, [state, component]."""
        weight, total, log_factorial = statistics
        shape = self.shape + total
        before = self.shape * np.log(self.rate) - gammaln(self.shape)
        return np.asarray(gammaln(shape) + before - shape * np.log(self.rate + weight) - log_factorial)

    def n_free(self, n_states: int) -> int:
        """One in each state."""
        return n_states

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""
        return Totals(*(x[order] for x in values)) if isinstance(values, Totals) else values[order]

    def sample(self, rng: np.random.Generator, params: Floats, state: Any, component: Any) -> Any:
        """Counts of nodes in these states and components."""
        return rng.poisson(np.minimum(params[state, component], 1e15))

    def shown(self, params: Floats, words: tuple[str, ...]) -> dict[str, Floats]:
        """The rate of each state."""
        return {"rate": params[:, 0]}
