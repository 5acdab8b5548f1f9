"""Moves of pairs of groups, slow and obvious: the random numbers of the kernel, in its order, and sums from scratch."""

from collections import Counter
from math import exp, inf, lgamma, log, log1p

import numpy as np


def log_marginal(trees, rows, alpha, family, strength):
    """log M of some trees, unweighted."""
    count = Counter(j for n in trees for j in rows[n])
    out = sum(lgamma(alpha[j] + c) - lgamma(alpha[j]) for j, c in count.items())
    for f, s in enumerate(strength):
        out += lgamma(s) - lgamma(s + sum(c for j, c in count.items() if family[j] == f))
    return out


class Twin:
    """A Dirichlet process with concentration a; rows are lists of patterns."""

    def __init__(self, rows, alpha, family, strength, weight, a):
        self.rows, self.alpha, self.family, self.strength = rows, alpha, family, strength
        self.weight, self.a = weight, a

    def log_group(self, trees):
        return lgamma(len(trees)) + self.weight * log_marginal(trees, self.rows, self.alpha, self.family, self.strength)

    def split_value(self, one, two):
        return log(self.a) + self.log_group(one) + self.log_group(two) - self.log_group(one | two)

    def gain(self, n, sides):
        """Log odds of the second side for a tree that is in neither."""
        return sum((2 * s - 1) * (self.log_group(sides[s] | {n}) - self.log_group(sides[s])) for s in (0, 1))

    def scan(self, rng, sides, others, wanted=None):
        sides, log_q = [set(side) for side in sides], 0.0
        for n in others:
            sides = [side - {n} for side in sides]
            gain = self.gain(n, sides)
            side = wanted[n] if wanted is not None else int(rng.random() < 1.0 / (1.0 + exp(-gain)))
            log_q -= log1p(exp(-gain if side else gain))
            sides[side].add(n)
        return sides, log_q

    def move(self, rng, label, features, anew):
        """The label of each tree after one move."""
        label, n = list(label), len(label)
        first = int(rng.integers(0, n))
        second, nearest = -1, -inf
        for _ in range(1 << int(rng.integers(0, 8))):
            other = int(rng.integers(0, n - 1))
            other += other >= first
            if features[first] @ features[other] > nearest:
                second, nearest = other, features[first] @ features[other]
        one, two = ({t for t in range(n) if label[t] == label[x]} for x in (first, second))
        splitting = label[first] == label[second]
        if anew and splitting:
            return label
        log_u = log(1.0 - rng.random())
        now = 0.0 if splitting else self.split_value(one, two)
        if not splitting and not anew and log_u >= -now:
            return label
        others = [t for t in range(n) if t in one | two and t not in (first, second)]
        for x in range(len(others) - 1, 0, -1):
            y = int(rng.integers(0, x + 1))
            others[x], others[y] = others[y], others[x]
        launch = [{first}, {second}]
        for t in others:
            launch[int(rng.random() < 1.0 / (1.0 + exp(-self.gain(t, launch))))].add(t)
        log_back = 0.0
        if not splitting:
            log_back = self.scan(rng, launch, others, {t: int(t in two) for t in others})[1]
            if not anew:
                return [label[first] if t in two else label[t] for t in range(n)] if log_u < log_back - now else label
        sides, log_there = self.scan(rng, launch, others)
        if log_u >= self.split_value(*sides) - now - log_there + log_back:
            return label
        name = max(label) + 1 if splitting else label[second]
        return [name if t in sides[1] else label[first] if t in sides[0] else label[t] for t in range(n)]


def same_partition(one, two):
    """Whether two labelings are one partition."""
    a, b = np.asarray(one), np.asarray(two)
    return bool(((a[:, None] == a) == (b[:, None] == b)).all())
