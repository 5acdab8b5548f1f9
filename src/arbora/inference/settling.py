"""When chains may end: a rule that compares them as they run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ChainError
from . import diagnostics
from .convergence import MIN_DRAWS, rhat
from .traces import Trace

MIN_ESS = 100.0  # effective draws of every summary
GROWTH = 4  # of the sweeps so far, this part is run before the next look, if it is more than `every`


@dataclass(frozen=True)
class Settled:
    """A rule that ends chains once they agree: the same test by which a verdict calls them sound.

    Draws are of ``label``, one partition, or of ``levels``, several at once, of which each must settle.

    It looks at the draws that would be kept if the chains ended now, all chains at the same sweep, so the result
    depends on the seed alone.  All of this must hold:

    - R-hat of the log joint, of the number of groups, of the entropy of their sizes, of the share of the largest and of
      the distance to a reference is at most `rhat`;
    - so is R-hat of who is with whom, which compares draws of different chains with draws of one;
    - each of these numbers that changes at all has `min_ess` effective draws;
    - something changes: chains that never moved have not settled.

    The rule cannot see a mode that no chain has visited: chains that start in one mode and stay there settle.  One
    chain alone never settles.  Many looks give many chances to stop too early; docs/diagnostics.md has figures.

    Parameters
    ----------
    every : int, default 20
        Least number of sweeps between two looks.  It is a quarter of the sweeps so far where that is more.
    rhat : float, default 1.05
        Largest R-hat.
    min_ess : float, default 100
        Least number of effective draws.
    max_time : float or None, default None
        Seconds after which the run ends at the next look, settled or not.  The draws stay the same; their number then
        depends on the machine.
    agree : bool, default True
        Whether agreement ends the run.  Without it, only `max_time` does.

    Examples
    --------
    >>> list(Settled(every=20).looks(150))
    [20, 40, 60, 80, 100, 125, 150]
    """

    every: int = 20
    rhat: float = 1.05
    min_ess: float = MIN_ESS
    max_time: float | None = None
    agree: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.every, bool) or not isinstance(self.every, (int, np.integer)) or self.every < 1:
            raise ValueError(f"every={self.every!r}; wanted a whole number of sweeps, 1 or more")
        if not self.rhat >= 1.0 or not self.min_ess >= 0.0:
            raise ValueError(f"rhat={self.rhat!r}, min_ess={self.min_ess!r}; wanted 1 and 0 or more")
        if self.max_time is not None and not self.max_time >= 0.0:
            raise ValueError(f"max_time={self.max_time!r}; wanted None or seconds, 0 or more")

    def looks(self, n_sweeps: int) -> Iterator[int]:
        """The sweeps at which the rule looks, and the last of all."""
        end = 0
        while end < n_sweeps:
            end = min(n_sweeps, end + max(self.every, end // GROWTH))
            yield end

    def holds(self, trace: Trace) -> bool:
        """Whether the chains of this trace have settled."""
        names = trace.names()
        if not {"label", "levels"} & set(names) or "log_joint" not in trace.info:
            raise ChainError(
                "the rule compares draws of 'label' or 'levels' and the 'log_joint'; the sampler has no such names"
            )
        if not self.agree or trace.n_chains < 2 or trace.n_draws < MIN_DRAWS:
            return False
        joint = trace.info["log_joint"][:, trace.draw_sweep]
        if not np.isfinite(joint).all() or rhat(joint) > self.rhat:  # the cheapest question first
            return False
        draws = trace.stack("label")[:, :, None] if "label" in names else trace.stack("levels")
        return draws.shape[-1] > 1 and all(self._agree(draws[:, :, x], joint) for x in range(draws.shape[2]))

    def _agree(self, labels: NDArray[Any], joint: NDArray[np.float64]) -> bool:
        """Whether the chains have settled on one partition, [chain, draw, datum]."""
        report = diagnostics.check_chains(labels, joint, self.rhat, self.min_ess)
        return report.agree and is_enough(report, self.rhat, self.min_ess)


def is_enough(report: diagnostics.ChainReport, threshold: float, min_ess: float) -> bool:
    """Whether chains that agree leave no doubt: about the log joint, or for want of effective draws."""
    joint = report.convergence.get("log_joint")
    short = any(found.ess_bulk < min_ess for found in report.convergence.values())  # nan is not short
    return not short and not (joint is not None and joint.rhat > threshold)
