"""Expectation-maximisation as a loop; it does not depend on trees."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..errors import ArboraError, NotConvergedWarning, warn

log = logging.getLogger(__name__)

Params = TypeVar("Params")


GROWTH = 4.0  # of the longest step, after a step of that length that was kept, and its shrinking after another


class Leap(NamedTuple, Generic[Params]):
    """What accelerated EM goes on from, beside the parameters."""

    before: Params | None = None  # parameters before the last iteration, if the next one may extrapolate
    longest: float = 1.0  # step


class EMResult(NamedTuple, Generic[Params]):
    """The last parameters, the objective after each iteration (of those very parameters), and why the loop ended."""

    params: Params
    history: list[float]
    converged: bool
    interrupted: bool
    leap: Leap[Params] = Leap()


#: From three parameters in a row and the longest step: parameters further along, None where there are none; the step.
Extrapolate = Callable[[Params, Params, Params, float], tuple[Params | None, float]]


def run_em(
    params: Params,
    e_step: Callable[[Params], tuple[Any, float]],
    m_step: Callable[[Any, Params], Params],
    evaluate: Callable[[Params], float],
    *,
    max_iter: int,
    tol: float,
    history: Sequence[float] = (),
    report: Callable[[EMResult[Params]], None] | None = None,
    extrapolate: Extrapolate[Params] | None = None,
    leap: Leap[Params] | None = None,
) -> EMResult[Params]:
    """Alternate E and M until an iteration gains less than `tol` (same unit as the objective).

    ``e_step(params)`` returns counts and the objective of `params`; `evaluate` only the objective, which is all the
    last iteration needs.  Ctrl-C ends the loop and keeps the last finished iteration.  `history` holds the objectives
    of iterations that led to `params` before; `report` is called after every iteration, and may store its arguments.

    With `extrapolate`, every second iteration tries to go further along the last two (SQUAREM, Varadhan and Roland
    2008).  Where the objective would fall, it is an iteration of EM as any other.  So the objective never falls, and
    only an iteration of EM ends the loop.  `leap` is that of the result from which `params` and `history` are.
    """
    history, leap = list(history), leap or Leap()

    def judge(params: Params) -> tuple[Any, float]:
        return e_step(params) if len(history) + 1 < max_iter else (None, evaluate(params))

    try:
        counts, before = e_step(params)
        for iteration in range(len(history), max_iter):
            new = m_step(counts, params)
            further, next_leap = None, leap
            if extrapolate is not None:
                further, next_leap = _leapt(extrapolate, (leap, params, new), judge, before)
            if further is None:
                counts, objective = judge(new)
            else:
                new, counts, objective = further
            if np.isnan(objective):
                raise ArboraError(f"EM iteration {iteration + 1}: the objective is not a number; please report this")
            params, leap = new, next_leap
            history.append(objective)
            if report is not None:
                report(EMResult(params, history, converged=False, interrupted=True, leap=leap))
            if further is None and 0.0 <= objective - before < tol:
                return EMResult(params, history, converged=True, interrupted=False)
            before = objective
    except KeyboardInterrupt:
        if not history:
            raise
        log.warning("interrupted: keeping the parameters of iteration %d", len(history))
        return EMResult(params, history, converged=False, interrupted=True, leap=leap)
    return EMResult(params, history, converged=False, interrupted=False)


def _leapt(
    extrapolate: Extrapolate[Params],
    place: tuple[Leap[Params], Params, Params],
    judge: Callable[[Params], tuple[Any, float]],
    objective: float,
) -> tuple[tuple[Params, Any, float] | None, Leap[Params]]:
    """Parameters further along with what `judge` says of them, None where they are no better; and how to go on.

    `place` is (how it goes on, parameters, those of the next iteration of EM), and `objective` that of the parameters.
    """
    (before, longest), params, new = place
    if before is None:
        return None, Leap(params, longest)
    further, step = extrapolate(before, params, new, longest)
    reached = step >= longest
    if further is not None:
        counts, value = judge(further)
        if value >= objective:  # nan is not
            return (further, counts, value), Leap(None, longest * GROWTH if reached else longest)
        return None, Leap(None, max(1.0, longest / GROWTH))
    return None, Leap(None, longest * GROWTH if reached else longest)


def warn_unless_converged(result: Any, max_iter: int, tol: float, sample: str = "tree") -> None:
    """Warn if EM used up its iterations."""
    if result.converged or result.interrupted or tol <= 0:
        return
    warn(
        f"EM stopped after max_iter={max_iter} iterations before gaining less than tol={tol} nats per {sample}; raise "
        f"max_iter",
        NotConvergedWarning,
    )
