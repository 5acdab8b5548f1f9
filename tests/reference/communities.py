"""Slow twins of the communities of a graph: sums over all pairs of nodes, by the definition of modularity."""

import numpy as np


def modularity(graph, label, resolution):
    """Sum over pairs in one community of weight - resolution * degree * degree / total, divided by the total."""
    degree = graph.sum(axis=1)
    total = degree.sum()
    value = 0.0
    for u in range(len(graph)):
        for v in range(len(graph)):
            if label[u] == label[v]:
                value += graph[u, v] - resolution * degree[u] * degree[v] / total
    return value / total


def move_nodes(graph, resolution, order):
    """Rounds of moves of single nodes, each to the community of a neighbour that raises modularity most."""
    label = np.arange(len(graph))
    moved = True
    while moved:
        moved = False
        for u in order:
            best, top = label[u], modularity(graph, label, resolution)
            for v in np.flatnonzero(graph[u]):
                other = label.copy()
                other[u] = label[v]
                value = modularity(graph, other, resolution)
                if value > top + 1e-12:
                    best, top = label[v], value
            moved = moved or best != label[u]
            label[u] = best
    return label


def neighbour_graph(rows, k):
    """Half the cosine for each end that has the other among its k nearest; nothing below zero."""
    n = len(rows)
    graph = np.zeros((n, n))
    for u in range(n):
        cosine = rows @ rows[u]
        cosine[u] = -np.inf
        for v in np.argsort(-cosine)[:k]:
            graph[u, v] += 0.5 * max(cosine[v], 0.0)
            graph[v, u] += 0.5 * max(cosine[v], 0.0)
    return graph
