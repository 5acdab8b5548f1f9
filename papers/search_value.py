"""What a hierarchy is worth to somebody who searches a datum in it, after the measure HQS.

Huang et al. 2021 name Hierarchy Quality for Search (Moreno et al. 2017; Huang et al. 2020) as their motive, without its
equations.  Those articles describe a decision process: a searcher goes down a hierarchy to an item, the path is harder
to find where nodes are hard to tell apart, and a good hierarchy saves time.  The numbers of the process are ours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def looks_saved(rows: Any, levels: Any, variance: float = 1.0) -> float:
    """Share of the looks of a plain search that a hierarchy saves, at best, on average over the data.

    A plain search looks at the data one by one, (n + 1) / 2 on average.  In the hierarchy, somebody at a node looks at
    the centroids of its children, where there are several, and goes to each with a probability proportional to the
    density of the wanted datum under a Gaussian about it.  Or he stops, looks through the data of the node, and then
    through all others, if it is not there.  He does not know which datum lies where, so he stops at the same nodes
    whatever he wants: those that take the fewest looks, by dynamic programming.
    """
    rows = np.asarray(rows, np.float64)
    below, parents, reached = _descents(rows, np.asarray(levels), variance)
    n, best = len(rows), np.empty(0)
    for depth in reversed(range(len(below))):
        sizes = below[depth].sum(axis=0)
        inside = 0.5 * (sizes + 1.0)
        outside = sizes + 0.5 * (n - sizes + 1.0)
        stop = (reached[depth] * np.where(below[depth], inside, outside)).sum(axis=0)
        if depth + 1 == len(below):
            best = stop
            continue
        children = np.bincount(parents[depth + 1], minlength=len(sizes))
        choose = np.where(children > 1, children, 0) * reached[depth].sum(axis=0)
        best = np.minimum(stop, choose + np.bincount(parents[depth + 1], best, minlength=len(sizes)))
    return float(1.0 - best[0] / (0.5 * n * (n + 1.0)))


def _descents(rows: Floats, levels: Ints, variance: float) -> tuple[list[Any], list[Ints], list[Floats]]:
    """By depth from the root: data of each node, its parent, and with which probability it is reached for a datum."""
    n = len(rows)
    below, parents, reached = [np.ones((n, 1), bool)], [np.zeros(1, np.int64)], [np.ones((n, 1))]
    above = np.zeros(n, np.int64)
    for level in levels:
        _, first, group = np.unique(np.column_stack([above, level]), axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        member = group[:, None] == np.arange(len(first))
        centre = member.T @ rows / member.sum(axis=0)[:, None]
        parent = above[first]
        score = -0.5 * ((rows[:, None] - centre[None]) ** 2).sum(axis=2) / variance  # [datum, node]
        highest = np.full((n, len(below[-1][0])), -np.inf)
        np.maximum.at(highest.T, parent, score.T)
        weight = np.exp(score - highest[:, parent])
        total = np.zeros_like(highest)
        np.add.at(total.T, parent, weight.T)
        reached.append(reached[-1][:, parent] * weight / total[:, parent])
        below.append(member)
        parents.append(parent)
        above = group
    return below, parents, reached
