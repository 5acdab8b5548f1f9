"""Rows with Dirichlet distributions, component axis last: means, expected logarithms, densities and divergences."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from . import distributions as dist

Floats = NDArray[np.float64]


def mean(q: Floats, axis: int) -> Floats:
    """Means of Dirichlet(q) rows."""
    x = q / q.sum(axis=axis, keepdims=True)
    x[x < dist.TINY] = 0.0
    return np.asarray(x)


def expected_log(q: Floats, axis: int) -> Floats:
    """Expected logarithms under Dirichlet(q) rows."""
    return np.asarray(digamma(q) - digamma(q.sum(axis=axis, keepdims=True)))


def exp_expected_log(q: Floats, axis: int) -> Floats:
    """The rows that variational passes use: exp(E log row)."""
    x = np.exp(expected_log(q, axis))
    x[x < dist.TINY] = 0.0
    return x


def log_density(x: Floats, alpha: Floats, axis: int) -> Floats:
    """Log density of the log odds of Dirichlet(alpha) rows, summed within each component."""
    alpha = np.broadcast_to(alpha, x.shape)
    rows = gammaln(alpha.sum(axis=axis))
    cells = alpha * np.log(np.maximum(x, 1e-300)) - gammaln(alpha)
    return np.asarray(rows.reshape(-1, x.shape[-1]).sum(axis=0) + cells.reshape(-1, x.shape[-1]).sum(axis=0))


def divergence(q: Floats, p: Floats, axis: int) -> Floats:
    """Kullback-Leibler divergence of Dirichlet(q) rows from Dirichlet(p) rows, summed within each component."""
    p = np.broadcast_to(p, q.shape)
    rows = gammaln(q.sum(axis=axis)) - gammaln(p.sum(axis=axis))
    cells = gammaln(p) - gammaln(q) + (q - p) * np.maximum(expected_log(q, axis), -1e280)
    return np.asarray(rows.reshape(-1, q.shape[-1]).sum(axis=0) + cells.reshape(-1, q.shape[-1]).sum(axis=0))
