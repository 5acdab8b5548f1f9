"""InputOutputTree: P(outputs | labels, shape) of a tree with hidden states, as sizes, tables and the steps of EM.

Equations, and what was chosen where the articles leave a choice: note.md beside this file.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import SharedForest
from ..hidden_tree import distributions as dist
from ..hidden_tree.lanes import Workspace
from .coded_trees import Codes
from .kernels import passes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIES = ("leaf", "switch", "transition", "output", "slot")


class Params(NamedTuple):
    """Probabilities; the axis in brackets sums to one, and the last, of length one, is that of components.

    A tied axis has length one.
    """

    leaf: Floats  # [slot + root, input, (state), 1]
    switch: Floats  # [input, (slot), 1]
    transition: Floats  # [pair, child state, (state), 1]: pairs of slot and input that occur in training
    absent: Floats  # [input, slot, (state), 1]: the same where the slot is empty
    output: Floats  # [input, state, (output), 1]


AXES = (2, 1, 2, 2, 2)  # that sums to one, of each table


@dataclass(frozen=True, eq=False)
class InputOutputTree:
    """Sizes of the model, and which pairs of slot and input have transitions of their own."""

    n_slots: int
    n_inputs: int
    n_states: int
    n_outputs: int
    tie: tuple[str, ...]
    pair_key: Ints  # sorted; tied slot * (n_inputs or 1) + tied input

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the tables, in their order."""
        n, free = self.n_states, {name: 1 if name in self.tie else self.n_inputs for name in TIES[:4]}
        n_slots = 1 if "slot" in self.tie else self.n_slots
        n_leaf = 1 if "slot" in self.tie else self.n_slots + 1
        return [
            (n_leaf, free["leaf"], n),
            (free["switch"], self.n_slots),
            (len(self.pair_key), n, n),
            (free["transition"], n_slots, n),
            (free["output"], n, self.n_outputs),
        ]

    def pair_of(self, slot: NDArray[Any], x: NDArray[Any]) -> Ints:
        """Row of the transitions of each slot and input; one past the last where training had none."""
        key = pair_keys(slot, x, self.n_inputs, self.tie)
        at = np.minimum(np.searchsorted(self.pair_key, key), max(len(self.pair_key) - 1, 0))
        found = self.pair_key[at] == key if len(self.pair_key) else np.zeros(len(key), bool)
        return np.where(found, at, len(self.pair_key))

    # ---- parameters -----------------------------------------------------------------------------------------------

    def start(self, rng: np.random.Generator) -> Params:
        """Flat Dirichlet draws."""
        drawn = [dist.draw_dirichlet(rng, np.ones((*s, 1)), a) for s, a in zip(self.shapes, AXES, strict=True)]
        return Params(*drawn)

    def m_step(self, counts: Params, prior: float) -> Params:
        """Posterior modes; uniform where nothing was counted."""
        return Params(*(dist.mode(x, axis, prior) for x, axis in zip(counts, AXES, strict=True)))

    def log_prior(self, params: Params, prior: float) -> Floats:
        """Log density of the Dirichlet priors, up to a constant."""
        return np.zeros(1) + sum(dist.log_prior(x, prior) for x in params)

    # ---- tables as the passes take them -----------------------------------------------------------------------------

    def _by_input(self, table: Floats, tied: bool, axis: int) -> Floats:
        """A table with a row for every input, and one more for those never seen: the tied one, or a uniform one."""
        table = table[..., 0]
        if tied:
            return np.repeat(table, self.n_inputs + 1, axis=axis)
        more = list(table.shape)
        more[axis] = 1
        return np.concatenate([table, np.full(more, 1.0 / table.shape[-1])], axis=axis)

    def outputs(self, params: Params) -> Floats:
        """P(output | input, state), [input + 1, state, output]."""
        return self._by_input(params.output, "output" in self.tie, 0)

    def flow(self, params: Params, codes: Codes, evidence: Floats | None = None) -> passes.Flow:
        """Parameters in the form of the kernels; `evidence` in place of that of the outputs of the rows."""
        leaf = self._by_input(params.leaf, "leaf" in self.tie, 1)
        switch = self._by_input(params.switch, "switch" in self.tie, 0)
        absent = self._by_input(params.absent, "transition" in self.tie, 0)
        if "slot" in self.tie:
            leaf, absent = np.repeat(leaf, self.n_slots + 1, axis=0), np.repeat(absent, self.n_slots, axis=1)
        absent = absent * switch[:, :, None]
        tail = np.zeros((self.n_inputs + 1, self.n_slots + 1, self.n_states))
        tail[:, :-1] = np.cumsum(absent[:, ::-1], axis=1)[:, ::-1]
        x, slot = codes.edge_input, codes.edge_slot
        rows = np.concatenate(
            [params.transition[..., 0], np.full((1, self.n_states, self.n_states), 1 / self.n_states)]
        )
        edge = rows[self.pair_of(slot, x)] * (switch[x, slot] / codes.edge_crowd)[:, None, None]
        if evidence is None:
            evidence = self.evidence(params, codes)
        return passes.Flow(codes.row_input, slot, *map(np.ascontiguousarray, (leaf, evidence, edge, absent, tail)))

    def evidence(self, params: Params, codes: Codes) -> Floats:
        """P(output | state, input) of each row, [row, 1, state]; one where the output is not known."""
        x, y = codes.row_input, codes.row_output
        known = self.outputs(params)[x, :, np.maximum(y, 0)]
        return np.where(y[:, None] >= 0, known, 1.0)[:, None]

    def class_evidence(self, params: Params, codes: Codes) -> Floats:
        """P(output k | state, input) of each row in lane k, [row, output, state]."""
        return np.ascontiguousarray(self.outputs(params)[codes.row_input].transpose(0, 2, 1))

    def no_evidence(self, codes: Codes) -> Floats:
        """Evidence where no output is known."""
        return np.ones((len(codes.row_key), 1, self.n_states))

    # ---- counts -----------------------------------------------------------------------------------------------------

    def empty_sums(self, codes: Codes) -> passes.Sums:
        """Zeros in the shapes that the downward pass adds to."""
        n, by_input = self.n_states, self.n_inputs + 1
        shapes = (
            (self.n_slots + 1, by_input, n),
            (len(codes.row_key), n),
            (len(codes.edge_key), n, n),
            (by_input, self.n_slots, n),
            (by_input, self.n_slots + 1, n),
        )
        return passes.Sums(*map(np.zeros, shapes))

    def _tied(self, table: Floats, tied: bool, axis: int) -> Floats:
        """Add what is tied; what only inputs never seen have is left out."""
        return table.sum(axis=axis, keepdims=True) if tied else np.delete(table, self.n_inputs, axis=axis)

    def counts(self, flow: passes.Flow, sums: passes.Sums, codes: Codes) -> Params:
        """Expected counts in the shapes of the parameters."""
        n = self.n_states
        moved = flow.edge * sums.pair  # [edge, child state, state]
        empty = flow.absent * (sums.gap + np.cumsum(sums.tail[:, :-1], axis=1))  # [input, slot, state]
        x, slot = codes.edge_input, codes.edge_slot
        switch = empty.sum(axis=2)
        np.add.at(switch, (x, slot), moved.sum(axis=(1, 2)))
        transition = np.zeros((len(self.pair_key) + 1, n, n))
        np.add.at(transition, self.pair_of(slot, x), moved)
        known = codes.row_output >= 0
        output = np.zeros((self.n_inputs + 1, self.n_outputs, n))
        np.add.at(output, (codes.row_input[known], codes.row_output[known]), sums.row[known])
        leaf = self._tied(sums.leaf, "leaf" in self.tie, 1)
        absent = self._tied(empty, "transition" in self.tie, 0)
        if "slot" in self.tie:
            leaf, absent = leaf.sum(axis=0, keepdims=True), absent.sum(axis=1, keepdims=True)
        found = (
            leaf,
            self._tied(switch, "switch" in self.tie, 0),
            transition[:-1],
            absent,
            self._tied(output, "output" in self.tie, 0).transpose(0, 2, 1),
        )
        return Params(*(np.ascontiguousarray(table)[..., None] for table in found))


