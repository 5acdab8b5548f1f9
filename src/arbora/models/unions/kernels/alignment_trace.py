"""The pairs of nodes of one best alignment, from the tables of the upward pass."""

import numpy as np

from ....jit import jit
from .child_states import is_cut, n_kids_of
from .star_packing import make_work, pack_children
from .transport import assign_children, deal, places_of


@jit
def _core_children(u, shape, kind, side, out):
    """Children of node u in the core, by kind, and after them the others; returns how many are in the core."""
    _, child_start, child = shape
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
def _state_of(nodes, kind, side, k):
    """State of some core children of a node of kind k."""
    state = 0
    for x in range(nodes.shape[0]):
        for e in range(side.kid_start[k], side.kid_start[k + 1]):
            if side.kid[e] == kind[nodes[x]]:
                state += side.stride[e]
                break
    return state


@jit
def _take_nodes(nodes, free, kind, side, k, part, out):
    """Choose free nodes, part[e] of each kind, into out; returns how many."""
    n = 0
    lo = side.kid_start[k]
    for e in range(lo, side.kid_start[k + 1]):
        wanted = part[e - lo]
        for x in range(nodes.shape[0]):
            if wanted == 0:
                break
            if free[x] and kind[nodes[x]] == side.kid[e]:
                free[x] = False
                out[n] = nodes[x]
                n += 1
                wanted -= 1
    return n


@jit
def _choose(i, j, a, b, one, two, tables, pack, part_1, part_2):
    """The star by which pack[a, b] was reached: what it takes of i's and of j's children, as counts by kind.

    Returns False where the child was skipped.
    """
    lo_1, hi_1 = one.kid_start[i], one.kid_start[i + 1]
    lo_2, hi_2 = two.kid_start[j], two.kid_start[j + 1]
    n_b = two.first[j + 1] - two.first[j]
    has_1 = np.zeros(hi_1 - lo_1, np.int64)
    has_2 = np.zeros(hi_2 - lo_2, np.int64)
    for e in range(min(hi_1 - lo_1, one.digit.shape[1])):
        has_1[e] = one.digit[one.first[i] + a, e]
    for e in range(min(hi_2 - lo_2, two.digit.shape[1])):
        has_2[e] = two.digit[two.first[j] + b, e]
    r = 0
    while has_1[r] == 0:
        r += 1
    i_r, step = one.kid[lo_1 + r], one.stride[lo_1 + r]
    value = pack[a * n_b + b]
    part_1[:] = 0
    part_2[:] = 0
    part_1[r] = 1
    if pack[(a - step) * n_b + b] == value:
        return False
    for s in range(hi_2 - lo_2):
        if has_2[s] > 0:
            j_s, take = two.kid[lo_2 + s], two.stride[lo_2 + s]
            if tables.tree[i_r, j_s] + pack[(a - step) * n_b + b - take] == value:
                part_2[s] = 1
                return True
    several, n_part = 0, 0
    while one.first[i_r + 1] - one.first[i_r] > 1:
        s = 0
        while s < hi_2 - lo_2 and part_2[s] == has_2[s]:
            several -= part_2[s] * two.stride[lo_2 + s]
            n_part -= part_2[s]
            part_2[s] = 0
            s += 1
        if s == hi_2 - lo_2:
            break
        part_2[s] += 1
        n_part += 1
        several += two.stride[lo_2 + s]
        above = tables.below_1[i_r, two.first[j] + several]
        if n_part > 1 and above + pack[(a - step) * n_b + b - several] == value:
            return True
    has_1[r] -= 1
    for s in range(hi_2 - lo_2):
        j_s, take = two.kid[lo_2 + s], two.stride[lo_2 + s]
        if has_2[s] == 0 or two.first[j_s + 1] - two.first[j_s] == 1:
            continue
        part_1[:] = 0
        several = step
        while True:
            x = 0
            while x < hi_1 - lo_1 and part_1[x] == has_1[x]:
                several -= part_1[x] * one.stride[lo_1 + x]
                part_1[x] = 0
                x += 1
            if x == hi_1 - lo_1:
                break
            part_1[x] += 1
            several += one.stride[lo_1 + x]
            if tables.below_2[j_s, one.first[i] + several] + pack[(a - several) * n_b + b - take] == value:
                part_1[r] += 1
                part_2[s] = 1
                return True
    return False  # not reached: one of the ways above gave the value


