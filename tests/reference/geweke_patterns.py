"""Geweke's joint test of the sampler of pattern mixtures: partition and trees drawn together, or one given the other.

A tree has one pattern of each family here, and the power is the number of families.  Then every log marginal counts
once, and the model is what it is written as: a tree draws a pattern of each family from the urn of its group.  With
more patterns a tree would be a set, which no urn draws.
"""

from collections import Counter
from math import lgamma

import numpy as np

from arbora.models.patterns.kernels.group_sweeps import Rows
from arbora.models.patterns.marginals import Corpus, PartitionPrior
from arbora.models.patterns.sampler import PartitionSampler
from arbora.models.sampled import Seating

SHARE = (np.array([0.5, 0.3, 0.2]), np.array([0.7, 0.3]))  # background by family
STRENGTH = np.array([1.0, 2.5])
FIRST = (0, 3)  # number of the first pattern of each family


def draw(rng, weight):
    """Index in proportion to the weights."""
    edge = np.cumsum(weight)
    return int(np.searchsorted(edge, rng.random() * edge[-1], side="right"))


def log_marginal(label, patterns):
    """log P(patterns | partition), by gamma functions over dictionaries."""
    total = 0.0
    for f, (share, strength) in enumerate(zip(SHARE, STRENGTH, strict=True)):
        for (_, x), n in Counter(zip(label, patterns[:, f], strict=True)).items():
            total += lgamma(strength * share[x] + n) - lgamma(strength * share[x])
        for n in Counter(label).values():
            total -= lgamma(strength + n) - lgamma(strength)
    return total


class Game:
    """A few trees, and a sampler of their partition; `change` plants an error in the sampler."""

    def __init__(self, n_trees=5, n_split_merge=2, change=None):
        self.n_trees, self.n_split_merge, self.change = n_trees, n_split_merge, change

    def partition(self, rng):
        """Concentration, Gamma(1, 1), and partition from the prior."""
        concentration = rng.gamma(1.0)
        label = [0]
        for _ in range(self.n_trees - 1):
            label.append(draw(rng, [*np.bincount(label), concentration]))
        return Seating(np.array(label), concentration)

    def patterns(self, rng, state):
        """Patterns given the partition, [tree, family], from an urn per group and family."""
        urns = [[s * m for s, m in zip(STRENGTH, SHARE, strict=True)] for _ in range(state.label.max() + 1)]
        out = np.empty((self.n_trees, len(SHARE)), np.int64)
        for n, k in enumerate(state.label):
            for f, urn in enumerate(urns[k]):
                out[n, f] = draw(rng, urn)
                urn[out[n, f]] += 1
        return out

    def sampler(self, patterns):
        """The sampler of these trees, with the error that was planted."""
        n, n_families = patterns.shape
        column = (patterns + FIRST).astype(np.int32).ravel()
        rows = Rows(n_families * np.arange(n + 1), column, np.ones((n, n_families), np.int64))
        family = np.repeat(np.arange(n_families), [len(share) for share in SHARE])
        corpus = Corpus(rows, np.concatenate(SHARE), family, n_families)
        prior = PartitionPrior("dp", 1.0)
        made = PartitionSampler(
            corpus,
            STRENGTH,
            float(n_families),
            prior,
            starts=None,
            features=np.eye(len(SHARE[0]))[patterns[:, 0]],
            n_split_merge=self.n_split_merge,
            n_shared_out=self.n_split_merge,
        )
        return made if self.change is None else self.change(made)

    def statistics(self, state, patterns):
        """Functions of partition and patterns that notice errors in the moves."""
        label = state.label
        one, two = np.triu_indices(self.n_trees, 1)
        together = label[one] == label[two]
        same = patterns[one] == patterns[two]  # [pair, family]
        size = np.bincount(label)
        value = [len(size), np.log(state.concentration), together.mean(), len(size) == 1, len(size) ** 2]
        value += [*(together[:, None] & same).mean(axis=0), (together & same.all(axis=1)).mean(), size.max()]
        return np.array([*value, (same.any(axis=1) & ~together).mean(), log_marginal(label, patterns)], float)

    def marginal(self, rng, n):
        """Mean and standard error of the statistics under the joint distribution."""
        values = []
        for _ in range(n):
            state = self.partition(rng)
            values.append(self.statistics(state, self.patterns(rng, state)))
        return np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(n)

    def successive(self, rng, n):
        """Mean and standard error, from batches, of the statistics under the sampler."""
        state = self.partition(rng)
        patterns, values = self.patterns(rng, state), []
        for _ in range(n):
            state, _ = self.sampler(patterns).step(rng, state)
            values.append(self.statistics(state, patterns))  # before new trees forgive a partition that ignored them
            patterns = self.patterns(rng, state)
        means = np.array([part.mean(axis=0) for part in np.array_split(np.array(values), 20)])
        return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))

    def largest_z(self, seed, n):
        """How many standard errors the two means are apart, at most."""
        rng = np.random.default_rng(seed)
        mean, error = self.marginal(rng, 2 * n)
        other, other_error = self.successive(rng, n)
        return float(np.max(np.abs(mean - other) / np.sqrt(error**2 + other_error**2)))
