"""Trees as bags of counts of a top-down hidden tree, given drawn states; and how probable a tree is a priori."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from . import completed_counts as bg
from .base_measure import by_shard, by_state, of_tree, several
from .kernels import impute, top_down_impute, top_down_states
from .kernels.bags import CellTable, Layout
from .structure_terms import branching_prior
from .top_down_params import Counts, Priors
from .tree_model import Evidence

if TYPE_CHECKING:
    from .passes import Batch
    from .top_down_tree import TopDownTree

Floats = NDArray[np.float64]


def layout_of(model: "TopDownTree") -> Layout:
    """Where every kind of count lies: root, and hits and misses by state behind it, stand where leaves would."""
    tables: Any = model.tables
    n = model.n_states
    by_state = 2 * model.n_slots * n if model.structure == "state" else 0
    shapes = 2 * model.n_slots if model.structure == "branching" else 0
    with_cells: Any = model.emission
    emission = with_cells.n_cells(n)
    ends = np.cumsum([0, n + by_state, emission, 0, int(np.prod(tables.transition.shape)), shapes])
    return Layout(*(int(x) for x in [*ends, n, n, n]))


def kinds_of(model: "TopDownTree") -> list[slice]:
    """The cells of each Dirichlet parameter, in the order of `Priors`."""
    at = layout_of(model)
    branching = slice(model.n_states, at.emission) if model.structure == "state" else slice(at.shape, at.end)
    return [slice(0, model.n_states), slice(at.emission, at.switch), slice(at.transition, at.shape), branching]


def table_of(model: "TopDownTree", priors: Priors) -> CellTable:
    """Rows and Dirichlet parameters of all cells."""
    at = layout_of(model)
    root, emission, transition, branching = kinds_of(model)
    row, prior = np.empty(at.end, np.int64), np.empty(at.end)
    with_cells: Any = model.emission
    n_chances = (branching.stop - branching.start) // 2
    parts = [
        (root, np.zeros(model.n_states, np.int64)),
        (emission, with_cells.cell_rows(model.n_states)),
        (transition, np.arange(transition.stop - transition.start) // model.n_states),
        (branching, np.tile(np.arange(n_chances), 2)),  # hits, then misses
    ]
    first = 0
    for (cells, rows), alpha in zip(parts, priors, strict=True):
        row[cells], prior[cells] = rows + first, alpha
        first += int(rows.max()) + 1 if len(rows) else 0
    by_state = model.n_states if model.structure == "state" else 1
    prior[branching] = np.concatenate([np.repeat(x, by_state) for x in branching_prior(model, priors)])
    return CellTable(row, prior, np.bincount(row, prior).astype(np.float64), bg.numbers_of(model))


class TopDownBags(bg.BagDrawer):
    """Bags of top-down trees."""

    def _layout(self) -> Any:
        return layout_of(self.model)

    def _count_shapes(self, shard: SharedForest) -> Any:
        return bg.branching_cells(self.model, shard, self.layout)

    def _draw_bags(self, rng: np.random.Generator, flow: Any, shard: SharedForest, part: SharedForest, up: Any) -> Any:
        lay, n, more = self.layout, self.model.n_states, self._more_labels(shard)
        per_slot = 0 if self.model.tied else n * n
        offsets = (lay.leaf, lay.emission, lay.transition + more, per_slot, self.model.pooled, lay.end + more)
        return top_down_states.draw_bags(rng, part.units, flow, up, part.tree_root[part.tree_id], offsets)

    def table(self, priors: Priors) -> CellTable:
        """Rows and Dirichlet parameters of all cells."""
        return table_of(self.model, priors)

    def kinds(self) -> list[slice]:
        """The cells of each Dirichlet parameter."""
        return kinds_of(self.model)

    def counts(self, cells: Floats) -> Counts:
        """Counts of all components from [component, cell]."""
        n, model = len(cells), self.model
        tables: Any = model.tables
        kinds = self.kinds()
        root, _, transition, branching = (cells[:, part].T for part in kinds)
        hits, misses = (x.reshape(*tables.branching.shape, n) for x in np.split(branching, 2))
        return Counts(
            root,
            bg.emission_counts(model, cells, kinds[1], self.layout.end),
            transition.reshape(*tables.transition.shape, n),
            np.stack([hits, hits + misses]),
        )


def evidence(
    model: "TopDownTree", batch: "Batch", priors: Priors | list[Priors], floor: Floats | None = None
) -> Evidence:
    """Log P(tree) with the parameters of its component integrated out under their prior; see `base_measure`."""
    return by_shard(model, batch, priors, floor, _content_evidence)


def _content_evidence(model: Any, priors: Priors | list[Priors], shard: SharedForest, floor: Floats) -> Evidence:
    """Log probability of the contents of each distinct tree, and of its shape where that depends on states."""
    units = shard.units
    hit, miss = branching_prior(model, several(priors)[0]) if model.structure == "state" else (np.zeros(0), np.zeros(0))
    sizes = (model.n_slots, model.n_states, model.tied, model.pooled)
    n = model.n_states
    urns = model.emission.urns(shard.contents, several(priors)[0].emission)
    models = [
        top_down_impute.Model(*sizes, by_state(one.root, n), urns, by_state(one.transition, n), hit, miss)
        for one in several(priors)
    ]
    out = Evidence(np.zeros(shard.n_distinct_trees), np.zeros(shard.n_distinct_trees))
    for t, root in enumerate(shard.tree_root):
        order = impute.post_order(units.child_start, units.child, root)[::-1].copy()
        out.log_prob[t], out.error[t] = of_tree(top_down_impute.log_evidence, (units, order, models), floor[t])
    return out
