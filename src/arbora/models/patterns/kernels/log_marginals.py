"""Log marginals of groups of patterns."""

import math

import numpy as np

from ....jit import jit


@jit
def log_rise(alpha, c):
    """log Gamma(alpha + c) - log Gamma(alpha)."""
    if c > 8:
        return math.lgamma(alpha + c) - math.lgamma(alpha)
    product = 1.0
    for i in range(c):
        product *= alpha + i
    return math.log(product)


@jit
def log_marginal(tables, groups, k):
    """log M of a slot, unweighted."""
    out = 0.0
    for j in range(groups.count.shape[0]):
        if groups.count[j, k] > 0:
            out += tables.times[j] * log_rise(tables.alpha[j], groups.count[j, k])
    for f in range(groups.total.shape[0]):
        out += math.lgamma(tables.strength[f]) - math.lgamma(tables.strength[f] + groups.total[f, k])
    return out


@jit
def score_new(rows, logs, total, strength):
    """log p(tree | group), unweighted, [tree, group], of trees that are in none; logs[pattern, group] as in Groups."""
    n_groups, n_families = total.shape[1], total.shape[0]
    start = np.empty((n_families, n_groups))
    for f in range(n_families):
        for k in range(n_groups):
            start[f, k] = math.lgamma(strength[f] + total[f, k])
    out = np.zeros((rows.start.shape[0] - 1, n_groups))
    for n in range(out.shape[0]):
        for e in range(rows.start[n], rows.start[n + 1]):
            j = rows.column[e]
            for k in range(n_groups):
                out[n, k] += logs[j, k]
        for f in range(n_families):
            t = rows.size[n, f]
            if t > 0:
                for k in range(n_groups):
                    out[n, k] += start[f, k] - math.lgamma(strength[f] + total[f, k] + t)
    return out


@jit
def strength_evidence(share, times, count, total, strength):
    """Sum over groups of log M of one family at a strength, from counts that are not zero, their shares and times."""
    out = 0.0
    for e in range(count.shape[0]):
        out += times[e] * log_rise(strength * share[e], count[e])
    for k in range(total.shape[0]):
        if total[k] > 0:
            out += math.lgamma(strength) - math.lgamma(strength + total[k])
    return out
