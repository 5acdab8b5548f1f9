"""Loops over the columns of a forest: checking the invariants, putting nodes in post-order, measuring depth."""

import numpy as np

from ...jit import jit

OK, EMPTY_TREE, BAD_PARENT, ROOT_NOT_LAST, BAD_SLOT, BAD_LABEL, SAME_SLOT, UNSORTED = range(8)


@jit
def check(parent, slot, label, tree_start, n_labels):
    """First broken invariant as (code, tree, node); UNSORTED only says that slots need the slower uniqueness check."""
    last_slot = np.full(parent.shape[0], -1, np.int32)  # highest slot met so far among the children of a node
    unsorted = False
    for t in range(tree_start.shape[0] - 1):
        lo, hi = tree_start[t], tree_start[t + 1]
        if hi <= lo:
            return EMPTY_TREE, t, lo
        for u in range(lo, hi):
            if label[u] < -2 or label[u] >= n_labels:
                return BAD_LABEL, t, u
            if u == hi - 1:
                if parent[u] != -1:
                    return ROOT_NOT_LAST, t, u
                if slot[u] != -1:
                    return BAD_SLOT, t, u
                continue
            p = parent[u]
            if p <= u or p >= hi:
                return BAD_PARENT, t, u
            if slot[u] < 0:
                return BAD_SLOT, t, u
            if slot[u] == last_slot[p]:
                return SAME_SLOT, t, u
            if slot[u] < last_slot[p]:
                unsorted = True
            else:
                last_slot[p] = slot[u]
    return (UNSORTED if unsorted else OK), -1, -1


@jit
def to_post_order(depth, given_slot):
    """Parent, slot, new place of each node, tree offsets, and whether siblings come by slot, from pre-order depths.

    The result is in post-order; `given_slot` is empty when the slot is the position among the siblings.
    """
    n = depth.shape[0]
    deepest = 0
    n_trees = 0
    for u in range(n):
        deepest = max(deepest, depth[u])
        n_trees += depth[u] == 0
    above = np.empty(deepest + 1, np.int64)  # the last node met at each depth
    parent = np.empty(n, np.int64)  # in document order
    slot = np.empty(n, np.int32)
    due = np.zeros(n, np.int64)  # slot after that of the last child
    size = np.ones(n, np.int64)
    in_order = True
    for u in range(n):
        above[depth[u]] = u
        parent[u], slot[u] = -1, -1
        if depth[u] > 0:
            p = above[depth[u] - 1]
            parent[u] = p
            slot[u] = given_slot[u] if given_slot.shape[0] else due[p]
            in_order &= slot[u] >= due[p]
            due[p] = slot[u] + 1
    post = np.empty(n, np.int64)
    start = np.zeros(n_trees + 1, np.int64)
    t = n_trees
    for u in range(n - 1, -1, -1):
        # Before u in post-order come the nodes before it in document order, less its ancestors, plus its descendants.
        post[u] = u - depth[u] + size[u] - 1
        if depth[u] > 0:
            size[parent[u]] += size[u]
        else:
            start[t] = u + size[u]
            t -= 1
    parent_out = np.empty(n, np.int64)
    slot_out = np.empty(n, np.int32)
    for u in range(n):
        parent_out[post[u]] = post[parent[u]] if parent[u] >= 0 else -1
        slot_out[post[u]] = slot[u]
    return parent_out, slot_out, post, start, in_order


@jit
def post_order(parent, order, root):
    """Post-order of the nodes reachable from the roots; siblings come as in `order`, which lists all nodes."""
    n = parent.shape[0]
    first = np.full(n, -1, np.int64)  # first child; children are linked in `order`
    after = np.full(n, -1, np.int64)  # next sibling
    for x in range(n - 1, -1, -1):
        u = order[x]
        p = parent[u]
        if p >= 0:
            after[u] = first[p]
            first[p] = u
    out = np.empty(n, np.int64)
    stop = np.zeros(root.shape[0] + 1, np.int64)
    filled = 0
    for t in range(root.shape[0]):
        u = root[t]
        while True:
            while first[u] >= 0:
                u = first[u]
            out[filled] = u
            filled += 1
            while after[u] < 0 and u != root[t]:  # climb: all children of the parent are out
                u = parent[u]
                out[filled] = u
                filled += 1
            if u == root[t]:
                break
            u = after[u]
        stop[t + 1] = filled
    return out[:filled], stop


@jit
def sibling_rank(parent):
    """Position of each node among its siblings in the order of the arrays: the slot of an ordered tree."""
    count = np.zeros(parent.shape[0], np.int32)
    rank = np.full(parent.shape[0], -1, np.int32)
    for u in range(parent.shape[0]):
        p = parent[u]
        if p >= 0:
            rank[u] = count[p]
            count[p] += 1
    return rank


@jit
def depth(parent):
    """Number of edges from the root; parents come after children, so one descending sweep is enough."""
    out = np.zeros(parent.shape[0], np.int64)
    for u in range(parent.shape[0] - 1, -1, -1):
        if parent[u] >= 0:
            out[u] = out[parent[u]] + 1
    return out


@jit
def take_trees(parent, tree_start, tree):
    """Node indices of the chosen trees, their parents renumbered, and the new offsets."""
    start = np.zeros(tree.shape[0] + 1, np.int64)
    for x in range(tree.shape[0]):
        start[x + 1] = start[x] + tree_start[tree[x] + 1] - tree_start[tree[x]]
    node = np.empty(start[-1], np.int64)
    new_parent = np.empty(start[-1], np.int64)
    for x in range(tree.shape[0]):
        shift = start[x] - tree_start[tree[x]]
        for u in range(tree_start[tree[x]], tree_start[tree[x] + 1]):
            node[u + shift] = u
            new_parent[u + shift] = parent[u] + shift if parent[u] >= 0 else -1
    return node, new_parent, start
