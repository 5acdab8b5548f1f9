"""Decision trees of scikit-learn, XGBoost and LightGBM: a split is a node with two children, a leaf has none."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import ForestError
from ..forest.forest import Forest
from .builder import Columns, Fault
from .json_text import json_kind
from .sources import shown

LEAF = "leaf"
DELETED = 2**31 - 1  # feature of a row that XGBoost has pruned


class Split(NamedTuple):
    """A node of a decision tree: its numbers, and where it leads."""

    feature: str | None  # None at a leaf
    number: float  # threshold of a split, value of a leaf; nan if the split has no single threshold
    yes: Any = None  # the child for values below the threshold: a node, or its row
    no: Any = None


def from_sklearn(model: Any, *, feature_names: Sequence[str] | None = None) -> Forest:
    """Make a forest of the decision trees of a fitted scikit-learn model.

    A split is labelled by its feature, a leaf by "leaf".  Slot 0 leads to values up to the threshold, slot 1 to the
    others.

    Parameters
    ----------
    model : estimator
        A fitted decision tree, or an ensemble with ``estimators_``, such as a random forest or boosted trees.
    feature_names : sequence of str or None, default None
        Names of the columns.  None uses the names that the model was fitted with, or else f0, f1, ...

    Returns
    -------
    Forest
        One tree per decision tree.

    Examples
    --------
    >>> from arbora import from_sklearn
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> from_sklearn(model)[0]
    {'label': 'f0', 'children': [{'label': 'leaf'}, {'label': 'leaf'}]}
    """
    fitted = getattr(model, "estimators_", None)
    found = [model] if fitted is None else list(np.ravel(np.asarray(fitted, object)))
    trees: list[Any] = [getattr(one, "tree_", None) for one in found]
    if any(tree is None for tree in trees):
        raise ForestError(f"{type(model).__name__} has no fitted decision trees; fit it, or give a tree or a forest")
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    words = [f"f{n}" for n in range(trees[0].n_features)] if names is None else [str(name) for name in names]
    if len(words) != trees[0].n_features:
        raise ForestError(f"feature_names has {len(words)} names; the model has {trees[0].n_features} features")
    parents, labels, slots, number, start = [], [], [], [], 0
    for t, tree in enumerate(trees):
        parent, slot = np.full(tree.node_count, -1), np.full(tree.node_count, -1)
        for side, children in enumerate((tree.children_left, tree.children_right)):
            inner = np.flatnonzero(children >= 0)
            parent[children[inner]], slot[children[inner]] = inner + start, side
        parents.append(parent)
        slots.append(slot)
        labels += [LEAF if below < 0 else words[f] for below, f in zip(tree.children_left, tree.feature, strict=True)]
        number.append(np.full(tree.node_count, t))
        start += tree.node_count
    return Forest.from_parents(np.concatenate(parents), labels, np.concatenate(slots), np.concatenate(number))


# ---- dumps ----------------------------------------------------------------------------------------------------------


def add_dump(value: Any, columns: Columns) -> None:
    """Append the trees of a dump of XGBoost or LightGBM."""
    if isinstance(value, dict) and "tree_info" in value:
        names = value.get("feature_names")
        for t, tree in enumerate(_array(value["tree_info"], "tree_info")):
            where = f"tree_info[{t}]"
            add_splits(_member(tree, "tree_structure", where), partial(_lightgbm, names), where, columns)
    elif isinstance(value, dict) and "learner" in value:
        _add_xgboost_model(value["learner"], columns)
    elif isinstance(value, list):
        for t, tree in enumerate(value):
            add_splits(tree, _xgboost, f"tree {t}", columns)
    else:
        raise Fault(
            f"found {json_kind(value)}, wanted a dump of XGBoost (an array of trees, or a model with 'learner') or of "
            "LightGBM (an object with 'tree_info')"
        )


def add_splits(root: Any, split_of: Callable[[Any, str], Split], where: str, columns: Columns) -> None:
    """Append one tree; `split_of(node, where)` says what a node is."""
    stack = [(root, 0, -1)]
    n_nodes = 0
    while stack:
        node, level, slot = stack.pop()
        split = split_of(node, f"{where}, node {n_nodes}")
        n_nodes += 1
        columns.depth.append(level)
        columns.label.append(columns.words[LEAF if split.feature is None else split.feature])
        columns.slot.append(slot)
        if split.feature is not None:
            stack += [(split.no, level + 1, 1), (split.yes, level + 1, 0)]
    columns.end_tree()


def _lightgbm(names: Any, node: Any, where: str) -> Split:
    if not isinstance(node, dict) or ("split_feature" not in node and "leaf_value" not in node):
        raise Fault(f"{where}: found {json_kind(node)}, wanted 'split_feature' or 'leaf_value'")
    if "split_feature" not in node:
        return Split(None, _number(node["leaf_value"]))
    feature = node["split_feature"]
    yes, no = _member(node, "left_child", where), _member(node, "right_child", where)
    return Split(_feature(feature, names, where), _number(node.get("threshold")), yes, no)


def _xgboost(node: Any, where: str) -> Split:
    if not isinstance(node, dict) or ("split" not in node and "leaf" not in node):
        raise Fault(f"{where}: found {json_kind(node)}, wanted 'split' or 'leaf'; dump with dump_format=\"json\"")
    if "leaf" in node:
        return Split(None, _number(node["leaf"]))
    children = {}
    for child in _array(node.get("children"), f"{where}: 'children'"):
        if isinstance(child, dict) and isinstance(child.get("nodeid"), int):
            children[child["nodeid"]] = child
    ids = [node.get(key) for key in ("yes", "no")]
    if not all(isinstance(one, int) and one in children for one in ids) or len(children) != 2 or ids[0] == ids[1]:
        raise Fault(f"{where}: 'yes' and 'no' are not its two children, wanted the ids of both")
    if not isinstance(node["split"], (str, int)):
        raise Fault(f"{where}: 'split' is {json_kind(node['split'])}, wanted the name of a feature")
    return Split(str(node["split"]), _number(node.get("split_condition")), *(children[one] for one in ids))


def _add_xgboost_model(learner: Any, columns: Columns) -> None:
    """The trees that ``save_model`` writes: columns of rows, which name their children."""
    booster = _member(learner, "gradient_booster", "learner")
    booster = booster.get("gbtree", booster) if isinstance(booster, dict) else booster  # dart has one inside
    trees = _array(_member(_member(booster, "model", "gradient_booster"), "trees", "model"), "model.trees")
    names = learner.get("feature_names") or None
    for t, tree in enumerate(trees):
        rows = _Rows(tree, names, f"trees[{t}]")
        add_splits(0, rows.split, f"trees[{t}]", columns)
        rows.check_all_used()


class _Rows:
    """A tree in columns: its rows, each of which may be reached once."""

    def __init__(self, tree: Any, names: Any, where: str) -> None:
        keys = ("left_children", "right_children", "split_indices", "split_conditions")
        self.left, self.right, self.feature, self.number = (
            _array(_member(tree, key, where), f"{where}.{key}") for key in keys
        )
        self.names, self.n_rows, self.where = names, len(self.left), where
        stated = tree.get("tree_param")
        self.n_deleted = str(stated.get("num_deleted", 0)) if isinstance(stated, dict) else "0"
        if not self.n_rows or not len(self.right) == len(self.feature) == len(self.number) == self.n_rows:
            raise Fault(f"{where}: its columns are empty or differ in length, wanted a row per node")
        self.seen = bytearray(self.n_rows)

    def split(self, row: Any, where: str) -> Split:
        if type(row) is not int or not 0 <= row < self.n_rows or self.seen[row]:
            raise Fault(f"{where}: its row is {shown(str(row))}, wanted one of {self.n_rows} rows that is used once")
        self.seen[row] = 1
        number = _number(self.number[row])
        if self.left[row] == -1:
            return Split(None, number)
        return Split(_feature(self.feature[row], self.names, where), number, self.left[row], self.right[row])

    def check_all_used(self) -> None:
        """Raise if more rows are left over than pruning has deleted."""
        unused = [row for row in range(self.n_rows) if not self.seen[row] and self.feature[row] != DELETED]
        if unused and str(len(unused)) != self.n_deleted:
            raise Fault(f"{self.where}: row {unused[0]} is no row's child, wanted a tree of all {self.n_rows} rows")


def _feature(number: Any, names: Any, where: str) -> str:
    """The name of a feature; f0, f1, ... without names."""
    if type(number) is not int or number < 0:
        raise Fault(f"{where}: its feature is {shown(str(number))}, wanted a whole number")
    if names is None:
        return f"f{number}"
    if not isinstance(names, list) or number >= len(names) or not isinstance(names[number], str):
        raise Fault(f"{where}: its feature {number} has no name in the list of names; wanted one for each")
    return str(names[number])


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and abs(value) < 1e308 else float("nan")


def _member(holder: Any, key: str, where: str) -> Any:
    if not isinstance(holder, dict) or key not in holder:
        raise Fault(f"{where}: found {json_kind(holder)}, wanted an object with the key {key!r}")
    return holder[key]


def _array(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Fault(f"{where}: found {json_kind(value)}, wanted an array")
    return value
