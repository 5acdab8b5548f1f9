"""Normal-inverse-Wishart algebra: Cholesky factors that follow one datum at a time, marginals and predictives.

A slot holds ``Psi`` of  Sigma ~ IW(Psi, v), mean ~ N(mean, Sigma / k)  as its lower Cholesky factor.  A datum is
Student t:  p(x) = pi^(-d/2) G((v+1)/2)/G((v+1-d)/2) shrink^(d/2) |Psi|^(-1/2) (1 + shrink e' Psi^-1 e)^(-(v+1)/2)  with
e = x - mean and shrink = k/(k+1), and takes Psi to  Psi + shrink e e':  one rank-one update.
"""

import math

import numpy as np
from scipy.special import gammaln, multigammaln

from ....jit import inlined

LEAST_PIVOT = 1e-14  # of a downdate, relative: below it the difference is all rounding


@inlined
def quadratic_form(chol, k, centre, row, n, solved):
    """(x - centre)' Psi^-1 (x - centre) by forward substitution, for row n and factor k; O(d^2).

    `centre` is (centres, which of them).
    """
    centres, c = centre
    d = row.shape[1]
    total = 0.0
    for a in range(d):
        value = row[n, a] - centres[c, a]
        for b in range(a):
            value -= chol[k, a, b] * solved[b]
        value /= chol[k, a, a]
        solved[a] = value
        total += value * value
    return total


@inlined
def add_outer(chol, k, vector):
    """Make factor k that of  Psi + v v'; destroys the vector."""
    d = vector.shape[0]
    for a in range(d):
        old = chol[k, a, a]
        new = math.sqrt(old * old + vector[a] * vector[a])
        c = new / old
        s = vector[a] / old
        chol[k, a, a] = new
        for b in range(a + 1, d):
            chol[k, b, a] = (chol[k, b, a] + s * vector[b]) / c
            vector[b] = c * vector[b] - s * chol[k, b, a]


@inlined
def take_outer(chol, k, vector):
    """Make factor k that of  Psi - v v', which must be positive; destroys the vector.

    A pivot lost to rounding is set to a trifle; whoever holds the slots builds them anew now and then.
    """
    d = vector.shape[0]
    for a in range(d):
        old = chol[k, a, a]
        square = old * old - vector[a] * vector[a]
        new = math.sqrt(max(square, LEAST_PIVOT * old * old))
        c = new / old
        s = vector[a] / old
        chol[k, a, a] = new
        for b in range(a + 1, d):
            chol[k, b, a] = (chol[k, b, a] - s * vector[b]) / c
            vector[b] = c * vector[b] - s * chol[k, b, a]


@inlined
def log_determinant(chol, k):
    """log |Psi| from factor k."""
    total = 0.0
    for a in range(chol.shape[1]):
        total += math.log(chol[k, a, a])
    return 2.0 * total


@inlined
def factorise(matrix, chol, k):
    """Put the lower Cholesky factor of a positive matrix into slot k; the upper triangle is left alone."""
    d = matrix.shape[0]
    for a in range(d):
        for b in range(a + 1):
            value = matrix[a, b]
            for c in range(b):
                value -= chol[k, a, c] * chol[k, b, c]
            if a == b:
                chol[k, a, a] = math.sqrt(max(value, LEAST_PIVOT * matrix[a, a]))
            else:
                chol[k, a, b] = value / chol[k, b, b]


def log_predictive_table(dof0, dimension, n_data):
    """log of pi^(-d/2) G((v+1)/2) / G((v+1-d)/2) for v = dof0 + n, n = 0..n_data; arrays, not a kernel."""
    v = dof0 + np.arange(n_data + 1.0)
    constant = -0.5 * dimension * math.log(math.pi)
    return gammaln((v + 1.0) / 2.0) - gammaln((v + 1.0 - dimension) / 2.0) + constant


def log_gamma_table(dof0, dimension, n_data):
    """log of pi^(-nd/2) G_d((dof0 + n)/2) / G_d(dof0/2), n = 0..n_data; arrays, not a kernel."""
    n = np.arange(n_data + 1.0)
    gamma = multigammaln((dof0 + n) / 2.0, dimension) - multigammaln(dof0 / 2.0, dimension)
    return gamma - 0.5 * dimension * math.log(math.pi) * n
