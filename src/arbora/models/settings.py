"""Checks of settings that more than one model needs."""

import functools
import inspect
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SettingError

#: Most of what is counted, where nothing else bounds it: more would never end, or never fit into memory.
MOST = 10**9
MOST_CHAINS, MOST_STARTS, MOST_JOBS = 10**4, 10**6, 4096


def default_of(kind: Any, name: str) -> Any:
    """The default of a setting of a class of estimators."""
    return _parameters(kind)[name].default


@functools.cache
def _parameters(kind: Any) -> Any:
    return inspect.signature(kind).parameters  # which takes as long as a small fit


def check_count(name: str, value: Any, most: int = MOST) -> None:
    """Raise unless the value is a whole number from one to the most that makes sense."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise SettingError(f"{name}={value!r}; wanted a whole number of 1 or more")
    if value > most:
        raise SettingError(f"{name}={value}; wanted {most:,} at most")


def check_integer(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless the value is a whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise SettingError(f"{name}={value!r}; wanted a whole number from {low} to {high:,}")


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Raise unless the value is one of the choices."""
    listed = [repr(choice) for choice in choices]
    if not (value is None or isinstance(value, str)) or repr(value) not in listed:
        raise SettingError(f"{name}={value!r}; wanted one of {', '.join(listed)}")


def check_gamma(name: str, value: Any) -> None:
    """Raise unless the value is None, or shape and rate of a gamma distribution."""
    if value is None:
        return
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise SettingError(f"{name}={value!r}; wanted None or two numbers, shape and rate")
    check_number(f"shape of {name}", value[0], 1e-9, 1e9)
    check_number(f"rate of {name}", value[1], 1e-9, 1e9)


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Raise unless the value is a number from low to high."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise SettingError(f"{name}={value!r}; wanted a number from {low:g} to {high:g}")


def check_weight(sample_weight: ArrayLike | None, n_trees: int) -> NDArray[np.float64] | None:
    """One finite, non-negative weight per tree, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, np.float64)
    if weight.shape != (n_trees,):
        raise SettingError(f"sample_weight has shape {weight.shape}; wanted one weight per tree, ({n_trees},)")
    if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
        raise SettingError("sample_weight must be finite, not negative, and not all zero")
    return weight


def n_threads(n_jobs: int | None) -> int:
    """Threads for scikit-learn's n_jobs."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise SettingError(f"n_jobs={n_jobs!r}; wanted None, a number of threads, or -1 for all cores")
    if n_jobs > MOST_JOBS:
        raise SettingError(f"n_jobs={n_jobs}; wanted {MOST_JOBS:,} threads at most, or -1 for all cores")
    cores = os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
