"""Leave-one-out likelihood: each tree scored by a mixture without its own share of the counts (note, section 6)."""

import numpy as np
from numpy.typing import NDArray

from . import backoff, em
from .burstiness import log_likelihood, log_rows
from .em import Chains, Data
from .kernels import leave_one_out as kernels

Floats = NDArray[np.float64]


def leave_one_out(data: Data, model: Chains, n_trees: Floats) -> Floats:
    """log P(tree) of each distinct tree when one such tree is taken out of cells, rows and weights of components."""
    tables = backoff.tables_of(data.levels, model.counts, data.alphabet)
    base = backoff.bases_of(tables, data.places, model.strength).own
    strength = np.ascontiguousarray(model.strength[0][data.places.kind])
    prob = backoff.leaned(tables, data.places, base, model.strength)
    joint, effective = log_likelihood(data.urns, prob, model.tau)
    resp, _ = em.responsibilities(joint + np.log(model.weight), np.ones(len(data.weight)))
    each = data.weight / np.maximum(n_trees, 1.0)  # weight of one such tree
    own = resp * each[:, None]
    total = data.weight.sum()
    n_components = resp.shape[1]
    size = model.weight * (total + em.WEIGHT_PRIOR * n_components) - own
    weight = np.maximum(size, 1e-300) / size.sum(axis=1, keepdims=True)
    table = kernels.Table(
        data.places.row,
        np.array(tables.cell[:-1], order="C"),  # copies: one layout, so that the kernel compiles once
        np.array(tables.row[:-1], order="C"),
        np.array(np.broadcast_to(base, prob.shape), order="C"),
        strength,
    )
    found = kernels.left_out(data.urns[:4], table, effective, own, model.tau)
    joint = found - log_rows(data.urns, model.tau)[:, None] + np.log(weight)
    top = joint.max(axis=1)
    return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))
