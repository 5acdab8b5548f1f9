"""Units in layers: an order in which neighbours do not wait for each other."""

import numpy as np

from ...jit import jit


@jit
def layered_order(child_start, child, window):
    """Units by height within runs of `window` of them; children still precede parents.

    A processor works on several units at once if none needs the message of the one before it, as along a chain.
    """
    n_units = child_start.shape[0] - 1
    order = np.empty(n_units, np.int64)
    height = np.empty(window, np.int64)  # above the units of earlier runs
    for first in range(0, n_units, window):
        end = min(first + window, n_units)
        count = np.zeros(window + 1, np.int64)  # of lower units
        for d in range(first, end):
            h = 0
            for e in range(child_start[d], child_start[d + 1]):
                if child[e] >= first:
                    h = max(h, height[child[e] - first] + 1)
            height[d - first] = h
            count[h + 1] += 1
        for h in range(window):
            count[h + 1] += count[h]
        for d in range(first, end):
            h = height[d - first]
            order[first + count[h]] = d
            count[h] += 1
    return order
