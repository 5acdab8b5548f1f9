"""Drawn partitions: their labels, who is with whom, and how far two of them are apart."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from .kernels import partitions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Groups = NDArray[np.int32]  # numbered 0, 1, ... by first member
Loss = Literal["vi", "binder"]
Measure = Literal["vi", "binder", "adjusted_rand"]

#: Label of a datum that belongs to none of the groups found.
NEW_GROUP = -1

ROUNDING = 1e-12  # distances closer than this are equal
DECIMALS = 12  # of distances and entropies; beyond it is rounding


def cut_levels(tree: Floats, numbers: ArrayLike) -> Ints:
    """Groups of the data when a linkage is cut into so many, [level, datum], numbered by first member.

    As scipy's `cut_tree`, in a hundredth of its time; merges of equal height count in the order of the linkage.
    """
    n = len(tree) + 1
    merged = tree[:, :2].astype(np.int64)
    cuts = np.empty((np.size(numbers), n), np.int64)
    for cut, number in zip(cuts, np.asarray(numbers).ravel(), strict=True):
        n_merges = n - int(number)
        owner = np.arange(2 * n - 1)
        owner[merged[:n_merges]] = n + np.arange(n_merges)[:, None]
        while not np.array_equal(above := owner[owner], owner):
            owner = above
        _, first, group = np.unique(owner[:n], return_index=True, return_inverse=True)
        cut[:] = np.argsort(np.argsort(first))[group]
    return cuts


def canonical(labels: ArrayLike) -> Ints:
    """Number the groups of each draw 0, 1, ... by decreasing size, ties by first member; any shape [..., datum].

    >>> canonical([[7, 2, 2, 7, 5], [1, 1, 1, 0, 0]])
    array([[0, 1, 1, 0, 2],
           [0, 0, 0, 1, 1]])
    """
    group, n_groups = as_groups(labels)
    partitions.sort_by_size(group, n_groups, group)
    return group.astype(np.int64).reshape(np.shape(labels))


def align_labels(labels: ArrayLike, reference: ArrayLike) -> Ints:
    """Give the groups of each draw the names of the groups of `reference` they overlap most, as a whole.

    The match maximises the number of data whose name is that of the reference.  A group left over, or without a datum
    in common with its match, gets a new number above all of the reference's, larger groups first.

    >>> align_labels([0, 0, 1, 1, 2], [4, 4, 9, 9, 9])
    array([ 4,  4,  9,  9, 10])
    """
    aligned = canonical(labels).reshape(-1, np.shape(labels)[-1])
    names, home = np.unique(check_integers(reference, "reference"), return_inverse=True)
    if home.shape != aligned.shape[1:]:
        raise ValueError(f"reference has shape {home.shape}; wanted a label for each of {aligned.shape[1]} data")
    for draw in aligned:
        n_groups = draw.max() + 1
        table = np.bincount(draw * len(names) + home, minlength=n_groups * len(names)).reshape(n_groups, len(names))
        mine, theirs = linear_sum_assignment(table, maximize=True)
        met = table[mine, theirs] > 0
        name = np.full(n_groups, -1, np.int64)
        new = np.ones(n_groups, bool)
        name[mine[met]] = names[theirs[met]]
        new[mine[met]] = False
        name[new] = names[-1] + 1 + np.arange(new.sum())
        draw[:] = name[draw]
    return aligned.reshape(np.shape(labels))


def co_clustering_matrix(labels: ArrayLike, rows: ArrayLike | None = None) -> Floats:
    """Share of the draws in which two data share a group, for all pairs, or for the data `rows` with all others.

    >>> co_clustering_matrix([[0, 0, 1], [1, 1, 1]])
    array([[1. , 1. , 0.5],
           [1. , 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    group, _ = as_groups(labels)
    chosen = np.arange(group.shape[1]) if rows is None else np.arange(group.shape[1])[np.asarray(rows)].reshape(-1)
    count = np.zeros((len(chosen), group.shape[1]))
    partitions.add_together(group, np.ones(len(group)), chosen, count)
    return count / len(group)


def variation_of_information(a: ArrayLike, b: ArrayLike) -> float:
    """Variation of information of two partitions in nats, H(a | b) + H(b | a); a metric, at most log(n_data).

    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "vi")[0])


def binder_loss(a: ArrayLike, b: ArrayLike) -> float:
    """Share of the pairs of data that one partition joins and the other separates, 1 - Rand index; a metric.

    >>> round(binder_loss([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    0.6667
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "binder")[0])


def adjusted_rand(a: ArrayLike, b: ArrayLike) -> float:
    """Adjusted Rand index of two partitions: 1 if equal, 0 on average for random ones with groups of these sizes.

    >>> round(adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    -0.5
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "adjusted_rand")[0])


def compare_to_draws(partition: ArrayLike, labels: ArrayLike, measure: Measure = "vi") -> Floats:
    """Measure of one partition against each draw, O(data) a draw; the shape of `labels` without its last axis."""
    group, _ = as_groups(labels)
    one, _ = as_groups(np.asarray(partition)[None], "partition")
    if len(one) != 1 or one.shape[1] != group.shape[1]:
        raise ValueError(f"partition has shape {np.shape(partition)}; wanted a label for each of {group.shape[1]} data")
    return against(comparison(group, measure), one[0]).reshape(np.shape(labels)[:-1])


class Comparison(NamedTuple):
    """Draws ready to be compared: their groups and sum_g f(n_g)."""

    group: Groups
    n_groups: Ints
    own: Floats
    value: Floats  # f(n)
    measure: Measure


def comparison(group: Groups, measure: Measure) -> Comparison:
    n = np.arange(group.shape[1] + 1.0)
    values = {"vi": xlogy(n, n), "binder": n * n, "adjusted_rand": n * (n - 1.0) / 2.0}
    if measure not in values:
        raise ValueError(f"measure {measure!r}; wanted one of {', '.join(map(repr, values))}")
    n_groups = group.max(axis=1).astype(np.int64) + 1
    return Comparison(group, n_groups, partitions.own_sums(group, values[measure])[0], values[measure], measure)


def against(draws: Comparison, one: Groups, first: int = 0) -> Floats:
    """The measure of one partition with each draw from `first` on."""
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(one))])
    order = np.argsort(one, kind="stable")
    joint = partitions.joint_sums(order, start, draws.group[first:], draws.n_groups[first:], draws.value)
    mine, theirs, n = partitions.own_sums(one[None], draws.value)[0][0], draws.own[first:], len(one)
    if draws.measure != "adjusted_rand":
        return np.maximum(mine + theirs - 2.0 * joint, 0.0) / (n if draws.measure == "vi" else max(n * (n - 1), 1))
    chance = mine * theirs / max(draws.value[-1], 1.0)
    most = (mine + theirs) / 2.0
    # No room between chance and the most: both partitions are one group, or both are all apart.
    return np.divide(joint - chance, most - chance, out=np.ones_like(joint), where=most > chance)


def check_integers(labels: ArrayLike, name: str) -> Ints:
    values = np.asarray(labels)
    if values.dtype.kind not in "iu" or values.ndim == 0 or values.size == 0:
        raise ValueError(f"{name}: {values.dtype} of shape {values.shape}; wanted integers, one or more data in a draw")
    return values.astype(np.int64)


def as_groups(labels: ArrayLike, name: str = "labels") -> tuple[Groups, Ints]:
    """Groups [draw, datum] numbered by first member, all chains in one, and how many each draw has."""
    values = check_integers(labels, name)
    values = values.reshape(-1, values.shape[-1])
    low, high = int(values.min()), int(values.max())
    if high - low < values.size:
        values -= low
        n_names = high - low + 1
    else:  # names far apart: a table of them all would be larger than the labels
        names, inverse = np.unique(values, return_inverse=True)
        values, n_names = inverse.reshape(values.shape).astype(np.int64), len(names)
    group = np.empty(values.shape, np.int32)
    return group, partitions.number_groups(values, n_names, group)
