"""Optimal resampling of hypotheses that all differ (Fearnhead and Clifford 2003), and random numbers by place."""

import math

import numpy as np

from ...jit import jit


@jit
def uniform(seed, number, purpose):
    """A number in (0, 1) that depends on nothing but these three (splitmix64, Steele, Lea and Flood 2014)."""
    x = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(purpose) * np.uint64(0xDA942042E4DD58B5)
    for _ in range(2):
        x += np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (np.float64(x >> np.uint64(12)) + 0.5) / 4503599627370496.0


@jit
def thin_out(weight, most, u):
    """Leave at most so many weights; the large ones stay as they are, the others get one common weight or zero.

    Every weight keeps its expectation over u, and no other such scheme changes the weights less in squared error.
    """
    n = weight.shape[0]
    if n <= most:
        return weight.copy()
    order = np.argsort(-weight, kind="mergesort")
    rest = 0.0
    for x in range(n - 1, most - 1, -1):
        rest += weight[order[x]]
    n_large = most - 1
    # The fewest that stay: those above the common weight of all others.
    tail = rest + weight[order[n_large]]
    while n_large > 0:
        wider = tail + weight[order[n_large - 1]]
        if weight[order[n_large - 1]] * (most - n_large + 1) > wider:
            break
        n_large -= 1
        tail = wider
    out = np.zeros(n)
    for x in range(n_large):
        out[order[x]] = weight[order[x]]
    step = tail / (most - n_large)
    due, reached, n_taken = u * step, 0.0, 0
    for x in range(n_large, n):
        reached += weight[order[x]]
        if reached > due and n_taken < most - n_large:
            out[order[x]] = step
            due += step
            n_taken += 1
    return out


@jit
def branch(child, weight, log_seats, floor):
    """Weights of all children of all particles, normalised, and log of their sum; small ones are zero."""
    top = child.max()
    out = np.empty(child.shape)
    total = 0.0
    for p in range(child.shape[0]):
        for g in range(child.shape[1]):
            out[p, g] = weight[p] * math.exp(child[p, g] - top)
            total += out[p, g]
    dropped = 0.0
    for p in range(child.shape[0]):
        for g in range(child.shape[1]):
            out[p, g] /= total
            if out[p, g] < floor:
                dropped += out[p, g]
                out[p, g] = 0.0
    return out, top + math.log(total) - log_seats, dropped
