"""The tree order of a union: two trees and a matching made one, and nodes taken out again."""

import numpy as np

from ....jit import jit


@jit
def _count_matched(parent, partner):
    """Matched nodes in the subtree of each node, itself included."""
    n = parent.shape[0]
    below = np.zeros(n + 1, np.int64)
    for u in range(n):
        if partner[u] >= 0:
            below[u] += 1
        below[parent[u]] += below[u]
    return below


@jit
def _children_first(parent):
    """An order of the nodes in which children precede parents; a root's parent is n."""
    n = parent.shape[0]
    waiting = np.zeros(n + 1, np.int64)
    for u in range(n):
        waiting[parent[u]] += 1
    order = np.empty(n, np.int64)
    n_out = 0
    for u in range(n):
        if waiting[u] == 0:
            order[n_out] = u
            n_out += 1
    done = 0
    while done < n_out:
        p = parent[order[done]]
        done += 1
        waiting[p] -= 1
        if p < n and waiting[p] == 0:
            order[n_out] = p
            n_out += 1
    return order


@jit
def unite(parent_1, parent_2, pairs):
    """A tree order that restricts to both trees, matched nodes being one; the pairs must be compatible.

    Returns the parents (children first; n at a root) and where the nodes of either tree went.  Above every matched pair
    the two chains of ancestors are merged by how many matched nodes they hold; where that leaves a choice, nodes of the
    first tree stay above those of the second.  A node with nothing matched below keeps its own parent.
    """
    n_1, n_2 = parent_1.shape[0], parent_2.shape[0]
    partner_1 = np.full(n_1 + 1, -1, np.int64)
    partner_2 = np.full(n_2 + 1, -1, np.int64)
    for x in range(pairs.shape[0]):
        partner_1[pairs[x, 0]] = pairs[x, 1]
        partner_2[pairs[x, 1]] = pairs[x, 0]
    below_1 = _count_matched(parent_1, partner_1)
    below_2 = _count_matched(parent_2, partner_2)
    # Joint numbers: nodes of the first tree, then those of the second that are not matched; the root is -1.
    name_1 = np.arange(n_1 + 1)
    name_1[n_1] = -1
    name_2 = np.empty(n_2 + 1, np.int64)
    n = n_1
    for v in range(n_2):
        if partner_2[v] >= 0:
            name_2[v] = partner_2[v]
        else:
            name_2[v] = n
            n += 1
    name_2[n_2] = -1
    joint = np.full(n, -2, np.int64)
    for u in range(n_1):
        if below_1[u] == 0:
            joint[u] = name_1[parent_1[u]]
    for v in range(n_2):
        if below_2[v] == 0:
            joint[name_2[v]] = name_2[parent_2[v]]
    for k in range(pairs.shape[0]):
        here = name_1[pairs[k, 0]]
        x, y = parent_1[pairs[k, 0]], parent_2[pairs[k, 1]]
        while joint[here] == -2:
            if x == n_1 and y == n_2:
                joint[here] = -1
                break
            if x < n_1 and partner_1[x] == y:
                up = x
                x, y = parent_1[x], parent_2[y]
            elif y == n_2 or (x < n_1 and below_1[x] < below_2[y]):
                up = name_1[x]
                x = parent_1[x]
            else:
                up = name_2[y]
                y = parent_2[y]
            joint[here] = up
            here = up
    for u in range(n):
        if joint[u] < 0:
            joint[u] = n
    order = _children_first(joint)
    rank = np.empty(n + 1, np.int64)
    rank[n] = n
    for x in range(n):
        rank[order[x]] = x
    parent = np.empty(n, np.int64)
    for u in range(n):
        parent[rank[u]] = rank[joint[u]]
    return parent, rank[name_1[:n_1]], rank[name_2[:n_2]]


@jit
def restrict(parent, keep):
    """The order among the nodes to keep: parents, and the new number of each node (-1 if it is gone)."""
    n = parent.shape[0]
    number = np.full(n + 1, -1, np.int64)
    n_kept = 0
    for u in range(n):
        if keep[u]:
            number[u] = n_kept
            n_kept += 1
    number[n] = n_kept
    above = np.empty(n + 1, np.int64)  # nearest kept node at or above
    above[n] = n
    for u in range(n - 1, -1, -1):
        above[u] = u if keep[u] else above[parent[u]]
    out = np.empty(n_kept, np.int64)
    for u in range(n):
        if keep[u]:
            out[number[u]] = number[above[parent[u]]]
    return out, number[:n]


@jit
def heights(parent):
    """Number of nodes on the longest way down from each node, itself included."""
    n = parent.shape[0]
    high = np.ones(n + 1, np.int64)
    for u in range(n):
        high[parent[u]] = max(high[parent[u]], high[u] + 1)
    return high[:n]


@jit
def profiles(parent):
    """How much of the tree antichains and chains can cover.

    Entry i of the first: nodes of height at most i, the most that i antichains hold; entry j of the second: the most
    that j chains hold, greedily by longest paths.
    """
    n = parent.shape[0]
    high = heights(parent)
    tallest = 0
    for u in range(n):
        tallest = max(tallest, high[u])
    flat = np.zeros(tallest + 1, np.int64)
    for u in range(n):
        flat[high[u]] += 1
    for i in range(tallest):
        flat[i + 1] += flat[i]
    # A long path ends where a higher sibling goes on; the lowest-numbered of equals does.
    goes_on = np.full(n + 1, -1, np.int64)
    for u in range(n):
        p = parent[u]
        if p < n and (goes_on[p] < 0 or high[u] > high[goes_on[p]]):
            goes_on[p] = u
    n_paths = 0
    length = np.zeros(n, np.int64)
    for u in range(n):
        if parent[u] == n or goes_on[parent[u]] != u:
            length[n_paths] = high[u]
            n_paths += 1
    length = np.sort(length[:n_paths])[::-1]
    deep = np.zeros(n_paths + 1, np.int64)
    for j in range(n_paths):
        deep[j + 1] = deep[j] + length[j]
    return flat, deep
