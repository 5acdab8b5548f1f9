"""Bag: words with numbers of times at each node, drawn one by one from the words of its state."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .categorical import Categorical

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bag(Categorical):
    """Words of a node in a given order; an empty bag is no evidence.

    The log density grows with the length of a bag.  `most` weighs longer bags down to so many words.  This is no
    likelihood any more, but keeps a column of long texts from deciding alone.
    """

    most: float | None = None

    name: ClassVar[str] = "bag"
    kind: ClassVar[str] = "bags"
    holds: ClassVar[str] = "bag"  # of each row: "word", "bag" or "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most is not None and not (isinstance(self.most, (int, float)) and 0.0 < self.most <= 1e9):
            raise ValueError(f"bags of at most {self.most!r} words make no sense")

    def header(self) -> list[Any]:
        """Name, size, words and length."""
        return [*super().header(), self.most]

    def _weighed(self, values: Any) -> Any:
        """Counts of words, [row, word], of long bags weighed down."""
        if self.most is None:
            return values
        length = np.asarray(values.sum(axis=1)).ravel()
        return sparse.csr_array(values.multiply((self.most / np.maximum(length, self.most))[:, None]))

    def log_density(self, values: Any, params: Floats) -> Floats:
        """The sum over words."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(params).reshape(self.n_codes, -1)
            return np.asarray(self._weighed(values) @ logs).reshape(values.shape[0], *params.shape[1:])

    def add_statistics(self, values: Any, sums: Floats, statistics_out: Floats) -> None:
        """Counts of words in states."""
        total = self._weighed(values).T @ sums.reshape(len(sums), -1)
        statistics_out += np.asarray(total).reshape(statistics_out.shape)

    def row_words(self, values: Any) -> Any:
        """Sparse [row, word]: how often each row has it, of long bags weighed down."""
        return self._weighed(values)

    def sample(self, rng: np.random.Generator, params: Floats, state: Any, component: Any) -> Any:
        """None: the model does not describe the lengths of bags."""
        return None
