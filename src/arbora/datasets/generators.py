"""Generators of forests: left / symmetric / right trees (Bacciu and Castellana 2019), chains, random trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..forest.forest import Forest
from ..forest.node_columns import MISSING
from .kernels.growth import grow_trees

# Bacciu and Castellana 2019 print neither; both were measured on the published file: probability of a child in each
# of the three slots, and the range, ends included, of the size at which a tree stops growing.
ASYMMETRIC_CLASSES = {
    "left": ((0.9, 0.3, 0.1), (20, 25)),
    "symmetric": ((0.6, 0.6, 0.6), (50, 60)),
    "right": ((0.1, 0.3, 0.9), (80, 100)),
}


def make_asymmetric_trees(n_per_class: int = 260, random_state: Any = None) -> Forest:
    """Draw left-leaning, symmetric and right-leaning ternary trees (Bacciu and Castellana 2019, section 6.1).

    A tree grows level by level: each node has a child in slot l with probability p_l, until the tree has the size drawn
    for it.  A tree that dies out before is drawn again.  The label of a node is its number of children, "0" to "3", so
    labels follow from the shape.  Classes come one after the other.

    Parameters
    ----------
    n_per_class : int, default 260
        Trees of each class.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    Forest
        The trees, with classes in `target`.

    Examples
    --------
    >>> make_asymmetric_trees(2, random_state=0).target.tolist()
    ['left', 'left', 'symmetric', 'symmetric', 'right', 'right']
    """
    rng = np.random.default_rng(random_state)
    parents: list[NDArray[Any]] = []
    slots: list[NDArray[Any]] = []
    trees: list[NDArray[Any]] = []
    target: list[str] = []
    name: list[str] = []
    n_nodes = 0
    for kind, (prob, (low, high)) in ASYMMETRIC_CLASSES.items():
        for x in range(n_per_class):
            parent, slot = _grow_by_level(rng, np.asarray(prob), int(rng.integers(low, high, endpoint=True)))
            parents.append(np.where(parent < 0, -1, parent + n_nodes))
            slots.append(slot)
            trees.append(np.full(len(parent), len(trees)))
            target.append(kind)
            name.append(f"{kind}-{x:03d}")
            n_nodes += len(parent)
    if not trees:
        raise ValueError(f"n_per_class={n_per_class}; wanted 1 or more")
    whole = np.concatenate(parents)
    degree = np.bincount(whole[whole >= 0], minlength=n_nodes)
    return Forest.from_parents(
        whole, degree, np.concatenate(slots), np.concatenate(trees), ("0", "1", "2", "3"), target, name
    )


def make_chains(n: int, length: int | tuple[int, int], n_labels: int, random_state: Any = None) -> Forest:
    """Draw chains, trees with one slot, with independent uniform labels.

    The root is the last symbol of a chain, the leaf the first one.

    Parameters
    ----------
    n : int
        Number of chains.
    length : int or tuple of two ints
        Length, or the ends of a range that includes both.
    n_labels : int
        Number of labels.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    Forest
        The chains.

    Examples
    --------
    >>> make_chains(3, (5, 9), n_labels=4, random_state=0).n_slots
    1
    """
    low, high = (length, length) if isinstance(length, (int, np.integer)) else length
    _check_sizes(n=n, length=low, n_labels=n_labels)
    rng = np.random.default_rng(random_state)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(rng.integers(low, high, n, endpoint=True))])
    parent = np.arange(1, start[-1] + 1)
    slot = np.zeros(start[-1], np.int32)
    parent[start[1:] - 1] = -1
    slot[start[1:] - 1] = -1
    label = rng.integers(n_labels, size=start[-1], dtype=np.int32)
    return Forest(parent, slot, label, start, _words(n_labels))


def make_random_trees(
    n_trees: int,
    n_labels: int,
    n_slots: int,
    max_nodes: int,
    *,
    min_nodes: int = 1,
    gaps: bool = True,
    missing: float = 0.0,
    random_state: Any = None,
) -> Forest:
    """Draw random recursive trees: each new node hangs below a uniformly chosen one that has a free slot.

    Nodes come in post-order, siblings by slot.

    Parameters
    ----------
    n_trees, n_labels, n_slots : int
        Number of trees, labels and slots.
    min_nodes, max_nodes : int
        Ends of the range of sizes, which are uniform.
    gaps : bool, default True
        Whether a new node takes a random free slot; if not, the next one.
    missing : float, default 0.0
        Probability that a label is missing.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    Forest
        The trees.

    Examples
    --------
    >>> make_random_trees(4, n_labels=3, n_slots=2, max_nodes=10, random_state=0).shape
    (4,)
    """
    _check_sizes(n_trees=n_trees, n_labels=n_labels, n_slots=n_slots, min_nodes=min_nodes)
    if max_nodes < min_nodes or not 0.0 <= missing <= 1.0:
        raise ValueError(f"max_nodes={max_nodes}, min_nodes={min_nodes}, missing={missing}; wanted min <= max, 0..1")
    rng = np.random.default_rng(random_state)
    start = np.concatenate(
        [np.zeros(1, np.int64), np.cumsum(rng.integers(min_nodes, max_nodes, n_trees, endpoint=True))]
    )
    parent = np.empty(start[-1], np.int64)
    slot = np.empty(start[-1], np.int32)
    grow_trees(rng, start, n_slots, gaps, parent, slot)
    label = rng.integers(n_labels, size=start[-1], dtype=np.int32)
    if missing > 0.0:
        label[rng.random(start[-1]) < missing] = MISSING
    return Forest._trusted(parent=parent, slot=slot, label=label, tree_start=start, vocabulary=_words(n_labels))


def _grow_by_level(rng: np.random.Generator, prob: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Parents and slots, root first, of one tree of exactly this size; it is drawn again when it dies out."""
    while True:
        has_child = rng.random((size, len(prob))) < prob  # a tree of this size expands no more nodes than it has
        parent, slot = [-1], [-1]
        u = 0
        while u < len(parent) < size:
            born = np.flatnonzero(has_child[u])[: size - len(parent)].tolist()
            parent += [u] * len(born)
            slot += born
            u += 1
        if len(parent) == size:
            return np.asarray(parent), np.asarray(slot)


def _words(n_labels: int) -> tuple[str, ...]:
    return tuple(str(m) for m in range(n_labels))


def _check_sizes(**sizes: int) -> None:
    for what, value in sizes.items():
        if value < 1:
            raise ValueError(f"{what}={value}; wanted 1 or more")
