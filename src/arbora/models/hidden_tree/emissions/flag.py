"""Flag: a column of truth, a chance per state, with a symmetric Beta prior."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betaln, xlog1py, xlogy

from ..tree_model import Table

Floats = NDArray[np.float64]


class Hits(NamedTuple):
    """Statistics, [state, lane]: weights, and those of true values."""

    weight: Floats
    hits: Floats


@dataclass(frozen=True)
class Flag:
    """0 or 1 per node, nan where it is missing; parameters are [state, component]."""

    name: ClassVar[str] = "flag"
    kind: ClassVar[str] = "flags"
    holds: ClassVar[str] = "word"  # of each row: "word", "bag" or "number"
    n_words: ClassVar[int] = 2  # cells of completed counts in each state: false and true

    def header(self) -> list[Any]:
        """The name."""
        return [self.name]

    def tables(self, at: str, n_states: int) -> Table:
        """A chance per state."""
        return Table(f"{at}.chance", (n_states,))

    def log_density(self, values: NDArray[Any], params: Floats) -> Floats:
        """Bernoulli; 0 where the value is missing."""
        with np.errstate(divide="ignore"):
            logs = np.stack([np.log1p(-params), np.log(params), np.zeros_like(params)])
        return np.asarray(logs[np.where(np.isnan(values), 2, values).astype(np.int64)])

    def statistics_tables(self, n_states: int) -> Hits:
        """Weights, and those of true values."""
        weight, hits = (Table("counts_", (n_states,), most=1e300) for _ in range(2))
        return Hits(weight, hits)  # type: ignore[arg-type]

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Hits) -> None:
        """Two products of matrices."""
        seen = ~np.isnan(values)
        powers = np.stack([seen.astype(np.float64), np.where(seen, values, 0.0)])
        for into, more in zip(statistics_out, np.tensordot(powers, sums, axes=1), strict=True):
            into += more

    def mode(self, statistics: Hits, params: Any, prior: float) -> Floats:
        """Relative frequency, `prior` - 1 added to both counts; one half where there is nothing to go by."""
        tries = statistics.weight + 2.0 * (prior - 1.0)
        hits = statistics.hits + (prior - 1.0)
        chance = np.divide(hits, tries, out=np.full_like(hits, 0.5), where=tries > 0)
        return np.clip(chance, 0.0, 1.0)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Beta draws, never certain: their logarithm is taken."""
        none = np.zeros((n_states, n_components))
        weight, hits = (none, none) if statistics is None else statistics
        drawn = rng.beta(prior + hits, prior + np.maximum(weight - hits, 0.0))
        return np.clip(drawn, 1e-100, 1.0 - np.finfo(np.float64).eps)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """Flat draws."""
        return self.draw(rng, n_states, n_components, 1.0)

    def uniform(self, n_states: int) -> Floats:
        """Even chances."""
        return np.full((n_states, 1), 0.5)

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Beta, summed over states."""
        logs = xlogy(prior - 1.0, params) + xlog1py(prior - 1.0, -params) - betaln(prior, prior)
        return np.asarray(logs.sum(axis=0))

    def expected(self, statistics: Hits, params: Floats) -> Floats:
        """Expected log density by component."""
        misses = np.maximum(statistics.weight - statistics.hits, 0.0)  # rounding
        return np.asarray((xlogy(statistics.hits, params) + xlog1py(misses, -params)).sum(axis=0))

    def log_marginal(self, statistics: Hits, prior: float) -> Floats:
        """Log P(values), the parameters integrated out, [state, component]."""
        weight, hits = statistics
        return np.asarray(betaln(prior + hits, prior + weight - hits) - betaln(prior, prior))

    def log_words(self, params: Floats) -> Floats:
        """Log-probability of false and true, [2, state, component]."""
        with np.errstate(divide="ignore"):
            return np.stack([np.log1p(-params), np.log(params)])

    def row_codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """0 or 1 for each row, negative where it is missing."""
        return np.where(np.isnan(values), -1, values).astype(np.int64)

    def row_words(self, values: NDArray[Any]) -> Any:
        """Sparse [row, 2]: whether each row is false or true."""
        seen = np.flatnonzero(~np.isnan(values))
        which = values[seen].astype(np.int64)
        return sparse.csr_array((np.ones(len(seen)), (seen, which)), shape=(len(values), self.n_words))

    def from_words(self, counts: Floats) -> Hits:
        """Statistics from counts, [false or true, state, component]."""
        return Hits(counts.sum(axis=0), counts[1])

    def n_free(self, n_states: int) -> int:
        """One in each state."""
        return n_states

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""
        return Hits(*(x[order] for x in values)) if isinstance(values, Hits) else values[order]

    def sample(self, rng: np.random.Generator, params: Floats, state: Any, component: Any) -> Any:
        """Values of nodes in these states and components."""
        return rng.random(len(state)) < params[state, component]

    def shown(self, params: Floats, words: tuple[str, ...]) -> dict[str, Floats]:
        """The chance of each state."""
        return {"chance": params[:, 0]}
