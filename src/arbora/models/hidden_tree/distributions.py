"""Categorical distributions and chances: draws, posterior modes and log priors of arrays of them.

Arrays carry the component axis last; `axis` is the one that sums to one.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

Floats = NDArray[np.float64]

# Smaller probabilities are set to zero: they never matter, and subnormal numbers are slow.
TINY = 1e-100
SMALL_SHAPE = 0.1  # of a gamma distribution: below it, draws may vanish


def draw_dirichlet(rng: np.random.Generator, shape: Floats, axis: int, without_last: bool = False) -> Floats:
    """Draws that sum to one along an axis; `without_last` keeps the last cell of the last row at zero.

    Gamma draws of small shapes would all be zero, so they are taken by their logarithm: one of Gamma(a) is one of
    Gamma(a + 1) times u ** (1 / a).
    """
    if shape.size and shape.min() < SMALL_SHAPE:
        logs = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape
        if without_last:
            logs[-1, -1] = -np.inf
        gamma = np.exp(logs - logs.max(axis=axis, keepdims=True))
    else:
        gamma = rng.standard_gamma(shape)
        if without_last:
            gamma[-1, -1] = 0.0
    total = gamma.sum(axis=axis, keepdims=True)
    return np.asarray(gamma / np.where(total > 0, total, 1.0))


def uniform(shape: tuple[int, ...], axis: int, without_last: bool = False) -> Floats:
    """Even distributions of one component."""
    ones = np.ones((*shape, 1))
    if without_last:
        ones[-1, -1] = 0.0
    return np.asarray(ones / np.maximum(ones.sum(axis=axis, keepdims=True), 1.0))


def mode(counts: Floats, axis: int, alpha: float) -> Floats:
    """Posterior mode of categorical distributions; uniform where there is nothing to go by."""
    x = counts + (alpha - 1.0)
    total = x.sum(axis=axis, keepdims=True)
    empty = total <= TINY
    if empty.any():
        x = np.where(empty, 1.0, x)
        total = np.where(empty, float(x.shape[axis]), total)
    x /= total
    x[x < TINY] = 0.0
    return x


def chance_mode(hits: Floats, tries: Floats, alpha: float) -> Floats:
    """Posterior mode of a chance under Beta(alpha, alpha); zero where nothing was seen."""
    tries = tries + 2.0 * (alpha - 1.0)
    return np.divide(hits + (alpha - 1.0), tries, out=np.zeros_like(hits), where=tries > 0)


def log_prior(values: Floats, alpha: float) -> Floats | float:
    """Log Dirichlet density of each component, up to a constant; zero where the prior is flat."""
    if alpha == 1.0:
        return 0.0
    # A cell that is zero by definition would be -inf: leave it out.
    logs = xlogy(alpha - 1.0, np.where(values > 0, values, 1.0))
    return np.asarray(logs.sum(axis=tuple(range(values.ndim - 1))))


def log_prior_constant(shape: tuple[int, ...], axis: int, alpha: float) -> float:
    """The constant that `log_prior` leaves out, of one component; zero where there is nothing to be probable."""
    n = shape[axis]
    if n == 0:
        return 0.0
    n_rows = int(np.prod(shape)) // n
    return float(n_rows * (gammaln(n * alpha) - n * gammaln(alpha)))


def n_free(shape: tuple[int, ...], axis: int) -> int:
    """Free parameters of one component."""
    return int(np.prod(shape)) // shape[axis] * (shape[axis] - 1) if shape[axis] else 0


def switch_mm_step(wins: Floats, exposure: Floats, switch: Floats, alpha: float) -> Floats:
    """One minorise-maximise step for weights that are renormalised over the present slots (Bradley-Terry).

    switch_l = (wins_l + alpha - 1) / (exposure_l + c), with c such that the weights sum to one; with alpha = 1 the
    scale is free, so c = 0 and the weights are rescaled.
    """
    wins = wins + (alpha - 1.0)
    if alpha == 1.0:
        raw = np.divide(wins, exposure, out=np.zeros_like(wins), where=exposure > TINY)
        total = raw.sum(axis=0)
        return np.where(total > 0, raw / np.where(total > 0, total, 1.0), switch)
    # sum_l wins / (exposure + c) falls in c; bracket the root of "= 1" and halve.
    low = np.max(wins - exposure, axis=0)  # there the largest term alone is one
    high = np.sum(wins, axis=0) - exposure.min(axis=0)  # there all terms together are at most one
    high = np.maximum(high, low)
    for _ in range(200):
        middle = 0.5 * (low + high)
        above = (wins / (exposure + middle)).sum(axis=0) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    raw = wins / (exposure + high)
    return np.asarray(raw / raw.sum(axis=0))
