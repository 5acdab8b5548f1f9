"""Which model suits a collection of trees, judged from the trees alone."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..forest.forest import Forest
from .forest_estimator import open_or_convert

Kind = Literal["patterns", "infinite", "unions"]

MOST_LOOKED_AT = 2_000  # trees
MOST_FOR_UNIONS = 1_000  # trees; the search compares unions two by two
LARGEST_FOR_UNIONS = 60  # nodes of a tree, on average
LEAST_LABELLED = 0.5  # share of nodes with a label, below which only shapes remain
REPEATS_SHAPE = (
    0.05  # share of the labels' entropy that the number of children leaves open, below which they say no more
)


class Choice(NamedTuple):
    """A model and the reason for it, in one sentence."""

    model: Kind
    reason: str


def choose_model(trees: Any) -> Choice:
    """Choose among pattern mixtures, hidden trees and unions.

    Patterns need labels that say more than the shape.  Where most labels are missing or all are one, only shapes are
    left: unions, or hidden trees if there are too many trees or nodes for unions.  Where the number of children
    determines the label, the order and number of children carry the groups: hidden trees.

    Examples
    --------
    >>> choose_model([("a", ["b", "c"]), ("a", ["c"])]).model
    'patterns'
    >>> choose_model([(None, [None, None]), (None, [None])]).model
    'unions'
    """
    forest = open_or_convert(trees)
    n = forest.n_trees
    some: Forest = (
        forest.take(np.linspace(0, n - 1, MOST_LOOKED_AT).astype(np.int64))
        if n > MOST_LOOKED_AT
        else (Forest.concat(list(forest.parts())) if not isinstance(forest, Forest) else forest)
    )
    known = some.label >= 0
    n_labels = len(np.unique(some.label[known]))
    if known.mean() < LEAST_LABELLED or n_labels < 2:
        return _by_shape(forest, "most nodes have no label" if n_labels > 1 else "the nodes have no labels to compare")
    if _left_open(some.label[known], _n_children(some)[known]) < REPEATS_SHAPE:
        return Choice("infinite", "hidden trees, because each label only repeats how many children its node has")
    return Choice("patterns", f"patterns of labels, because the {n_labels:,} labels say more than the shapes")


def _by_shape(forest: Forest, why: str) -> Choice:
    if forest.n_trees <= MOST_FOR_UNIONS and forest.n_nodes <= LARGEST_FOR_UNIONS * forest.n_trees:
        return Choice("unions", f"unions of shapes, because {why}")
    return Choice("infinite", f"hidden trees, because {why} and there are too many nodes for unions of shapes")


def _n_children(forest: Forest) -> NDArray[np.int64]:
    parents = forest.parent[forest.parent >= 0]
    return np.bincount(parents, minlength=forest.n_nodes)


def _left_open(label: NDArray[Any], given: NDArray[np.int64]) -> float:
    """Entropy of the labels that is left once another quantity is seen, as a share of all of it."""
    _, pair = np.unique(np.stack([label, given]), axis=1, return_inverse=True)
    total = _entropy(label)
    return (_entropy(pair.ravel()) - _entropy(given)) / total if total > 0 else 0.0


def _entropy(values: NDArray[Any]) -> float:
    share = np.unique(values, return_counts=True)[1] / len(values)
    return float(-(share * np.log(share)).sum())
