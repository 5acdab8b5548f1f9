"""Fitting a mixture of trees: where EM starts, one run of it, and stepwise EM."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.sharing import iter_shards
from ...forest.trees import Trees
from ...inference.em import EMResult, run_em
from ...progress import Progress
from . import tree_model as tm
from .acceleration import extrapolated
from .passes import Batch, MixtureCounts, MixtureParams
from .starts import PATTERN_STEPS, START_STEPS, cluster_start, pattern_start

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

# Trees that the start looks at; a random choice where there are more, so that its cost and memory are bounded.
MAX_START_TREES = 20_000


def m_step(model: tm.TreeModel, counts: MixtureCounts, params: MixtureParams, priors: Any) -> MixtureParams:
    """Mixing weights, Eq. (5) of Bacciu and Castellana 2019, and the parameters of all components."""
    total = counts.weight.sum()
    weight = counts.weight / total if total > 0 else params.weight
    return MixtureParams(weight, model.m_step(counts.tree, params.tree, priors))


def random_start(
    rng: np.random.Generator, forest: Trees, weight: Floats | None, model: tm.TreeModel, n_components: int
) -> MixtureParams:
    """Flat Dirichlet draws and even mixing weights."""
    tree = model.start(rng, n_components, forest, weight)
    return MixtureParams(np.full(n_components, 1.0 / n_components), tree)


def clustered_start(
    rng: np.random.Generator,
    forest: Trees,
    weight: Floats | None,
    drawn: MixtureParams,
    model: tm.TreeModel,
    priors: Any,
    by_patterns: bool,
    mend: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]] | None = None,
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
    label = (pattern_start if by_patterns else cluster_start)(some, model.n_slots, n, rng, w, tm.wanted(model))
    label = label if mend is None else mend(label, chosen)
    params = drawn
    if by_patterns:
        params = MixtureParams(drawn.weight, tm.mapped(lambda x: np.repeat(x[..., :1], n, axis=-1), drawn.tree))
    with Batch(model, list(iter_shards(some.arrays, model.n_slots, content=some.rows(tm.wanted(model)))), w, 1) as few:
        resp = np.zeros((len(label), n))
        resp[np.arange(len(label)), label] = w
        for _ in range(PATTERN_STEPS if by_patterns else START_STEPS):
            counts, _ = few.expected_counts(params, resp)
            params = m_step(model, counts, params, priors)
    # A component without a cluster keeps its random parameters and the weight of one tree: none at all is for ever.
    empty = counts.weight <= 0
    tree = tm.mapped(lambda a, b: np.where(empty, a, b), drawn.tree, params.tree)
    return MixtureParams((counts.weight + 1.0) / (counts.weight.sum() + n), tree)


def run(
    batch: Batch,
    start: EMResult[MixtureParams],
    priors: Any,
    max_iter: int,
    least_gain: float,
    verbose: bool,
    keep: Callable[[EMResult[MixtureParams]], None] | None = None,
    acceleration: str | None = None,
) -> EMResult[MixtureParams]:
    """One run of EM, or the rest of one; it ends at a gain below `least_gain`, and `keep` sees every iteration."""
    model = batch.model

    def e_step(params: MixtureParams) -> tuple[MixtureCounts, float]:
        counts, log_likelihood = batch.expected_counts(params)
        return counts, log_likelihood + float(model.log_prior(params.tree, priors).sum())

    def report(now: EMResult[MixtureParams]) -> None:
        log.info("iteration %d of at most %d: objective %.6f", len(now.history), max_iter, now.history[-1])
        bar.advance(f"EM, objective {now.history[-1]:.2f}")
        if keep is not None:
            keep(now)

    with Progress("EM", max_iter, verbose, at_most=True) as bar:
        return run_em(
            start.params,
            e_step,
            lambda counts, params: m_step(model, counts, params, priors),
            lambda params: objective_of(batch, params, priors),
            max_iter=max_iter,
            tol=least_gain,
            history=start.history,
            report=report,
            extrapolate=None if acceleration is None else partial(extrapolated, model),
            leap=start.leap,
        )


def objective_of(batch: Batch, params: MixtureParams, priors: Any) -> float:
    """Log-likelihood plus log prior, up to a constant."""
    return batch.evaluate(params) + float(batch.model.log_prior(params.tree, priors).sum())


def blend(old: MixtureCounts, seen: float, new: MixtureCounts, total: float, decay: float) -> MixtureCounts:
    """Running counts of stepwise EM, scaled to all the trees seen: old ones of weight `seen`, new ones of `total`.

    The step is the new trees' share of all, to the power `decay`: with batches of one size, (number of batches) **
    -decay, and with decay one the plain sum.
    """
    rate = (total / (seen + total)) ** decay
    scale_old = (1.0 - rate) * (seen + total) / seen if seen > 0 else 0.0
    scale_new = rate * (seen + total) / total
    mixed = tm.mapped(lambda a, b: scale_old * a + scale_new * b, old.tree, new.tree)
    return MixtureCounts(scale_old * old.weight + scale_new * new.weight, mixed)
