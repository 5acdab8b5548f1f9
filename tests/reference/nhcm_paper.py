"""Algorithm 1 of Mohamad, Bouchachia and Sayed-Mouchaweh, from its equations as printed; slow, one formula a function.

Rows are centred, so mu_0 = 0, and S_t is read as the scatter of sub-cluster t.  A datum that is not seated has z = -1;
n_gc and N of Eq. (24) count the datum that is being seated, so both are reduced by one there.  `prior` has scale0,
dof0, kappa0, spread; a0 and a1 are the concentrations of clusters and of sub-clusters.
"""

import numpy as np
from scipy.stats import multivariate_t


def scatter(rows):
    """Sum of squares around the mean."""
    return sum(np.outer(row - rows.mean(axis=0), row - rows.mean(axis=0)) for row in rows)


def log_student(x, mean, scale, k, v):
    """Eqs. (22), (23), (31), (32): Student's t of the predictive of a normal-inverse-Wishart."""
    d = len(x)
    return multivariate_t(mean, scale * (k + 1) / (k * (v - d + 1)), v - d + 1).logpdf(x)


def given_cluster(x, z, g, r, without, prior):
    """Eqs. (18), (20), first line of (21), (29): mean, scale, k, v of a sub-cluster of r, given the others of r."""
    d, q = x.shape[1], prior["spread"]
    others = [x[z == t] for t in np.unique(z[z >= 0]) if g[t] == r and t != without]
    weight = [len(rows) / (1 + q * len(rows)) for rows in others]
    total = prior["kappa0"] + sum(weight)
    mean = sum((w * rows.mean(axis=0) for w, rows in zip(weight, others, strict=True)), np.zeros(d)) / total
    scale = prior["scale0"] + sum((scatter(rows) for rows in others), np.zeros((d, d)))
    return mean, scale, 1 / (q + 1 / total), prior["dof0"] + sum(len(rows) for rows in others)


def log_new(x, prior):
    """Eqs. (23) and (32): a sub-cluster that nothing has been seen of."""
    k = prior["kappa0"] / (prior["spread"] * prior["kappa0"] + 1)
    return log_student(x, np.zeros(len(x)), prior["scale0"], k, prior["dof0"])


def log_weights_of_datum(x, z, g, i, scope, a1, prior):
    """Eq. (24) for datum i, which is not seated: sub-clusters of cluster `scope` (None: of any), and last a new one."""
    options = [int(c) for c in np.unique(z[z >= 0]) if scope is None or g[c] == scope]
    logs = []
    for c in options:
        mean, scale, k, v = given_cluster(x, z, g, g[c], c, prior)
        mine = x[z == c]
        n, centre = len(mine), mine.mean(axis=0)
        scale = scale + scatter(mine) + k * n / (n + k) * np.outer(centre - mean, centre - mean)  # Eq. (21)
        mean = k / (k + n) * mean + n / (k + n) * centre
        n_cluster = 1 + sum(g[t] == g[c] for t in z if t >= 0)
        logs.append(np.log(n / (n_cluster + a1 - 1)) + log_student(x[i], mean, scale, k + n, v + n))
    n_data = 1 + np.count_nonzero(z >= 0)
    logs.append(np.log(a1 / (n_data + a1 - 1)) + log_new(x[i], prior))
    return options, np.array(logs)


def log_weights_of_sub(x, z, g, j, a0, prior):
    """Eqs. (26), (30) and (33) for sub-cluster j: all clusters that hold another sub-cluster, and last a new one."""
    others = [t for t in np.unique(z[z >= 0]) if t != j]
    options = sorted({int(g[t]) for t in others})
    mine, logs = x[z == j], []
    for r in options:
        found = given_cluster(x, z, g, r, j, prior)
        logs.append(np.log(sum(g[t] == r for t in others)) + sum(log_student(row, *found) for row in mine))
    logs.append(np.log(a0) + sum(log_new(row, prior) for row in mine))
    return options, np.array(logs)


def draw(rng, logs):
    """An index in proportion to exp(logs)."""
    weight = np.exp(logs - logs.max())
    return int(np.searchsorted(np.cumsum(weight), rng.random() * weight.sum(), side="right"))


def sweep(rng, x, order, z, g, a0, a1, prior):
    """Lines 4-19 of Algorithm 1; g is a dict.  New groups get the least number that is free."""
    z, g = z.copy(), dict(g)
    for i in order:
        scope = g[int(z[i])] if z[i] >= 0 else None
        z[i] = -1
        options, logs = log_weights_of_datum(x, z, g, i, scope, a1, prior)
        c = [*options, least(z)][draw(rng, logs)]
        z[i] = c
        g = {int(t): g.get(int(t)) for t in np.unique(z[z >= 0])}
        options, logs = log_weights_of_sub(x, z, g, c, a0, prior)
        g[c] = [*options, least(options)][draw(rng, logs)]
    return z, g


def least(used):
    """The least whole number that is not used."""
    return next(n for n in range(len(used) + 1) if n not in set(np.asarray(used).tolist()))
