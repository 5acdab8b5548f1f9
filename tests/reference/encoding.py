"""Encodings of one tree, node by node, from the posteriors of its nodes."""

import numpy as np


def encode(name, tree, node, proba, n_slots, n_labels):
    """Dense vector of a tree: node[k][u] is P(states of u | tree, k), proba[k] is P(k | tree)."""
    n_components, n_states = len(node), len(node[0][0])
    slots = np.zeros((n_components, n_slots + 1, n_states))
    labels = np.zeros((n_components, n_labels, n_states))
    for k in range(n_components):
        for (_, slot, label), state in zip(tree, node[k], strict=True):
            slots[k, min(slot, n_slots - 1) if slot >= 0 else n_slots] += state
            if label >= 0:
                labels[k, label] += state
    if name == "sum":
        return slots.ravel()
    if name == "weighted":
        return np.concatenate([p * slots[k].ravel() for k, p in enumerate(proba)])
    if name == "log":
        return np.log(1.0 + slots).ravel()
    if name == "posterior":
        return np.concatenate([slots.ravel(), proba])
    if name == "score":
        return np.concatenate([np.log(1.0 + slots).ravel(), np.log(1.0 + labels).ravel(), proba])
    raise AssertionError(name)
