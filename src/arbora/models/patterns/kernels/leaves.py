"""Leaves below each node."""

import numpy as np

from ....jit import jit


@jit
def count_leaves(parent):
    """Number of leaves of the subtree of each node; children precede parents."""
    n_leaves = np.zeros(len(parent), np.int64)
    for u in range(len(parent)):
        if n_leaves[u] == 0:
            n_leaves[u] = 1
        if parent[u] >= 0:
            n_leaves[parent[u]] += n_leaves[u]
    return n_leaves
