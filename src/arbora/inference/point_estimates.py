"""One partition for all draws, how far the draws are from it, and how many groups they have."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from ..seeds import resolve_seed
from .drawn_partitions import (
    ROUNDING,
    Comparison,
    Groups,
    Ints,
    Loss,
    against,
    align_labels,
    as_groups,
    canonical,
    compare_to_draws,
    comparison,
    cut_levels,
)
from .kernels import partitions

Floats = NDArray[np.float64]

_LINKAGE_LIMIT = 1000  # data; beyond it the matrix of all pairs is not worth its memory


class PointEstimate(NamedTuple):
    """The partition found to have the least posterior expected loss."""

    labels: Ints  # by decreasing size of the group
    expected_loss: float  # mean over all draws
    loss: Loss
    n_groups: int
    n_starts: int  # searches made
    n_found: int  # searches that ended with this expected loss; 1 of many asks for a larger n_init


class CredibleBall(NamedTuple):
    """Partitions within `radius` of an estimate, and the draws on its edge; [partition, datum], aligned with it."""

    radius: float
    level: float
    mass: float  # share of the draws inside, at least `level`
    loss: Loss
    upper: Ints  # fewest groups in the ball, and of those the farthest
    lower: Ints  # most groups in the ball, and of those the farthest
    horizontal: Ints  # the farthest of all


class GroupCount(NamedTuple):
    """Posterior of the number of groups."""

    n_groups: Ints  # the numbers that occur, ascending
    probability: Floats
    mode: int
    mean: float
    interval: tuple[int, int]  # central, with at least `level` of the mass
    level: float


def point_estimate(
    labels: ArrayLike, loss: Loss = "vi", n_init: int = 8, max_groups: int | None = None, random_state: Any = None
) -> PointEstimate:
    """Find the partition of least posterior expected loss, the mean of the loss over the draws.

    Searches start from the best draw, from the best cut of an average-linkage tree of the co-clustering distances (up
    to 1000 data) and from `n_init` sequential allocations in random order; each goes downhill by moving one datum,
    merging two groups and breaking one up, with the contingency tables against all draws kept up to date.  The result
    is never worse than a draw of at most `max_groups` groups (default: as many as the loss asks for).  Memory is
    4 bytes x groups of the estimate, with some room, x groups of all distinct draws together.
    """
    if loss not in ("vi", "binder"):
        raise ValueError(f'loss={loss!r}; wanted "vi" or "binder"')
    group, n_groups = as_groups(labels)
    n_data = group.shape[1]
    n_slots = min(n_data, 2 * int(n_groups.max()) + 8 if max_groups is None else max_groups)
    if n_init < 1 or n_slots < 1:
        raise ValueError(f"n_init={n_init}, max_groups={max_groups}; wanted 1 or more of each")
    first, weight = distinct_draws(group)
    draws, rng = comparison(group[first], loss), resolve_seed(random_state)
    found = _estimate(rng, draws, weight, n_slots, n_init)
    while max_groups is None and found.n_groups == n_slots < n_data:  # Binder's loss may like many data alone
        n_slots = min(n_data, 2 * n_slots)
        found = _estimate(rng, draws, weight, n_slots, n_init)
    return found


def _estimate(rng: np.random.Generator, draws: Comparison, weight: Floats, n_slots: int, n_init: int) -> PointEstimate:
    """The best of all searches with at most `n_slots` groups."""
    target = _target(draws, weight)
    starts: list[Groups | None] = [*_good_starts(draws, weight, n_slots), *[None] * n_init]
    found = [_search(rng, target, n_slots, start) for start in starts]  # only downhill: no worse than its start
    expected = np.array([weight @ against(draws, x) for x in found])
    best = int(expected.argmin())
    n_found = int((expected <= expected[best] + ROUNDING).sum())
    result = canonical(found[best])
    loss: Loss = "vi" if draws.measure == "vi" else "binder"
    return PointEstimate(result, float(expected[best]), loss, int(result.max()) + 1, len(starts), n_found)


def distinct_draws(group: Groups) -> tuple[Ints, Floats]:
    """First draw of each partition that occurs, and the share of the draws equal to it."""
    seen: dict[bytes, int] = {}
    kind = np.array([seen.setdefault(draw.tobytes(), len(seen)) for draw in group])
    _, first, count = np.unique(kind, return_index=True, return_counts=True)
    return first.astype(np.int64), count / len(group)


def _target(draws: Comparison, weight: Floats) -> partitions.Target:
    offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(draws.n_groups)])
    row = np.ascontiguousarray((draws.group + offset[:-1, None]).T.astype(np.int32))
    row_weight, step = np.repeat(weight, draws.n_groups), np.diff(draws.value)
    return partitions.Target(row, weight, row_weight, draws.value, step, 1e-12 * draws.value[-1])


def _good_starts(draws: Comparison, weight: Floats, n_slots: int) -> list[Groups]:
    """The best draw and, for few data, the best cut of the average-linkage tree, among those with room for them."""
    n_data = draws.group.shape[1]
    starts = []
    allowed = draws.n_groups <= n_slots
    if allowed.any():
        expected = _expected(draws, weight)
        starts.append(draws.group[np.where(allowed, expected, np.inf).argmin()])
    if 2 <= n_data <= _LINKAGE_LIMIT:
        together = np.zeros((n_data, n_data))
        partitions.add_together(draws.group, weight, np.arange(n_data), together)
        tree = linkage(squareform(np.maximum(1.0 - together, 0.0), checks=False), "average")
        cuts, _ = as_groups(cut_levels(tree, np.arange(1, n_slots + 1)))
        starts.append(cuts[np.argmin([weight @ against(draws, cut) for cut in cuts])])
    return starts


def expected_losses(labels: ArrayLike, loss: Loss = "vi") -> Floats:
    """Mean loss of each draw against all draws, chains pooled: the least is the draw that stands for all best.

    >>> expected_losses([[0, 0, 1], [0, 0, 1], [0, 1, 1]], "binder").round(3)
    array([0.222, 0.222, 0.444])
    """
    group, _ = as_groups(labels)
    return _expected(comparison(group, loss), np.full(len(group), 1.0 / len(group)))


def _expected(draws: Comparison, weight: Floats) -> Floats:
    expected = np.zeros(len(weight))
    for c in range(len(weight)):  # losses are symmetric: half of them are enough
        distance = against(draws, draws.group[c], c)
        expected[c] += weight[c:] @ distance
        expected[c + 1 :] += weight[c] * distance[1:]
    return expected


def _search(rng: np.random.Generator, target: partitions.Target, n_slots: int, start: Groups | None) -> Groups:
    """A partition that no move improves, reached from `start`, or from seating the data in random order."""
    n_data = len(target.row)
    table = np.zeros((len(target.row_weight), n_slots), np.int32)
    fit = partitions.Fit(np.full(n_data, -1, np.int32), np.zeros(n_slots, np.int64), table)
    if start is None:
        order = np.arange(n_data)
        partitions.shuffle(rng, order)
        partitions.seat_all(order, target, fit)
    else:
        partitions.place_all(start, target, fit)
    partitions.descend(rng, target, fit)
    return as_groups(fit.group)[0][0]


def credible_ball(
    labels: ArrayLike, estimate: PointEstimate | ArrayLike, level: float = 0.95, loss: Loss | None = None
) -> CredibleBall:
    """Smallest ball around an estimate with at least `level` of the draws, and its bounds (Wade & Ghahramani 2018).

    Distances are by `loss`, the estimate's own unless given, "vi" for bare labels.  A bound may be several partitions.
    """
    if not 0.0 < level <= 1.0:
        raise ValueError(f"level={level}; wanted a share of the draws, above 0 and at most 1")
    if isinstance(estimate, PointEstimate):
        loss, estimate = loss or estimate.loss, estimate.labels
    group, n_groups = as_groups(labels)
    distance = compare_to_draws(estimate, group, loss or "vi")
    n_inside = int(np.ceil(level * len(group) - 1e-9))  # 0.95 * 20 is a little more than 19
    radius = float(np.sort(distance)[n_inside - 1])
    inside = distance <= radius + ROUNDING
    few, many = n_groups == n_groups[inside].min(), n_groups == n_groups[inside].max()

    def farthest(of: NDArray[np.bool_]) -> Ints:
        on_edge = group[of & (distance >= distance[of].max() - ROUNDING)]
        return align_labels(on_edge[distinct_draws(on_edge)[0]], estimate)

    bounds = farthest(inside & few), farthest(inside & many), farthest(inside)
    return CredibleBall(radius, level, float(inside.mean()), loss or "vi", *bounds)


def n_groups_posterior(labels: ArrayLike, level: float = 0.95) -> GroupCount:
    """Posterior of the number of groups, with a central interval of at least `level` of the mass.

    >>> n_groups_posterior([[0, 0, 1], [1, 0, 1], [0, 1, 2], [5, 5, 6]]).probability
    array([0.75, 0.25])
    """
    _, n_groups = as_groups(labels)
    number, count = np.unique(n_groups, return_counts=True)
    low, high = np.quantile(n_groups, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="inverted_cdf")
    mode, mean = int(number[count.argmax()]), float(n_groups.mean())
    return GroupCount(number, count / len(n_groups), mode, mean, (int(low), int(high)), level)
