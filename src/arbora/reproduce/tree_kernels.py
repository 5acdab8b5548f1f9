"""The Weisfeiler-Lehman subtree kernel as explicit features, to compare with; exact, by dictionaries of tuples."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy import sparse

from ..forest import Forest


class WLFeatures:
    """Counts of Weisfeiler-Lehman colours: labels, then labels with those of their neighbours, n_iter times.

    The dot product of two rows is the kernel of Shervashidze et al. (2011) on the trees as undirected graphs; rows have
    length one if `normalised`.  Colours that the training trees do not have are left out.
    """

    def __init__(self, n_iter: int = 3, normalised: bool = True) -> None:
        self.n_iter, self.normalised = n_iter, normalised
        self.colours: dict[Hashable, int] = {}

    def fit_transform(self, forest: Forest) -> Any:
        """Learn the colours of these trees and count them."""
        self.colours = {}
        return self._count(forest, grow=True)

    def transform(self, forest: Forest) -> Any:
        """Count the colours of trees over the same vocabulary."""
        return self._count(forest, grow=False)

    def _count(self, forest: Forest, grow: bool) -> Any:
        names = dict(self.colours)
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
        if grow:
            self.colours = names
        column = np.concatenate([np.asarray(colour, np.int64) for colour in rounds])
        row = np.tile(tree, len(rounds))
        known = column < len(self.colours)  # new colours were numbered after those of the training
        shape = (forest.n_trees, len(self.colours))
        counts = sparse.coo_array((np.ones(known.sum()), (row[known], column[known])), shape=shape).tocsr()
        counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
        if not self.normalised:
            return counts
        # The length counts new colours, too, as the normalised kernel does.
        whole = sparse.coo_array((np.ones(len(row)), (row, column)), shape=(forest.n_trees, len(names))).tocsr()
        length = np.sqrt(np.asarray(whole.multiply(whole).sum(axis=1)).ravel())
        counts.data /= np.repeat(np.maximum(length, 1e-300), np.diff(counts.indptr))
        return counts
