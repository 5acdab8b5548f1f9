"""Whether to trust a fit, in one sentence: how much, why, and what would settle it; for every model alike."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import diagnostics
from .settling import MIN_ESS
from .stability import STABLE, Fate, Stability, group_stability

Level = Literal["sound", "look again", "do not trust"]
LEVELS: tuple[Level, ...] = ("sound", "look again", "do not trust")

NEARLY_SAME = 0.9  # adjusted Rand index between chains from which on their partitions differ in details alone
MOST_LONGER = 10  # times as many sweeps as there were are asked for at the most
MOST_STABLE = 0.5  # share of the data in groups that come up in all chains, below which no grouping is to be trusted
MOST_LISTED = 6  # groups that a sentence names
FEWEST = 4  # data; fewer do not form two groups of two
ONE = {"trees": "tree", "data": "datum"}

#: Summaries of draws, as sentences call them.
IN_WORDS = {
    "n_groups": "the number of groups",
    "vi_to_reference": "the distance to a reference",
    "largest_share": "the share of the largest group",
    "co_clustering": "who is with whom",
    "log_joint": "the log joint",
    "entropy": "the entropy of the sizes",
}


class Verdict(NamedTuple):
    """How far to trust a fit.

    Attributes
    ----------
    level : ``"sound"``, ``"look again"`` or ``"do not trust"``.
    reason : why, without a full stop.
    what_to_do : what would settle it, in terms of Python; empty if nothing is left to do.
    settings : those of the model that a new fit should have, by name.
    interval : 95% of the draws have a number of groups in it; None without draws.
    """

    level: Level
    reason: str
    what_to_do: str = ""
    settings: dict[str, int] = {}  # noqa: RUF012 (never changed)
    interval: tuple[int, int] | None = None

    @property
    def sentence(self) -> str:
        """Level, reason and what to do, as a terminal or a page says them."""
        todo = f" {_capital(self.what_to_do)}." if self.what_to_do else ""
        return f"{_capital(self.level)}: {self.reason}.{todo}"

    def typed(self, options: dict[str, str]) -> "Verdict":
        """The same with the settings as options of a command line."""
        given = " ".join(f"{options[name]} {value}" for name, value in self.settings.items() if name in options)
        return self._replace(what_to_do=f"run again with {given}") if given else self

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"level": self.level, "reason": self.reason, "what_to_do": self.what_to_do}


class Shown(NamedTuple):
    """The partition that is shown to people, and coarser ones."""

    labels: ArrayLike  # group of each datum of the draws
    coarser: tuple[ArrayLike, ...] = ()  # finest first
    what: str = "data"  # many of them


class Run(NamedTuple):
    """How chains were run."""

    n_sweeps: int  # asked for
    interrupted: bool = False
    settled: bool | None = None  # whether a rule ended the run; None without a rule
    n_run: int = 0  # sweeps that were run by then


def judge_chains(
    draws: ArrayLike,
    log_joint: ArrayLike,
    run: Run,
    *,
    n_groups: int | None = None,
    where: str = "",
    shown: Shown | None = None,
) -> Verdict:
    """Judge draws of a partition, [chain, draw, datum], and a point estimate of so many groups, if it is given.

    Where chains disagree, the groups of `shown` are judged one by one: those that come up in all chains are stable
    (`group_stability`).  If all are, the fit is sound; if at least half of the data are in groups that are
    stable or only split, the others need a second look.

    Without `shown`, chains that disagree are not to be trusted, unless their partitions are nearly the same (adjusted
    Rand index of 0.9 or more): then the details need a second look.  So do chains that never moved, one chain alone,
    too few effective draws, an interrupted run, and a point estimate whose number of groups lies outside the interval
    of its own posterior.

    >>> good = np.random.default_rng(0).integers(0, 2, (4, 200, 9))
    >>> judge_chains(good, np.random.default_rng(1).normal(size=(4, 200)), Run(400)).level
    'sound'
    """
    labels = np.asarray(draws)
    n_chains, n_draws = labels.shape[:2]
    interval = diagnostics.n_groups_posterior(labels).interval
    verdict = _of_chains(labels, np.asarray(log_joint), run, n_chains, n_draws, shown)
    for name, words in IN_WORDS.items():
        verdict = verdict._replace(reason=verdict.reason.replace(name, words))
    if run.settled is not None and not run.interrupted:
        verdict = verdict._replace(reason=f"{verdict.reason}; {_ending(run)}")
    if run.interrupted:
        again = Verdict("look again", "the fit was interrupted", "fit again to the end")
        verdict = worse(again, verdict)
    if n_groups is not None and shown is None and not interval[0] <= n_groups <= interval[1]:
        verdict = worse(verdict, _outside(n_groups, interval))
    return verdict._replace(reason=where + verdict.reason, interval=interval)


def judge_em(converged: bool, n_iter: int, interrupted: bool = False) -> Verdict:
    """Judge a fit by EM: it has converged to a local optimum, or it has not."""
    times = f"{n_iter} iteration{'' if n_iter == 1 else 's'}"
    if interrupted:
        return Verdict("look again", f"the fit was interrupted after {times}", "fit again to the end")
    if not converged:
        more = {"max_iter": 4 * n_iter}
        return Verdict("look again", f"EM had not converged after {times}", _fit_with(more), more)
    return Verdict("sound", f"EM converged after {times}, to a local optimum")


def of_few(n: int, what: str = "trees") -> Verdict | None:
    """The verdict on any grouping of so few data; None if there are enough for two groups of two.

    >>> of_few(1).level, of_few(2).level, of_few(4)
    ('do not trust', 'look again', None)
    """
    if n >= FEWEST:
        return None
    more = f"give more {what}; options of the reader may find several in a file" if what == "trees" else ""
    if n < 2:
        return Verdict("do not trust", f"there is one {ONE.get(what, what)}, and one alone has no groups", more)
    return Verdict("look again", f"there are only {n} {what}, too few to tell groups from chance", more)


def unless_few(found: Verdict, n: int) -> Verdict:
    """The verdict, and doubts if the trees that were grouped are few."""
    few = of_few(n)
    return found if few is None else worse(few, found)


def worse(one: Verdict, two: Verdict) -> Verdict:
    """Both verdicts in one: the worse level, both reasons, and what the worse one asks for, or else the other."""
    first, second = (one, two) if LEVELS.index(one.level) >= LEVELS.index(two.level) else (two, one)
    if second.level == "sound":
        return first
    todo = first if first.what_to_do else second
    return first._replace(reason=f"{first.reason}; {second.reason}", what_to_do=todo.what_to_do, settings=todo.settings)


def _of_chains(
    labels: NDArray[Any], log_joint: NDArray[Any], run: Run, n_chains: int, n_draws: int, shown: Shown | None
) -> Verdict:
    if few := of_few(labels.shape[2], "data" if shown is None else shown.what):
        return few
    if n_draws < 4:
        longer = {"n_iter": MOST_LONGER * run.n_sweeps}
        kept = f"{n_draws} draw{'' if n_draws == 1 else 's'} of each chain"
        return Verdict("do not trust", f"only {kept} were kept, too few to judge", _fit_with(longer), longer)
    if n_chains < 2:
        more = {"n_chains": 4}
        return Verdict("look again", "one chain cannot show that it is stuck", _fit_with(more), more)
    report = diagnostics.check_chains(labels, log_joint=log_joint, min_ess=MIN_ESS)
    agreed = _agreeing(report, run) if report.agree else None
    if agreed is not None and (agreed.level == "sound" or shown is None):
        return agreed
    if shown is not None and not report.verdict.startswith("no chain moved"):
        return _by_group(labels, shown)
    longer = {"n_iter": 4 * run.n_sweeps}
    reason = report.verdict.rpartition(";")[0]  # the advice is ours
    alike = chains_alike(labels)
    if alike < NEARLY_SAME:
        return Verdict("do not trust", reason, _fit_with(longer), longer)
    if not reason.startswith("no chain moved"):
        reason += f"; their partitions are much alike, though (adjusted Rand index {alike:.2f})"
    return Verdict("look again", reason, _fit_with(longer), longer)


def _by_group(draws: NDArray[Any], shown: Shown) -> Verdict:
    """The verdict on the groups shown, one by one."""
    found = group_stability(shown.labels, draws)
    n_stable, n_groups, n_chains = int(found.is_stable.sum()), len(found.group), len(draws)
    low, high = diagnostics.n_groups_posterior(draws).interval
    numbers = f"{low}" if low == high else f"{low} to {high}"
    spread = "" if low <= n_groups <= high else f"; the runs have {numbers} groups"
    if n_stable == n_groups:
        one = "the one group comes" if n_groups == 1 else f"all {n_groups} groups come"
        return Verdict("sound", f"{one} up in each of {n_chains} independent runs{spread}")
    if n_groups == 1:
        reason = f"no clear groups; {n_chains} independent runs part the {shown.what} in different ways"
        return Verdict("look again", f"{reason}, into {numbers} groups", "read nothing into a single group")
    part = f"{n_stable} of {n_groups} groups, with {found.share_stable:.0%} of the {shown.what}, come up in all "
    reason = f"{part if n_stable else f'none of {n_groups} groups comes up in all '}{n_chains} independent runs"
    reason += f"; {_fates_told(found)}{spread}"
    kept = found.is_stable | (found.in_parts >= STABLE)  # a group that only splits keeps its border
    level: Level = "look again" if found.size[kept].sum() >= MOST_STABLE * found.size.sum() else "do not trust"
    coarser = next((x for x in shown.coarser if (group_stability(x, draws).in_parts >= STABLE).all()), None)
    n_coarser = 0 if coarser is None else len(np.unique(np.asarray(coarser)))
    joined = f"join groups to {n_coarser}, whose borders all runs keep" if n_coarser > 1 else ""
    todo = " or ".join(filter(None, ["rely on the stable groups" if n_stable else "", joined]))
    return Verdict(level, reason, todo or "do not read much into these groups")


def _fates_told(found: Stability) -> str:
    """What becomes of the groups that are not stable, as "groups 3 and 7 split, group 9 joins others"."""
    words: dict[Fate, tuple[str, str]] = {
        "splits": ("splits", "split"),
        "joins others": ("joins others", "join others"),
        "comes and goes": ("comes and goes", "come and go"),
    }
    told = []
    fates = found.fates()
    for fate, (one, many) in words.items():
        own = [int(k) for k, its in zip(found.group, fates, strict=True) if its == fate]
        if own:
            listed = [str(k) for k in own[:MOST_LISTED]]
            if len(own) > MOST_LISTED:
                listed.append(f"{len(own) - MOST_LISTED} more")
            names = " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))
            told.append(f"group {names} {one}" if len(own) == 1 else f"groups {names} {many}")
    return ", ".join(told)


def _agreeing(report: diagnostics.ChainReport, run: Run) -> Verdict:
    least = min((x.ess_bulk for x in report.convergence.values() if not np.isnan(x.ess_bulk)), default=np.inf)
    agreed, _, doubt = report.verdict.partition(", but ")
    if not doubt:
        return Verdict("sound", agreed)
    longer = {"n_iter": int(np.clip(np.ceil(MIN_ESS / max(least, 1.0)), 2, MOST_LONGER)) * run.n_sweeps}
    reason = f"{agreed}, but {doubt.rpartition(':')[0]}"
    return Verdict("look again", reason, _fit_with(longer), longer)


def chains_alike(draws: ArrayLike, per_chain: int = 10) -> float:
    """Least mean adjusted Rand index of the draws of two different chains.

    >>> chains_alike([[[0, 0, 1, 1]], [[1, 1, 0, 0]]])
    1.0
    """
    labels = np.asarray(draws)
    n_chains, n_draws = labels.shape[:2]
    some = labels[:, np.unique(np.linspace(0, n_draws - 1, min(n_draws, per_chain)).astype(np.int64))]
    least = 1.0
    for a in range(n_chains):
        for b in range(a + 1, n_chains):
            each = [diagnostics.compare_to_draws(draw, some[b], "adjusted_rand").mean() for draw in some[a]]
            least = min(least, float(np.mean(each)))
    return least


def _ending(run: Run) -> str:
    """How a run with a rule ended."""
    if run.settled:
        return f"they had settled after {run.n_run} of at most {run.n_sweeps} sweeps"
    return f"they had not settled after {run.n_run} sweeps"


def _outside(n_groups: int, interval: tuple[int, int]) -> Verdict:
    low, high = interval
    spread = f"{low}" if low == high else f"{low} to {high}"
    many = f"{n_groups} group{'' if n_groups == 1 else 's'}"
    reason = f"the partition shown has {many}, outside the 95% interval of its own posterior, {spread}"
    return Verdict("look again", reason, f"report the interval, {spread}, and not the number {n_groups}")


def _fit_with(settings: dict[str, int]) -> str:
    return "fit again with " + ", ".join(f"{name}={value}" for name, value in settings.items())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
