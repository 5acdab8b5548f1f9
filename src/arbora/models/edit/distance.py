"""Edit distances between trees: the least cost of deletions, insertions and renames that turn one into the other.

A deleted node leaves its children to its parent.  An edit is known by the nodes that stay: a one-to-one mapping that
keeps who is above whom and, in ordered trees, who is left of whom; its cost is that of the renames and of all nodes
left out.  Ordered trees: Zhang and Shasha's dynamic programme (kernels/tree_edit.py).  Unordered trees: NP-hard, solved
exactly by branch and bound (kernels/tree_cliques.py) within a budget, and said when that was not enough.
"""

import hashlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ForestError, InexactWarning, warn
from ...files.container import digest
from ...forest.forest import Forest
from ..forest_estimator import read_or_convert
from ..settings import check_count, n_threads
from .costs import Costs, NodeCost, RenameCost, make_costs
from .kernels import tree_cliques, tree_edit
from .matrix_filling import Filling
from .trees import bare, kind_first, kinds_of_trees, list_trees, read_forest, without_labels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Pairs between two looks at Ctrl-C: a pair takes microseconds in order, and up to seconds without.
_ORDERED_BLOCK, _UNORDERED_BLOCK = 4096, 16


class EditMapping(NamedTuple):
    """A cheapest edit; nodes are numbered as in a Forest of the tree alone: children first, the root last."""

    distance: float
    pairs: Ints  # (n, 2): nodes that stay, in the first tree and in the second
    deleted: Ints  # nodes of the first tree that go
    inserted: Ints  # nodes of the second tree that come
    exact: bool


# ---- two trees ------------------------------------------------------------------------------------------------------


def edit_distance(
    a: Any,
    b: Any,
    *,
    ordered: bool = True,
    labels: bool = True,
    delete: NodeCost = 1.0,
    insert: NodeCost = 1.0,
    rename: RenameCost = 1.0,
    budget: int = tree_cliques.BUDGET,
) -> float:
    """Compute the edit distance of two trees.

    Parameters
    ----------
    a, b : nested tree, or Forest of one tree
        The trees.
    ordered : bool, default True
        Whether the order of siblings matters.
    labels : bool, default True
        Whether labels matter.  If not, renames are free.  A missing label, or one outside the vocabulary, is a label of
        its own.
    delete, insert : float or dict, default 1.0
        Cost of leaving out a node of `a`, and of adding a node of `b`; a dict gives costs by label.
    rename : float or dict, default 1.0
        Cost of another label; a dict gives costs by pair of labels.
    budget : int, default 200000
        Limit of the search on unordered trees.  Beyond it the result is an upper bound, with an `InexactWarning`.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> edit_distance(("a", ["b", "c"]), ("a", ["c", "b"]))
    2.0
    >>> edit_distance(("a", ["b", "c"]), ("a", ["c", "b"]), ordered=False)
    0.0
    >>> edit_distance(("a", [("b", ["c"])]), ("a", ["c"]), delete={"b": 0.25})
    0.25
    """
    return _solve(*_two_trees(a, b), ordered, labels, (delete, insert, rename), budget)[1]


def edit_mapping(
    a: Any,
    b: Any,
    *,
    ordered: bool = True,
    labels: bool = True,
    delete: NodeCost = 1.0,
    insert: NodeCost = 1.0,
    rename: RenameCost = 1.0,
    budget: int = tree_cliques.BUDGET,
) -> EditMapping:
    """Find a cheapest edit of one tree into the other.

    Parameters
    ----------
    a, b, ordered, labels, delete, insert, rename, budget
        As in `edit_distance`.

    Returns
    -------
    EditMapping
        The distance, the pairs of nodes that stay, and the nodes that are deleted and inserted.

    Examples
    --------
    >>> found = edit_mapping(("a", [("b", ["c"])]), ("a", ["c"]))
    >>> found.distance, found.pairs.tolist(), found.deleted.tolist()
    (1.0, [[0, 0], [2, 1]], [1])
    """
    one, s, two, t = _two_trees(a, b)
    pairs, distance, exact = _solve(one, s, two, t, ordered, labels, (delete, insert, rename), budget)
    stays_1, stays_2 = np.zeros(one.sizes[s], np.bool_), np.zeros(two.sizes[t], np.bool_)
    stays_1[pairs[:, 0]] = stays_2[pairs[:, 1]] = True
    in_order = pairs[np.argsort(pairs[:, 0])]
    return EditMapping(distance, in_order, np.flatnonzero(~stays_1), np.flatnonzero(~stays_2), exact)


