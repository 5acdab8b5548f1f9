"""Emissions: what the nodes of a hidden tree hold, given their states; one file per family.

`Emission` is what a tree model asks for.  `Labels` is a label per node; `Columns` is any number of typed columns, each
with a `Family`.  Kernels see neither: they take a table of evidence by row, and give back sums by row.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ....forest.content_rows import Wanted
from ....forest.sharing import Contents
from ....forest.trees import Trees
from ..lanes import Workspace

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Evidence of the distinct contents of a shard, in the form of the passes."""

    prob: Floats  # [row, state, component]: P(content | state), each row and component times exp(-offset)
    offset: Floats | None  # [row, component]; None: zero


class Emission(Protocol):
    """Distributions of contents given states, with sizes; parameters are arrays, component axis last."""

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary; 0 if contents are no labels."""

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Columns that trees are asked for; none where rows are labels."""

    @property
    def by_label(self) -> bool:
        """Whether rows are labels, the same in all shards; else they are those of `SharedForest.contents`."""

    def header(self) -> Any:
        """The family and its sizes as JSON can hold them; `emission_of` undoes it."""

    def tables(self, n_states: int) -> Any:
        """The parameters: a `Table`, or named ones."""

    def rows(self, params: Any, contents: Contents | None) -> Rows:
        """Evidence of each distinct content."""

    def lane_rows(self, params: Any, contents: Contents | None, workspace: Workspace) -> Rows:
        """The same with components in lanes (lanes.py), in the memory of a workspace."""

    def statistics_tables(self, n_states: int) -> Any:
        """Shapes and bounds of the statistics: a `Table`, or named ones."""

    def add_statistics(self, sums: Floats, contents: Contents | None, statistics_out: Any) -> None:
        """Add what sums[row, state, lane] of posteriors contribute; statistics add over shards."""

    def mode(self, statistics: Any, params: Any, prior: float) -> Any:
        """Parameters that maximise expected log density plus log prior, or a step from `params` that lowers neither."""

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Any:
        """Parameters from their posterior given statistics, or from their prior."""

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, forest: Trees) -> Any:
        """Parameters to start EM from; None: as drawn from a flat prior."""

    def uniform(self, n_states: int) -> Any:
        """One component at the mean of its prior."""

    def log_prior(self, params: Any, prior: float) -> Any:
        """Log prior density of each component, up to a constant."""

    def log_prior_constant(self, n_states: int, prior: float) -> float:
        """The constant."""

    def n_free(self, n_states: int) -> int:
        """Free parameters of one component."""

    def in_order(self, values: Any, order: NDArray[np.int64]) -> Any:
        """Parameters or statistics with states renumbered."""

    def shown(self, params: Any, words: tuple[str, ...], most: int) -> "Shown":
        """What a report shows of the states of one component, given the vocabulary; at most so many columns."""


class Shown(NamedTuple):
    """A small table of one component: a column per label or number, a row per state."""

    columns: list[str]
    values: Floats  # [state, column]


def emission_of(header: Any) -> Emission:
    """The emission that a model file names; files of labels hold their number."""
    from .columns import Columns
    from .labels import Labels
    from .plane import PlaneLabels
    from .plane_columns import PLANE, PlaneColumns

    if type(header) is int:
        return Labels(header)
    if isinstance(header, list) and len(header) == 6 and header[0] == "plane":
        return PlaneLabels.from_header(header)
    if isinstance(header, list) and len(header) == 3 and header[0] == PLANE:
        return PlaneColumns.from_header(header)
    if isinstance(header, dict):
        return Columns.from_header(header)
    raise ValueError(f"{header!r:.80} is no emission")
