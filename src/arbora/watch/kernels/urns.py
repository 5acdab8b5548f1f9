"""Groups as urns over patterns that have a column and patterns that have none; docs/watching.md has the equations.

Trees are rows of columns: known patterns first, then buckets that patterns without a column are hashed into.  Groups
sit in slots; a slot of size zero is empty.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit import jit

KNOWN, REST, BUCKETS = 0, 1, 2  # second axis of `Stream.size`, first of `Slots.total`


class Stream(NamedTuple):
    """Trees by their patterns: column[start[i] : start[i + 1]]."""

    start: NDArray[np.int64]
    column: NDArray[np.int32]
    size: NDArray[np.int64]  # [tree, kind, family]: known patterns, those without a column, buckets of these


class Urn(NamedTuple):
    """What all groups share."""

    alpha: NDArray[np.float64]  # [column]
    log_alpha: NDArray[np.float64]
    strength: NDArray[np.float64]  # [family]
    rare: NDArray[np.float64]  # [family]: background share of patterns without a column; empty if these do not count
    weight: float  # of log marginals: power / families
    concentration: float
    discount: float


class Slots(NamedTuple):
    """Groups as sums over trees, in place."""

    count: NDArray[np.int32]  # type: ignore[assignment]  # [column, slot]
    logs: NDArray[np.float64]  # [column, slot]: log(alpha + count)
    total: NDArray[np.int64]  # [kind, family, slot]
    size: NDArray[np.int64]  # [slot]
    name: NDArray[np.int64]  # [slot]: number that the group keeps for good; -1 if empty
    last: NDArray[np.int64]  # [slot]: number of the last tree put into it


@jit
def log_family(urn, f, known, rest, bucket, own):
    """What sizes add to log p(tree | group), for one family; own[kind, family] are those of the tree."""
    s, t = urn.strength[f], own[KNOWN, f]
    out = math.lgamma(s + known) - math.lgamma(s + known + t)
    if urn.rare.shape[0] > 0:
        a, b, r = s * urn.rare[f], s * (1.0 - urn.rare[f]), own[REST, f]
        out += math.lgamma(a + rest + r) - math.lgamma(a + rest)
        out += math.lgamma(b + known + t) - math.lgamma(b + known)
        out += math.lgamma(s + known + rest) - math.lgamma(s + known + rest + t + r)
        out += math.lgamma(s + bucket) - math.lgamma(s + bucket + own[BUCKETS, f])
    return out


@jit
def log_sizes(urn, slots, own, k):
    """What sizes add to log p(tree | slot)."""
    out = 0.0
    for f in range(urn.strength.shape[0]):
        out += log_family(urn, f, slots.total[KNOWN, f, k], slots.total[REST, f, k], slots.total[BUCKETS, f, k], own)
    return out


@jit
def score_slots(urn, slots, stream, i, score_out):
    """log p(tree i | slot), unweighted, of slots that are not empty; returns that of a new group."""
    lo, hi = stream.start[i], stream.start[i + 1]
    own = stream.size[i]
    for k in range(slots.size.shape[0]):
        score_out[k] = log_sizes(urn, slots, own, k) if slots.size[k] > 0 else -np.inf
    new = 0.0
    for e in range(lo, hi):
        j = stream.column[e]
        new += urn.log_alpha[j]
        for k in range(slots.size.shape[0]):
            score_out[k] += slots.logs[j, k]
    for f in range(urn.strength.shape[0]):
        new += log_family(urn, f, 0, 0, 0, own)
    return new


@jit
def score_trees(urn, slots, stream, score_out):
    """log p(tree | slot), unweighted, [tree, slot], and of a new group in the last column."""
    for i in range(score_out.shape[0]):
        score_out[i, -1] = score_slots(urn, slots, stream, i, score_out[i, :-1])


@jit
def fill_logs(urn, slots):
    """Logs of all counts."""
    for j in range(urn.alpha.shape[0]):
        for k in range(slots.size.shape[0]):
            c = slots.count[j, k]
            slots.logs[j, k] = math.log(urn.alpha[j] + c) if c > 0 else urn.log_alpha[j]


@jit
def put(urn, slots, stream, i, k, number):
    """Put tree i, of this number, into slot k."""
    for e in range(stream.start[i], stream.start[i + 1]):
        j = stream.column[e]
        slots.count[j, k] += 1
        slots.logs[j, k] = math.log(urn.alpha[j] + slots.count[j, k])
    for kind in range(3):
        for f in range(urn.strength.shape[0]):
            slots.total[kind, f, k] += stream.size[i, kind, f]
    slots.size[k] += 1
    slots.last[k] = number


@jit
def clear(urn, slots, k):
    """Empty slot k."""
    for j in range(urn.alpha.shape[0]):
        slots.count[j, k] = 0
        slots.logs[j, k] = urn.log_alpha[j]
    slots.total[:, :, k] = 0
    slots.size[k] = 0
    slots.name[k] = -1
    slots.last[k] = -1
