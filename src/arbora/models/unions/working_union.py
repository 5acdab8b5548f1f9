"""A union of trees as the search handles it: its order, how often each node occurs, where the members' nodes are."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...forest.kernels.tree_shape import Kinds, Shape, find_kinds, list_children
from ..file_checks import check_array
from .kernels import union_order
from .node_codes import Code, LabelLengths, label_lengths, mixing_length, node_length
from .union_content import N_SUMS, ContentCode, content_ids, shared_lengths, summed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_CONTENT = np.zeros((0, 0, N_SUMS))


class Samples(NamedTuple):
    """The distinct trees of a forest, nodes flat, children before parents, with how often each occurs."""

    parent: Ints  # within the tree; its size at the root
    label: Ints  # negative: not known; empty if labels do not count
    start: Ints
    weight: Ints
    sample_id: Ints  # distinct tree of each tree of the forest
    position: Ints  # of each node of the forest, in its distinct tree
    moment: Floats = NO_CONTENT  # [node, column, 4] of its content (union_content.value_moments)

    def size(self, t: int) -> int:
        return int(self.start[t + 1] - self.start[t])


class Union(NamedTuple):
    """A tree order over nodes of which each member keeps some."""

    parent: Ints  # children before parents; n at a root
    node_count: Ints  # samples that have the node
    n_assigned: int  # samples
    entry: Ints  # node * n_labels + label, ascending; empty without labels
    entry_count: Ints
    member: Ints  # distinct trees
    node_match: Ints  # node of the union for each node of each member, one member after the other
    moment: Floats = NO_CONTENT  # [node, column, 4] sums of the content of the members' nodes

    @property
    def n_nodes(self) -> int:
        return len(self.parent)


def number_subtrees(parent: Ints, label: Sequence[int] | None) -> Ints:
    """A number for each node, the same exactly where subtrees are isomorphic, labels included if given."""
    n = len(parent)
    names: dict[tuple[int, ...], int] = {}
    canon = np.empty(n, np.int64)
    below: list[list[int]] = [[] for _ in range(n)]
    known = [0] * n if label is None else label
    for u, p in enumerate(parent.tolist()):  # children first, so one pass is enough
        canon[u] = names.setdefault((known[u], *sorted(below[u])), len(names))
        if p >= 0:
            below[p].append(int(canon[u]))
        below[u] = []
    return canon


def collect_samples(forest: Forest, labels: bool, moment: Floats | None = None) -> Samples:
    """The trees that differ as unordered trees, in labels if these count and in content if it is given, each once."""
    known = np.maximum(forest.label, -1) if labels else None  # missing and unseen labels say as little
    if moment is not None and moment.shape[1]:
        known = content_ids(np.zeros(forest.n_nodes, np.int64) if known is None else known, moment)
    canon = number_subtrees(forest.parent, None if known is None else known.tolist())
    _, first, sample_id = np.unique(canon[forest.tree_start[1:] - 1], return_index=True, return_inverse=True)
    order = np.argsort(first)  # distinct trees in the order in which they are met
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sample_id, chosen = rank[sample_id.reshape(-1)], first[order]
    part = forest.take(chosen)
    local = part.parent - np.repeat(part.tree_start[:-1], part.sizes)
    local[part.parent < 0] = part.sizes
    return Samples(
        local,
        np.maximum(part.label, -1).astype(np.int64) if labels else np.zeros(0, np.int64),
        part.tree_start.astype(np.int64),
        np.bincount(sample_id, minlength=len(chosen)).astype(np.int64),
        sample_id,
        _positions(forest, canon, chosen, sample_id),
        np.zeros((part.n_nodes, 0, N_SUMS))
        if moment is None or not forest.n_trees
        else _of_trees(moment, forest, chosen),
    )


def _of_trees(moment: Floats | None, forest: Forest, chosen: Ints) -> Floats:
    """Content of the nodes of some trees, tree after tree."""
    if moment is None or not len(chosen):
        return np.zeros((int(forest.sizes[chosen].sum()), 0 if moment is None else moment.shape[1], N_SUMS))
    start = forest.tree_start
    return moment[np.concatenate([np.arange(start[t], start[t + 1]) for t in chosen])]


def _positions(forest: Forest, canon: Ints, chosen: Ints, sample_id: Ints) -> Ints:
    """Where each node of the forest is in the tree that stands for all isomorphic to its own."""
    out = np.empty(forest.n_nodes, np.int64)
    start = forest.tree_start
    for t in range(forest.n_trees):
        lo, hi = int(start[t]), int(start[t + 1])
        first = int(chosen[sample_id[t]])
        if first == t:
            out[lo:hi] = np.arange(hi - lo)
            continue
        base = int(start[first])
        out[hi - 1] = hi - 1 - lo
        # From the root down: children are paired by the kind of their subtree.
        mine, theirs = _by_parent(forest, canon, lo, hi), _by_parent(forest, canon, base, base + hi - lo)
        for u in range(hi - 1, lo - 1, -1):
            for x, y in zip(mine.get(u - lo, ()), theirs.get(int(out[u]), ()), strict=True):
                out[lo + x] = y
    return out


def _by_parent(forest: Forest, canon: Ints, lo: int, hi: int) -> dict[int, list[int]]:
    """Children of each node of one tree, sorted by kind."""
    below: dict[int, list[int]] = {}
    parent = forest.parent[lo:hi].tolist()
    for u in np.argsort(canon[lo:hi], kind="stable").tolist():
        if parent[u] >= 0:
            below.setdefault(parent[u] - lo, []).append(u)
    return below


def single(samples: Samples, t: int, n_labels: int) -> Union:
    """The union of one distinct tree, all its copies together."""
    lo, hi = int(samples.start[t]), int(samples.start[t + 1])
    n, weight = hi - lo, int(samples.weight[t])
    entry = np.zeros(0, np.int64)
    if len(samples.label):
        label = samples.label[lo:hi]
        node = np.flatnonzero(label >= 0)
        entry = node * n_labels + label[node]
    return Union(
        samples.parent[lo:hi],
        np.full(n, weight, np.int64),
        weight,
        entry,
        np.full(len(entry), weight, np.int64),
        np.array([t], np.int64),
        np.arange(n),
        samples.moment[lo:hi] * weight,
    )


def merge(a: Union, b: Union, pairs: Ints, n_labels: int) -> Union:
    """The union of two, with these nodes made one; the pairs must be compatible."""
    parent, to_1, to_2 = union_order.unite(a.parent, b.parent, np.ascontiguousarray(pairs, np.int64))
    n = len(parent)
    count = np.bincount(to_1, a.node_count, n) + np.bincount(to_2, b.node_count, n)
    entry, entry_count = _sum_entries(
        np.concatenate([_renumber(a.entry, to_1, n_labels), _renumber(b.entry, to_2, n_labels)]),
        np.concatenate([a.entry_count, b.entry_count]),
    )
    return Union(
        parent,
        count.astype(np.int64),
        a.n_assigned + b.n_assigned,
        entry,
        entry_count,
        np.concatenate([a.member, b.member]),
        np.concatenate([to_1[a.node_match], to_2[b.node_match]]),
        summed(a.moment, to_1, 1.0, n) + summed(b.moment, to_2, 1.0, n),
    )


def remove(union: Union, which: int, samples: Samples, n_labels: int) -> Union:
    """The union without its member number `which`; nodes that only it had are gone."""
    sizes = np.diff(samples.start)[union.member]
    stop = np.cumsum(sizes)
    lo, hi = int(stop[which] - sizes[which]), int(stop[which])
    t = int(union.member[which])
    weight, match = int(samples.weight[t]), union.node_match[lo:hi]
    count = union.node_count.copy()
    count[match] -= weight
    entry, entry_count = union.entry, union.entry_count
    if len(samples.label):
        label = samples.label[samples.start[t] : samples.start[t + 1]]
        known = label >= 0
        gone = match[known] * n_labels + label[known]
        entry, entry_count = _sum_entries(
            np.concatenate([entry, gone]), np.concatenate([entry_count, np.full(len(gone), -weight)])
        )
    parent, number = union_order.restrict(union.parent, count > 0)
    rest = np.concatenate([union.node_match[:lo], union.node_match[hi:]])
    return Union(
        parent,
        count[count > 0],
        union.n_assigned - weight,
        _renumber(entry, number, n_labels),
        entry_count,
        np.delete(union.member, which),
        number[rest],
        member_moments(np.delete(union.member, which), number[rest], int((count > 0).sum()), samples),
    )


def member_moments(member: Ints, node_match: Ints, n_nodes: int, samples: Samples) -> Floats:
    """Sums of content at each node, anew from the members: differences would carry the rounding of large sums."""
    if not samples.moment.shape[1]:
        return np.zeros((n_nodes, 0, N_SUMS))
    node = np.concatenate([np.arange(samples.start[t], samples.start[t + 1]) for t in member])
    weight = np.repeat(samples.weight[member], np.diff(samples.start)[member])
    return summed(samples.moment[node], node_match, weight, n_nodes)


def _renumber(entry: Ints, number: Ints, n_labels: int) -> Ints:
    if not len(entry):
        return entry
    return number[entry // n_labels] * n_labels + entry % n_labels


def _sum_entries(entry: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Entries ascending, each once, without those whose counts add up to nothing."""
    if not len(entry):
        return entry, count
    keys, place = np.unique(entry, return_inverse=True)
    total = np.bincount(place.reshape(-1), count, len(keys)).astype(np.int64)
    return keys[total > 0], total[total > 0]


