"""Checks of settings that more than one model needs."""

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}={value!r}; wanted a whole number of 1 or more")


def check_weight(sample_weight: ArrayLike | None, n_trees: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (n_trees,):
        raise ValueError(f"sample_weight has shape {weight.shape}; wanted one weight a tree, ({n_trees},)")
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
        raise ValueError("sample_weight must be finite, not negative, and not all zero")
    return weight


def n_threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if n_jobs == 0 or isinstance(n_jobs, bool):
        raise ValueError("n_jobs=0; wanted None, a number of threads, or -1 for all cores")
    cores = os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
