"""Expectation-maximisation as a loop; it does not depend on trees."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..errors import ArboraError, NotConvergedWarning, warn

log = logging.getLogger(__name__)

Params = TypeVar("Params")


class EMResult(NamedTuple, Generic[Params]):
    """The last parameters, the objective after each iteration (of those very parameters), and why the loop ended."""

    params: Params
    history: list[float]
    converged: bool
    interrupted: bool


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
) -> EMResult[Params]:
    """Alternate E and M until an iteration gains less than `tol` (same unit as the objective).

    ``e_step(params)`` returns counts and the objective of `params`; `evaluate` only the objective, which is all the
    last iteration needs.  Ctrl-C ends the loop and keeps the last finished iteration.  `history` holds the objectives
    of iterations that led to `params` before; `report` is called after every iteration, and may store its arguments.
    """
    history = list(history)
    try:
        counts, before = e_step(params)
        for iteration in range(len(history), max_iter):
            new = m_step(counts, params)
            if iteration + 1 < max_iter:
                counts, objective = e_step(new)
            else:
                objective = evaluate(new)
            if np.isnan(objective):
                raise ArboraError(f"EM iteration {iteration + 1}: the objective is not a number; please report this")
            params = new
            history.append(objective)
            if report is not None:
                report(EMResult(params, history, converged=False, interrupted=True))
            if 0.0 <= objective - before < tol:
                return EMResult(params, history, converged=True, interrupted=False)
            before = objective
    except KeyboardInterrupt:
        if not history:
            raise
        log.warning("interrupted: keeping the parameters of iteration %d", len(history))
        return EMResult(params, history, converged=False, interrupted=True)
    return EMResult(params, history, converged=False, interrupted=False)


def warn_unless_converged(result: Any, max_iter: int, tol: float, sample: str = "tree") -> None:
    """Warn if EM used up its iterations."""
    if result.converged or result.interrupted or tol <= 0:
        return
    warn(
        f"EM stopped after max_iter={max_iter} iterations before gaining less than tol={tol} nats per {sample}; raise "
        f"max_iter",
        NotConvergedWarning,
    )
