"""The part that most trees of a group share: label paths with the share of the trees that have them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .paths import LabelPaths

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARE = 0.5  # of the trees that have a node of the skeleton
MOST_NODES = 60


class SkeletonNode(NamedTuple):
    """A node of a skeleton.

    Attributes
    ----------
    label : its label.
    probability : share of the trees of the group that have it.
    number : nodes of this path in a tree that has any, on average.
    children : nodes below it, in the order in which they stand in the trees.
    """

    label: str
    probability: float
    number: float
    children: tuple["SkeletonNode", ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Nested dictionaries, as trees of a `Forest` have them, with probabilities."""
        found: dict[str, Any] = {"label": self.label, "probability": round(self.probability, 4)}
        if self.number >= MANY:
            found["number"] = round(self.number, 2)
        if self.children:
            found["children"] = [child.as_dict() for child in self.children]
        return found

    def lines(self, depth: int = 0) -> list[str]:
        """A line per node: label, how many of them, and the probability."""
        times = f" \u00d7{self.number:.3g}" if self.number >= MANY else ""
        own = f"{'  ' * depth}{self.label}{times}  {self.probability:.2f}"
        return [own, *(line for child in self.children for line in child.lines(depth + 1))]


MANY = 1.05  # nodes of a path in a tree, from which on a skeleton shows their mean


def nodes_of(paths: LabelPaths, trees: Bools) -> Ints:
    """Paths of the skeleton of these trees: those of half of them or more, the most frequent if they are many.

    The path above is at least as frequent, and comes first among equals.
    """
    share = shares(paths, trees)
    order = np.argsort(-share, kind="stable")[:MOST_NODES]
    return np.sort(order[share[order] >= SHARE])


def shares(paths: LabelPaths, trees: Bools) -> Floats:
    """Share of these trees that have each path."""
    n = max(int(trees.sum()), 1)
    return np.asarray(trees.astype(np.float64) @ paths.has).ravel() / n


def overlap(paths: LabelPaths, chosen: Ints, trees: Bools) -> float | None:
    """Share of the nodes of a skeleton that one of these trees has, on average; None without trees."""
    if not trees.any() or not len(chosen):
        return None
    return float(shares(paths, trees)[chosen].mean())


def skeleton(paths: LabelPaths, trees: Bools) -> tuple[SkeletonNode, ...]:
    """The skeleton of these trees; several roots if they have several labels."""
    chosen = nodes_of(paths, trees)
    share = shares(paths, trees)
    number = np.asarray(trees.astype(np.float64) @ paths.count).ravel() / np.maximum(share * trees.sum(), 1e-300)
    below: dict[int, list[int]] = {-1: []}
    for path in chosen.tolist():
        below[path] = []
        below[int(paths.above[path])].append(path)
    made: dict[int, SkeletonNode] = {}
    for path in chosen[::-1].tolist():  # a path comes after the one above it
        children = tuple(made[child] for child in _in_order(paths, below[path]))
        label = paths.vocabulary[paths.label[path]]
        made[path] = SkeletonNode(label, float(share[path]), float(number[path]), children)
    return tuple(made[path] for path in _in_order(paths, below[-1]))


def _in_order(paths: LabelPaths, siblings: list[int]) -> list[int]:
    return sorted(siblings, key=lambda path: (round(float(paths.place[path]), 6), path))
