"""Lengths of the content of the nodes of a union, by conjugate families whose statistics are three sums.

A column has a family and two numbers of its prior.  Of the values at a node, `moment` holds their number and two sums:

- Gaussian: of values and of their squares; values are standardised, so the prior's mean is 0.  The prior is
  mean | variance ~ N(0, variance / strength), variance ~ InvGamma(dof / 2, dof scale / 2);
- Poisson: of counts and of the logarithms of their factorials; rate ~ Gamma(2, rate);
- flag: of ones, and nothing; chance ~ Beta(1, 1).

Lengths are minus the logarithm of the marginal, so they are those of an exact code that learns as it goes.
"""

from math import lgamma, log, pi

from ....jit import jit

GAUSSIAN, POISSON, FLAG = 0, 1, 2
DOF, SHAPE = 3.0, 2.0


@jit
def column_length(family, one, two, n, first, second):
    """Nats for the n values of a column at a node; `one` and `two` are the prior's scale and strength, or its rate."""
    if n <= 0.0:
        return 0.0
    if family == GAUSSIAN:
        strength = two + n
        shape_0, rate_0 = 0.5 * DOF, 0.5 * DOF * one
        shape, rate = shape_0 + 0.5 * n, rate_0 + 0.5 * max(second - first * first / strength, 0.0)
        gammas = lgamma(shape) - lgamma(shape_0) + shape_0 * log(rate_0) - shape * log(rate)
        return 0.5 * n * log(2.0 * pi) - gammas - 0.5 * (log(two) - log(strength))
    if family == POISSON:
        gammas = lgamma(SHAPE + first) - lgamma(SHAPE)
        return second - gammas - SHAPE * log(one) + (SHAPE + first) * log(one + n)
    return lgamma(n + 2.0) - lgamma(1.0 + first) - lgamma(1.0 + n - first)


@jit
def content_length(family, prior, moment):
    """Nats for all columns of a node: `prior` is [column, 2], `moment` [column, 3]."""
    total = 0.0
    for c in range(family.shape[0]):
        total += column_length(family[c], prior[c, 0], prior[c, 1], moment[c, 0], moment[c, 1], moment[c, 2])
    return total


@jit
def content_lengths(family, prior, moment, out):
    """Nats for the content of many nodes: `moment` is [node, column, 3]."""
    for u in range(moment.shape[0]):
        out[u] = content_length(family, prior, moment[u])


@jit
def joint_length(family, prior, moment_1, moment_2):
    """Nats for the content of two nodes made one."""
    total = 0.0
    for c in range(family.shape[0]):
        total += column_length(
            family[c],
            prior[c, 0],
            prior[c, 1],
            moment_1[c, 0] + moment_2[c, 0],
            moment_1[c, 1] + moment_2[c, 1],
            moment_1[c, 2] + moment_2[c, 2],
        )
    return total
