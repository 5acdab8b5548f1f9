"""What merging two unions would gain: tables of gains by pairs of nodes, and an upper bound that needs no matching.

Nodes of a union that as many samples have, with the same labels and content, are of one *class*: gains are computed by
class.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import jit
from .content_lengths import content_length, joint_length

Ints = NDArray[np.int64]


class Packed(NamedTuple):
    """Many unions in flat arrays; entries of union c are start[c] : start[c + 1]."""

    n_assigned: Ints  # [c] samples
    length: NDArray[np.float64]  # [c] description length
    n_nodes: Ints  # [c]
    class_start: Ints
    class_count: Ints  # samples that have a node of the class; descending within a union
    class_size: Ints  # nodes of the class
    class_shared: NDArray[np.float64]  # length of the labels, by models.node_codes
    class_free: NDArray[np.float64]
    label_start: Ints  # [class + 1]
    label: Ints  # ascending within a class
    label_count: Ints
    moment: NDArray[np.float64]  # [class, column, 4]: sums of content (models.unions.union_content)
    flat_start: Ints
    flat: Ints  # kernels.union_order.profiles
    deep_start: Ints
    deep: Ints
    kind_start: Ints
    kind_row: Ints  # class of the root of each kind
    kid_start: Ints  # [kind + c]: each union has one more, from 0
    edge_start: Ints
    kid: Ints
    kid_count: Ints


@jit
def _node_length(code, n, p, shared, free):
    """Length of a node that p of n samples have, with the lengths of its labels told either way."""
    kept = code.node_cost + code.top[n] - code.present[p] - code.absent[n - p] + shared
    return min(kept, code.noise_cost * p + free)


@jit
def _n_log_n(n):
    return n * np.log(n)


@jit
def _label_gain(code, packed, c, d):
    """What the labels of two classes gain if their nodes become one; only labels that both have enter."""
    lo_1, hi_1 = packed.label_start[c], packed.label_start[c + 1]
    lo_2, hi_2 = packed.label_start[d], packed.label_start[d + 1]
    n_1, n_2 = 0, 0
    for x in range(lo_1, hi_1):
        n_1 += packed.label_count[x]
    for y in range(lo_2, hi_2):
        n_2 += packed.label_count[y]
    s = code.label_strength
    gain = lgamma(n_1 + s) + lgamma(n_2 + s) - lgamma(n_1 + n_2 + s) - lgamma(s)
    x, y = lo_1, lo_2
    while x < hi_1 and y < hi_2:
        if packed.label[x] < packed.label[y]:
            x += 1
        elif packed.label[x] > packed.label[y]:
            y += 1
        else:
            w = s * code.label_prior[packed.label[x]]
            p, q = packed.label_count[x], packed.label_count[y]
            gain -= lgamma(p + w) + lgamma(q + w) - lgamma(p + q + w) - lgamma(w)
            x += 1
            y += 1
    return gain


@jit
def _fixed_part(code, packed, a, b):
    """Gain of merging two unions in which nothing is matched."""
    n_1, n_2 = packed.n_assigned[a], packed.n_assigned[b]
    n = n_1 + n_2
    total = packed.length[a] + packed.length[b] + _n_log_n(n) - _n_log_n(n_1) - _n_log_n(n_2)
    for union in (a, b):
        for c in range(packed.class_start[union], packed.class_start[union + 1]):
            total -= packed.class_size[c] * _node_length(
                code, n, packed.class_count[c], packed.class_shared[c], packed.class_free[c]
            )
    return total


@jit
def _fill_table(code, packed, a, b, out):
    """Gain of matching a node of a class of a with one of a class of b, Eq. (3)."""
    n = packed.n_assigned[a] + packed.n_assigned[b]
    has_labels = code.label_prior.shape[0] > 0
    lo_1, hi_1 = packed.class_start[a], packed.class_start[a + 1]
    lo_2, hi_2 = packed.class_start[b], packed.class_start[b + 1]
    has_content = code.family.shape[0] > 0
    content = np.zeros(hi_2 - lo_2)
    if has_content:
        for d in range(lo_2, hi_2):
            content[d - lo_2] = content_length(code.family, code.content_prior, packed.moment[d])
    for c in range(lo_1, hi_1):
        p = packed.class_count[c]
        mine = content_length(code.family, code.content_prior, packed.moment[c]) if has_content else 0.0
        one = _node_length(code, n, p, packed.class_shared[c], packed.class_free[c])
        for d in range(lo_2, hi_2):
            q = packed.class_count[d]
            shared, free = packed.class_shared[c] + packed.class_shared[d], packed.class_free[c] + packed.class_free[d]
            if has_labels:
                shared -= _label_gain(code, packed, c, d)
            if has_content:
                both = joint_length(code.family, code.content_prior, packed.moment[c], packed.moment[d])
                shared += both - mine - content[d - lo_2]
            gain = one + _node_length(code, n, q, packed.class_shared[d], packed.class_free[d])
            out[(c - lo_1) * (hi_2 - lo_2) + d - lo_2] = gain - _node_length(code, n, p + q, shared, free)


@jit
def gain_tables(code, packed, pairs):
    """For each pair of unions the gain without any match, and the table of gains by class, from start[x] on."""
    start = np.zeros(pairs.shape[0] + 1, np.int64)
    for x in range(pairs.shape[0]):
        a, b = pairs[x, 0], pairs[x, 1]
        rows = packed.class_start[a + 1] - packed.class_start[a]
        start[x + 1] = start[x] + rows * (packed.class_start[b + 1] - packed.class_start[b])
    table = np.empty(start[-1])
    fixed = np.empty(pairs.shape[0])
    for x in range(pairs.shape[0]):
        a, b = pairs[x, 0], pairs[x, 1]
        fixed[x] = _fixed_part(code, packed, a, b)
        _fill_table(code, packed, a, b, table[start[x] : start[x + 1]])
    return fixed, start, table


@jit
def _most_matches(packed, a, b):
    """Most nodes that two orders can share: the shape of a common order is dominated by both shapes."""
    lo_1, hi_1 = packed.flat_start[a], packed.flat_start[a + 1]
    lo_2, hi_2 = packed.flat_start[b], packed.flat_start[b + 1]
    at_1, end_1 = packed.deep_start[a], packed.deep_start[a + 1]
    at_2, end_2 = packed.deep_start[b], packed.deep_start[b + 1]
    n_flat = min(hi_1 - lo_1, hi_2 - lo_2) - 1
    n_deep = min(end_1 - at_1, end_2 - at_2) - 1
    most = min(packed.n_nodes[a], packed.n_nodes[b])
    for i in range(n_flat + 1):
        flat = min(packed.flat[lo_1 + i], packed.flat[lo_2 + i])
        for j in range(n_deep + 1):
            deep = min(packed.deep[at_1 + j], packed.deep[at_2 + j])
            most = min(most, flat + deep + (n_flat - i) * (n_deep - j))
    return most


@jit
def _structure_bound(code, packed, a, b):
    """Most that matching can gain without labels and content: the k most frequent nodes of both, in order.

    The gain grows in either count and is supermodular, so no other choice of k pairs is worth more.
    """
    n = packed.n_assigned[a] + packed.n_assigned[b]
    c, d = packed.class_start[a], packed.class_start[b]
    left_1, left_2 = packed.class_size[c], packed.class_size[d]
    todo = _most_matches(packed, a, b)
    total = 0.0
    while todo > 0:
        p, q = packed.class_count[c], packed.class_count[d]
        run = min(min(left_1, left_2), todo)
        apart = _node_length(code, n, p, 0.0, 0.0) + _node_length(code, n, q, 0.0, 0.0)
        total += run * max(0.0, apart - _node_length(code, n, p + q, 0.0, 0.0))
        todo -= run
        left_1 -= run
        left_2 -= run
        if todo > 0 and left_1 == 0:
            c += 1
            left_1 = packed.class_size[c]
        if todo > 0 and left_2 == 0:
            d += 1
            left_2 = packed.class_size[d]
    return total


@jit
def _label_bound(code, packed, a, b):
    """Most that matching can gain: every node of one side with its best partner, from either side."""
    lo_1, hi_1 = packed.class_start[a], packed.class_start[a + 1]
    lo_2, hi_2 = packed.class_start[b], packed.class_start[b + 1]
    table = np.empty((hi_1 - lo_1) * (hi_2 - lo_2))
    _fill_table(code, packed, a, b, table)
    gain = table.reshape((hi_1 - lo_1, hi_2 - lo_2))
    one, two = 0.0, 0.0
    for c in range(hi_1 - lo_1):
        best = 0.0
        for d in range(hi_2 - lo_2):
            best = max(best, gain[c, d])
        one += best * packed.class_size[lo_1 + c]
    for d in range(hi_2 - lo_2):
        best = 0.0
        for c in range(hi_1 - lo_1):
            best = max(best, gain[c, d])
        two += best * packed.class_size[lo_2 + d]
    return min(one, two)


@jit
def gain_bounds(code, packed, pairs):
    """An upper bound of the gain of merging each pair of unions."""
    out = np.empty(pairs.shape[0])
    is_told = code.label_prior.shape[0] + code.family.shape[0] > 0
    for x in range(pairs.shape[0]):
        a, b = pairs[x, 0], pairs[x, 1]
        best = _label_bound(code, packed, a, b) if is_told else _structure_bound(code, packed, a, b)
        out[x] = _fixed_part(code, packed, a, b) + best
    return out
