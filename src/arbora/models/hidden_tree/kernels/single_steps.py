"""Steps of the passes for a single component: products with a matrix of a slot, four of its rows at a time.

A row of the result is then read and written a fourth as often.
"""

import numpy as np

from ....jit import inlined, jit


@inlined
def send(edge, l, up, d, through_out):
    """through[d, i] = sum_j edge[l, j, i] up[d, j]: what unit d in slot l says of the state of its parent."""
    n_states = up.shape[1]
    by_four = n_states - n_states % 4
    for i in range(n_states):
        through_out[d, i] = 0.0
    for j in range(0, by_four, 4):
        a, b, c, e = up[d, j], up[d, j + 1], up[d, j + 2], up[d, j + 3]
        for i in range(n_states):
            ab = edge[l, j, i] * a + edge[l, j + 1, i] * b
            through_out[d, i] += ab + (edge[l, j + 2, i] * c + edge[l, j + 3, i] * e)
    for j in range(by_four, n_states):
        a = up[d, j]
        for i in range(n_states):
            through_out[d, i] += edge[l, j, i] * a


@jit
def turn(edge, n_states):
    """Edges as [slot, parent, child]: sums over parents in loops over children."""
    turned = np.empty((edge.shape[0], n_states, n_states))
    for l in range(edge.shape[0]):
        for i in range(n_states):
            for j in range(n_states):
                turned[l, i, j] = edge[l, j, i]
    return turned


@inlined
def pull_down(turned, l, pull, d, outside_out):
    """outside[j] = sum_i turned[l, i, j] pull[d, i]: what the parents of unit d say of its state."""
    n_states = pull.shape[1]
    by_four = n_states - n_states % 4
    for j in range(n_states):
        outside_out[j] = 0.0
    for i in range(0, by_four, 4):
        a, b, c, e = pull[d, i], pull[d, i + 1], pull[d, i + 2], pull[d, i + 3]
        for j in range(n_states):
            ab = turned[l, i, j] * a + turned[l, i + 1, j] * b
            outside_out[j] += ab + (turned[l, i + 2, j] * c + turned[l, i + 3, j] * e)
    for i in range(by_four, n_states):
        a = pull[d, i]
        for j in range(n_states):
            outside_out[j] += turned[l, i, j] * a
