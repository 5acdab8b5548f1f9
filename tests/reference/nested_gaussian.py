"""Clusters of sub-clusters of Gaussian data, slow and obvious: dense covariances, no sufficient statistics.

Given Sigma the rows of a cluster are jointly normal with row covariance  I + q Z Z' + 11'/k0  (Z: membership in
sub-clusters), so X_r is matrix-t.  States are pairs of tuples: sub-cluster of each datum, cluster of each sub-cluster.
"""

import numpy as np
from scipy.special import gammaln, multigammaln

from tests.reference.infinite import set_partitions


def log_marginal(x, sub, prior):
    """log p(rows of one cluster) by the matrix-t density; `prior` has scale0, dof0, kappa0, spread.

    x is [row, column], or a stack of such.
    """
    n, d = x.shape[-2:]
    member = (np.asarray(sub)[:, None] == np.unique(sub)).astype(float)
    rows = np.eye(n) + prior["spread"] * member @ member.T + np.ones((n, n)) / prior["kappa0"]
    psi = prior["scale0"] + np.swapaxes(x, -1, -2) @ np.linalg.solve(rows, x)
    v = prior["dof0"]
    value = multigammaln((v + n) / 2, d) - multigammaln(v / 2, d) - n * d / 2 * np.log(np.pi)
    value += v / 2 * np.linalg.slogdet(prior["scale0"])[1] - (v + n) / 2 * np.linalg.slogdet(psi)[1]
    return value - d / 2 * np.linalg.slogdet(rows)[1]


def log_likelihood(x, z, g, prior):
    """log p(all rows | sub-clusters, clusters)."""
    z = np.asarray(z)
    home = np.asarray(g)[z]
    return sum(log_marginal(x[..., home == r, :], z[home == r], prior) for r in np.unique(home))


def stretched(n=41, reach=7.0, scale=0.7):
    """Nodes and weights of a rule for integrals over a heavy-tailed number: sinh of a grid."""
    u = np.linspace(-reach, reach, n)
    return scale * np.sinh(u), scale * np.cosh(u) * (u[1] - u[0])


