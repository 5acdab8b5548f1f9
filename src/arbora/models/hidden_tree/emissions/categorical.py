"""Categorical: a column of codes, one distribution of words per state, with a symmetric Dirichlet prior."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, xlogy

from .. import distributions as dist
from ..tree_model import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Categorical:
    """One of some codes per node, negative where it is missing; parameters are [code, state, component]."""

    n_codes: int
    words: tuple[str, ...] = ()  # what codes stand for; none: labels, which the vocabulary names

    name: ClassVar[str] = "categorical"
    kind: ClassVar[str] = "codes"
    holds: ClassVar[str] = "word"  # of each row: "word", "bag" or "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        named = not self.words or (len(self.words) == self.n_codes and all(type(word) is str for word in self.words))
        if type(self.n_codes) is not int or self.n_codes < 0 or not named or len(set(self.words)) != len(self.words):
            raise ValueError(f"a column of {self.n_codes!r} codes with {len(self.words)} words makes no sense")

    def header(self) -> list[Any]:
        """Name, size and words."""
        return [self.name, self.n_codes, list(self.words)]

    def tables(self, at: str, n_states: int) -> Table:
        """Codes sum to one in each state."""
        return Table("emission_prob_" if at == "label" else f"{at}.prob", (self.n_codes, n_states), 0)

    def log_density(self, values: NDArray[Any], params: Floats) -> Floats:
        """The logarithm of the probability; 0 where the code is missing."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([params, np.ones((1, *params.shape[1:]))]))
        return np.asarray(logs[values])  # the last row serves -1

    def statistics_tables(self, n_states: int) -> Table:
        """Counts of codes in states."""
        return Table("counts_", (self.n_codes, n_states), most=1e300)

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Floats) -> None:
        """Sums of the rows of each code."""
        seen = np.flatnonzero(values >= 0)
        has = sparse.csr_array((np.ones(len(seen)), (values[seen], seen)), shape=(self.n_codes, len(values)))
        statistics_out += np.asarray(has @ sums.reshape(len(sums), -1)).reshape(statistics_out.shape)

    def mode(self, statistics: Floats, params: Any, prior: float) -> Floats:
        """Relative frequencies, `prior` - 1 added to each count."""
        return dist.mode(statistics, 0, prior)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Dirichlet draws."""
        shape = np.full((self.n_codes, n_states, n_components), prior)
        return dist.draw_dirichlet(rng, shape if statistics is None else shape + statistics, 0)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, values: Any) -> Floats:
        """Flat Dirichlet draws."""
        return self.draw(rng, n_states, n_components, 1.0)

    def uniform(self, n_states: int) -> Floats:
        """All codes alike."""
        return dist.uniform((self.n_codes, n_states), 0)

    def log_prior(self, params: Floats, prior: float) -> Floats:
        """Dirichlet, with its constant."""
        constant = dist.log_prior_constant(params.shape[:2], 0, prior)
        return np.full(params.shape[-1], constant) + dist.log_prior(params, prior)

    def expected(self, statistics: Floats, params: Floats) -> Floats:
        """Expected log density by component."""
        return np.asarray(xlogy(statistics, params).sum(axis=(0, 1)))

    def log_marginal(self, statistics: Floats, prior: float) -> Floats:
        """Log P(values), the parameters integrated out, [state, component]."""
        total = statistics.sum(axis=0)
        rows = gammaln(prior + statistics).sum(axis=0) - self.n_codes * gammaln(prior)
        return np.asarray(gammaln(prior * self.n_codes) - gammaln(prior * self.n_codes + total) + rows)

    @property
    def n_words(self) -> int:
        """Cells of completed counts in each state."""
        return self.n_codes

    def log_words(self, params: Floats) -> Floats:
        """Log-probability of each word, [word, state, component]."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(params))

    def row_codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """The word of each row, negative where it is missing."""
        return values

    def row_words(self, values: NDArray[Any]) -> Any:
        """Sparse [row, word]: how often each row has it."""
        seen = np.flatnonzero(values >= 0)
        return sparse.csr_array((np.ones(len(seen)), (seen, values[seen])), shape=(len(values), self.n_codes))

    def from_words(self, counts: Floats) -> Floats:
        """Statistics from counts, [word, state, component]."""
        return counts

    def n_free(self, n_states: int) -> int:
        """One less than codes in each state."""
        return dist.n_free((self.n_codes, n_states), 0)

    def in_order(self, values: Floats, order: NDArray[np.int64]) -> Floats:
        """States renumbered."""
        return values[:, order]

    def sample(self, rng: np.random.Generator, params: Floats, state: Any, component: Any) -> Any:
        """Codes of nodes in these states and components."""
        ends = np.cumsum(params, axis=0)[:, state, component]
        return np.minimum((rng.random(len(state)) * ends[-1] >= ends).sum(axis=0), self.n_codes - 1).astype(np.int32)

    def shown(self, params: Floats, words: tuple[str, ...]) -> dict[str, Floats]:
        """Probabilities of the words, those of the most probable in some state first, [state]."""
        names = self.words or words
        top = np.argsort(-params[:, :, 0].max(axis=1, initial=0.0), kind="stable")
        return {names[m]: params[m, :, 0] for m in top.tolist()}
