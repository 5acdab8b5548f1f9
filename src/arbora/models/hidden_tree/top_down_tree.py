"""TopDownTree: the hidden tree model in which states go from parent to child.

Crouse, Nowak and Baraniuk 1998; Diligenti, Frasconi and Gori 2003; Durand, Goncalves and Guedon 2004.  Its
mathematics, for many components at once, as a `HiddenModel`; equations are in top-down.md.  `transition` has the state
of the parent first and that of the child, which sums to one, behind it.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from ...forest.forest import Forest
from ...forest.sharing import SharedForest
from ...forest.trees import Trees
from . import distributions as dist
from . import top_down_nodes as nodes
from .distributions import TINY
from .emissions import Emission, emission_of
from .emissions.choice import grown
from .emissions.labels import Labels
from .kernels import top_down as td
from .kernels import top_down_single as single
from .kernels import top_down_single_vectors as states
from .kernels import top_down_vectors as vectors
from .lanes import Workspace, from_lanes, lane_shape, to_lanes
from .shard_passes import Kernels, Upward, empty_statistics, run_downward, run_upward
from .slot_rates import slot_rates
from .structure_terms import branching_counts, branching_log_prob, branching_prior
from .top_down_bags import TopDownBags, evidence
from .top_down_params import Counts, Params, Priors
from .tree_model import Evidence, Table, mapped

Structure = Literal["branching", "state"] | None
Floats = NDArray[np.float64]

STRUCTURES = (None, "branching", "state")
MOST = 1e300  # that a count may be


KERNELS = Kernels(td, single, states, vectors, False, 3)


@dataclass(frozen=True)
class TopDownTree:
    """Sizes and options of the model; fixed during a fit."""

    n_slots: int
    emission: Emission
    n_states: int
    structure: Structure = None
    tied: bool = False  # one transition for all slots
    pooled: bool = False  # the last slot stands for all later ones, and may hold several children
    rates: tuple[float, ...] = ()  # around which the prior of the branching lies, by slot; none: around one half

    priors_type: ClassVar[type[Priors]] = Priors
    direction: ClassVar[str] = "down"

    def header(self) -> list[Any]:
        """Sizes and options as a model file holds them; the first word is the direction."""
        fixed = ["down", self.n_slots, self.emission.header(), self.n_states, self.structure, self.tied, self.pooled]
        return [*fixed, list(self.rates)]

    @classmethod
    def from_header(cls, values: Any) -> Self:
        """Undo `header`."""
        word, n_slots, emission, n_states, structure, tied, pooled, rates = values
        sound = all(type(n) is int and n >= 1 for n in (n_slots, n_states)) and type(tied) is type(pooled) is bool
        if word != "down" or not sound or structure not in STRUCTURES or (type(emission) is int and emission < 0):
            raise ValueError(f"the sizes of the model make no sense: {values!r:.200}")
        if rates and (len(rates) != n_slots or not all(type(r) is float and 0.0 < r < 1.0 for r in rates)):
            raise ValueError(f"the rates of the branching make no sense: {rates!r:.80}")
        return cls(n_slots, emission_of(emission), n_states, structure, tied, pooled, tuple(rates))

    @property
    def n_labels(self) -> int:
        """Labels in the vocabulary."""
        return self.emission.n_labels

    @property
    def needs_structure(self) -> bool:
        """Whether shapes have a factor outside the passes."""
        return self.structure == "branching"

    @property
    def tables(self) -> Params:
        """Shape and axis of every parameter array."""
        n_slots, n_states = self.n_slots, self.n_states
        by_state = (n_states,) if self.structure == "state" else ()
        tables: list[Any] = [
            Table("root_prob_", (n_states,), 0),
            self.emission.tables(n_states),
            Table("transition_prob_", (1 if self.tied else n_slots, n_states, n_states), 2),
            Table("branching_prob_", (n_slots if self.structure else 0, *by_state)),
        ]
        return Params(*tables)

    @property
    def count_tables(self) -> Counts:
        """Shapes and bounds of the counts."""
        tables: Any = self.tables
        shapes = [tables.root.shape, tables.transition.shape, (2, *tables.branching.shape)]
        root, transition, branching = (Table("counts_", shape, most=MOST) for shape in shapes)
        emission = self.emission.statistics_tables(self.n_states)
        return Counts(root, emission, transition, branching)  # type: ignore[arg-type]

    def unit_bytes(self, n_components: int) -> int:
        """Working memory of one unit in the passes, one number per lane for what its tree needs included."""
        rows = 0 if self.emission.by_label else 4 * self.n_states  # evidence and sums, as many rows as units at most
        return 8 * int(np.prod(lane_shape(n_components))) * (3 * self.n_states + 2 + rows)

    def grown(self, trees: Trees) -> Self:
        """The model with new labels and words of these trees."""
        return replace(self, emission=grown(self.emission, trees))

    # ---- parameters -----------------------------------------------------------------------------------------------

    def _branching_prior(self, priors: Any) -> tuple[Floats, Floats]:
        """Parameters of the Beta prior of the branching, in its shape and with a component axis of one."""
        by_state = (1,) * (self.structure == "state")
        a, b = (x.reshape(*x.shape, *by_state, 1) for x in branching_prior(self, priors))
        return a, b

    def draw(
        self, rng: np.random.Generator, n_components: int, priors: Any = None, counts: Counts | None = None
    ) -> Params:
        """Parameters from their Dirichlet (and Beta) priors, flat if None, or from the posterior given counts."""
        alpha: Priors = priors or Priors()
        tables: Any = self.tables
        given: Any = counts or Counts(*[None] * 4)  # type: ignore[arg-type]

        def rows(table: Table, prior: float, seen: Any) -> Floats:
            shape = np.full((*table.shape, n_components), prior)
            return dist.draw_dirichlet(rng, shape if seen is None else shape + seen, table.sums_along or 0)

        root = rows(tables.root, alpha.root, given.root)
        emission = self.emission.draw(rng, self.n_states, n_components, alpha.emission, given.emission)
        transition = rows(tables.transition, alpha.transition, given.transition)
        hits, tries = (0.0, 0.0) if counts is None else counts.branching
        a, b = self._branching_prior(alpha)
        branching = rng.beta(a + hits, b + tries - hits, (*tables.branching.shape, n_components))
        # Neither certain nor impossible, whatever rounding says: its log is taken.
        branching = np.clip(branching, TINY, 1.0 - np.finfo(np.float64).eps)
        return Params(root, emission, transition, branching)

    def uniform(self) -> Params:
        """One component with uniform distributions and even chances of branching: the mean of flat priors."""
        tables: Any = self.tables
        root, transition = (dist.uniform(table.shape, table.sums_along) for table in (tables.root, tables.transition))
        branching = np.full((*tables.branching.shape, 1), 0.5)
        return Params(root, self.emission.uniform(self.n_states), transition, branching)

    def start(self, rng: np.random.Generator, n_components: int, forest: Forest, weight: Floats | None) -> Params:
        """Flat draws to start EM from, except for the branching, which starts at the overall rate of each slot.

        A random branching would say more about a tree than all its labels, and send every tree to one component.
        """
        params = self.draw(rng, n_components)
        emission = self.emission.start(rng, self.n_states, n_components, forest)
        params = params if emission is None else params._replace(emission=emission)
        if self.structure is None:
            return params
        rate = slot_rates(forest, weight, self.n_slots)
        rate = rate.reshape(-1, *[1] * (params.branching.ndim - 1))
        return params._replace(branching=np.broadcast_to(rate, params.branching.shape).copy())

    def reorder_states(self, values: Any, order: NDArray[np.int64]) -> Any:
        """Params or Counts with states renumbered."""
        branching = values.branching
        if self.structure == "state":
            branching = branching[..., order, :]
        return values._replace(
            root=values.root[order],
            emission=self.emission.in_order(values.emission, order),
            transition=values.transition[:, order][:, :, order],
            branching=branching,
        )

    def check(self, params: Params) -> None:
        """Nothing that shapes and ranges do not say."""

    # ---- the passes -----------------------------------------------------------------------------------------------

    def prepare(self, params: Params) -> td.Flow:
        """Parameters in the form of the kernels; lanes that pad are given numbers that stay at one."""
        flow = self.plain_flow(params)
        even = 1.0 / self.n_states
        fills = (even, 1.0, even, 1.0, 1.0)
        return td.Flow(*(to_lanes(x, fill) for x, fill in zip(flow, fills, strict=True)))

    def plain_flow(self, params: Params) -> td.Flow:
        """The same with components as they are; without rows of the emission where these are those of a shard."""
        edge = params.transition.transpose(0, 2, 1, 3)  # [slot, child, parent, k], as kernels like it
        if self.tied:
            edge = np.repeat(edge, self.n_slots, axis=0)
        miss = np.zeros((0, self.n_states, edge.shape[-1]))
        tail = miss
        if self.structure == "state":
            edge = edge * params.branching[:, None]
            miss = 1.0 - params.branching
            tail = np.ones((self.n_slots + 1, *miss.shape[1:]))
            tail[:-1] = np.cumprod(miss[::-1], axis=0)[::-1]
            if self.pooled:  # any number of children in the last slot: a chance after each, and one that fails
                tail[-1] = miss[-1]
        rows = self.emission.rows(params.emission, None).prob if self.emission.by_label else miss[:0]
        return td.Flow(params.root, rows, np.ascontiguousarray(edge), miss, tail)

    def upward(self, flow: td.Flow, params: Params, shard: SharedForest, workspace: Workspace) -> tuple[Upward, Floats]:
        """Run the upward pass; log P(distinct tree t | component k), without the branching."""
        return run_upward(KERNELS, self.emission, flow, params, shard, (self.n_states, workspace))

    def empty_sums(self, n_components: int) -> td.Sums:
        """Zeros in the shapes the downward pass adds to, and statistics of the emission."""
        lanes = lane_shape(n_components)
        last = (self.n_states, *lanes)
        shaped = self.structure == "state"
        emission = empty_statistics(self.emission, self.n_states, n_components)
        shapes = [(self.n_slots, self.n_states, *last), (shaped * self.n_slots, *last), (shaped * 1, *last)]
        pair, hit, once = (np.zeros(shape) for shape in shapes)
        return td.Sums(np.zeros(last), emission, pair, hit, once, once.copy())

    def downward(
        self,
        flow: td.Flow,
        shard: SharedForest,
        messages: Upward,
        weight: Floats,
        sums_out: td.Sums,
        posterior: Any = None,
    ) -> None:
        """Run the downward pass with weight[distinct tree, component]: adds to sums, fills posterior[unit] if given."""
        run_downward(KERNELS, self.emission, messages, shard, weight, (sums_out, posterior))

    def root_states(self, messages: Upward, shard: SharedForest, n_components: int) -> Floats:
        """P(state of the root | tree), [distinct tree, state, component]."""
        root = from_lanes(messages.at("up", shard.tree_root) * messages.flow.root, n_components)
        total = root.sum(axis=1, keepdims=True)
        return np.asarray(root / np.where(total > 0, total, 1.0))

    def node_room(self, messages: Upward) -> Floats:
        """An array for the posterior of every unit, in lanes."""
        return np.empty(messages.shape)

    def shape_log_prob(self, params: Params, shard: SharedForest) -> Floats | None:
        """Log of the branching of each distinct tree and component, where it does not depend on states."""
        if self.structure != "branching":
            return None
        return branching_log_prob(params.branching, self.pooled, shard)

    def shape_counts(self, params: Params, shard: SharedForest, weight: Floats) -> Any:
        """Children and chances of the branching, where it does not depend on states."""
        if self.structure != "branching":
            return {}
        return {"branching": branching_counts(self.pooled, shard, weight)}

    def counts(self, flow: td.Flow, sums: td.Sums, shape: Any, n_components: int) -> Counts:
        """Expected counts: pair sums times edges, summed over slots where these are tied."""
        transition = from_lanes(flow.edge * sums.pair, n_components).transpose(0, 2, 1, 3)
        if self.tied:
            transition = transition.sum(axis=0, keepdims=True)
        root = from_lanes(sums.root, n_components)
        emission = mapped(lambda x: from_lanes(x, n_components), sums.emission)
        branching = np.zeros((2, 0, n_components))
        if self.structure == "branching":
            branching = shape["branching"]
        elif self.structure == "state":
            hits, crowded, nodes_in = (from_lanes(x, n_components) for x in (sums.hit, sums.crowded, sums.node))
            tries = np.repeat(nodes_in, self.n_slots, axis=0)
            tries[-1] += hits[-1] if self.pooled else crowded[0]  # a chance after each child that is there
            branching = np.stack([hits, np.maximum(tries, hits)])  # rounding
        return Counts(root, emission, np.ascontiguousarray(transition), branching)

    # ---- M-step and priors ----------------------------------------------------------------------------------------

    def m_step(self, counts: Counts, params: Params, priors: Any) -> Params:
        """Parameters that maximise the expected complete log-likelihood plus log prior."""
        return Params(
            root=dist.mode(counts.root, 0, priors.root),
            emission=self.emission.mode(counts.emission, params.emission, priors.emission),
            transition=dist.mode(counts.transition, 2, priors.transition),
            branching=dist.chance_mode(counts.branching[0], counts.branching[1], priors.branching),
        )

    def _log_rows(self, params: Params, priors: Any) -> Floats:
        """The part of `log_prior` that is not of the branching."""
        total = np.zeros(params.root.shape[1])
        total += dist.log_prior(params.root, priors.root)
        total += self.emission.log_prior(params.emission, priors.emission)
        total += dist.log_prior(params.transition, priors.transition)
        return total

    def log_prior(self, params: Params, priors: Any) -> Floats:
        """Log prior density of each component's parameters, up to a constant; zero where every prior is one."""
        total = self._log_rows(params, priors)
        a = priors.branching - 1.0
        if a != 0.0 and params.branching.size:
            logs = xlogy(a, params.branching) + xlog1py(a, -params.branching)
            total += logs.sum(axis=tuple(range(logs.ndim - 1)))
        return total

    def log_prior_density(self, params: Params, priors: Any) -> Floats:
        """Log density of each component's parameters, with constants; with `rates`, that of log odds of branching."""
        total = self._log_rows(params, priors)
        tables: Any = self.tables
        total += dist.log_prior_constant(tables.root.shape, 0, priors.root)
        total += self.emission.log_prior_constant(self.n_states, priors.emission)
        total += dist.log_prior_constant(tables.transition.shape, 2, priors.transition)
        a, b = self._branching_prior(priors)
        less = 0.0 if self.rates else 1.0
        logs = xlogy(a - less, params.branching) + xlog1py(b - less, -params.branching) - betaln(a, b)
        return np.asarray(total + logs.sum(axis=tuple(range(logs.ndim - 1))))

    def n_free_parameters(self) -> int:
        """Free parameters of one component."""
        tables: Any = self.tables
        rows = sum(dist.n_free(table.shape, table.sums_along) for table in (tables.root, tables.transition))
        return rows + self.emission.n_free(self.n_states) + int(np.prod(tables.branching.shape))

    # ---- sampling, and nodes --------------------------------------------------------------------------------------

    def completed(self, batch: Any) -> TopDownBags:
        """Bags of counts given drawn states."""
        return TopDownBags(batch)

    def evidence(self, batch: Any, priors: Any, floor: Any = None) -> Evidence:
        """Log P(tree) with the parameters integrated out: a branching exactly, the rest by sequential imputation."""
        return evidence(self, batch, priors, floor)

    def best_states(self, params: Params, shard: SharedForest, lanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """State of every node of a plain shard in the most probable joint choice, each in its component."""
        return nodes.best_states(self._flow_of(params, shard), shard, lanes)

    def _flow_of(self, params: Params, shard: SharedForest) -> td.Flow:
        """`plain_flow` with the evidence of the shard."""
        flow = self.plain_flow(params)
        return flow._replace(emission=self.emission.rows(params.emission, shard.contents).prob)

    def draw_labels(
        self, rng: np.random.Generator, params: Params, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Labels of the nodes of a plain shard given their shapes, from the roots down, each in its component."""
        return nodes.draw_labels(rng, self.plain_flow(params), shard, lanes)

    def draw_states(
        self, rng: np.random.Generator, params: Params, shard: SharedForest, lanes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """States of the nodes of a plain shard given their shapes, each in its component."""
        own = np.repeat(np.eye(self.n_states)[:, :, None], params.root.shape[1], axis=2)  # a state emits its number
        flow = self.plain_flow(params)._replace(emission=own)
        return np.asarray(nodes.draw_labels(rng, flow, shard, lanes), np.int64)

    def draw_shapes(self, rng: np.random.Generator, params: Params, component: NDArray[np.int64]) -> Forest:
        """Trees without labels, from the chances of branching of their components and states."""
        return nodes.draw_shapes(rng, self, params, component)

    def mean_transition(self, params: Params) -> Floats:
        """State of a child given its parent's: the mean over slots, by how often they are taken."""
        transition, branching = params.transition[..., 0], params.branching[..., 0]
        if self.tied or self.structure is None:
            return np.asarray(transition.mean(axis=0))
        often = branching[:, :, None] if self.structure == "state" else branching[:, None, None]
        often = np.broadcast_to(np.maximum(often, TINY), transition.shape)
        return np.asarray(np.average(transition, axis=0, weights=often))

    def without_subtrees(self, params: Params, shard: SharedForest) -> tuple[Floats, Floats]:
        """log P(tree), and log P(all labels but those of the subtree) - log P(tree) of every node, by component."""
        return nodes.without_subtrees(self, params, shard)


def of_labels(n_slots: int, n_labels: int, n_states: int, **options: Any) -> TopDownTree:
    """A model of trees with a label per node."""
    return TopDownTree(n_slots, Labels(n_labels), n_states, **options)
