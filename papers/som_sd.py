"""Self-organising maps of trees (SOM-SD, Hagenbuchner, Sperduti and Tsoi 2003), trained in batches.

A point of a square lattice has a label part and, for each slot, a place on the lattice.  A node belongs to the point
nearest to its label and to the places of its children, so children come first.  An absent child lies outside the map.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from arbora.forest.forest import Forest
from arbora.forest.kernels import hash_consing
from arbora.forest.sharing import SharedForest, share

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ABSENT = -1.0  # both coordinates of a child that is not there; the map has those from 0 to 1
LEAST_RADIUS = 0.5  # of a neighbourhood in the last epoch, in points


class Weights(NamedTuple):
    """What the points have learnt."""

    label: Floats  # [point, label]
    place: Floats  # [point, slot * 2]


class SOMSD:
    """A map of side * side points; `structure` is the share of the children in distances, the label has the rest."""

    def __init__(self, side: int = 10, structure: float = 0.5, n_epochs: int = 30, seed: int = 0) -> None:
        self.side, self.structure, self.n_epochs, self.seed = side, structure, n_epochs, seed
        at = np.arange(side) / max(side - 1, 1)
        self.lattice = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)

    def fit(self, forest: Forest) -> "SOMSD":
        """Learn from the nodes of all trees; equal subtrees are placed once and count as often as they occur."""
        self.n_slots, self.n_labels = max(1, forest.n_slots), forest.n_labels
        (shard,) = share(forest.arrays, self.n_slots)
        times = np.asarray(_occurrences(shard).T @ np.bincount(shard.tree_id)).ravel().astype(np.float64)
        rng = np.random.default_rng(self.seed)
        n_points = len(self.lattice)
        label = rng.dirichlet(np.ones(self.n_labels), n_points)
        self.weights = Weights(label, rng.random((n_points, 2 * self.n_slots)))
        apart = ((self.lattice[:, None] - self.lattice) ** 2).sum(axis=2) * max(self.side - 1, 1) ** 2
        radii = np.geomspace(max(self.side / 2.0, LEAST_RADIUS), LEAST_RADIUS, self.n_epochs)
        for radius in radii:
            winner = self._winners(shard)
            near = np.exp(-apart / (2.0 * radius**2))
            self.weights = self._moved(shard, winner, near, times)
        return self

    def encode(self, forest: Forest) -> Any:
        """Numbers of nodes by slot, the root last, and point: sparse [tree, slot * points + point]."""
        (shard,) = share(forest.arrays, max(self.n_slots, forest.n_slots))
        slot = np.where(shard.units.slot < 0, self.n_slots, np.minimum(shard.units.slot, self.n_slots - 1))
        column = slot.astype(np.int64) * len(self.lattice) + self._winners(shard)
        shape = (shard.n_units, (self.n_slots + 1) * len(self.lattice))
        one = sparse.csr_array((np.ones(shard.n_units), (np.arange(shard.n_units), column)), shape=shape)
        codes = sparse.csr_array(_occurrences(shard) @ one)[shard.tree_id]
        codes.indices, codes.indptr = codes.indices.astype(np.int32), codes.indptr.astype(np.int32)
        return codes

    def _moved(self, shard: SharedForest, winner: Ints, near: Floats, times: Floats) -> Weights:
        """Each point at the mean of all nodes, weighted by how near their points are."""
        n_points, label = len(self.lattice), shard.units.label
        own = sparse.csr_array((times, (winner, np.arange(len(winner)))), shape=(n_points, len(winner)))
        known = np.flatnonzero(label >= 0)
        labels = sparse.csr_array((np.ones(len(known)), (known, label[known])), shape=(len(label), self.n_labels))
        total = np.maximum(near @ np.bincount(winner, times, n_points), 1e-300)[:, None]
        return Weights(near @ (own @ labels).toarray() / total, near @ (own @ self._places(shard, winner)) / total)

    def _places(self, shard: SharedForest, winner: Ints) -> Floats:
        """Places of the children of every unit, [unit, slot * 2]; of several in a pooled slot the last one's."""
        units = shard.units
        places = np.full((shard.n_units, self.n_slots, 2), ABSENT)
        parent = np.repeat(np.arange(shard.n_units), np.diff(units.child_start))
        slot = np.minimum(units.slot[units.child], self.n_slots - 1)
        places[parent, slot] = self.lattice[winner[units.child]]
        return places.reshape(shard.n_units, -1)

    def _winners(self, shard: SharedForest) -> Ints:
        """The nearest point of every unit, all units of a height at once."""
        height, winner = _heights(shard), np.zeros(shard.n_units, np.int64)
        label, place = self.weights
        square = (1.0 - self.structure) * (label**2).sum(axis=1) + self.structure * (place**2).sum(axis=1)
        for h in range(int(height.max(initial=-1)) + 1):
            some = np.flatnonzero(height == h)
            own = shard.units.label[some]
            inner = np.where(own[:, None] >= 0, label.T[own], 0.0) * (1.0 - self.structure)
            inner += self.structure * (self._places(shard, winner)[some] @ place.T)
            winner[some] = (square - 2.0 * inner).argmin(axis=1)
        return winner


def _occurrences(shard: SharedForest) -> Any:
    """Sparse [distinct tree, unit]: how often each subtree occurs."""
    units = shard.units
    start, unit = hash_consing.expand(units.child_start, units.child, shard.tree_root)
    counts = sparse.csr_array((np.ones(len(unit)), unit, start.copy()), shape=(len(start) - 1, shard.n_units))
    counts.sum_duplicates()
    return counts


def _heights(shard: SharedForest) -> Ints:
    """Height of each unit; children come before parents."""
    height, start, child = np.zeros(shard.n_units, np.int64), shard.units.child_start, shard.units.child
    for u in np.flatnonzero(np.diff(start)).tolist():
        height[u] = 1 + height[child[start[u] : start[u + 1]]].max()
    return height
