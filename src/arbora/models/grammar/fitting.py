"""Fits of a mixture of label chains: data, starts, EM at a fixed prior, stepwise EM."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ArboraError, SettingError
from . import backoff, em, start
from .backoff import Counts
from .burstiness import urns_of
from .em import Chains, Data, ScoredModel
from .events import Alphabet, Distinct, Events, Ints, check_labels, distinct, events_of, moved_keys
from .leave_one_out import leave_one_out
from .pattern_start import PatternStart

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

START_STEPS = 3  # rounds with the clusters of the start held fixed: they set what rows lean on
MAX_PARAMETERS = 5 * 10**8  # counts of cells, 4 GB
TAU_EVERY = 3  # rounds between two searches for the burstiness


class CountedTrees(NamedTuple):
    """Trees ready for a fit: distinct ones, and which is whose."""

    data: Data
    events: Events  # of the distinct trees
    tree_row: Ints
    n_trees: Floats  # [distinct tree], how many there are of it


def trees_of(forest: Any, alphabet: Alphabet, weight: Floats | None, key: Ints | None = None) -> CountedTrees:
    """The distinct trees of a forest or store, over their own cells and, if given, those of a model."""
    found = distinct(events_of(forest, alphabet))
    if key is not None:
        found = Distinct(over(found.events, np.union1d(key, found.events.key)), found.tree_row)
    events = found.events
    levels = backoff.levels_of(events.key, alphabet)
    n_trees = np.bincount(found.tree_row, minlength=events.n_trees).astype(np.float64)
    total = n_trees if weight is None else np.bincount(found.tree_row, weight, events.n_trees).astype(np.float64)
    data = Data(alphabet, levels, backoff.own_places(levels), urns_of(events, alphabet.width), total)
    return CountedTrees(data, events, found.tree_row, n_trees)


def over(events: Events, key: Ints) -> Events:
    """The same events over a larger list of cells."""
    return events._replace(key=key, cell=np.searchsorted(key, events.key)[events.cell])


Starts = Callable[[np.random.Generator, int], Floats]  # responsibilities of so many components to start from


def starts_of(forest: Any, trees: CountedTrees, how: str) -> Starts:
    """Starts from clusters of the trees, or from a random component for each distinct tree.

    Patterns do not see empty slots, so trees with gaps start from communities in their place.
    """
    weight = trees.data.weight
    patterns: list[PatternStart] = []  # found when first asked for

    def label_of(rng: np.random.Generator, n: int) -> Ints:
        if how == "random" or n == 1:
            return rng.integers(0, n, len(weight))
        if how == "communities" or trees.data.alphabet.positional:
            return start.clusters(trees.events, trees.n_trees, weight, n, rng)
        if not patterns:
            patterns.append(PatternStart(forest, trees.tree_row, weight, rng))
        return patterns[0].clusters(n, rng)

    return lambda rng, n: em.labels_as_resp(label_of(rng, n), weight, n)


def started(trees: CountedTrees, resp: Floats, tau: float | None) -> Chains:
    """A model of the start: its shorter contexts and strengths are the prior of the fit."""
    model = em.first_model(trees.data, resp, em.FIRST_TAU if tau is None else tau)
    for step in range(START_STEPS):
        model, _ = em.free_step(trees.data, model, resp, tau is None and step == START_STEPS - 1)
    return model


class Plan(NamedTuple):
    """Settings of EM."""

    tau: float | None  # burstiness; None learns it
    n_init: int
    max_iter: int
    tol: float


class Fit(NamedTuple):
    """A model, the objective after each round, and why the rounds ended."""

    model: Chains
    history: list[float]
    converged: bool
    interrupted: bool


def run(trees: CountedTrees, model: Chains, learn_tau: bool, max_iter: int, tol: float) -> Fit:
    """EM at the prior of the model until a round gains less than `tol` nats per tree; Ctrl-C keeps the last round."""
    data = trees.data
    prior = em.prior_of(data, model)
    state: ScoredModel = em.evaluate(data, prior, model)
    history: list[float] = []
    try:
        for number in range(max_iter):
            before = state.objective
            state = em.fixed_step(data, prior, state, learn_tau and number % TAU_EVERY == 0)
            if np.isnan(state.objective):
                raise ArboraError(f"EM iteration {number + 1}: the objective is not a number; please report this")
            history.append(state.objective)
            log.info("iteration %d: %.6f nats per tree", number + 1, state.objective)
            if 0.0 <= state.objective - before < tol:
                return Fit(state.model, history, True, False)
    except KeyboardInterrupt:
        if not history:
            raise
        log.warning("interrupted: keeping the parameters of iteration %d", len(history))
        return Fit(state.model, history, False, True)
    return Fit(state.model, history, False, False)


def best_start(rng: np.random.Generator, trees: CountedTrees, n_components: int, plan: Plan, starts: Starts) -> Fit:
    """The best of some runs of EM."""
    results: list[Fit] = []
    while len(results) < plan.n_init and not (results and results[-1].interrupted):
        model = started(trees, starts(rng, n_components), plan.tau)
        results.append(run(trees, model, plan.tau is None, plan.max_iter, plan.tol))
    return max(results, key=lambda result: result.history[-1])


def left_out(model: Chains, trees: CountedTrees) -> float:
    """Mean log-likelihood per tree, each scored without its own counts."""
    found = leave_one_out(trees.data, model, trees.n_trees) + trees.events.tail
    return float(np.average(found, weights=trees.data.weight))


def most_components(trees: CountedTrees) -> int:
    """Components whose counts fit into memory, at least one."""
    return max(1, MAX_PARAMETERS // max(1, len(trees.data.levels.cell_key)))


def check_size(trees: CountedTrees, n_components: int) -> None:
    """Raise if the counts of so many components are too many."""
    n_cells = len(trees.data.levels.cell_key)
    if n_cells * n_components > MAX_PARAMETERS:
        raise SettingError(
            f"{n_cells} cells and {n_components} components make {n_cells * n_components:.1e} counts, more than "
            f"{MAX_PARAMETERS:.0e}; use fewer components, or merge rare labels"
        )


def grown(model: Chains, key: Ints, old: Alphabet, new: Alphabet) -> tuple[Chains, Ints]:
    """The same model over an alphabet with more labels, and the keys of its cells there."""
    if new == old:
        return model, key
    check_labels(new.n_labels)
    cell = moved_keys(key, old, new, 2)
    pair = moved_keys(backoff.levels_of(key, old).pair_key, old, new, 1)
    order = np.argsort(cell)
    counts = Counts(model.counts.cell[order], model.counts.pair[np.argsort(pair)])
    return model._replace(counts=counts), cell[order]


def widened(model: Chains, old: Ints, levels: backoff.Levels, alphabet: Alphabet) -> Chains:
    """The model over more cells, those added empty."""
    before = backoff.levels_of(old, alphabet)
    cell = np.zeros((len(levels.cell_key), model.counts.cell.shape[1]))
    cell[np.searchsorted(levels.cell_key, old)] = model.counts.cell
    pair = np.zeros((len(levels.pair_key), model.counts.pair.shape[1]))
    pair[np.searchsorted(levels.pair_key, before.pair_key)] = model.counts.pair
    return model._replace(counts=Counts(cell, pair))


def stepwise(trees: CountedTrees, model: Chains, total: Floats, seen: float, decay: float) -> tuple[Chains, Floats]:
    """One step of stepwise EM on a batch: counts move towards its own; the model and the weights of components.

    The step is the batch's share of all trees seen, to the power `decay`.  Shorter contexts and strengths follow.
    """
    data = trees.data
    new, resp = em.free_step(data, model, None, False)
    weight = float(data.weight.sum())
    rate = (weight / (seen + weight)) ** decay
    scale_old = (1.0 - rate) * (seen + weight) / seen
    scale_new = rate * (seen + weight) / weight
    count = scale_old * model.counts.cell + scale_new * new.counts.cell
    counts = Counts(count, backoff.pairs_of(data.levels, count))
    tables = backoff.tables_of(data.levels, counts, data.alphabet)
    strength = backoff.learn_strengths(data.levels, tables, model.strength)
    total = scale_old * total + scale_new * resp.sum(axis=0)
    return Chains((total + em.WEIGHT_PRIOR) / (total + em.WEIGHT_PRIOR).sum(), counts, strength, model.tau), total
