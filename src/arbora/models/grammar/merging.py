"""Groups within groups: components merged one pair after the other, the pair that loses least first."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ..merging import Merges
from . import backoff
from .backoff import Counts
from .em import Chains
from .events import Alphabet, Ints
from .kernels import chains

Floats = NDArray[np.float64]


class Marginal:
    """Log marginal of the counts of a group: every row Dirichlet about the pooled shorter context (note, section 7)."""

    def __init__(self, model: Chains, key: Ints, alphabet: Alphabet):
        levels = backoff.levels_of(key, alphabet)
        pooled = Counts(model.counts.cell.sum(axis=1, keepdims=True), model.counts.pair.sum(axis=1, keepdims=True))
        tables = backoff.tables_of(levels, pooled, alphabet)
        places = backoff.own_places(levels)
        self.row, self.n_rows = levels.cell_row, len(levels.row_key)
        kind = levels.context_kind[levels.row_context]
        self.prior = model.strength[0][places.kind][:, None] * backoff.bases_of(tables, places, model.strength).own
        self.row_prior = model.strength[0][kind][:, None]

    def __call__(self, count: Floats) -> Floats:
        """log M of every column of [cell, group]."""
        total = chains.add_by(self.row, np.ascontiguousarray(count), self.n_rows)
        cells = (gammaln(self.prior + count) - gammaln(self.prior)).sum(axis=0)
        return np.asarray(cells - (gammaln(self.row_prior + total) - gammaln(self.row_prior)).sum(axis=0))


def merge_all(model: Chains, marginal: Marginal, size: Floats) -> Merges:
    """Merge down to one component, best pair first.

    The score is sum of log M(counts) + sum of log Gamma(size), the Dirichlet-process prior of the partition up to what
    depends on the number alone; sizes may be expected ones.
    """
    count, size = model.counts.cell, np.asarray(size, np.float64)
    n = count.shape[1]
    groups = {k: (count[:, k], size[k], float(_alone(marginal, count[:, k], size[k]))) for k in range(n)}
    value = sum(group[2] for group in groups.values())
    gains: dict[tuple[int, int], float] = {}
    pairs, gained, total = [], [], [value]
    fresh = list(groups)
    for step in range(n - 1):
        for l in fresh:
            others = [k for k in groups if k != l and (min(k, l), max(k, l)) not in gains]
            if others:
                both = np.stack([groups[k][0] + groups[l][0] for k in others], axis=1)
                score = marginal(both) + gammaln(np.maximum([groups[k][1] + groups[l][1] for k in others], 1.0))
                for k, merged in zip(others, score, strict=True):
                    gains[min(k, l), max(k, l)] = float(merged - groups[k][2] - groups[l][2])
        best = max(gains, key=lambda pair: (gains[pair], -pair[0], -pair[1]))
        gain, (a, b) = gains[best], (groups.pop(best[0]), groups.pop(best[1]))
        groups[n + step] = (a[0] + b[0], a[1] + b[1], a[2] + b[2] + gain)
        gains = {pair: x for pair, x in gains.items() if not {*pair} & {*best}}
        fresh = [n + step]
        pairs.append(best)
        gained.append(gain)
        total.append(total[-1] + gain)
    pair = np.array(pairs, np.int64).reshape(-1, 2)
    return Merges(pair, np.array(gained, np.float64), np.array(total, np.float64))


def _alone(marginal: Marginal, count: Floats, size: float) -> float:
    return float(marginal(count[:, None])[0] + gammaln(max(size, 1.0)))
