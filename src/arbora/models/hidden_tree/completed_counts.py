"""Trees as bags of counts: given its hidden states and switches, a tree is a sample of plain categorical variables.

All counts of a component lie in one flat vector of cells, so that what works on them (counting, splitting, merging,
learning Dirichlet parameters) needs to know nothing of trees.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from ...forest.sharing import SharedForest
from . import tree_model as tm
from .kernels import draw_states
from .kernels.split_bags import Bags, Layout, Table
from .passes import Batch

Floats = NDArray[np.float64]

# Counts are 32 bits wide; so many rejections happen only where a switch has all but no chance to hit a child.
MOST_REJECTED = 2**30


def layout_of(spec: tm.Spec) -> Layout:
    """Where every kind of count lies."""
    shapes: Any = tm.param_shapes(spec, 1)
    sizes = [int(np.prod(shape)) for shape in (shapes.leaf, shapes.emission, shapes.switch, shapes.transition)]
    leaf, emission, switch, transition = sizes
    n_pairs, width = shapes.transition[1], shapes.leaf[1]
    ends = np.cumsum([0, leaf, emission, switch, transition, 2 * shapes.branching[0]])
    return Layout(*(int(x) for x in [*ends, width, n_pairs, spec.n_states]))


def rows_of(spec: tm.Spec) -> NDArray[np.int64]:
    """The row of every cell: cells of a row share one distribution."""
    at = layout_of(spec)
    leaf = np.arange(at.emission) // at.leaf_width
    emission = np.arange(at.switch - at.emission) % at.n_states
    switch = np.zeros(at.transition - at.switch, np.int64)
    transition = np.arange(at.shape - at.transition) // at.n_states
    branching = np.arange(at.end - at.shape) % max(1, (at.end - at.shape) // 2)
    parts = [leaf, emission, switch, transition, branching]
    first = np.cumsum([0] + [int(x.max()) + 1 if len(x) else 0 for x in parts])
    return np.concatenate([part + start for part, start in zip(parts, first[:-1], strict=True)]).astype(np.int64)


def kinds_of(spec: tm.Spec) -> list[slice]:
    """The cells of each Dirichlet parameter, in the order of `Priors`."""
    at = layout_of(spec)
    ends = [at.leaf, at.emission, at.switch, at.transition, at.shape, at.end]
    return [slice(ends[x], ends[x + 1]) for x in range(5)]


def table_of(spec: tm.Spec, priors: tm.Priors) -> Table:
    """Rows and Dirichlet parameters of all cells."""
    row = rows_of(spec)
    prior = np.empty(len(row))
    for cells, alpha in zip(kinds_of(spec), priors, strict=True):
        prior[cells] = alpha
    prior[layout_of(spec).shape :] = np.concatenate(tm.branching_prior(spec, priors))  # hits, then misses
    counted = prior.copy()
    if spec.absent == "slot":  # a root is never absent: the cell is there, and nothing is ever in it
        counted[layout_of(spec).emission - 1] = 0.0
    return Table(row, prior, np.bincount(row, counted).astype(np.float64))


def counts_by_component(spec: tm.Spec, bags: Bags, label: NDArray[np.int64], n_components: int) -> Floats:
    """Sum of the bags of each component, [component, cell]."""
    length = bags.stop - bags.start
    entry = np.repeat(bags.start - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())
    n_cells = layout_of(spec).end
    key = np.repeat(label, length) * n_cells + bags.cell[entry]
    total = np.bincount(key, bags.times[entry], n_components * n_cells).astype(np.float64)
    return total.reshape(n_components, n_cells)


def as_counts(spec: tm.Spec, cells: Floats) -> tm.Counts:
    """Counts of all components in the shapes of their parameters from [component, cell]."""
    n = len(cells)
    shapes: Any = tm.param_shapes(spec, n)
    names = ("leaf", "emission", "switch", "transition")
    parts = [cells[:, part].T for part in kinds_of(spec)]
    arrays = {name: part.reshape(getattr(shapes, name)) for name, part in zip(names, parts[:4], strict=True)}
    hits, misses = np.split(parts[4], 2)
    return tm.Counts(**arrays, branching=np.stack([hits, hits + misses]), exposure=np.zeros((0, n)))


class BagDrawer:
    """Draws hidden states of all trees and bags their counts, together with those of their shapes."""

    def __init__(self, batch: Batch):
        self.batch, self.spec, self.layout = batch, batch.spec, layout_of(batch.spec)
        # Shapes do not change: their counts are taken once for every distinct tree.
        self.shape_counts = [_shape_counts(self.spec, shard) for shard in batch.shards]

    def draw(self, rng: np.random.Generator, label: NDArray[np.int64], params: tm.Params) -> Bags:
        """One bag a tree, given its component and the parameters of all."""
        parts: list[_Part] = []
        for k in range(params.switch.shape[1]):
            one = tm.Params(*(x[..., k : k + 1] for x in params))
            flow = tm.as_flow(self.spec, one)
            for s, (shard, rows) in enumerate(zip(self.batch.shards, self.batch.rows, strict=True)):
                mine = np.flatnonzero(label[rows] == k)
                if len(mine):
                    parts += self._draw_part(rng, one, flow, shard, self.shape_counts[s], mine, rows.start)
        bags = _join(parts, self.batch.n_trees)
        return _sum_duplicates(bags, self.layout.end) if self.spec.absent == "renormalised" else bags

    def _draw_part(
        self, rng: np.random.Generator, one: tm.Params, flow: Any, shard: SharedForest, shape: Any, mine: Any, at: int
    ) -> "list[_Part]":
        part = shard.restrict(mine)
        messages, _ = tm.upward(flow, part, 1, self.batch.workspace)
        roots = part.tree_root[part.tree_id]
        offsets = (*self.layout[:4], self.layout.leaf_width, self.layout.end)
        drawn = [_Part(mine + at, *draw_states.draw_bags(rng, part.units, flow, messages.up, roots, offsets))]
        if shape is not None:
            drawn.append(_from_sparse(mine + at, shape[shard.tree_id[mine]]))
        if self.spec.absent == "renormalised":
            drawn.append(_from_sparse(mine + at, self._draw_rejected(rng, one.switch[:, 0], shard, mine)))
        return drawn

    def _draw_rejected(self, rng: np.random.Generator, switch: Floats, shard: SharedForest, mine: Any) -> Any:
        """Switches that pointed to absent slots before one pointed to a present one: makes the update conjugate."""
        switch = np.maximum(switch, tm.TINY)
        nodes = shard.structure.with_pattern[shard.tree_id[mine]].tocsc()
        total = np.zeros((len(mine), self.spec.n_slots))
        for p in np.flatnonzero(np.diff(nodes.indptr)):
            present = shard.structure.pattern[[p]].toarray()[0] > 0
            mass = min(max(switch[present].sum() / switch.sum(), 1e-12), 1.0)
            if mass < 1.0 and not present.all():
                trees = nodes.indices[nodes.indptr[p] : nodes.indptr[p + 1]]
                n_nodes = np.rint(nodes.data[nodes.indptr[p] : nodes.indptr[p + 1]])
                n_rejected = np.minimum(rng.negative_binomial(n_nodes, mass), MOST_REJECTED)
                share = switch[~present] / switch[~present].sum()
                total[np.ix_(trees, np.flatnonzero(~present))] += rng.multinomial(n_rejected, share)
        rejected = sparse.csr_array(total)
        rejected.resize((len(mine), self.layout.end))
        rejected.indices += self.layout.switch
        return rejected


class _Part(NamedTuple):
    """Bags of some trees, one after another."""

    tree: NDArray[np.int64]
    start: NDArray[np.int64]
    cell: NDArray[np.int32]
    times: NDArray[np.int32]


def _from_sparse(tree: NDArray[np.int64], counts: Any) -> _Part:
    counts = counts.tocsr()
    return _Part(tree, counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data.astype(np.int32))


def _join(parts: list[_Part], n_trees: int) -> Bags:
    """All entries of a tree beside each other."""
    tree = np.concatenate([np.repeat(part.tree, np.diff(part.start)) for part in parts])
    order = np.argsort(tree, kind="stable")
    stop = np.cumsum(np.bincount(tree, minlength=n_trees)).astype(np.int64)
    cell, count = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("cell", "times"))
    return Bags(np.append(0, stop[:-1]), stop, cell, count)


def _sum_duplicates(bags: Bags, n_cells: int) -> Bags:
    """Cells of a tree made unique: a slot may be pointed to both in vain and with success."""
    indptr = np.append(bags.start, len(bags.cell))
    counts = sparse.csr_array((bags.times, bags.cell, indptr), shape=(len(bags.start), n_cells))
    counts.sum_duplicates()
    start = counts.indptr.astype(np.int64)
    return Bags(start[:-1].copy(), start[1:].copy(), counts.indices.astype(np.int32), counts.data.astype(np.int32))


def _shape_counts(spec: tm.Spec, shard: SharedForest) -> Any:
    """Sparse [distinct tree, cell]: absent slots in the slot reading, hits and misses of the branching."""
    at = layout_of(spec)
    if spec.absent != "slot" and spec.structure is None:
        return None
    s = shard.structure
    blocks, columns = [], []
    if spec.absent == "slot":
        blocks.append(s.n_internal[:, None] - s.with_slot.toarray())
        columns.append(at.leaf + np.arange(spec.n_slots) * at.leaf_width + spec.n_states)
    if spec.structure == "branching":
        hits, misses = s.with_slot.toarray(), s.n_nodes[:, None] - s.with_slot.toarray()
        if spec.pooled:  # a chance after each child, and one that fails
            hits[:, -1], misses[:, -1] = s.in_slot.toarray()[:, -1], s.n_nodes
        blocks += [hits, misses]
        columns.append(np.arange(at.shape, at.end))
    dense, column = np.concatenate(blocks, axis=1), np.concatenate(columns)
    tree, x = np.nonzero(dense)
    shape = (shard.n_distinct_trees, at.end)
    return sparse.csr_array((dense[tree, x], (tree, column[x])), shape=shape)


def log_marginal(spec: tm.Spec, cells: Floats, priors: tm.Priors) -> Floats:
    """Log probability of the counts of each kind, all components together, their parameters integrated out."""
    out = np.zeros(5)
    table = table_of(spec, priors)
    for x, part in enumerate(kinds_of(spec)):
        counts, prior, row = cells[:, part], table.prior[part], table.row[part]
        if not len(row):
            continue
        first, n_rows = int(row.min()), int(row.max() - row.min()) + 1
        totals = np.stack([np.bincount(row - first, c, n_rows) for c in counts])
        row_prior = table.row_prior[first : first + n_rows]
        out[x] = (gammaln(prior + counts) - gammaln(prior)).sum()
        out[x] += (gammaln(row_prior) - gammaln(row_prior + totals)).sum()
    return out
