"""Communities of a weighted graph: nodes moved one by one while modularity rises."""

import numpy as np

from ....jit import jit

MOST_ROUNDS = 100
LEAST_GAIN = 1e-12


@jit
def move_nodes(start, neighbour, weight, degree, resolution, order):
    """Communities from nodes that are alone: rounds of moves, each to the community that gains most, until none gains.

    The graph is symmetric, in rows: edges of node u are start[u] : start[u + 1].  Joining u to community c gains
    weight(u, c) - resolution * degree(u) * degree(c) / total, u left out of c.
    """
    n = degree.shape[0]
    total = degree.sum()
    label = np.arange(n)
    inside = degree.copy()  # [community]: sum of degrees
    link = np.zeros(n)  # [community]: weight of the edges from the node at hand
    for _ in range(MOST_ROUNDS):
        n_moved = 0
        for x in range(n):
            u = order[x]
            own = label[u]
            inside[own] -= degree[u]
            for e in range(start[u], start[u + 1]):
                if neighbour[e] != u:
                    link[label[neighbour[e]]] += weight[e]
            share = resolution * degree[u] / total
            best, gain = own, link[own] - share * inside[own]
            for e in range(start[u], start[u + 1]):
                c = label[neighbour[e]]
                now = link[c] - share * inside[c]
                if now > gain + LEAST_GAIN:
                    best, gain = c, now
            for e in range(start[u], start[u + 1]):
                link[label[neighbour[e]]] = 0.0
            inside[best] += degree[u]
            if best != own:
                label[u] = best
                n_moved += 1
        if n_moved == 0:
            break
    return label
