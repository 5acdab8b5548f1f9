"""Generators of array data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .published import LabelledRows


def make_bananas(
    n_per_class: int = 200, radius: float = 5.0, noise: float = 0.3, random_state: Any = None
) -> LabelledRows:
    """Draw two interlocking arcs of 225 degrees with Gaussian noise (PRTools' gendatb; Mohamad et al. 2015).

    Parameters
    ----------
    n_per_class : int, default 200
        Points of each arc.
    radius, noise : float
        Radius of the arcs and standard deviation of the noise.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    LabelledRows
        The rows, their classes and names.

    Examples
    --------
    >>> make_bananas(3, random_state=0).X.shape
    (6, 2)
    """
    if n_per_class < 1 or not radius > 0 or not noise >= 0:
        raise ValueError(f"n_per_class={n_per_class}, radius={radius}, noise={noise}; wanted 1 or more, > 0, >= 0")
    rng = np.random.default_rng(random_state)
    one = 0.125 * np.pi + 1.25 * np.pi * rng.random(n_per_class)
    two = 0.375 * np.pi - 1.25 * np.pi * rng.random(n_per_class)
    angle = np.concatenate([one, two])
    X: NDArray[np.float64] = radius * np.column_stack([np.sin(angle), np.cos(angle)])
    X += noise * rng.normal(size=X.shape)
    X[n_per_class:] -= 0.75 * radius
    y = np.repeat(np.array(["A", "B"]), n_per_class)
    return LabelledRows(X, y, np.array([f"{c}{n}" for c in "AB" for n in range(n_per_class)]))
