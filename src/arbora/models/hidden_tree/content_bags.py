"""Completed trees with content: bags of structure, and statistics of what nodes hold in their drawn states.

Cells are for categorical counts.  Columns have statistics of their own, which are those of EM with hard states, so that
the parameters are drawn from their conjugate posteriors.  Splits and merges are not proposed: they would need the
statistics tree by tree.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from . import tree_model as tm
from .completed_counts import BagDrawer
from .kernels.split_bags import Bags
from .switching_params import Counts, Params

Floats = NDArray[np.float64]


class ContentBags(BagDrawer):
    """Draws hidden states of all trees; keeps statistics of columns by component beside the bags."""

    splits: ClassVar[bool] = False

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: Params) -> Bags:
        """One bag a tree, without emissions, which `counts` has."""
        n, tables = tm.n_components(params), self.model.emission.statistics_tables(self.model.n_states)
        self.statistics = tm.mapped(lambda table: np.zeros((*table.shape, n)), tables)
        return super().draw(rng, label, params)

    def counts(self, cells: Floats) -> Counts:
        """Counts of all components from [component, cell], and statistics of the last draw."""
        return super().counts(cells)._replace(emission=self.statistics)

    def _width(self, shard: SharedForest) -> int:
        """Cells of rows and states, which the kernel counts where labels and states would be."""
        rows = 0 if shard.contents is None else int(shard.units.label.max(initial=-1)) + 1
        return rows * self.model.n_states

    def _offsets(self, shard: SharedForest) -> tuple[int, ...]:
        """Where cells begin, with room for rows and states."""
        at, more = self.layout, self._width(shard)
        return (at.leaf, at.emission, at.switch + more, at.transition + more, at.leaf_width, at.end + more)

    def _kept(self, shard: SharedForest, k: int, bags: Any) -> Any:
        """Bags without cells of rows and states; their counts become statistics."""
        start, cell, times = bags
        first, width, n_states = self.layout.emission, self._width(shard), self.model.n_states
        of_content = (cell >= first) & (cell < first + width)
        sums = np.bincount(cell[of_content] - first, times[of_content], width).reshape(-1, n_states, 1)
        into = tm.taken(self.statistics, slice(k, k + 1))  # views
        self.model.emission.add_statistics(sums.astype(np.float64), shard.contents, into)
        kept = np.append(0, np.cumsum(~of_content))[start]
        rest = cell[~of_content]
        return kept.astype(np.int64), np.where(rest < first, rest, rest - width).astype(np.int32), times[~of_content]
