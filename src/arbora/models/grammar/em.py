"""Steps of expectation and maximisation for a mixture of label chains (note.md, section 4)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import backoff
from .backoff import Counts, Levels, Places
from .burstiness import Urns, best_tau, log_likelihood
from .events import N_KINDS, Alphabet, Ints
from .kernels import chains

Floats = NDArray[np.float64]

WEIGHT_PRIOR = 1.0  # count added to every component
FIRST_TAU = 0.3


class Data(NamedTuple):
    """Distinct trees with their weights."""

    alphabet: Alphabet
    levels: Levels
    places: Places
    urns: Urns
    weight: Floats  # [distinct tree]


class Chains(NamedTuple):
    """Parameters of a mixture of label chains."""

    weight: Floats  # [component]
    counts: Counts  # of the cells, and those that the shorter contexts were learnt from
    strength: Floats  # [level, kind]
    tau: float


class Prior(NamedTuple):
    """What rows lean on, held fixed."""

    base: Floats  # [cell, component], q_k(o | a)
    strength: Floats  # [cell, 1], s0
    row_strength: Floats  # [row, 1]
    uncovered: Floats  # [row, component], share of the base that no cell of the row has


def weights_of(resp: Floats) -> Floats:
    """w_k = (sum of r_k + 1) / (n + K)."""
    total = resp.sum(axis=0) + WEIGHT_PRIOR
    return np.asarray(total / total.sum())


def no_strengths() -> Floats:
    """Strengths to start from."""
    return np.ones((3, N_KINDS))


def responsibilities(joint: Floats, weight: Floats) -> tuple[Floats, float]:
    """Posterior of the component of each distinct tree times its weight, and the weighted log-likelihood."""
    top = joint.max(axis=1)
    resp = np.exp(joint - top[:, None])
    total = resp.sum(axis=1)
    resp *= (weight / total)[:, None]
    return resp, float(weight @ (top + np.log(total)))


def cell_counts(data: Data, effective: Floats, resp: Floats) -> Floats:
    """N_k(c) = sum over trees of r_tk e_tk(c)."""
    urns = data.urns
    has = chains.sum_columns(urns.start, urns.pair, resp, len(urns.cell))
    return chains.add_by(urns.cell, has * effective, len(data.levels.cell_key))


# ---- rounds that learn the prior ------------------------------------------------------------------------------------


def first_model(data: Data, resp: Floats, tau: float) -> Chains:
    """A model of given responsibilities: plain counts, strengths of one."""
    plain = np.repeat(data.urns.times[:, None].astype(np.float64), resp.shape[1], axis=1)
    count = cell_counts(data, plain, resp)
    return Chains(weights_of(resp), Counts(count, backoff.pairs_of(data.levels, count)), no_strengths(), tau)


def prob_of(data: Data, model: Chains) -> Floats:
    """p_k of every cell of the data, which are the cells of the model."""
    tables = backoff.tables_of(data.levels, model.counts, data.alphabet)
    return backoff.probabilities(tables, data.places, model.strength)


def free_step(data: Data, model: Chains, resp: Floats | None, learn_tau: bool) -> tuple[Chains, Floats]:
    """One round in which shorter contexts and strengths are learnt too, and the responsibilities it used.

    Lower levels take sums of counts and strengths follow them, so no objective need rise.
    """
    prob = prob_of(data, model)
    joint, effective = log_likelihood(data.urns, prob, model.tau)
    if resp is None:
        resp, _ = responsibilities(joint + np.log(model.weight), data.weight)
    count = cell_counts(data, effective, resp)
    counts = Counts(count, backoff.pairs_of(data.levels, count))
    tables = backoff.tables_of(data.levels, counts, data.alphabet)
    strength = backoff.learn_strengths(data.levels, tables, model.strength)
    new = Chains(weights_of(resp), counts, strength, model.tau)
    if learn_tau:
        new = new._replace(tau=best_tau(data.urns, prob_of(data, new), resp, model.tau))
    return new, resp


# ---- rounds at a fixed prior ----------------------------------------------------------------------------------------


def prior_of(data: Data, model: Chains) -> Prior:
    """The prior that the shorter contexts of a model are."""
    tables = backoff.tables_of(data.levels, model.counts, data.alphabet)
    base = backoff.bases_of(tables, data.places, model.strength).own
    covered = chains.add_by(data.places.row, base, len(data.levels.row_key))
    row_kind = data.levels.context_kind[data.levels.row_context]
    s0 = model.strength[0]
    uncovered = np.maximum(1.0 - covered, 0.0)
    return Prior(base, s0[data.places.kind][:, None], s0[row_kind][:, None], uncovered)


def rows_of(data: Data, prior: Prior, count: Floats) -> tuple[Floats, Floats]:
    """p_k of every cell, and what of a row is left to the base: s0 / (N + s0)."""
    total = chains.add_by(data.places.row, count, len(data.levels.row_key)) + prior.row_strength
    prob = (count + prior.strength * prior.base) / total[data.places.row]
    return prob, prior.row_strength / total


def penalty(prior: Prior, prob: Floats, left: Floats) -> float:
    """Sum over rows of s0 KL(base || row), in nats; outcomes that no tree has are in it."""
    seen = (prior.strength * prior.base * np.log(prior.base / prob)).sum()
    return float(seen - (prior.row_strength * prior.uncovered * np.log(left)).sum())


class ScoredModel(NamedTuple):
    """A model on its way, with what the next step needs."""

    model: Chains
    prob: Floats
    resp: Floats
    effective: Floats
    objective: float  # nats per tree


def evaluate(data: Data, prior: Prior, model: Chains) -> ScoredModel:
    """Objective and responsibilities of a model: log-likelihood + sum of log w - penalty, nats per tree."""
    prob, left = rows_of(data, prior, model.counts.cell)
    joint, effective = log_likelihood(data.urns, prob, model.tau)
    resp, value = responsibilities(joint + np.log(model.weight), data.weight)
    value += WEIGHT_PRIOR * float(np.log(model.weight).sum()) - penalty(prior, prob, left)
    return ScoredModel(model, prob, resp, effective, value / float(data.weight.sum()))


def fixed_step(data: Data, prior: Prior, state: ScoredModel, learn_tau: bool) -> ScoredModel:
    """One round of EM at a fixed prior; the objective cannot fall."""
    model = state.model
    count = cell_counts(data, state.effective, state.resp)
    tau = model.tau
    if learn_tau:
        tau = best_tau(data.urns, rows_of(data, prior, count)[0], state.resp, tau)
    new = Chains(weights_of(state.resp), model.counts._replace(cell=count), model.strength, tau)
    return evaluate(data, prior, new)


def labels_as_resp(label: Ints, weight: Floats, n_components: int) -> Floats:
    """Responsibilities of a partition; trees with a label of -1 have none."""
    resp = np.zeros((len(label), n_components))
    inside = label >= 0
    resp[np.flatnonzero(inside), label[inside]] = weight[inside]
    return resp
