"""R-hat and effective sample sizes of numbers that chains drew, after Vehtari et al. (2021).

Every function takes draws [..., chain, draw], four or more in each chain, and returns a number of each quantity, [...].
Chains are cut in halves; of an odd number of draws the middle one is left out.  Ranks with ties averaged become normal
scores, so that no moment of the draws need exist.  A quantity that never changes has no spread to compare: all of its
figures are nan, as are those of a quantity that is not finite everywhere.

References
----------
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner, P.-C. (2021). Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2), 667-718.

Geyer, C. J. (1992). Practical Markov chain Monte Carlo. Statistical Science 7(4), 473-483.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MIN_DRAWS = 4  # of a chain: halves of fewer have no variance
TAILS = (0.05, 0.95)  # quantiles of the tails


def rhat(draws: ArrayLike) -> Floats:
    """Rank-normalised split R-hat, the larger of that of the draws and that of their distances from the median.

    It is infinite where every half of a chain stands still and not all at the same place.

    >>> still = [[1.0] * 8, [2.0] * 8]
    >>> moving = [[1.0, 4.0, 3.0, 2.0, 4.0, 1.0, 2.0, 3.0], [4.0, 2.0, 3.0, 1.0, 3.0, 2.0, 1.0, 4.0]]
    >>> rhat([still, moving]).round(2)
    array([ inf, 0.87])
    """
    halves, known = _split(draws)
    folded = np.abs(halves - np.median(_pooled(halves), axis=-1)[..., None, None])
    return np.where(known, np.fmax(_rhat(halves), _rhat(folded)), np.nan)


def ess_bulk(draws: ArrayLike) -> Floats:
    """Effective number of draws for the centre of the distribution: that of the mean of the normal scores."""
    halves, known = _split(draws)
    return np.where(known, _ess(_normal_scores(halves)), np.nan)


def ess_tail(draws: ArrayLike) -> Floats:
    """Effective number of draws for the tails: the smaller of those of "at most the 5 % quantile" and "the 95 %"."""
    halves, known = _split(draws)
    pooled = np.sort(_pooled(_checked(draws)), axis=-1)
    # The draws up to a quantile are those up to the order statistic below it; no interpolation, so no rounding of ties.
    last = [int(np.floor((pooled.shape[-1] - 1) * share + 1e-9)) for share in TAILS]
    low, high = (_ess((halves <= pooled[..., n, None, None]).astype(np.float64)) for n in last)
    return np.where(known, np.fmin(low, high), np.nan)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _checked(draws: ArrayLike) -> Floats:
    values = np.asarray(draws, np.float64)
    if values.ndim < 2 or values.shape[-1] < MIN_DRAWS or not values.shape[-2]:
        raise ValueError(f"draws have shape {values.shape}; wanted [..., chain, draw] with {MIN_DRAWS} draws or more")
    return values


def _pooled(values: Floats) -> Floats:
    """All chains in one, [..., draw]."""
    return values.reshape(*values.shape[:-2], values.shape[-2] * values.shape[-1])


def _split(draws: ArrayLike) -> tuple[Floats, Flags]:
    """Half-chains [..., half, draw], zero where a quantity has no figures, and which quantities have some."""
    values = _checked(draws)
    half = values.shape[-1] // 2
    halves = np.concatenate([values[..., :half], values[..., -half:]], axis=-2)
    finite = np.asarray(np.isfinite(values).all(axis=(-2, -1)))
    halves = np.where(finite[..., None, None], halves, 0.0)
    return halves, halves.min(axis=(-2, -1)) < halves.max(axis=(-2, -1))


def _normal_scores(values: Floats) -> Floats:
    """Normal quantiles of the ranks (rank - 3/8) / (n + 1/4) among all chains; equal values share their mean rank."""
    n = values.shape[-2] * values.shape[-1]
    flat = values.reshape(-1, n)
    order = np.argsort(flat, axis=1, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=1)
    first = np.ones(ordered.shape, bool)  # of a run of equal values
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = np.cumsum(first.reshape(-1)) - 1
    place = np.tile(np.arange(1.0, n + 1.0), len(flat))
    rank = np.empty(flat.shape)
    np.put_along_axis(rank, order, (np.bincount(run, place) / np.bincount(run))[run].reshape(flat.shape), axis=1)
    return ndtri((rank - 0.375) / (n + 0.25)).reshape(values.shape)


def _rhat(halves: Floats) -> Floats:
    """R-hat of the normal scores of half-chains, the root of the pooled variance over that within."""
    scores = _normal_scores(halves)
    n = scores.shape[-1]
    within = scores.var(axis=-1, ddof=1).mean(axis=-1)
    between = scores.mean(axis=-1).var(axis=-1, ddof=1)
    # The mean of equal numbers need not be that number: whether a half stands still is asked of the draws.
    still = (halves == halves[..., :1]).all(axis=(-2, -1))
    same = (halves == halves[..., :1, :1]).all(axis=(-2, -1))
    ratio = np.divide(between, within, out=np.full(np.shape(within), np.inf), where=~still)
    return np.where(same, np.nan, np.sqrt((n - 1.0) / n + ratio))


def _ess(halves: Floats) -> Floats:
    """Effective number of draws for the mean: autocorrelations summed up to where Geyer's pairs turn negative."""
    n_halves, n = halves.shape[-2:]
    cov = _autocovariance(halves)
    within = cov[..., 0].mean(axis=-1) * n / (n - 1.0)
    pooled = within * (n - 1.0) / n + halves.mean(axis=-1).var(axis=-1, ddof=1)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing changes
        correlation = 1.0 - (within[..., None] - cov.mean(axis=-2)) / pooled[..., None]
    correlation[..., 0] = 1.0
    n_pairs = max((n - 1) // 2, 1)
    even, odd = correlation[..., 0 : 2 * n_pairs : 2], correlation[..., 1 : 2 * n_pairs : 2]
    pair = even + odd
    ended = pair <= 0.0
    last = np.where(ended.any(axis=-1), ended.argmax(axis=-1), n_pairs - 1)[..., None]
    falling = np.minimum.accumulate(pair, axis=-1)
    total = np.where(np.arange(n_pairs) < last, falling, 0.0).sum(axis=-1)
    # Half of the pair at which the sum ends: this lowers the variance where draws alternate.
    extra = np.take_along_axis(even, last, axis=-1)[..., 0]
    extra = np.where(np.take_along_axis(pair, last, axis=-1)[..., 0] < 0.0, np.maximum(extra, 0.0), extra)
    time = np.maximum(2.0 * total - 1.0 + extra, 1.0 / np.log10(n_halves * n))
    same = (halves == halves[..., :1, :1]).all(axis=(-2, -1))
    return np.where(same, np.nan, n_halves * n / time)


def _autocovariance(values: Floats) -> Floats:
    """Sums of products of deviations that lie 0, 1, ... draws apart, over the number of draws."""
    n = values.shape[-1]
    centred = values - values.mean(axis=-1, keepdims=True)
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, padded, axis=-1)
    return np.fft.irfft(spectrum * spectrum.conj(), padded, axis=-1)[..., :n] / n
