"""Whether chains over partitions agree, in figures and in words."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .convergence import ess_bulk, ess_tail, rhat
from .drawn_partitions import DECIMALS, ROUNDING, Groups, Ints, against, as_groups, compare_to_draws, comparison
from .kernels import partitions
from .point_estimates import point_estimate

Floats = NDArray[np.float64]

_PER_HALF = 50  # draws of each half of a chain that are compared with those of the others


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
    sums, largest = partitions.own_sums(group, comparison(group[:1], "vi").value)
    values = {
        "n_groups": n_groups.astype(np.float64),
        # Sums of one partition may differ in their last bit, and ranks would see it.
        "entropy": np.round(np.log(n_data) - sums / n_data, DECIMALS),
        "largest_share": largest / n_data,
        "vi_to_reference": np.round(compare_to_draws(reference, group, "vi"), DECIMALS),
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

    That of the log joint is shown but does not decide: it depends on parameters too, which take longer than partitions.
    The R-hat of the co-clustering compares draws of different half-chains with draws of one: it finds chains stuck in
    partitions that differ although every number of `summaries` is the same.  Chains that agree but have fewer than
    `min_ess` effective draws are reported as too short.  Chains that never moved do not agree: where all draws of all
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
    draws = comparison(group[(first.reshape(-1, 1) + pick).reshape(-1)], "binder")
    total = np.zeros((n_halves, n_halves))
    home = np.repeat(np.arange(n_halves), len(pick))
    for x in range(len(home)):
        distance = against(draws, draws.group[x], x)
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
    ratio = pooled / within if within > ROUNDING else np.nan if pooled <= ROUNDING else np.inf
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


def _as_chains(labels: ArrayLike) -> tuple[Groups, Ints, tuple[int, int]]:
    """Groups of all draws, how many each has, and (chains, draws in each)."""
    shape = np.shape(labels)
    if len(shape) != 3 or shape[1] < 4:
        raise ValueError(f"labels have shape {shape}; wanted [chain, draw, datum] with 4 draws or more in a chain")
    return *as_groups(labels), (shape[0], shape[1])
