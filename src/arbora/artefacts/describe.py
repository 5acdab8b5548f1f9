"""Artefacts of groups of trees, each with its coverage on trees that it was not made from."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError
from ..forest.forest import Forest
from ..models.forest_estimator import read_or_convert
from ..models.patterns.json_notation import is_json
from . import queries, schemas, skeletons
from .paths import LabelPaths, label_paths
from .queries import PathSet
from .skeletons import SkeletonNode

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

N_FOLDS = 5
FEWEST = 5  # trees of a group, below which nothing can be held out
MOST_TREES = 5_000  # looked at


class Coverage(NamedTuple):
    """How well an artefact fits trees that it was not made from.

    Attributes
    ----------
    own : share of the held-out trees of the group that it covers; of a skeleton, the share of its nodes that such a
        tree has, on average. None if too few trees could be held out.
    elsewhere : the same of held-out trees of other groups; None if there are none.
    """

    own: float | None
    elsewhere: float | None


class ClusterArtefacts(NamedTuple):
    """What can be copied of one group.

    Attributes
    ----------
    cluster : number of the group.
    n_trees : trees of the group that were looked at.
    skeleton : roots of the skeleton, with probabilities.
    paths : conditions in XPath or JSONPath.
    json_schema : JSON Schema of the documents; None unless most of them are JSON.
    coverage : of "skeleton", "paths" and "schema", on held-out trees.
    held_out : how trees were held out: "cross-fitting", "given trees" or "none".
    """

    cluster: int
    n_trees: int
    skeleton: tuple[SkeletonNode, ...]
    paths: PathSet
    json_schema: dict[str, Any] | None
    coverage: dict[str, Coverage]
    held_out: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON takes them."""
        return {
            "cluster": self.cluster,
            "n_trees": self.n_trees,
            "skeleton": [root.as_dict() for root in self.skeleton],
            "paths": self.paths.as_dict(),
            "json_schema": self.json_schema,
            "coverage": {what: found._asdict() for what, found in self.coverage.items()},
            "held_out": self.held_out,
        }

    def coverage_text(self, what: str) -> str:
        """The coverage of "skeleton", "paths" or "schema", in words."""
        own, elsewhere = self.coverage[what]
        if own is None:
            return "not measured: too few trees to hold some out"
        rest = "" if elsewhere is None else f", and {elsewhere:.0%} of {{}}"
        where = "in cross-fitting" if self.held_out == "cross-fitting" else "on the trees given for it"
        if what == "skeleton":
            rest = rest.replace("{}", "them in other trees")
            return f"{where}: trees held out have {own:.0%} of its nodes on average{rest}"
        rest = rest.replace("{}", "the others")
        verb = "meet" if what == "paths" else "pass"
        return f"{where}: {own:.0%} of the cluster's trees held out {verb} it{rest}"

    def skeleton_text(self) -> str:
        """The skeleton, a line per node."""
        return "\n".join(line for root in self.skeleton for line in root.lines())


class _Looked(NamedTuple):
    """Trees as artefacts see them: made from `made_from`, the others may be held out."""

    paths: LabelPaths
    documents: list[schemas.Value] | None
    label: Ints
    json: Bools  # which trees are documents of JSON


def describe_clusters(
    forest: Any,
    labels: ArrayLike,
    held_out: Any = None,
    held_out_labels: ArrayLike | None = None,
    *,
    most_trees: int = MOST_TREES,
) -> list[ClusterArtefacts]:
    """Skeleton, paths and JSON Schema of each group of trees, whatever model found the groups.

    The skeleton holds the label paths of at least half of a group's trees.  The paths are up to four conditions, chosen
    one by one for the F1 of selecting the group among all trees.  The schema is for trees of JSON documents.  Of many
    trees some are looked at, drawn at random.

    Parameters
    ----------
    forest : Forest, ForestStore, nested trees or path
        The trees.
    labels : array of int of shape (n_trees,)
        Group of each tree; trees with a negative number are in no group.
    held_out : Forest, nested trees, path or None, default None
        Other trees, to measure coverage on.  None measures by five-fold cross-fitting: each artefact is made five times
        without a fifth of the trees, and measured on that fifth.
    held_out_labels : array of int or None, default None
        Groups of the trees held out.
    most_trees : int, default 5000
        Trees that are looked at.

    Returns
    -------
    list of ClusterArtefacts
        One for each group that has trees, in the order of their numbers.

    Examples
    --------
    >>> trees = [("a", ["b", "c"])] * 6 + [("d", ["e"])] * 6
    >>> first, second = describe_clusters(trees, [0] * 6 + [1] * 6)
    >>> print(first.skeleton_text())
    a  1.00
      b  1.00
      c  1.00
    >>> first.paths.expression, first.coverage["paths"]
    ('boolean(/a)', Coverage(own=1.0, elsewhere=0.0))
    """
    trees, label = _checked(forest, labels, "labels")
    trees, label = _some(trees, label, most_trees)
    json = is_json(trees.vocabulary)
    numbers = np.unique(label[label >= 0]).tolist()
    if held_out is None:
        looked, made_from = _look(trees, label, json), np.ones(len(label), bool)
        coverage = {k: _cross_fitted(looked, k) for k in numbers}
    else:
        others, other_label = _checked(held_out, held_out_labels, "held_out_labels")
        others, other_label = _some(others, other_label, most_trees)
        both, n = _joined(trees, others), len(label)
        looked = _look(both, np.concatenate([label, other_label]), json)
        made_from = np.arange(both.n_trees) < n
        coverage = {k: _measured(looked, k, made_from, ~made_from) for k in numbers}
    return [_artefacts(looked, k, made_from, coverage[k], held_out is not None) for k in numbers]


