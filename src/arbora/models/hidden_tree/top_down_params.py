"""Parameters, counts and priors of `TopDownTree`, component axis last."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Params(NamedTuple):
    """Probabilities, component axis last; the axis that sums to one is named in brackets."""

    root: Floats  # [(state), k]
    emission: Any  # those of the emission: [(label), state, k] of labels
    transition: Floats  # [slot, state of the parent, (state), k]; one slot where slots are tied
    branching: Floats  # [slot, k], or [slot, state, k]: chance that a node has a child there; no rows without structure


class Counts(NamedTuple):
    """Expected counts in the shapes of Params; they add over trees, shards and machines."""

    root: Floats
    emission: Any  # statistics of the emission
    transition: Floats
    branching: Floats  # [2, ...]: children there, and chances to have one


class Priors(NamedTuple):
    """Symmetric Dirichlet parameters; with `TopDownTree.rates` that of the branching is the strength of its prior."""

    root: float = 1.0
    emission: float = 1.0
    transition: float = 1.0
    branching: float = 1.0
