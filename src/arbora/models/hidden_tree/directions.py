"""Which way states go: what the settings of hidden trees ask for, from child to parent or from parent to child."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import SettingError
from ...forest.trees import Trees
from ..settings import check_count, check_number, default_of
from . import switching_settings as up
from . import top_down_tree as down
from .emissions.choice import emission_for
from .hidden_model import HiddenModel
from .inferred_states import InferredStates
from .inferred_states import Priors as StatePriors
from .switching_tree import SwitchingTree
from .top_down_params import Priors
from .tree_model import named

Direction = Literal["up", "down"]
Structure = Literal["branching", "state"] | None
Floats = NDArray[np.float64]

#: Fitted attributes of hidden trees with labels, of either direction.
PROBABILITIES = (*up.PROBABILITIES, "root_prob_")
#: Those of models that learn their number of states, beside them.
LEARNT_STATES = (
    "n_states_",
    "state_share_",
    "state_weight_",
    "first_concentration_",
    "transition_concentration_",
    "state_concentration_",
)
ATTRIBUTES = (*PROBABILITIES, *LEARNT_STATES)
#: Settings of one direction that have no meaning in the other.
LEARNT_ABSENT = ("bottom", "literal")  # readings in which the number of states can be learnt
LEAST_PRIOR = 1e-3  # of rows that have a posterior of their own, and no mode
ONLY_UP, ONLY_DOWN = ("leaf_prior", "switch_prior"), ("root_prior",)


class HiddenTrees:
    """Reads the model of either direction from a file."""

    @staticmethod
    def from_header(values: Any) -> HiddenModel:
        """The model; the header of a top-down one begins with its direction."""
        kinds: dict[Any, Any] = {"down": down.TopDownTree, "infer": InferredStates}
        word = values[0] if values else None
        kind = kinds.get(word, SwitchingTree) if isinstance(word, str) else SwitchingTree
        model: HiddenModel = kind.from_header(values)
        return model


def infers(settings: Any) -> bool:
    """Whether the number of states is to be learnt."""
    if isinstance(settings.n_states, str) and settings.n_states != "infer":
        raise SettingError(f"n_states={settings.n_states!r}; wanted a number, or 'infer'")
    return isinstance(settings.n_states, str)


def check_hidden(settings: Any, least_prior: float = 1.0, if_none: float | None = None) -> Any:
    """Raise on impossible settings; the priors of the fit, each `least_prior` or more; prior=None is `if_none`."""
    check_count("max_states", settings.max_states)
    if not infers(settings):
        return _check_direction(settings, least_prior, if_none)
    if settings.direction == "up" and settings.absent not in LEARNT_ABSENT:
        raise SettingError(
            f"absent={settings.absent!r} with n_states='infer'; wanted one of {', '.join(LEARNT_ABSENT)}"
        )
    for name in ("leaf_prior", "root_prior", "transition_prior"):
        if getattr(settings, name) is not None:
            raise SettingError(f"{name}: with n_states='infer' it is learnt; leave it out")
    priors = _check_direction(settings, LEAST_PRIOR, if_none)
    check_number(
        "branching_prior" if settings.branching_prior is not None else "prior", priors.branching, least_prior, 1e9
    )
    switch = priors.switch if settings.direction == "up" else 1.0
    return StatePriors(emission=priors.emission, switch=switch, branching=priors.branching)


def _check_direction(settings: Any, least_prior: float, if_none: float | None) -> Any:
    if settings.direction not in ("up", "down"):
        raise SettingError(f"direction={settings.direction!r}; wanted 'up' or 'down'")
    if not isinstance(settings.tied, bool | np.bool_):
        raise SettingError(f"tied={settings.tied!r}; wanted True or False")
    if settings.direction == "up":
        _refuse(settings, dict.fromkeys(ONLY_DOWN) | {"tied": False}, "down")
        if settings.structure == "state":
            raise SettingError("structure='state': only with direction='down'; wanted None or 'branching'")
        return up.check_switching(settings, least_prior, if_none)
    _refuse(settings, dict.fromkeys(ONLY_UP) | {"absent": default_of(type(settings), "absent")}, "up")
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


def new_hidden_tree(settings: Any, forest: Trees, n_components: int) -> Any:
    """Sizes of a model of these trees; refuses tables beyond all measure."""
    n_slots, pooled = up.slots_of(settings, forest)
    n_states = settings.max_states if infers(settings) else settings.n_states
    emission = emission_for(settings.content, getattr(settings, "_content_trees", forest))
    sizes = (n_slots, emission, n_states)
    model: Any
    if settings.direction == "up":
        model = SwitchingTree(*sizes, settings.absent, settings.structure, pooled)
    else:
        model = down.TopDownTree(*sizes, settings.structure, bool(settings.tied), pooled)
    up.check_room(model, n_components)
    return InferredStates(model) if infers(settings) else model


def shaping(settings: Any, model: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that shape the model, each as it is now and as it was when the model was fitted."""
    learnt = isinstance(model, InferredStates)
    inside = model.tree if learnt else model
    names = ["direction", "structure", "absent" if model.direction == "up" else "tied"]
    of_states = {"n_states": (settings.n_states, "infer" if learnt else model.n_states)}
    if learnt:
        of_states["max_states"] = (settings.max_states, model.n_states)
    return {**of_states, **{name: (getattr(settings, name), getattr(inside, name)) for name in names}}


def options_of(model: Any) -> dict[str, Any]:
    """Settings of a mixture of this model."""
    learnt = isinstance(model, InferredStates)
    inside = model.tree if learnt else model
    one = {"absent": inside.absent} if model.direction == "up" else {"tied": inside.tied}
    states = {"n_states": "infer", "max_states": model.n_states} if learnt else {"n_states": model.n_states}
    return {**states, "direction": model.direction, "structure": model.structure, **one}


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
    """Remove fitted arrays of another direction, or of learnt states."""
    mine = {table.name for table in named(model.tables).values()}
    mine |= {"n_states_", "state_share_"} if isinstance(model, InferredStates) else set()
    for name in ATTRIBUTES:
        if name not in mine and name in vars(estimator):
            delattr(estimator, name)
