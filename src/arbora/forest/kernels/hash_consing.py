"""Find identical subtrees in linear time, exactly: one table lookup per node, keys compared in full."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit import inlined, jit
from .hash_tables import grow, mix, rehash


@jit
def _link_children(parent, lo, hi, first_out, after_out):
    """Children of each node of one tree as linked lists, in the order they are stored."""
    for u in range(hi - lo):
        first_out[u] = -1
    for u in range(hi - 2, lo - 1, -1):
        p = parent[u] - lo
        after_out[u - lo] = first_out[p]
        first_out[p] = u - lo


@jit
def _gather(u, lo, links, slot, unit, children_out):
    """Units of the children of node u in slot order, into `children_out` (units, slots); returns how many."""
    first, after = links
    ids_out, slots_out = children_out
    n = 0
    is_sorted = True
    v = first[u]
    while v >= 0:
        ids_out[n] = unit[v]
        slots_out[n] = slot[v + lo]
        if n > 0 and slots_out[n] < slots_out[n - 1]:
            is_sorted = False
        n += 1
        v = after[v]
    if not is_sorted:
        order = np.argsort(slots_out[:n], kind="mergesort")
        ids_out[:n] = ids_out[:n][order]
    return n


@jit
def _largest(tree_start, first_tree):
    """Nodes of the largest tree from `first_tree` on."""
    largest = 0
    for t in range(first_tree, tree_start.shape[0] - 1):
        largest = max(largest, tree_start[t + 1] - tree_start[t])
    return largest


@inlined
def _hash_of(seed, key, ids):
    """Hash of a unit by (label, slot, crowd, number of children) and the units of its children."""
    label_u, slot_u, crowd_u, n = key
    h = mix(mix(mix(mix(np.uint64(seed), label_u + 2), slot_u + 1), crowd_u), n)
    for e in range(n):
        h = mix(h, ids[e])
    return h


@inlined
def _same_children(child_out, at, ids, n):
    """Whether the children that stand at a place are these."""
    same = True
    e = 0
    while same and e < n:
        same = child_out[at + e] == ids[e]
        e += 1
    return same


class Units(NamedTuple):
    """Room for units: no crowds where no slot is pooled, no hashes without sharing."""

    label: NDArray[np.int32]
    slot: NDArray[np.int32]
    crowd: NDArray[np.int32]
    start: NDArray[np.int32]  # [unit + 1]: its children
    hashes: NDArray[np.uint64]
    table: NDArray[np.int32]  # unit by hash, open addressing; -1 where none is


@jit
def _empty_units(capacity, pooled, share):
    """Room for the first units."""
    return Units(
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity if pooled else 0, np.int32),
        np.zeros(capacity + 1, np.int32),
        np.empty(capacity if share else 0, np.uint64),
        np.full(4 * capacity if share else 1, -1, np.int32),
    )


@jit
def _grown(units, n_units):
    """Twice the room, with the first units in it."""
    label, slot, crowd, start, hashes, table = units
    size = 2 * n_units
    if hashes.shape[0] > 0:
        hashes = grow(hashes, size)
        table = rehash(hashes, n_units, 4 * size)
    crowd = grow(crowd, size) if crowd.shape[0] > 0 else crowd
    return Units(grow(label, size), grow(slot, size), crowd, grow(start, size + 1), hashes, table)


@jit
def _free_place(table, h):
    """Where a hash that is not in the table belongs."""
    mask = table.shape[0] - 1
    x = np.int64(h & np.uint64(mask))
    while table[x] >= 0:
        x = (x + 1) & mask
    return x


@jit
def hash_cons(forest, crowd, first_tree, max_units, share, seed):
    """Distinct subtrees of the trees from `first_tree` on, until there are about `max_units` of them.

    A unit is one subtree in one slot: its label, its slot, the number of siblings crowded into that slot, and the
    units of its children.  Children get lower numbers than parents.  Without `share` every node is its own unit.
    `crowd` is empty where no slot is pooled, and then so is the crowd returned.
    Returns label, slot, crowd, child_start, child, root unit of each tree read; the next tree to read is
    first_tree + number of roots.
    """
    parent, slot, label, tree_start = forest
    n_trees, largest = tree_start.shape[0] - 1, _largest(tree_start, first_tree)
    first, after = np.empty(largest, np.int64), np.empty(largest, np.int64)
    unit = np.empty(largest, np.int32)  # unit of each node of the tree at hand
    ids, slots = np.empty(largest, np.int32), np.empty(largest, np.int32)
    links, children = (first, after), (ids, slots)
    pooled = crowd.shape[0] > 0
    label_out, slot_out, crowd_out, start_out, hashes, table = _empty_units(1024, pooled, share)
    child_out = np.empty(1024, np.int32)
    root_out = np.empty(n_trees - first_tree, np.int32)
    n_units = 0
    t = first_tree
    while t < n_trees and (t == first_tree or n_units < max_units):
        lo, hi = tree_start[t], tree_start[t + 1]
        _link_children(parent, lo, hi, first, after)
        for u in range(hi - lo):
            n = _gather(u, lo, links, slot, unit, children)
            label_u, slot_u = label[lo + u], slot[lo + u]
            crowd_u = crowd[lo + u] if pooled else np.int32(1)
            found, x, h = -1, 0, np.uint64(0)
            if share:
                h = _hash_of(seed, (label_u, slot_u, crowd_u, n), ids)
                mask = table.shape[0] - 1
                x = np.int64(h & np.uint64(mask))
                while table[x] >= 0:
                    d = table[x]
                    if hashes[d] == h and label_out[d] == label_u and slot_out[d] == slot_u:
                        same = start_out[d + 1] - start_out[d] == n and (not pooled or crowd_out[d] == crowd_u)
                        if same and _same_children(child_out, start_out[d], ids, n):
                            found = d
                            break
                    x = (x + 1) & mask
            if found < 0:
                if n_units == label_out.shape[0]:
                    units = Units(label_out, slot_out, crowd_out, start_out, hashes, table)
                    label_out, slot_out, crowd_out, start_out, hashes, table = _grown(units, n_units)
                    x = _free_place(table, h) if share else 0
                at = start_out[n_units]
                if at + n > child_out.shape[0]:
                    child_out = grow(child_out, max(2 * child_out.shape[0], at + n))
                for e in range(n):
                    child_out[at + e] = ids[e]
                label_out[n_units], slot_out[n_units], start_out[n_units + 1] = label_u, slot_u, at + n
                if pooled:
                    crowd_out[n_units] = crowd_u
                if share:
                    hashes[n_units], table[x] = h, n_units
                found = n_units
                n_units += 1
            unit[u] = found
        root_out[t - first_tree] = unit[hi - lo - 1]
        t += 1
    out = (label_out[:n_units].copy(), slot_out[:n_units].copy(), crowd_out[: n_units if pooled else 0].copy())
    start_out = start_out[: n_units + 1].copy()
    return (*out, start_out, child_out[: start_out[n_units]].copy(), root_out[: t - first_tree].copy())


@jit
def crowding(parent, slot, last_slot):
    """How many siblings share the slot of each node; more than one only in the last slot, where overflow is pooled."""
    crowd = np.ones(parent.shape[0], np.int32)
    count = np.zeros(parent.shape[0], np.int32)
    for u in range(parent.shape[0]):
        if slot[u] == last_slot and parent[u] >= 0:
            count[parent[u]] += 1
    for u in range(parent.shape[0]):
        if slot[u] == last_slot and parent[u] >= 0:
            crowd[u] = count[parent[u]]
    return crowd


@jit
def expand(child_start, child, tree_root):
    """Units of all the nodes of each tree, root first: offsets and units."""
    n_units = child_start.shape[0] - 1
    size = np.ones(n_units, np.int64)  # nodes of the subtree
    for d in range(n_units):
        for e in range(child_start[d], child_start[d + 1]):
            size[d] += size[child[e]]
    start = np.zeros(tree_root.shape[0] + 1, np.int64)
    for t in range(tree_root.shape[0]):
        start[t + 1] = start[t] + size[tree_root[t]]
    unit = np.empty(start[-1], np.int32)
    for t in range(tree_root.shape[0]):
        # The output is its own stack: each unit read appends its children, so breadth-first without recursion.
        filled = start[t] + 1
        unit[start[t]] = tree_root[t]
        x = start[t]
        while x < filled:
            d = unit[x]
            for e in range(child_start[d], child_start[d + 1]):
                unit[filled] = child[e]
                filled += 1
            x += 1
    return start, unit


@jit
def reachable(child_start, child, roots):
    """Mark the units below these roots; parents come after children, so one descending sweep is enough."""
    seen = np.zeros(child_start.shape[0] - 1, np.bool_)
    for x in range(roots.shape[0]):
        seen[roots[x]] = True
    for d in range(seen.shape[0] - 1, -1, -1):
        if seen[d]:
            for e in range(child_start[d], child_start[d + 1]):
                seen[child[e]] = True
    return seen
