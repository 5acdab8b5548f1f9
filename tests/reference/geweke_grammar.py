"""Geweke's joint test of the sampler of label chains: partition and trees drawn together, or one given the other.

The marginal draws come from the Chinese restaurant and from plain urns of dictionaries.  The successive ones take
turns: the sampler moves the partition given the trees, and urns draw all trees anew given the partition.
"""

from collections import Counter
from math import lgamma

import numpy as np

import arbora as ab
from arbora.models.grammar import events as ev
from arbora.models.grammar import fitting, infinite
from arbora.models.sampled import Seating

STOP = "<stop>"
WORDS = ("a", "b", "c", "d")
ROOT = {"a": 0.8, "d": 0.5}
# Dirichlet parameters by (parent, sibling before).  Only b has grandchildren, and STOP weighs enough for finite means.
ROWS = {
    ("a", None): {"b": 1.0, "c": 0.6, STOP: 4.0},
    ("a", "b"): {"b": 1.2, "c": 0.4, STOP: 4.0},
    ("a", "c"): {"b": 0.5, "c": 0.9, STOP: 4.0},
    ("d", None): {"b": 0.5, "c": 2.0, STOP: 4.0},
    ("d", "b"): {"c": 1.0, STOP: 4.0},
    ("d", "c"): {"b": 1.0, STOP: 4.0},
    ("b", None): {"c": 0.7, STOP: 3.0},
    ("b", "c"): {STOP: 1.0},
    ("c", None): {STOP: 1.0},
}
CONCENTRATION = (2.0, 1.5)  # shape and rate


def draw(rng, weight):
    """A key of a dictionary in proportion to its weight."""
    edge = np.cumsum(list(weight.values()))
    return list(weight)[np.searchsorted(edge, rng.random() * edge[-1], side="right")]


class Urns:
    """The rows of one group: what was drawn is drawn again with its count."""

    def __init__(self):
        self.count = Counter()

    def next(self, rng, row, prior):
        outcome = draw(rng, {o: a + self.count[row, o] for o, a in prior.items()})
        self.count[row, outcome] += 1
        return outcome

    def tree(self, rng):
        return self.node(rng, self.next(rng, "root", ROOT))

    def node(self, rng, label):
        names, before = [], None
        while (name := self.next(rng, (label, before), ROWS[label, before])) != STOP:
            names.append(name)
            before = name
        return (label, [self.node(rng, name) for name in names])


def log_marginal(groups):
    """log P(trees | partition) of the urns of all groups, by gamma functions."""
    total = 0.0
    for urns in groups:
        in_row = Counter()
        for (row, outcome), n in urns.count.items():
            prior = ROOT if row == "root" else ROWS[row]
            total += lgamma(prior[outcome] + n) - lgamma(prior[outcome])
            in_row[row] += n
        for row, n in in_row.items():
            whole = sum((ROOT if row == "root" else ROWS[row]).values())
            total -= lgamma(whole + n) - lgamma(whole)
    return total


def counted(tree, urns):
    """Add what a given tree draws to the urns of its group."""
    label, children = tree
    before = None
    for child in children:
        urns.count[(label, before), child[0]] += 1
        before = child[0]
        counted(child, urns)
    urns.count[(label, before), STOP] += 1


class Game:
    """A few trees, and a sampler of their partition; `change` plants an error in the sampler."""

    def __init__(self, n_trees=4, n_split_merge=2, change=None):
        self.n_trees, self.change = n_trees, change
        self.settings = infinite.ChainPlan(1.0, CONCENTRATION, 2, n_split_merge)
        self.alphabet = ev.Alphabet(len(WORDS), False)
        number = {name: x for x, name in enumerate(WORDS)} | {STOP: self.alphabet.end, None: self.alphabet.end}
        width = self.alphabet.width
        prior = {self.alphabet.root * width * width + number[o]: a for o, a in ROOT.items()}
        for (parent, before), row in ROWS.items():
            for o, a in row.items():
                prior[(number[parent] * width + number[before]) * width + number[o]] = a
        self.key = np.array(sorted(prior))
        cell = np.array([prior[int(key)] for key in self.key])
        row = np.unique(self.key // width, return_inverse=True)[1]
        self.prior = infinite.CellPrior(cell, np.bincount(row, cell))

    def partition(self, rng):
        """Concentration and partition from the prior."""
        concentration = rng.gamma(CONCENTRATION[0]) / CONCENTRATION[1]
        label = [0]
        for _ in range(self.n_trees - 1):
            size = Counter(label)
            label.append(draw(rng, {**size, len(size): concentration}))
        return Seating(np.array(label), concentration)

    def trees(self, rng, state):
        """Trees given the partition."""
        groups = [Urns() for _ in range(state.label.max() + 1)]
        return [groups[g].tree(rng) for g in state.label]

    def statistics(self, state, trees):
        """Functions of partition and trees that notice errors in the moves."""
        label = state.label
        groups = [Urns() for _ in range(label.max() + 1)]
        for g, tree in zip(label, trees, strict=True):
            groups[g].count["root", tree[0]] += 1
            counted(tree, groups[g])
        n_children = np.array([len(tree[1]) for tree in trees])
        pairs = [(i, j) for i in range(len(trees)) for j in range(i)]
        together = np.array([label[i] == label[j] for i, j in pairs])
        same_root = np.array([trees[i][0] == trees[j][0] for i, j in pairs])
        apart = np.array([min(abs(n_children[i] - n_children[j]), 3) for i, j in pairs])
        value = [len(groups), np.log(state.concentration), together.mean(), same_root.mean()]
        value += [(together & same_root).mean(), (together * apart).mean(), apart.mean(), (len(groups) == 1)]
        return np.array([*value, log_marginal(groups)], float)

    def marginal(self, rng, n):
        """Mean and standard error of the statistics under the joint distribution."""
        values = []
        for _ in range(n):
            state = self.partition(rng)
            values.append(self.statistics(state, self.trees(rng, state)))
        return np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(n)

    def sampler(self, trees):
        """The sampler of these trees, with the error that was planted."""
        forest = ab.Forest.from_nested(trees, vocabulary=WORDS)
        found = fitting.trees_of(forest, self.alphabet, None, self.key)
        bags = infinite.bags_of(found.events, found.data.levels.cell_row, found.tree_row)
        made = infinite.ChainSampler(bags, self.prior, np.zeros(len(trees), np.int64), self.settings)
        return made if self.change is None else self.change(made)

    def successive(self, rng, n):
        """Mean and standard error, from batches, of the statistics under the sampler."""
        state = self.partition(rng)
        trees, values = self.trees(rng, state), []
        for _ in range(n):
            state, _ = self.sampler(trees).step(rng, state)
            values.append(self.statistics(state, trees))  # before new trees forgive a partition that ignored the old
            trees = self.trees(rng, state)
        means = np.array([part.mean(axis=0) for part in np.array_split(np.array(values), 20)])
        return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))

    def largest_z(self, seed, n):
        """How many standard errors the two means are apart, at most."""
        rng = np.random.default_rng(seed)
        mean, error = self.marginal(rng, 4 * n)
        other, other_error = self.successive(rng, n)
        spread = np.sqrt(error**2 + other_error**2)
        return float(np.max(np.abs(mean - other) / spread))
