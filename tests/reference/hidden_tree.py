"""Slow, obvious twins of the hidden tree model: full enumeration, and one node at a time.

Parameters come as the public arrays of one component: leaf_prob[l, i], emission_prob[i, m], switch_prob[l],
transition_prob[l, j, i], branching_prob[l].  A tree is a list of nodes (parent, slot, label), children first.
"""

import itertools
from typing import NamedTuple

import numpy as np


class Theta(NamedTuple):
    leaf_prob: np.ndarray
    emission_prob: np.ndarray
    switch_prob: np.ndarray
    transition_prob: np.ndarray
    branching_prob: np.ndarray | None
    absent: str
    pooled: bool = False  # the last slot stands for all later ones


class Expected(NamedTuple):
    """log P(tree) and expected counts given the tree."""

    log_prob: float
    node: np.ndarray  # [node, state]
    leaf: np.ndarray
    emission: np.ndarray  # [state, label]
    switch: np.ndarray
    transition: np.ndarray


def nodes_of(forest, t):
    lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
    return [
        (int(forest.parent[u] - lo) if forest.parent[u] >= 0 else -1, int(forest.slot[u]), int(forest.label[u]))
        for u in range(lo, hi)
    ]


def children_of(tree, u, n_slots):
    """Slot -> list of children; slots from n_slots - 1 on are pooled into the last."""
    out = {}
    for v, (parent, slot, _) in enumerate(tree):
        if parent == u:
            out.setdefault(min(slot, n_slots - 1), []).append(v)
    return out


def switch_weight(theta, present):
    """Probability of each slot to decide at a node with these occupied slots."""
    phi = theta.switch_prob.copy()
    if theta.absent in ("literal", "renormalised"):
        mask = np.isin(np.arange(len(phi)), list(present))
        phi = np.where(mask, phi, 0.0)
        if theta.absent == "renormalised":
            phi = phi / phi.sum() if phi.sum() > 0 else mask / mask.sum()
    return phi


def structure_log_prob(tree, theta):
    """Log of the factors that depend on the shape alone."""
    n_slots = len(theta.switch_prob)
    total = 0.0
    with np.errstate(divide="ignore"):
        for u in range(len(tree)):
            present = children_of(tree, u, n_slots)
            for slot in range(n_slots):
                n_here = len(present.get(slot, []))
                if theta.absent == "slot" and present and not n_here:
                    total += np.log(theta.leaf_prob[slot, -1])
                if theta.branching_prob is not None:
                    rho = theta.branching_prob[slot]
                    total += n_here * np.log(rho) if n_here else 0.0
                    if not n_here or (theta.pooled and slot == n_slots - 1):
                        total += np.log(1 - rho)
    return total


def enumerate_tree(tree, theta):
    """Sum over every assignment of states; given the states, switches are independent and summed node by node."""
    n_slots, n_states = len(theta.switch_prob), theta.emission_prob.shape[0]
    n_labels = theta.emission_prob.shape[1]
    states = np.array(list(itertools.product(range(n_states), repeat=len(tree))))  # [assignment, node]
    prob = np.ones(len(states))
    terms = []  # (node, slot, child state of each assignment, weight of each assignment)
    for u, (_, slot, label) in enumerate(tree):
        q = states[:, u]
        if label >= 0:
            prob *= theta.emission_prob[q, label]
        present = children_of(tree, u, n_slots)
        if not present:
            prob *= theta.leaf_prob[min(slot, n_slots - 1) if slot >= 0 else n_slots, q]
            continue
        phi = switch_weight(theta, present)
        options = []
        for l in range(n_slots):
            for v in present.get(l, []):
                weight = phi[l] / len(present[l]) * theta.transition_prob[l, states[:, v], q]
                options.append((u, l, states[:, v], weight))
            if l not in present and theta.absent in ("bottom", "slot"):
                absent = np.full(len(states), n_states)
                options.append((u, l, absent, phi[l] * theta.transition_prob[l, n_states, q]))
        total = sum(option[3] for option in options)
        prob *= total
        terms += [(u, l, j, np.divide(w, total, out=np.zeros_like(w), where=total > 0)) for u, l, j, w in options]
    evidence = prob.sum()
    post = prob / evidence if evidence > 0 else prob
    node = np.stack([np.bincount(states[:, u], post, n_states) for u in range(len(tree))])
    transition = np.zeros(theta.transition_prob.shape)
    for u, l, j, share in terms:
        np.add.at(transition, (l, j, states[:, u]), post * share)
    leaf = np.zeros(theta.leaf_prob.shape)
    emission = np.zeros((n_states, n_labels))
    for u, (_, slot, label) in enumerate(tree):
        if not children_of(tree, u, n_slots):
            leaf[min(slot, n_slots - 1) if slot >= 0 else n_slots, :n_states] += node[u]
        elif theta.absent == "slot":
            for l in set(range(n_slots)) - set(children_of(tree, u, n_slots)):
                leaf[l, n_states] += 1
        if label >= 0:
            emission[:, label] += node[u]
    with np.errstate(divide="ignore"):
        log_prob = np.log(evidence) + structure_log_prob(tree, theta)
    return Expected(log_prob, node, leaf, emission, transition.sum(axis=(1, 2)), transition)


