"""Columns: nodes hold several typed values, independent given the state; each column has a family of its own."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....errors import ArboraError
from ....forest.sharing import Contents
from . import Rows, Shown
from .gaussian import Gaussian

Floats = NDArray[np.float64]


class Family(Protocol):
    """The distribution of one column given the state.  `values` are [row, ...], with nan for missing ones."""

    def header(self) -> list[Any]:
        """Name of the family and its numbers."""

    def tables(self, column: str, n_states: int) -> Any:
        """The parameters, named after the column."""

    def log_density(self, values: NDArray[Any], params: Any) -> Floats:
        """[row, state, component]; 0 where the value is missing."""

    def statistics_tables(self, n_states: int) -> Any:
        """Shapes and bounds of the statistics."""

    def add_statistics(self, values: NDArray[Any], sums: Floats, statistics_out: Any) -> None:
        """Add what the posterior sums[row, state, lane] contribute."""

    def mode(self, statistics: Any, params: Any) -> Any:
        """As `Emission.mode`; the family holds its own prior."""

    def draw(self, rng: np.random.Generator, n_states: int, n_components: int, statistics: Any = None) -> Any:
        """As `Emission.draw`."""

    def uniform(self, n_states: int) -> Any:
        """One component, all states alike, at the mean or mode of the prior."""

    def log_prior(self, params: Any) -> Floats:
        """Log prior density of each component, constants included."""

    def n_free(self, n_states: int) -> int:
        """Free parameters of one component."""

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered."""

    def shown(self, params: Any) -> dict[str, Floats]:
        """Numbers of each state of one component, [state], by what they are."""


#: Families by the name that a header gives them: a new one is a file beside this, and a row here.
FAMILIES: dict[str, Any] = {"gaussian": Gaussian}


@dataclass(frozen=True)
class Columns:
    """Typed columns; parameters and statistics are dicts by column."""

    families: tuple[tuple[str, Family], ...]  # by column, in order

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "Columns":
        """Undo `header`."""
        unknown = [name for name, *_ in header.values() if name not in FAMILIES]
        if unknown or not header:
            raise ValueError(f"no families of columns are called {unknown}")
        return cls(tuple((column, FAMILIES[name](*numbers)) for column, (name, *numbers) in header.items()))

    def header(self) -> dict[str, Any]:
        """The families and their numbers, by column."""
        return {column: family.header() for column, family in self.families}

    @property
    def n_labels(self) -> int:
        """None: contents are rows of columns."""
        return 0

    @property
    def by_label(self) -> bool:
        """Rows are those of each shard."""
        return False

    def tables(self, n_states: int) -> Any:
        """Those of the families, by column."""
        return {column: family.tables(column, n_states) for column, family in self.families}

    def rows(self, params: Any, contents: Contents | None) -> Rows:
        """Log densities add over columns; the largest of a row is taken out before the exponential."""
        log_density: Any = 0.0
        for column, family in self.families:
            log_density = log_density + family.log_density(self._values(contents, column), params[column])
        top = log_density.max(axis=1)
        offset = np.where(np.isfinite(top), top, 0.0)
        return Rows(np.exp(log_density - offset[:, None]), offset)

    def _values(self, contents: Contents | None, column: str) -> NDArray[Any]:
        if contents is None or column not in contents.columns:
            raise ArboraError(f"the trees have no column {column!r}; give trees with the columns of the model")
        return contents.columns[column]

    def statistics_tables(self, n_states: int) -> Any:
        """Those of the families, by column."""
        return {column: family.statistics_tables(n_states) for column, family in self.families}

    def add_statistics(self, sums: Floats, contents: Contents | None, statistics_out: Any) -> None:
        """Column by column."""
        for column, family in self.families:
            family.add_statistics(self._values(contents, column), sums, statistics_out[column])

    def mode(self, statistics: Any, params: Any, prior: float) -> Any:
        """Column by column."""
        return {column: family.mode(statistics[column], params[column]) for column, family in self.families}

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Any:
        """Column by column."""
        given = {column: None for column, _ in self.families} if statistics is None else statistics
        return {column: family.draw(rng, n_states, n_components, given[column]) for column, family in self.families}

    def uniform(self, n_states: int) -> Any:
        """Column by column."""
        return {column: family.uniform(n_states) for column, family in self.families}

    def log_prior(self, params: Any, prior: float) -> Any:
        """The sum over columns."""
        return sum(family.log_prior(params[column]) for column, family in self.families)

    def log_prior_constant(self, n_states: int, prior: float) -> float:
        """None is left out."""
        return 0.0

    def n_free(self, n_states: int) -> int:
        """The sum over columns."""
        return sum(family.n_free(n_states) for _, family in self.families)

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """States renumbered in all columns."""
        return {column: family.in_order(values[column], order) for column, family in self.families}

    def shown(self, params: Any, words: tuple[str, ...], most: int) -> Shown:
        """Numbers of each column by state."""
        numbers = {
            f"{column}, {what}": values
            for column, family in self.families
            for what, values in family.shown(params[column]).items()
        }
        return Shown([*numbers][:most], np.stack([*numbers.values()][:most], axis=1))
