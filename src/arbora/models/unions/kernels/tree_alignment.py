"""Alignment of two unordered trees: the matching of greatest gain whose nodes fit into one tree (models/tree_union.md).

    tree(i, j)   = max(max(0, gain) + forest(ch i, ch j), max_r tree(i_r, j), max_s tree(i, j_s))
    forest(A, B) = best packing of disjoint stars: {i_r}-{j_s} worth tree(i_r, j_s); i_r, unmatched, above several of B,
                   worth forest(ch i_r, B'); and several of A below an unmatched j_s, worth forest(A', ch j_s)

Everything runs over *kinds* of subtrees instead of nodes, and over *how many* children of each kind instead of which:
interchangeable siblings, as leaves mostly are, cost a factor (count + 1) and not 2 ** count.  A set of children is a
number in mixed radix, a *state*.  Where a node has too many states, its largest children are the core, packed exactly,
and the others are assigned one to one; the result is feasible and flagged as not exact.
"""

import numpy as np
from numpy.typing import NDArray

from ....forest.kernels.tree_shape import Kinds, Match, Shape, find_kinds
from ....jit import jit
from .alignment_trace import Tree, trace
from .child_states import has_cut, has_inner, is_cut, make_sides, n_kids_of
from .star_packing import Tables, make_work, pack_children
from .transport import assign_children

STATE_LIMIT = 1 << 16  # of (states of a node) x (states of a node of the other tree), before children are left out


# ---- the upward pass ------------------------------------------------------------------------------------------------


@jit
def _upward(one, two, gain):
    """Best values of all pairs of kinds."""
    n_1, n_2 = one.row.shape[0], two.row.shape[0]
    tables = Tables(
        np.zeros((n_1, n_2)),
        np.zeros((n_1, n_2)),
        np.zeros((n_1, two.first[-1])),
        np.zeros((n_2, one.first[-1])),
        np.zeros(1, np.bool_),
    )
    work = make_work(one, two)
    pack = work.pack
    for i in range(n_1):  # kinds of children come first
        for j in range(n_2):
            lo_1, hi_1 = one.kid_start[i], one.kid_start[i + 1]
            lo_2, hi_2 = two.kid_start[j], two.kid_start[j + 1]
            # What is below a virtual root together with an inner node matters only to stars of several roots.
            if one.row[i] < 0 and two.row[j] >= 0 and n_kids_of(one, i) < 2:
                continue
            if two.row[j] < 0 and one.row[i] >= 0 and n_kids_of(two, j) < 2:
                continue
            best = 0.0
            if one.first[i + 1] - one.first[i] > 1 and two.first[j + 1] - two.first[j] > 1:
                pack_children(i, j, one, two, tables, work)
                n_a = one.first[i + 1] - one.first[i]
                n_b = two.first[j + 1] - two.first[j]
                for b in range(n_b):
                    tables.below_1[i, two.first[j] + b] = pack[(n_a - 1) * n_b + b]
                for a in range(n_a):
                    tables.below_2[j, one.first[i] + a] = pack[a * n_b + n_b - 1]
                best = pack[n_a * n_b - 1]
                if is_cut(one, i) or is_cut(two, j):
                    rest, _ = assign_children(i, j, one, two, tables.tree, True)
                    plain, _ = assign_children(i, j, one, two, tables.tree, False)
                    best = max(best + rest, plain)
                    if has_inner(one, i) or has_inner(two, j):  # among leaves only, assignment is exact
                        tables.inexact[0] = True
                elif (has_cut(one, i) and n_kids_of(two, j) > 1) or (has_cut(two, j) and n_kids_of(one, i) > 1):
                    tables.inexact[0] = True  # a star centred at a child whose children were left out
                tables.full[i, j] = best
            if one.row[i] < 0 or two.row[j] < 0:
                continue  # a virtual root is matched to nothing and has nothing above
            best += max(0.0, gain[one.row[i], two.row[j]])
            for e in range(lo_1, hi_1):
                best = max(best, tables.tree[one.kid[e], j])
            for e in range(lo_2, hi_2):
                best = max(best, tables.tree[i, two.kid[e]])
            tables.tree[i, j] = best
    return tables


# ---- what Python calls ----------------------------------------------------------------------------------------------


@jit
def align_kinds(shape_1, shape_2, kinds_1, kinds_2, gain, limit):
    """Pairs, value and exactness of the best alignment; gain[row of a kind, row of a kind]."""
    kind_1, row_1, _, start_1, kid_1, count_1 = kinds_1
    kind_2, row_2, _, start_2, kid_2, count_2 = kinds_2
    one, two = make_sides((row_1, start_1, kid_1, count_1), (row_2, start_2, kid_2, count_2), gain, limit)
    tables = _upward(one, two, gain)
    pairs = trace(Tree(shape_1, kind_1, one), Tree(shape_2, kind_2, two), gain, tables)
    return pairs, tables.full[-1, -1], not tables.inexact[0]


@jit
def align_values(packed, pairs, table_start, table, limit):
    """Value and exactness of the best alignment for each pair of packed unions (kernels.union_gains.Packed)."""
    value = np.empty(pairs.shape[0])
    exact = np.empty(pairs.shape[0], np.bool_)
    for x in range(pairs.shape[0]):
        a, b = pairs[x, 0], pairs[x, 1]
        rows = packed.class_start[a + 1] - packed.class_start[a]
        columns = packed.class_start[b + 1] - packed.class_start[b]
        gain = table[table_start[x] : table_start[x + 1]].reshape((rows, columns))
        one, two = make_sides(_unpack(packed, a), _unpack(packed, b), gain, limit)
        tables = _upward(one, two, gain)
        value[x] = tables.full[-1, -1]
        exact[x] = not tables.inexact[0]
    return value, exact


@jit
def _unpack(packed, c):
    """Row of each kind and its children, of union c."""
    lo, hi = packed.kind_start[c], packed.kind_start[c + 1]
    at, end = packed.edge_start[c], packed.edge_start[c + 1]
    return packed.kind_row[lo:hi], packed.kid_start[lo + c : hi + c + 1], packed.kid[at:end], packed.kid_count[at:end]


def align(a: Shape, b: Shape, gain: NDArray[np.float64], limit: int = STATE_LIMIT) -> Match:
    """The matching of greatest gain that has a union: a matcher, see models/matching.py."""
    row_1, row_2, table = _distinct(gain)
    pairs, value, exact = align_kinds(a, b, Kinds(*find_kinds(a, row_1)), Kinds(*find_kinds(b, row_2)), table, limit)
    return Match(pairs[np.argsort(pairs[:, 0])], float(value), bool(exact))


def _distinct(gain: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows and columns numbered so that equal ones share a number, and the table of gains by these numbers."""
    if not gain.size:
        return np.zeros(gain.shape[0], np.int64), np.zeros(gain.shape[1], np.int64), np.zeros((1, 1))
    rows, row = _distinct_rows(gain)
    columns, column = _distinct_rows(np.ascontiguousarray(rows.T))
    return row, column, np.ascontiguousarray(columns.T)


def _distinct_rows(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct rows in order, and the place of each row among them; only rows of different bytes are sorted."""
    seen: dict[bytes, int] = {}
    number = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in table])
    _, first = np.unique(number, return_index=True)
    rows, place = np.unique(table[first], axis=0, return_inverse=True)
    return rows, place.reshape(-1)[number].astype(np.int64)
