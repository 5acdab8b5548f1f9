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
GIVEN_SWEEPS, GIVEN_STARTS = 8, 3  # with the number given


class Found(NamedTuple):
    """One good partition, and what was learnt on the way."""

    label: Ints
    strengths: Floats
    power: float
    prior: PartitionPrior
    log_posterior: float
    converged: bool  # no tree wants to move, no merge gains


class Powers(NamedTuple):
    """How the power is set: fixed, or calibrated within bounds."""

    start: float
    calibrate: bool = False
    least: float = 0.02


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
    """Half-way from the power at hand to the calibrated one.

    A whole step lets a power that is small for a moment merge what it then no longer finds apart.
    """
    found = mg.calibrated_power(corpus, tables, groups) if powers.calibrate else None
    return power if found is None else 0.5 * (power + float(np.clip(found, powers.least, 1.0)))


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
    """The best of some k-means starts, each after sweeps that keep the number of groups; note.md, section 5."""
    found: list[Found] = []
    for _ in range(GIVEN_STARTS):
        at = np.full(corpus.n_families, FIRST_STRENGTH)
        tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
        groups = mg.seat(corpus, tables, kmeans_start(features, n_groups, rng))
        for _ in range(GIVEN_SWEEPS):
            at = mg.best_strengths(corpus, groups, at)
            tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
            groups = mg.seat(corpus, tables, groups.label)
            groups, _ = sweep(rng, corpus, tables, groups, closed=True)
        groups, converged = settle(rng, corpus, tables, groups, closed=True)
        joint = mg.log_posterior(corpus, tables, groups, prior)
        found.append(Found(mg.compact(groups.label), mg.STRENGTHS[at], power, prior, joint, converged))
    return max(found, key=lambda one: one.log_posterior)
