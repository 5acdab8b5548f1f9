"""SwitchingTree: the bottom-up hidden tree model with switching parents (Bacciu, Castellana, Giuffrida and others).

Its mathematics, for many components at once, as a `TreeModel`.  Equations, and where we differ from the papers: note.md
beside this file.  Arrays carry the component axis last, as kernels like it; the estimators show it first.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

from ...forest.forest import Forest
from ...forest.sharing import SharedForest
from ...forest.trees import Trees
from . import distributions as dist
from . import switching_nodes
from .base_measure import evidence
from .completed_counts import SwitchingBags
from .distributions import TINY
from .emissions import Emission, emission_of
from .emissions.choice import grown
from .emissions.labels import Labels
from .kernels import upward_downward as ud
from .kernels import upward_downward_single as single
from .kernels import upward_downward_single_vectors as states
from .kernels import upward_downward_vectors as vectors
from .lanes import Workspace, from_lanes, lane_shape, to_lanes
from .node_surprise import without_subtrees
from .shard_passes import Kernels, Upward, empty_statistics, run_downward, run_upward
from .slot_rates import slot_rates
from .structure_terms import branching_prior, structure_counts, structure_log_prob
from .switching_params import Counts, Params, Priors, ShapeCounts
from .tree_model import Evidence, Table, mapped

Absent = Literal["bottom", "slot", "literal", "renormalised"]
Structure = Literal["branching"] | None
Floats = NDArray[np.float64]

ABSENT: tuple[str, ...] = get_args(Absent)
MOST = 1e300  # that a count may be


KERNELS = Kernels(ud, single, states, vectors, True, 2)


@dataclass(frozen=True)
class SwitchingTree:
    """Sizes and readings of the model; fixed during a fit."""

    n_slots: int
    emission: Emission
    n_states: int
    absent: Absent = "bottom"
    structure: Structure = None
    pooled: bool = False  # the last slot stands for all later ones, and may hold several children
    rates: tuple[float, ...] = ()  # around which the prior of the branching lies, by slot; none: around one half

    priors_type: ClassVar[type[Priors]] = Priors
    direction: ClassVar[str] = "up"

    @classmethod
    def of_labels(
        cls,
        n_slots: int,
        n_labels: int,
        n_states: int,
        absent: Absent = "bottom",
        structure: Structure = None,
        pooled: bool = False,
        rates: tuple[float, ...] = (),
    ) -> Self:
        """A model of trees with a label per node."""
        return cls(n_slots, Labels(n_labels), n_states, absent, structure, pooled, rates)

    def header(self) -> list[Any]:
        """Sizes and readings as a model file holds them."""
        fixed = [self.n_slots, self.emission.header(), self.n_states, self.absent, self.structure, self.pooled]
        return [*fixed, list(self.rates)]

    @classmethod
    def from_header(cls, values: Any) -> Self:
        """The model from what a file holds; files written before there were rates have none."""
        n_slots, emission, n_states, absent, structure, pooled = values[:6]
        rates = list(values[6]) if len(values) > 6 else []
        sound = all(type(n) is int and n >= 0 for n in (n_slots, n_states)) and type(pooled) is bool
        if not sound or n_slots < 1 or absent not in ABSENT or structure not in (None, "branching"):
            raise ValueError(f"the sizes of the model make no sense: {values!r:.200}")
        if rates and (len(rates) != n_slots or not all(type(r) is float and 0.0 < r < 1.0 for r in rates)):
            raise ValueError(f"the rates of the branching make no sense: {rates!r:.80}")
        if type(emission) is int and emission < 0:
            raise ValueError(f"the sizes of the model make no sense: {values!r:.200}")
        return cls(n_slots, emission_of(emission), n_states, absent, structure, pooled, tuple(rates))

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary."""
        return self.emission.n_labels

    @property
    def absent_is_state(self) -> bool:
        """Whether an absent child is one more state of a child, or carries no information."""
        return self.absent in ("bottom", "slot")

    @property
    def needs_structure(self) -> bool:
        """Whether the shape of a tree enters its probability."""
        return self.structure is not None or self.absent in ("slot", "renormalised")

    @property
    def tables(self) -> Params:
        """Shape and axis of every parameter array."""
        n_slots, n_states = self.n_slots, self.n_states
        tables: list[Any] = [
            Table("leaf_prob_", (n_slots + 1, n_states + (self.absent == "slot")), 1),
            self.emission.tables(n_states),
            Table("switch_prob_", (n_slots,), 0),
            Table("transition_prob_", (n_slots, n_states + self.absent_is_state, n_states), 2),
            Table("branching_prob_", (n_slots if self.structure else 0,)),
        ]
        return Params(*tables)

    @property
    def count_tables(self) -> Counts:
        """Shapes and bounds of the counts."""
        tables: Any = self.tables
        exposed = self.n_slots if self.absent == "renormalised" else 0
        shapes = [tables.switch.shape, tables.transition.shape, (2, *tables.branching.shape), (exposed,)]
        switch, transition, branching, exposure = (Table("counts_", shape, most=MOST) for shape in shapes)
        emission = self.emission.statistics_tables(self.n_states)
        leaf: Any = Table("counts_", tables.leaf.shape, most=MOST)
        return Counts(leaf, emission, switch, transition, branching, exposure)  # type: ignore[arg-type]

    def unit_bytes(self, n_components: int) -> int:
        """Working memory of one unit in the passes, one number per lane for what its tree needs included."""
        n_lanes = int(np.prod(lane_shape(n_components)))
        rows = 0 if self.emission.by_label else 4 * self.n_states  # evidence and sums, as many rows as units at most
        return 8 * n_lanes * (2 * self.n_states + 3 + rows)

    def grown(self, trees: Trees) -> Self:
        """The model with new labels and words of these trees."""
        return replace(self, emission=grown(self.emission, trees))

    # ---- parameters -----------------------------------------------------------------------------------------------

    def _dirichlet(self, rng: np.random.Generator, table: Any, n: int, alpha: float, counts: Any) -> Floats:
        shape = np.full((*table.shape, n), alpha)
        without_last = table.name == "leaf_prob_" and self.absent == "slot"  # a root is never absent
        return dist.draw_dirichlet(rng, shape if counts is None else shape + counts, table.sums_along, without_last)

    def draw(
        self, rng: np.random.Generator, n_components: int, priors: Any = None, counts: Counts | None = None
    ) -> Params:
        """Parameters from their Dirichlet (and Beta) priors, flat if None, or from the posterior given counts."""
        alpha: Priors = priors or Priors()
        tables: Any = self.tables
        given: Any = counts or Counts(*[None] * 6)  # type: ignore[arg-type]
        leaf = self._dirichlet(rng, tables.leaf, n_components, alpha.leaf, given.leaf)
        emission = self.emission.draw(rng, self.n_states, n_components, alpha.emission, given.emission)
        switch = self._dirichlet(rng, tables.switch, n_components, alpha.switch, given.switch)
        transition = self._dirichlet(rng, tables.transition, n_components, alpha.transition, given.transition)
        hits, tries = (0.0, 0.0) if counts is None else counts.branching
        a, b = (x[:, None] for x in branching_prior(self, alpha))
        branching = rng.beta(a + hits, b + tries - hits, (*tables.branching.shape, n_components))
        # Neither certain nor impossible, whatever rounding says: its log is taken.
        branching = np.clip(branching, TINY, 1.0 - np.finfo(np.float64).eps)
        return Params(leaf, emission, switch, transition, branching)

    def uniform(self) -> Params:
        """One component with uniform distributions and even chances of branching: the mean of flat priors."""
        tables: Any = self.tables
        leaf, switch, transition = (
            dist.uniform(table.shape, table.sums_along, table is tables.leaf and self.absent == "slot")
            for table in (tables.leaf, tables.switch, tables.transition)
        )
        branching = np.full((*tables.branching.shape, 1), 0.5)
        return Params(leaf, self.emission.uniform(self.n_states), switch, transition, branching)

    def start(self, rng: np.random.Generator, n_components: int, forest: Trees, weight: Floats | None) -> Params:
        """Flat draws to start EM from, except for the branching, which starts at the overall rate of each slot.

        A random branching would say more about a tree than all its labels, and send every tree to one component.
        """
        params = self.draw(rng, n_components)
        emission = self.emission.start(rng, self.n_states, n_components, forest)
        params = params if emission is None else params._replace(emission=emission)
        if self.structure is None:
            return params
        rate = slot_rates(forest, weight, self.n_slots)
        return params._replace(branching=np.repeat(rate[:, None], n_components, axis=1))

    def reorder_states(self, values: Any, order: NDArray[np.int64]) -> Any:
        """Params or Counts with states renumbered; the absent state, where there is one, stays last."""
        rows = np.append(order, np.arange(self.n_states, values.leaf.shape[1]))
        children = np.append(order, np.arange(self.n_states, values.transition.shape[1]))
        return values._replace(
            leaf=values.leaf[:, rows],
            emission=self.emission.in_order(values.emission, order),
            transition=values.transition[:, children][:, :, order],
        )

    def check(self, params: Params) -> None:
        """Raise where parameters are of the right shape and range, and yet make no sense."""
        if self.absent == "slot" and params.leaf[-1, -1].any():
            raise ValueError("leaf_prob: the root's row has no chance of 'nothing there'; its last entry must be zero")

    # ---- the passes -----------------------------------------------------------------------------------------------

    def prepare(self, params: Params) -> ud.Flow:
        """Parameters in the form of the kernels: switch times transition, and sums over absent slots.

        Where the rows of the emission are those of a shard, `upward` puts them in.
        """
        switch = params.switch
        if self.absent == "renormalised":
            # Where no present slot has any weight, they share it evenly; see note.md.
            switch = np.maximum(switch, TINY)
        flow = params.transition * switch[:, None, None, :]
        tail = np.zeros((0, self.n_states, switch.shape[1]))
        if self.absent_is_state:
            tail = np.zeros((self.n_slots + 1, self.n_states, switch.shape[1]))
            tail[:-1] = np.cumsum(flow[::-1, self.n_states], axis=0)[::-1]
        rows = self.emission.rows(params.emission, None).prob if self.emission.by_label else tail[:0]
        return ud.Flow(*(to_lanes(x) for x in (params.leaf[:, : self.n_states], rows, flow, tail)))

    def upward(self, flow: ud.Flow, params: Params, shard: SharedForest, workspace: Workspace) -> tuple[Upward, Floats]:
        """Run the upward pass; log P(contents of distinct tree t | component k), without structure terms."""
        return run_upward(KERNELS, self.emission, flow, params, shard, (self.n_states, workspace))

    def empty_sums(self, n_components: int) -> ud.Sums:
        """Zeros in the shapes the downward pass adds to, and statistics of the emission."""
        lanes = lane_shape(n_components)
        last = (self.n_states, *lanes)
        absent = (self.n_slots + 1 if self.absent_is_state else 0, *last)
        pair = (self.n_slots, self.n_states, *last)
        leaf = (self.n_slots + 1, *last)
        emission = empty_statistics(self.emission, self.n_states, n_components)
        return ud.Sums(np.zeros(leaf), emission, np.zeros(pair), np.zeros(absent), np.zeros(absent))

    def downward(
        self,
        flow: ud.Flow,
        shard: SharedForest,
        messages: Upward,
        weight: Floats,
        sums_out: ud.Sums,
        posterior: Any = None,
    ) -> None:
        """Run the downward pass with weight[distinct tree, component]: adds to sums, fills posterior[unit] if given."""
        run_downward(KERNELS, self.emission, messages, shard, weight, (sums_out, posterior))

    def root_states(self, messages: Upward, shard: SharedForest, n_components: int) -> Floats:
        """P(state of the root | tree), [distinct tree, state, component]."""
        return from_lanes(messages.at("up", shard.tree_root), n_components)

    def node_room(self, messages: Upward) -> Floats:
        """An array for the posterior of every unit, in lanes."""
        return np.empty(messages.shape)

    def shape_log_prob(self, params: Params, shard: SharedForest) -> Floats | None:
        """Log of the structure factor of each distinct tree and component."""
        return structure_log_prob(self, params, shard) if self.needs_structure else None

    def shape_counts(self, params: Params, shard: SharedForest, weight: Floats) -> ShapeCounts:
        """What the structure terms count."""
        return structure_counts(self, params, shard, weight)

    def counts(self, flow: ud.Flow, sums: ud.Sums, shape: ShapeCounts, n_components: int) -> Counts:
        """Expected counts: pair sums times flow, absent sums times the absent flow, and the counts of the shapes."""
        transition = np.empty_like(flow.flow)
        n = self.n_states
        np.multiply(flow.flow[:, :n], sums.pair, out=transition[:, :n])
        if self.absent_is_state:
            absent = sums.gap[:-1] + np.cumsum(sums.tail[:-1], axis=0)
            np.multiply(flow.flow[:, n], absent, out=transition[:, n])
        leaf, transition = (from_lanes(x, n_components) for x in (sums.leaf, transition))
        emission = mapped(lambda x: from_lanes(x, n_components), sums.emission)
        if self.absent == "slot":
            nothing = np.concatenate([shape.nothing, np.zeros((1, n_components))])
            leaf = np.concatenate([leaf, nothing[:, None]], axis=1)
        return Counts(leaf, emission, transition.sum(axis=(1, 2)), transition, shape.branching, shape.exposure)

    # ---- M-step and priors ----------------------------------------------------------------------------------------

    def m_step(self, counts: Counts, params: Params, priors: Any) -> Params:
        """Parameters that maximise the expected complete log-likelihood plus log prior; section 4 of the note."""
        leaf = dist.mode(counts.leaf, 1, priors.leaf)
        if self.absent == "slot":
            leaf[-1] = 0.0
            leaf[-1, :-1] = dist.mode(counts.leaf[-1, :-1], 0, priors.leaf)
        if self.absent == "renormalised":
            switch = dist.switch_mm_step(counts.switch, counts.exposure, params.switch, priors.switch)
        else:
            switch = dist.mode(counts.switch, 0, priors.switch)
        return Params(
            leaf=leaf,
            emission=self.emission.mode(counts.emission, params.emission, priors.emission),
            switch=switch,
            transition=dist.mode(counts.transition, 2, priors.transition),
            branching=dist.chance_mode(counts.branching[0], counts.branching[1], priors.branching),
        )

    def log_prior(self, params: Params, priors: Any) -> Floats:
        """Log prior density of each component's parameters, up to a constant; zero where every prior is one."""
        total = self._log_rows(params, priors)
        a = priors.branching - 1.0
        if a != 0.0 and params.branching.size:
            total += (xlogy(a, params.branching) + xlog1py(a, -params.branching)).sum(axis=0)
        return total

    def _log_rows(self, params: Params, priors: Any) -> Floats:
        """The part of `log_prior` that is not of the branching."""
        total = np.zeros(params.switch.shape[1])
        total += dist.log_prior(params.leaf, priors.leaf)
        total += self.emission.log_prior(params.emission, priors.emission)
        total += dist.log_prior(params.switch, priors.switch)
        total += dist.log_prior(params.transition, priors.transition)
        return total

    def log_prior_density(self, params: Params, priors: Any) -> Floats:
        """Log density of each component's parameters under their priors, with the normalising constants.

        With `rates` that of the branching is the density of its log odds: near zero, where draws of a rare slot lie,
        the density of the chance itself has no bound.
        """
        total = self._log_rows(params, priors)
        tables: Any = self.tables
        total += dist.log_prior_constant(tables.leaf.shape, 1, priors.leaf)
        if self.absent == "slot":  # the root's row is one shorter
            n, alpha = self.n_states + 1, priors.leaf
            total += gammaln((n - 1) * alpha) - gammaln(n * alpha) + gammaln(alpha)
        total += self.emission.log_prior_constant(self.n_states, priors.emission)
        total += dist.log_prior_constant(tables.switch.shape, 0, priors.switch)
        total += dist.log_prior_constant(tables.transition.shape, 2, priors.transition)
        a, b = (x[:, None] for x in branching_prior(self, priors))
        less = 0.0 if self.rates else 1.0
        chance = params.branching
        return np.asarray(total + (xlogy(a - less, chance) + xlog1py(b - less, -chance) - betaln(a, b)).sum(axis=0))

    def n_free_parameters(self) -> int:
        """Free parameters of one component."""
        tables: Any = self.tables
        rows = sum(dist.n_free(table.shape, table.sums_along) for table in (tables[0], tables[2], tables[3]))
        root = int(self.absent == "slot")  # a root is never absent
        return rows + self.emission.n_free(self.n_states) - root + int(np.prod(tables.branching.shape))

    # ---- sampling, and nodes --------------------------------------------------------------------------------------

    def completed(self, batch: Any) -> SwitchingBags:
        """Bags of counts given drawn states and switches."""
        return SwitchingBags(batch)

    def evidence(self, batch: Any, priors: Any, floor: Any = None) -> Evidence:
        """Log P(tree) with the parameters integrated out: the shape exactly, the labels by sequential imputation."""
        return evidence(self, batch, priors, floor)

    def best_states(self, params: Params, shard: SharedForest, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """State of every node of a plain shard in the most probable joint choice, each in its component."""
        return switching_nodes.best_states(self, params, shard, lanes)

    def draw_labels(
        self, rng: np.random.Generator, params: Params, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Labels of the nodes of a plain shard, from the leaves up, each in its component."""
        rows = self.emission.rows(params.emission, None).prob
        return switching_nodes.draw_nodes(rng, self, params, shard, lanes, rows)[1]

    def draw_states(
        self, rng: np.random.Generator, params: Params, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """States of the nodes of a plain shard, from the leaves up, each in its component."""
        nothing = np.ones((1, self.n_states, params.switch.shape[1]))
        return switching_nodes.draw_nodes(rng, self, params, shard, lanes, nothing)[0]

    def draw_shapes(self, rng: np.random.Generator, params: Params, component: NDArray[np.int64]) -> Forest:
        """Trees without labels by the branching of their components."""
        return switching_nodes.draw_shapes(rng, self, params, component)

    def without_subtrees(self, params: Params, shard: SharedForest) -> tuple[Floats, Floats]:
        """log P(tree), and log P(all labels but those of the subtree) - log P(tree) of every node, by component."""
        return without_subtrees(self, params, shard)

    def mean_transition(self, params: Params) -> Floats:
        """State of a parent given the child's, whichever child the switch chooses."""
        return np.tensordot(params.switch[:, 0], params.transition[..., 0], axes=1)
