"""How probable the numbers of one state are with its parameters integrated out: one function for all families."""

import math

from ....jit import inlined

GAUSSIAN, POISSON = 0.0, 1.0
N_MOMENTS = 3  # sums that are kept of the numbers of a state: how many, their sum, and a third by family
N_PRIOR = 5  # numbers of a prior: family, three of its own, and the constant at which no numbers have marginal 0


@inlined
def number_marginal(prior, n, first, second):
    """Log density of n numbers with these sums, up to factors of each number that no parameter enters.

    A Gaussian has the sums of x - centre and of its square, and the prior (strength, dof, dof * scale); a Poisson has
    the sum of counts, and the prior (shape, rate, 0).
    """
    if prior[0] == GAUSSIAN:
        strength = prior[1] + n
        shape = 0.5 * (prior[2] + n)
        rate = 0.5 * (prior[3] + max(second - first * first / strength, 0.0))  # rounding
        return math.lgamma(shape) - shape * math.log(rate) - 0.5 * math.log(strength) - prior[4]
    shape = prior[1] + first
    return math.lgamma(shape) - shape * math.log(prior[2] + n) - prior[4]
