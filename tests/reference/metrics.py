"""Slow, obvious twins of arbora.evaluate.metrics: dense arrays and plain loops, written from the formulas."""

import numpy as np


def representative_matrix(nested, n_slots, vocabulary):
    """R[l, m]: nodes in slot l with label m; the root is in row n_slots; unknown labels do not count."""
    matrix = np.zeros((n_slots + 1, len(vocabulary)))
    todo = [(nested, n_slots)]
    while todo:
        node, slot = todo.pop()
        if node["label"] is not None:
            matrix[slot, vocabulary.index(node["label"])] += 1
        due = 0
        for child in node.get("children", []):
            due = child.get("slot", due)
            todo.append((child, due))
            due += 1
    return matrix


def ruzicka(r, s):
    """1 - sum min / sum max of two count arrays; 0 when both are empty."""
    largest = np.maximum(r, s).sum()
    return 0.0 if largest == 0 else 1.0 - np.minimum(r, s).sum() / largest


def distances(a, b):
    return np.array([[ruzicka(r, s) for s in b] for r in a]).reshape(len(a), len(b))


def silhouette(distance, labels, convention):
    """Silhouette of each datum, one mean at a time."""
    labels = np.asarray(labels)
    scores = []
    for i, own in enumerate(labels):
        mates = np.flatnonzero(labels == own)
        if convention == "sklearn":
            mates = mates[mates != i]
            if len(mates) == 0:
                scores.append(0.0)
                continue
        a = distance[i, mates].mean()
        b = min(distance[i, labels == other].mean() for other in set(labels.tolist()) - {own})
        scores.append(0.0 if max(a, b) == 0 else (b - a) / max(a, b))
    return np.array(scores)


def cluster_similarity(distance, labels):
    """Mean of 1 - d over all pairs of two clusters, a datum with itself included."""
    names = sorted(set(labels))
    member = [np.flatnonzero(np.asarray(labels) == name) for name in names]
    return np.array([[1.0 - distance[np.ix_(p, q)].mean() for q in member] for p in member])
