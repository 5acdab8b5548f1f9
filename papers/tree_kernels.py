"""Kernels on trees as explicit features, to compare with: Weisfeiler-Lehman and ordered decomposition DAGs.

Exact, by dictionaries of tuples; both take trees as undirected graphs.  The dot product of two rows is the kernel; rows
have length one if `normalised`, and what the training trees do not have is left out of them, but not of their length.
"""

from typing import Any

import numpy as np
from scipy import sparse

from arbora.forest.forest import Forest

Found = tuple[list[Any], list[Any], list[Any]]  # tree, number of the feature and value, all in parallel


class _Features:
    """Features that are numbered as they are met."""

    def __init__(self, normalised: bool) -> None:
        self.normalised = normalised
        self.names: dict[Any, int] = {}

    def fit_transform(self, forest: Forest) -> Any:
        """Learn the features of these trees and count them."""
        self.names = {}
        return self._count(forest, grow=True)

    def transform(self, forest: Forest) -> Any:
        """Count the features of trees over the same vocabulary."""
        return self._count(forest, grow=False)

    def _find(self, forest: Forest, names: dict[Any, int]) -> Found:
        raise NotImplementedError

    def _count(self, forest: Forest, grow: bool) -> Any:
        names = dict(self.names)
        found = self._find(forest, names)
        row, column, value = (
            np.concatenate([np.asarray(part, kind) for part in parts])
            for parts, kind in zip(found, (np.int32, np.int32, np.float64), strict=True)
        )
        if grow:
            self.names = names
        counts = sparse.coo_array((value, (row, column)), shape=(forest.n_trees, len(names))).tocsr()
        length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        known = counts[:, : len(self.names)]  # new features were numbered after those of the training
        if self.normalised:
            known.data /= np.repeat(np.maximum(length, 1e-300), np.diff(known.indptr))
        return known


class WLFeatures(_Features):
    """Counts of Weisfeiler-Lehman colours: labels, then labels with those of their neighbours, n_iter times.

    The subtree kernel of Shervashidze et al. (2011).
    """

    def __init__(self, n_iter: int = 3, normalised: bool = True) -> None:
        super().__init__(normalised)
        self.n_iter = n_iter

    def _find(self, forest: Forest, names: dict[Any, int]) -> Found:
        tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
        neighbours: list[list[int]] = [[] for _ in range(forest.n_nodes)]
        for u, p in enumerate(forest.parent.tolist()):
            if p >= 0:
                neighbours[u].append(p)
                neighbours[p].append(u)
        colour = [names.setdefault((-1, m), len(names)) for m in forest.label.tolist()]
        rounds = [colour]
        for h in range(self.n_iter):
            colour = [
                names.setdefault((h, colour[u], tuple(sorted([colour[v] for v in near]))), len(names))
                for u, near in enumerate(neighbours)
            ]
            rounds.append(colour)
        return [tree] * len(rounds), rounds, [np.ones(len(tree))] * len(rounds)


class ODDFeatures(_Features):
    """Subtrees of what is seen from each node up to a height, a subtree of n nodes weighing decay ** (n / 2).

    The kernel ODD-ST of Da San Martino et al. (2012).  From each node v, the graph is seen as a tree rooted at v and
    cut below `height`; every node u of it, at distance d, adds the subtree below u, of height up to height - d.  In a
    tree it depends on v only by d and by the neighbour of u that leads to v, so it is made once and counted as often
    as there are such v.
    """

    def __init__(self, height: int = 3, decay: float = 1.0, normalised: bool = True) -> None:
        super().__init__(normalised)
        self.height, self.decay = height, decay

    def _find(self, forest: Forest, names: dict[Any, int]) -> Found:
        graph = _Graph(forest)
        size = [n for n, _, _ in names]  # nodes of each subtree

        def number(label: int, below: list[int]) -> int:
            n_nodes = 1 + sum([size[x] for x in below])
            found = names.setdefault((n_nodes, label, tuple(sorted(below))), len(names))
            if found == len(size):
                size.append(n_nodes)
            return found

        # Below each node, and below its parent without it, cut at a height of 0, 1, ....
        down, up = [[number(m, []) for m in graph.label]], [[number(m, []) for m in graph.label_above]]
        n_down, n_up = [[1] * forest.n_nodes], [[1] * forest.n_nodes]  # nodes there, this far from the first
        for h in range(self.height - 1):
            rest = [graph.beside(u, down[h], up[h]) for u in range(forest.n_nodes)]
            up.append([number(m, below) for m, below in zip(graph.label_above, rest, strict=True)])
            below = [[down[h][c] for c in of_node] for of_node in graph.children]
            down.append([number(m, parts) for m, parts in zip(graph.label, below, strict=True)])
            n_up.append([sum(graph.beside(u, n_down[h], n_up[h])) for u in range(forest.n_nodes)])
            n_down.append([sum([n_down[h][c] for c in of_node]) for of_node in graph.children])
        around = [[down[-1][c] for c in of_node] for of_node in graph.children]
        for u in graph.inner:
            around[u].append(up[-1][u])
        tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
        rows, columns = [tree], [np.array([number(m, parts) for m, parts in zip(graph.label, around, strict=True)])]
        times = [np.ones(len(tree))]
        for h in range(self.height):  # as many nodes see the subtree as there are, that far, on the other side
            for seen, seers in ((down, n_up), (up, n_down)):
                rows.append(tree[graph.inner])
                columns.append(np.array(seen[-1 - h])[graph.inner])
                times.append(np.array(seers[h], np.float64)[graph.inner])
        weight = self.decay ** (np.array(size) / 2.0)
        return rows, columns, [n * weight[column] for n, column in zip(times, columns, strict=True)]


class _Graph:
    """Labels and neighbours of the nodes of a forest, as lists."""

    def __init__(self, forest: Forest) -> None:
        self.parent, self.label = forest.parent.tolist(), forest.label.tolist()
        self.inner = np.flatnonzero(forest.parent >= 0)  # nodes with a parent
        self.label_above = [self.label[p] if p >= 0 else -1 for p in self.parent]  # -1 is never counted
        self.children: list[list[int]] = [[] for _ in self.parent]
        for u, p in enumerate(self.parent):
            if p >= 0:
                self.children[p].append(u)

    def beside(self, u: int, down: list[int], up: list[int]) -> list[int]:
        """What the other neighbours of the parent of u have: its other children by `down`, its parent by `up`."""
        p = self.parent[u]
        if p < 0:
            return []
        above = [up[p]] if self.parent[p] >= 0 else []
        return [down[c] for c in self.children[p] if c != u] + above
