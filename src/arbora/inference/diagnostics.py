"""What to read off posterior draws of a partition: who belongs together, the best single partition, and can I trust it.

`labels` has the group of each datum in each draw, [draw, datum], or [chain, draw, datum] with the chains pooled where
they do not matter.  The numbers that name groups mean nothing, and may change from draw to draw: no result depends on
them.  Only `co_clustering_matrix` returns something of the size of all pairs.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform
from scipy.special import xlogy

from ..seeds import resolve_seed
from .convergence import ess_bulk, ess_tail, rhat
from .kernels import partitions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Groups = NDArray[np.int32]  # numbered 0, 1, ... by first member
Loss = Literal["vi", "binder"]
Measure = Literal["vi", "binder", "adjusted_rand"]

#: Label of a datum that belongs to none of the groups found.
NEW_GROUP = -1

_LINKAGE_LIMIT = 1000  # data; beyond it the matrix of all pairs is not worth its memory
_ROUNDING = 1e-12  # distances closer than this are equal
_DECIMALS = 12  # of distances and entropies; beyond it is rounding
_PER_HALF = 50  # draws of each half of a chain that are compared with those of the others


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


def cut_levels(tree: Floats, numbers: ArrayLike) -> Ints:
    """Groups of the data when a linkage is cut into so many, [level, datum].

    One number a call: given several, one of which is that of the data, scipy's `cut_tree` answers zeros.
    """
    return np.stack([cut_tree(tree, int(k))[:, 0] for k in np.asarray(numbers)]).astype(np.int64)


# ---- partitions and their labels ------------------------------------------------------------------------------------


def canonical(labels: ArrayLike) -> Ints:
    """Number the groups of each draw 0, 1, ... by decreasing size, ties by first member; any shape [..., datum].

    >>> canonical([[7, 2, 2, 7, 5], [1, 1, 1, 0, 0]])
    array([[0, 1, 1, 0, 2],
           [0, 0, 0, 1, 1]])
    """
    group, n_groups = _as_groups(labels)
    partitions.sort_by_size(group, n_groups, group)
    return group.astype(np.int64).reshape(np.shape(labels))


def align_labels(labels: ArrayLike, reference: ArrayLike) -> Ints:
    """Give the groups of each draw the names of the groups of `reference` they overlap most, as a whole.

    The match maximises the number of data whose name is that of the reference.  A group left over, or without a datum
    in common with its match, gets a new number above all of the reference's, larger groups first.

    >>> align_labels([0, 0, 1, 1, 2], [4, 4, 9, 9, 9])
    array([ 4,  4,  9,  9, 10])
    """
    aligned = canonical(labels).reshape(-1, np.shape(labels)[-1])
    names, home = np.unique(_check_integers(reference, "reference"), return_inverse=True)
    if home.shape != aligned.shape[1:]:
        raise ValueError(f"reference has shape {home.shape}; wanted a label for each of {aligned.shape[1]} data")
    for draw in aligned:
        n_groups = draw.max() + 1
        table = np.bincount(draw * len(names) + home, minlength=n_groups * len(names)).reshape(n_groups, len(names))
        mine, theirs = linear_sum_assignment(table, maximize=True)
        met = table[mine, theirs] > 0
        name = np.full(n_groups, -1, np.int64)
        new = np.ones(n_groups, bool)
        name[mine[met]] = names[theirs[met]]
        new[mine[met]] = False
        name[new] = names[-1] + 1 + np.arange(new.sum())
        draw[:] = name[draw]
    return aligned.reshape(np.shape(labels))


def co_clustering_matrix(labels: ArrayLike, rows: ArrayLike | None = None) -> Floats:
    """Share of the draws in which two data share a group, for all pairs, or for the data `rows` with all others.

    >>> co_clustering_matrix([[0, 0, 1], [1, 1, 1]])
    array([[1. , 1. , 0.5],
           [1. , 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    group, _ = _as_groups(labels)
    chosen = np.arange(group.shape[1]) if rows is None else np.arange(group.shape[1])[np.asarray(rows)].reshape(-1)
    count = np.zeros((len(chosen), group.shape[1]))
    partitions.add_together(group, np.ones(len(group)), chosen, count)
    return count / len(group)


def variation_of_information(a: ArrayLike, b: ArrayLike) -> float:
    """Variation of information of two partitions in nats, H(a | b) + H(b | a); a metric, at most log(n_data).

    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "vi")[0])


def binder_loss(a: ArrayLike, b: ArrayLike) -> float:
    """Share of the pairs of data that one partition joins and the other separates, 1 - Rand index; a metric.

    >>> round(binder_loss([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    0.6667
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "binder")[0])


def adjusted_rand(a: ArrayLike, b: ArrayLike) -> float:
    """Adjusted Rand index of two partitions: 1 if equal, 0 on average for random ones with groups of these sizes.

    >>> round(adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    -0.5
    """
    return float(compare_to_draws(a, np.asarray(b)[None], "adjusted_rand")[0])


def compare_to_draws(partition: ArrayLike, labels: ArrayLike, measure: Measure = "vi") -> Floats:
    """Measure of one partition against each draw, O(data) a draw; the shape of `labels` without its last axis."""
    group, _ = _as_groups(labels)
    one, _ = _as_groups(np.asarray(partition)[None], "partition")
    if len(one) != 1 or one.shape[1] != group.shape[1]:
        raise ValueError(f"partition has shape {np.shape(partition)}; wanted a label for each of {group.shape[1]} data")
    return _against(_comparison(group, measure), one[0]).reshape(np.shape(labels)[:-1])


class _Comparison(NamedTuple):
    """Draws ready to be compared: their groups and sum_g f(n_g)."""

    group: Groups
    n_groups: Ints
    own: Floats
    value: Floats  # f(n)
    measure: Measure


def _comparison(group: Groups, measure: Measure) -> _Comparison:
    n = np.arange(group.shape[1] + 1.0)
    values = {"vi": xlogy(n, n), "binder": n * n, "adjusted_rand": n * (n - 1.0) / 2.0}
    if measure not in values:
        raise ValueError(f"measure {measure!r}; wanted one of {', '.join(map(repr, values))}")
    n_groups = group.max(axis=1).astype(np.int64) + 1
    return _Comparison(group, n_groups, partitions.own_sums(group, values[measure])[0], values[measure], measure)


def _against(draws: _Comparison, one: Groups, first: int = 0) -> Floats:
    """The measure of one partition with each draw from `first` on."""
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(one))])
    order = np.argsort(one, kind="stable")
    joint = partitions.joint_sums(order, start, draws.group[first:], draws.n_groups[first:], draws.value)
    mine, theirs, n = partitions.own_sums(one[None], draws.value)[0][0], draws.own[first:], len(one)
    if draws.measure != "adjusted_rand":
        return np.maximum(mine + theirs - 2.0 * joint, 0.0) / (n if draws.measure == "vi" else max(n * (n - 1), 1))
    chance = mine * theirs / max(draws.value[-1], 1.0)
    most = (mine + theirs) / 2.0
    # No room between chance and the most: both partitions are one group, or both are all apart.
    return np.divide(joint - chance, most - chance, out=np.ones_like(joint), where=most > chance)


# ---- one partition for all draws ------------------------------------------------------------------------------------


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
    group, n_groups = _as_groups(labels)
    n_data = group.shape[1]
    n_slots = min(n_data, 2 * int(n_groups.max()) + 8 if max_groups is None else max_groups)
    if n_init < 1 or n_slots < 1:
        raise ValueError(f"n_init={n_init}, max_groups={max_groups}; wanted 1 or more of each")
    first, weight = _distinct(group)
    draws, rng = _comparison(group[first], loss), resolve_seed(random_state)
    found = _estimate(rng, draws, weight, n_slots, n_init)
    while max_groups is None and found.n_groups == n_slots < n_data:  # Binder's loss may like many data alone
        n_slots = min(n_data, 2 * n_slots)
        found = _estimate(rng, draws, weight, n_slots, n_init)
    return found


def _estimate(rng: np.random.Generator, draws: _Comparison, weight: Floats, n_slots: int, n_init: int) -> PointEstimate:
    """The best of all searches with at most `n_slots` groups."""
    target = _target(draws, weight)
    starts: list[Groups | None] = [*_good_starts(draws, weight, n_slots), *[None] * n_init]
    found = [_search(rng, target, n_slots, start) for start in starts]  # only downhill: no worse than its start
    expected = np.array([weight @ _against(draws, x) for x in found])
    best = int(expected.argmin())
    n_found = int((expected <= expected[best] + _ROUNDING).sum())
    result = canonical(found[best])
    loss: Loss = "vi" if draws.measure == "vi" else "binder"
    return PointEstimate(result, float(expected[best]), loss, int(result.max()) + 1, len(starts), n_found)


def _distinct(group: Groups) -> tuple[Ints, Floats]:
    """First draw of each partition that occurs, and the share of the draws equal to it."""
    seen: dict[bytes, int] = {}
    kind = np.array([seen.setdefault(draw.tobytes(), len(seen)) for draw in group])
    _, first, count = np.unique(kind, return_index=True, return_counts=True)
    return first.astype(np.int64), count / len(group)


def _target(draws: _Comparison, weight: Floats) -> partitions.Target:
    offset = np.concatenate([np.zeros(1, np.int64), np.cumsum(draws.n_groups)])
    row = np.ascontiguousarray((draws.group + offset[:-1, None]).T.astype(np.int32))
    row_weight, step = np.repeat(weight, draws.n_groups), np.diff(draws.value)
    return partitions.Target(row, weight, row_weight, draws.value, step, 1e-12 * draws.value[-1])


def _good_starts(draws: _Comparison, weight: Floats, n_slots: int) -> list[Groups]:
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
        cuts, _ = _as_groups(cut_levels(tree, np.arange(1, n_slots + 1)))
        starts.append(cuts[np.argmin([weight @ _against(draws, cut) for cut in cuts])])
    return starts


def expected_losses(labels: ArrayLike, loss: Loss = "vi") -> Floats:
    """Mean loss of each draw against all draws, chains pooled: the least is the draw that stands for all best.

    >>> expected_losses([[0, 0, 1], [0, 0, 1], [0, 1, 1]], "binder").round(3)
    array([0.222, 0.222, 0.444])
    """
    group, _ = _as_groups(labels)
    return _expected(_comparison(group, loss), np.full(len(group), 1.0 / len(group)))


def _expected(draws: _Comparison, weight: Floats) -> Floats:
    expected = np.zeros(len(weight))
    for c in range(len(weight)):  # losses are symmetric: half of them are enough
        distance = _against(draws, draws.group[c], c)
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
    return _as_groups(fit.group)[0][0]


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
    group, n_groups = _as_groups(labels)
    distance = compare_to_draws(estimate, group, loss or "vi")
    n_inside = int(np.ceil(level * len(group) - 1e-9))  # 0.95 * 20 is a little more than 19
    radius = float(np.sort(distance)[n_inside - 1])
    inside = distance <= radius + _ROUNDING
    few, many = n_groups == n_groups[inside].min(), n_groups == n_groups[inside].max()

    def farthest(of: NDArray[np.bool_]) -> Ints:
        on_edge = group[of & (distance >= distance[of].max() - _ROUNDING)]
        return align_labels(on_edge[_distinct(on_edge)[0]], estimate)

    bounds = farthest(inside & few), farthest(inside & many), farthest(inside)
    return CredibleBall(radius, level, float(inside.mean()), loss or "vi", *bounds)


def n_groups_posterior(labels: ArrayLike, level: float = 0.95) -> GroupCount:
    """Posterior of the number of groups, with a central interval of at least `level` of the mass.

    >>> n_groups_posterior([[0, 0, 1], [1, 0, 1], [0, 1, 2], [5, 5, 6]]).probability
    array([0.75, 0.25])
    """
    _, n_groups = _as_groups(labels)
    number, count = np.unique(n_groups, return_counts=True)
    low, high = np.quantile(n_groups, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="inverted_cdf")
    mode, mean = int(number[count.argmax()]), float(n_groups.mean())
    return GroupCount(number, count / len(n_groups), mode, mean, (int(low), int(high)), level)


# ---- do the chains agree --------------------------------------------------------------------------------------------


class Convergence(NamedTuple):
    """Rank-normalised split R-hat and effective sample sizes of one number of each draw; nan if it never changes."""

    rhat: float
    ess_bulk: float
    ess_tail: float


class ChainReport(NamedTuple):
    """Whether chains agree, in words and numbers; chains count from 0."""

    agree: bool  # false if no chain ever moved
    verdict: str
    odd: int | None  # the one chain that disagrees with all others, which agree
    convergence: dict[str, Convergence]  # of each summary
    co_clustering_rhat: float  # R-hat of who is with whom: variances summed over all pairs of data; nan if none changes
    distance: Floats  # [chain, chain]: share of the pairs of data on which draws of the two disagree, on average


def summaries(
    labels: ArrayLike, log_joint: ArrayLike | None = None, reference: ArrayLike | None = None
) -> dict[str, Floats]:
    """Numbers of each draw that no relabelling changes, [chain, draw] each.

    The number of groups, the entropy of their sizes in nats, the share of the largest, the variation of information to
    `reference` (default: a quick point estimate from 100 of the draws of all chains) and the log joint, if given.
    """
    group, n_groups, shape = _as_chains(labels)
    n_data = group.shape[1]
    if reference is None:
        few = np.unique(np.linspace(0, len(group) - 1, 100).astype(np.int64))
        reference = point_estimate(group[few], n_init=1, random_state=0).labels
    sums, largest = partitions.own_sums(group, _comparison(group[:1], "vi").value)
    values = {
        "n_groups": n_groups.astype(np.float64),
        # Sums of one partition may differ in their last bit, and ranks would see it.
        "entropy": np.round(np.log(n_data) - sums / n_data, _DECIMALS),
        "largest_share": largest / n_data,
        "vi_to_reference": np.round(compare_to_draws(reference, group, "vi"), _DECIMALS),
    }
    if log_joint is not None:
        values["log_joint"] = np.asarray(log_joint, np.float64)
        if values["log_joint"].shape != shape or not np.isfinite(values["log_joint"]).all():
            raise ValueError(f"log_joint of shape {values['log_joint'].shape}; wanted finite numbers of shape {shape}")
    return {name: value.reshape(shape) for name, value in values.items()}


def convergence(values: dict[str, Floats]) -> dict[str, Convergence]:
    """R-hat and effective sample sizes of each summary [chain, draw] (Vehtari et al. 2021).

    All are nan where nothing ever changes, or there are fewer than four draws per chain.  R-hat is infinite where each
    chain stands still, not all at the same place.

    >>> draws = np.random.default_rng(0).normal(size=(4, 100))
    >>> found = convergence({"good": draws, "still": np.ones((4, 100))})
    >>> round(found["good"].rhat, 2), round(found["still"].rhat, 2)
    (1.0, nan)
    """
    if not values:
        return {}
    draws = np.stack([np.asarray(value, np.float64) for value in values.values()])
    if draws.shape[2] < 4:
        return {name: Convergence(np.nan, np.nan, np.nan) for name in values}
    found = np.stack([rhat(draws), ess_bulk(draws), ess_tail(draws)], axis=1).tolist()
    return {name: Convergence(*figures) for name, figures in zip(values, found, strict=True)}


def check_chains(
    labels: ArrayLike, log_joint: ArrayLike | None = None, threshold: float = 1.05, min_ess: float = 100.0
) -> ChainReport:
    """Say whether chains sampled the same partitions: no R-hat above `threshold`, that of the co-clustering included.

    That of the log joint is told but does not decide: it speaks of parameters too, which take longer than partitions.
    The R-hat of the co-clustering compares draws of different half-chains with draws of one: it finds chains stuck in
    partitions that differ although every number of `summaries` is the same.  Chains that agree but have fewer than
    `min_ess` effective draws are told to run longer.  Chains that never moved do not agree: where all draws of all
    chains are one partition, and the log joint stands still or is not given, there is nothing to compare.
    """
    group, _, shape = _as_chains(labels)
    if shape[0] < 2:
        raise ValueError("labels hold 1 chain; wanted 2 or more, from different starts, to compare")
    values = summaries(labels, log_joint)
    between = _half_distances(group, shape)
    every = list(range(shape[0]))
    found, together = _rhats(values, between, every)
    worst = _worst(found, together)
    odd = None
    if worst > threshold and shape[0] > 2:
        rest = [_rhats(values, between, [x for x in every if x != c]) for c in every]
        fine = [c for c in every if _worst(*rest[c]) <= threshold]
        odd = fine[0] if len(fine) == 1 else None
    distance = between.reshape(shape[0], 2, shape[0], 2).mean(axis=(1, 3))
    report = ChainReport(worst <= threshold, "", odd, found, together, distance)
    if (group == group[0]).all():
        report, verdict = _one_partition(report, values)
    else:
        verdict = _verdict(report, values, threshold)
    return report._replace(verdict=verdict + _doubt(report, threshold, min_ess))


def _half_distances(group: Groups, shape: tuple[int, int]) -> Floats:
    """Mean Binder distance of two different draws, one from each of two half-chains; [half, half]."""
    n_halves, half = 2 * shape[0], shape[1] // 2
    pick = np.unique(np.linspace(0, half - 1, min(half, _PER_HALF)).astype(np.int64))
    first = np.arange(shape[0])[:, None] * shape[1] + [0, shape[1] - half]  # the middle draw of an odd number is left
    draws = _comparison(group[(first.reshape(-1, 1) + pick).reshape(-1)], "binder")
    total = np.zeros((n_halves, n_halves))
    home = np.repeat(np.arange(n_halves), len(pick))
    for x in range(len(home)):
        distance = _against(draws, draws.group[x], x)
        total[home[x]] += np.bincount(home[x:], distance, n_halves)
    total += np.triu(total, 1).T
    n_pairs = np.full_like(total, len(pick) ** 2)
    np.fill_diagonal(n_pairs, len(pick) * (len(pick) - 1) / 2)  # a draw is not compared with itself
    return total / n_pairs


def _rhats(values: dict[str, Floats], between: Floats, chains: list[int]) -> tuple[dict[str, Convergence], float]:
    """R-hat of each summary and of the co-clustering among some of the chains.

    Half the mean squared distance of two draws is a variance, and Binder's loss counts the squared differences of the
    indicators "these two data are together": pooled over within variance is R-hat squared, over all pairs at once.
    """
    half = np.array([[2 * c, 2 * c + 1] for c in chains]).reshape(-1)
    block = between[np.ix_(half, half)]
    within, pooled = float(np.diag(block).mean()), float(block.mean())
    ratio = pooled / within if within > _ROUNDING else np.nan if pooled <= _ROUNDING else np.inf
    return convergence({name: value[chains] for name, value in values.items()}), float(np.sqrt(ratio))


def _worst(found: dict[str, Convergence], together: float) -> float:
    """The largest R-hat of what describes partitions; 1 if no draw differs from another."""
    of_partition = [together, *(x.rhat for name, x in found.items() if name != "log_joint")]
    return max([1.0, *(x for x in of_partition if not np.isnan(x))])


def _one_partition(report: ChainReport, values: dict[str, Floats]) -> tuple[ChainReport, str]:
    """What to say where all draws of all chains are one partition: that nothing moved, or only the log joint."""
    n_groups = int(values["n_groups"][0, 0])
    groups = "1 group" if n_groups == 1 else f"{n_groups} groups"
    what = f"every draw of the {len(report.distance)} chains is the same partition, of {groups}"
    if "log_joint" in values and np.ptp(values["log_joint"], axis=1).all():
        return report, what
    return report._replace(agree=False), f"no chain moved: {what}; run longer, or from other starts"


def _doubt(report: ChainReport, threshold: float, min_ess: float) -> str:
    """What chains that agree still lack."""
    joint = report.convergence.get("log_joint")
    if not report.agree:
        return ""
    if joint is not None and joint.rhat > threshold:
        return f", but their log joints differ (R-hat {joint.rhat:.2f}): run longer"
    few = [(x.ess_bulk, name) for name, x in report.convergence.items() if x.ess_bulk < min_ess]  # nan is not few
    return f", but {min(few)[1]} has only {min(few)[0]:.0f} effective draws: run longer" if few else ""


def _verdict(report: ChainReport, values: dict[str, Floats], threshold: float) -> str:
    """The report in words."""
    n_chains, numbers = len(report.distance), report.convergence.items()
    if report.agree:
        return f"the {n_chains} chains agree"
    advice = "run longer, or more chains from other starts"
    if report.odd is not None:
        return f"chain {report.odd} disagrees: {_oddity(report, report.odd, values)}; {advice}"
    found = [(x.rhat, name) for name, x in numbers if name != "log_joint"]
    worst, name = max(x for x in [(report.co_clustering_rhat, "co_clustering"), *found] if not np.isnan(x[0]))
    usual = ", ".join(str(_most_common(row)) for row in values["n_groups"])
    what = f"R-hat of {name} is {worst:.2f}, wanted at most {threshold:g}"
    return f"the {n_chains} chains disagree: {what}; they have mostly {usual} groups; {advice}"


def _oddity(report: ChainReport, odd: int, values: dict[str, Floats]) -> str:
    """What sets one chain apart from the others."""
    others = [c for c in range(len(report.distance)) if c != odd]
    mine, theirs = _most_common(values["n_groups"][odd]), _most_common(values["n_groups"][others])
    what = f"it has {mine} groups where the others have {theirs}"
    if mine == theirs:
        apart, within = report.distance[odd, others].mean(), report.distance[np.ix_(others, others)].mean()
        what = f"it differs from the others on {apart:.1%} of the pairs of data, they among themselves on {within:.1%}"
    if "log_joint" in values:
        gap = values["log_joint"][odd].mean() - values["log_joint"][others].mean()
        what += f", and its log joint is {abs(gap):.1f} {'higher' if gap > 0 else 'lower'}"
    return what


def _most_common(counts: Floats) -> int:
    return int(np.bincount(counts.astype(np.int64).reshape(-1)).argmax())


# ---- checks at the door ---------------------------------------------------------------------------------------------


def _check_integers(labels: ArrayLike, name: str) -> Ints:
    values = np.asarray(labels)
    if values.dtype.kind not in "iu" or values.ndim == 0 or values.size == 0:
        raise ValueError(f"{name}: {values.dtype} of shape {values.shape}; wanted integers, one or more data in a draw")
    return values.astype(np.int64)


def _as_groups(labels: ArrayLike, name: str = "labels") -> tuple[Groups, Ints]:
    """Groups [draw, datum] numbered by first member, all chains in one, and how many each draw has."""
    values = _check_integers(labels, name)
    values = values.reshape(-1, values.shape[-1])
    low, high = int(values.min()), int(values.max())
    if high - low < values.size:
        values -= low
        n_names = high - low + 1
    else:  # names far apart: a table of them all would be larger than the labels
        names, inverse = np.unique(values, return_inverse=True)
        values, n_names = inverse.reshape(values.shape).astype(np.int64), len(names)
    group = np.empty(values.shape, np.int32)
    return group, partitions.number_groups(values, n_names, group)


def _as_chains(labels: ArrayLike) -> tuple[Groups, Ints, tuple[int, int]]:
    """Groups of all draws, how many each has, and (chains, draws in each)."""
    shape = np.shape(labels)
    if len(shape) != 3 or shape[1] < 4:
        raise ValueError(f"labels have shape {shape}; wanted [chain, draw, datum] with 4 draws or more in a chain")
    return *_as_groups(labels), (shape[0], shape[1])
