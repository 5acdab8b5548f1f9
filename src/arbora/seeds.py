"""Random states as users give them, and draws that several models share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import SettingError


def resolve_seed(random_state: Any) -> np.random.Generator:
    """A Generator from None, an integer, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0
    if random_state is None or is_seed:
        return np.random.default_rng(random_state)
    raise SettingError(
        f"random_state={random_state!r}; wanted None, an integer of 0 or more, a RandomState or a Generator"
    )


def draw_rows(rng: np.random.Generator, proba: NDArray[np.float64]) -> NDArray[np.int64]:
    """A column for each row, drawn in proportion to the row."""
    edge = np.cumsum(proba, axis=1)
    point = rng.random(len(proba)) * edge[:, -1]
    return np.asarray((edge <= point[:, None]).sum(axis=1).clip(max=proba.shape[1] - 1))
