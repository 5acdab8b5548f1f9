"""A prior of shapes whose mode is the overall rate of each slot, so that states without nodes do not grow for ever.

With a prior around one half, a state that hardly any node has would put a child into every other slot, and drawn trees
might never end.  The rates of all nodes together sum to less than one child per node.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from ..hidden_tree.passes import Batch

Floats = NDArray[np.float64]

N_NODES = 1.0  # nodes of the overall rates that every state is given
LEAST = 1e-12  # distance of chances from zero and one


class ShapePrior(NamedTuple):
    """Beta(1 + n rate, 1 + n (1 - rate)) for the chance of a child by slot, state and component, n = `N_NODES`."""

    rate: Floats  # [slot, 1, 1]

    @classmethod
    def of(cls, mixture: Any, batch: Batch) -> Self:
        """The rates of the trees of a batch; whatever the parameters, all nodes are counted once."""
        counts: Any = batch.expected_counts(mixture._fitted_params())[0].tree
        hits, tries = counts.branching.sum(axis=(2, 3))  # over states and components
        return cls(np.clip(hits / np.maximum(tries, 1.0), LEAST, 1.0 - LEAST)[:, None, None])

    def log_density(self, params: Any) -> float:
        """Log density of the chances of branching, up to a constant."""
        chance = params.branching
        return N_NODES * float((xlogy(self.rate, chance) + xlog1py(1.0 - self.rate, -chance)).sum())

    def applied(self, params: Any, counts: Any) -> Any:
        """Parameters with the mode of the chances of branching given expected counts."""
        hits, tries = counts.branching
        chance = (hits + N_NODES * self.rate) / (tries + N_NODES)
        return params._replace(branching=np.clip(chance, LEAST, 1.0 - LEAST))

    def inside(self, params: Any) -> Any:
        """Parameters whose chances are neither zero nor one, to start from."""
        return params._replace(branching=np.clip(params.branching, LEAST, 1.0 - LEAST))
