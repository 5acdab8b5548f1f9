"""Sums of two fitted mixtures of patterns: groups that are one kind add their counts; note.md, section 10."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from ...errors import SettingError
from . import fitted as ft
from . import marginals as mg
from .fitted import Model, Sums
from .joined_tables import add_columns, join_patterns
from .kernels.group_sweeps import Groups, Rows
from .marginals import Corpus, PartitionPrior
from .search import FIRST_STRENGTH

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAME = ("families", "labels", "min_trees", "power", "prior", "concentration", "n_components")
ROUNDS = 5  # of a matching and strengths that suit it


def check_same(a: Any, b: Any) -> None:
    """Raise unless the settings that shape a model are the same."""
    for name in SAME:
        one, two = getattr(a, name), getattr(b, name)
        if (tuple(one), tuple(two)) != (tuple(two), tuple(one)) if name == "families" else one != two:
            raise SettingError(f"{name}: {one!r} and {two!r}; models are added if they agree on it: fit one again")
    if a.power_ != b.power_:
        raise SettingError(f"power_: {a.power_:g} and {b.power_:g}; models are added if they agree on it: set power")


def add_models(a: Any, b: Any) -> Any:
    """The model of the trees of both."""
    check_same(a, b)
    patterns, from_a, from_b = join_patterns(a.patterns_, b.patterns_)
    n_a, n_b = len(a.group_size_), len(b.group_size_)
    count = add_columns([(a.pattern_count_, from_a), (b.pattern_count_, from_b)], patterns.table.n_columns)
    apart = Sums(count, np.append(a.group_size_, b.group_size_))
    model = _model(a, apart, patterns.table.family_of_columns())
    allowed = _allowed(a, b)
    number = np.zeros(0, np.int64)
    for _ in range(ROUNDS):
        before, number = number, _numbered(_matched(model, n_a, allowed, a.n_components), n_a, n_b)
        model = model._replace(strengths=_strengths(_joined(model, number)))
        if np.array_equal(before, number):
            break
    labels = [number[a.labels_], number[n_a + b.labels_]]
    order = _by_size(_joined(model, number).sums.size, np.concatenate(labels))
    number = order[number]
    model = _joined(model, number)
    out = type(a)(**a.get_params(deep=False))
    out.patterns_, out.vocabulary_ = patterns, tuple(dict.fromkeys([*a.vocabulary_, *b.vocabulary_]))
    out.strengths_, out.power_, out.share_ = model.strengths, a.power_, model.share
    out._set_sums(model.sums)
    out.concentration_ = _concentration(model) if _learns(a) else a.concentration_
    _keep_trees(out, a, b, number)
    out.log_posterior_ = ft.log_posterior_of(out.model_)
    patterns.provenance_ = {**out.provenance_, "model": "TreePatterns", "params": patterns._plain_params()}
    return out


# ---- which groups are one -------------------------------------------------------------------------------------------


def _allowed(a: Any, b: Any) -> NDArray[np.int8]:
    """Which groups may become one, [group of a, group of b]: 1 they may, 0 not, 2 they must, for they have a class."""
    out = np.ones((len(a.group_size_), len(b.group_size_)), np.int8)
    of_a, of_b = a.class_groups_, b.class_groups_
    for g in of_a.values():
        out[g, list(of_b.values())] = 0
    for name in set(of_a) & set(of_b):
        out[of_a[name]] = 0
        out[:, of_b[name]] = 0
        out[of_a[name], of_b[name]] = 2
    return out


def _gains(model: Model, n_a: int) -> Floats:
    """What log P gains from one group of two, but for the number of groups, [group of a, group of b]."""
    count, size = model.sums
    alpha = model.strengths[model.family] * model.share
    total, s = model.totals(), model.strengths[:, None]
    shift = mg.size_shift(model.prior)
    out = np.empty((n_a, len(size) - n_a))
    for k in range(n_a):
        own = np.flatnonzero(count[k])
        x, y, mine = count[k, own], count[n_a:, own], alpha[own]
        joint = gammaln(mine + x + y) - gammaln(mine + x) - gammaln(mine + y) + gammaln(mine)
        both, one, two = total[:, [k]] + total[:, n_a:], total[:, [k]], total[:, n_a:]
        whole = (gammaln(s + one) + gammaln(s + two) - gammaln(s + both) - gammaln(s)).sum(axis=0)
        sizes = gammaln(size[k] + size[n_a:] + shift) + gammaln(1.0 + shift)
        sizes -= gammaln(size[k] + shift) + gammaln(size[n_a:] + shift)
        out[k] = model.weight * (joint.sum(axis=1) + whole) + sizes
    return out


def _matched(model: Model, n_a: int, allowed: NDArray[np.int8], n_components: int | None) -> Ints:
    """Pairs (group of a, group of b) that are one: those of most log P, among all ways to pair groups."""
    n_b = len(model.sums.size) - n_a
    gain = np.where(allowed > 0, _gains(model, n_a), -np.inf)
    must = int((allowed == 2).sum())
    part = mg.log_part(model.prior, int(model.sums.size.sum()), n_a + n_b)
    least = must if n_components is None else max(must, n_a + n_b - n_components)
    best, found = -np.inf, None
    for m in range(least, min(n_a, n_b) + 1):
        pairs = _best_pairs(gain, allowed == 2, m)
        if pairs is None:
            continue
        value = float(gain[pairs[:, 0], pairs[:, 1]].sum() + part[n_a + n_b - m])
        if value > best:
            best, found = value, pairs
        if n_components is not None:
            break
    if found is None:
        raise SettingError(
            f"n_components={n_components}: the known classes of both models have more groups; leave it None"
        )
    return found


def _best_pairs(gain: Floats, must: NDArray[np.bool_], m: int) -> Ints | None:
    """The m pairs of largest sum, no group in two of them; None if there are none."""
    n_a, n_b = gain.shape
    cost = np.full((n_a + n_b - m, n_b + n_a - m), np.inf)
    cost[:n_a, :n_b] = -gain
    cost[:n_a, n_b:] = np.where(must.any(axis=1), np.inf, 0.0)[:, None]
    cost[n_a:, :n_b] = np.where(must.any(axis=0), np.inf, 0.0)[None]
    try:
        row, column = linear_sum_assignment(cost)
    except ValueError:  # no way to pair so many
        return None
    real = (row < n_a) & (column < n_b)
    return np.column_stack([row[real], column[real]])


def _numbered(pairs: Ints, n_a: int, n_b: int) -> Ints:
    """A number for each group of a and then of b, one number for those of a pair."""
    out = np.arange(n_a + n_b)
    out[n_a + pairs[:, 1]] = pairs[:, 0]
    return mg.compact(out)


# ---- the numbers of the sum -----------------------------------------------------------------------------------------


def _model(a: Any, sums: Sums, family: Ints) -> Model:
    """Groups with the background of the trees of all of them."""
    share = ft.background(sums.count.sum(axis=0), family, len(a.families))
    prior = PartitionPrior(a.prior, 1.0 if a.concentration is None else float(a.concentration))
    model = Model(sums, share, family, a.strengths_, a.power_, prior)
    if _learns(a):
        model = model._replace(prior=prior._replace(concentration=_concentration(model)))
    return model._replace(strengths=_strengths(model))


def _learns(a: Any) -> bool:
    """Whether a fit learns the concentration."""
    return a.concentration is None and a.prior == "dp" and a.n_components is None


def _concentration(model: Model) -> float:
    return mg.best_concentration(len(model.sums.size), int(model.sums.size.sum()))


def _joined(model: Model, number: Ints) -> Model:
    """The model with groups of one number added up."""
    n = int(number.max()) + 1
    count = np.zeros((n, model.sums.count.shape[1]), np.int64)
    np.add.at(count, number, model.sums.count)
    return model._replace(sums=Sums(count, np.bincount(number, model.sums.size, n).astype(np.int64)))


def _strengths(model: Model) -> Floats:
    """The strengths of most evidence on the grid, as a fit finds them."""
    nothing = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, len(model.strengths)), np.int64))
    corpus = Corpus(nothing, model.share, model.family, len(model.strengths))
    count = np.ascontiguousarray(model.sums.count.T.astype(np.int32))
    groups = Groups(np.zeros(0, np.int64), count, np.zeros((0, 0)), model.totals(), model.sums.size)
    return np.asarray(mg.STRENGTHS[mg.best_strengths(corpus, groups, np.full(len(model.strengths), FIRST_STRENGTH))])


def _by_size(size: Ints, labels: Ints) -> Ints:
    """The new number of each group: by decreasing size, of equal ones the first met in the labels first."""
    first = np.full(len(size), len(labels))
    seen, at = np.unique(labels, return_index=True)
    first[seen] = at
    out = np.empty(len(size), np.int64)
    out[np.lexsort((first, -size))] = np.arange(len(size))
    return out


def _keep_trees(out: Any, a: Any, b: Any, number: Ints) -> None:
    """What is kept by tree: those of a come first."""
    n_a, n_first = len(a.group_size_), int(a.provenance_["n_trees"])
    out.labels_ = np.append(number[a.labels_], number[n_a + b.labels_])
    out.fitted_trees_ = np.append(a.fitted_trees_, n_first + b.fitted_trees_)
    out.left_out_ = np.append(a.left_out_, b.left_out_)
    out.left_out_label_ = np.append(number[a.left_out_label_], number[n_a + b.left_out_label_])
    out.split_gain_ = out.split_side_ = None
    out.moves_ = []
    out.converged_ = a.converged_ and b.converged_
    out.known_classes_ = None
    parts = [(a, 0, number[:n_a]), (b, n_first, number[n_a:])]
    if any(hasattr(one, "constraints_") for one, _, _ in parts):
        _keep_known(out, parts)
    of_a, of_b = (getattr(one, "_tree_names", None) for one in (a, b))
    out._tree_names = None if of_a is None or of_b is None else [*of_a, *of_b]
    out.provenance_ = _provenance(out, a.provenance_, b.provenance_)


def _keep_known(out: Any, parts: Any) -> None:
    """Constraints of both, by the numbers that trees have in the sum."""
    parts = [part for part in parts if hasattr(part[0], "constraints_")]
    out.known_classes_ = list(dict.fromkeys(name for one, _, _ in parts for name in one.known_classes_))
    group = {name: int(new[k]) for one, _, new in parts for name, k in one.class_groups_.items()}
    code = {name: c for c, name in enumerate(out.known_classes_)}
    kept: dict[str, list[Ints]] = {"known_tree": [], "known_class": [], "must_link": [], "cannot_link": []}
    for one, before, _ in parts:
        for name in ("known_tree", "must_link", "cannot_link"):
            kept[name].append(one.constraints_[name] + before)
        new = np.array([code[name] for name in one.known_classes_], np.int64)
        kept["known_class"].append(new[one.constraints_["known_class"]])
    out.constraints_ = {name: np.concatenate(values) for name, values in kept.items()}
    out.constraints_["class_group"] = np.array([group[name] for name in out.known_classes_], np.int64)


def _provenance(out: Any, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Where the sum is from; its digest is that of the digests of its parts."""
    parts = [part for one in (a, b) for part in one.get("sum_of", [one])]
    joined = {**a, "params": out._plain_params(), "sum_of": parts}
    for name in ("n_trees", "n_nodes"):
        joined[name] = a[name] + b[name]
    digests = " ".join(part["data_sha256"] for part in parts)
    joined["data_sha256"] = hashlib.sha256(digests.encode()).hexdigest()
    if a.get("reading") != b.get("reading"):
        joined.pop("reading", None)
    return joined
