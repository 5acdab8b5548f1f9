"""Slow, obvious twins of the top-down hidden tree: enumeration in exact fractions, and passes over shared subtrees.

Parameters come as the public arrays of one component: root_prob[i], transition_prob[l, i, j], emission_prob[i, m],
branching_prob[l] or [l, i].  A tree is a list of nodes (parent, slot, label), children first.
"""

import itertools
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

BUGS = (
    "up for through",
    "transition transposed",
    "scale overwritten",
    "no misses",
    "set for add",
    "no root prior",
    "unseen label counted",
    "no division by the message",
    "misses of leaves only",
    "last slot for all",
    "structure counted once",
)


class Theta(NamedTuple):
    root_prob: np.ndarray
    transition_prob: np.ndarray
    emission_prob: np.ndarray
    branching_prob: np.ndarray | None = None
    pooled: bool = False  # the last slot stands for all later ones


class Expected(NamedTuple):
    """P(tree) and expected counts given the tree; exact fractions from enumeration."""

    prob: Fraction
    node: np.ndarray  # [node, state]
    root: np.ndarray
    transition: np.ndarray
    emission: np.ndarray  # [state, label]
    hits: np.ndarray  # [slot, state]
    misses: np.ndarray
    best: Fraction  # probability of the best joint states


def exact(theta):
    """Parameters as fractions, each the very number that the float is."""
    values = [None if x is None else np.vectorize(Fraction, otypes=[object])(x) for x in theta[:4]]
    return Theta(*values, theta.pooled)


def slots_of(tree, u, n_slots):
    """Number of children of u in each slot, later ones pooled into the last."""
    out = [0] * n_slots
    for parent, slot, _ in tree:
        if parent == u:
            out[min(slot, n_slots - 1)] += 1
    return out


def chance(theta, l, i):
    """Chance of a child in slot l of a node in state i."""
    return theta.branching_prob[l, i] if theta.branching_prob.ndim == 2 else theta.branching_prob[l]


def joint(tree, states, theta):
    """P(tree, states)."""
    n_slots, p = len(theta.transition_prob), Fraction(1)
    for u, (parent, slot, label) in enumerate(tree):
        i = states[u]
        l = min(slot, n_slots - 1)
        p *= theta.root_prob[i] if parent < 0 else theta.transition_prob[l, states[parent], i]
        if label >= 0:
            p *= theta.emission_prob[i, label]
        if theta.branching_prob is not None:
            for l, n in enumerate(slots_of(tree, u, n_slots)):
                p *= chance(theta, l, i) ** n
                if n == 0 or (theta.pooled and l == n_slots - 1):
                    p *= 1 - chance(theta, l, i)
    return p


def enumerate_tree(tree, theta):
    """Sum over every assignment of states."""
    n_slots, n_states, n_labels = len(theta.transition_prob), *theta.emission_prob.shape
    zeros = [np.full(s, Fraction(0)) for s in [(len(tree), n_states), (n_states,), theta.transition_prob.shape]]
    node, root, transition = zeros
    emission, hits, misses = (np.full(s, Fraction(0)) for s in [(n_states, n_labels)] + [(n_slots, n_states)] * 2)
    total = best = Fraction(0)
    for states in itertools.product(range(n_states), repeat=len(tree)):
        p = joint(tree, states, theta)
        total, best = total + p, max(best, p)
        for u, (parent, slot, label) in enumerate(tree):
            i = states[u]
            node[u, i] += p
            if parent < 0:
                root[i] += p
            else:
                transition[min(slot, n_slots - 1), states[parent], i] += p
            if label >= 0:
                emission[i, label] += p
            for l, n in enumerate(slots_of(tree, u, n_slots)):
                hits[l, i] += n * p
                misses[l, i] += p * (n == 0 or (theta.pooled and l == n_slots - 1))
    counts = [x / total if total else x for x in (node, root, transition, emission, hits, misses)]
    return Expected(total, *counts, best)


