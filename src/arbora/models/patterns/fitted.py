"""A fitted pattern mixture as numbers: sums of patterns by group, scores of new trees, novelty, and best merges."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..file_checks import check_array
from . import marginals as mg
from .kernels import group_merges, group_sweeps, log_marginals
from .kernels.group_sweeps import Groups, Rows, Tables
from .marginals import DISCOUNT, Corpus, PartitionPrior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Sums(NamedTuple):
    """Groups as sums over their trees: two sets of trees add, and trees can be taken out again."""

    count: Ints  # type: ignore[assignment]  # [group, pattern]: trees with the pattern
    size: Ints  # [group]: trees

    def plus(self, rows: Rows, label: Ints, sign: int) -> "Sums":
        """With trees added to groups, or taken out of them."""
        n_groups, n_patterns = self.count.shape
        key = np.repeat(label, np.diff(rows.start)) * n_patterns + rows.column
        count = np.bincount(key, minlength=n_groups * n_patterns).reshape(n_groups, n_patterns)
        return Sums(self.count + sign * count, self.size + sign * np.bincount(label, minlength=n_groups))


class Model(NamedTuple):
    """All that scores a tree."""

    sums: Sums
    share: Floats  # [pattern]
    family: Ints  # [pattern]
    strengths: Floats  # [family]
    power: float
    prior: PartitionPrior

    @property
    def weight(self) -> float:
        """What log marginals are multiplied by."""
        return self.power / len(self.strengths)

    def totals(self) -> Ints:
        """Patterns of all trees of a group by family, [family, group]."""
        starts = np.searchsorted(self.family, np.arange(len(self.strengths)))
        padded = np.append(self.sums.count, np.zeros((len(self.sums.size), 1), np.int64), axis=1)
        out = np.add.reduceat(padded, starts, axis=1) * (np.bincount(self.family, minlength=len(starts)) > 0)
        return np.ascontiguousarray(out.T)


def sums_of(corpus: Corpus, label: Ints) -> Sums:
    """Sums of the groups of a corpus."""
    n_groups, n_patterns = int(label.max()) + 1, len(corpus.share)
    nothing = Sums(np.zeros((n_groups, n_patterns), np.int64), np.zeros(n_groups, np.int64))
    return nothing.plus(corpus.rows, label, 1)


def background(times: Ints, family: Ints, n_families: int) -> Floats:
    """Share of each pattern among those of its family, from the number of trees with it."""
    total = np.maximum(np.bincount(family, times, n_families), 1.0)
    return np.asarray(np.maximum(times, 0.5) / total[family])


# ---- new trees ------------------------------------------------------------------------------------------------------


def log_predictive(model: Model, rows: Rows) -> Floats:
    """log p(tree | group), unweighted, [tree, group]; the last column is a group without trees."""
    alpha = model.strengths[model.family] * model.share
    count = np.vstack([model.sums.count, np.zeros((1, len(alpha)), np.int64)])
    total = np.hstack([model.totals(), np.zeros((len(model.strengths), 1), np.int64)])
    return log_marginals.score_new(rows, np.ascontiguousarray(np.log(alpha + count).T), total, model.strengths)


def log_seats(model: Model) -> Floats:
    """Log prior weight of each group for the next tree, and of a new one."""
    size, (kind, a) = model.sums.size.astype(np.float64), model.prior
    n_groups = len(size)
    if kind == "dp":
        return np.log(np.append(size, a))
    if kind == "pitman-yor":
        return np.log(np.append(size - DISCOUNT, a + DISCOUNT * n_groups))
    part = mg.log_part(model.prior, int(size.sum()), n_groups + 1)
    return np.append(np.log(size + 1.0), part[n_groups + 1] - part[n_groups])


def left_out_scores(corpus: Corpus, tables: Tables, groups: Groups) -> Floats:
    """log p(tree | the others of its group), unweighted, per pattern of the tree; -inf for a tree without patterns."""
    score = group_sweeps.score_all(corpus.rows, tables, groups, mg.in_use(groups))
    own = score[np.arange(corpus.n_trees), groups.label]
    return per_pattern(own, corpus.rows)


def per_pattern(score: Floats, rows: Rows) -> Floats:
    """Scores divided by the number of patterns; -inf where there are none."""
    n = np.diff(rows.start)
    return np.where(n > 0, score / np.maximum(n, 1), -np.inf)


def p_values(score: Floats, label: Ints, known: Floats, known_label: Ints) -> Floats:
    """Share of a group's own trees that fit it no better, the new tree counted among them."""
    out = np.empty(len(score))
    for k in np.unique(label).tolist():
        ranked = np.sort(known[known_label == k])
        mine = label == k
        out[mine] = (1.0 + np.searchsorted(ranked, score[mine], "right")) / (1.0 + len(ranked))
    return out


