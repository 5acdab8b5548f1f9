"""The number of groups unknown: a Dirichlet-process mixture of label chains, sampled exactly (note, section 7).

Rows of a group are Dirichlet about the pooled shorter context, which is held fixed with its strengths; there is no
burstiness.  All parameters integrate out, so that the chain moves trees between groups and nothing else.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ...inference.chains import Trace
from ..sampled import Seating, central_draw, spread_out
from . import backoff, em, start
from .backoff import Counts
from .em import Chains
from .events import Events, Ints
from .fitting import CountedTrees
from .kernels import gibbs

Floats = NDArray[np.float64]

MAX_COMPARED = 100  # draws among which the central one is looked for
SPARE_PLACES = 8  # free places for groups, kept ready
N_STRENGTH_STEPS = 30  # of the fixed point, for strengths that stay as they are


class ChainPlan(NamedTuple):
    """What a chain is asked for."""

    concentration: float
    concentration_prior: tuple[float, float] | None
    n_start: int
    n_split_merge: int


def pooled_model(trees: CountedTrees, label: Ints) -> Chains:
    """Fixed shorter contexts and strengths: pooled counts of all trees, rows' strength from a first partition."""
    data = trees.data
    n_groups = int(label.max()) + 1
    resp = em.labels_as_resp(label, data.weight, n_groups)
    plain = np.repeat(data.urns.times[:, None].astype(np.float64), n_groups, axis=1)
    count = em.cell_counts(data, plain, resp)
    pooled = backoff.pairs_of(data.levels, count.sum(axis=1, keepdims=True))
    together = Counts(count.sum(axis=1, keepdims=True), pooled)
    tables = backoff.tables_of(data.levels, together, data.alphabet)
    strength = backoff.learn_strengths(data.levels, tables, em.no_strengths(), N_STRENGTH_STEPS)
    base = backoff.bases_of(tables, data.places, strength).own
    rows = backoff.tables_of(data.levels, Counts(count, pooled), data.alphabet).row[:-1]
    kind = data.levels.context_kind[data.levels.row_context]
    cells = (count, np.repeat(base, n_groups, axis=1), data.places.kind)
    strength[0] = backoff.fixed_point(cells, (rows, kind), np.ones_like(strength[0]), N_STRENGTH_STEPS)
    return Chains(em.weights_of(resp), Counts(count, pooled), strength, 0.0)


def with_groups(trees: CountedTrees, model: Chains, label: Ints, n_groups: int) -> Chains:
    """The model with the counts of another partition of all trees; what rows lean on stays."""
    data = trees.data
    resp = np.zeros((len(data.weight), n_groups))
    np.add.at(resp, (trees.tree_row, label), 1.0)
    plain = np.repeat(data.urns.times[:, None].astype(np.float64), n_groups, axis=1)
    size = resp.sum(axis=0)
    return model._replace(
        weight=size / size.sum(), counts=model.counts._replace(cell=em.cell_counts(data, plain, resp))
    )


class CellPrior(NamedTuple):
    """Dirichlet parameters of cells, and their sums by row."""

    cell: Floats
    row: Floats


def prior_of(trees: CountedTrees, model: Chains) -> CellPrior:
    """Dirichlet parameters s0 q(o | a) of the cells and s0 of the rows."""
    data = trees.data
    counts = Counts(model.counts.cell, model.counts.pair)
    tables = backoff.tables_of(data.levels, counts, data.alphabet)
    base = backoff.bases_of(tables, data.places, model.strength).own[:, 0]
    s0 = model.strength[0]
    row_kind = data.levels.context_kind[data.levels.row_context]
    return CellPrior(s0[data.places.kind] * base, np.ascontiguousarray(s0[row_kind]))


def bags_of(events: Events, cell_row: Ints, tree_row: Ints) -> gibbs.Bags:
    """The bag of every tree."""
    events = start.chosen(events, tree_row)
    tree = np.repeat(np.arange(events.n_trees), np.diff(events.start))
    row = cell_row[events.cell]
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (tree[1:] != tree[:-1])
    first = np.flatnonzero(new)
    times = np.add.reduceat(events.times, first) if len(first) else np.empty(0, np.int64)
    row_start = np.searchsorted(tree[first], np.arange(events.n_trees + 1)).astype(np.int64)
    return gibbs.Bags(events.start, events.cell, events.times, row_start, row[first], times)


def rises_of(bags: gibbs.Bags, prior: CellPrior) -> gibbs.Rises:
    """Every term that the log marginal of a group can have."""
    n_cell = np.bincount(bags.cell, bags.times, len(prior.cell)).astype(np.int64)
    n_row = np.bincount(bags.row, bags.row_times, len(prior.row)).astype(np.int64)
    return gibbs.Rises(*gibbs.log_rises(prior.cell, n_cell), *gibbs.log_rises(prior.row, n_row))


class Centre(NamedTuple):
    """One draw of the chains, and the log joint of its chain by sweep."""

    label: Ints
    concentration: float
    history: list[float]