def upward_downward(tree, theta, leaky=False):
    """The recursions of the note, node by node; `leaky` plants the error of Eq. (4) of Bacciu and Castellana 2018."""
    n_slots, n_states = len(theta.switch_prob), theta.emission_prob.shape[0]
    n_labels = theta.emission_prob.shape[1]
    prior, beta, log_prob = [], [], structure_log_prob(tree, theta)
    for u, (_, slot, label) in enumerate(tree):
        present = children_of(tree, u, n_slots)
        if present:
            r = np.zeros(n_states)
            phi = switch_weight(theta, present)
            for l in range(n_slots):
                for v in present.get(l, []):
                    r += phi[l] / len(present[l]) * (theta.transition_prob[l, :n_states].T @ beta[v])
                if l not in present and theta.absent in ("bottom", "slot"):
                    r += phi[l] * theta.transition_prob[l, n_states]
        else:
            r = theta.leaf_prob[min(slot, n_slots - 1) if slot >= 0 else n_slots, :n_states].copy()
        b = theta.emission_prob[:, label] if label >= 0 else np.ones(n_states)
        z = (b * r).sum()
        prior.append(r)
        beta.append(b * r / z if z > 0 else np.zeros(n_states))
        with np.errstate(divide="ignore"):
            log_prob += np.log(z)
    eps = [None] * len(tree)
    eps[-1] = beta[-1]
    leaf, emission = np.zeros(theta.leaf_prob.shape), np.zeros((n_states, n_labels))
    transition = np.zeros(theta.transition_prob.shape)
    for u in range(len(tree) - 1, -1, -1):
        _, slot, label = tree[u]
        present = children_of(tree, u, n_slots)
        if label >= 0:
            emission[:, label] += eps[u]
        if not present:
            leaf[min(slot, n_slots - 1) if slot >= 0 else n_slots, :n_states] += eps[u]
            continue
        phi = switch_weight(theta, present)
        ratio = np.divide(eps[u], prior[u], out=np.zeros(n_states), where=prior[u] > 0)
        for l in range(n_slots):
            for v in present.get(l, []):
                xi = phi[l] / len(present[l]) * theta.transition_prob[l, :n_states] * beta[v][:, None] * ratio
                transition[l, :n_states] += xi
                eps[v] = xi.sum(axis=1) + (0.0 if leaky else (1 - xi.sum()) * beta[v])
            if l not in present and theta.absent in ("bottom", "slot"):
                transition[l, n_states] += phi[l] * theta.transition_prob[l, n_states] * ratio
            if l not in present and theta.absent == "slot":
                leaf[l, n_states] += 1
    return Expected(log_prob, np.stack(eps), leaf, emission, transition.sum(axis=(1, 2)), transition)


def best_assignment(tree, theta):
    """Most probable joint states and switches by trying all: its log probability, given the shape."""
    n_slots, n_states = len(theta.switch_prob), theta.emission_prob.shape[0]
    best, best_states = -1.0, None
    for states in itertools.product(range(n_states), repeat=len(tree)):
        p = joint_with_best_switches(tree, theta, states, n_slots, n_states)
        if p > best:
            best, best_states = p, states
    return best, best_states


def joint_with_best_switches(tree, theta, states, n_slots, n_states):
    """P(labels, states, best switches)."""
    p = 1.0
    for u, (_, slot, label) in enumerate(tree):
        if label >= 0:
            p *= theta.emission_prob[states[u], label]
        present = children_of(tree, u, n_slots)
        if not present:
            p *= theta.leaf_prob[min(slot, n_slots - 1) if slot >= 0 else n_slots, states[u]]
            continue
        phi = switch_weight(theta, present)
        options = []
        for l in range(n_slots):
            for v in present.get(l, []):
                share = phi[l] / len(present[l])
                options.append(share * theta.transition_prob[l, states[v], states[u]])
            if l not in present and theta.absent in ("bottom", "slot"):
                options.append(phi[l] * theta.transition_prob[l, n_states, states[u]])
        p *= max(options)
    return p


def normalise(counts, alpha):
    """Posterior mode along the last axis; uniform where there is nothing."""
    x = counts + (alpha - 1)
    total = x.sum(axis=-1, keepdims=True)
    return np.where(total > 0, x / np.where(total > 0, total, 1), 1 / x.shape[-1])


def em(trees, theta, n_iter, leaky=False):
    """Log-likelihood of the single model before each of n_iter maximum-likelihood steps."""
    history = []
    for _ in range(n_iter):
        parts = [upward_downward(tree, theta, leaky) for tree in trees]
        history.append(sum(part.log_prob for part in parts))
        leaf, emission, switch, transition = (
            normalise(sum(getattr(part, name) for part in parts), 1.0)
            for name in ("leaf", "emission", "switch", "transition")
        )
        theta = theta._replace(leaf_prob=leaf, emission_prob=emission, switch_prob=switch, transition_prob=transition)
    return np.array(history)


def subtree_of(tree, top):
    """The node and all below it; children come first, so one descending look is enough."""
    inside = {top}
    for u in range(top - 1, -1, -1):
        if tree[u][0] in inside:
            inside.add(u)
    return inside


def surprise(tree, thetas, weight):
    """-log P(labels of the subtree | the rest) of every node: the whole tree against itself without these labels."""

    def log_prob(labelled):
        each = [enumerate_tree(labelled, theta).log_prob for theta in thetas]
        return np.logaddexp.reduce(np.array(each) + np.log(weight))

    out = []
    for top in range(len(tree)):
        inside = subtree_of(tree, top)
        rest = [(a, b, -1 if u in inside else m) for u, (a, b, m) in enumerate(tree)]
        out.append(log_prob(rest) - log_prob(tree))
    return out
