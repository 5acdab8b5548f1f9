"""The regulariser: how far rows fall short of the margin between siblings."""

import numpy as np

from ....jit import jit
from .directions import score_of


@jit
def violation(n, x, state, margin):
    """Worst violation of a datum, rho_n: over the levels of its path and the siblings there; 0 without siblings."""
    worst = -np.inf
    for l in range(state.path.shape[1]):
        z = state.path[n, l]
        own = np.nan
        s = state.first_child[state.parent[z]]
        while s >= 0:
            if s != z:
                if np.isnan(own):
                    own = score_of(state.direction[z], x)
                worst = max(worst, margin - own + score_of(state.direction[s], x))
            s = state.next_sibling[s]
    return 0.0 if worst == -np.inf else worst


@jit
def total_hinge(X, state, margin):
    """Sum over the data of max(0, rho_n)."""
    total = 0.0
    for n in range(X.shape[0]):
        total += max(0.0, violation(n, X[n], state, margin))
    return total
