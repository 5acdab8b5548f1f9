"""What settings and files of a mixture of patterns may hold."""

from typing import Any

import numpy as np

from ...errors import SettingError
from ..file_checks import check_array
from ..sampled import check_ending
from ..settings import check_choice, check_count, check_number
from . import fitted as ft
from .transformer import check_families

PRIORS = ("dp", "pitman-yor", "finite")


def check_settings(model: Any) -> None:
    """Raise on impossible settings."""
    check_families(model.families)
    for name in ("min_trees", "n_chains", "n_iter", "thin", "fit_on"):
        check_count(name, getattr(model, name))
    check_ending(model)
    if model.n_components is not None:
        check_count("n_components", model.n_components)
    if model.burn_in is not None:
        check_number("burn_in", model.burn_in, 0, model.n_iter - 1)
    check_choice("prior", model.prior, PRIORS)
    if model.power != "calibrated":
        check_number("power", model.power, 1e-3, 10.0)
    if model.concentration is not None:
        check_number("concentration", model.concentration, 1e-6, 1e6)
    if model.checkpoint is not None and not isinstance(model.random_state, (int, np.integer)):
        raise SettingError(
            f"checkpoint: random_state={model.random_state!r}; wanted a whole number, so that the search before "
            "the chains is the same when they go on"
        )


def check_fitted(model: Any) -> None:
    """Raise unless what was read makes a model."""
    check_number("power_", model.power_, 1e-3, 10.0)
    check_number("concentration_", model.concentration_, 1e-6, 1e9)
    check_number("log_posterior_", model.log_posterior_, -1e300, 1e300)
    ft.check_model(model.model_, len(model.families))
    n_groups = len(model.group_size_)
    if not isinstance(model.labels_, np.ndarray) or not model.labels_.size or type(model.converged_) is not bool:
        raise ValueError("labels_ or converged_ are missing")
    check_array("labels_", model.labels_, np.int64, (None,), 0, n_groups - 1)
    check_array("fitted_trees_", model.fitted_trees_, np.int64, (None,), 0, 2**40)
    n_fitted = len(model.fitted_trees_)
    check_array("left_out_", model.left_out_, np.float64, (n_fitted,))
    if model.split_gain_ is not None:
        check_array("split_side_", model.split_side_, np.int64, (n_fitted,), 0, 1)
        _check_gains("split_gain_", model.split_gain_, n_groups)
    check_array("left_out_label_", model.left_out_label_, np.int64, (n_fitted,), 0, n_groups - 1)


def _check_gains(name: str, gain: Any, n_groups: int) -> None:
    """Raise unless there is a gain for each group; -inf where a group has but one tree."""
    if not isinstance(gain, np.ndarray) or gain.dtype != np.float64 or gain.shape != (n_groups,):
        raise ValueError(f"{name} is not a number for each of {n_groups} groups")
    if np.isnan(gain).any() or np.isposinf(gain).any():
        raise ValueError(f"{name} holds what is no gain")
