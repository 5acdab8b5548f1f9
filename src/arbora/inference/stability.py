"""Which groups of a partition come up in all chains, and what becomes of the others."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .drawn_partitions import as_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fate = Literal["stable", "splits", "joins others", "comes and goes"]

STABLE = 0.75  # mean Jaccard similarity, in every chain, from which on a group counts as found again (Hennig 2007)
WHOLE = 0.8  # share of a group from which on it is nearly all of it


class Stability(NamedTuple):
    """How well the groups of a partition are found again in the draws of chains.

    Attributes
    ----------
    group : ndarray of shape (n_groups,)
        The groups by number.
    size : ndarray of shape (n_groups,)
        Number of data in each.
    stability : ndarray of shape (n_groups,)
        Jaccard similarity of a group and the most similar group of a draw: 1 if it is found again exactly.  The mean
        over the draws of a chain; of all chains the least.
    in_parts : ndarray of shape (n_groups,)
        The same for a group and all groups of a draw that lie in it by half or more, taken together: 1 if draws only
        split it.
    share_kept : ndarray of shape (n_groups,)
        Mean share of a group that is in its counterpart.
    """

    group: Ints
    size: Ints
    stability: Floats
    in_parts: Floats
    share_kept: Floats

    @property
    def is_stable(self) -> NDArray[np.bool_]:
        """Whether each group is found again in every chain."""
        return self.stability >= STABLE

    @property
    def share_stable(self) -> float:
        """Share of the data that are in stable groups."""
        return float(self.size[self.is_stable].sum() / self.size.sum())

    def fates(self) -> list[Fate]:
        """What becomes of each group in the draws, in words."""
        return [_fate(*row) for row in zip(self.is_stable, self.in_parts, self.share_kept, strict=True)]


def group_stability(partition: ArrayLike, draws: ArrayLike) -> Stability:
    """Find each group of a partition again in the draws of chains, [chain, draw, datum].

    Parameters
    ----------
    partition : array of shape (n_data,)
        Group of each datum; the data of a negative one are in no group.
    draws : array of shape (n_chains, n_draws, n_data)
        Labels of the draws.

    Returns
    -------
    Stability
        One row per group.

    References
    ----------
    Hennig (2007), Cluster-wise assessment of cluster stability.

    Examples
    --------
    >>> draws = [[[0, 0, 0, 1, 1]], [[1, 1, 1, 0, 2]]]
    >>> group_stability([0, 0, 0, 1, 1], draws).stability.tolist()
    [1.0, 0.5]
    >>> group_stability([0, 0, 0, 1, 1], draws).fates()
    ['stable', 'splits']
    """
    shape = np.shape(draws)
    label = np.asarray(partition)
    if len(shape) != 3 or label.shape != shape[2:]:
        raise ValueError(
            f"partition of shape {label.shape}, draws of shape {shape}; wanted [datum], [chain, draw, datum]"
        )
    inside = np.flatnonzero(label >= 0)
    group, number = np.unique(label[inside], return_inverse=True)
    size = np.bincount(number, minlength=len(group))
    drawn, n_drawn = as_groups(draws)
    found = np.empty((3, len(drawn), len(group)))
    for x, (draw, n) in enumerate(zip(drawn, n_drawn.tolist(), strict=True)):
        both = np.bincount(number * n + draw[inside], minlength=len(group) * n).reshape(len(group), n)
        theirs = np.bincount(draw, minlength=n)
        alike = both / np.maximum(size[:, None] + theirs - both, 1)
        best = alike.argmax(axis=1)
        met = both[np.arange(len(group)), best]
        parts = 2 * both >= theirs
        united = (both * parts).sum(axis=1)
        all_of_them = size + (theirs * parts).sum(axis=1) - united
        found[:, x] = alike.max(axis=1), united / all_of_them, met / size
    jaccard, united, kept = found.reshape(3, *shape[:2], len(group)).mean(axis=2)  # [chain, group]
    return Stability(group, size, jaccard.min(axis=0), united.min(axis=0), kept.mean(axis=0))


def _fate(stable: bool, in_parts: float, kept: float) -> Fate:
    if stable:
        return "stable"
    if in_parts >= STABLE:
        return "splits"
    return "joins others" if kept >= WHOLE else "comes and goes"
