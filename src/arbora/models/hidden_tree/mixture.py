"""HiddenTreeMixture: a finite mixture of hidden trees fitted by EM (papers 000 section 4 and 001)."""

import logging
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, ForestError, NotConvergedWarning, SettingError, UnexplainedTreesWarning
from ...files.container import digest
from ...forest.forest import Forest
from ...forest.sharing import SharedForest, share
from ...forest.store import ForestStore
from ...inference.em import EMResult
from ...seeds import draw_rows, resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator, fingerprint
from ..merging import MergedByLoss, check_losses, expected_losses
from ..settings import MOST_STARTS, check_count, check_number, check_weight, n_threads
from . import encoding as enc
from . import fitting, sampling
from . import node_posteriors as nodes
from . import tree_model as tm
from .fit_checkpoint import FitCheckpoint, Progress, state_digest
from .passes import Batch, MixtureCounts, MixtureParams, log_joint, log_sum
from .starts import STARTS

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

# Working memory of a shard. Larger shards share more subtrees, smaller ones stay in cache and feed more threads.
SHARD_BYTES = 64 * 2**20
PROBABILITIES = ("leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_")
MAX_TABLE_BYTES, MAX_SLOT_BYTES = 4 * 2**30, 2**30  # of all tables while a model is fitted, and of those by slot
MAX_PROBABILITIES = 5 * 10**8  # of trees in components: 4 GB
TABLE_COPIES = 7  # parameters, their logarithms and products, counts of two steps: as measured


