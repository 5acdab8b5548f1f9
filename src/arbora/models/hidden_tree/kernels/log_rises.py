"""Logarithms of gamma functions and of rising products, by Stirling's series: faster than those of the C library."""

import math

from ....jit import inlined

FEW = 16  # factors that are multiplied; more are the quotient of two gamma functions
LEAST = 10.0  # from here on the series is exact to the last digits
HALF_LOG_2_PI = 0.9189385332046727


@inlined
def log_gamma(x):
    """Logarithm of the gamma function at x > 0."""
    product = 1.0
    while x < LEAST:
        product *= x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1.0 / 1188.0 - square * (691.0 / 360360.0)
    series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * series)
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * series))
    value = (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series
    return value if product == 1.0 else value - math.log(product)


@inlined
def log_rise(a, n):
    """log of a (a + 1) ... (a + n - 1), the gamma function at a + n over that at a."""
    if n <= FEW and n == int(n):
        product = 1.0
        for x in range(int(n)):
            product *= a + x
        return math.log(product)
    return log_gamma(a + n) - log_gamma(a)
