"""Which way states go: what the settings of hidden trees ask for, from child to parent or from parent to child."""

import inspect
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import SettingError
from ...forest.forest import Forest
from . import switching_settings as up
from . import top_down_tree as down
from .emissions.choice import emission_for
from .hidden_model import HiddenModel
from .switching_tree import SwitchingTree
from .top_down_params import Priors
from .tree_model import named

Direction = Literal["up", "down"]
Structure = Literal["branching", "state"] | None
Floats = NDArray[np.float64]

#: Fitted attributes of hidden trees with labels, of either direction.
PROBABILITIES = (*up.PROBABILITIES, "root_prob_")
#: Settings of one direction that have no meaning in the other.
ONLY_UP, ONLY_DOWN = ("leaf_prior", "switch_prior"), ("root_prior",)


class HiddenTrees:
    """Reads the model of either direction from a file."""

    @staticmethod
    def from_header(values: Any) -> HiddenModel:
        """The model; the header of a top-down one begins with its direction."""
        kind: Any = down.TopDownTree if values and values[0] == "down" else SwitchingTree
        model: HiddenModel = kind.from_header(values)
        return model


def check_hidden(settings: Any, least_prior: float = 1.0, if_none: float | None = None) -> Any:
    """Raise on impossible settings; the priors of the fit, each `least_prior` or more; prior=None is `if_none`."""
    if settings.direction not in ("up", "down"):
        raise SettingError(f"direction={settings.direction!r}; wanted 'up' or 'down'")
    if not isinstance(settings.tied, bool | np.bool_):
        raise SettingError(f"tied={settings.tied!r}; wanted True or False")
    if settings.direction == "up":
        _refuse(settings, dict.fromkeys(ONLY_DOWN) | {"tied": False}, "down")
        if settings.structure == "state":
            raise SettingError("structure='state': only with direction='down'; wanted None or 'branching'")
        return up.check_switching(settings, least_prior, if_none)
    default = inspect.signature(type(settings)).parameters["absent"].default
    _refuse(settings, dict.fromkeys(ONLY_UP) | {"absent": default}, "up")
    if settings.structure not in down.STRUCTURES:
        raise SettingError(f"structure={settings.structure!r}; wanted None, 'branching' or 'state'")
    up.check_sizes(settings)
    return up.check_priors(settings, Priors, least_prior, if_none)


def _refuse(settings: Any, unset: dict[str, Any], other: str) -> None:
    """Raise where a setting of the other direction has a value."""
    for name, value in unset.items():
        given = getattr(settings, name)
        if given != value:
            raise SettingError(
                f"{name}={given!r}: only with direction={other!r}; leave it at {value!r}, or set direction"
            )


def new_hidden_tree(settings: Any, forest: Forest, n_components: int) -> Any:
    """Sizes of a model of these trees; refuses tables beyond all measure."""
    if settings.direction == "up":
        return up.new_switching_tree(settings, forest, n_components)
    n_slots, pooled = up.slots_of(settings, forest)
    options: Any = (settings.structure, bool(settings.tied), pooled)
    model = down.TopDownTree(n_slots, emission_for(settings.content, forest), settings.n_states, *options)
    up.check_room(model, n_components)
    return model


def shaping(settings: Any, model: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that shape the model, each as it is now and as it was when the model was fitted."""
    names = ["direction", "n_states", "structure", "absent" if model.direction == "up" else "tied"]
    return {name: (getattr(settings, name), getattr(model, name)) for name in names}


def options_of(model: Any) -> dict[str, Any]:
    """Settings of a mixture of this model, beside its number of states."""
    one = {"absent": model.absent} if model.direction == "up" else {"tied": model.tied}
    return {"direction": model.direction, "structure": model.structure, **one}


def model_of(given: dict[str, Floats], absent: Any) -> Any:
    """The model whose parameters these are, by name, components first."""
    _, n_states, n_labels = given["emission_prob_"].shape
    branching = given.get("branching_prob_")
    if "root_prob_" not in given:
        structure: Any = None if branching is None else "branching"
        return SwitchingTree.of_labels(given["switch_prob_"].shape[-1], n_labels, n_states, absent, structure)
    if given["transition_prob_"].ndim != 4:
        raise ValueError(f"transition_prob has shape {given['transition_prob_'].shape}; wanted [component, slot, ...]")
    n_slots = given["transition_prob_"].shape[1] if branching is None else branching.shape[1]
    structure = None if branching is None else ("branching", "state")[branching.ndim == 3]
    tied = given["transition_prob_"].shape[1] == 1 and n_slots > 1
    return down.of_labels(n_slots, n_labels, n_states, structure=structure, tied=tied)


def forget_others(estimator: Any, model: HiddenModel) -> None:
    """Remove fitted arrays of another direction."""
    mine = {table.name for table in named(model.tables).values()}
    for name in PROBABILITIES:
        if name not in mine and name in vars(estimator):
            delattr(estimator, name)
