"""Splits and merges of bags, slow and obvious: the random numbers of the kernel, in its order, and sums from scratch.

`without` names a term to leave out, a bug that tests must find: "pair", the chances of the pair; "names", the number of
ways to name states; "match", the chance of their correspondence; "scan", that of the restricted scan.
"""

from itertools import product

import numpy as np
from scipy.special import gammaln


class Twin:
    """Bags as rows of counts [datum, cell]; counts of states are renumbered as arrays of their shapes."""

    def __init__(self, counts, table, layout, log_concentration, n_scans, without=""):
        self.counts, self.table, self.layout = counts.astype(float), table, layout
        self.log_concentration, self.n_scans, self.without = log_concentration, n_scans, without

    def log_marginal(self, members):
        """log P(all bags of a group), parameters integrated out."""
        total = self.counts[sorted(members)].sum(axis=0)
        rows = np.bincount(self.table.row, total, len(self.table.row_prior))
        used, some = total > 0, rows > 0
        value = (gammaln(self.table.prior + total) - gammaln(self.table.prior))[used].sum()
        prior = self.table.row_prior
        return float(value - (gammaln(prior + rows) - gammaln(prior))[some].sum())

    def log_group(self, members):
        return float(gammaln(len(members))) + self.log_marginal(members)

    def scan(self, rng, sides, others, told=None):
        """Each of the others drawn to a side given all; the chance of what was drawn, or told."""
        sides, log_q = [set(side) for side in sides], 0.0
        for t in others:
            sides = [side - {t} for side in sides]
            gain = [self.log_group(side | {t}) - self.log_group(side) for side in sides]
            log_0 = -np.logaddexp(0.0, gain[1] - gain[0])
            log_1 = -np.logaddexp(0.0, gain[0] - gain[1])
            if told is None:
                side = 0 if np.log(1.0 - rng.random()) < log_0 else 1
            else:
                side = told[t]
            log_q += log_1 if side else log_0
            sides[side].add(t)
        return sides, log_q

    def match(self, rng, one, two):
        """A correspondence of states, drawn if there is a generator, else each with its own; log of its chance."""
        n, at = self.layout.n_states, self.layout
        words = slice(at.emission, at.switch)
        first, second = (self.counts[sorted(side)].sum(axis=0)[words].reshape(-1, n) for side in (one, two))
        rows = self.table.row[words].reshape(-1, n)
        prior = self.table.prior[words].reshape(-1, n)
        free, found, log_q = list(range(n)), [], 0.0
        for i in range(n):
            gain = [self._gain(first[:, i], second[:, j], prior[:, i], rows[:, i]) for j in free]
            log_p = np.array(gain) - np.logaddexp.reduce(gain)
            if rng is None:
                x = free.index(i)
            else:
                x = min(int(np.searchsorted(np.cumsum(np.exp(log_p)), rng.random(), "right")), len(free) - 1)
            log_q += log_p[x]
            found.append(free.pop(x))
        return found, log_q

    def _gain(self, a, b, prior, rows):
        """Gain from pooling two columns of words."""
        value = 0.0
        for row in set(rows.tolist()):
            some = rows == row
            parts = [self._row(x[some], prior[some], self.table.row_prior[row]) for x in (a + b, a, b)]
            value += parts[0] - parts[1] - parts[2]
        return value

    def _row(self, counts, prior, total):
        return (gammaln(prior + counts) - gammaln(prior)).sum() - gammaln(total + counts.sum()) + gammaln(total)

    def renumber(self, members, found):
        """Call state found[i] of these data i."""
        at, n = self.layout, self.layout.n_states
        for t in members:
            old = self.counts[t].copy()
            for c, k in product(range(at.emission, at.switch, n), range(n)):
                self.counts[t, c + k] = old[c + found[k]]
            for c, k in product(range(at.leaf, at.emission, at.leaf_width), range(n)):
                self.counts[t, c + k] = old[c + found[k]]
            if at.transition < at.shape:
                shape = (-1, at.n_pairs, n)
                new = old[at.transition : at.shape].reshape(shape)[:, :, found]
                children = [*found, *range(n, at.n_pairs)]
                self.counts[t, at.transition : at.shape] = new[:, children].reshape(-1)

    def ratio(self, one, two, log_q, log_match):
        """log of the chance to go from one group to these two, over that to come back."""
        value = self.log_concentration + self.log_group(one) + self.log_group(two) - self.log_group(one | two)
        if self.without != "scan":
            value -= log_q
        if self.without != "match":
            value += log_match
        if self.without != "names":
            value += float(gammaln(self.layout.n_states + 1))
        if self.without != "pair":
            value += np.log(len(one) + len(two) - 1) - np.log(len(self.counts) - len(one))
        return value

    def move(self, rng, label):
        """What came of one proposal (0: nothing, 1: a split, 2: a merger), and the labels after it."""
        label, n = np.array(label), len(label)
        first = int(rng.integers(0, n))
        together = rng.random() < 0.5
        fit = [t for t in range(n) if t != first and (label[t] == label[first]) == together]
        if not fit:
            return 0, label
        second = fit[int(rng.integers(0, len(fit)))]
        one, two = (set(np.flatnonzero(label == label[x]).tolist()) for x in (first, second))
        log_u = np.log(1.0 - rng.random())
        log_match = 0.0
        if not together:
            found, log_match = self.match(rng, one, two)
            self.renumber(two, found)
        others = sorted((one | two) - {first, second})
        for x in range(len(others) - 1, 0, -1):
            y = int(rng.integers(0, x + 1))
            others[x], others[y] = others[y], others[x]
        sides = [{first}, {second}]
        for _ in range(self.n_scans):
            sides, _ = self.scan(rng, sides, others)
        told = None if together else {t: int(t in two) for t in others}
        sides, log_q = self.scan(rng, sides, others, told)
        if together:
            _, log_match = self.match(None, *sides)
            if log_u < self.ratio(*sides, log_q, log_match):
                label[sorted(sides[1])] = label.max() + 1
                return 1, label
        elif log_u < -self.ratio(one, two, log_q, log_match):
            label[sorted(two)] = label[first]
            return 2, label
        return 0, label