class HiddenTreeMixture(MergedByLoss, ClusterMixin, TransformerMixin, ForestEstimator):
    """Cluster labelled trees by a mixture of switching-parent hidden tree models.

    Parameters
    ----------
    n_components : number of mixture components, the largest number of clusters.
    n_states : hidden states of each component.
    absent : what an absent child means: ``"bottom"`` (a state of its own; the label model is proper), ``"slot"``
        (as the papers' code: it also multiplies the probability), ``"literal"`` (Eq. 1 as printed) or
        ``"renormalised"`` (the switch chooses among present children).
    structure : ``"branching"`` adds the probability of the tree's shape, None takes shapes as given.
    prior : Dirichlet parameter of every distribution, one or more; one is maximum likelihood.  leaf_prior,
        emission_prior, switch_prior, transition_prior and branching_prior replace it one by one.
    init : ``"patterns"`` starts from clusters of the patterns that `TreePatterns` finds, ``"kmeans"`` from clusters of
        (slot, label) counts, ``"random"`` from Dirichlet draws.
    n_init : starts; the one with the best objective is kept.
    max_iter, tol : EM ends when an iteration gains less than tol nats a tree, or after max_iter.
    tol_per_node : from clusters of patterns, EM also ends when an iteration gains less than this many nats per node.
        Later iterations raise the likelihood and make the clusters worse (docs/choose-a-model.md); 0 goes on to `tol`.
    n_slots : slots told apart; later ones are pooled into the last.  None: as many as the training trees have.
    warm_start : fit goes on from the parameters of the last fit.
    learning_decay : the step of `partial_fit` is the batch's share of all trees seen, to this power.
    encoding : what `transform` returns: ``"sum"`` (paper 001), ``"weighted"``, ``"log"``, ``"posterior"`` or
        ``"score"``; docs/classification.md says when to use which.  Fitting does not depend on it.
    sparse_output : whether `transform` returns a sparse matrix.
    shared : compute identical subtrees once (exact; False only to compare).
    shard_bytes : working memory of a shard of trees.
    checkpoint : a file in which `fit` is saved as it runs, and from which a broken one goes on.
    n_jobs : threads over shards; -1 for all cores.  The result does not depend on it.
    random_state : a seed, or a generator, for starts.
    verbose : 1 shows a progress bar; every iteration is logged at level INFO in any case.
    """

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "n_slots_",
        "spec_",
        "weight_",
        *PROBABILITIES,
        "labels_",
        "merge_loss_",
        "history_",
        "n_iter_",
        "converged_",
        "n_unexplained_",
        "counts_",
        "seen_weight_",
        "n_batches_",
        "provenance_",
    )

    _streams: ClassVar[bool] = True

    spec_: tm.Spec
    history_: list[float]
    counts_: dict[str, Floats]
    seen_weight_: float
    n_batches_: int

    def __init__(
        self,
        n_components: int = 8,
        n_states: int = 4,
        *,
        absent: tm.Absent = "bottom",
        structure: tm.Structure = "branching",
        prior: float = 1.01,
        leaf_prior: float | None = None,
        emission_prior: float | None = None,
        switch_prior: float | None = None,
        transition_prior: float | None = None,
        branching_prior: float | None = None,
        init: str = "patterns",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-3,
        tol_per_node: float = 0.01,
        n_slots: int | None = None,
        warm_start: bool = False,
        learning_decay: float = 0.7,
        encoding: str = "sum",
        sparse_output: bool = False,
        shared: bool = True,
        shard_bytes: int = SHARD_BYTES,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.n_states = n_states
        self.absent = absent
        self.structure = structure
        self.prior = prior
        self.leaf_prior = leaf_prior
        self.emission_prior = emission_prior
        self.switch_prior = switch_prior
        self.transition_prior = transition_prior
        self.branching_prior = branching_prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.tol_per_node = tol_per_node
        self.n_slots = n_slots
        self.warm_start = warm_start
        self.learning_decay = learning_decay
        self.encoding = encoding
        self.sparse_output = sparse_output
        self.shared = shared
        self.shard_bytes = shard_bytes
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit by EM; y is ignored."""
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_forest(X)
        weight = check_weight(sample_weight, forest.n_trees)
        warm = self.warm_start and hasattr(self, "weight_")
        if warm:
            self._check_unchanged("warm_start")
            if self.checkpoint is not None:
                raise SettingError("checkpoint: a warm start goes on from the model itself; set it to None")
            forest = self._in_training_terms(forest)
        spec = self.spec_ if warm else self._new_spec(forest)
        with self._batch(forest, spec, weight) as batch:
            best = self._best_start(rng, batch, forest, priors, warm)
            self._keep(best, batch, forest)
            self.n_batches_ = 1
            self._warn(best, batch)
        return self

    def _best_start(
        self, rng: np.random.Generator, batch: Batch, forest: Forest, priors: tm.Priors, warm: bool
    ) -> EMResult[MixtureParams]:
        """The best of some runs of EM, or of those that a checkpoint still leaves to do."""
        least_gain = self._least_gain(batch, forest)
        saved = FitCheckpoint(self.checkpoint, self._fit_settings(forest, batch.sample_weight))
        n_done, best, now = saved.read(rng, tm.param_shapes(batch.spec, self.n_components))
        for number in range(n_done, 1 if warm else self.n_init):
            if now is None:
                first = (
                    self._fitted_params() if warm else self._start(rng, forest, batch.sample_weight, batch.spec, priors)
                )
                now = EMResult(first, [], converged=False, interrupted=False)

            def keep(state: EMResult[MixtureParams], number: int = number, best: Any = best) -> None:
                saved.write(Progress(number, best, state), rng, at_once=False)

            result = fitting.run(batch, now, priors, self.max_iter, least_gain, bool(self.verbose), keep)
            if result.interrupted:
                saved.write(Progress(number, best, result), rng)
            if best is None or result.history[-1] > best.history[-1]:
                best = result
            if result.interrupted:
                break
            now = None
            saved.write(Progress(number + 1, best), rng)
        if best is None:
            raise ArboraError("the fit has no start; please report this")
        return best

    def _least_gain(self, batch: Batch, forest: Forest) -> float:
        """Nats that an iteration must gain for EM to go on; none with tol=0."""
        least = self.tol * batch.total_weight
        if not self.tol or self.init != "patterns" or self.n_components == 1:
            return least
        n_nodes = fitting.slot_hits(forest, batch.sample_weight, batch.spec.n_slots)[1]
        return max(least, self.tol_per_node * n_nodes)

    def _fit_settings(self, forest: Forest, weight: Floats | None) -> dict[str, Any]:
        """What a checkpoint belongs to: the trees, their weights, and every setting that shapes the fit."""
        if self.checkpoint is None:
            return {}
        free = ("n_jobs", "verbose", "checkpoint", "encoding", "sparse_output", "warm_start", "learning_decay")
        mine = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
        weights = None if weight is None else digest(weight)
        if isinstance(self.random_state, np.random.Generator | np.random.RandomState):
            mine["random_state"] = state_digest(self.random_state)
        return {"model": type(self).__name__, **mine, "trees": fingerprint(forest), "sample_weight": weights}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Stepwise EM: move the expected counts towards those of this batch, then re-estimate.

        It goes on from a fit, or from earlier batches.  The first batch fixes the vocabulary and the slots; labels and
        slots first met later are treated as at prediction: summed out, and pooled into the last slot.
        """
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_forest(X)
        weight = check_weight(sample_weight, forest.n_trees)
        first = not hasattr(self, "weight_")
        if not first:
            self._check_unchanged("partial_fit")
            forest = self._in_training_terms(forest)
        spec = self._new_spec(forest) if first else self.spec_
        with self._batch(forest, spec, weight) as batch:
            params = self._start(rng, forest, weight, spec, priors) if first else self._fitted_params()
            counts, _ = batch.expected_counts(params)
            if not first:
                old = MixtureCounts(self.counts_["weight"], tm.Counts(*(self.counts_[k] for k in tm.Counts._fields)))
                counts = fitting.blend(old, self.seen_weight_, counts, batch.total_weight, self.learning_decay)
            params = fitting.m_step(spec, counts, params, priors)
            history = [] if first else self.history_
            history = [*history, fitting.objective_of(batch, params, priors)]
            n_batches = 0 if first else self.n_batches_
            seen = 0.0 if first else self.seen_weight_
            result = EMResult(params, history, converged=False, interrupted=True)
            self._keep(result, batch, forest, counts, reorder=first)
            self.n_batches_, self.seen_weight_ = n_batches + 1, seen + batch.total_weight
            self._warn(result, batch)
        return self

    def _start(
        self, rng: np.random.Generator, forest: Forest, weight: Floats | None, spec: tm.Spec, priors: tm.Priors
    ) -> MixtureParams:
        """Where EM starts, by `init`."""
        drawn = fitting.random_start(rng, forest, weight, spec, self.n_components)
        if self.init == "random" or self.n_components == 1:
            return drawn
        return fitting.clustered_start(rng, forest, weight, drawn, spec, priors, self.init == "patterns")

    def _new_spec(self, forest: Forest) -> tm.Spec:
        """Sizes of a model of these trees; refuses tables beyond all measure."""
        n_slots = max(1, forest.n_slots if self.n_slots is None else self.n_slots)
        pooled = forest.n_slots > n_slots
        spec = tm.Spec(n_slots, forest.n_labels, self.n_states, self.absent, self.structure, pooled)
        if forest.n_trees < self.n_components > MAX_PROBABILITIES // max(forest.n_trees, 1):
            raise SettingError(
                f"n_components={self.n_components}: the probabilities of {forest.n_trees} trees in each are more than "
                f"{MAX_PROBABILITIES:.0e} numbers; use fewer components"
            )
        self._check_room(spec)
        return spec

    def _check_room(self, spec: tm.Spec) -> None:
        """Refuse tables that would fill the memory, before any is made; of slots less is allowed, for they pool."""
        n_lanes = self.n_components if self.n_components == 1 else -(-self.n_components // 4) * 4  # as kernels pad them
        shapes = tm.param_shapes(spec, n_lanes)
        of_labels = 8 * TABLE_COPIES * math.prod(shapes.emission)
        of_slots = 8 * TABLE_COPIES * sum(math.prod(shape) for shape in shapes) - of_labels
        for what, n_bytes, most in (
            (f"{spec.n_slots} slots", of_slots, MAX_SLOT_BYTES),
            (f"{spec.n_slots} slots and {spec.n_labels} labels", of_slots + of_labels, MAX_TABLE_BYTES),
        ):
            if n_bytes > most:
                raise ForestError(
                    f"{what} make tables of {n_bytes / 2**30:.1f} GiB in a fit, more than {most / 2**30:g}; set "
                    "n_slots (say 64) to pool the last slots, or use fewer states or components"
                )

    def _check_unchanged(self, what: str) -> None:
        """Raise if a parameter that shapes the model was changed since it was fitted."""
        now = {
            "n_components": (self.n_components, len(self.weight_)),
            "n_states": (self.n_states, self.spec_.n_states),
            "absent": (self.absent, self.spec_.absent),
            "structure": (self.structure, self.spec_.structure),
        }
        for name, (wanted, fitted) in now.items():
            if wanted != fitted:
                raise SettingError(f"{what}: {name}={wanted!r}, but it was fitted with {fitted!r}; fit a new model")

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def _keep(
        self,
        result: EMResult[MixtureParams],
        batch: Batch,
        forest: Forest,
        counts: MixtureCounts | None = None,
        reorder: bool = True,
    ) -> None:
        """Store the result with components in canonical order: decreasing weight, ties by first tree."""
        params = result.params
        n = len(params.weight)
        joint = log_joint(batch.log_likelihood(params.tree), params.weight)
        label = joint.argmax(axis=1)
        order = np.arange(n)
        if reorder:
            first = np.full(n, batch.n_trees)
            np.minimum.at(first, label, np.arange(batch.n_trees))
            order = np.lexsort((first, -params.weight))
        kept = counts or batch.expected_counts(params)[0]
        self.counts_ = {"weight": kept.weight[order], **{k: x[..., order] for k, x in kept.tree._asdict().items()}}
        self.seen_weight_ = batch.total_weight
        self.spec_, self.n_slots_, self.vocabulary_ = batch.spec, batch.spec.n_slots, forest.vocabulary
        self._set_fitted_params(MixtureParams(params.weight[order], tm.Params(*(x[..., order] for x in params.tree))))
        self.labels_ = np.argsort(order)[label]
        self.merge_loss_ = expected_losses(joint, params.weight)[np.ix_(order, order)]
        self.history_ = list(result.history)
        self.n_iter_ = len(result.history)
        self.converged_ = result.converged
        self.n_unexplained_ = int((joint.max(axis=1) == -np.inf).sum())
        self._record_provenance(forest)

    def _warn(self, result: EMResult[MixtureParams], batch: Batch) -> None:
        """Say what the user should know about the fit."""
        if self.n_unexplained_:
            warnings.warn(
                f"{self.n_unexplained_} of {batch.n_trees} trees have probability zero under every component and "
                f"were left out of the fit; use a prior above one",
                UnexplainedTreesWarning,
                stacklevel=3,
            )
        if not result.converged and not result.interrupted and self.tol > 0:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations before gaining less than tol={self.tol} nats a "
                f"tree; raise max_iter",
                NotConvergedWarning,
                stacklevel=3,
            )

    def _set_fitted_params(self, params: MixtureParams) -> None:
        """Store parameters with the component axis first and the axis that sums to one last."""
        tree = params.tree
        self.weight_ = params.weight
        self.leaf_prob_ = np.ascontiguousarray(tree.leaf.transpose(2, 0, 1))
        self.emission_prob_ = np.ascontiguousarray(tree.emission.transpose(2, 1, 0))
        self.switch_prob_ = np.ascontiguousarray(tree.switch.T)
        self.transition_prob_ = np.ascontiguousarray(tree.transition.transpose(3, 0, 1, 2))
        self.branching_prob_ = np.ascontiguousarray(tree.branching.T)

    def _fitted_params(self) -> MixtureParams:
        """Parameters in the layout of the kernels."""
        check_is_fitted(self, "weight_")
        leaf, emission, switch, transition, branching = (self._by_component(name) for name in PROBABILITIES)
        tree = tm.Params(
            np.ascontiguousarray(leaf.transpose(1, 2, 0)),
            np.ascontiguousarray(emission.transpose(2, 1, 0)),
            np.ascontiguousarray(switch.T),
            np.ascontiguousarray(transition.transpose(1, 2, 3, 0)),
            np.ascontiguousarray(branching.T),
        )
        return MixtureParams(self.weight_, tree)

    def _by_component(self, name: str) -> Floats:
        """A fitted array with the component axis first."""
        return np.asarray(getattr(self, name))

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self.spec_ = tm.spec_of(self.spec_)
        for name in ("weight_", *PROBABILITIES):
            if getattr(self, name).dtype != np.float64:
                raise ValueError(f"{name} is of {getattr(self, name).dtype}; wanted float64")
        given = {name: np.asarray(self._by_component(name)) for name in PROBABILITIES}
        self._check_shapes({"weight_": np.asarray(self.weight_), **given})
        check_losses(self, len(self.weight_))
        if self.counts_ is not None:
            self._check_counts()
        return self

    def _check_counts(self) -> None:
        """Raise unless the counts of the fit are counts of this model."""
        n, spec = len(self.weight_), self.spec_
        shapes: dict[str, Any] = {"weight": (n,), **tm.param_shapes(spec, n)._asdict()}
        shapes["branching"] = (2, *shapes["branching"])
        shapes["exposure"] = (None, n)
        if set(self.counts_) != set(shapes):
            raise ValueError("the counts of the fit are not those of its parameters")
        for name, shape in shapes.items():
            check_array(f"counts_.{name}", self.counts_[name], np.float64, shape, 0.0, 1e300)
        if len(self.counts_["exposure"]) not in (0, spec.n_slots):
            raise ValueError("the counts of the fit are not those of its parameters")

    @classmethod
    def from_parameters(
        cls,
        *,
        weight: ArrayLike,
        leaf_prob: ArrayLike,
        emission_prob: ArrayLike,
        switch_prob: ArrayLike,
        transition_prob: ArrayLike,
        branching_prob: ArrayLike | None = None,
        vocabulary: Any = None,
        absent: tm.Absent = "bottom",
    ) -> Self:
        """A fitted model with these parameters; a vocabulary left out is "0", "1", ...

        The structure term is there if branching_prob is.
        """
        arrays = {
            "weight_": weight,
            "leaf_prob_": leaf_prob,
            "emission_prob_": emission_prob,
            "switch_prob_": switch_prob,
            "transition_prob_": transition_prob,
        }
        given = {key: np.array(value, np.float64) for key, value in arrays.items()}
        if given["emission_prob_"].ndim != 3:
            shape = given["emission_prob_"].shape
            raise ValueError(f"emission_prob has shape {shape}; wanted [component, state, label]")
        n_components, n_states, n_labels = given["emission_prob_"].shape
        model = cls._sized(n_components, n_states, absent, "branching" if branching_prob is not None else None)
        model.vocabulary_ = tuple(map(str, range(n_labels) if vocabulary is None else vocabulary))
        model.n_slots_ = given["switch_prob_"].shape[-1]
        model.spec_ = tm.Spec(model.n_slots_, n_labels, n_states, absent, model.structure)
        branching = np.zeros((n_components, 0)) if branching_prob is None else np.array(branching_prob, np.float64)
        given["branching_prob_"] = branching
        model._check_shapes(given)
        model._set_fitted_params(
            MixtureParams(
                given["weight_"],
                tm.Params(
                    given["leaf_prob_"].transpose(1, 2, 0),
                    given["emission_prob_"].transpose(2, 1, 0),
                    given["switch_prob_"].T,
                    given["transition_prob_"].transpose(1, 2, 3, 0),
                    given["branching_prob_"].T,
                ),
            )
        )
        model.history_, model.n_iter_, model.converged_, model.n_unexplained_ = [], 0, True, 0
        return model

    @classmethod
    def _sized(cls, n_components: int, n_states: int, absent: tm.Absent, structure: tm.Structure) -> Self:
        return cls(n_components=n_components, n_states=n_states, absent=absent, structure=structure)

    def _check_shapes(self, given: dict[str, Floats]) -> None:
        """Raise unless the sizes are sane and every parameter, component axis first, is a probability."""
        self._check_params()
        spec = self.spec_
        sound = all(type(n) is int and n >= 0 for n in spec[:3]) and type(spec.pooled) is bool
        if not sound or (spec.n_states, spec.absent, spec.structure) != (self.n_states, self.absent, self.structure):
            raise ValueError(f"the sizes of the model make no sense: {spec}")
        if spec.n_slots != self.n_slots_ or len(set(self.vocabulary_)) != spec.n_labels or spec.n_slots < 1:
            raise ValueError("vocabulary and slots do not fit the parameters; labels must differ")
        k, l, i, m = self.n_components, spec.n_slots, spec.n_states, spec.n_labels
        wanted = {
            "weight_": (k,),
            "leaf_prob_": (k, l + 1, i + (spec.absent == "slot")),
            "emission_prob_": (k, i, m),
            "switch_prob_": (k, l),
            "transition_prob_": (k, l, i + spec.absent_is_state, i),
            "branching_prob_": (k, l if spec.structure else 0),
        }
        for name, shape in wanted.items():
            value = given[name]
            if value.shape != shape:
                raise ValueError(f"{name[:-1]} has shape {value.shape}; wanted {shape}")
            if not np.isfinite(value).all() or (value < 0).any() or (value > 1 + 1e-9).any():
                raise ValueError(f"{name[:-1]} holds values that are not probabilities")
            if name != "branching_prob_" and shape[-1] and not np.allclose(value.sum(axis=-1), 1.0, atol=1e-6):
                raise ValueError(f"{name[:-1]}: the last axis must sum to one")
        if spec.absent == "slot" and given["leaf_prob_"][:, -1, -1].any():
            raise ValueError("leaf_prob: the root's row has no chance of 'nothing there'; its last entry must be zero")

    # ---- trees ---------------------------------------------------------------------------------------------------

    def _batch(self, forest: Forest, spec: tm.Spec, weight: Floats | None = None) -> Batch:
        """The trees of a forest (in training terms) as shards."""
        max_units = max(1024, self.shard_bytes // tm.unit_bytes(spec, self.n_components))
        shards: Sequence[SharedForest]
        if isinstance(forest, ForestStore):
            shards = forest.shards(spec.n_slots, max_units, self.shared, tm.needs_structure(spec))
        else:
            shards = share(forest.arrays, spec.n_slots, max_units, self.shared)
        return Batch(spec, shards, weight, n_threads(self.n_jobs))

    def _log_joint(self, X: Any) -> Floats:
        """log P(tree, component) of every tree."""
        forest = self._in_training_terms(X)
        params = self._fitted_params()
        with self._batch(forest, self.spec_) as batch:
            return log_joint(batch.log_likelihood(params.tree), params.weight)

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each tree; -inf for a tree no component can produce."""
        return np.asarray(log_sum(self._log_joint(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood a tree."""
        return float(self.score_samples(self._check_forest(X)).mean())

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the component of each tree; the mixing weights where no component can produce the tree."""
        return self._component_proba(X)

    def assign(self, X: Any) -> Assignments:
        """Component, probabilities and log-likelihood of each tree, by one pass through them."""
        joint = self._log_joint(X)
        proba = self._proba_of(joint)
        return Assignments(np.asarray(proba.argmax(axis=1)), proba, np.asarray(log_sum(joint)))

    def hidden_trees(self) -> Self:
        """Itself."""
        return self

    def _component_proba(self, X: Any) -> Floats:
        return self._proba_of(self._log_joint(X))

    def _proba_of(self, joint: Floats) -> Floats:
        total = log_sum(joint)
        impossible = ~np.isfinite(total)
        proba = np.exp(joint - np.where(impossible, 0.0, total)[:, None])
        proba[impossible] = self.weight_
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Most probable component of each tree."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def draw_labels(self, X: Any, random_state: Any = None) -> NDArray[np.int64]:
        """A component for each tree drawn from its posterior, as the papers assign clusters."""
        return draw_rows(resolve_seed(random_state), self.predict_proba(X))

    def n_parameters(self) -> int:
        """Free parameters of the fitted model, used or not."""
        check_is_fitted(self, "weight_")
        return len(self.weight_) * tm.n_free_parameters(self.spec_) + len(self.weight_) - 1

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on these trees, lower is better."""
        forest = self._check_forest(X)
        return float(-2.0 * self.score_samples(forest).sum() + self.n_parameters() * np.log(forest.n_trees))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on these trees, lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.n_parameters())

    # ---- nodes ---------------------------------------------------------------------------------------------------

    def posterior(self, X: Any) -> Floats:
        """P(component, state | tree) of every node, shape (n_nodes, n_components, n_states)."""
        forest = self._in_training_terms(X)
        params, proba = self._fitted_params().tree, _rows_of(forest, self.predict_proba(forest))
        return np.concatenate([nodes.posterior(self.spec_, params, part, rows) for part, rows in proba])

    def decode(self, X: Any) -> NDArray[np.int64]:
        """State of every node in the most probable joint choice of states and switches, in the predicted component."""
        forest = self._in_training_terms(X)
        params, component = self._fitted_params().tree, _rows_of(forest, self._decoding_component(forest))
        return np.concatenate([nodes.decode(self.spec_, params, part, rows) for part, rows in component])

    def _decoding_component(self, forest: Forest) -> NDArray[np.int64]:
        return self.predict(forest)

    def transform(self, X: Any, dtype: Any = np.float64) -> Any:
        """Encode each tree, by default as posterior mass by component, slot and state (paper 001).

        Columns run over components, then slots (the root has one of its own, the last), then states;
        `get_feature_names_out` names them.  Other choices of `encoding` change the values or add columns.  Values are
        computed in double precision; dtype=np.float32 rounds them at the end, to half the memory.
        """
        recipe = enc.find(self.encoding)
        forest = self._in_training_terms(X)
        proba = self._component_proba(forest) if enc.needs_posterior(recipe) else None
        params = self._fitted_params().tree
        codes = [enc.encode(recipe, self.spec_, params, part, rows, dtype) for part, rows in _rows_of(forest, proba)]
        if self.sparse_output:
            return enc.stack(codes)
        return codes[0].toarray() if len(codes) == 1 else np.concatenate([part.toarray() for part in codes])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "weight_")
        return enc.column_names(enc.find(self.encoding), len(self.weight_), self.spec_, self.vocabulary_)

    def sample(self, n_samples: int = 1, skeleton: Any = None, random_state: Any = None) -> Forest:
        """Draw trees; the target of each is its component.

        Whole trees need the structure term.  With `skeleton` the shapes are given, one tree for each of its trees:
        the component of each is drawn given its shape, P(component | shape), and then its labels.
        """
        params = self._fitted_params()
        rng = resolve_seed(random_state)
        shape = None if skeleton is None else self._check_forest(skeleton)
        return sampling.draw_forest(rng, self.spec_, params.weight, params.tree, self.vocabulary_, n_samples, shape)

    # ---- checking ------------------------------------------------------------------------------------------------

    def _check_params(self, least_prior: float = 1.0) -> tm.Priors:
        """Raise on impossible settings; the priors of the fit.  Modes want priors of one or more."""
        check_count("n_components", self.n_components)
        check_count("n_states", self.n_states)
        check_count("n_init", self.n_init, MOST_STARTS)
        check_count("max_iter", self.max_iter)
        if self.n_slots is not None:
            check_count("n_slots", self.n_slots)
        if self.absent not in tm.ABSENT:
            raise SettingError(f"absent={self.absent!r}; wanted one of {', '.join(tm.ABSENT)}")
        if self.structure not in (None, "branching"):
            raise SettingError(f"structure={self.structure!r}; wanted None or 'branching'")
        if self.init not in STARTS:
            raise SettingError(f"init={self.init!r}; wanted one of {', '.join(STARTS)}")
        enc.find(self.encoding)
        check_number("tol", self.tol, 0.0, np.inf)
        check_number("tol_per_node", self.tol_per_node, 0.0, np.inf)
        check_number("learning_decay", self.learning_decay, 0.5, 1.0)
        check_count("shard_bytes", self.shard_bytes)
        n_threads(self.n_jobs)
        priors = {}
        for name in tm.Priors._fields:
            own = getattr(self, f"{name}_prior")
            value = self.prior if own is None else own
            check_number("prior" if own is None else f"{name}_prior", value, least_prior, 1e9)
            priors[name] = float(value)
        return tm.Priors(**priors)


def _rows_of(forest: Forest, values: Any) -> Iterator[tuple[Forest, Any]]:
    """The parts of a forest or store, each with the rows of its trees; None stays None."""
    done = 0
    for part in forest.parts():
        yield part, None if values is None else values[done : done + part.n_trees]
        done += part.n_trees
