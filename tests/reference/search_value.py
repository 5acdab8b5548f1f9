"""A search for a datum in a hierarchy, every way of stopping and every path written out."""

import math
from itertools import product


def subtree(levels, depth, data):
    """Data of a node and the nodes below it."""
    if depth == len(levels):
        return data, []
    labels = sorted({levels[depth][x] for x in data})
    return data, [subtree(levels, depth + 1, [x for x in data if levels[depth][x] == label]) for label in labels]


def policies(node):
    """Every choice of nodes at which a searcher stops: None, or a policy for each child."""
    yield None
    _, children = node
    if children:
        yield from product(*(list(policies(child)) for child in children))


def looks_through(data, n, wanted):
    """Mean number of data looked at, the node's first, each part in random order."""
    if wanted in data:
        return sum(range(1, len(data) + 1)) / len(data)
    others = n - len(data)
    return len(data) + sum(range(1, others + 1)) / others


def looks(node, policy, rows, wanted, variance):
    """Mean number of centroids and data looked at, from a node on."""
    data, children = node
    if policy is None:
        return looks_through(data, len(rows), wanted)
    density = []
    for inside, _ in children:
        centre = [sum(rows[x][k] for x in inside) / len(inside) for k in range(len(rows[0]))]
        density.append(math.exp(-0.5 * math.dist(rows[wanted], centre) ** 2 / variance))
    total = len(children) if len(children) > 1 else 0
    for child, further, weight in zip(children, policy, density, strict=True):
        total += weight / sum(density) * looks(child, further, rows, wanted, variance)
    return total


def looks_saved(rows, levels, variance=1.0):
    """Share of the looks of a plain search that the best policy saves."""
    n = len(rows)
    root = subtree(levels, 0, list(range(n)))
    means = [sum(looks(root, policy, rows, x, variance) for x in range(n)) / n for policy in policies(root)]
    return 1.0 - min(means) / ((n + 1) / 2)
