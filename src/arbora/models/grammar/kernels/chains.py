"""Loops over counts of cells: rises with burstiness, sums over trees, digamma differences."""

import math

import numpy as np

from ....jit import inlined, jit


@jit
def log_rises(prob, cell, times, tau):
    """Sum of log(p + j tau), and of p / (p + j tau), over j below the count, of every (cell, count) and component.

    Pairs of one cell stand beside each other by rising count, so each goes on where the one before ended.
    """
    n_pairs, n_components = len(cell), prob.shape[1]
    log_rise = np.empty((n_pairs, n_components))  # log-probability of so many draws of the cell
    effective = np.empty((n_pairs, n_components))  # independent draws among them
    for x in range(n_pairs):
        c = cell[x]
        done = 0
        if x > 0 and cell[x - 1] == c:
            done = times[x - 1]
            for k in range(n_components):
                log_rise[x, k] = log_rise[x - 1, k]
                effective[x, k] = effective[x - 1, k]
        else:
            for k in range(n_components):
                log_rise[x, k] = 0.0
                effective[x, k] = 0.0
        if tau == 0.0:
            for k in range(n_components):
                log_rise[x, k] += (times[x] - done) * math.log(prob[c, k])
                effective[x, k] += times[x] - done
            continue
        for j in range(done, times[x]):
            for k in range(n_components):
                rise = prob[c, k] + j * tau
                log_rise[x, k] += math.log(rise)
                effective[x, k] += prob[c, k] / rise
    return log_rise, effective


@jit
def row_rises(most, tau):
    """Sum of log(1 + j tau) over j below n, for n from 0 to `most`."""
    total = np.zeros(most + 1)
    for n in range(1, most + 1):
        total[n] = total[n - 1] + math.log1p((n - 1) * tau)
    return total


@jit
def sum_rows(start, entry, values):
    """Sum of the values of the entries of each tree, [tree, component]."""
    n_components = values.shape[1]
    total = np.zeros((len(start) - 1, n_components))
    for t in range(len(start) - 1):
        for x in range(start[t], start[t + 1]):
            e = entry[x]
            for k in range(n_components):
                total[t, k] += values[e, k]
    return total


@jit
def sum_columns(start, entry, weight, n_entries):
    """Sum over trees of the weights of those that have an entry, [entry, component]."""
    n_components = weight.shape[1]
    total = np.zeros((n_entries, n_components))
    for t in range(len(start) - 1):
        for x in range(start[t], start[t + 1]):
            e = entry[x]
            for k in range(n_components):
                total[e, k] += weight[t, k]
    return total


@jit
def add_by(index, values, n_out):
    """Rows of values added up by their index, [index, component]."""
    total = np.zeros((n_out, values.shape[1]))
    for x in range(len(index)):
        i = index[x]
        for k in range(values.shape[1]):
            total[i, k] += values[x, k]
    return total


@inlined
def _digamma_rise(a, n):
    """digamma(a + n) - digamma(a), for a above zero and n of zero or more."""
    # Each is brought above 6, where six terms of the asymptotic series are exact to rounding.
    rise = 0.0
    x = a
    while x < 6.0:
        rise += 1.0 / x
        x += 1.0
    y = a + n
    while y < 6.0:
        rise -= 1.0 / y
        y += 1.0
    u = 1.0 / (x * x)
    v = 1.0 / (y * y)
    low = math.log(x) - 0.5 / x - u * (1 / 12 - u * (1 / 120 - u * (1 / 252 - u * (1 / 240 - u * (1 / 132)))))
    high = math.log(y) - 0.5 / y - v * (1 / 12 - v * (1 / 120 - v * (1 / 252 - v * (1 / 240 - v * (1 / 132)))))
    return rise + high - low


@jit
def strength_terms(count, base, kind, strength):
    """Numerator of Minka's fixed point for each kind: sum of m (digamma(N + s m) - digamma(s m)) over cells."""
    total = np.zeros(len(strength))
    for x in range(len(kind)):
        s = strength[kind[x]]
        for k in range(count.shape[1]):
            if count[x, k] > 0.0:
                total[kind[x]] += base[x, k] * _digamma_rise(s * base[x, k], count[x, k])
    return total


@jit
def total_terms(count, kind, strength):
    """Denominator of Minka's fixed point for each kind: sum of digamma(N + s) - digamma(s) over rows."""
    total = np.zeros(len(strength))
    for x in range(len(kind)):
        s = strength[kind[x]]
        for k in range(count.shape[1]):
            if count[x, k] > 0.0:
                total[kind[x]] += _digamma_rise(s, count[x, k])
    return total
