"""Random numbers of the sampler, without loss near zero and in logarithms."""

import numpy as np

from ....jit import jit

TINY = 1e-300  # the least weight: so that logarithms exist
LEAST_AUGMENT = 1e-10  # the precision of a direction is divided by it


@jit
def log_gamma(rng, shape):
    """Logarithm of a gamma variable; small shapes would underflow otherwise."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(rng.random()) / max(shape, TINY)


@jit
def draw_beta(rng, a, b):
    """A Beta(a, b) variable and its complement, both without loss near zero."""
    apart = log_gamma(rng, b) - log_gamma(rng, a)
    return 1.0 / (1.0 + np.exp(apart)), 1.0 / (1.0 + np.exp(-apart))


@jit
def draw_augment(rng, b):
    """GIG(1/2, 1, b^2) without a division by b, so that b may be zero."""
    y = rng.standard_normal() ** 2
    drawn = b + 0.5 * y + np.sqrt(b * y + 0.25 * y * y)
    if rng.random() * (drawn + b) < drawn:
        return max(drawn, LEAST_AUGMENT)
    return max(b * b / drawn, LEAST_AUGMENT)
