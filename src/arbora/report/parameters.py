"""Parameters of hidden trees as small tables: labels by state, child by state, and what each slot says."""

from typing import Any

import numpy as np

from . import columns as col

MAX_COMPONENTS = 40
MAX_LABELS = 24  # of a component, the most probable
MAX_SLOTS = 24


def gather_parameters(mixture: Any) -> dict[str, Any]:
    """For each component: its weight, and tables of probabilities."""
    weight = np.asarray(mixture.weight_)
    shown = np.sort(np.argsort(-weight, kind="stable")[:MAX_COMPONENTS])
    names = ("transition_prob_", "switch_prob_", "branching_prob_", "leaf_prob_")
    transition, switch, branching, leaf = (mixture._by_component(name) for name in names)
    emissions, model = mixture.emissions(MAX_LABELS), mixture.spec_
    notes = []
    if len(shown) < len(weight):
        notes.append(f"The {len(shown)} heaviest of {len(weight)} components.")
    if model.n_labels > MAX_LABELS:
        notes.append(f"The {MAX_LABELS} most probable of {model.n_labels} labels of each component.")
    if switch.shape[1] > MAX_SLOTS:
        notes.append(f"The first {MAX_SLOTS} of {switch.shape[1]} slots.")
    components = []
    for k in shown.tolist():
        slots = {"switch": col.rounded(switch[k, :MAX_SLOTS])}
        if branching.shape[1]:
            slots["a child there"] = col.rounded(branching[k, :MAX_SLOTS])
        components.append(
            {
                "name": str(k),
                "weight": col.figure(float(weight[k])),
                "labels": [col.shortened(name) for name in emissions[k].columns],
                "emission": col.rounded(emissions[k].values),
                # what a parent's state is, given a child's, whichever child the switch chooses
                "transition": col.rounded(np.tensordot(switch[k], transition[k], axes=1)),
                "slots": slots,
                "root": col.rounded(leaf[k, -1, : model.n_states]),
            }
        )
    absent = transition.shape[2] > model.n_states
    return {"n_states": model.n_states, "absent": absent, "components": components, "note": " ".join(notes)}
