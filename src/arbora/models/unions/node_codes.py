"""How many nats a node of a union costs: codes of which samples have it, and of the labels it carries there.

A union of n samples pays, for a node that p of them have,

    length(n, p) = min(node_cost + top[n] - present[p] - absent[n - p] + shared,  noise_cost * p + free)

- ``"ml"``: n I(p / n), the paper's; top[n] = n log n, present[x] = absent[x] = x log x;
- ``"kt"``: the Krichevsky-Trofimov mixture, which also pays for not knowing the probability;
- a finite `noise_cost` lets a node be coded with each sample that has it, at that cost, instead of with the union;
- `shared` is the length of its labels by a Dirichlet-multinomial code, `free` by the shares of all labels alone;
  content adds to both (kernels/content_lengths.py): all values of the node together, or each by itself.

Labels aside, lengths are concave in p and 0 or more at p = 0, so merging two nodes never costs, and the gain is
supermodular: the two facts behind the bound in `kernels/union_gains.py`.
"""

from math import lgamma, log, pi
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
CodeName = Literal["ml", "kt"]
CODES = ("ml", "kt")


class Code(NamedTuple):
    """Tables of a code for up to n samples, as kernels take them."""

    top: Floats
    present: Floats
    absent: Floats
    node_cost: float
    noise_cost: float  # inf where a node is always part of the union
    label_prior: Floats  # [label] share of each label among all nodes; empty without labels
    label_strength: float  # pseudo-count of the prior
    family: NDArray[np.int64]  # of each column of content; empty without content
    content_prior: Floats  # [column, 2], by kernels.content_lengths


def make_code(
    name: str,
    n_samples: int,
    node_cost: float,
    noise_cost: float = np.inf,
    label_prior: Floats | None = None,
    label_strength: float = 1.0,
    content: Any = None,
) -> Code:
    """Tables of a code for unions of up to `n_samples`."""
    count = np.arange(n_samples + 1, dtype=np.float64)
    if name == "ml":
        top = count * np.log(np.maximum(count, 1.0))
        present = absent = top
    else:
        top = np.array([log(pi) + lgamma(x + 1.0) for x in count])
        present = absent = np.array([lgamma(x + 0.5) for x in count])
    prior = np.zeros(0) if label_prior is None else np.asarray(label_prior, np.float64)
    family, content_prior = (np.zeros(0, np.int64), np.zeros((0, 2))) if content is None else content
    costs = float(node_cost), float(noise_cost)
    return Code(top, present, absent, *costs, prior, float(label_strength), family, content_prior)


class LabelLengths(NamedTuple):
    """Lengths of the labels and the content of each node."""

    shared: Floats  # coded together: labels by the Dirichlet-multinomial code around the shares of all labels
    free: Floats  # each label by its share alone, each value by itself


def node_length(code: Code, n: int, count: NDArray[np.int64], labels: LabelLengths | None = None) -> Floats:
    """Length of each of the nodes that `count` of n samples have."""
    kept = code.node_cost + code.top[n] - code.present[count] - code.absent[n - count]
    if labels is None:
        return np.asarray(kept if code.noise_cost == np.inf else np.minimum(kept, code.noise_cost * count))
    kept = kept + labels.shared
    return np.asarray(kept if code.noise_cost == np.inf else np.minimum(kept, code.noise_cost * count + labels.free))


def mixing_length(n: float) -> float:
    """n log n: what n samples of one component save of the code of memberships, or all of them cost."""
    return n * log(n) if n > 0 else 0.0


def label_lengths(
    code: Code, start: NDArray[np.int64], label: NDArray[np.int64], count: NDArray[np.int64]
) -> LabelLengths:
    """Lengths of the labels of each node; node u has `count` of each `label` in start[u] : start[u + 1]."""
    weight = code.label_strength * code.label_prior[label]
    strength = code.label_strength
    n_seen = _sums(count.astype(np.float64), start)
    known = _sums(gammaln(count + weight) - gammaln(weight), start)
    free = _sums(np.asarray(-count * np.log(code.label_prior[label]), np.float64), start)
    return LabelLengths(gammaln(n_seen + strength) - gammaln(strength) - known, free)


def _sums(values: Floats, start: NDArray[np.int64]) -> Floats:
    """Sums over runs, each on its own: differences of running sums would carry the rounding of what came before."""
    out = np.zeros(len(start) - 1)
    full = np.diff(start) > 0
    if full.any():
        out[full] = np.add.reduceat(values, start[:-1][full])
    return out
