"""Parameters of hidden trees as small tables: labels by state, child by state, and what each slot says."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import columns as col
from .contents import average_nodes

MAX_COMPONENTS = 40
MAX_LABELS = 24  # of a component, the most probable
MAX_SLOTS = 24


def gather_parameters(mixture: Any) -> dict[str, Any]:
    """For each component: its weight, and tables of probabilities."""
    weight = np.asarray(mixture.weight_)
    shown = np.sort(np.argsort(-weight, kind="stable")[:MAX_COMPONENTS])
    emissions, model = mixture.emissions(MAX_LABELS), mixture.spec_
    notes = []
    if len(shown) < len(weight):
        notes.append(f"The {len(shown)} heaviest of {len(weight)} components.")
    if model.n_labels > MAX_LABELS:
        notes.append(f"The {MAX_LABELS} most probable of {model.n_labels} labels of each component.")
    if model.n_slots > MAX_SLOTS:
        notes.append(f"The first {MAX_SLOTS} of {model.n_slots} slots.")
    by_states = _down(mixture) if model.direction == "down" else _up(mixture)
    averages = _averages(mixture)
    components = [
        {
            "name": str(k),
            "weight": col.figure(float(weight[k])),
            "labels": [col.shortened(name) for name in emissions[k].columns],
            "emission": col.rounded(emissions[k].values),
            **averages.get(k, {}),
            **by_states(k),
        }
        for k in shown.tolist()
    ]
    absent = model.direction == "up" and model.absent_is_state
    what = {"n_states": model.n_states, "absent": absent, "direction": model.direction}
    return {**what, "components": components, "note": " ".join(notes)}


def _averages(mixture: Any) -> dict[int, dict[str, Any]]:
    """What nodes of each state hold, by component, where they hold more than labels."""
    if mixture.spec_.emission.by_label:
        return {}
    each = mixture.emission_params().items()
    return {k: average_nodes(mixture.spec_.emission, one, mixture.vocabulary_) for k, one in each}


def _up(mixture: Any) -> Callable[[int], dict[str, Any]]:
    names = ("switch_prob_", "branching_prob_", "leaf_prob_")
    switch, branching, leaf = (mixture._by_component(name) for name in names)

    def of_component(k: int) -> dict[str, Any]:
        slots = {"switch": col.rounded(switch[k, :MAX_SLOTS])}
        if branching.shape[1]:
            slots["a child there"] = col.rounded(branching[k, :MAX_SLOTS])
        return {
            "transition": col.rounded(mixture.mean_transition(k)),
            "slots": slots,
            "root": col.rounded(leaf[k, -1, : mixture.spec_.n_states]),
        }

    return of_component


def _down(mixture: Any) -> Callable[[int], dict[str, Any]]:
    branching, root = (mixture._by_component(name) for name in ("branching_prob_", "root_prob_"))

    def of_component(k: int) -> dict[str, Any]:
        chance = branching[k, :MAX_SLOTS]
        slots = {}
        if branching.ndim == 3:
            slots = {f"a child there, state {i}": col.rounded(chance[:, i]) for i in range(chance.shape[1])}
        elif len(chance):
            slots = {"a child there": col.rounded(chance)}
        return {
            "transition": col.rounded(mixture.mean_transition(k)),
            "slots": slots,
            "root": col.rounded(root[k]),
        }

    return of_component