# ---- merges ---------------------------------------------------------------------------------------------------------


class Merges(NamedTuple):
    """Groups merged two by two down to one, each time the pair that costs least."""

    pair: Ints  # [step, 2]: the group that stays, and the one that goes into it; numbers of `labels_`
    gain: Floats  # [step]: in log P; mostly losses, if the number of groups is a good one
    log_posterior: Floats  # [step + 1]: before the first merge, and after each

    def labels(self, label: Ints, n_groups: int) -> Ints:
        """The partition with so many groups, numbered by decreasing size."""
        from ...inference.diagnostics import canonical

        new = np.arange(len(self.pair) + 1)
        for stays, goes in self.pair[: len(self.pair) + 1 - n_groups].tolist():
            new[new == goes] = stays
        return canonical(new[label])


def best_merges(model: Model, log_posterior: float) -> Merges:
    """Merge all groups, the best pair first."""
    count = np.ascontiguousarray(model.sums.count.T.astype(np.int32))
    alpha = model.strengths[model.family] * model.share
    size = model.sums.size.copy()
    part, shift = mg.log_part(model.prior, int(size.sum()), len(size)), mg.size_shift(model.prior)
    no_rise, no_weight = np.zeros((len(model.strengths), 1)), np.zeros(1)
    no_logs = np.zeros(len(alpha) + 1, np.int64), np.zeros(0)
    columns = alpha, np.ones(len(alpha)), np.log(alpha)
    tables = Tables(*columns, model.strengths, no_rise, no_weight, part, shift, model.weight, *no_logs)
    groups = Groups(np.zeros(0, np.int64), count, np.zeros(count.shape), model.totals(), size)
    pair, gain = group_merges.merge_best(tables, groups, len(size), 1, True)
    return Merges(pair, gain, log_posterior + np.append(0.0, np.cumsum(gain)))


def log_posterior_of(model: Model) -> float:
    """log prior(z) + sum of weighted log marginals, from the sums alone."""
    alpha = model.strengths[model.family] * model.share
    s, total = model.strengths[:, None], model.totals()
    evidence = (gammaln(alpha + model.sums.count) - gammaln(alpha)).sum()
    evidence += (gammaln(s) - gammaln(s + total)).sum()
    return mg.log_prior(model.prior, model.sums.size, int(model.sums.size.sum())) + model.weight * float(evidence)


# ---- files ----------------------------------------------------------------------------------------------------------


def check_model(model: Model, n_families: int) -> None:
    """Raise unless the numbers of a file make a model."""
    count, size = model.sums
    check_array("group_size_", size, np.int64, (None,), 1, 2**40)
    check_array("pattern_count_", count, np.int64, (len(size), len(model.family)), 0, 2**40)
    check_array("share_", model.share, np.float64, (len(model.family),), 1e-15, 1.0)
    check_array("strengths_", model.strengths, np.float64, (n_families,), 1e-3, 1e6)
    if not len(size) or (count > size[:, None]).any():
        raise ValueError("there are no groups, or patterns of more trees than a group has")


def rows_of(counts: Any, model: Model) -> Rows:
    """Rows of new trees."""
    return mg.as_rows(counts, model.family, len(model.strengths))
