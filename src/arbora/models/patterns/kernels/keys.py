"""Keys of patterns from the columns of a forest, and their numbers: one table lookup per key, compared in full."""

import numpy as np

from ....forest.kernels.hash_tables import grow, mix, rehash
from ....jit import jit

START, END, FAR = -1, -2, -3  # before the first child, after the last, and for ancestors beyond the longest path


@jit
def _hash(symbol, lo, hi, seed):
    h = mix(np.uint64(seed), hi - lo)
    for e in range(lo, hi):
        h = mix(h, np.int64(symbol[e]) + 4)
    return h


@jit
def number(start, symbol, known_start, known_symbol, seed, add):
    """Number each key as the known ones are, new ones from there on by first appearance, or -1 without `add`.

    Key e is symbol[start[e] : start[e + 1]].  Returns the numbers, all known keys (offsets, symbols), and for every
    new one the place where it was first met.
    """
    n_known = known_start.shape[0] - 1
    capacity = max(64, 2 * n_known)
    hashes = np.empty(capacity, np.uint64)
    for d in range(n_known):
        hashes[d] = _hash(known_symbol, known_start[d], known_start[d + 1], seed)
    size = 256
    while size < 2 * capacity:
        size *= 2
    table = rehash(hashes, n_known, size)
    out_start = grow(known_start, capacity + 1)
    out_symbol = grow(known_symbol, max(64, 2 * known_symbol.shape[0]))
    first = np.empty(capacity, np.int64)
    n_keys = start.shape[0] - 1
    found = np.empty(n_keys, np.int64)
    n = n_known
    for e in range(n_keys):
        lo, hi = start[e], start[e + 1]
        h = _hash(symbol, lo, hi, seed)
        x = np.int64(h & np.uint64(size - 1))
        found[e] = -1
        while table[x] >= 0:
            d = table[x]
            if hashes[d] == h:
                at = out_start[d]
                same = out_start[d + 1] - at == hi - lo
                i = 0
                while same and i < hi - lo:
                    same = out_symbol[at + i] == symbol[lo + i]
                    i += 1
                if same:
                    found[e] = d
                    break
            x = (x + 1) & (size - 1)
        if found[e] >= 0 or not add:
            continue
        if n == capacity:
            capacity = 2 * n
            hashes, first, out_start = grow(hashes, capacity), grow(first, capacity), grow(out_start, capacity + 1)
            while size < 2 * capacity:
                size *= 2
            table = rehash(hashes, n, size)
            x = np.int64(h & np.uint64(size - 1))
            while table[x] >= 0:
                x = (x + 1) & (size - 1)
        at = out_start[n]
        if at + hi - lo > out_symbol.shape[0]:
            out_symbol = grow(out_symbol, max(2 * out_symbol.shape[0], at + hi - lo))
        for i in range(hi - lo):
            out_symbol[at + i] = symbol[lo + i]
        out_start[n + 1] = at + hi - lo
        hashes[n], first[n], table[x], found[e] = h, e, n, n
        n += 1
    return found, out_start[: n + 1].copy(), out_symbol[: out_start[n]].copy(), first[n_known:n].copy()


@jit
def hash_keys(start, symbol, seed):
    """A 64-bit hash of each key of 64-bit symbols, the same in every process."""
    out = np.empty(start.shape[0] - 1, np.uint64)
    for e in range(out.shape[0]):
        # The seed goes in first and last: a hash that is a symbol of another must not meet the state it came from.
        h = mix(mix(np.uint64(0x5851F42D4C957F2D), seed), start[e + 1] - start[e])
        for i in range(start[e], start[e + 1]):
            h = mix(h, symbol[i])
            h ^= h >> np.uint64(32)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD) + np.uint64(seed)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        out[e] = h ^ (h >> np.uint64(33))
    return out


@jit
def children(parent, slot):
    """Children of each node as they come: offsets, nodes, and which nodes have them in another order than of slots."""
    n = parent.shape[0]
    start = np.zeros(n + 1, np.int64)
    for u in range(n):
        if parent[u] >= 0:
            start[parent[u] + 1] += 1
    for u in range(n):
        start[u + 1] += start[u]
    filled = start[:-1].copy()
    child = np.empty(start[n], np.int64)
    unsorted = np.zeros(n, np.bool_)
    for u in range(n):
        p = parent[u]
        if p >= 0:
            if filled[p] > start[p] and slot[child[filled[p] - 1]] > slot[u]:
                unsorted[p] = True
            child[filled[p]] = u
            filled[p] += 1
    return start, child, unsorted


@jit
def bigram_keys(child_start, child, code):
    """(parent, child, next child) with marks before the first and after the last: symbols, and the parent of each."""
    n = child_start.shape[0] - 1
    n_keys = 0
    for u in range(n):
        if child_start[u + 1] > child_start[u]:
            n_keys += child_start[u + 1] - child_start[u] + 1
    symbol = np.empty(3 * n_keys, code.dtype)
    node = np.empty(n_keys, np.int64)
    e = 0
    for u in range(n):
        lo, hi = child_start[u], child_start[u + 1]
        if hi == lo:
            continue
        for x in range(lo, hi + 1):
            symbol[3 * e] = code[u]
            symbol[3 * e + 1] = code[child[x - 1]] if x > lo else START
            symbol[3 * e + 2] = code[child[x]] if x < hi else END
            node[e] = u
            e += 1
    return symbol, node


@jit
def set_keys(child_start, child, code):
    """The label of each node and the sorted set of its children's labels: offsets and symbols."""
    n = child_start.shape[0] - 1
    start = np.zeros(n + 1, np.int64)
    symbol = np.empty(n + child.shape[0], code.dtype)
    at = 0
    for u in range(n):
        lo, hi = child_start[u], child_start[u + 1]
        symbol[at] = code[u]
        at += 1
        if hi > lo:
            own = np.sort(code[child[lo:hi]])
            for x in range(own.shape[0]):
                if x == 0 or own[x] != own[x - 1]:
                    symbol[at] = own[x]
                    at += 1
        start[u + 1] = at
    return start, symbol[:at].copy()


@jit
def path_keys(parent, code, longest):
    """Labels from the root down to each node, the last `longest` of them after a mark if there are more."""
    n = parent.shape[0]
    start = np.zeros(n + 1, np.int64)
    length = np.empty(n, np.int64)
    for u in range(n - 1, -1, -1):
        length[u] = 1 if parent[u] < 0 else min(length[parent[u]] + 1, longest + 1)
    for u in range(n):
        start[u + 1] = start[u] + length[u]
    symbol = np.empty(start[n], code.dtype)
    for u in range(n):
        v = u
        for x in range(start[u + 1] - 1, start[u] - 1, -1):
            symbol[x] = code[v]
            v = parent[v]
        if length[u] > longest:
            symbol[start[u]] = FAR
    return start, symbol
