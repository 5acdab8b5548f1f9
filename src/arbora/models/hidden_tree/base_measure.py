"""How probable a tree is under a component nobody has seen: its marginal likelihood under the prior.

The shape's part is a product of Beta-Bernoulli probabilities, in closed form; that of the contents sums over all hidden
states and is estimated by sequential imputation (`kernels.impute`), with its standard error.  See infinite.md.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from ...forest.sharing import SharedForest
from .kernels import impute
from .structure_terms import branching_prior
from .switching_params import Priors
from .tree_model import Evidence

if TYPE_CHECKING:
    from .passes import Batch
    from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]

READING = {
    "literal": impute.LITERAL,
    "renormalised": impute.RENORMALISED,
    "bottom": impute.BOTTOM,
    "slot": impute.SLOT,
}
N_REPLICATES = 8  # independent estimates, from whose spread the error is estimated
N_PARTICLES = (16, 128)  # more if the error with few is not small enough
SMALL_ERROR = 0.25  # nats
SURELY = 10.0  # standard errors
MOST_WORK = 2_000_000  # particles times nodes: the bound of memory and time for very large trees
_SEED = 20170  # the same for every tree: an estimate depends on its tree alone
_CHUNK = 2**22  # cells of dense shape counts at a time


def evidence(
    model: "SwitchingTree", batch: "Batch", priors: Priors | list[Priors], floor: Floats | None = None
) -> Evidence:
    """Log P(tree) with the parameters of its component integrated out under their prior, of every tree.

    Of several priors, which differ in their rows of states alone, each replicate takes the next: their mean.  A tree
    whose estimate is surely below its `floor` gets a rough one.
    """
    return by_shard(model, batch, priors, floor, content_evidence)


def by_shard(model: Any, batch: "Batch", priors: Any, floor: Floats | None, of_contents: Any) -> Evidence:
    """The sum of what shapes and contents give, `of_contents` of each shard, for every tree of a batch."""
    log_prob, error = np.zeros(batch.n_trees), np.zeros(batch.n_trees)
    for rows, shard in zip(batch.rows, batch.shards, strict=True):
        shape = branching_evidence(model, several(priors)[0], shard)
        needed = np.full(shard.n_distinct_trees, -np.inf)
        if floor is not None:
            needed = np.full(shard.n_distinct_trees, np.inf)
            np.minimum.at(needed, shard.tree_id, floor[rows])
        contents = of_contents(model, priors, shard, needed - shape)
        log_prob[rows] = (shape + contents.log_prob)[shard.tree_id]
        error[rows] = contents.error[shard.tree_id]
    return Evidence(log_prob, error)


def branching_evidence(model: Any, priors: Any, shard: SharedForest) -> Floats:
    """Log probability of the shape of each distinct tree, the chances of branching integrated out: exact."""
    out = np.zeros(shard.n_distinct_trees)
    if model.structure != "branching":
        return out
    s = shard.structure
    a, b = branching_prior(model, priors)
    step = max(1, _CHUNK // model.n_slots)
    for lo in range(0, len(out), step):
        part = slice(lo, lo + step)
        hits = s.in_slot[part].toarray()
        misses = s.n_nodes[part, None] - s.with_slot[part].toarray()
        if model.pooled:  # any number of children: a chance after each, and one that fails
            misses[:, -1] = s.n_nodes[part]
        out[part] = (betaln(a + hits, b + misses) - betaln(a, b)).sum(axis=1)
    return out


def content_evidence(model: Any, priors: Priors | list[Priors], shard: SharedForest, floor: Floats) -> Evidence:
    """Log probability of the contents of each distinct tree given its shape, by sequential imputation."""
    units = shard.units
    sizes = (model.n_slots, model.n_states, READING[model.absent])
    n = model.n_states
    urns = model.emission.urns(shard.contents, several(priors)[0].emission)
    models = [
        impute.Model(*sizes, by_state(one.leaf, n + 1), urns, one.switch, by_state(one.transition, n))
        for one in several(priors)
    ]
    out = Evidence(np.zeros(shard.n_distinct_trees), np.zeros(shard.n_distinct_trees))
    for t, root in enumerate(shard.tree_root):
        order = impute.post_order(units.child_start, units.child, root)
        out.log_prob[t], out.error[t] = of_tree(impute.log_evidence, (units, order, models), floor[t])
    return out


def several(priors: Any) -> list[Any]:
    """Priors as a list."""
    return priors if isinstance(priors, list) else [priors]


def by_state(alpha: Any, n: int) -> Floats:
    """Dirichlet parameters of a row from one number, or from an array with one for each state."""
    values = np.ravel(alpha).astype(np.float64)
    return np.full(n, values[0]) if len(values) == 1 else np.append(values, np.zeros(n - len(values)))


def of_tree(
    log_evidence: Any, tree: tuple[tuple[NDArray[np.int32], ...], NDArray[np.int64], list[Any]], floor: float
) -> tuple[float, float]:
    """Log of the mean of some independent estimates and its standard error.

    While the error is large, and the value may yet exceed the floor, more particles try again.
    """
    units, order, models = tree
    rng = np.random.default_rng(_SEED)
    value, error = 0.0, np.inf
    for n_particles in N_PARTICLES:
        n = max(N_PARTICLES[0], min(n_particles, MOST_WORK // len(order)))
        every = (models[x % len(models)] for x in range(N_REPLICATES))
        logs = np.array([log_evidence(rng, units, order, model, n) for model in every])
        top = logs.max()
        value = top + np.log(np.exp(logs - top).mean())
        error = logs.std(ddof=1) / np.sqrt(N_REPLICATES)
        if error <= SMALL_ERROR or n < n_particles or value + SURELY * error < floor:
            break
    return float(value), float(error)
