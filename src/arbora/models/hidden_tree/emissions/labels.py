"""Labels: one categorical distribution of labels per state."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....forest.content_rows import Wanted
from ....forest.sharing import Contents, SharedForest
from ....forest.trees import Trees
from .. import distributions as dist
from ..kernels.number_marginals import N_MOMENTS, N_PRIOR
from ..kernels.urns import Urns
from ..lanes import Workspace, to_lanes
from ..tree_model import Table
from . import Rows, Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """A label per node; parameters and statistics are one array, [label, state, component]."""

    n_labels: int

    @property
    def by_label(self) -> bool:
        """A row of the evidence is a label."""
        return True

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """No column beside the label."""
        return ()

    def header(self) -> int:
        """The number of labels."""
        return self.n_labels

    def tables(self, n_states: int) -> Table:
        """Labels sum to one in each state."""
        return Table("emission_prob_", (self.n_labels, n_states), 0)

    def rows(self, params: Floats, contents: Contents | None) -> Rows:
        """The parameters are the evidence."""
        return Rows(params, None)

    def lane_rows(self, params: Floats, contents: Contents | None, workspace: Workspace) -> Rows:
        """The same with components in lanes."""
        prob, _ = self.rows(params, contents)
        return Rows(to_lanes(prob), None)

    def statistics_tables(self, n_states: int) -> Table:
        """Counts of labels in states."""
        return Table("counts_", (self.n_labels, n_states), most=1e300)

    def add_statistics(self, sums: Floats, contents: Contents | None, statistics_out: Floats) -> None:
        """Sums by label are the statistics."""
        statistics_out += sums

    def mode(self, statistics: Floats, params: Floats, prior: float) -> Floats:
        """Relative frequencies, `prior` - 1 added to each count."""
        return dist.mode(statistics, 0, prior)

    def draw(
        self, rng: np.random.Generator, n_states: int, n_components: int, prior: float, statistics: Any = None
    ) -> Floats:
        """Dirichlet draws."""
        shape = np.full((self.n_labels, n_states, n_components), prior)
        return dist.draw_dirichlet(rng, shape if statistics is None else shape + statistics, 0)

    def start(self, rng: np.random.Generator, n_states: int, n_components: int, forest: Trees) -> None:
        """As drawn."""

    def uniform(self, n_states: int) -> Floats:
        """All labels alike."""
        return dist.uniform((self.n_labels, n_states), 0)

    def log_prior(self, params: Floats, prior: float) -> Any:
        """Dirichlet, up to a constant."""
        return dist.log_prior(params, prior)

    def log_prior_constant(self, n_states: int, prior: float) -> float:
        """The constant of the Dirichlet."""
        return dist.log_prior_constant((self.n_labels, n_states), 0, prior)

    def n_free(self, n_states: int) -> int:
        """One less than labels in each state."""
        return dist.n_free((self.n_labels, n_states), 0)

    def in_order(self, values: Floats, order: NDArray[np.int64]) -> Floats:
        """States renumbered."""
        return values[:, order]

    def shown(self, params: Floats, words: tuple[str, ...], most: int) -> Shown:
        """The labels that are most probable in some state."""
        by_state = params[:, :, 0].T
        top = np.argsort(-by_state.max(axis=0, initial=0.0), kind="stable")[:most]
        return Shown([words[m] for m in top.tolist()], by_state[:, top])

    # Cells of completed counts, [label, state]: see completed_counts.py.

    def n_cells(self, n_states: int) -> int:
        """Cells of a component."""
        return self.n_labels * n_states

    def cell_rows(self, n_states: int) -> NDArray[np.int64]:
        """The distribution that each cell belongs to: that of its state."""
        return np.arange(self.n_cells(n_states)) % n_states

    def from_cells(self, cells: Floats, n_states: int) -> Floats:
        """Statistics from [cell, component]."""
        return cells.reshape(self.n_labels, n_states, cells.shape[-1])

    def urns(self, contents: Contents | None, prior: float) -> Urns:
        """Every label is a row of one word."""
        n = self.n_labels
        no_column = np.zeros((n, 0, N_MOMENTS)), np.zeros((0, N_PRIOR))
        one_each = np.arange(n + 1), np.arange(n), np.ones(n), np.zeros(n, np.int64)
        return Urns(*one_each, float(prior), np.array([n * float(prior)]), *no_column, np.zeros(n), True)

    # Columns of encodings

    @property
    def has_labels(self) -> bool:
        """Labels are all there is."""
        return True

    def encoded(self, shard: SharedForest) -> tuple[NDArray[np.int32], int]:
        """The key of each unit by which posteriors are summed, negative for none, and the number of keys."""
        return shard.units.label, self.n_labels

    def encoded_names(self, words: tuple[str, ...]) -> list[str]:
        """Names of the keys."""
        return [f"label:{word}" for word in words]
