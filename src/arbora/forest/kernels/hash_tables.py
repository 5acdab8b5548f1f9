"""Parts of hash tables with open addressing, for keys that are compared in full."""

import numpy as np

from ...jit import jit


@jit
def mix(h, x):
    """One round of a 64-bit multiply-xorshift hash."""
    h = (h ^ np.uint64(x)) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@jit
def grow(old, size):
    """A longer copy of a one-dimensional array."""
    new = np.empty(size, old.dtype)
    for x in range(old.shape[0]):  # a slice would compile the message of its error, for longer than all the rest
        new[x] = old[x]
    return new


@jit
def rehash(hashes, n, size):
    """An open-addressing table of the first n entries."""
    table = np.full(size, -1, np.int32)
    for d in range(n):
        x = np.int64(hashes[d] & np.uint64(size - 1))
        while table[x] >= 0:
            x = (x + 1) & (size - 1)
        table[x] = d
    return table
