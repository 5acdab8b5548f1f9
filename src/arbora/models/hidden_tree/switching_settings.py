"""Settings that finite and infinite mixtures of switching trees share: their checks, and the model they ask for."""

import math
from typing import Any, Protocol

from ...errors import ForestError, SettingError
from ...forest.trees import Trees
from ..settings import check_choice, check_count, check_number
from . import encoding as enc
from .emissions.choice import check_content
from .switching_params import Priors
from .switching_tree import ABSENT, Absent, Structure
from .tree_model import Table, named

#: Fitted attributes of a mixture of switching trees with labels.
PROBABILITIES = ("leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_")
MAX_TABLE_BYTES, MAX_SLOT_BYTES = 4 * 2**30, 2**30  # of all tables while a model is fitted, and of those by slot
MAX_PROBABILITIES = 5 * 10**8  # of trees in components: 4 GB
TABLE_COPIES = 7  # parameters, their logarithms and products, counts of two steps: as measured


class SwitchingSettings(Protocol):
    """What an estimator of switching trees is asked for; leaf_prior and so on replace `prior`, unless None."""

    n_states: Any
    absent: Absent
    structure: Structure
    prior: float | None
    n_slots: int | None
    encoding: str
    content: Any


def check_switching(settings: SwitchingSettings, least_prior: float = 1.0, if_none: float | None = None) -> Priors:
    """Raise on impossible settings; the priors of the fit, each `least_prior` or more; prior=None is `if_none`."""
    check_sizes(settings)
    check_choice("absent", settings.absent, ABSENT)
    check_choice("structure", settings.structure, (None, "branching"))
    return Priors(*check_priors(settings, Priors, least_prior, if_none))


def check_sizes(settings: Any) -> None:
    """Raise on impossible sizes and encodings."""
    if settings.n_states != "infer":
        check_count("n_states", settings.n_states)
    if settings.n_slots is not None:
        check_count("n_slots", settings.n_slots)
    enc.find(settings.encoding)
    check_content(getattr(settings, "content", None))


def check_priors(settings: Any, kind: Any, least_prior: float, if_none: float | None) -> Any:
    """Priors of this kind: `prior`, or that of the single distribution where it is given."""
    priors = {}
    for name in kind._fields:
        own = getattr(settings, f"{name}_prior")
        general = if_none if settings.prior is None else settings.prior
        value: Any = general if own is None else own
        check_number("prior" if own is None else f"{name}_prior", value, least_prior, 1e9)
        priors[name] = float(value)
    return kind(**priors)


def check_components(n_components: int, n_trees: int) -> None:
    """Refuse more probabilities of trees in components than fit into memory."""
    if n_trees < n_components > MAX_PROBABILITIES // max(n_trees, 1):
        raise SettingError(
            f"n_components={n_components}: the probabilities of {n_trees} trees in each are more than "
            f"{MAX_PROBABILITIES:.0e} numbers; use fewer components"
        )


def slots_of(settings: Any, forest: Trees) -> tuple[int, bool]:
    """Slots that are distinguished, and whether the last stands for more than one."""
    n_slots = max(1, forest.n_slots if settings.n_slots is None else settings.n_slots)
    return n_slots, forest.n_slots > n_slots


def check_room(model: Any, n_components: int) -> None:
    """Refuse tables that would fill the memory, before any is made; of slots less is allowed, for they pool."""
    n_lanes = n_components if n_components == 1 else -(-n_components // 4) * 4  # as kernels pad them
    of_contents = _n_bytes(model.emission.tables(model.n_states), n_lanes)
    of_slots = _n_bytes(model.tables, n_lanes) - of_contents
    for what, n_bytes, most in (
        (f"{model.n_slots} slots", of_slots, MAX_SLOT_BYTES),
        (f"{model.n_slots} slots and {model.n_labels} labels", of_slots + of_contents, MAX_TABLE_BYTES),
    ):
        if n_bytes > most:
            raise ForestError(
                f"{what} make tables of {n_bytes / 2**30:.1f} GiB in a fit, more than {most / 2**30:g}; set "
                "n_slots (say 64) to pool the last slots, or use fewer states or components"
            )


def _n_bytes(tables: Any, n_lanes: int) -> int:
    """Bytes of all that a fit makes of these tables."""
    every: list[Table] = [*named(tables).values()]
    return 8 * TABLE_COPIES * n_lanes * sum(math.prod(table.shape) for table in every)