def central(trace: Trace) -> Centre:
    """The draw closest to the others by variation of information."""
    labels = trace.stack("label")
    flat = labels.reshape(-1, labels.shape[-1])
    some = spread_out(len(flat), MAX_COMPARED)
    chosen = int(some[central_draw(flat[some][:, None], "vi")])
    chain, draw = divmod(chosen, labels.shape[1])
    history = trace.info["log_joint"][chain, : int(trace.n_sweeps[chain])].tolist()
    return Centre(flat[chosen], float(trace.draws[chain]["concentration"][draw]), history)


class ChainSampler:
    """Collapsed Gibbs with splits and merges, for `run_chains`: draws of the posterior of the partition."""

    def __init__(self, bags: gibbs.Bags, prior: CellPrior, first: Ints, settings: ChainPlan):
        self.bags, self.prior, self.first, self.settings = bags, prior, first, settings
        self.rises = rises_of(bags, prior)

    @property
    def n_trees(self) -> int:
        return len(self.bags.start) - 1

    def init(self, rng: np.random.Generator) -> Seating:
        """The first partition with some groups, by a random map, made one: chains start apart."""
        n_groups = int(self.first.max()) + 1
        into = rng.integers(0, max(1, int(rng.integers(1, n_groups + 1))), n_groups)
        return Seating(_numbered(into[self.first]), self.settings.concentration)

    def step(self, rng: np.random.Generator, state: Seating) -> tuple[Seating, Mapping[str, float]]:
        """One sweep over all trees in random order, then some splits or merges, then the concentration."""
        label, order = state.label.copy(), rng.permutation(self.n_trees)
        done = 0
        while done < self.n_trees:
            label = _numbered(label)
            groups = self.groups(label)
            done += gibbs.sweep(rng, self.bags, self.rises, order[done:], state.concentration, (label, groups))
        log_a = float(np.log(state.concentration))
        for _ in range(self.settings.n_split_merge if self.n_trees > 1 else 0):
            if (groups.size == 0).sum() < 1:
                label = _numbered(label)
                groups = self.groups(label)
            gibbs.split_merge(rng, self.bags, self.rises, log_a, label, groups)
        label = _numbered(label)
        n_groups = int(label.max()) + 1
        concentration = self._draw_concentration(rng, n_groups, state.concentration)
        new = Seating(label, concentration)
        return new, {"log_joint": self.log_joint(new), "n_components": n_groups, "concentration": concentration}

    def _draw_concentration(self, rng: np.random.Generator, n_groups: int, now: float) -> float:
        """Escobar and West (1995): the concentration given the number of groups."""
        if self.settings.concentration_prior is None:
            return now
        shape, rate = self.settings.concentration_prior
        eta = rng.beta(now + 1.0, self.n_trees)
        rate = rate - np.log(max(eta, 1e-300))
        odds = (shape + n_groups - 1.0) / (self.n_trees * rate)
        more = rng.random() < odds / (1.0 + odds)
        return float(max(rng.gamma(shape + n_groups - (0.0 if more else 1.0)) / rate, 1e-9))

    def groups(self, label: Ints) -> gibbs.Groups:
        """The sums of a partition, with places for new groups."""
        n_places = int(label.max()) + 1 + SPARE_PLACES
        n_cells, n_rows = len(self.prior.cell), len(self.prior.row)
        groups = gibbs.Groups(
            np.zeros((n_cells, n_places), np.int64),
            np.zeros((n_rows, n_places), np.int64),
            np.zeros(n_places, np.int64),
        )
        gibbs.fill(self.bags, label, groups)
        return groups

    def log_joint(self, state: Seating) -> float:
        """log P(partition, trees), concentration given."""
        groups = self.groups(state.label)
        n_groups = int(state.label.max()) + 1
        a = state.concentration
        value = n_groups * np.log(a) + gammaln(a) - gammaln(a + self.n_trees)
        return float(value + gammaln(groups.size[:n_groups]).sum() + gibbs.log_marginals(self.rises, groups).sum())

    def draw(self, state: Seating) -> Mapping[str, NDArray[Any]]:
        """What is kept of a state."""
        return {"label": state.label.astype(np.int64), "concentration": np.array(state.concentration)}

    def pack(self, state: Seating) -> Mapping[str, NDArray[Any]]:
        """All of a state."""
        return self.draw(state)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Seating:
        """The state that was packed."""
        return Seating(np.array(arrays["label"], np.int64), float(arrays["concentration"]))


def _numbered(label: Ints) -> Ints:
    """Groups numbered 0, 1, ... without gaps, their order kept."""
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def sampler_of(trees: CountedTrees, rng: np.random.Generator, settings: ChainPlan) -> tuple[ChainSampler, Chains]:
    """A sampler of these trees, and the model whose shorter contexts and strengths it holds fixed."""
    data = trees.data
    label = start.clusters(trees.events, trees.n_trees, data.weight, settings.n_start, rng)
    label = np.where(label < 0, rng.integers(0, max(1, int(label.max()) + 1), len(label)), label)
    label = _numbered(label)
    model = pooled_model(trees, label)
    bags = bags_of(trees.events, data.levels.cell_row, trees.tree_row)
    return ChainSampler(bags, prior_of(trees, model), label[trees.tree_row], settings), model
