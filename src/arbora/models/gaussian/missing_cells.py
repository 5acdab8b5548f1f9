"""Missing cells of Gaussian models after the chains have run: what they are likely to be, and what prediction needs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...inference.chains import Trace
from . import sampler as gs
from .kernels import blocks as bl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WARM_UP, N_KEPT = 20, 100  # draws of missing cells given the groups found


class Cells(NamedTuple):
    """Missing cells of the training rows, and their posterior."""

    place: Ints  # [cell, 2]: row and column
    mean: Floats  # [cell]
    deviation: Floats  # [cell]


def posterior_cells(trace: Trace, missing: NDArray[np.bool_]) -> Cells:
    """Mean and standard deviation of the draws of each missing cell, in the space of the model."""
    place = np.argwhere(missing)
    if not len(place):
        return Cells(place.astype(np.int64), np.zeros(0), np.zeros(0))
    draws = trace.stack("cells").reshape(-1, len(place))
    return Cells(place.astype(np.int64), draws.mean(axis=0), draws.std(axis=0))


def expected_blocks(sampler: gs.NestedGibbs, state: gs.NestedClusters) -> tuple[bl.Blocks, float]:
    """Count, mean and scatter of each sub-cluster, and the log joint, both expected over the missing cells.

    The groups are held and the cells drawn anew; the means of sums and of products over the draws make one block.
    """
    rng, n_subs = np.random.default_rng(0), len(state.cluster)
    kept, joint = [], []
    for t in range(WARM_UP + N_KEPT):
        state = sampler.refilled(rng, state)
        if t >= WARM_UP:
            kept.append(bl.summarise(sampler.whole(state.cells), state.subcluster, n_subs))
            joint.append(sampler.log_joint(state, kept[-1]))
    means = np.array([blocks.mean for blocks in kept])
    mean = means.mean(axis=0)
    gap = means - mean
    between = np.einsum("sta,stb->tab", gap, gap) / len(kept) * kept[0].number[:, None, None]
    scatter = np.mean([blocks.scatter for blocks in kept], axis=0) + np.tril(between)
    return bl.Blocks(kept[0].number, mean, scatter), float(np.mean(joint))


def by_pattern(x: Floats) -> list[tuple[Ints, Ints]]:
    """(rows, columns seen) for each set of columns that some rows have."""
    patterns, which = np.unique(~np.isnan(x), axis=0, return_inverse=True)
    return [(np.flatnonzero(which.ravel() == p), np.flatnonzero(seen)) for p, seen in enumerate(patterns)]
