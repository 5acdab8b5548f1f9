"""Exact posterior of the partition of a few tiny trees under the Dirichlet-process mixture, by full enumeration.

Parameters are integrated out: given states and switches every distribution is a Dirichlet-multinomial.
"""

import itertools

import numpy as np
from scipy.special import betaln, gammaln

from tests.reference.hidden_tree import children_of


def set_partitions(n):
    """Every partition of 0..n-1 as a tuple of labels, numbered by first appearance."""
    out = [()]
    for _ in range(n):
        out = [(*p, k) for p in out for k in range((max(p) + 1 if p else 0) + 1)]
    return out


def configurations(tree, n_states, n_slots, n_labels, absent):
    """Count vectors (leaf, emission, switch, transition, flattened) of every choice of states and switches."""
    inner = [u for u in range(len(tree)) if children_of(tree, u, n_slots)]
    if absent == "renormalised" and n_slots > 2:
        raise ValueError("switches renormalised over some of three slots or more are not conjugate")
    extra = absent in ("bottom", "slot")
    found = {}
    options = [range(n_slots) if extra else sorted(children_of(tree, u, n_slots)) for u in inner]
    for states in itertools.product(range(n_states), repeat=len(tree)):
        for switches in itertools.product(*options):
            leaf = np.zeros((n_slots + 1, n_states + (absent == "slot")), int)
            emission = np.zeros((n_states, n_labels), int)
            switch = np.zeros(n_slots, int)
            transition = np.zeros((n_slots, n_states + extra, n_states), int)
            for u, (_, slot, label) in enumerate(tree):
                present = children_of(tree, u, n_slots)
                if label >= 0:
                    emission[states[u], label] += 1
                if not present:
                    leaf[slot if slot >= 0 else n_slots, states[u]] += 1
                    continue
                l = switches[inner.index(u)]
                if absent != "renormalised" or len(present) == n_slots:
                    switch[l] += 1  # renormalised over one child, the switch says nothing; between, see below
                transition[l, states[present[l][0]] if l in present else n_states, states[u]] += 1
                if absent == "slot":
                    for missing in set(range(n_slots)) - set(present):
                        leaf[missing, n_states] += 1
            key = tuple(np.concatenate([leaf.ravel(), emission.ravel(), switch, transition.ravel()]))
            found[key] = found.get(key, 0) + 1
    return found


def log_marginal(group, n_states, n_slots, n_labels, absent, alpha, branching):
    """log of the integral of P(trees of the group | parameters) over the prior."""
    total = {(): 1.0}
    for tree in group:
        more = configurations(tree, n_states, n_slots, n_labels, absent)
        joined = {}
        for (a, x), (b, y) in itertools.product(total.items(), more.items()):
            key = tuple(np.add(a, b)) if a else b
            joined[key] = joined.get(key, 0.0) + x * y
        total = joined
    extra = absent in ("bottom", "slot")
    shapes = [
        (n_slots + 1, n_states + (absent == "slot")),
        (n_states, n_labels),
        (1, n_slots),
        (n_slots * (n_states + extra), n_states),
    ]
    logs = []
    for key, multiplicity in total.items():
        at, value = 0, np.log(multiplicity)
        for which, (n_rows, n) in enumerate(shapes):
            rows = np.array(key[at : at + n_rows * n]).reshape(n_rows, n)
            at += n_rows * n
            for r, row in enumerate(rows):
                width = n - 1 if which == 0 and absent == "slot" and r == n_rows - 1 else n  # a root is never absent
                value += gammaln(width * alpha) - gammaln(width * alpha + row.sum())
                value += (gammaln(alpha + row[:width]) - gammaln(alpha)).sum()
        logs.append(value)
    result = np.logaddexp.reduce(logs)
    if branching:  # True, or the two parameters of the Beta prior of each slot
        n_nodes = sum(len(tree) for tree in group)
        betas = [(alpha, alpha)] * n_slots if branching is True else branching
        for l, (a, b) in enumerate(betas):
            k = sum(slot == l for tree in group for _, slot, _ in tree)
            result += betaln(a + k, b + n_nodes - k) - betaln(a, b)
    return result


def partition_posterior(trees, n_states, n_slots, n_labels, absent, alpha, concentration, branching=False):
    """Probability of every set partition, Chinese-restaurant prior times marginal likelihoods."""
    cache = {}
    partitions = set_partitions(len(trees))
    logs = []
    for p in partitions:
        value = 0.0
        for k in range(max(p) + 1):
            members = tuple(t for t in range(len(trees)) if p[t] == k)
            if members not in cache:
                group = [trees[t] for t in members]
                cache[members] = log_marginal(group, n_states, n_slots, n_labels, absent, alpha, branching)
            value += np.log(concentration) + gammaln(len(members)) + cache[members]
        logs.append(value)
    logs = np.array(logs)
    prob = np.exp(logs - np.logaddexp.reduce(logs))
    return dict(zip(partitions, prob, strict=True))
