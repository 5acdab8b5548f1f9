"""The pairs of nodes of one best alignment, from the tables of the upward pass."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....forest.kernels.tree_shape import Shape
from ....jit import jit
from .child_states import Side, is_cut, n_kids_of
from .star_packing import Work, make_work, pack_children
from .transport import assign_children, deal, places_of


class Tree(NamedTuple):
    """One of the two trees."""

    shape: Shape
    kind: NDArray[np.int64]
    side: Side


class Items(NamedTuple):
    """A stack of what is still to be traced: two subtrees (u, v), or some children of u and some of v.

    These children stand one after the other in `listed`.  Lists of items on the stack never share a node, so it cannot
    overflow.
    """

    is_forest: NDArray[np.bool_]
    u: NDArray[np.int64]
    v: NDArray[np.int64]
    length: NDArray[np.int64]  # [item, 2] of the lists; -1: all children
    listed: NDArray[np.int64]
    filled: NDArray[np.int64]  # items, entries of `listed`


class Room(NamedTuple):
    """Room for the children of two nodes, and for packing them."""

    nodes_1: NDArray[np.int64]
    nodes_2: NDArray[np.int64]
    take_1: NDArray[np.int64]
    take_2: NDArray[np.int64]
    work: Work


@jit
def _push(items, is_forest, u, v):
    """Put two subtrees, or all children of two nodes, on the stack."""
    n = items.filled[0]
    items.is_forest[n], items.u[n], items.v[n] = is_forest, u, v
    items.length[n, :] = -1
    items.filled[0] += 1


@jit
def _push_lists(items, u, v, some_1, some_2):
    """Put some children of u and some of v on the stack."""
    _push(items, True, u, v)
    items.length[items.filled[0] - 1, 0] = some_1.shape[0]
    items.length[items.filled[0] - 1, 1] = some_2.shape[0]
    at = items.filled[1]
    items.listed[at : at + some_1.shape[0]] = some_1
    at += some_1.shape[0]
    items.listed[at : at + some_2.shape[0]] = some_2
    items.filled[1] = at + some_2.shape[0]


@jit
def _core_children(u, tree, out):
    """Children of node u in the core, by kind, and after them the others; returns how many are in the core."""
    _, child_start, child = tree.shape
    kind, side = tree.kind, tree.side
    k = kind[u]
    n, rest = 0, n_kids_of(side, k)
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        met = 0
        for x in range(child_start[u], child_start[u + 1]):
            if kind[child[x]] == side.kid[e]:
                if met < side.core[e]:
                    out[n] = child[x]
                    n += 1
                else:
                    rest -= 1
                    out[rest] = child[x]
                met += 1
    return n


@jit
def _state_of(nodes, tree, k):
    """State of some core children of a node of kind k."""
    side = tree.side
    state = 0
    for x in range(nodes.shape[0]):
        for e in range(side.kid_start[k], side.kid_start[k + 1]):
            if side.kid[e] == tree.kind[nodes[x]]:
                state += side.stride[e]
                break
    return state


@jit
def _take_nodes(nodes, free, tree, k, part, out):
    """Choose free nodes, part[e] of each kind, into out; returns how many."""
    side = tree.side
    n = 0
    lo = side.kid_start[k]
    for e in range(lo, side.kid_start[k + 1]):
        wanted = part[e - lo]
        for x in range(nodes.shape[0]):
            if wanted == 0:
                break
            if free[x] and tree.kind[nodes[x]] == side.kid[e]:
                free[x] = False
                out[n] = nodes[x]
                n += 1
                wanted -= 1
    return n


@jit
def _digits(side, k, state):
    """Children by kind in a state of kind k."""
    has = np.zeros(side.kid_start[k + 1] - side.kid_start[k], np.int64)
    for e in range(min(has.shape[0], side.digit.shape[1])):
        has[e] = side.digit[side.first[k] + state, e]
    return has


@jit
def _advance(part, whole, stride, state):
    """Count a part of a state up in mixed radix, in place: the number of the next part, or -1 after the last."""
    x = 0
    while x < part.shape[0] and part[x] == whole[x]:
        state -= part[x] * stride[x]
        part[x] = 0
        x += 1
    if x == part.shape[0]:
        return -1
    part[x] += 1
    return state + stride[x]


@jit
def _choose(place, one, two, tables, pack, parts_out):
    """The star by which pack[a, b] was reached: what it takes of i's and of j's children, as counts by kind.

    `place` is (i, j, a, b).  Returns False where the child was skipped.
    """
    i, j, a, b = place
    part_1, part_2 = parts_out
    lo_1, lo_2 = one.kid_start[i], two.kid_start[j]
    n_b = two.first[j + 1] - two.first[j]
    has_1, has_2 = _digits(one, i, a), _digits(two, j, b)
    stride_1, stride_2 = one.stride[lo_1 : one.kid_start[i + 1]], two.stride[lo_2 : two.kid_start[j + 1]]
    r = 0
    while has_1[r] == 0:
        r += 1
    i_r, step = one.kid[lo_1 + r], stride_1[r]
    value = pack[a * n_b + b]
    part_1[:] = 0
    part_2[:] = 0
    part_1[r] = 1
    if pack[(a - step) * n_b + b] == value:
        return False
    for s in range(has_2.shape[0]):
        if has_2[s] > 0 and tables.tree[i_r, two.kid[lo_2 + s]] + pack[(a - step) * n_b + b - stride_2[s]] == value:
            part_2[s] = 1
            return True
    several = -1
    if one.first[i_r + 1] - one.first[i_r] > 1:
        several = _advance(part_2, has_2, stride_2, 0)
    while several >= 0:
        above = tables.below_1[i_r, two.first[j] + several]
        if part_2.sum() > 1 and above + pack[(a - step) * n_b + b - several] == value:
            return True
        several = _advance(part_2, has_2, stride_2, several)
    has_1[r] -= 1
    for s in range(has_2.shape[0]):
        j_s = two.kid[lo_2 + s]
        if has_2[s] == 0 or two.first[j_s + 1] - two.first[j_s] == 1:
            continue
        part_1[:] = 0
        others = _advance(part_1, has_1, stride_1, 0)
        while others >= 0:
            several = step + others
            above = tables.below_2[j_s, one.first[i] + several]
            if above + pack[(a - several) * n_b + b - stride_2[s]] == value:
                part_1[r] += 1
                part_2[s] = 1
                return True
            others = _advance(part_1, has_1, stride_1, others)
    return False  # not reached: one of the ways above gave the value


@jit
def _descend(u, v, trees, gain, tables, items):
    """Whether the roots of two subtrees are matched; what is below them goes on the stack."""
    first, second = trees
    i, j = first.kind[u], second.kind[v]
    value = tables.tree[i, j]
    if value <= 0.0:
        return False
    own = max(0.0, gain[first.side.row[i], second.side.row[j]])
    if own + tables.full[i, j] == value:
        _push(items, True, u, v)
        return own > 0.0
    _, child_start, child = first.shape
    for x in range(child_start[u], child_start[u + 1]):
        if tables.tree[first.kind[child[x]], j] == value:
            _push(items, False, child[x], v)
            return False
    _, child_start, child = second.shape
    for x in range(child_start[v], child_start[v + 1]):
        if tables.tree[i, second.kind[child[x]]] == value:
            _push(items, False, u, child[x])
            break
    return False


@jit
def _open(u, v, trees, tables, room, items):
    """List the core children of u and of v, and pack them; how many of each.

    Where there are others, these are assigned one to one, and their pairs go on the stack; or all children are, if that
    is better.
    """
    first, second = trees
    one, two = first.side, second.side
    i, j = first.kind[u], second.kind[v]
    if tables.full[i, j] <= 0.0:
        return 0, 0
    m_1, m_2 = _core_children(u, first, room.nodes_1), _core_children(v, second, room.nodes_2)
    pack_children(i, j, one, two, tables, room.work)
    if is_cut(one, i) or is_cut(two, j):
        core = room.work.pack[(one.first[i + 1] - one.first[i]) * (two.first[j + 1] - two.first[j]) - 1]
        rest, flow = assign_children(i, j, one, two, tables.tree, True)
        if abs(core + rest - tables.full[i, j]) > 1e-9 * (1.0 + tables.full[i, j]):
            _, flow = assign_children(i, j, one, two, tables.tree, False)
            m_1, m_2 = 0, 0
        some_1, some_2 = room.nodes_1[m_1 : n_kids_of(one, i)], room.nodes_2[m_2 : n_kids_of(two, j)]
        place_1, place_2 = places_of(some_1, first.kind, one, i), places_of(some_2, second.kind, two, j)
        to = deal(some_1, some_2, place_1, place_2, flow)
        for x in range(to.shape[0]):
            if to[x] >= 0:
                _push(items, False, some_1[x], to[x])
    return m_1, m_2


@jit
def _take_stars(pair, lengths, trees, tables, room, items):
    """Trace the packing of the listed children of two nodes: its stars go on the stack."""
    u, v = pair
    first, second = trees
    one, two = first.side, second.side
    i, j = first.kind[u], second.kind[v]
    nodes_1, nodes_2 = room.nodes_1[: lengths[0]], room.nodes_2[: lengths[1]]
    take_1, take_2, pack = room.take_1, room.take_2, room.work.pack
    free_1, free_2 = np.ones(lengths[0], np.bool_), np.ones(lengths[1], np.bool_)
    lo_1, lo_2 = one.kid_start[i], two.kid_start[j]
    part_1 = np.zeros(one.kid_start[i + 1] - lo_1, np.int64)
    part_2 = np.zeros(two.kid_start[j + 1] - lo_2, np.int64)
    a, b = _state_of(nodes_1, first, i), _state_of(nodes_2, second, j)
    n_b = two.first[j + 1] - two.first[j]
    while a > 0 and b > 0 and pack[a * n_b + b] > 0.0:
        matched = _choose((i, j, a, b), one, two, tables, pack, (part_1, part_2))
        n_1 = _take_nodes(nodes_1, free_1, first, i, part_1, take_1)
        for e in range(part_1.shape[0]):
            a -= part_1[e] * one.stride[lo_1 + e]
        if not matched:
            continue
        n_2 = _take_nodes(nodes_2, free_2, second, j, part_2, take_2)
        for e in range(part_2.shape[0]):
            b -= part_2[e] * two.stride[lo_2 + e]
        if n_2 > 1:  # a child of u above several of v
            w = take_1[0]
            n_1 = _core_children(w, first, take_1)
            _push_lists(items, w, v, take_1[:n_1], take_2[:n_2])
        elif n_1 > 1:
            w = take_2[0]
            n_2 = _core_children(w, second, take_2)
            _push_lists(items, u, w, take_1[:n_1], take_2[:n_2])
        else:
            _push(items, False, take_1[0], take_2[0])


@jit
def trace(first, second, gain, tables):
    """Pairs of nodes of one best alignment; an explicit stack, because trees may be deep."""
    n_1, n_2 = first.kind.shape[0] - 1, second.kind.shape[0] - 1
    pairs = np.empty((min(n_1, n_2), 2), np.int64)
    n_pairs = 0
    most = 2 * (n_1 + n_2) + 4
    items = Items(
        np.empty(most, np.bool_),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((most, 2), np.int64),
        np.empty(most, np.int64),
        np.zeros(2, np.int64),
    )
    room = Room(
        np.empty(n_1 + 1, np.int64),
        np.empty(n_2 + 1, np.int64),
        np.empty(n_1 + 1, np.int64),
        np.empty(n_2 + 1, np.int64),
        make_work(first.side, second.side),
    )
    trees = (first, second)
    _push(items, True, n_1, n_2)
    while items.filled[0] > 0:
        items.filled[0] -= 1
        n = items.filled[0]
        u, v = items.u[n], items.v[n]
        m_1, m_2 = items.length[n, 0], items.length[n, 1]
        if not items.is_forest[n]:
            if _descend(u, v, trees, gain, tables, items):
                pairs[n_pairs, 0], pairs[n_pairs, 1] = u, v
                n_pairs += 1
            continue
        if m_1 < 0:
            m_1, m_2 = _open(u, v, trees, tables, room, items)
        else:  # the lists are at the end of `listed`
            items.filled[1] -= m_1 + m_2
            at = items.filled[1]
            room.nodes_1[:m_1] = items.listed[at : at + m_1]
            room.nodes_2[:m_2] = items.listed[at + m_1 : at + m_1 + m_2]
            pack_children(first.kind[u], second.kind[v], first.side, second.side, tables, room.work)
        _take_stars((u, v), (m_1, m_2), trees, tables, room, items)
    return pairs[:n_pairs].copy()