@jit
def trace(shape_1, shape_2, kind_1, kind_2, one, two, gain, tables):
    """Pairs of nodes of one best alignment; an explicit stack, because trees may be deep.

    Items are either two subtrees (u, v), or some children of u and some of v, listed one after the other in `listed`;
    lists of items on the stack never share a node, so it cannot overflow.
    """
    n_1, n_2 = kind_1.shape[0] - 1, kind_2.shape[0] - 1
    pairs = np.empty((min(n_1, n_2), 2), np.int64)
    n_pairs = 0
    room = 2 * (n_1 + n_2) + 4
    is_forest = np.empty(room, np.bool_)
    item_u = np.empty(room, np.int64)
    item_v = np.empty(room, np.int64)
    item_n = np.empty((room, 2), np.int64)  # lengths of the lists; -1: all children
    listed = np.empty(room, np.int64)
    nodes_1 = np.empty(n_1 + 1, np.int64)
    nodes_2 = np.empty(n_2 + 1, np.int64)
    take_1 = np.empty(n_1 + 1, np.int64)
    take_2 = np.empty(n_2 + 1, np.int64)
    work = make_work(one, two)
    pack = work.pack
    is_forest[0], item_u[0], item_v[0], item_n[0, :] = True, n_1, n_2, -1
    n_items, n_listed = 1, 0
    while n_items > 0:
        n_items -= 1
        u, v = item_u[n_items], item_v[n_items]
        i, j = kind_1[u], kind_2[v]
        if not is_forest[n_items]:
            value = tables.tree[i, j]
            if value <= 0.0:
                continue
            own = max(0.0, gain[one.row[i], two.row[j]])
            if own + tables.full[i, j] == value:
                if own > 0.0:
                    pairs[n_pairs, 0], pairs[n_pairs, 1] = u, v
                    n_pairs += 1
                is_forest[n_items], item_n[n_items, :] = True, -1
                n_items += 1
                continue
            for x in range(shape_1[1][u], shape_1[1][u + 1]):
                if tables.tree[kind_1[shape_1[2][x]], j] == value:
                    item_u[n_items] = shape_1[2][x]
                    n_items += 1
                    break
            else:
                for x in range(shape_2[1][v], shape_2[1][v + 1]):
                    if tables.tree[i, kind_2[shape_2[2][x]]] == value:
                        item_v[n_items] = shape_2[2][x]
                        n_items += 1
                        break
            continue
        # Some children of u and of v: the lists are at the end of `listed`.
        m_1, m_2 = item_n[n_items, 0], item_n[n_items, 1]
        if m_1 < 0:
            if tables.full[i, j] <= 0.0:
                continue
            m_1 = _core_children(u, shape_1, kind_1, one, nodes_1)
            m_2 = _core_children(v, shape_2, kind_2, two, nodes_2)
            pack_children(i, j, one, two, tables, work)
            if is_cut(one, i) or is_cut(two, j):
                core = pack[(one.first[i + 1] - one.first[i]) * (two.first[j + 1] - two.first[j]) - 1]
                all_1, all_2 = n_kids_of(one, i), n_kids_of(two, j)
                rest, flow = assign_children(i, j, one, two, tables.tree, True)
                if abs(core + rest - tables.full[i, j]) > 1e-9 * (1.0 + tables.full[i, j]):
                    _, flow = assign_children(i, j, one, two, tables.tree, False)
                    m_1, m_2 = 0, 0
                some_1, some_2 = nodes_1[m_1:all_1], nodes_2[m_2:all_2]
                to = deal(some_1, some_2, places_of(some_1, kind_1, one, i), places_of(some_2, kind_2, two, j), flow)
                for x in range(to.shape[0]):
                    if to[x] >= 0:
                        is_forest[n_items], item_u[n_items], item_v[n_items] = False, some_1[x], to[x]
                        n_items += 1
        else:
            n_listed -= m_1 + m_2
            nodes_1[:m_1] = listed[n_listed : n_listed + m_1]
            nodes_2[:m_2] = listed[n_listed + m_1 : n_listed + m_1 + m_2]
            pack_children(i, j, one, two, tables, work)
        free_1 = np.ones(m_1, np.bool_)
        free_2 = np.ones(m_2, np.bool_)
        part_1 = np.zeros(one.kid_start[i + 1] - one.kid_start[i], np.int64)
        part_2 = np.zeros(two.kid_start[j + 1] - two.kid_start[j], np.int64)
        a = _state_of(nodes_1[:m_1], kind_1, one, i)
        b = _state_of(nodes_2[:m_2], kind_2, two, j)
        n_b = two.first[j + 1] - two.first[j]
        while a > 0 and b > 0 and pack[a * n_b + b] > 0.0:
            matched = _choose(i, j, a, b, one, two, tables, pack, part_1, part_2)
            got_1 = _take_nodes(nodes_1[:m_1], free_1, kind_1, one, i, part_1, take_1)
            for e in range(part_1.shape[0]):
                a -= part_1[e] * one.stride[one.kid_start[i] + e]
            if not matched:
                continue
            got_2 = _take_nodes(nodes_2[:m_2], free_2, kind_2, two, j, part_2, take_2)
            for e in range(part_2.shape[0]):
                b -= part_2[e] * two.stride[two.kid_start[j] + e]
            is_forest[n_items] = got_1 > 1 or got_2 > 1
            item_u[n_items], item_v[n_items] = take_1[0], take_2[0]
            if got_2 > 1:  # a child of u above several of v
                item_v[n_items] = v
                got_1 = _core_children(take_1[0], shape_1, kind_1, one, take_1)
            elif got_1 > 1:
                item_u[n_items] = u
                got_2 = _core_children(take_2[0], shape_2, kind_2, two, take_2)
            if is_forest[n_items]:
                item_n[n_items, 0], item_n[n_items, 1] = got_1, got_2
                listed[n_listed : n_listed + got_1] = take_1[:got_1]
                listed[n_listed + got_1 : n_listed + got_1 + got_2] = take_2[:got_2]
                n_listed += got_1 + got_2
            n_items += 1
    return pairs[:n_pairs].copy()
