"""Completed trees with content: what nodes hold in their drawn states, as cells of counts and as sums of numbers.

Kernels that draw states count rows of content and states.  Columns of codes, flags and words become cells beside those
of transitions; columns of numbers become sums by state.  Both are kept tree by tree, so that groups split and merge.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...forest.sharing import SharedForest
from .emissions.columns import Columns
from .kernels.bags import NO_MOMENTS, Layout, Moments
from .kernels.number_marginals import N_MOMENTS

Floats = NDArray[np.float64]


class TreeNumbers(NamedTuple):
    """Sums of numbers, one entry per tree, column and state."""

    tree: NDArray[np.int64]
    cell: NDArray[np.int32]
    value: Floats  # [entry, 3]


class Drawn(NamedTuple):
    """Content of some trees given their states: sparse [tree, cell of words], and sums of numbers."""

    words: Any
    numbers: TreeNumbers


class ContentCells:
    """Turns counts of rows and states, as kernels draw them, into cells and sums of columns."""

    def __init__(self, emission: Columns, n_states: int, layout: Layout, shards: Any):
        self.emission, self.n_states, self.layout = emission, n_states, layout
        self.by_row = [emission.by_row(shard.contents) for shard in shards]

    def more(self, shard: SharedForest) -> int:
        """How many cells more the kernel needs where it counts rows in place of words."""
        rows = int(shard.units.label.max(initial=-1)) + 1
        return rows * self.n_states - (self.layout.switch - self.layout.emission)

    def parted(self, s: int, shard: SharedForest, bags: Any) -> tuple[Any, Drawn]:
        """Bags without cells of rows, and the content of their trees, which are numbered from 0."""
        start, cell, times = bags
        first, more = self.layout.emission, self.more(shard)
        after = self.layout.switch + more
        of_content = (cell >= first) & (cell < after)
        tree = np.repeat(np.arange(len(start) - 1), np.diff(start))[of_content]
        row, state = np.divmod(cell[of_content] - first, self.n_states)
        drawn = self._drawn(s, len(start) - 1, tree, row, state, times[of_content])
        rest = cell[~of_content]
        kept = np.append(0, np.cumsum(~of_content))[start].astype(np.int64)
        rest = np.where(rest < first, rest, rest - more).astype(np.int32)
        return (kept, rest, times[~of_content]), drawn

    def _drawn(self, s: int, n_trees: int, tree: Any, row: Any, state: Any, times: Any) -> Drawn:
        words, numbers = self.by_row[s]
        n, n_rows = self.n_states, words.shape[0]
        held = sparse.csr_array((times.astype(np.float64), (tree * n + state, row)), shape=(n_trees * n, n_rows))
        found = (held @ words).tocoo()
        in_tree, in_state = np.divmod(found.coords[0], n)
        cell = self.layout.emission + found.coords[1] * n + in_state
        by_tree = sparse.csr_array((found.data, (in_tree, cell)), shape=(n_trees, self.layout.end))
        sums = (held @ numbers.reshape(n_rows, -1)).reshape(n_trees, n, -1, N_MOMENTS).transpose(0, 2, 1, 3)
        at, column, at_state = np.nonzero(sums[..., 0] > 0.0)
        value = np.ascontiguousarray(sums[at, column, at_state])
        return Drawn(by_tree, TreeNumbers(at, (column * n + at_state).astype(np.int32), value))

    def joined(self, parts: list[TreeNumbers], n_trees: int) -> Moments:
        """Numbers of all trees, those of a tree beside each other."""
        n_cells = self.emission.n_numbers * self.n_states
        if not n_cells:
            return NO_MOMENTS
        tree, cell, value = (np.concatenate([part[x] for part in parts]) for x in range(3))
        order = np.argsort(tree, kind="stable")
        stop = np.cumsum(np.bincount(tree, minlength=n_trees)).astype(np.int64)
        return Moments(np.append(0, stop[:-1]), stop, cell[order], value[order], n_cells)


def content_cells(model: Any, layout: Layout, shards: Any) -> ContentCells | None:
    """What a drawer of bags needs beside its layout; None where nodes have labels alone."""
    return None if model.emission.by_label else ContentCells(model.emission, model.n_states, layout, shards)