def _solve(
    one: Forest,
    s: int,
    two: Forest,
    t: int,
    ordered: bool,
    labels: bool,
    given: tuple[NodeCost, NodeCost, RenameCost],
    budget: int,
) -> tuple[Ints, float, bool]:
    """A cheapest mapping of two trees, nodes in post-order, its cost, and whether it certainly is the cheapest."""
    check_count("budget", budget)
    costs = make_costs(one.vocabulary, labels, *given)
    if not labels:
        one, two = without_labels(one), without_labels(two)
    if not ordered:
        pairs, distance, exact = _map_unordered(one.in_post_order(), s, two.in_post_order(), t, costs, budget)
        _warn_if_inexact(int(not exact), 1)
        return pairs, distance, exact
    pairs, distance, found = tree_edit.mapping(one.arrays, s, two.arrays, t, costs)
    if not found:  # siblings are stored in an odd order
        one, two = one.in_post_order(), two.in_post_order()
        pairs, distance, _ = tree_edit.mapping(one.arrays, s, two.arrays, t, costs)
    return pairs, distance, True


def _map_unordered(one: Forest, s: int, two: Forest, t: int, costs: Costs, budget: int) -> tuple[Ints, float, bool]:
    """A cheapest mapping without regard to order, its cost, and whether it certainly is the cheapest."""
    a, b = list_trees(one, costs), list_trees(two, costs)
    pairs, distance, exact = tree_cliques.map_trees(a, s, b, t, costs.rename, budget)
    return pairs, float(distance), bool(exact)


def _two_trees(a: Any, b: Any) -> tuple[Forest, int, Forest, int]:
    """Two trees as forests over one vocabulary, and their numbers in these."""
    if not isinstance(a, Forest) and not isinstance(b, Forest):
        both = Forest.from_nested([a, b])
        return both, 0, both, 1
    one, two = (tree if isinstance(tree, Forest) else Forest.from_nested([tree]) for tree in (a, b))
    for forest in (one, two):
        if forest.n_trees != 1:
            wanted = "wanted one tree; edit_distances takes many"
            raise ForestError(f"edit_distance: a forest of {forest.n_trees} trees; {wanted}")
    if one.vocabulary != two.vocabulary:
        words = list(dict.fromkeys(one.vocabulary + two.vocabulary))
        one, two = one.with_vocabulary(words), two.with_vocabulary(words)
    return one, 0, two, 0


# ---- many trees -----------------------------------------------------------------------------------------------------


def edit_distances(
    X: Any,
    Y: Any = None,
    *,
    ordered: bool = True,
    labels: bool = True,
    delete: NodeCost = 1.0,
    insert: NodeCost = 1.0,
    rename: RenameCost = 1.0,
    budget: int = tree_cliques.BUDGET,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
) -> Floats:
    """Compute the edit distances of every tree of X to every tree of Y, or of X.

    Equal trees are compared once, and with symmetric costs only half the pairs.  The matrix takes 8 bytes per entry.
    Each thread of ordered distances takes 24 bytes per pair of nodes of the two largest trees.

    Parameters
    ----------
    X, Y : forests, or lists of nested trees
        The trees; without Y, those of X are compared with each other.
    ordered, labels, delete, insert, rename, budget
        As in `edit_distance`.
    n_jobs : int or None, default None
        Threads; -1 uses all processors.  The result does not depend on it.
    progress : bool or None, default None
        Whether to show a bar; None shows it on a terminal.
    checkpoint : path or None, default None
        File that keeps finished distances, every half minute and on Ctrl-C.  The same call continues from it, and
        removes it at the end.  Without it, Ctrl-C loses what was computed.
    keep_checkpoint : bool, default False
        Whether to leave the checkpoint to the caller.

    Returns
    -------
    ndarray of shape (n_trees_X, n_trees_Y)
        The distances.

    Examples
    --------
    >>> edit_distances([("a", ["b"]), "a", ("c", ["b"])])
    array([[0., 1., 1.],
           [1., 0., 2.],
           [1., 2., 0.]])
    """
    check_count("budget", budget)
    forest = read_or_convert(X)
    other = None if Y is None else read_or_convert(Y)
    both = forest if other is None else Forest.concat([bare(forest), bare(other)])
    costs = make_costs(both.vocabulary, labels, delete, insert, rename)
    both = both if labels else without_labels(both)
    cut = None if other is None else forest.n_trees
    return all_distances(both, cut, costs, ordered, budget, n_jobs, progress, checkpoint, keep_checkpoint)