def pair_keys(slot: NDArray[Any], x: NDArray[Any], n_inputs: int, tie: tuple[str, ...]) -> Ints:
    """Keys of pairs of slot and input, by what is tied; -1 of an input never seen where inputs are distinguished."""
    slot = np.asarray(slot, np.int64) * ("slot" not in tie)
    if "transition" in tie:
        return slot
    return np.where(np.asarray(x) == n_inputs, -1, slot * n_inputs + x)


class BoundTree:
    """A model with the codes of the trees at hand: what `Batch` and `run_em` ask of a tree model, it has."""

    tables: Any = Params(*("leaf", "switch", "transition", "absent", "output"))  # type: ignore[arg-type]

    def __init__(self, model: InputOutputTree, codes: Codes, lanes: str = "known"):
        self.model, self.codes, self.lanes = model, codes, lanes

    def prepare(self, params: Params) -> passes.Flow:
        """The tables of the kernels; lanes: "known" outputs, "none", or "classes", each everywhere in a lane."""
        evidence = None
        if self.lanes != "known":
            every = self.model.class_evidence(params, self.codes) if self.lanes == "classes" else None
            evidence = self.model.no_evidence(self.codes) if every is None else every
        return self.model.flow(params, self.codes, evidence)

    def upward(self, flow: passes.Flow, params: Params, shard: SharedForest, workspace: Workspace) -> Any:
        """Messages, and log P(outputs | inputs) of distinct trees by lane."""
        n_lanes, n_states = flow.evidence.shape[1:]
        room = workspace.messages(shard.n_units, n_states, (n_lanes,))
        shape = (shard.n_units, n_lanes, n_states)
        messages = passes.Messages(room.up.reshape(shape), room.through.reshape(shape), *room[2:])
        passes.upward(shard.units, flow, messages)
        return messages, messages.log_prob[shard.tree_root]

    def empty_sums(self, n_components: int) -> passes.Sums:
        """Zeros for `downward`."""
        return self.model.empty_sums(self.codes)

    def downward(
        self, flow: passes.Flow, shard: SharedForest, messages: Any, weight: Floats, sums: Any, posterior: Any = None
    ) -> None:
        """Add what the trees contribute; fill posterior[unit, state] if given."""
        if posterior is None:
            posterior = np.empty((0, self.model.n_states))
        weighted = (shard.tree_root, np.ascontiguousarray(weight[:, 0]))
        passes.downward(shard.units, flow, messages, weighted, posterior, sums)

    def shape_log_prob(self, params: Params, shard: SharedForest) -> None:
        """Shapes are given, not modelled."""

    def shape_counts(self, params: Params, shard: SharedForest, weight: Floats) -> dict[str, Floats]:
        """None."""
        return {}

    def counts(self, flow: passes.Flow, sums: passes.Sums, shape: Any, n_components: int) -> Params:
        """Expected counts from the sums over all shards."""
        return self.model.counts(flow, sums, self.codes)

    def m_step(self, counts: Params, params: Params, prior: float) -> Params:
        """Posterior modes."""
        return self.model.m_step(counts, prior)

    def log_prior(self, params: Params, prior: float) -> Floats:
        """Log prior density, up to a constant."""
        return self.model.log_prior(params, prior)
