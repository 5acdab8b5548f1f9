"""Rows of patterns, the tables that score them, and groups as sums of rows; equations in note.md, section 2."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from .kernels import group_sweeps, log_marginals
from .kernels.blocks import Blocks
from .kernels.group_sweeps import Groups, Rows, Tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DISCOUNT = 0.5  # of the Pitman-Yor process
FINITE_STOP = 0.1  # chance that a number of components is the last, in the prior of mixtures of finite mixtures
FINITE_MOST = 2000  # components that the sum over their number goes to
FINITE_GROUPS = 400  # groups beyond which that prior is taken to be zero
ROOM = 8  # empty slots kept beside the groups

CONCENTRATIONS = np.exp(np.linspace(np.log(0.01), np.log(1000.0), 231))
STRENGTHS = np.exp(np.linspace(np.log(0.3), np.log(1000.0), 40))


class Corpus(NamedTuple):
    """Trees as sets of patterns, and the background they are shrunk to."""

    rows: Rows
    share: Floats  # [pattern]: of all occurrences in its family
    family: Ints  # [pattern]
    n_families: int
    blocks: Blocks | None = None  # constraints, if there are any
    twins: Floats | None = None  # [pattern]: how many of one family and of the same trees it stands for; None: one each

    @property
    def n_trees(self) -> int:
        return len(self.rows.start) - 1

    @property
    def times(self) -> Floats:
        """How many patterns each column stands for."""
        return np.ones(len(self.share)) if self.twins is None else self.twins


class PartitionPrior(NamedTuple):
    """The prior of the partition: which process, and its concentration."""

    kind: str  # "dp", "pitman-yor" or "finite"
    concentration: float


def as_rows(counts: Any, family: Ints, n_families: int) -> Rows:
    """Rows from a sparse matrix [tree, pattern]; how often a pattern occurs in a tree does not count."""
    start, column = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    n = len(start) - 1
    key = np.repeat(np.arange(n), np.diff(start)) * n_families + family[column]
    return Rows(start, column, np.bincount(key, minlength=n * n_families).reshape(n, n_families).astype(np.int64))


def corpus_of(counts: Any, family: Ints, n_families: int) -> Corpus:
    """A corpus with the background of its own trees."""
    rows = as_rows(counts, family, n_families)
    times = np.bincount(rows.column, minlength=counts.shape[1]).astype(np.float64)
    total = np.bincount(family, times, n_families)
    return Corpus(rows, times / np.maximum(total, 1.0)[family], family, n_families)


def twins_as_one(corpus: Corpus) -> Corpus:
    """The same corpus, all patterns of one family that the same trees have in one column.

    Such patterns have the same counts in every group, so scores need the logarithms of one of them, times their number.
    """
    start, column = corpus.rows.start, corpus.rows.column
    tree = np.repeat(np.arange(corpus.n_trees, dtype=np.int32), np.diff(start))[np.argsort(column, kind="stable")]
    end = np.cumsum(np.bincount(column, minlength=len(corpus.share))).tolist()
    having = [tree[a:b].tobytes() for a, b in zip([0, *end[:-1]], end, strict=False)]
    keys = zip(corpus.family.tolist(), having, strict=True)
    number: dict[tuple[int, bytes], int] = {}
    twin = np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
    first = np.unique(twin, return_index=True)[1]
    kept = np.isin(column, first)
    of_tree = np.append(0, np.cumsum(kept))[start]
    rows = Rows(of_tree, twin[column[kept]].astype(np.int32), corpus.rows.size)
    family, total = corpus.family[first], np.bincount(twin, corpus.times).astype(np.float64)
    return corpus._replace(rows=rows, share=corpus.share[first], family=family, twins=total)


# ---- the prior of the partition -------------------------------------------------------------------------------------


def size_shift(prior: PartitionPrior) -> float:
    """e of W(m) = Gamma(m + e) / Gamma(1 + e)."""
    return {"dp": 0.0, "pitman-yor": -DISCOUNT, "finite": 1.0}[prior.kind]


def log_weight(prior: PartitionPrior, size: Any) -> Floats:
    """log W(m) for groups of these sizes; zero stands for no group, and gets what one has."""
    shift = size_shift(prior)
    return np.asarray(gammaln(np.maximum(size, 1) + shift) - gammaln(1.0 + shift))


def log_part(prior: PartitionPrior, n: int, most: int) -> Floats:
    """log part(K) of a partition of n trees, for K = 0..most."""
    number, a = np.arange(most + 1), prior.concentration
    if prior.kind == "dp":
        return np.asarray(number * np.log(a))
    if prior.kind == "pitman-yor":
        return np.append(0.0, np.cumsum(np.log(a + DISCOUNT * number[:-1])))
    return _finite_part(n, most)


def _finite_part(n: int, most: int) -> Floats:
    """log V_n(t), t = 0..most: components from a geometric distribution, Dirichlet(1) weights (Miller, Harrison)."""
    out = np.full(most + 1, -1e300)  # not -inf: differences must be numbers
    k = np.arange(1, FINITE_MOST + 1)
    each = np.log(FINITE_STOP) + (k - 1) * np.log1p(-FINITE_STOP) + gammaln(k) - gammaln(k + n) + gammaln(k + 1)
    for t in range(min(most + 1, FINITE_GROUPS)):
        fits = k >= max(t, 1)
        out[t] = logsumexp(each[fits] - gammaln(k[fits] - t + 1))
    return out


def log_prior(prior: PartitionPrior, size: Ints, n: int) -> float:
    """Log prior probability of a partition with groups of these sizes."""
    total = float(log_weight(prior, size).sum() + log_part(prior, n, len(size))[-1])
    if prior.kind == "finite":
        return total
    return total + float(gammaln(prior.concentration) - gammaln(prior.concentration + n))


def draw_concentration(rng: np.random.Generator, a: float, n_groups: int, n: int) -> float:
    """One draw of a given the number of groups, prior Gamma(1, 1) (Escobar and West 1995)."""
    rate = 1.0 - np.log(max(rng.beta(a + 1.0, n), 1e-300))
    odds = n_groups / (n * rate)
    shape = 1.0 + n_groups - (rng.random() > odds / (1.0 + odds))
    return float(max(rng.gamma(shape) / rate, 1e-6))


def best_concentration(n_groups: int, n: int) -> float:
    """The most probable a of a grid given the number of groups, prior Gamma(1, 1)."""
    a = CONCENTRATIONS
    return float(a[np.argmax(n_groups * np.log(a) + gammaln(a) - gammaln(a + n) - a)])


# ---- tables and groups ----------------------------------------------------------------------------------------------


def make_tables(corpus: Corpus, strengths: Floats, power: float, prior: PartitionPrior) -> Tables:
    """Everything a sweep looks up."""
    alpha = strengths[corpus.family] * corpus.share
    longest = int(corpus.rows.size.sum(axis=0).max(initial=0))
    rise = gammaln(strengths[:, None] + np.arange(longest + 1))
    n = corpus.n_trees
    weight, part = log_weight(prior, np.arange(n + 2)), log_part(prior, n, n + 1)
    start = np.append(0, np.cumsum(np.bincount(corpus.rows.column, minlength=len(alpha)) + 1))  # a place per count
    times = corpus.times
    logs = group_sweeps.logs_by_count(alpha, times, start)
    by, shift = power / corpus.n_families, size_shift(prior)
    by_times = times * np.log(alpha)
    return Tables(alpha, times, by_times, strengths.copy(), rise, weight, part, shift, by, start, logs)


def with_concentration(tables: Tables, prior: PartitionPrior, n: int) -> Tables:
    """The same tables with another concentration."""
    return tables._replace(log_part=log_part(prior, n, n + 1))


def compact(label: Ints) -> Ints:
    """Groups numbered 0, 1, ... in the order of their numbers."""
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def seat(corpus: Corpus, tables: Tables, label: Ints) -> Groups:
    """Groups of all trees, with room for more."""
    label = compact(label)
    return Groups(*group_sweeps.seat(corpus.rows, tables, label, int(label.max()) + 1 + ROOM))


def in_use(groups: Groups) -> int:
    """Slots up to the last group."""
    return int(np.flatnonzero(groups.size)[-1]) + 1


def with_room(groups: Groups, tables: Tables) -> Groups:
    """The same groups with at least one empty slot after the last."""
    if in_use(groups) < len(groups.size):
        return groups
    n = max(ROOM, len(groups.size))
    more = np.repeat(tables.log_alpha[:, None], n, axis=1)
    return Groups(
        groups.label,
        np.hstack([groups.count, np.zeros((len(groups.count), n), np.int32)]),
        np.hstack([groups.logs, more]),
        np.hstack([groups.total, np.zeros((len(groups.total), n), np.int64)]),
        np.append(groups.size, np.zeros(n, np.int64)),
    )


def log_posterior(corpus: Corpus, tables: Tables, groups: Groups, prior: PartitionPrior) -> float:
    """log prior(z) + sum of the weighted log marginals."""
    taken = np.flatnonzero(groups.size)
    evidence = sum(log_marginals.log_marginal(tables, groups, k) for k in taken.tolist())
    return log_prior(prior, groups.size[taken], corpus.n_trees) + tables.power * evidence


# ---- what is learnt by empirical Bayes ------------------------------------------------------------------------------


def best_strengths(corpus: Corpus, groups: Groups, at: Ints) -> Ints:
    """For every family the strength of `STRENGTHS` of most evidence, found by climbing from the place given."""
    return np.array([_climb(corpus, groups, f, int(at[f])) for f in range(corpus.n_families)], np.int64)


def _climb(corpus: Corpus, groups: Groups, f: int, at: int) -> int:
    own = np.flatnonzero(corpus.family == f)
    pattern, slot = np.nonzero(groups.count[own])
    count = groups.count[own[pattern], slot].astype(np.int64)
    share, times = corpus.share[own[pattern]], corpus.times[own[pattern]]
    total = np.ascontiguousarray(groups.total[f])
    known: dict[int, float] = {}

    def evidence(x: int) -> float:
        if not 0 <= x < len(STRENGTHS):
            return -np.inf
        if x not in known:
            known[x] = log_marginals.strength_evidence(share, times, count, total, STRENGTHS[x])
        return known[x]

    for stride in (8, 4, 2, 1):
        while True:
            best = max((at, at - stride, at + stride), key=evidence)
            if best == at:
                break
            at = best
    return at


def calibrated_power(corpus: Corpus, tables: Tables, groups: Groups, smallest: int = 8) -> float | None:
    """2 mean(D) / var(D), the median over groups; None where there are no two groups, or none is large enough.

    D is the log ratio of a tree's own group, the tree left out, and the group nearest to its own.
    """
    n_slots = in_use(groups)
    taken = np.flatnonzero(groups.size[:n_slots])
    if len(taken) < 2:
        return None
    score = group_sweeps.score_all(corpus.rows, tables, groups, n_slots) / corpus.n_families
    found, weight = [], []
    for a in taken[groups.size[taken] >= smallest].tolist():
        mine = score[groups.label == a]
        ahead = mine[:, [a]] - mine
        others = taken[taken != a]
        d = ahead[:, others[ahead[:, others].mean(axis=0).argmin()]]
        if d.var() > 0:
            found.append(2.0 * d.mean() / d.var())
            weight.append(len(d))
    if not found:
        return None
    order = np.argsort(found)
    reached = np.cumsum(np.array(weight)[order])
    return float(np.array(found)[order][np.searchsorted(reached, 0.5 * reached[-1])])