def _artefacts(looked: _Looked, k: int, made_from: Bools, found: dict[str, Coverage], given: bool) -> ClusterArtefacts:
    own, others = made_from & (looked.label == k), made_from & (looked.label != k)
    json = _in_json(looked, k)
    chosen = queries.choose(looked.paths, own, others, json if looked.json.any() else None)
    return ClusterArtefacts(
        cluster=k,
        n_trees=int(own.sum()),
        skeleton=skeletons.skeleton(looked.paths, own),
        paths=queries.written(looked.paths, chosen, json),
        json_schema=_schema(looked, own) if json else None,
        coverage=found,
        held_out="given trees" if given else "none" if found["paths"].own is None else "cross-fitting",
    )


# ---- coverage -------------------------------------------------------------------------------------------------------


def _measured(looked: _Looked, k: int, made_from: Bools, measured_on: Bools) -> dict[str, Coverage]:
    """Coverage of artefacts made from some trees on others."""
    mine = looked.label == k
    own, others = measured_on & mine, measured_on & ~mine
    paths = looked.paths
    nodes = skeletons.nodes_of(paths, made_from & mine)
    json = _in_json(looked, k)
    chosen = queries.choose(paths, made_from & mine, made_from & ~mine, json if looked.json.any() else None)
    found = {
        "skeleton": _both(lambda trees: skeletons.overlap(paths, nodes, trees), own, others),
        "paths": _both(lambda trees: queries.selected(paths, chosen, trees), own, others),
    }
    schema, documents = _schema(looked, made_from & mine) if json else None, looked.documents
    if schema is not None and documents is not None:
        found["schema"] = _both(lambda trees: _share_that_meets(documents, schema, trees), own, others)
    return found


def _both(measure: Callable[[Bools], float | None], own: Bools, others: Bools) -> Coverage:
    return Coverage(measure(own), measure(others))


def _share_that_meets(documents: Sequence[schemas.Value], schema: dict[str, Any], trees: Bools) -> float | None:
    at = np.flatnonzero(trees).tolist()
    return sum(schemas.meets(documents[t], schema) for t in at) / len(at) if at else None


def _cross_fitted(looked: _Looked, k: int) -> dict[str, Coverage]:
    """Coverage on each fifth of the trees of artefacts made from the rest, averaged over the trees of the group."""
    mine = looked.label == k
    kinds = ["skeleton", "paths", *(["schema"] if _in_json(looked, k) else [])]
    if mine.sum() < FEWEST:
        return dict.fromkeys(kinds, Coverage(None, None))
    fold = np.empty(len(mine), np.int64)
    rng = np.random.default_rng(0)
    for part in (mine, ~mine):
        fold[part] = rng.permutation(int(part.sum())) % N_FOLDS
    measured = [_measured(looked, k, fold != f, fold == f) for f in range(N_FOLDS)]
    n_own = [int((mine & (fold == f)).sum()) for f in range(N_FOLDS)]
    n_others = [int((~mine & (fold == f)).sum()) for f in range(N_FOLDS)]
    return {kind: Coverage(_mean([one[kind].own for one in measured], n_own),
                           _mean([one[kind].elsewhere for one in measured], n_others)) for kind in kinds}  # fmt: skip


def _mean(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    known = [(value, n) for value, n in zip(values, weights, strict=True) if value is not None]
    return sum(value * n for value, n in known) / sum(n for _, n in known) if known else None


# ---- trees ----------------------------------------------------------------------------------------------------------


def _checked(forest: Any, labels: ArrayLike | None, what: str) -> tuple[Forest, Ints]:
    trees = read_or_convert(forest)
    label = np.asarray(labels)
    if label.shape != (trees.n_trees,) or (label.size and label.dtype.kind not in "iu"):
        raise SettingError(f"{what} of shape {label.shape}; wanted the group of each of {trees.n_trees} trees")
    return trees, label.astype(np.int64)


def _some(trees: Forest, label: Ints, most: int) -> tuple[Forest, Ints]:
    """All trees, or some of each group, drawn at random, if there are too many."""
    if trees.n_trees <= most:
        return trees, label
    chosen = np.sort(np.random.default_rng(0).permutation(trees.n_trees)[:most])
    few = [np.flatnonzero(label == k)[:N_FOLDS] for k in np.unique(label)]  # the smallest groups keep some
    chosen = np.unique(np.concatenate([chosen, *few]))
    return trees.take(chosen), label[chosen]


def _joined(trees: Forest, others: Forest) -> Forest:
    """Both forests in one, over the labels of the first."""
    others = others.with_vocabulary(trees.vocabulary)
    n = trees.n_nodes
    shifted = np.where(others.parent >= 0, others.parent + n, others.parent)
    return Forest(
        np.concatenate([trees.parent, shifted]),
        np.concatenate([trees.slot, others.slot]),
        np.concatenate([trees.label, others.label]),
        np.concatenate([trees.tree_start, others.tree_start[1:] + n]),
        trees.vocabulary,
    )


def _look(trees: Forest, label: Ints, json: bool) -> _Looked:
    documents = schemas.documents_of(trees) if json else None
    root = trees.label[trees.tree_start[1:] - 1]
    known = [code for code, word in enumerate(trees.vocabulary) if word in queries.KINDS] if json else []
    return _Looked(label_paths(trees), documents, label, np.isin(root, known))


def _in_json(looked: _Looked, k: int) -> bool:
    """Whether most trees of a group are documents of JSON; XML may stand beside them."""
    mine = looked.label == k
    return bool(mine.any()) and float(looked.json[mine].mean()) > 0.5


def _schema(looked: _Looked, trees: Bools) -> dict[str, Any] | None:
    documents = looked.documents or []
    some = [documents[t] for t in np.flatnonzero(trees & looked.json).tolist()]
    return schemas.schema_of(some) if some else None
