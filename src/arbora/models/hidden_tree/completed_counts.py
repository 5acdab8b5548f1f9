"""Trees as bags of counts: given its hidden states and switches, a tree is a sample of plain categorical variables.

All counts of a component lie in one flat vector of cells, so that what works on them (counting, splitting, merging,
learning Dirichlet parameters) does not depend on trees.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from ...forest.sharing import SharedForest
from . import tree_model as tm
from .content_bags import TreeNumbers, content_cells
from .distributions import TINY
from .kernels import draw_states
from .kernels.bags import Bags, CellTable, Layout
from .kernels.number_marginals import N_MOMENTS, N_PRIOR
from .structure_terms import branching_prior
from .switching_params import Counts, Params, Priors

if TYPE_CHECKING:
    from .passes import Batch
    from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]

# Counts are 32 bits wide; so many rejections happen only where a switch has all but no chance to hit a child.
MOST_REJECTED = 2**30


def layout_of(model: "SwitchingTree") -> Layout:
    """Where every kind of count lies."""
    tables: Any = model.tables
    leaf, switch, transition = (int(np.prod(x.shape)) for x in (tables.leaf, tables.switch, tables.transition))
    n_pairs, width = tables.transition.shape[1], tables.leaf.shape[1]
    with_cells: Any = model.emission
    emission = with_cells.n_cells(model.n_states)
    ends = np.cumsum([0, leaf, emission, switch, transition, 2 * tables.branching.shape[0]])
    return Layout(*(int(x) for x in [*ends, width, n_pairs, model.n_states]))


def rows_of(model: "SwitchingTree") -> NDArray[np.int64]:
    """The row of every cell: cells of a row share one distribution."""
    at = layout_of(model)
    leaf = np.arange(at.emission) // at.leaf_width
    with_cells: Any = model.emission
    emission = with_cells.cell_rows(model.n_states)
    switch = np.zeros(at.transition - at.switch, np.int64)
    transition = np.arange(at.shape - at.transition) // at.n_states
    branching = np.arange(at.end - at.shape) % max(1, (at.end - at.shape) // 2)
    parts = [leaf, emission, switch, transition, branching]
    first = np.cumsum([0] + [int(x.max()) + 1 if len(x) else 0 for x in parts])
    return np.concatenate([part + start for part, start in zip(parts, first[:-1], strict=True)]).astype(np.int64)


def kinds_of(model: "SwitchingTree") -> list[slice]:
    """The cells of each Dirichlet parameter, in the order of `Priors`."""
    at = layout_of(model)
    ends = [at.leaf, at.emission, at.switch, at.transition, at.shape, at.end]
    return [slice(ends[x], ends[x + 1]) for x in range(5)]


def table_of(model: "SwitchingTree", priors: Priors) -> CellTable:
    """Rows and Dirichlet parameters of all cells."""
    row = rows_of(model)
    prior = np.empty(len(row))
    for cells, alpha in zip(kinds_of(model), priors, strict=True):
        prior[cells] = alpha
    prior[layout_of(model).shape :] = np.concatenate(branching_prior(model, priors))  # hits, then misses
    counted = prior.copy()
    if model.absent == "slot":  # a root is never absent: the cell is there, and nothing is ever in it
        counted[layout_of(model).emission - 1] = 0.0
    return CellTable(row, prior, np.bincount(row, counted).astype(np.float64), numbers_of(model))


def numbers_of(model: Any) -> Floats:
    """Priors of columns of numbers, by cell of sums; none where nodes have labels alone."""
    return np.zeros((0, N_PRIOR)) if model.emission.by_label else model.emission.number_priors(model.n_states)


def counts_by_component(bags: Bags, label: NDArray[np.int64], n_components: int, n_cells: int) -> Floats:
    """Sum of the bags of each component, [component, cell]; behind the cells lie the sums of numbers."""
    length = bags.stop - bags.start
    entry = np.repeat(bags.start - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())
    key = np.repeat(label, length) * n_cells + bags.cell[entry]
    total = np.bincount(key, bags.times[entry], n_components * n_cells).astype(np.float64)
    total = total.reshape(n_components, n_cells)
    if not bags.moments.n_cells:
        return total
    start, stop, cell, value, n_numbers = bags.moments
    sums = np.zeros((n_components, n_numbers, N_MOMENTS))
    np.add.at(sums, (np.repeat(label, stop - start), cell), value)  # entries lie in the order of trees
    return np.concatenate([total, sums.reshape(n_components, -1)], axis=1)


def emission_counts(model: Any, cells: Floats, part: slice, end: int) -> Any:
    """Statistics of the emission of all components, from [component, cell] with sums of numbers behind the end."""
    words = cells[:, part].T
    if model.emission.by_label:
        return model.emission.from_cells(words, model.n_states)
    numbers = cells[:, end:].T.reshape(-1, N_MOMENTS, len(cells))
    return model.emission.from_cells(words, model.n_states, numbers if len(numbers) else None)


def as_counts(model: "SwitchingTree", cells: Floats) -> Counts:
    """Counts of all components in the shapes of their parameters from [component, cell]."""
    n = len(cells)
    tables: Any = model.tables
    kinds = kinds_of(model)
    leaf, _, switch, transition, branching = (cells[:, part].T for part in kinds)
    hits, misses = np.split(branching, 2)
    return Counts(
        leaf.reshape(*tables.leaf.shape, n),
        emission_counts(model, cells, kinds[1], layout_of(model).end),
        switch,
        transition.reshape(*tables.transition.shape, n),
        np.stack([hits, hits + misses]),
        np.zeros((0, n)),
    )


class BagDrawer:
    """Draws hidden states of all trees and bags their counts, together with those of their shapes.

    A subclass gives the cells of its tree model.
    """

    def __init__(self, batch: "Batch"):
        self.batch = batch
        self.model: Any = batch.model
        self.layout = self._layout()
        self.content = content_cells(self.model, self.layout, batch.shards)
        # Shapes do not change: their counts are taken once for every distinct tree.
        self.shape_counts = [self._count_shapes(shard) for shard in batch.shards]

    def _layout(self) -> Any:
        raise NotImplementedError

    def _count_shapes(self, shard: SharedForest) -> Any:
        """Counts of the shape of every distinct tree, [tree, cell]; None without a model of shapes."""
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: Any) -> Bags:
        """One bag per tree, given its component and the parameters of all."""
        parts: list[Part] = []
        for k, one in tm.split(params).items():
            flow = self.model.prepare(one)
            for s, (shard, rows) in enumerate(zip(self.batch.shards, self.batch.rows, strict=True)):
                mine = np.flatnonzero(label[rows] == k)
                if not len(mine):
                    continue
                part = shard.restrict(mine)
                with self.batch.workspaces.borrowed() as workspace:
                    messages, _ = self.model.upward(flow, one, part, workspace)
                    bags = self._draw_bags(rng, flow, shard, part, messages.used.up)
                parts += with_content(self.content, s, shard, mine + rows.start, bags)
                shape = self.shape_counts[s]
                if shape is not None:
                    parts.append(from_sparse(mine + rows.start, shape[shard.tree_id[mine]]))
                parts += self._draw_more(rng, one, shard, mine, rows.start)
        return join(parts, self.batch.n_trees, self.content)

    def _draw_bags(self, rng: np.random.Generator, flow: Any, shard: SharedForest, part: SharedForest, up: Any) -> Any:
        """Bags of some trees of a shard, given their messages upward, as the kernel returns them."""
        raise NotImplementedError

    def _draw_more(self, rng: np.random.Generator, one: Any, shard: SharedForest, mine: Any, at: int) -> "list[Part]":
        """Further counts that make the update conjugate."""
        return []

    def _more_labels(self, shard: SharedForest) -> int:
        """Cells that the kernel gives to contents of a shard beyond those of the layout."""
        return 0 if self.content is None else self.content.more(shard)


class SwitchingBags(BagDrawer):
    """Bags of bottom-up trees."""

    def _layout(self) -> Layout:
        return layout_of(self.model)

    def _count_shapes(self, shard: SharedForest) -> Any:
        return _shape_counts(self.model, shard)

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: Params) -> Bags:
        """One bag per tree, given its component and the parameters of all."""
        bags = super().draw(rng, label, params)
        return _sum_duplicates(bags, self.layout.end) if self.model.absent == "renormalised" else bags

    def _draw_bags(self, rng: np.random.Generator, flow: Any, shard: SharedForest, part: SharedForest, up: Any) -> Any:
        lay, more = self.layout, self._more_labels(shard)
        offsets = (lay.leaf, lay.emission, lay.switch + more, lay.transition + more, lay.leaf_width, lay.end + more)
        return draw_states.draw_bags(rng, part.units, flow, up, part.tree_root[part.tree_id], offsets)

    def table(self, priors: Priors) -> CellTable:
        """Rows and Dirichlet parameters of all cells."""
        return table_of(self.model, priors)

    def kinds(self) -> list[slice]:
        """The cells of each Dirichlet parameter."""
        return kinds_of(self.model)

    def counts(self, cells: Floats) -> Counts:
        """Counts of all components from [component, cell]."""
        return as_counts(self.model, cells)

    def _draw_more(
        self, rng: np.random.Generator, one: Params, shard: SharedForest, mine: Any, at: int
    ) -> "list[Part]":
        """Switches that pointed to absent slots before one pointed to a present one."""
        if self.model.absent != "renormalised":
            return []
        return [from_sparse(mine + at, self._draw_rejected(rng, one.switch[:, 0], shard, mine))]

    def _draw_rejected(self, rng: np.random.Generator, switch: Floats, shard: SharedForest, mine: Any) -> Any:
        """Switches that pointed to absent slots before one pointed to a present one: makes the update conjugate."""
        switch = np.maximum(switch, TINY)
        nodes = shard.structure.with_pattern[shard.tree_id[mine]].tocsc()
        total = np.zeros((len(mine), self.model.n_slots))
        for p in np.flatnonzero(np.diff(nodes.indptr)):
            present = shard.structure.pattern[[p]].toarray()[0] > 0
            mass = min(max(switch[present].sum() / switch.sum(), 1e-12), 1.0)
            if mass < 1.0 and not present.all():
                trees = nodes.indices[nodes.indptr[p] : nodes.indptr[p + 1]]
                n_nodes = np.rint(nodes.data[nodes.indptr[p] : nodes.indptr[p + 1]])
                n_rejected = np.minimum(rng.negative_binomial(n_nodes, mass), MOST_REJECTED)
                share = switch[~present] / switch[~present].sum()
                total[np.ix_(trees, np.flatnonzero(~present))] += rng.multinomial(n_rejected, share)
        rejected = sparse.csr_array(np.minimum(total, MOST_REJECTED))  # patterns add up, and successes come on top
        rejected.resize((len(mine), self.layout.end))
        rejected.indices += self.layout.switch
        return rejected


class InsideBags:
    """Completed counts of a model inside another; parameters are those of the model around it."""

    def __init__(self, bags: Any):
        self.bags, self.layout = bags, bags.layout

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: Any) -> Any:
        """One bag per tree."""
        return self.bags.draw(rng, label, params.tree)

    def counts(self, cells: Floats) -> Any:
        """Counts of the model inside."""
        return self.bags.counts(cells)


class Part(NamedTuple):
    """Bags of some trees, one after another."""

    tree: NDArray[np.int64]
    start: NDArray[np.int64]
    cell: NDArray[np.int32]
    times: NDArray[Any]
    numbers: TreeNumbers | None = None


def from_sparse(tree: NDArray[np.int64], counts: Any, kind: Any = np.int32) -> Part:
    counts = counts.tocsr()
    return Part(tree, counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data.astype(kind))


def with_content(content: Any, s: int, shard: SharedForest, tree: NDArray[np.int64], bags: Any) -> list[Part]:
    """Bags of these trees as kernels draw them; where nodes have content, with cells and sums of columns."""
    if content is None:
        return [Part(tree, *bags)]
    rest, drawn = content.parted(s, shard, bags)
    numbers = drawn.numbers._replace(tree=tree[drawn.numbers.tree])
    start, cell, times = rest
    return [Part(tree, start, cell, times, numbers), from_sparse(tree, drawn.words, np.float64)]


def join(parts: list[Part], n_trees: int, content: Any = None) -> Bags:
    """All entries of a tree beside each other."""
    tree = np.concatenate([np.repeat(part.tree, np.diff(part.start)) for part in parts])
    order = np.argsort(tree, kind="stable")
    stop = np.cumsum(np.bincount(tree, minlength=n_trees)).astype(np.int64)
    cell, count = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("cell", "times"))
    bags = Bags(np.append(0, stop[:-1]), stop, cell, count)
    if content is None:
        return bags
    return bags._replace(moments=content.joined([part.numbers for part in parts if part.numbers], n_trees))


def _sum_duplicates(bags: Bags, n_cells: int) -> Bags:
    """Cells of a tree made unique: a slot may be pointed to both in vain and with success."""
    indptr = np.append(bags.start, len(bags.cell))
    counts = sparse.csr_array((bags.times, bags.cell, indptr), shape=(len(bags.start), n_cells))
    counts.sum_duplicates()
    start = counts.indptr.astype(np.int64)
    cell, times = counts.indices.astype(np.int32), counts.data.astype(bags.times.dtype)
    return Bags(start[:-1].copy(), start[1:].copy(), cell, times, bags.moments)


def _shape_counts(model: "SwitchingTree", shard: SharedForest) -> Any:
    """Sparse [distinct tree, cell]: absent slots in the slot reading, hits and misses of the branching."""
    at = layout_of(model)
    if model.absent != "slot" and model.structure is None:
        return None
    s = shard.structure
    blocks, columns = [], []
    if model.absent == "slot":
        blocks.append(s.n_internal[:, None] - s.with_slot.toarray())
        columns.append(at.leaf + np.arange(model.n_slots) * at.leaf_width + model.n_states)
    if model.structure == "branching":
        blocks += _hits_and_misses(model.pooled, shard)
        columns.append(np.arange(at.shape, at.end))
    return _cells_of(blocks, columns, at.end)


def branching_cells(model: Any, shard: SharedForest, at: Layout) -> Any:
    """Sparse [distinct tree, cell]: hits and misses of a branching that does not depend on states; None without."""
    if model.structure != "branching":
        return None
    return _cells_of(_hits_and_misses(model.pooled, shard), [np.arange(at.shape, at.end)], at.end)


def _hits_and_misses(pooled: bool, shard: SharedForest) -> list[Floats]:
    s = shard.structure
    hits, misses = s.with_slot.toarray(), s.n_nodes[:, None] - s.with_slot.toarray()
    if pooled:  # a chance after each child, and one that fails
        hits[:, -1], misses[:, -1] = s.in_slot.toarray()[:, -1], s.n_nodes
    return [hits, misses]


def _cells_of(blocks: list[Floats], columns: list[NDArray[np.int64]], n_cells: int) -> Any:
    """Dense blocks [distinct tree, ...] as sparse cells; columns say where those of each block lie."""
    dense, column = np.concatenate(blocks, axis=1), np.concatenate(columns)
    tree, x = np.nonzero(dense)
    return sparse.csr_array((dense[tree, x], (tree, column[x])), shape=(len(dense), n_cells))


def log_marginal(table: CellTable, kinds: list[slice], cells: Floats) -> Floats:
    """Log probability of the counts of each kind, all components together, their parameters integrated out."""
    out = np.zeros(len(kinds))
    for x, part in enumerate(kinds):
        counts, prior, row = cells[:, part], table.prior[part], table.row[part]
        if not len(row):
            continue
        first, n_rows = int(row.min()), int(row.max() - row.min()) + 1
        totals = np.stack([np.bincount(row - first, c, n_rows) for c in counts])
        row_prior = table.row_prior[first : first + n_rows]
        out[x] = (gammaln(prior + counts) - gammaln(prior)).sum()
        out[x] += (gammaln(row_prior) - gammaln(row_prior + totals)).sum()
    return out
