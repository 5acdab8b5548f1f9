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
    names = ("emission_prob_", "transition_prob_", "switch_prob_", "branching_prob_", "leaf_prob_")
    emission, transition, switch, branching, leaf = (mixture._by_component(name) for name in names)
    notes = []
    if len(shown) < len(weight):
        notes.append(f"The {len(shown)} heaviest of {len(weight)} components.")
    if emission.shape[2] > MAX_LABELS:
        notes.append(f"The {MAX_LABELS} most probable of {emission.shape[2]} labels of each component.")
    if switch.shape[1] > MAX_SLOTS:
        notes.append(f"The first {MAX_SLOTS} of {switch.shape[1]} slots.")
    components = []
    for k in shown.tolist():
        top = np.argsort(-emission[k].max(axis=0, initial=0.0), kind="stable")[:MAX_LABELS]
        slots = {"switch": col.rounded(switch[k, :MAX_SLOTS])}
        if branching.shape[1]:
            slots["a child there"] = col.rounded(branching[k, :MAX_SLOTS])
        components.append(
            {
                "name": str(k),
                "weight": col.figure(float(weight[k])),
                "labels": [col.shortened(mixture.vocabulary_[m]) for m in top.tolist()],
                "emission": col.rounded(emission[k][:, top]),
                # what a parent's state is, given a child's, whichever child the switch chooses
                "transition": col.rounded(np.tensordot(switch[k], transition[k], axes=1)),
                "slots": slots,
                "root": col.rounded(leaf[k, -1, : emission.shape[1]]),
            }
        )
    absent = transition.shape[2] > emission.shape[1]
    return {"n_states": int(emission.shape[1]), "absent": absent, "components": components, "note": " ".join(notes)}
