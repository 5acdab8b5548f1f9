"""Places of points on a plane, drawn together along the edges of a graph and apart from points drawn at random."""

import numpy as np
from numpy.typing import NDArray

from ...jit import inlined, jit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPREAD, POWER = 1.577, 0.895  # of 1 / (1 + SPREAD d^(2 POWER)), the curve of McInnes et al. 2018 for min_dist = 0.1
MOST_STEP = 4.0
N_APART = 5  # points that each step along an edge moves its point away from


@inlined
def _next(state):
    """A whole number of 31 bits, and the state after it (a linear congruential generator of 64 bits)."""
    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return state, np.int64(state >> np.uint64(33))


@inlined
def _cut(value):
    return min(max(value, -MOST_STEP), MOST_STEP)


@jit
def settle(place: Floats, head: Ints, tail: Ints, every: Floats, n_epochs: int, seed: int) -> None:
    """Move all points, in place: edge e is followed once in `every[e]` epochs, with steps that shrink to nothing."""
    n = len(place)
    state = np.uint64(seed) * np.uint64(2) + np.uint64(1)
    due = every.copy()
    for epoch in range(n_epochs):
        rate = 1.0 - epoch / n_epochs
        for e in range(len(head)):
            if due[e] > epoch + 1:
                continue
            due[e] += every[e]
            i, j = head[e], tail[e]
            dx, dy = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1]
            d2 = dx * dx + dy * dy
            if d2 > 0.0:
                power = d2**POWER
                pull = -2.0 * SPREAD * POWER * power / d2 / (1.0 + SPREAD * power)
                sx, sy = _cut(pull * dx) * rate, _cut(pull * dy) * rate
                place[i, 0] += sx
                place[i, 1] += sy
                place[j, 0] -= sx
                place[j, 1] -= sy
            for _ in range(N_APART):
                state, drawn = _next(state)
                k = drawn % n
                if k == i:
                    continue
                dx, dy = place[i, 0] - place[k, 0], place[i, 1] - place[k, 1]
                d2 = dx * dx + dy * dy
                push = 2.0 * POWER / ((0.001 + d2) * (1.0 + SPREAD * d2**POWER))
                if d2 > 0.0:
                    place[i, 0] += _cut(push * dx) * rate
                    place[i, 1] += _cut(push * dy) * rate
                else:
                    place[i, 0] += MOST_STEP * rate