def shared_passes(trees, theta, bug=None):
    """log P of each tree and summed counts (root, transition, emission, hits, nodes), over shared subtrees.

    The recursions of the note, in plain loops; `bug` plants an error.
    """
    unit, made = {}, []  # (label, slot, children) -> number

    def number(tree, u):
        _, slot, label = tree[u]
        children = sorted((tree[v][1], v) for v in range(len(tree)) if tree[v][0] == u)
        key = (label, min(slot, len(theta.transition_prob) - 1), tuple(number(tree, v) for _, v in children))
        if key not in unit:
            unit[key] = len(made)
            made.append(key)
        return unit[key]

    roots = [number(tree, len(tree) - 1) for tree in trees]
    n_states = len(theta.root_prob)
    edge = theta.transition_prob.transpose(0, 2, 1) if bug == "transition transposed" else theta.transition_prob
    if bug == "last slot for all":
        edge = np.repeat(edge[-1:], len(edge), axis=0)
    up, through, scale = [], [], []
    for label, slot, children in made:
        logs = np.zeros(n_states)
        if label >= 0:
            logs += np.log(theta.emission_prob[:, label])
        elif bug == "unseen label counted":
            logs += np.log(theta.emission_prob[:, -1])
        if theta.branching_prob is not None and bug != "no misses":
            taken = {made[v][1] for v in children}
            for l in range(len(edge)):
                for i in range(n_states):
                    n = sum(made[v][1] == l for v in children)
                    logs[i] += n * np.log(chance(theta, l, i))
                    if l not in taken and not (bug == "misses of leaves only" and children):
                        logs[i] += np.log(1 - chance(theta, l, i))
        for v in children:
            logs += np.log((up if bug == "up for through" else through)[v])
        top = logs.max()
        up.append(np.exp(logs - top))
        below = [scale[v] for v in children]
        scale.append(top + (sum(below[-1:]) if bug == "scale overwritten" else sum(below)))
        through.append(edge[slot] @ up[-1] if slot >= 0 else np.ones(n_states))
    root = np.ones(n_states) if bug == "no root prior" else theta.root_prob
    log_prob = [scale[r] + np.log(root @ up[r]) for r in roots]
    pull = np.zeros((len(made), n_states))
    for r in roots:
        pull[r] += root / (root @ up[r])
    counts = [np.zeros_like(x) for x in (theta.root_prob, theta.transition_prob, theta.emission_prob)]
    hits, nodes = np.zeros((len(edge), n_states)), np.zeros(n_states)
    for d in range(len(made) - 1, -1, -1):
        label, slot, children = made[d]
        if slot < 0:
            posterior = pull[d] * up[d]
            counts[0] += posterior
        else:
            ratio = pull[d] if bug == "no division by the message" else pull[d] / through[d]
            pairs = ratio[:, None] * edge[slot] * up[d]
            counts[1][slot] += pairs
            posterior = pairs.sum(axis=0)
            hits[slot] += pull[d] > 0 if bug == "structure counted once" else pull[d]
        nodes += posterior
        if label >= 0:
            counts[2][:, label] += posterior
        elif bug == "unseen label counted":
            counts[2][:, -1] += posterior
        for v in children:
            pull[v] = posterior if bug == "set for add" else pull[v] + posterior
    return np.array(log_prob), (*counts, hits, nodes)


# ---- parameters integrated out --------------------------------------------------------------------------------------


def log_urn(counts, alpha):
    """Log probability of counts [..., cell] of Dirichlet(alpha) rows, in any fixed order."""
    n = counts.shape[-1]
    total = counts.sum(axis=-1)
    cells = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)
    return float(np.sum(cells + gammaln(n * alpha) - gammaln(n * alpha + total)))


def log_evidence(trees, n_slots, n_states, n_labels, alpha, structure=None, tied=False):
    """Log P(trees of one component), parameters integrated out: a sum over the states of all their nodes."""
    nodes = [(t, u) for t, tree in enumerate(trees) for u in range(len(tree))]
    logs = []
    for states in itertools.product(range(n_states), repeat=len(nodes)):
        of = dict(zip(nodes, states, strict=True))
        root, emission = np.zeros((1, n_states)), np.zeros((n_states, n_labels))
        transition = np.zeros((n_slots, n_states, n_states))
        shape = np.zeros((n_slots, n_states, 2))
        for t, tree in enumerate(trees):
            for u, (parent, slot, label) in enumerate(tree):
                i = of[t, u]
                if parent < 0:
                    root[0, i] += 1
                else:
                    transition[0 if tied else slot, of[t, parent], i] += 1
                if label >= 0:
                    emission[i, label] += 1
                for l, n in enumerate(slots_of(tree, u, n_slots)):
                    shape[l, i if structure == "state" else 0, 0 if n else 1] += 1
        parts = [root, emission, transition] + ([shape] if structure else [])
        logs.append(sum(log_urn(part, alpha) for part in parts))
    top = max(logs)
    return top + np.log(np.exp(np.array(logs) - top).sum())