def all_distances(
    forest: Forest,
    cut: int | None,
    costs: Costs,
    ordered: bool,
    budget: int = tree_cliques.BUDGET,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
) -> Floats:
    """Distances of the first `cut` trees to the others, or, if it is None, of all trees among themselves."""
    kind = kinds_of_trees(forest, ordered)
    first = kind_first(kind)
    n_first = forest.n_trees if cut is None else cut
    rows, row_of = np.unique(kind[:n_first], return_inverse=True)
    columns, column_of = (rows, row_of) if cut is None else np.unique(kind[n_first:], return_inverse=True)
    compare = _comparer(forest, costs, ordered, budget)

    def compare_kinds(pairs: Ints) -> tuple[Floats, Any]:
        return compare(np.column_stack([first[rows[pairs[:, 0]]], first[columns[pairs[:, 1]]]]))

    mark = "" if checkpoint is None else _fingerprint(forest, costs, cut, ordered, budget)
    filling = Filling((len(rows), len(columns)), cut is None and costs.symmetric, checkpoint, mark)
    block = _ORDERED_BLOCK if ordered else _UNORDERED_BLOCK
    filling.run(compare_kinds, block, n_threads(n_jobs), "edit distances", progress)
    filling.finish(keep_checkpoint)
    _warn_if_inexact(filling.n_inexact, filling.value.size)
    return filling.value[np.ix_(row_of, column_of)]


def _fingerprint(forest: Forest, costs: Costs, *settings: Any) -> str:
    """What distances belong to: the trees, the costs and the settings."""
    arrays = [np.asarray(array) for array in (*forest.arrays, *costs)]
    said = [digest(array) for array in arrays] + [repr(forest.vocabulary), repr(settings)]
    return hashlib.sha256("\n".join(said).encode("utf-8", "backslashreplace")).hexdigest()


def _comparer(forest: Forest, costs: Costs, ordered: bool, budget: int) -> Callable[[Ints], tuple[Floats, Any]]:
    """A function from pairs of trees of the forest to distances, and whether each is exact."""
    if ordered:
        readings = read_forest(forest, costs)

        def compare_ordered(pairs: Ints) -> tuple[Floats, Any]:
            out = np.empty(len(pairs))
            tree_edit.distances(pairs, readings, readings, costs.rename, out)
            return out, np.ones(len(pairs), np.bool_)

        return compare_ordered
    trees = list_trees(forest, costs)

    def compare_unordered(pairs: Ints) -> tuple[Floats, Any]:
        out, exact = np.empty(len(pairs)), np.empty(len(pairs), np.bool_)
        tree_cliques.distances(pairs, trees, trees, costs.rename, budget, (out, exact))
        return out, exact

    return compare_unordered


def _warn_if_inexact(n_inexact: int, n_pairs: int) -> None:
    if n_inexact:
        warn(
            f"{n_inexact} of {n_pairs} unordered edit distances used up the search budget and are upper bounds; "
            f"raise budget, or use ordered=True",
            InexactWarning,
        )
