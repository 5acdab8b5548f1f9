"""InferredStates: a hidden tree model, of either direction, that learns how many states it needs.

The rows of the states, those of first states (leaves, or roots top-down) and those of transitions, share one base
distribution, `state_weight`: a hierarchical Dirichlet process, cut at a largest number of states (Teh, Jordan, Beal and
Blei 2006).  A model wraps another, whose kernels it uses; equations are in infinite-states.md.

In variational EM (`variational=True`) the rows have Dirichlet posteriors: the arrays of `Params.tree` are then the
parameters of these, and the passes use exp(E log row).  Columns of content have posteriors likewise
(emissions/posteriors.py).  A fitted model has their means.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError
from ...forest.sharing import SharedForest
from ...forest.trees import Trees
from . import dirichlet_rows as rows
from . import distributions as dist
from .base_measure import N_REPLICATES
from .completed_counts import InsideBags
from .passes import Batch
from .state_weights import LEAST_WEIGHT, MOST, Rows, Weights, draw_weights, raised_weights
from .tree_model import Table, joined, mapped, split, taken

Floats = NDArray[np.float64]

START_STRENGTH = 100.0  # of the rows of a start: close to the rows themselves
FIRST = {"up": ("leaf", 1), "down": ("root", 0)}  # rows of first states, and the axis that sums to one
EVIDENCE_SEED = 20171  # the same for every tree: an estimate depends on its tree alone
SEEN = 0.01  # share of the nodes above which a state counts


class Params(NamedTuple):
    """Parameters of the model inside, the weights of the states in all its rows, and concentrations."""

    tree: Any
    state_weight: Floats  # [(state), k]
    first_concentration: Floats  # [k], the same in all components: how closely first states follow the weights
    transition_concentration: Floats  # [k]: how closely transitions do
    state_concentration: Floats  # [k]: the larger, the more states

    @property
    def emission(self) -> Any:
        """What nodes hold, given their states."""
        return self.tree.emission


class Priors(NamedTuple):
    """Concentrations, and symmetric Dirichlet parameters of what has no states in its rows."""

    first: float = 1.0
    transition: float = 1.0
    state: float = 1.0
    emission: float = 1.0
    switch: float = 1.0
    branching: float = 1.0


@dataclass(frozen=True)
class InferredStates:
    """A `HiddenModel` whose number of states is a bound."""

    tree: Any  # the model inside
    variational: bool = False

    priors_type: ClassVar[type[Priors]] = Priors

    def header(self) -> list[Any]:
        """The model inside, and that its states are learnt."""
        return ["infer", self.tree.header()]

    @classmethod
    def from_header(cls, values: Any) -> Self:
        """Undo `header`."""
        from .directions import HiddenTrees

        word, inside = values
        if word != "infer" or not isinstance(inside, list) or (inside and inside[0] == "infer"):
            raise ValueError(f"the sizes of the model make no sense: {values!r:.200}")
        return cls(HiddenTrees.from_header(inside))

    # ---- what the model inside says -------------------------------------------------------------------------------

    @property
    def direction(self) -> str:
        return str(self.tree.direction)

    @property
    def structure(self) -> Any:
        return self.tree.structure

    @property
    def n_slots(self) -> int:
        return int(self.tree.n_slots)

    @property
    def n_labels(self) -> int:
        return int(self.tree.n_labels)

    @property
    def n_states(self) -> int:
        """The most states that there may be."""
        return int(self.tree.n_states)

    @property
    def emission(self) -> Any:
        return self.tree.emission

    @property
    def absent_is_state(self) -> bool:
        return bool(self.tree.absent_is_state)

    @property
    def needs_structure(self) -> bool:
        return bool(self.tree.needs_structure)

    @property
    def tables(self) -> Params:
        """Those of the model inside, and four more; in variational EM, parameters of Dirichlet distributions."""
        inside = mapped(_unbounded, self.tree.tables) if self.variational else self.tree.tables
        names = ("first_concentration_", "transition_concentration_", "state_concentration_")
        numbers: list[Any] = [Table(name, (), most=MOST) for name in names]
        weight: Any = Table("state_weight_", (self.n_states,), 0)
        return Params(inside, weight, *numbers)

    @property
    def count_tables(self) -> Any:
        return self.tree.count_tables

    def unit_bytes(self, n_components: int) -> int:
        return int(self.tree.unit_bytes(n_components))

    def grown(self, trees: Trees) -> Self:
        return replace(self, tree=self.tree.grown(trees))

    def check(self, params: Params) -> None:
        self.tree.check(params.tree)

    def empty_sums(self, n_components: int) -> Any:
        return self.tree.empty_sums(n_components)

    def upward(self, flow: Any, params: Params, shard: SharedForest, workspace: Any) -> Any:
        return self.tree.upward(flow, params.tree, shard, workspace)

    def downward(self, *args: Any) -> None:
        self.tree.downward(*args)

    def shape_log_prob(self, params: Params, shard: SharedForest) -> Any:
        return self.tree.shape_log_prob(params.tree, shard)

    def shape_counts(self, params: Params, shard: SharedForest, weight: Floats) -> Any:
        return self.tree.shape_counts(params.tree, shard, weight)

    def counts(self, flow: Any, sums: Any, shape: Any, n_components: int) -> Any:
        return self.tree.counts(flow, sums, shape, n_components)

    def root_states(self, messages: Any, shard: SharedForest, n_components: int) -> Floats:
        return np.asarray(self.tree.root_states(messages, shard, n_components))

    def node_room(self, messages: Any) -> Floats:
        return np.asarray(self.tree.node_room(messages))

    def best_states(self, params: Params, shard: SharedForest, lanes: Any) -> Any:
        return self.tree.best_states(params.tree, shard, lanes)

    def draw_labels(self, rng: np.random.Generator, params: Params, shard: SharedForest, lanes: Any) -> Any:
        return self.tree.draw_labels(rng, params.tree, shard, lanes)

    def draw_shapes(self, rng: np.random.Generator, params: Params, component: Any) -> Any:
        return self.tree.draw_shapes(rng, params.tree, component)

    def without_subtrees(self, params: Params, shard: SharedForest) -> Any:
        return self.tree.without_subtrees(params.tree, shard)

    def mean_transition(self, params: Params) -> Floats:
        return np.asarray(self.tree.mean_transition(params.tree))

    # ---- parameters -----------------------------------------------------------------------------------------------

    def _first(self, values: Any) -> Floats:
        """The rows of first states of parameters or counts of the model inside."""
        return np.asarray(getattr(values, FIRST[self.direction][0]))

    def row_priors(self, params: Params) -> tuple[Floats, Floats]:
        """Dirichlet parameters of first rows and of transitions, in shapes that broadcast to theirs."""
        first = params.first_concentration * params.state_weight
        transition = params.transition_concentration * params.state_weight
        return (first[None] if FIRST[self.direction][1] else first), transition[None, None]

    def start(self, rng: np.random.Generator, n_components: int, forest: Trees, weight: Floats | None) -> Params:
        """Rows of a random start of the model inside, even weights and concentrations of one."""
        inside = self.tree.start(rng, n_components, forest, weight)
        even = np.full((self.n_states, n_components), 1.0 / self.n_states)
        one = np.ones(n_components)
        kept = mapped(lambda table, x: x if table.sums_along is None else START_STRENGTH * x, self.tree.tables, inside)
        return Params(kept, even, one, one.copy(), one.copy())

    def uniform(self) -> Params:
        """One component, all states alike."""
        one = np.ones(1)
        return Params(self.tree.uniform(), np.full((self.n_states, 1), 1.0 / self.n_states), one, one, one)

    def reorder_states(self, values: Any, order: NDArray[np.int64]) -> Any:
        """Params, or counts of the model inside, with states renumbered."""
        if not isinstance(values, Params):
            return self.tree.reorder_states(values, order)
        inside = self.tree.reorder_states(values.tree, order)
        return values._replace(tree=inside, state_weight=values.state_weight[order])

    def by_use(self, params: Params, counts: Any) -> tuple[Params, Any, Floats]:
        """Params and counts with the states of each component by decreasing use, and the shares of the nodes."""
        nodes = self.nodes_of(counts)
        parts, kept, shares = [], [], []
        for k, one in split(params).items():
            order = np.argsort(-nodes[:, k], kind="stable")
            parts.append(self.reorder_states(one, order))
            kept.append(self.tree.reorder_states(taken(counts, slice(k, k + 1)), order))
            shares.append(nodes[order, k] / max(nodes[:, k].sum(), 1e-300))
        return joined(parts), joined(kept), np.array(shares)

    def nodes_of(self, counts: Any) -> Floats:
        """Expected number of nodes by state and component."""
        first = self._first(counts)
        return np.asarray(first.reshape(-1, *first.shape[-2:]).sum(axis=0) + counts.transition.sum(axis=(0, 1)))

    def given(self, params: Params, counts: Any, priors: Priors) -> Params:
        """Means of the rows given hard counts, and the weights and concentrations of a draw."""
        whole = self.for_fit()
        return whole.means(whole._posteriors(counts, params, priors))

    # ---- draws ----------------------------------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n_components: int, priors: Any = None, counts: Any = None) -> Params:
        """Weights of the states and rows from their prior; given counts, see `draw_given`."""
        if counts is not None:
            raise ArboraError("rows with counts need the weights of the states; please report this")
        given = priors or Priors()
        shape = np.full((self.n_states, n_components), given.state / self.n_states)
        weight = np.maximum(dist.draw_dirichlet(rng, shape, 0), LEAST_WEIGHT)
        return self._with_rows(rng, self._around(weight, given), given, None)

    def draw_given(
        self, rng: np.random.Generator, priors: Priors, weight: Floats, counts: Any
    ) -> tuple[Params, Priors]:
        """One sweep of the weak limit given hard counts: tables, concentrations, weights of the states, then rows."""
        first = self._first(counts)
        flat = Rows(first.reshape(-1, *weight.shape), counts.transition.reshape(-1, *weight.shape))
        drawn = draw_weights(rng, flat, Weights(weight, priors.first, priors.transition, priors.state))
        priors = priors._replace(first=drawn.first, transition=drawn.transition, state=drawn.state)
        return self._with_rows(rng, self._around(drawn.state_weight, priors), priors, counts), priors

    def _around(self, weight: Floats, priors: Priors) -> Params:
        one = np.ones(weight.shape[1])
        return Params(None, weight, priors.first * one, priors.transition * one, priors.state * one)

    def _with_rows(self, rng: np.random.Generator, params: Params, priors: Priors, counts: Any) -> Params:
        inside = self.tree.draw(rng, params.state_weight.shape[1], self._inside_priors(params, priors), counts)
        return params._replace(tree=inside)

    def _inside_priors(self, params: Params, priors: Priors) -> Any:
        """Priors of the model inside, those of rows of states as arrays."""
        first, transition = self.row_priors(params)
        fields = {"emission": priors.emission, "branching": priors.branching, "transition": transition}
        if self.direction == "up":
            fields["switch"] = priors.switch
        return self.tree.priors_type(**{FIRST[self.direction][0]: first, **fields})

    def log_prior_density(self, params: Params, priors: Any) -> Floats:
        """Log density of each component's parameters, with constants; that of log odds, which has a bound."""
        first, transition = self.row_priors(params)
        _, axis = FIRST[self.direction]
        total = rows.log_density(self._first(params.tree), first, axis)
        total += rows.log_density(params.tree.transition, transition, 2)
        flat = self.tree.priors_type(branching=priors.branching, emission=priors.emission)
        if self.direction == "up":
            flat = flat._replace(switch=priors.switch)
        total += self.tree.log_prior_density(params.tree, flat)
        base = np.full((1, 1), priors.state / self.n_states)
        return np.asarray(total + rows.log_density(params.state_weight, base, 0))

    def completed(self, batch: Any) -> Any:
        """Bags of counts of the model inside."""
        return InsideBags(self.tree.completed(Batch(self.tree, batch.shards, batch.sample_weight, 1)))

    def evidence(self, batch: Any, priors: Any, floor: Any = None) -> Any:
        """Log P(tree) with everything integrated out: replicates of sequential imputation draw weights of states."""
        rng = np.random.default_rng(EVIDENCE_SEED)
        shape = np.full((self.n_states, N_REPLICATES), priors.state / self.n_states)
        weight = np.maximum(dist.draw_dirichlet(rng, shape, 0), LEAST_WEIGHT)
        each = (self._around(weight[:, x : x + 1], priors) for x in range(N_REPLICATES))
        inside = [self._inside_priors(one, priors) for one in each]
        return self.tree.evidence(Batch(self.tree, batch.shards, batch.sample_weight, 1), inside, floor)

    # ---- variational EM -------------------------------------------------------------------------------------------

    def prepare(self, params: Params) -> Any:
        """The form of the kernels: in variational EM, of exp(E log row)."""
        inside = params.tree
        if self.variational:
            inside = self._mapped_rows(rows.exp_expected_log, inside)
        return self.tree.prepare(inside)

    def for_fit(self) -> Self:
        """The model whose parameters are posteriors, for variational EM."""
        return replace(self, tree=self._with_emission("posterior"), variational=True)

    def fitted(self) -> Self:
        """The model with the means of the rows."""
        return replace(self, tree=self._with_emission("points"), variational=False)

    def _with_emission(self, name: str) -> Any:
        """The model inside; columns of content as their method of this name gives them."""
        if self.emission.by_label:
            return self.tree
        return replace(self.tree, emission=getattr(self.emission, name)())

    def means(self, params: Params) -> Params:
        """Means of the posteriors of variational EM."""
        inside = self._mapped_rows(rows.mean, params.tree)
        if not self.emission.by_label:
            inside = inside._replace(emission=self.emission.means(inside.emission))
        return params._replace(tree=inside)

    def _mapped_rows(self, function: Any, inside: Any) -> Any:
        """The function of every array of Dirichlet parameters; the branching is a point."""

        def one(table: Table, x: Floats) -> Floats:
            return x if table.sums_along is None else function(x, table.sums_along)

        return mapped(one, self.tree.tables, inside)

    def _own_priors(self, priors: Priors) -> dict[str, float]:
        """Dirichlet parameters of the rows that are not of states, by name; columns of content have their own."""
        found = {"emission": priors.emission} if self.emission.by_label else {}
        return found | ({"switch": priors.switch} if self.direction == "up" else {})

    def m_step(self, counts: Any, params: Params, priors: Priors) -> Params:
        """Weights and concentrations that raise the marginal likelihood of the counts, then the posteriors of rows."""
        params = self._posteriors(counts, self._weights_step(counts, params, priors), priors)
        hits, tries = counts.branching
        branching = dist.chance_mode(hits, tries, priors.branching)
        return params._replace(tree=params.tree._replace(branching=branching))

    def _posteriors(self, counts: Any, params: Params, priors: Priors) -> Params:
        """Posteriors of the rows and of what nodes hold, given counts and the weights of the states."""
        first, transition = self.row_priors(params)
        made = {FIRST[self.direction][0]: first + self._first(counts), "transition": transition + counts.transition}
        made |= {field: alpha + getattr(counts, field) for field, alpha in self._own_priors(priors).items()}
        if not self.emission.by_label:
            made["emission"] = self.emission.mode(counts.emission, params.tree.emission, priors.emission)
        return params._replace(tree=params.tree._replace(**made))

    def _weights_step(self, counts: Any, params: Params, priors: Priors) -> Params:
        """Rounds of a monotone update by expected numbers of tables (infinite-states.md)."""
        counted = [(self._first(counts), FIRST[self.direction][1]), (counts.transition, 2)]
        alpha = [float(params.first_concentration[0]), float(params.transition_concentration[0])]
        weight, alpha = raised_weights(counted, params.state_weight, alpha, priors.state / self.n_states)
        one = np.ones(weight.shape[1])
        return params._replace(
            state_weight=weight,
            first_concentration=alpha[0] * one,
            transition_concentration=alpha[1] * one,
            state_concentration=priors.state * one,
        )

    def log_prior(self, params: Params, priors: Priors) -> Floats:
        """What the bound of variational EM has beside the log-likelihood, of each component."""
        if not self.variational:
            return np.zeros(params.state_weight.shape[1])
        first, transition = self.row_priors(params)
        _, axis = FIRST[self.direction]
        total = -rows.divergence(self._first(params.tree), first, axis)
        total -= rows.divergence(params.tree.transition, transition, 2)
        for field, alpha in self._own_priors(priors).items():
            q = getattr(params.tree, field)
            total -= rows.divergence(q, np.full((1,) * q.ndim, alpha), 0)
        of_columns = 1.0 if self.emission.by_label else priors.emission
        total += self.tree.log_prior(
            params.tree, self.tree.priors_type(emission=of_columns, branching=priors.branching)
        )
        total += priors.state / self.n_states * np.log(params.state_weight).sum(axis=0)
        shared = -params.first_concentration - params.transition_concentration  # Gamma(1, 1), once for all components
        return np.asarray(total + shared / len(shared))

    def n_free_parameters(self) -> int:
        """Free parameters of one component that uses all states."""
        return int(self.tree.n_free_parameters()) + self.n_states - 1


def n_states_of(share: Floats) -> NDArray[np.int64]:
    """States of each component with more than a hundredth of its nodes, from share[component, state]."""
    return np.asarray((share > SEEN).sum(axis=1))


def _unbounded(table: Table) -> Table:
    return table if table.sums_along is None else Table(table.name, table.shape, None, 0.0, 1e300)
