"""A tree model in one file: trees as bags of labels, without messages; the smallest that the seam allows.

It gets a finite and an infinite mixture, files, stores, clusters and reports from the machinery of hidden trees; what a
new model adds besides is one row of `arbora.models.registry`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from arbora.models.hidden_tree import distributions as dist
from arbora.models.hidden_tree.dp_mixture import InfiniteMixture
from arbora.models.hidden_tree.finite import FiniteMixture
from arbora.models.hidden_tree.kernels.bags import Bags, CellTable, Layout
from arbora.models.hidden_tree.tree_model import Evidence, Table
from arbora.models.settings import check_number


class BagArrays(NamedTuple):
    word: Any  # [(label), k]


class BagPriors(NamedTuple):
    word: float = 1.0


@dataclass(frozen=True)
class BagOfLabels:
    """Labels of all nodes from one distribution per component."""

    n_labels: int

    priors_type: ClassVar[Any] = BagPriors
    n_slots: ClassVar[int] = 1  # slots do not matter: all are pooled, and more is shared
    needs_structure: ClassVar[bool] = False

    @property
    def tables(self):
        return BagArrays(Table("label_prob_", (self.n_labels,), 0))

    @property
    def count_tables(self):
        return BagArrays(Table("counts_", (self.n_labels,), most=1e300))

    def unit_bytes(self, n_components):
        return 8 * n_components

    def header(self):
        return [self.n_labels]

    @classmethod
    def from_header(cls, values):
        (n_labels,) = values
        if type(n_labels) is not int or n_labels < 1:
            raise ValueError(f"{values!r} is no number of labels")
        return cls(n_labels)

    def grown(self, trees):
        return BagOfLabels(trees.n_labels)

    def check(self, params):
        pass

    def start(self, rng, n_components, forest, weight):
        return self.draw(rng, n_components)

    def draw(self, rng, n_components, priors=None, counts=None):
        shape = np.full((self.n_labels, n_components), (priors or BagPriors()).word)
        return BagArrays(dist.draw_dirichlet(rng, shape if counts is None else shape + counts.word, 0))

    def uniform(self):
        return BagArrays(dist.uniform((self.n_labels,), 0))

    def m_step(self, counts, params, priors):
        return BagArrays(dist.mode(counts.word, 0, priors.word))

    def log_prior(self, params, priors):
        return np.zeros(params.word.shape[1]) + dist.log_prior(params.word, priors.word)

    def log_prior_density(self, params, priors):
        return self.log_prior(params, priors) + dist.log_prior_constant((self.n_labels,), 0, priors.word)

    def n_free_parameters(self):
        return self.n_labels - 1

    def prepare(self, params):
        with np.errstate(divide="ignore"):
            return np.log(params.word)

    def upward(self, flow, params, shard, workspace):
        counts = shard.label_counts
        return None, counts @ flow[: counts.shape[1]]

    def empty_sums(self, n_components):
        return BagArrays(np.zeros((self.n_labels, n_components)))

    def downward(self, flow, shard, messages, weight, sums_out, posterior=None):
        counts = shard.label_counts
        sums_out.word[: counts.shape[1]] += counts.T @ weight

    def shape_log_prob(self, params, shard):
        return None

    def shape_counts(self, params, shard, weight):
        return {}

    def counts(self, flow, sums, shape, n_components):
        return sums

    def completed(self, batch):
        return SeenCounts(self.n_labels, _by_tree(self, batch))

    def evidence(self, batch, priors, floor=None):
        counts, alpha, n = _by_tree(self, batch), priors.word, self.n_labels
        seen = sparse.csr_array((gammaln(alpha + counts.data) - gammaln(alpha), counts.indices, counts.indptr))
        log_prob = seen.sum(axis=1) + gammaln(n * alpha) - gammaln(n * alpha + counts.sum(axis=1))
        return Evidence(np.asarray(log_prob), np.zeros(batch.n_trees))


def _by_tree(model, batch):
    """Sparse [tree, label] of all trees of a batch."""
    parts = []
    for shard in batch.shards:
        counts = shard.label_counts[shard.tree_id]
        counts.resize((shard.n_trees, model.n_labels))
        parts.append(counts)
    return sparse.vstack(parts, format="csr")


class SeenCounts:
    """Nothing is hidden, so the bags are the trees'."""

    def __init__(self, n_labels, counts):
        self.n_labels, self.by_tree = n_labels, counts
        self.layout = Layout(0, 0, *[n_labels] * 4, leaf_width=1, n_pairs=1, n_states=1)

    def draw(self, rng, label, params):
        start = self.by_tree.indptr.astype(np.int64)
        cell, times = self.by_tree.indices.astype(np.int32), self.by_tree.data.astype(np.int32)
        return Bags(start[:-1].copy(), start[1:].copy(), cell, times)

    def table(self, priors):
        prior = np.full(self.n_labels, priors.word)
        return CellTable(np.zeros(self.n_labels, np.int64), prior, np.array([prior.sum()]))

    def kinds(self):
        return [slice(0, self.n_labels)]

    def counts(self, cells):
        return BagArrays(cells.T)


class BagMixture(FiniteMixture):
    """A finite mixture of bags of labels."""

    _saved: ClassVar[tuple[str, ...]] = (*FiniteMixture._saved, "label_prob_")
    _model_type: ClassVar[Any] = BagOfLabels

    def __init__(
        self,
        n_components: int = 2,
        *,
        prior: float = 1.1,
        max_iter: int = 50,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _check_params(self):
        self._check_fitting()
        check_number("prior", self.prior, 1.0, 1e9)
        return BagPriors(float(self.prior))

    def _new_model(self, forest):
        return BagOfLabels(forest.n_labels)


class InfiniteBagMixture(InfiniteMixture):
    """A Dirichlet-process mixture of bags of labels."""

    _saved: ClassVar[tuple[str, ...]] = (*InfiniteMixture._saved, "label_prob_")
    _model_type: ClassVar[Any] = BagOfLabels

    def __init__(
        self,
        *,
        concentration: float = 1.0,
        prior: float = 1.0,
        update: Literal["em", "gibbs"] = "gibbs",
        n_iter: int = 20,
        n_start: int = 3,
        n_chains: int = 2,
        random_state: Any = None,
    ):
        self.concentration = concentration
        self.prior = prior
        self.update = update
        self.n_iter = n_iter
        self.n_start = n_start
        self.n_chains = n_chains
        self.random_state = random_state

    def _check_priors(self):
        check_number("prior", self.prior, 1e-3 if self.update == "gibbs" else 1.0, 1e9)
        return BagPriors(float(self.prior))

    def _new_model(self, forest):
        return BagOfLabels(forest.n_labels)

    def _finite(self):
        return BagMixture(self.n_components_)
