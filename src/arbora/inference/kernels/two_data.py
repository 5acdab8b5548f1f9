"""The two data that a proposal to split or to merge groups begins with."""

import numpy as np

from ...jit import jit


@jit
def choose_two(rng, label):
    """Two data, and the other members of their groups in random order."""
    n = label.shape[0]
    first = rng.integers(0, n)
    second = rng.integers(0, n - 1)
    second += second >= first
    others = np.empty(n, np.int64)
    n_others = 0
    for t in range(n):
        if t not in (first, second) and label[t] in (label[first], label[second]):
            others[n_others] = t
            n_others += 1
    others = others[:n_others].copy()
    for x in range(n_others - 1, 0, -1):
        y = rng.integers(0, x + 1)
        others[x], others[y] = others[y], others[x]
    return first, second, others