def log_likelihood_of_seen(x, z, g, prior):
    """log p(cells that are not nan | sub-clusters, clusters): the missing ones integrated out on a grid."""
    cells = np.argwhere(np.isnan(x))
    node, weight = stretched()
    grid = np.stack(np.meshgrid(*[node] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
    log_weight = np.log(np.stack(np.meshgrid(*[weight] * len(cells), indexing="ij"), axis=-1)).sum(axis=-1).ravel()
    whole = np.repeat(x[None], len(grid), axis=0)
    whole[:, cells[:, 0], cells[:, 1]] = grid
    return np.logaddexp.reduce(log_weight + log_likelihood(whole, z, g, prior))


def crp(sizes, concentration):
    """log probability of a partition with these group sizes."""
    n = sum(sizes)
    value = gammaln(concentration) - gammaln(concentration + n)
    return value + sum(np.log(concentration) + gammaln(size) for size in sizes)


def log_prior(z, g, kind, a0, a1):
    """log P(sub-clusters, clusters)."""
    z, g = np.asarray(z), np.asarray(g)
    home = g[z]
    if kind == "single":
        return crp(np.bincount(z), a0)
    if kind == "flat":
        return crp(np.bincount(z), a1) + crp(np.bincount(g), a0)
    value = crp(np.bincount(home), a0)
    for r in np.unique(home):
        value += crp(np.unique(z[home == r], return_counts=True)[1], a1)
    return value


def states(n, kind):
    """Every pair (sub-clusters, clusters) of n data."""
    out = []
    for z in set_partitions(n):
        n_subs = max(z) + 1
        if kind == "single":
            out.append((z, tuple(range(n_subs))))
        else:
            out.extend((z, g) for g in set_partitions(n_subs))
    return out


def posterior(x, kind, a0, a1, prior, temper=1.0):
    """Probability of every state."""
    every = states(len(x), kind)
    likelihood = log_likelihood_of_seen if np.isnan(x).any() else log_likelihood
    logs = [log_prior(z, g, kind, a0, a1) + temper * likelihood(x, z, g, prior) for z, g in every]
    prob = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    return dict(zip(every, prob, strict=True))


def canonical(z, g):
    """The state with groups numbered by first appearance."""
    order = {}
    fine = tuple(order.setdefault(t, len(order)) for t in np.asarray(z).tolist())
    coarse = {}
    home = tuple(coarse.setdefault(int(g[t]), len(coarse)) for t in order)
    return fine, home


def gibbs_sweep(rng, x, z, g, kind, a0, a1, prior):
    """One sweep of Gibbs over data, then over sub-clusters, each weight a ratio of joint probabilities."""

    def joint(z, g):
        fine, home = canonical(z, g)
        return log_prior(fine, home, kind, a0, a1) + log_likelihood(x, fine, home, prior)

    def draw(options):
        logs = np.array([joint(*option) for option in options])
        prob = np.exp(logs - logs.max())
        return options[rng.choice(len(options), p=prob / prob.sum())]

    z, g = list(z), list(g)
    for n in range(len(x)):
        rest = sorted(set(z[:n] + z[n + 1 :]))
        new = len(g)
        options = [([*z[:n], t, *z[n + 1 :]], g) for t in rest]
        if kind != "single":
            options += [([*z[:n], new, *z[n + 1 :]], [*g, r]) for r in sorted({g[t] for t in rest})]
        options.append(([*z[:n], new, *z[n + 1 :]], [*g, max(g) + 1]))
        z, g = draw(options)
        z, g = map(list, canonical(z, g))
    if kind != "single":
        for j in range(len(g)):
            others = sorted(set(g[:j] + g[j + 1 :]))
            options = [(z, [*g[:j], r, *g[j + 1 :]]) for r in [*others, max(g) + 1]]
            z, g = draw(options)
    return canonical(z, g)


def sample(rng, n, d, kind, a0, a1, prior):
    """Draw a state and data from the model: partition by Chinese restaurants, then parameters, then rows."""

    def restaurant(n, concentration):
        seat = []
        for i in range(n):
            weight = np.append(np.bincount(seat), concentration) if seat else np.array([concentration])
            seat.append(int(rng.choice(len(weight), p=weight / (i + concentration))))
        return np.array(seat)

    if kind == "single":
        z = restaurant(n, a0)
        g = np.arange(z.max() + 1)
    elif kind == "flat":
        z = restaurant(n, a1)
        g = restaurant(z.max() + 1, a0)
    else:
        home = restaurant(n, a0)
        z = np.zeros(n, int)
        g = []
        for r in range(home.max() + 1):
            mine = np.flatnonzero(home == r)
            seat = restaurant(len(mine), a1)
            z[mine] = len(g) + seat
            g += [r] * (seat.max() + 1)
        g = np.array(g)
    return z, g, rows(rng, z, g, d, prior)


def rows(rng, z, g, d, prior):
    """Draw parameters and data given the partition."""
    root0 = np.linalg.cholesky(np.linalg.inv(prior["scale0"]))
    x = np.empty((len(z), d))
    for r in np.unique(g):
        normal = rng.normal(size=(int(prior["dof0"]), d)) @ root0.T  # whole degrees of freedom: a sum of squares
        sigma = np.linalg.inv(normal.T @ normal)
        root = np.linalg.cholesky(sigma)
        centre = root @ rng.normal(size=d) / np.sqrt(prior["kappa0"])
        for t in np.flatnonzero(np.asarray(g) == r):
            mean = centre + np.sqrt(prior["spread"]) * root @ rng.normal(size=d)
            mine = np.asarray(z) == t
            x[mine] = mean + rng.normal(size=(mine.sum(), d)) @ root.T
    return x
