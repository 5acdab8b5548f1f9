"""Fitting a mixture of hidden trees: where EM starts, one run of it, and stepwise EM."""

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.sharing import iter_shards
from ...forest.store import ForestStore
from ...inference.em import EMResult, run_em
from ...progress import Progress
from . import tree_model as tm
from .passes import Batch, MixtureCounts, MixtureParams
from .starts import PATTERN_STEPS, START_STEPS, cluster_start, pattern_start

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

# Trees that the start looks at; a random choice where there are more, so that its cost and memory are bounded.
MAX_START_TREES = 20_000
RATE_CHUNK = 10_000


def m_step(spec: tm.Spec, counts: MixtureCounts, params: MixtureParams, priors: tm.Priors) -> MixtureParams:
    """Mixing weights, Eq. (5) of paper 000, and the parameters of all components."""
    total = counts.weight.sum()
    weight = counts.weight / total if total > 0 else params.weight
    return MixtureParams(weight, tm.m_step(spec, counts.tree, params.tree, priors))


def random_start(
    rng: np.random.Generator, forest: Forest, weight: Floats | None, spec: tm.Spec, n_components: int
) -> MixtureParams:
    """Flat Dirichlet draws and even mixing weights."""
    tree = tm.draw_start(rng, spec, n_components, slot_rates(forest, weight, spec.n_slots))
    return MixtureParams(np.full(n_components, 1.0 / n_components), tree)


def slot_rates(forest: Forest, weight: Floats | None, n_slots: int) -> Floats:
    """Share of the nodes in each slot."""
    hits, total = slot_hits(forest, weight, n_slots)
    # Slots pooled into one may hold more children than there are nodes.
    return np.minimum((hits + 0.5) / (total + 1.0), 0.9)


def pooled_rates(forest: Forest, spec: tm.Spec) -> tuple[float, ...]:
    """How often a node has a child in each slot, all trees together and half a child added; none without structure."""
    if spec.structure is None:
        return ()
    hits, total = slot_hits(forest, None, spec.n_slots)
    tries = np.full(spec.n_slots, total)
    if spec.pooled:  # a chance after each child there
        tries[-1] += hits[-1]
    return tuple(((hits + 0.5) / (tries + 1.0)).tolist())


def slot_hits(forest: Forest, weight: Floats | None, n_slots: int) -> tuple[Floats, float]:
    """Weight of the nodes in each slot, and of all."""
    hits, total = np.zeros(n_slots), 0.0
    if isinstance(forest, ForestStore):
        parts = forest.over_parts(_slot_hits, weight, n_slots)
    else:
        parts = iter([_slot_hits(forest, weight, n_slots)])
    for more_hits, more in parts:
        hits, total = hits + more_hits, total + more
    return hits, total


def _slot_hits(forest: Forest, weight: Floats | None, n_slots: int) -> tuple[Floats, float]:
    """Weight of the nodes in each slot and of all, a chunk of trees at a time: columns may be most of the memory."""
    hits, total = np.zeros(n_slots), 0.0
    for lo in range(0, forest.n_trees, RATE_CHUNK):
        hi = min(lo + RATE_CHUNK, forest.n_trees)
        slot = forest.slot[forest.tree_start[lo] : forest.tree_start[hi]]
        by_node = np.ones(len(slot)) if weight is None else np.repeat(weight[lo:hi], forest.sizes[lo:hi])
        child = slot >= 0
        hits += np.bincount(np.minimum(slot[child], n_slots - 1), by_node[child], minlength=n_slots)
        total += by_node.sum()
    return hits, float(total)


def clustered_start(
    rng: np.random.Generator,
    forest: Forest,
    weight: Floats | None,
    drawn: MixtureParams,
    spec: tm.Spec,
    priors: tm.Priors,
    by_patterns: bool,
) -> MixtureParams:
    """From random parameters, a few M-steps with the clusters of k-means held fixed.

    With clusters by patterns, all components start from the same parameters.  Then only the trees make them differ; the
    differences between random parameters of their own would outlast the steps and tear the clusters apart.
    """
    n = len(drawn.weight)
    every = np.ones(forest.n_trees) if weight is None else weight
    chosen = np.flatnonzero(every > 0)
    if len(chosen) > MAX_START_TREES:
        chosen = np.sort(rng.choice(chosen, MAX_START_TREES, replace=False))
    some, w = forest.take(chosen), every[chosen]
    label = (pattern_start if by_patterns else cluster_start)(some, spec.n_slots, n, rng, w)
    params = drawn
    if by_patterns:
        params = MixtureParams(drawn.weight, tm.Params(*(np.repeat(x[..., :1], n, axis=-1) for x in drawn.tree)))
    with Batch(spec, list(iter_shards(some.arrays, spec.n_slots)), w, 1) as few:
        resp = np.zeros((len(label), n))
        resp[np.arange(len(label)), label] = w
        for _ in range(PATTERN_STEPS if by_patterns else START_STEPS):
            counts, _ = few.expected_counts(params, resp)
            params = m_step(spec, counts, params, priors)
    # A component without a cluster keeps its random parameters and the weight of one tree: none at all is for ever.
    empty = counts.weight <= 0
    tree = tm.Params(*(np.where(empty, a, b) for a, b in zip(drawn.tree, params.tree, strict=True)))
    return MixtureParams((counts.weight + 1.0) / (counts.weight.sum() + n), tree)


def run(
    batch: Batch,
    start: EMResult[MixtureParams],
    priors: tm.Priors,
    max_iter: int,
    least_gain: float,
    verbose: bool,
    keep: Callable[[EMResult[MixtureParams]], None] | None = None,
) -> EMResult[MixtureParams]:
    """One run of EM, or the rest of one; it ends at a gain below `least_gain`, and `keep` sees every iteration."""
    spec = batch.spec

    def e_step(params: MixtureParams) -> tuple[MixtureCounts, float]:
        counts, log_likelihood = batch.expected_counts(params)
        return counts, log_likelihood + float(tm.log_prior(params.tree, priors).sum())

    def report(now: EMResult[MixtureParams]) -> None:
        log.info("iteration %d of at most %d: objective %.6f", len(now.history), max_iter, now.history[-1])
        bar.advance(f"EM, objective {now.history[-1]:.2f}")
        if keep is not None:
            keep(now)

    with Progress("EM", max_iter, verbose, at_most=True) as bar:
        return run_em(
            start.params,
            e_step,
            lambda counts, params: m_step(spec, counts, params, priors),
            lambda params: objective_of(batch, params, priors),
            max_iter=max_iter,
            tol=least_gain,
            history=start.history,
            report=report,
        )


def objective_of(batch: Batch, params: MixtureParams, priors: tm.Priors) -> float:
    """Log-likelihood plus log prior, up to a constant."""
    return batch.evaluate(params) + float(tm.log_prior(params.tree, priors).sum())


def blend(old: MixtureCounts, seen: float, new: MixtureCounts, total: float, decay: float) -> MixtureCounts:
    """Running counts of stepwise EM, scaled to all the trees seen: old ones of weight `seen`, new ones of `total`.

    The step is the new trees' share of all, to the power `decay`: with batches of one size, (number of batches) **
    -decay, and with decay one the plain sum.
    """
    rate = (total / (seen + total)) ** decay
    scale_old = (1.0 - rate) * (seen + total) / seen if seen > 0 else 0.0
    scale_new = rate * (seen + total) / total
    mixed = tm.Counts(*(scale_old * a + scale_new * b for a, b in zip(old.tree, new.tree, strict=True)))
    return MixtureCounts(scale_old * old.weight + scale_new * new.weight, mixed)
