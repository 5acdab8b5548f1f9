"""What settings and files of a mixture of label chains may hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import SettingError
from ..file_checks import check_array, check_texts
from ..sampled import check_ending
from ..settings import check_choice, check_count, check_gamma, check_integer, check_number
from . import backoff
from .events import MAX_JUMP, ROOT, Alphabet

STARTS = ("patterns", "communities", "random")
NUMBERS = ("knee", "process")


def check_settings(model: Any) -> None:
    """Raise on impossible settings."""
    if model.n_components is not None:
        check_count("n_components", model.n_components)
    check_choice("number", model.number, NUMBERS)
    check_ending(model)
    if model.burstiness != "learn":
        if isinstance(model.burstiness, str):
            raise SettingError(f"burstiness={model.burstiness!r}; wanted 'learn' or a number of 0 or more")
        check_number("burstiness", model.burstiness, 0.0, 1e3)
    check_choice("start", model.start, STARTS)
    for name in ("n_init", "max_iter", "n_start", "n_iter", "thin", "n_chains"):
        check_count(name, getattr(model, name))
    check_number("tol", model.tol, 0.0, np.inf)
    check_number("learning_decay", model.learning_decay, 0.5, 1.0)
    check_number("concentration", model.concentration, 1e-9, 1e9)
    check_number("burn_in", 0 if model.burn_in is None else model.burn_in, 0, model.n_iter - 1)
    check_integer("n_split_merge", model.n_split_merge, 0, 10**6)
    check_gamma("concentration_prior", model.concentration_prior)


def check_content(model: Any) -> None:
    """Raise unless what was read makes a model."""
    n = model.n_components_
    if type(n) is not int or n < 1 or (model.n_components is not None and model.n_components != n):
        raise ValueError("n_components_ does not fit")
    if type(model.positional_) is not bool:
        raise ValueError("positional_ must be true or false")
    alphabet = Alphabet(len(model.vocabulary_), model.positional_)
    last = (2 * alphabet.root + 1) * alphabet.width**2
    check_array("weight_", model.weight_, np.float64, (n,), 1e-300, 1.0)
    if not np.isclose(model.weight_.sum(), 1.0, atol=1e-6):
        raise ValueError("weight_ must sum to one")
    check_array("cell_key_", model.cell_key_, np.int64, (None,), 0, last)
    if (np.diff(model.cell_key_) <= 0).any():
        raise ValueError("cell_key_ must ascend")
    _check_keys(model.cell_key_, alphabet)
    n_pairs = len(backoff.levels_of(model.cell_key_, alphabet).pair_key)
    check_array("cell_count_", model.cell_count_, np.float64, (n, len(model.cell_key_)), 0.0, 1e15)
    check_array("base_count_", model.base_count_, np.float64, (None, n_pairs), 0.0, 1e15)
    if len(model.base_count_) not in (1, n):
        raise ValueError("base_count_ must have a row for each component, or one")
    check_array("strength_", model.strength_, np.float64, (3, 3), backoff.WEAKEST, backoff.STRONGEST)
    check_number("burstiness_", model.burstiness_, 0.0, 1e3)
    if model.concentration_ is not None:
        check_number("concentration_", model.concentration_, 1e-300, 1e300)
    check_number("leave_one_out_", model.leave_one_out_, -1e300, 0.0)
    check_array("labels_", model.labels_, np.int64, (None,), 0, n - 1)
    check_array("merge_pair_", model.merge_pair_, np.int64, (n - 1, 2), 0, 2 * n - 2)
    if (model.merge_pair_ >= n + np.arange(n - 1)[:, None]).any() or len(np.unique(model.merge_pair_)) != 2 * n - 2:
        raise ValueError("the merges do not make a tree")
    check_array("merge_gain_", model.merge_gain_, np.float64, (n - 1,))
    check_array("log_posterior_", model.log_posterior_, np.float64, (n,))
    check_array("component_total_", model.component_total_, np.float64, (n,), 0.0, 1e15)
    check_number("seen_weight_", model.seen_weight_, 1e-300, 1e300)
    if model.names_ is not None:
        check_texts("names_", model.names_, len(model.labels_))


def _check_keys(key: NDArray[np.int64], alphabet: Alphabet) -> None:
    """Raise unless every cell is one that trees may have."""
    width = alphabet.width
    outcome, previous, context = key % width, key // width % width, key // width**2
    kind = alphabet.kind(context)
    most = np.array([alphabet.unseen, alphabet.unseen, MAX_JUMP])[kind]
    stop = (kind == ROOT) & (outcome == alphabet.end)  # a root cannot be STOP
    if (outcome > most).any() or stop.any() or (previous > max(alphabet.missing, MAX_JUMP)).any():
        raise ValueError("cell_key_ holds cells that no tree has")
