"""Pairs of nodes that may stay together, and good sets of them."""

from typing import NamedTuple

import numpy as np

from ....jit import jit

NONE = np.int64(0)
CLOSE = 1e-9  # values closer than this, relative to the largest gain, are the same


class Order(NamedTuple):
    """The nodes of a shape in post-order, the virtual root last, so that what is below a node is a range."""

    node: np.ndarray  # int64: the node as the shape numbers it
    first: np.ndarray  # int64: below x are first[x] .. x - 1
    leaf: np.ndarray  # int64 one longer: number of leaves before x


class Trees(NamedTuple):
    """Many trees as the distances take them; nodes as in the forest, numbered from the first of their tree."""

    start: np.ndarray  # int64 by tree and one more
    parent: np.ndarray  # int64; the number of nodes of the tree at its root
    label: np.ndarray  # int32
    delete: np.ndarray  # float64: cost of leaving the node out when its tree is the first of a pair
    insert: np.ndarray  # float64: the same when its tree is the second


class Pairs(NamedTuple):
    """Candidates for a clique: node u[c] of one tree with v[c] of the other (in post-order), worth weight[c]."""

    u: np.ndarray  # int64
    v: np.ndarray  # int64
    weight: np.ndarray  # float64


@jit
def in_post_order(parent):
    """Post-order of a shape without recursion: sizes upwards, then places downwards."""
    n = parent.shape[0]
    size = np.ones(n + 1, np.int64)
    for u in range(n):
        size[parent[u]] += size[u]
    node, first, leaf = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(n + 2, np.int64)
    begin = np.zeros(n + 1, np.int64)  # first place below the node that is still free
    for u in range(n, -1, -1):
        if u < n:
            begin[u] = begin[parent[u]]
            begin[parent[u]] += size[u]
        place = begin[u] + size[u] - 1
        node[place], first[place] = u, begin[u]
    for x in range(n + 1):
        leaf[x + 1] = leaf[x] + (first[x] == x)
    return Order(node, first, leaf)


@jit
def largest_first(value):
    """Places of the values from the largest to the smallest, ties in order (a heap sort: numpy's compiles slowly)."""
    n = value.shape[0]
    heap = np.arange(n)  # the last of the order on top
    size = n
    start = n // 2
    while size > 1:
        if start > 0:
            start -= 1
        else:
            size -= 1
            heap[0], heap[size] = heap[size], heap[0]
        at = start
        while 2 * at + 1 < size:
            low = 2 * at + 1
            if low + 1 < size and _later(value, heap[low + 1], heap[low]):
                low += 1
            if not _later(value, heap[low], heap[at]):
                break
            heap[at], heap[low] = heap[low], heap[at]
            at = low
    return heap


@jit
def _later(value, x, y):
    """Whether place x comes after place y."""
    return value[x] < value[y] or (value[x] == value[y] and x > y)


@jit
def clash(a, b, pairs, c, d):
    """Whether two pairs cannot be in one clique: their nodes are comparable, or the same, in either tree."""
    u, v = max(pairs.u[c], pairs.u[d]), min(pairs.u[c], pairs.u[d])
    if a.first[u] <= v:
        return True
    u, v = max(pairs.v[c], pairs.v[d]), min(pairs.v[c], pairs.v[d])
    return b.first[u] <= v


@jit
def copy_into(source, n, out):
    """The first n entries (a slice on the left of an assignment takes seconds to compile)."""
    for x in range(n):
        out[x] = source[x]


@jit
def extend(a, b, pairs, order, n_chosen, chosen_out):
    """Add pairs to a clique, in this order, as long as they fit; its size and weight."""
    for c in order:
        fits = True
        for x in range(n_chosen):
            if clash(a, b, pairs, c, chosen_out[x]):
                fits = False
                break
        if fits:
            chosen_out[n_chosen] = c
            n_chosen += 1
    total = 0.0
    for x in range(n_chosen):
        total += pairs.weight[chosen_out[x]]
    return n_chosen, total


@jit
def swap(a, b, pairs, order, chosen_out):
    """While that gains: put in a pair, take out those it excludes, and fill up; size and weight of the clique."""
    n_chosen, total = extend(a, b, pairs, order, NONE, chosen_out)
    trial = np.empty(order.shape[0], np.int64)
    improved = True
    while improved:
        improved = False
        for c in order:
            trial[0] = c
            n_trial = NONE + 1
            for x in range(n_chosen):
                if not clash(a, b, pairs, c, chosen_out[x]):
                    trial[n_trial] = chosen_out[x]
                    n_trial += 1
            n_trial, value = extend(a, b, pairs, order, n_trial, trial)
            if value > total * (1.0 + CLOSE):
                n_chosen, total, improved = n_trial, value, True
                copy_into(trial, n_trial, chosen_out)
    return n_chosen, total
