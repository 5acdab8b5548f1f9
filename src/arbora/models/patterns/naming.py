"""What sets a group of trees apart: patterns by lift and coverage, a name, and a skeleton; for groups of any model."""

import itertools
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ...errors import SettingError
from ...forest.forest import Forest
from ..forest_estimator import open_or_convert
from .families import FIRST_LABEL
from .json_notation import is_json, json_label, json_node, writer_of
from .kernels.keys import END, START
from .phrases import Named, contrast_of, short_names
from .table import PatternTable, Writer, quoted
from .transformer import TreePatterns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAMILIES = ("rules", "rules2", "bigrams", "labels", "pairs")
OF_RULES = 3  # families that are listed as rules; names also use the others
STRENGTH = 10.0  # patterns of the background that each group is shrunk by
MOST_TREES = 5000  # looked at
AS_GOOD = 0.8  # share of the best score from which on the longest pattern is taken
COMMON = 0.5  # share of the trees that have a rule of the skeleton
MOST_DEPTH, MOST_NODES = 5, 40  # of a skeleton


class PatternLift(NamedTuple):
    """A pattern of a group."""

    text: str
    lift: float  # how much more frequent than in all trees
    coverage: float  # share of the group's trees that have it


class GroupName(NamedTuple):
    """What sets a group apart."""

    name: str
    patterns: list[PatternLift]
    skeleton: dict[str, Any] | None  # nested, as trees of a Forest; None of a group without trees
    skeleton_text: str


class _Lifts(NamedTuple):
    """Coverage and lift of all patterns, and the trees that have them, [group, pattern]."""

    coverage: Floats
    lift: Floats
    n_with: Floats


def name_groups(forest: Any, labels: ArrayLike, n: int = 3) -> list[GroupName]:
    """Name groups of trees, whatever model found them: an entry for each of the groups 0, 1, ..., max(labels).

    A name is made of what most trees of a group have and few others do: labels first, then pairs of labels, adjacent
    siblings and short rules, in words (`phrases`).

    Patterns count by coverage times log lift.  Of patterns that count nearly as much the longest comes first, and one
    that is contained in one chosen before is left out.  The skeleton joins rules of at least half the trees
    from the root, where the label of a child and of a rule meet; a label without such a rule has the children that
    follow each other in half of the trees.  Trees with a negative label are in no group.

    >>> groups = name_groups([("a", ["b", "c"])] * 3 + [("d", ["e"])] * 2, [0, 0, 0, 1, 1])
    >>> [group.name for group in groups]
    ['a, b, c', 'd, e']
    >>> groups[0].patterns[0].coverage, groups[0].skeleton_text
    (1.0, 'a(b, c)')
    """
    return Namer(forest).name(labels, n)


class _Counted(NamedTuple):
    """Some trees and their patterns."""

    sample: Forest
    rows: Any  # sparse [tree, pattern]
    patterns: TreePatterns


class Namer:
    """Names several groupings of the same trees, whose patterns are counted once unless trees have to be drawn.

    >>> namer = Namer([("a", ["b", "c"])] * 3 + [("d", ["e"])] * 2)
    >>> [group.name for group in namer.name([0, 0, 0, 1, 1])], [group.name for group in namer.name([0, 0, 0, 0, 0])]
    (['a, b, c', 'd, e'], ['a, b, c'])
    """

    def __init__(self, forest: Any):
        self.trees = open_or_convert(forest)
        self._all: _Counted | None = None

    def name(self, labels: ArrayLike, n: int = 3, skip: int | None = None) -> list[GroupName]:
        """Name the groups as `name_groups` does; group `skip`, which nobody shows, gets no skeleton."""
        group = np.asarray(labels)
        n_trees = self.trees.n_trees
        if group.shape != (n_trees,) or (group.size and group.dtype.kind not in "iu"):
            raise SettingError(f"labels of shape {group.shape}; wanted the group of each of {n_trees} trees")
        n_groups = int(group.max(initial=-1)) + 1
        if n_groups < 1:
            return []
        chosen = _some_of_each(group, n_groups)
        (sample, rows, patterns), group = self._count(chosen), group[chosen]
        lifts = _lifts(rows, group, n_groups, patterns.table.family_of_columns())
        writer = writer_of(patterns.table, patterns.vocabulary_)
        size = np.bincount(group, minlength=n_groups)
        contrast = contrast_of(lifts.n_with, size)
        names = short_names(
            Named(contrast, patterns.table, writer.keys_of_columns(), patterns.vocabulary_),
            [float(np.median(sample.sizes[group == k])) if size[k] else 0.0 for k in range(n_groups)],
            size,
        )
        picked = [_pick(lifts.coverage[k], lifts.lift[k], patterns.table, writer, n) for k in range(n_groups)]
        json = is_json(patterns.vocabulary_)
        out = []
        for k, name in enumerate(names):
            skeleton = None if k == skip else _skeleton(sample, group == k, lifts.coverage[k], patterns.table)
            out.append(GroupName(name, picked[k], skeleton, "" if skeleton is None else _as_text(skeleton, json)))
        return out

    def _count(self, chosen: Ints) -> _Counted:
        if len(chosen) == self.trees.n_trees and self._all is not None:
            return self._all
        sample, patterns = self.trees.take(chosen), TreePatterns(FAMILIES)
        counted = _Counted(sample, patterns.fit_transform(sample), patterns)
        if len(chosen) == self.trees.n_trees:
            self._all = counted
        return counted


