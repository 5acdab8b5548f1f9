"""Slow, obvious twins of arbora.inference.diagnostics: loops over all pairs of data, all cells, all set partitions."""

from itertools import combinations
from math import log

import numpy as np


def set_partitions(n):
    """All partitions of n data, as labels: datum i joins a group met before or opens the next one."""
    grown = [[]]
    for _ in range(n):
        grown = [[*labels, k] for labels in grown for k in range(max(labels, default=-1) + 2)]
    return grown


def co_clustering(labels):
    n_draws, n_data = len(labels), len(labels[0])
    return np.array(
        [[sum(draw[i] == draw[j] for draw in labels) / n_draws for j in range(n_data)] for i in range(n_data)]
    )


def conditional_entropy(a, b):
    """H(a | b) in nats, from its definition."""
    total = 0.0
    for y in set(b):
        inside = [a[n] for n in range(len(a)) if b[n] == y]
        for x in set(inside):
            total -= inside.count(x) / len(a) * log(inside.count(x) / len(inside))
    return total


def variation_of_information(a, b):
    return conditional_entropy(list(a), list(b)) + conditional_entropy(list(b), list(a))


def binder(a, b):
    """Share of the pairs that are together in one partition only; 0 without pairs."""
    pairs = list(combinations(range(len(a)), 2))
    return sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs) / max(len(pairs), 1)


LOSSES = {"vi": variation_of_information, "binder": binder}


def expected_loss(partition, labels, loss):
    return sum(LOSSES[loss](partition, draw) for draw in labels) / len(labels)


def least_expected_loss(labels, loss, max_groups=None):
    """The least expected loss of all set partitions of the data with at most `max_groups` groups."""
    n_data = len(labels[0])
    every = [x for x in set_partitions(n_data) if max(x) < (max_groups or n_data)]
    return min(expected_loss(x, labels, loss) for x in every)


def canonical(partition):
    """Groups sorted by decreasing size, then by first member."""
    partition = list(partition)
    names = sorted(set(partition), key=lambda x: (-partition.count(x), partition.index(x)))
    return [names.index(x) for x in partition]


def best_overlap(partition, reference):
    """The most data that can keep the reference's name when different groups take different names, by trying all."""
    groups, names = sorted(set(partition)), sorted(set(reference))

    def most(x, left):
        if x == len(groups):
            return 0
        here = [reference[n] for n in range(len(partition)) if partition[n] == groups[x]]
        return max([most(x + 1, left), *(here.count(y) + most(x + 1, left - {y}) for y in left)])

    return most(0, frozenset(names))


def co_clustering_rhat(labels):
    """Split R-hat of the 0/1 indicators of all pairs of data, their variances summed; labels [chain][draw][datum].

    Pooled over within variance; a variance is half the mean squared distance of two different draws.
    """
    halves = []
    for chain in labels:
        half = len(chain) // 2
        halves += [chain[:half], chain[len(chain) - half :]]
    indicator = [
        [[float(d[i] == d[j]) for i, j in combinations(range(len(d)), 2)] for d in np.asarray(h)] for h in halves
    ]
    indicator = np.array(indicator)  # [half, draw, pair]
    within = indicator.var(axis=1, ddof=1).sum(axis=1)
    mean = indicator.mean(axis=1)
    noise = indicator.var(axis=1, ddof=0).sum(axis=1)
    total = 0.0
    for a in range(len(halves)):
        for b in range(len(halves)):
            # half the mean squared distance of a draw of a and a draw of b
            apart = ((mean[a] - mean[b]) ** 2).sum() / 2 + (noise[a] + noise[b]) / 2
            total += within[a] if a == b else apart
    return np.sqrt(total / len(halves) ** 2 / within.mean())
