"""Which model suits a collection of trees, judged from the trees alone."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ForestError
from ..forest.forest import Forest
from ..forest.trees import Trees
from .forest_estimator import open_or_convert

Kind = Literal["patterns", "sizes", "infinite"]

MOST_LOOKED_AT = 2_000  # trees
LEAST_LABELLED = 0.5  # share of nodes with a label, below which only shapes remain
FEWEST_LABELS = 1.5  # labels in use, counted by the exponential of their entropy
LEAF_OR_NOT = 2.2  # labels in use, below which those that repeat the shape only part leaves from inner nodes
EMPTY_SLOTS = 0.05  # share of nodes with children that leave a slot before the last child empty
REPEATS_SHAPE = 0.1  # share of the labels' entropy that the number of children leaves open, at the least


class Choice(NamedTuple):
    """A model and the reason for it."""

    model: Kind
    reason: str


def choose_model(trees: Any) -> Choice:
    """Choose between patterns of labels, patterns of sizes, and hidden trees.

    - Most labels are missing, nearly all are one, or they only part leaves from inner nodes: ``"sizes"``, a
      `PatternMixture` with ``labels="sizes"``.
    - The number of children determines the label, and children leave slots empty: ``"infinite"``, hidden trees, which
      see slots.
    - Otherwise: ``"patterns"``, a `PatternMixture`.

    The limits were set on development corpora (benchmarks/corpora).

    Examples
    --------
    >>> choose_model([("a", ["b", "c"]), ("b", ["c"]), ("a", ["d", "c"])]).model
    'patterns'
    >>> choose_model([(None, [None, None]), (None, [None])]).model
    'sizes'
    """
    forest = open_or_convert(trees)
    if not forest.n_trees:
        raise ForestError("choose_model: 0 trees; wanted at least 1: check what was read")
    some = _some(forest)
    known = some.label >= 0
    label = some.label[known]
    if known.mean() < LEAST_LABELLED:
        return Choice("sizes", "patterns of sizes, because most nodes have no label")
    if np.exp(_entropy(label)) < FEWEST_LABELS:
        return Choice("sizes", "patterns of sizes, because nearly all nodes have the same label")
    n_children = np.bincount(some.parent[some.parent >= 0], minlength=some.n_nodes)
    if _left_open(label, n_children[known]) < REPEATS_SHAPE:
        if _empty_slots(some, n_children) > EMPTY_SLOTS:
            return Choice(
                "infinite", "hidden trees, because labels repeat how many children a node has, and slots do not"
            )
        if np.exp(_entropy(label)) < LEAF_OR_NOT:
            return Choice("sizes", "patterns of sizes, because labels only part leaves from inner nodes")
    n = len(np.unique(label))
    return Choice("patterns", f"patterns of labels, because the {n:,} labels say more than the shapes")


def _some(forest: Trees) -> Forest:
    """The trees, or so many of them, evenly spread, as need be looked at."""
    n = forest.n_trees
    if n > MOST_LOOKED_AT:
        return forest.take(np.linspace(0, n - 1, MOST_LOOKED_AT).astype(np.int64))
    return forest if isinstance(forest, Forest) else Forest.concat(list(forest.parts()))


def _empty_slots(forest: Forest, n_children: NDArray[np.int64]) -> float:
    """Share of the nodes with children whose last child is not in the slot that its rank would give it."""
    inner = n_children > 0
    last = np.full(forest.n_nodes, -1, np.int64)
    child = forest.parent >= 0
    np.maximum.at(last, forest.parent[child], forest.slot[child].astype(np.int64))
    return float(np.mean(last[inner] >= n_children[inner])) if inner.any() else 0.0


def _left_open(label: NDArray[Any], given: NDArray[np.int64]) -> float:
    """Entropy of the labels that is left once another quantity is seen, as a share of all of it."""
    pair = label.astype(np.int64) * (int(given.max(initial=0)) + 1) + given
    return (_entropy(pair) - _entropy(given)) / _entropy(label)


def _entropy(values: NDArray[Any]) -> float:
    share = np.unique(values, return_counts=True)[1] / max(len(values), 1)
    return float(-(share * np.log(share)).sum())
