"""Slow, obvious twin of the authors' procedure (Bacciu and Castellana 2019): one node at a time, slot reading.

Arrays of one component are those of `papers.authors.Theta`; a tree is a list of nodes (parent, slot, label),
children first.
"""

import numpy as np

from tests.reference.hidden_tree import children_of


def upward(tree, theta):
    """Beliefs before and after the own label of each node, and log P(tree) with a factor for every absent slot."""
    n_slots, n_states = len(theta.switch), theta.emission.shape[1]
    prior, beta, log_prob = [], [], 0.0
    for u, (_, slot, label) in enumerate(tree):
        present = children_of(tree, u, n_slots)
        if present:
            r = np.zeros(n_states)
            for l in range(n_slots):
                # An absent child is in the state "nothing" for certain, and that costs its probability.
                child = np.append(beta[present[l][0]], 0.0) if l in present else np.eye(n_states + 1)[n_states]
                r += theta.switch[l] * child @ theta.transition[l]
                log_prob += 0.0 if l in present else np.log(theta.leaf[l, n_states])
        else:
            r = theta.leaf[slot if slot >= 0 else n_slots, :n_states]
        joint = r * theta.emission[label]
        prior.append(r)
        beta.append(joint / joint.sum())
        log_prob += np.log(joint.sum())
    return prior, beta, log_prob


def seat_test(rng, log_lik, log_uniform, concentration, n_sweeps):
    """Trees seated among themselves from random seats; those at new components share the number after the last.

    log_lik[tree, component]; a seat weighs its other trees times the likelihood, a new one the concentration times the
    likelihood at uniform parameters, which is also that of those who have sat down at a new one before.
    """
    n_trees, n_known = log_lik.shape
    label = rng.integers(0, n_known, n_trees)
    columns = np.column_stack([log_lik, log_uniform])
    for _ in range(n_sweeps):
        for t in range(n_trees):
            others = np.bincount(np.delete(label, t), minlength=n_known + 1)
            top = columns[t].max()
            weight = np.append(others * np.exp(columns[t] - top), concentration * np.exp(log_uniform[t] - top))
            label[t] = min(np.searchsorted(np.cumsum(weight), rng.random() * weight.sum(), side="right"), n_known)
    return label


def counts(tree, theta):
    """The E-step as programmed: each child, and each transition, given that the switch of the parent points to it."""
    n_slots, n_states = len(theta.switch), theta.emission.shape[1]
    prior, beta, _ = upward(tree, theta)
    leaf, emission, switch, transition = (np.zeros_like(x) for x in theta)
    posterior = {len(tree) - 1: beta[-1]}
    for u in range(len(tree) - 1, -1, -1):
        _, slot, label = tree[u]
        emission[label] += posterior[u]
        present = children_of(tree, u, n_slots)
        if not present:
            leaf[slot if slot >= 0 else n_slots, :n_states] += posterior[u]
            continue
        for l in range(n_slots):
            child = np.append(beta[present[l][0]], 0.0) if l in present else np.eye(n_states + 1)[n_states]
            joint = theta.switch[l] * child[:, None] * theta.transition[l] * posterior[u] / prior[u]  # [child, parent]
            switch[l] += joint.sum()
            given = joint / joint.sum()
            transition[l] += given
            if l in present:
                posterior[present[l][0]] = given.sum(axis=1)[:n_states]
            else:
                leaf[l, n_states] += 1
    return leaf, emission, switch, transition
