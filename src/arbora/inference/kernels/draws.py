"""Draws that several samplers make: an index by weights or their logarithms, and one of two sides by its log odds."""

import math

import numpy as np

from ...jit import jit


@jit
def draw_by_weights(rng, weight, n):
    """(index drawn in proportion to weight[:n], sum of the weights); where rounding runs past the end, the last one."""
    total = 0.0
    for x in range(n):
        total += weight[x]
    left = rng.random() * total
    chosen = 0
    for x in range(n):
        if weight[x] > 0.0:
            chosen = x
            left -= weight[x]
            if left < 0.0:
                break
    return chosen, total


@jit
def draw_by_logs(rng, log_weight, n):
    """Index drawn in proportion to exp(log_weight[:n]), some of them above -inf; changes log_weight."""
    top = -np.inf
    for x in range(n):
        top = max(top, log_weight[x])
    for x in range(n):
        log_weight[x] = math.exp(log_weight[x] - top)
    return draw_by_weights(rng, log_weight, n)[0]


@jit
def draw_side(rng, log_odds, given):
    """(side, its log chance): one of 0 and 1, given these log odds of 1; with `given` not below zero, that side."""
    side = given
    if given < 0:
        side = 1 if rng.random() < 1.0 / (1.0 + math.exp(-min(max(log_odds, -700.0), 700.0))) else 0
    toward = log_odds if side == 1 else -log_odds
    return side, -math.log1p(math.exp(-toward)) if toward > -700.0 else toward
