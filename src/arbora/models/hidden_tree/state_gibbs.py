"""Samplers of models that learn their number of states: of an infinite mixture, and of one of given components."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import completed_counts as bg
from . import tree_model as tm
from .dp_samplers import Partition
from .exact_gibbs import ExactGibbs
from .inferred_states import InferredStates, Params, Priors, n_states_of
from .passes import Batch, MixtureParams, log_joint

Floats = NDArray[np.float64]

N_CHAINS = 3  # one may stay where it started
MOST_COMPARED = 20  # draws whose trees' probabilities are compared


class StateGibbs(ExactGibbs):
    """The exact sampler without splits and merges: groups have weights of states, which those do not use."""

    def _refresh(self, rng: np.random.Generator, state: Partition) -> tuple[Partition, Mapping[str, float]]:
        """Hidden states given rows; tables, concentrations and weights given those; then rows."""
        model: Any = self.model
        n_groups = tm.n_components(state.params)
        bags = self.bags.draw(rng, state.label, state.params)
        cells = bg.counts_by_component(bags, state.label, n_groups, self.bags.layout.end)
        counts = self.bags.counts(cells)
        params, priors = model.draw_given(rng, state.priors, state.params.state_weight, counts)
        return state._replace(params=params, priors=priors), {"n_splits": 0.0, "n_merges": 0.0}


class StateDraw(NamedTuple):
    """One draw of the weak limit of a mixture of given components."""

    params: MixtureParams
    priors: Priors
    counts: Any  # hard counts of the model inside


def sweep(rng: np.random.Generator, batch: Batch, bags: Any, now: StateDraw) -> StateDraw:
    """Components of the trees, hidden states, weights of states, rows and mixing weights, each given the rest."""
    model: InferredStates = batch.model  # type: ignore[assignment]
    n = len(now.params.weight)
    label = np.zeros(batch.n_trees, np.int64)
    if n > 1:
        joint = log_joint(batch.log_likelihood(now.params.tree), now.params.weight)
        label = np.asarray((joint + rng.gumbel(size=joint.shape)).argmax(axis=1))
    drawn = bags.draw(rng, label, now.params.tree)
    counts = bags.counts(bg.counts_by_component(drawn, label, n, bags.layout.end))
    tree, priors = model.draw_given(rng, now.priors, now.params.tree.state_weight, counts)
    weight = rng.dirichlet(1.0 + np.bincount(label, minlength=n))
    return StateDraw(MixtureParams(weight, tree), priors, counts)


def started(params: MixtureParams, priors: Priors) -> StateDraw:
    """A first draw: parameters as they are, concentrations their own."""
    tree: Params = params.tree
    own = priors._replace(first=float(tree.first_concentration[0]), transition=float(tree.transition_concentration[0]))
    return StateDraw(params, own, None)


def sample_states(
    rng: np.random.Generator, batch: Batch, params: MixtureParams, priors: Priors, n_sweeps: int
) -> MixtureParams:
    """Sweeps of some chains from these parameters; the best of their draws with the most frequent numbers of states.

    Draws are those of the second half of each chain.  The number of a component is that of its states with more than a
    hundredth of the nodes.  Of the draws that have the number of each component that most draws have, or else of all,
    the most probable trees decide.  Rows are then the means of their posteriors given the counts of the draw.
    """
    model: InferredStates = batch.model  # type: ignore[assignment]
    bags = model.completed(batch)
    kept, numbers = [], []
    for _ in range(N_CHAINS):
        now = started(params, priors)
        for number in range(n_sweeps):
            before = now.params
            now = sweep(rng, batch, bags, now)
            if 2 * number >= n_sweeps:
                nodes = model.nodes_of(now.counts).T
                numbers.append(n_states_of(nodes / np.maximum(nodes.sum(axis=1, keepdims=True), 1.0)))
                kept.append((model.given(now.params.tree, now.counts, now.priors), before.weight))
    found = np.array(numbers)
    usual = np.array([np.bincount(column).argmax() for column in found.T])
    agree = (found == usual).sum(axis=1)
    best = np.flatnonzero(agree == agree.max())
    some = best[np.linspace(0, len(best) - 1, min(len(best), MOST_COMPARED)).astype(np.int64)]
    draws = [MixtureParams(kept[x][1], kept[x][0]) for x in some]
    return draws[int(np.argmax([batch.evaluate(draw) for draw in draws]))]
