"""Unions packed side by side, so that the gains of many pairs are computed by one call of a kernel."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.kernels.tree_shape import Match
from .kernels import tree_alignment, union_gains, union_order
from .matching import Matcher
from .node_codes import Code
from .union_content import N_SUMS
from .working_union import Classes, Union, classify, shape_of, union_length

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Limit of states of a pair of nodes (kernels.tree_alignment): exact for seven against seven children that all differ,
# and for many more that do not; a search computes thousands of matchings, and each costs in proportion.
STATE_LIMIT = 1 << 14
_BLOCK = 64  # pairs a call: enough to hide the cost of calling, few enough to answer Ctrl-C


class _Column:
    """A one-dimensional array that grows at its end and can be cut back."""

    def __init__(self, dtype: type) -> None:
        self.data: NDArray[Any] = np.empty(64, dtype)
        self.n = 0

    def append(self, values: NDArray[np.generic]) -> None:
        end = self.n + len(values)
        if end > len(self.data):
            grown = np.empty(max(2 * len(self.data), end), self.data.dtype)
            grown[: self.n] = self.data[: self.n]
            self.data = grown
        self.data[self.n : end] = values
        self.n = end

    def view(self) -> NDArray[np.generic]:
        return self.data[: self.n]


_FLOATS = ("length", "class_shared", "class_free", "moment")
_STARTS = ("class_start", "label_start", "flat_start", "deep_start", "kind_start", "edge_start")


class Found(NamedTuple):
    """Gains of merging pairs of unions, and whether each matching is known to be the best."""

    gain: Floats
    exact: NDArray[np.bool_]


class UnionStore:
    """Unions by number, with everything kernels need of them; `code` says what their nodes cost."""

    def __init__(self, code: Code, matcher: Matcher | None = None, n_threads: int = 1) -> None:
        self.code = code
        self.n_labels = len(code.label_prior)
        self.matcher = matcher  # None: alignment, many pairs a call
        self.n_threads = n_threads
        self.unions: list[Union] = []
        self.classes: list[Classes] = []
        self.columns = {name: _Column(float if name in _FLOATS else np.int64) for name in union_gains.Packed._fields}
        for name in _STARTS:
            self.columns[name].append(np.zeros(1, np.int64))
        self.tally = [0, 0]  # matchings computed; of these, not known to be the best

    def like(self) -> "UnionStore":
        """An empty store of the same code and matcher, counted together with this one."""
        store = UnionStore(self.code, self.matcher, self.n_threads)
        store.tally = self.tally
        return store

    def _count(self, exact: NDArray[np.bool_]) -> None:
        self.tally[0] += len(exact)
        self.tally[1] += int((~exact).sum())

    def __len__(self) -> int:
        return len(self.unions)

    def add(self, union: Union) -> int:
        """Put a union in; returns its number."""
        classes = classify(union, self.code)
        flat, deep = union_order.profiles(union.parent)
        kinds, n_classes = classes.kinds, len(classes.node_count)
        lengths = {
            "n_assigned": [union.n_assigned],
            "length": [union_length(union, self.code)],
            "n_nodes": [union.n_nodes],
            "class_count": classes.node_count,
            "class_size": classes.size,
            "class_shared": np.zeros(n_classes) if classes.lengths is None else classes.lengths.shared,
            "class_free": np.zeros(n_classes) if classes.lengths is None else classes.lengths.free,
            "label": classes.label,
            "label_count": classes.label_count,
            "moment": classes.moment.reshape(-1),
            "flat": flat,
            "deep": deep,
            "kind_row": kinds.row,
            "kid_start": kinds.kid_start,
            "kid": kinds.kid,
            "kid_count": kinds.kid_count,
        }
        for name, values in lengths.items():
            self.columns[name].append(np.asarray(values))
        self._append_offset("class_start", [len(classes.node_count)])
        self._append_offset("label_start", np.cumsum(np.diff(classes.label_start)))
        self._append_offset("flat_start", [len(flat)])
        self._append_offset("deep_start", [len(deep)])
        self._append_offset("kind_start", [len(kinds.row)])
        self._append_offset("edge_start", [len(kinds.kid)])
        self.unions.append(union)
        self.classes.append(classes)
        return len(self.unions) - 1

    def _append_offset(self, name: str, steps: NDArray[np.int64] | list[int]) -> None:
        column = self.columns[name]
        column.append(column.data[column.n - 1] + np.asarray(steps, np.int64))

    def drop_last(self) -> None:
        """Take out the union put in last."""
        classes = self.classes.pop()
        self.unions.pop()
        for name in ("class_start", "flat_start", "deep_start", "kind_start", "edge_start"):
            self.columns[name].n -= 1
        self.columns["label_start"].n -= len(classes.node_count)
        for name in ("n_assigned", "length", "n_nodes"):
            self.columns[name].n -= 1
        ends = dict.fromkeys(("class_count", "class_size", "class_shared", "class_free"), "class_start")
        ends |= {"flat": "flat_start", "deep": "deep_start"}
        ends |= {"kind_row": "kind_start", "kid": "edge_start", "kid_count": "edge_start"}
        ends |= {"label": "label_start", "label_count": "label_start"}
        self.columns["moment"].n -= classes.moment.size
        for name, start in ends.items():
            self.columns[name].n = int(self.columns[start].view()[-1])
        self.columns["kid_start"].n -= len(classes.kinds.row) + 1

    @property
    def packed(self) -> union_gains.Packed:
        views: dict[str, Any] = {name: self.columns[name].view() for name in union_gains.Packed._fields}
        shape = (self.columns["class_count"].n, len(self.code.family), N_SUMS)
        return union_gains.Packed(**views | {"moment": views["moment"].reshape(shape)})

    # ---- gains --------------------------------------------------------------------------------------------------

    def bounds(self, pairs: Ints) -> Floats:
        """Upper bounds of the gains of merging these pairs of unions."""
        return np.asarray(union_gains.gain_bounds(self.code, self.packed, pairs))

    def gains(self, pairs: Ints) -> Found:
        """What merging each of these pairs of unions gains, with the best matching the matcher finds."""
        blocks = [pairs[lo : lo + _BLOCK] for lo in range(0, len(pairs), _BLOCK)]
        work = self._align_block if self.matcher is None else self._match_block
        if self.n_threads > 1 and len(blocks) > 1:
            with ThreadPoolExecutor(self.n_threads) as pool:
                parts = list(pool.map(work, blocks))
        else:
            parts = [work(block) for block in blocks]
        if not parts:
            return Found(np.zeros(0), np.zeros(0, bool))
        found = Found(np.concatenate([p.gain for p in parts]), np.concatenate([p.exact for p in parts]))
        self._count(found.exact)
        return found

    def _align_block(self, pairs: Ints) -> Found:
        packed = self.packed
        fixed, start, table = union_gains.gain_tables(self.code, packed, pairs)
        value, exact = tree_alignment.align_values(packed, pairs, start, table, STATE_LIMIT)
        return Found(fixed + value, exact)

    def _match_block(self, pairs: Ints) -> Found:
        fixed, _, _ = union_gains.gain_tables(self.code, self.packed, pairs)
        found = [self._match(int(a), int(b)) for a, b in pairs]
        return Found(fixed + np.array([m.value for m in found]), np.array([m.exact for m in found]))

    def match(self, a: int, b: int) -> Match:
        """The best matching of two unions that the matcher finds."""
        found = self._match(a, b)
        self._count(np.array([found.exact]))
        return found

    def _match(self, a: int, b: int) -> Match:
        _, _, table = union_gains.gain_tables(self.code, self.packed, np.array([[a, b]]))
        one, two = self.classes[a], self.classes[b]
        gain = table.reshape(len(one.node_count), len(two.node_count))
        shape_1, shape_2 = shape_of(self.unions[a]), shape_of(self.unions[b])
        if self.matcher is not None:
            return self.matcher(shape_1, shape_2, np.ascontiguousarray(gain[one.of_node][:, two.of_node]))
        pairs, value, exact = tree_alignment.align_kinds(
            shape_1, shape_2, one.kinds, two.kinds, np.ascontiguousarray(gain), STATE_LIMIT
        )
        return Match(pairs, float(value), bool(exact))


def best_partner(store: UnionStore, tree: int, others: list[int], at_least: float) -> tuple[float, int]:
    """Largest gain above `at_least` of merging a union with one of others, and its place; -1 if there is none."""
    if not others:
        return at_least, -1
    pairs = np.column_stack([np.array(others, np.int64), np.full(len(others), tree, np.int64)])
    bound = store.bounds(pairs)
    likely = np.flatnonzero(bound > at_least)
    likely = likely[np.argsort(-bound[likely], kind="stable")]
    best, place = at_least, -1
    for lo in range(0, len(likely), 8):
        part = likely[lo : lo + 8]
        if bound[part[0]] <= best:
            break
        gain = store.gains(pairs[part]).gain
        x = int(gain.argmax())
        if gain[x] > best:
            best, place = float(gain[x]), int(part[x])
    return best, place
