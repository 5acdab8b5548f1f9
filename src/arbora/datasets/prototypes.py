"""Noisy copies of random prototype trees: the synthetic task of Torsello and Hancock 2003, section 6.1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..forest.forest import Forest
from ..forest.kernels.tree_shape import make_shape
from ..forest.node_columns import MISSING
from ..models.unions.kernels.tree_alignment import align

_MAX_DRAWS = 10_000


def make_prototype_trees(
    n_classes: int = 3,
    n_per_class: int = 10,
    n_nodes: int = 10,
    noise: float = 0.2,
    *,
    separation: int = 0,
    random_state: Any = None,
) -> Forest:
    """Draw random recursive trees, and copies of each to which ``noise * n_nodes`` leaves are added one by one.

    Each new node hangs below a node chosen uniformly.  Node order is shuffled, and labels are missing.

    Parameters
    ----------
    n_classes, n_per_class : int
        Prototypes, and copies of each.
    n_nodes : int, default 10
        Nodes of a prototype.
    noise : float, default 0.2
        Leaves added to a copy, in shares of `n_nodes`.
    separation : int, default 0
        Least number of nodes that the best alignment of two prototypes leaves unmatched.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    Forest
        The copies; `target` is the number of the prototype.

    Examples
    --------
    >>> make_prototype_trees(2, 3, n_nodes=5, noise=0.4, random_state=0).sizes
    array([7, 7, 7, 7, 7, 7])
    """
    for what, value in (("n_classes", n_classes), ("n_per_class", n_per_class), ("n_nodes", n_nodes)):
        if value < 1:
            raise ValueError(f"{what}={value}; wanted 1 or more")
    if not noise >= 0.0:  # nan is refused, too
        raise ValueError(f"noise={noise}; wanted 0 or more")
    rng = np.random.default_rng(random_state)
    prototypes = _draw_prototypes(rng, n_classes, n_nodes, separation)
    n_extra = round(noise * n_nodes)
    size = n_nodes + n_extra
    parents: list[NDArray[Any]] = []
    for prototype in prototypes:
        for _ in range(n_per_class):
            grown = np.append(prototype, np.zeros(n_extra, np.int64))
            for u in range(n_nodes, size):
                grown[u] = rng.integers(u)
            place = rng.permutation(size)
            shuffled = np.empty(size, np.int64)
            shuffled[place] = np.where(grown < 0, -1, place[grown])
            parents.append(np.where(shuffled < 0, -1, shuffled + len(parents) * size))
    n_trees = n_classes * n_per_class
    return Forest.from_parents(
        np.concatenate(parents),
        np.full(n_trees * size, MISSING),
        tree=np.repeat(np.arange(n_trees), size),
        vocabulary=[],
        target=np.repeat(np.arange(n_classes), n_per_class),
    )


def _draw_prototypes(rng: np.random.Generator, n: int, n_nodes: int, separation: int) -> list[NDArray[np.int64]]:
    """Parents, root first, of random recursive trees that are far enough apart."""
    for _ in range(_MAX_DRAWS):
        trees = [np.array([-1] + [int(rng.integers(u)) for u in range(1, n_nodes)]) for _ in range(n)]
        if separation <= 0 or all(_distance(trees[a], trees[b]) >= separation for a in range(n) for b in range(a)):
            return trees
    raise ValueError(f"no {n} prototypes of {n_nodes} nodes found that are {separation} nodes apart; ask for less")


def _distance(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Nodes that the best alignment of two trees leaves unmatched."""
    one, two = (make_shape(np.where(x < 0, -1, len(x) - 1 - x)[::-1]) for x in (a, b))
    return len(a) + len(b) - 2 * round(align(one, two, np.ones((len(a), len(b)))).value)