def _some_of_each(group: Ints, n_groups: int) -> Ints:
    """Trees to look at: all, or as many of each group, drawn at random, if there are too many."""
    inside = np.flatnonzero(group >= 0)
    if len(inside) <= MOST_TREES:
        return inside
    most = max(1, MOST_TREES // n_groups)
    order = np.random.default_rng(0).permutation(inside)
    order = order[np.argsort(group[order], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    return np.sort(order[rank < most])


def _lifts(rows: Any, group: Ints, n_groups: int, family: Ints) -> _Lifts:
    """Coverage C/n and lift (C + s m) / ((N + s) m) of every pattern in every group."""
    member = sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(n_groups, len(group)))
    count = np.asarray((member @ rows).toarray())
    size = np.bincount(group, minlength=n_groups)
    in_family = np.eye(len(FAMILIES))[family]  # [pattern, family]
    total = (count @ in_family)[:, family]
    share = count.sum(axis=0) / np.maximum(count.sum(axis=0) @ in_family, 1.0)[family]
    lift = (count + STRENGTH * share) / ((total + STRENGTH) * np.maximum(share, 1e-300))
    return _Lifts(count / np.maximum(size, 1)[:, None], lift, count)


# ---- patterns of a group --------------------------------------------------------------------------------------------


def _pick(coverage: Floats, lift: Floats, table: PatternTable, writer: Writer, n: int) -> list[PatternLift]:
    """The n patterns that set the group apart, none contained in one before it."""
    is_rule = table.family_of_columns() < OF_RULES
    score = np.where(is_rule, coverage * np.log(np.maximum(lift, 1e-300)), 0.0)
    if score.max(initial=0.0) <= 1e-9:  # nothing is more frequent here than elsewhere
        score = np.where(is_rule, coverage, 0.0)
    where = writer.keys_of_columns()
    open_ = [int(j) for j in np.argsort(-score, kind="stable")[: 50 * n] if score[j] > 0]
    facts = {j: _facts(table, table.families[where[j, 0]], int(where[j, 1])) for j in open_}
    out: list[PatternLift] = []
    while open_ and len(out) < n:
        good = [j for j in open_ if score[j] >= AS_GOOD * score[open_[0]]]
        best = max(good, key=lambda j: len(facts[j]))
        text = writer.text(table.families[where[best, 0]], int(where[best, 1]))
        out.append(PatternLift(text, float(lift[best]), float(coverage[best])))
        open_ = [j for j in open_ if not facts[j] <= facts[best]]
    return out


def _facts(table: PatternTable, family: str, number: int) -> frozenset[tuple[int, ...]]:
    """What a pattern says: the labels in it, and which follow each other below which."""
    keys = table.keys[family]
    symbol = keys.symbol[keys.start[number] : keys.start[number + 1]].tolist()
    if family == "bigrams":
        return frozenset([tuple(symbol), *((x,) for x in symbol if x >= 0)])
    below: list[frozenset[tuple[int, ...]]] = []
    heads = symbol[1:]
    if family == "rules2":
        rules = table.keys["rules"]
        below = [_facts(table, "rules", x) for x in symbol[1:]]
        heads = [int(rules.symbol[rules.start[x]]) for x in symbol[1:]]
    marked = [START, *heads, END]
    own = [(symbol[0], a, b) for a, b in itertools.pairwise(marked)] if heads else []
    return frozenset([(symbol[0],), *((x,) for x in heads), *own]).union(*below)


# ---- the skeleton ---------------------------------------------------------------------------------------------------


def _skeleton(forest: Forest, mine: NDArray[np.bool_], coverage: Floats, table: PatternTable) -> dict[str, Any] | None:
    """Rules of most trees joined where the labels of a child and of a rule meet, from what the roots have on."""
    if not mine.any():
        return None
    top = forest.tree_start[1:][mine] - 1
    root = int(np.bincount(forest.label[top] + FIRST_LABEL).argmax())
    best = _common_rules(coverage, table)
    made: dict[str, Any] = _node(forest, root)
    waiting = [(made, root, frozenset[int]())]
    n_nodes = 1
    while waiting:
        node, code, above = waiting.pop(0)
        children = best.get(code, []) if above else _children_of_roots(forest, top, root)
        if code in above or len(above) >= MOST_DEPTH or n_nodes + len(children) > MOST_NODES:
            continue
        for child in children:
            node.setdefault("children", []).append(_node(forest, child))
            waiting.append((node["children"][-1], child, above | {code}))
        n_nodes += len(children)
    return made


def _children_of_roots(forest: Forest, top: Ints, root: int) -> list[int]:
    """Children of half of the roots or more: all of one root's, or those that follow each other from the first on.

    Inner nodes may have the root's label and other children, as objects of JSON do.
    """
    child = np.flatnonzero(np.isin(forest.parent, top[forest.label[top] + FIRST_LABEL == root]))
    order = np.lexsort((child, forest.parent[child]))  # siblings are in order
    code, parent = forest.label[child][order] + FIRST_LABEL, forest.parent[child][order]
    cut = [0, *(np.flatnonzero(np.diff(parent)) + 1).tolist(), len(code)]
    codes = code.tolist()
    each = Counter(tuple(codes[lo:hi]) for lo, hi in itertools.pairwise(cut))
    (whole, n), *_ = each.most_common(1)
    if n >= COMMON * len(top):
        return list(whole)
    after: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for children, times in each.items():
        for one, two in set(itertools.pairwise([START, *children, END])):
            after[one][two] += times
    chain: list[int] = []
    last = START
    while True:
        following = [(n, two) for two, n in after[last].items() if two not in chain]
        n, last = max(following, default=(0, END))
        if last == END or n < COMMON * len(top):
            return chain
        chain.append(last)


def _common_rules(coverage: Floats, table: PatternTable) -> dict[int, list[int]]:
    """For each label the children of the rule that most trees have, if half of them do; else a chain of children."""
    keys, column = table.keys["rules"], table.column["rules"]
    found: dict[int, tuple[float, list[int]]] = {}
    for number in np.flatnonzero(column >= 0).tolist():
        share = float(coverage[column[number]])
        symbol = keys.symbol[keys.start[number] : keys.start[number + 1]].tolist()
        known = found.get(symbol[0], (0.0, []))
        if len(symbol) > 1 and share >= COMMON and (share, len(symbol)) > (known[0], len(known[1]) + 1):
            found[symbol[0]] = share, symbol[1:]
    chains = _common_chains(coverage, table)
    return chains | {code: children for code, (_, children) in found.items()}


def _common_chains(coverage: Floats, table: PatternTable) -> dict[int, list[int]]:
    """For each label the children that follow each other, from the first on, in half of the trees or more."""
    keys, column = table.keys["bigrams"], table.column["bigrams"]
    after: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for number in np.flatnonzero(column >= 0).tolist():
        share = float(coverage[column[number]])
        if share >= COMMON:
            parent, one, two = keys.symbol[3 * number : 3 * number + 3].tolist()
            after.setdefault((parent, one), []).append((share, two))
    chains: dict[int, list[int]] = {}
    for parent in {parent for parent, _ in after}:
        chain, last = [], START
        while True:
            following = [pair for pair in after.get((parent, last), []) if pair[1] not in chain]
            last = max(following)[1] if following else END
            if last == END:
                break
            chain.append(last)
        if chain:
            chains[parent] = chain
    return chains


def _node(forest: Forest, code: int) -> dict[str, Any]:
    if code < FIRST_LABEL:
        return {"label": None, **({"unseen": True} if code == 1 else {})}
    return {"label": forest.vocabulary[code - FIRST_LABEL]}


def _as_text(node: dict[str, Any], json: bool) -> str:
    label = node["label"]
    known = json_label if json else quoted
    own = known(label) if label is not None else "*" if node.get("unseen") else "?"
    children = ", ".join(_as_text(child, json) for child in node.get("children", []))
    if not children:
        return own
    return json_node(own, children) if json else f"{own}({children})"
