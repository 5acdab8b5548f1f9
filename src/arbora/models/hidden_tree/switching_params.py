"""Parameters, counts and priors of `SwitchingTree`, component axis last."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Params(NamedTuple):
    """Probabilities, component axis last; the axis that sums to one is named in brackets."""

    leaf: Floats  # [slot + root, (state), k]; in the slot reading one state more: nothing there
    emission: Any  # those of the emission: [(label), state, k] of labels
    switch: Floats  # [(slot), k]
    transition: Floats  # [slot, child state (+ absent), (state), k]
    branching: Floats  # [slot, k]: chance that a node has a child there; no rows without the structure term


class Counts(NamedTuple):
    """Expected counts in the shapes of Params; they add over trees, shards and machines."""

    leaf: Floats
    emission: Any  # statistics of the emission
    switch: Floats
    transition: Floats
    branching: Floats  # [2, slot, k]: children there, and nodes that could have one
    exposure: Floats  # [slot, k]: what the renormalised reading divides switch counts by; else no rows


class Priors(NamedTuple):
    """Symmetric Dirichlet parameters; modes want one or more, draws anything above zero.

    With `SwitchingTree.rates` that of the branching is the strength of its prior: Beta(strength rate, strength (1 -
    rate)).
    """

    leaf: float = 1.0
    emission: float = 1.0
    switch: float = 1.0
    transition: float = 1.0
    branching: float = 1.0


class ShapeCounts(NamedTuple):
    """The part of the counts that comes from the shapes of the trees; arrays without rows where not needed."""

    nothing: Floats  # [slot, k]: absent slots of internal nodes, for the slot reading's leaf prior
    branching: Floats  # [2, slot, k]
    exposure: Floats  # [slot, k]
