"""How new trees are to a fitted mixture of hidden trees: ranks among the training trees of their group, left out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...forest.trees import Trees
from ..forest_estimator import unseen_by_tree
from ..patterns.fitted import p_values
from .fitting import m_step
from .passes import Batch, MixtureParams, log_joint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_FOLDS = 5
WORST = -1e300  # of a tree that its group cannot produce


class Novelty(NamedTuple):
    """How new a tree is."""

    p_value: Floats  # [tree]: share of the training trees of its group that fit the group no better
    unseen_share: Floats  # [tree]: share of its nodes with a label never seen in training


class Fit(NamedTuple):
    """How well trees fit the group they belong to."""

    label: Ints  # [tree]
    score: Floats  # [tree]: log-probability per node


def rank(new: Fit, known: Fit, unseen_share: Floats) -> Novelty:
    """Novelty of new trees by the fits of known ones."""
    return Novelty(p_values(new.score, new.label, known.score, known.label), unseen_share)


def fit_of_new(batch: Batch, params: MixtureParams, forest: Trees, n_nodes_seen: int) -> Fit:
    """Fit of trees that the parameters were not estimated from; a label never seen counts as one of the nodes seen."""
    log_prob = batch.log_likelihood(params.tree)
    label = log_joint(log_prob, params.weight).argmax(axis=1)
    own = log_prob[np.arange(len(label)), label] - unseen_times(forest) * np.log(max(n_nodes_seen, 2))
    return Fit(label, _per_node(own, forest))


def fit_left_out(batch: Batch, params: MixtureParams, forest: Trees, priors: Any) -> Fit:
    """Fit of the training trees, each by parameters that were estimated without it.

    The trees are dealt into five parts.  For each part, one M-step on the other four gives the parameters; hidden
    states are those of the whole fit.
    """
    label = log_joint(batch.log_likelihood(params.tree), params.weight).argmax(axis=1)
    n = len(label)
    part = np.random.default_rng(0).permutation(n) % N_FOLDS
    own = np.empty(n)
    for number in range(min(N_FOLDS, n)):
        out = part == number
        resp = np.zeros((n, len(params.weight)))
        resp[~out, label[~out]] = 1.0
        counts, _ = batch.expected_counts(params, resp)
        without = m_step(batch.model, counts, params, priors)
        own[out] = batch.log_likelihood(without.tree)[out, label[out]]
    return Fit(label, _per_node(own, forest))


def unseen_times(forest: Trees) -> Floats:
    """How many nodes of each tree have a label never seen."""
    return np.concatenate([np.zeros(0), *(unseen_by_tree(part) for part in forest.parts())])


def sizes_of(forest: Trees) -> Floats:
    """Nodes of each tree."""
    return np.concatenate([np.zeros(0), *(part.sizes for part in forest.parts())])


def _per_node(log_prob: Floats, forest: Trees) -> Floats:
    return np.maximum(log_prob / np.maximum(sizes_of(forest), 1.0), WORST)
