"""The search for one good partition: communities of neighbours, then greedy moves and merges.

It looks for a mode near the communities and does not sample; `sampler.PartitionSampler` does.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from . import marginals as mg
from .communities import at_least, coarse_enough, neighbour_graph
from .constraints import kept_to
from .kernels.group_sweeps import Groups, Rows, Tables
from .known_start import from_known, has_most
from .marginals import Corpus, PartitionPrior
from .sampler import merge, sweep

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_DIRECTIONS = 50
MOST_GREEDY = 30  # sweeps until nothing changes
FIRST_STRENGTH = 20  # place among `STRENGTHS` where the search for them starts
LEAST_POWER = 0.02  # of a calibrated power; at most 1


class Found(NamedTuple):
    """One good partition, and what was learnt on the way."""

    label: Ints
    strengths: Floats
    power: float
    prior: PartitionPrior
    log_posterior: float
    converged: bool  # no move of a tree gains, no merge gains


# ---- starts ---------------------------------------------------------------------------------------------------------


def tfidf_rows(corpus: Corpus) -> Any:
    """Sparse rows of tf-idf, of length one."""
    from .transformer import unit_rows

    n, n_patterns = corpus.n_trees, len(corpus.share)
    with_it = np.bincount(corpus.rows.column, minlength=n_patterns)
    idf = np.log((1.0 + n) / (1.0 + with_it)) + 1.0
    start = corpus.rows.start.astype(np.int32)
    weight = idf * np.sqrt(corpus.times)  # the length of so many equal entries
    values = weight[corpus.rows.column]
    return unit_rows(sparse.csr_array((values, corpus.rows.column, start), shape=(n, n_patterns)))


def directions(rows: Any, seed: int) -> Floats:
    """Rows along their main singular directions."""
    if min(rows.shape) <= N_DIRECTIONS:
        return np.asarray(rows.toarray())
    left, value, _ = randomized_svd(sparse.csr_matrix(rows), N_DIRECTIONS, random_state=seed)
    return np.asarray(left * value)


def kmeans_start(features: Floats, n_groups: int, rng: np.random.Generator) -> Ints:
    """Groups by k-means from one start."""
    from sklearn.cluster import KMeans  # not at the top: most fits do without, and it imports much

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
    rows: Any,
    prior: PartitionPrior,
    power: float | None = 1.0,
    learn_concentration: bool = True,
) -> Found:
    """Communities, moves between them, then moves and merges; note.md, section 3.  Power None: calibrated."""
    label = alike_together(distinct_rows(corpus.rows), coarse_enough(neighbour_graph(rows), rng))
    label = kept_to(corpus.blocks, label)
    groups, tables = placed(rng, corpus, label, prior, 1.0 if power is None else power)
    if power is None:
        found = mg.calibrated_power(corpus, tables, groups)
        power = 1.0 if found is None else float(np.clip(found, LEAST_POWER, 1.0))
    if learn_concentration and prior.kind == "dp":
        prior = prior._replace(concentration=mg.best_concentration(int(groups.label.max()) + 1, corpus.n_trees))
    groups, tables = learnt(corpus, groups.label, prior, power)
    groups, converged = settle(rng, corpus, tables, groups, merging=True)
    if all_alike(corpus):  # the posterior is the prior, and the trees are all alike
        together = kept_to(corpus.blocks, np.zeros(corpus.n_trees, np.int64))
        groups, converged = mg.seat(corpus, tables, together), True
    return _found(corpus, tables, groups, prior, power, converged)


def alike_together(kind: Ints, label: Ints) -> Ints:
    """The labels, those of trees of one kind replaced by the most frequent among them."""
    n = int(label.max()) + 1
    pairs, times = np.unique(kind * n + label, return_counts=True)
    order = np.lexsort((-times, pairs // n))  # of each kind the most frequent label first
    first = order[np.unique((pairs // n)[order], return_index=True)[1]]
    return (pairs % n)[first][kind]


def learnt(corpus: Corpus, label: Ints, prior: PartitionPrior, power: float) -> tuple[Groups, Tables]:
    """Groups, and the tables of the strengths that suit them best."""
    at = np.full(corpus.n_families, FIRST_STRENGTH)
    tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
    at = mg.best_strengths(corpus, mg.seat(corpus, tables, label), at)
    tables = mg.make_tables(corpus, mg.STRENGTHS[at], power, prior)
    return mg.seat(corpus, tables, label), tables


def placed(
    rng: np.random.Generator, corpus: Corpus, label: Ints, prior: PartitionPrior, power: float
) -> tuple[Groups, Tables]:
    """Groups after every tree moved to where it fits best; none is made, emptied or merged."""
    groups, tables = learnt(corpus, label, prior, power)
    return settle(rng, corpus, tables, groups)[0], tables


def _found(
    corpus: Corpus, tables: Tables, groups: Groups, prior: PartitionPrior, power: float, converged: bool
) -> Found:
    joint = mg.log_posterior(corpus, tables, groups, prior)
    return Found(mg.compact(groups.label), tables.strength, power, prior, joint, converged)


def all_alike(corpus: Corpus) -> bool:
    """Whether all trees have the same patterns."""
    rows = corpus.rows
    n = np.diff(rows.start)
    return bool((n == n[0]).all() and (rows.column.reshape(corpus.n_trees, -1) == rows.column[: n[0]]).all())


def settle(
    rng: np.random.Generator, corpus: Corpus, tables: Tables, groups: Groups, merging: bool = False
) -> tuple[Groups, bool]:
    """Move trees to their best groups, and merge groups if asked to, until nothing changes; whether they got there.

    No group is made or left empty by a move.
    """
    for _ in range(MOST_GREEDY):
        groups, n_moved = sweep(rng, corpus, tables, groups, greedy=True, closed=True)
        n_merged = merge(corpus, tables, groups) if merging else 0
        if n_moved + n_merged == 0:
            return groups, True
    return groups, False


# ---- number given ---------------------------------------------------------------------------------------------------


def search_given(
    rng: np.random.Generator,
    corpus: Corpus,
    rows: Any,
    n_groups: int,
    prior: PartitionPrior,
    power: float,
    classes: tuple[Ints, Ints] | None = None,
) -> Found:
    """So many communities or more, moves between them, best merges down to the number, and moves; note.md, section 5.

    Fewer groups only where fewer trees are distinct.  With known `classes` (trees, and a number for each), groups found
    so without them are one start of two; see `known_start`.
    """
    label = distinct_rows(corpus.rows)
    if classes is not None and has_most(classes[1], n_groups) and n_groups <= label.max():
        free = search_given(rng, corpus._replace(blocks=None), rows, n_groups, prior, power)
        return _settled(rng, corpus, from_known(rows, free.label, *classes), n_groups, prior, power)
    if n_groups <= label.max():
        start = kept_to(corpus.blocks, at_least(neighbour_graph(rows), n_groups, rng))
        groups, tables = placed(rng, corpus, start, prior, power)
        merge(corpus, tables, groups, n_groups, always=True)
        label = mg.compact(groups.label)
    return _settled(rng, corpus, label, n_groups, prior, power)


def _settled(
    rng: np.random.Generator, corpus: Corpus, label: Ints, n_groups: int, prior: PartitionPrior, power: float
) -> Found:
    """Moves from groups near to those given that keep to the constraints."""
    groups, tables = learnt(corpus, kept_to(corpus.blocks, label, n_groups), prior, power)
    groups, converged = settle(rng, corpus, tables, groups)
    return _found(corpus, tables, groups, prior, power, converged)


def distinct_rows(rows: Rows) -> Ints:
    """A number for each distinct set of patterns, in order of first occurrence, by tree."""
    number: dict[bytes, int] = {}
    keys = (rows.column[a:b].tobytes() for a, b in zip(rows.start[:-1], rows.start[1:], strict=True))
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
