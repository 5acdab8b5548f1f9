"""Families around families: other parameters, for the same values, rows and statistics."""

from dataclasses import dataclass
from typing import Any

#: What depends on values and statistics alone, and so is that of the family inside.
OF_VALUES = frozenset(
    (
        *("name", "kind", "holds", "header", "words", "n_codes", "n_words"),
        *("row_codes", "row_words", "from_words", "row_constant", "row_moments", "from_moments"),
        *("number_prior", "constant_of", "statistics_tables", "add_statistics", "log_marginal"),
    )
)


@dataclass(frozen=True)
class Wrapped:
    """A family whose parameters are others than those of the family inside."""

    family: Any

    def __getattr__(self, name: str) -> Any:
        if name in OF_VALUES:
            return getattr(self.family, name)
        raise AttributeError(f"{type(self).__name__} has no {name}")
