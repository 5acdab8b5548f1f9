"""The loop that grows random trees."""

import numpy as np

from ...jit import jit


@jit
def grow_trees(rng, tree_start, n_slots, gaps, parent_out, slot_out):
    """Fill parents and slots, in post-order, of random recursive trees of the sizes that tree_start gives."""
    largest = 0
    for t in range(tree_start.shape[0] - 1):
        largest = max(largest, tree_start[t + 1] - tree_start[t])
    parent = np.empty(largest, np.int64)  # of the tree at hand, in order of birth
    slot = np.empty(largest, np.int32)
    first = np.empty(largest, np.int64)  # first child; siblings are linked by slot
    after = np.empty(largest, np.int64)  # next sibling
    degree = np.empty(largest, np.int64)
    vacant = np.empty(largest, np.int64)  # nodes with a free slot
    rank = np.empty(largest, np.int64)  # place in post-order
    for t in range(tree_start.shape[0] - 1):
        base, size = tree_start[t], tree_start[t + 1] - tree_start[t]
        n_vacant = 0
        for v in range(size):
            first[v], after[v], degree[v] = -1, -1, 0
            if v == 0:
                parent[0], slot[0] = -1, -1
            else:
                x = int(rng.random() * n_vacant)
                u = vacant[x]
                parent[v] = u
                while True:  # a free slot, and the sibling it comes after
                    wanted = int(rng.random() * n_slots) if gaps else degree[u]
                    before, beyond = -1, first[u]
                    while beyond >= 0 and slot[beyond] < wanted:
                        before, beyond = beyond, after[beyond]
                    if beyond < 0 or slot[beyond] != wanted:
                        break
                slot[v] = wanted
                after[v] = beyond
                if before < 0:
                    first[u] = v
                else:
                    after[before] = v
                degree[u] += 1
                if degree[u] == n_slots:
                    n_vacant -= 1
                    vacant[x] = vacant[n_vacant]
            vacant[n_vacant] = v
            n_vacant += 1
        u = 0
        for place in range(size):  # children before parents, by slot
            while first[u] >= 0:
                u = first[u]
            rank[u] = base + place
            slot_out[base + place] = slot[u]
            u, done = after[u] if after[u] >= 0 else parent[u], u
            if after[done] < 0 and u >= 0:
                first[u] = -1  # all its children are out
        for u in range(size):
            parent_out[rank[u]] = rank[parent[u]] if u > 0 else -1