def check_entries(union: Union, n_labels: int) -> None:
    """Raise ValueError unless the counts of labels of a union (from a file) are inside it, and few enough."""
    check_array("entry", union.entry, np.int64, (None,), 0, union.n_nodes * n_labels - 1)
    check_array("entry_count", union.entry_count, np.int64, (len(union.entry),), 1, max(union.n_assigned, 1))
    if (np.diff(union.entry) <= 0).any():
        raise ValueError("the counts of labels are not in order")
    if len(union.entry):
        total = np.bincount(union.entry // n_labels, union.entry_count, union.n_nodes)
        if (total > union.node_count).any():
            raise ValueError("a node has more labels than trees")


def shape_of(union: Union) -> Shape:
    """The order alone, as matchers take it."""
    return Shape(union.parent, *list_children(union.parent))


class Classes(NamedTuple):
    """Nodes of a union with equal gains, and the kinds of subtrees over them."""

    of_node: Ints
    node_count: Ints  # samples that have a node of the class, descending
    size: Ints  # nodes of the class
    label_start: Ints
    label: Ints
    label_count: Ints
    lengths: LabelLengths | None
    moment: Floats  # [class, column, 4]
    kinds: Kinds


def classify(union: Union, code: Code) -> Classes:
    """Group the nodes by count, labels and content, and subtrees by kind."""
    n, n_labels = union.n_nodes, len(code.label_prior)
    lengths = None
    first = np.zeros(0, np.int64)
    if not n_labels and not len(code.family):
        count, of_node, size = np.unique(-union.node_count, return_inverse=True, return_counts=True)
        of_node, count = of_node.reshape(-1), -count
        start, label, label_count = np.zeros(len(count) + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    else:
        at, label = _label_runs(union, n_labels)
        cut = at.tolist()
        many = union.node_count.tolist()
        runs = [(label[x:y].tobytes(), union.entry_count[x:y].tobytes()) for x, y in pairwise(cut)]
        keys = [(-many[u], *runs[u], union.moment[u].tobytes()) for u in range(n)]
        number = {key: c for c, key in enumerate(sorted(set(keys)))}
        of_node = np.array([number[key] for key in keys], np.int64)
        _, first, size = np.unique(of_node, return_index=True, return_counts=True)
        count = union.node_count[first]
        start = np.append(0, np.cumsum(at[first + 1] - at[first])).astype(np.int64)
        place = np.concatenate([np.arange(cut[u], cut[u + 1]) for u in first])
        label, label_count = label[place], union.entry_count[place]
        lengths = _told(code, label_lengths(code, start, label, label_count), union.moment[first])
    of_node = of_node.astype(np.int64)
    kinds = Kinds(*find_kinds(shape_of(union), of_node))
    moment = union.moment[first] if len(code.family) else NO_CONTENT
    return Classes(of_node, count, size.astype(np.int64), start, label, label_count, lengths, moment, kinds)


def _label_runs(union: Union, n_labels: int) -> tuple[Ints, Ints]:
    """Offsets of the label counts of each node, and their labels."""
    if not n_labels:
        return np.zeros(union.n_nodes + 1, np.int64), np.zeros(0, np.int64)
    return np.searchsorted(union.entry // n_labels, np.arange(union.n_nodes + 1)), union.entry % n_labels


def _told(code: Code, labels: LabelLengths, moment: Floats) -> LabelLengths:
    """Lengths of the labels and of the content of nodes."""
    if not len(code.family):
        return labels
    content = shared_lengths(ContentCode(code.family, code.content_prior), moment)
    return LabelLengths(labels.shared + content, labels.free + moment[:, :, 3].sum(axis=1))


def union_length(union: Union, code: Code) -> float:
    """Description length of a union: its nodes, which samples have them, and their labels."""
    lengths = None
    if len(code.label_prior) or len(code.family):
        start, label = _label_runs(union, len(code.label_prior))
        lengths = _told(code, label_lengths(code, start, label, union.entry_count), union.moment)
    return float(node_length(code, union.n_assigned, union.node_count, lengths).sum())


def total_length(unions: Sequence[Union], code: Code) -> float:
    """Description length of a mixture, Eq. (2), from scratch."""
    n = sum(u.n_assigned for u in unions)
    return mixing_length(n) + sum(union_length(u, code) - mixing_length(u.n_assigned) for u in unions)


def mixing_gain(n_1: int, n_2: int) -> float:
    """What merging n_1 and n_2 samples saves of the code of memberships."""
    return mixing_length(n_1 + n_2) - mixing_length(n_1) - mixing_length(n_2)


class TakenOut(NamedTuple):
    """A tree out of its union."""

    alone: Union
    alone_length: float
    rest: Union | None  # None if it was alone before
    rest_length: float
    gain: float  # of being in the union it was taken out of


def take_out(union: Union, length: float, alone: Union, samples: Samples, code: Code) -> TakenOut:
    """Take the member whose own union is `alone` out of a union of the given length."""
    own = union_length(alone, code)
    if len(union.member) == 1:
        return TakenOut(alone, own, None, 0.0, 0.0)
    which = int(np.flatnonzero(union.member == alone.member[0])[0])
    rest = remove(union, which, samples, len(code.label_prior))
    rest_length = union_length(rest, code)
    gain = rest_length + own + mixing_gain(rest.n_assigned, alone.n_assigned) - length
    return TakenOut(alone, own, rest, rest_length, gain)
