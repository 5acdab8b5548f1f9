"""One tree for a distribution over trees: of many draws the one with the least expected edit distance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ..edit.distance import edit_distances

Floats = NDArray[np.float64]


def risks(draws: Forest, n_components: int) -> Floats:
    """Mean edit distance of each draw to the draws of each component, [draw, component]; `target` is its component."""
    component = np.asarray(draws.target)
    distance = edit_distances(draws, progress=False)
    own = np.eye(n_components)[component]
    return np.asarray(distance @ own / np.maximum(own.sum(axis=0), 1.0))


def best_draws(risk: Floats, proba: Floats) -> NDArray[np.int64]:
    """The draw of least expected distance for each row of P(component); the first of several."""
    expected: Any = proba @ risk.T
    return np.asarray(expected.argmin(axis=1), np.int64)
