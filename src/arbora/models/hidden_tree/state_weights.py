"""Weights of states and concentrations given counts, drawn or raised; probabilities of rows are integrated out.

The weak limit of the hierarchical Dirichlet process (Teh, Jordan, Beal and Blei 2006; Fox, Sudderth, Jordan and Willsky
2011): numbers of tables are the only new latent variables; given them, everything has a closed form.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from . import distributions as dist

Floats = NDArray[np.float64]

LEAST_WEIGHT = 1e-250  # of a state
LEAST, MOST = 1e-6, 1e6  # of a concentration; beyond nothing changes but the arithmetic
ROUNDS = 5  # of the updates of weights and concentrations in an M-step
SHAPE, RATE = 1.0, 1.0  # of the gamma prior of every concentration


class Rows(NamedTuple):
    """Counts of rows over states, all components: [row, state, component]."""

    first: Floats
    transition: Floats


class Weights(NamedTuple):
    """What the rows have in common."""

    state_weight: Floats  # [state, component]
    first: float  # concentrations
    transition: float
    state: float


def draw_weights(rng: np.random.Generator, rows: Rows, now: Weights) -> Weights:
    """One sweep: tables, the concentrations given them, and the weights of the states."""
    n_states = now.state_weight.shape[0]
    total = np.zeros(now.state_weight.shape)
    drawn = []
    for counts, alpha in zip(rows, (now.first, now.transition), strict=True):
        tables = draw_tables(rng, counts, alpha * now.state_weight)
        drawn.append(draw_concentration(rng, alpha, counts.sum(axis=1), tables.sum()))
        total += tables.sum(axis=0)
    above = draw_tables(rng, total[None], np.full_like(now.state_weight, now.state / n_states))
    state = draw_concentration(rng, now.state, total.sum(axis=0), above.sum())
    weight = dist.draw_dirichlet(rng, state / n_states + total, 0)
    first, transition = drawn
    return Weights(np.maximum(weight, LEAST_WEIGHT), first, transition, state)


def draw_tables(rng: np.random.Generator, counts: Floats, base: Floats) -> Floats:
    """Tables of customers: of n in a cell of parameter c, customer x opens a new one with chance c / (c + x)."""
    n = np.rint(counts).astype(np.int64).ravel()
    c = np.broadcast_to(np.maximum(base, LEAST_WEIGHT), counts.shape).ravel()
    start = np.append(0, np.cumsum(n))
    x = np.arange(start[-1]) - np.repeat(start[:-1], n)
    each = np.repeat(c, n)
    opens = rng.random(len(x)) * (each + x) < each
    cell = np.repeat(np.arange(len(n)), n)
    return np.bincount(cell, opens, len(n)).reshape(counts.shape).astype(np.float64)


def draw_concentration(rng: np.random.Generator, now: float, customers: Any, n_tables: float) -> float:
    """Concentration shared by rows with these numbers of customers and, together, of tables (Teh and others 2006)."""
    n = np.asarray(customers, np.float64).ravel()
    n = n[n > 0]
    log_w = np.log(np.maximum(rng.beta(now + 1.0, n), 1e-300))
    spare = rng.random(len(n)) * (n + now) < n
    drawn = rng.standard_gamma(max(SHAPE + n_tables - spare.sum(), 1e-9)) / (RATE - log_w.sum())
    return float(np.clip(drawn, LEAST, MOST))


def raised_weights(
    counted: list[tuple[Floats, int]], weight: Floats, alpha: list[float], base: float
) -> tuple[Floats, list[float]]:
    """Weights and concentrations that raise the marginal likelihood of expected counts (infinite-states.md).

    `counted` are counts with the axis of the states, `alpha` their concentrations and `base` the Dirichlet parameter of
    the weights.  The update, by expected numbers of tables, is monotone.
    """
    alpha = list(alpha)
    for _ in range(ROUNDS):
        by_state = np.full(weight.shape, base)
        for x, (n, along) in enumerate(counted):
            c = np.maximum(alpha[x] * weight, LEAST_WEIGHT)
            c = c.reshape(*(1,) * along, *c.shape)
            tables = np.where(n > 0, c * (digamma(c + n) - digamma(c)), 0.0)
            total = n.sum(axis=along)
            drop = (digamma(alpha[x] + total) - digamma(alpha[x])).sum()
            by_state = by_state + tables.reshape(-1, *weight.shape).sum(axis=0)
            alpha[x] = float(np.clip(tables.sum() / (1.0 + drop), LEAST, MOST))
        weight = np.maximum(by_state / by_state.sum(axis=0), LEAST_WEIGHT)
    return weight, alpha
