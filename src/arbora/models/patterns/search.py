"""The search for one good partition: k-means starts, adaptive sweeps with best merges, and greedy sweeps at the end.

Strengths, power and merges adapt to the state, so this is no sampler; `sampler.PartitionSampler` is one.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from . import marginals as mg
from .kernels import groups as kernels
from .kernels.groups import Groups, Tables
from .marginals import Corpus, PartitionPrior
from .sampler import split_merge, sweep

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_START, LEAST_START_SIZE = 20, 4  # groups to start from, and trees of each on average, at least
N_DIRECTIONS = 50
N_SPLIT_MERGE = 20  # proposals per sweep
EVERY = 3  # sweeps between merges and between looks at the power
MOST_GREEDY = 30  # sweeps at the end
FIRST_STRENGTH = 20  # place among `STRENGTHS` where the search starts
GIVEN_SWEEPS, GIVEN_STARTS = 8, 6  # with the number given
MERGED_SWEEPS = 12  # of the search whose groups are merged down
LEAST_POWER = 0.02


class Found(NamedTuple):
    """One good partition, and what was learnt on the way."""

    label: Ints
    strengths: Floats
    power: float
    prior: PartitionPrior
    log_posterior: float
    converged: bool  # no tree wants to move, no merge gains


class Powers(NamedTuple):
    """How the power is set: fixed, or calibrated from there on."""

    start: float
    calibrate: bool = False
    nats: float = 0.0  # evidence of a tree for its group that a calibrated power leaves, at least


# ---- starts ---------------------------------------------------------------------------------------------------------


def directions(corpus: Corpus, seed: int) -> Floats:
    """Rows of tf-idf, of length one, along their main singular directions."""
    from scipy import sparse

    from .transformer import unit_rows

    n, n_patterns = corpus.n_trees, len(corpus.share)
    with_it = np.bincount(corpus.rows.column, minlength=n_patterns)
    idf = np.log((1.0 + n) / (1.0 + with_it)) + 1.0
    start = corpus.rows.start.astype(np.int32)
    rows = unit_rows(sparse.csr_array((idf[corpus.rows.column], corpus.rows.column, start), shape=(n, n_patterns)))
    if min(n, n_patterns) <= N_DIRECTIONS:
        return np.asarray(rows.toarray())
    left, value, _ = randomized_svd(sparse.csr_matrix(rows), N_DIRECTIONS, random_state=seed)
    return np.asarray(left * value)


def n_start(n_trees: int) -> int:
    """Groups to start from."""
    return max(1, min(N_START, n_trees // LEAST_START_SIZE))


def kmeans_start(features: Floats, n_groups: int, rng: np.random.Generator) -> Ints:
    """Groups by k-means from one start."""
    n = len(features)
    seed = int(rng.integers(2**31 - 1))
    if n_groups >= n:
        return np.arange(n)
    if n_groups == 1 or not features.shape[1]:
        return np.zeros(n, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct trees than groups
        found = KMeans(n_groups, n_init=1, random_state=seed).fit_predict(features)
    return mg.compact(found)


# ---- number unknown -------------------------------------------------------------------------------------------------


def search(
    rng: np.random.Generator,
    corpus: Corpus,
    label: Ints,
    prior: PartitionPrior,
    powers: Powers,
    n_sweeps: int,
    learn_concentration: bool = True,
) -> Found:
    """Adaptive sweeps from a start, then greedy ones until nothing changes; note.md, section 3."""
    at = np.full(corpus.n_families, FIRST_STRENGTH)
    power = powers.start
    tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
    groups = mg.seat(corpus, tables, label)
    for number in range(n_sweeps):
        at = mg.best_strengths(corpus, groups, at)
        if learn_concentration and prior.kind == "dp":
            a = mg.draw_concentration(rng, prior.concentration, int((groups.size > 0).sum()), corpus.n_trees)
            prior = prior._replace(concentration=a)
        tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
        groups = mg.seat(corpus, tables, groups.label)
        if number % EVERY == EVERY - 1:
            power = new_power(corpus, tables, groups, powers, power)
            tables = tables._replace(power=power / corpus.n_families)
            merge(tables, groups)
        groups, _ = sweep(rng, corpus, tables, groups)
        groups, _ = split_merge(rng, corpus, tables, groups, N_SPLIT_MERGE)
    groups, converged = settle(rng, corpus, tables, groups)
    if all_alike(corpus):  # the posterior is the prior, and nothing tells the trees apart
        groups, converged = mg.seat(corpus, tables, np.zeros(corpus.n_trees, np.int64)), True
    joint = mg.log_posterior(corpus, tables, groups, prior)
    return Found(mg.compact(groups.label), mg.STRENGTHS[at], power, prior, joint, converged)


def all_alike(corpus: Corpus) -> bool:
    """Whether all trees have the same patterns."""
    rows = corpus.rows
    n = np.diff(rows.start)
    return bool((n == n[0]).all() and (rows.column.reshape(corpus.n_trees, -1) == rows.column[: n[0]]).all())


def new_power(corpus: Corpus, tables: Tables, groups: Groups, powers: Powers, power: float) -> float:
    """Half-way to the calibrated power, or to what leaves a tree enough nats for its group; note.md, section 4.

    A whole step lets a power that is small for a moment merge what it then no longer finds apart.
    """
    found = mg.calibrated_power(corpus, tables, groups) if powers.calibrate else None
    if found is None:
        return power
    enough = powers.nats / max(mg.nats_per_tree(corpus, tables, groups), 1e-9)
    return 0.5 * (power + float(np.clip(max(found, enough), LEAST_POWER, 1.0)))


def merge(tables: Tables, groups: Groups) -> int:
    """Merge groups, the best pair first, while log P rises; how many times."""
    return len(kernels.merge_best(tables, groups, mg.in_use(groups), 1, False)[1])


def settle(
    rng: np.random.Generator, corpus: Corpus, tables: Tables, groups: Groups, closed: bool = False
) -> tuple[Groups, bool]:
    """Greedy sweeps and merges until nothing changes; whether they got there."""
    for _ in range(MOST_GREEDY):
        groups, n_moved = sweep(rng, corpus, tables, groups, greedy=True, closed=closed)
        n_merged = 0 if closed else merge(tables, groups)
        if n_moved + n_merged == 0:
            return groups, True
    return groups, False


# ---- number given ---------------------------------------------------------------------------------------------------


def search_given(
    rng: np.random.Generator, corpus: Corpus, features: Any, n_groups: int, prior: PartitionPrior, power: float
) -> Found:
    """The best of some starts, each after sweeps that keep the number of groups; note.md, section 5."""
    starts = [kmeans_start(features, n_groups, rng) for _ in range(GIVEN_STARTS)]
    starts += merged_start(rng, corpus, features, n_groups, prior, power)
    found = [_keep_number(rng, corpus, start, prior, power) for start in starts]
    return max(found, key=lambda one: one.log_posterior)


def merged_start(
    rng: np.random.Generator, corpus: Corpus, features: Any, n_groups: int, prior: PartitionPrior, power: float
) -> list[Ints]:
    """The groups that a search of the number finds, merged down to the number given; none if it finds too few."""
    start = kmeans_start(features, n_start(corpus.n_trees), rng)
    fine = search(rng, corpus, start, prior, Powers(power), MERGED_SWEEPS)
    if fine.label.max() + 1 < n_groups:
        return []
    tables = mg.make_tables(corpus, fine.strengths, power, prior)
    groups = mg.seat(corpus, tables, fine.label)
    kernels.merge_best(tables, groups, mg.in_use(groups), n_groups, True)
    return [mg.compact(groups.label)]


def _keep_number(rng: np.random.Generator, corpus: Corpus, start: Ints, prior: PartitionPrior, power: float) -> Found:
    """Sweeps from one start that leave no group empty and open no new one."""
    at = np.full(corpus.n_families, FIRST_STRENGTH)
    tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
    groups = mg.seat(corpus, tables, start)
    for _ in range(GIVEN_SWEEPS):
        at = mg.best_strengths(corpus, groups, at)
        tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
        groups = mg.seat(corpus, tables, groups.label)
        groups, _ = sweep(rng, corpus, tables, groups, closed=True)
    groups, converged = settle(rng, corpus, tables, groups, closed=True)
    joint = mg.log_posterior(corpus, tables, groups, prior)
    return Found(mg.compact(groups.label), mg.STRENGTHS[at], power, prior, joint, converged)
