"""FiniteMixture: a mixture of a given number of components of any tree model, fitted by EM.

A subclass names its settings and gives a `TreeModel` of the training trees; what the model learns, the mixture shows as
fitted attributes, one for each table, component axis first.
"""

import logging
import os
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, NotConvergedWarning, SettingError, UnexplainedTreesWarning
from ...files.container import digest
from ...forest.trees import Trees
from ...inference.em import EMResult
from ...seeds import draw_rows, resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator
from ..merging import MergedByLoss, check_losses, expected_losses
from ..settings import MOST_STARTS, check_choice, check_count, check_number, check_weight, n_threads
from . import fitting
from . import tree_model as tm
from .content_params import CONTENT, store_table, stored_table
from .fit_checkpoint import FitCheckpoint, Progress, state_digest
from .passes import Batch, MixtureCounts, MixtureParams, log_joint, log_sum, shards_of
from .slot_rates import slot_hits
from .starts import STARTS

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

# Working memory of a shard. Larger shards share more subtrees, smaller ones stay in cache and feed more threads.
SHARD_BYTES = 64 * 2**20


class FiniteMixture(MergedByLoss, ClusterMixin, ForestEstimator):
    """A mixture of tree models with EM, stepwise EM, checkpoints, files and merges; subclasses choose the model."""

    _saved: ClassVar[tuple[str, ...]] = (
        "vocabulary_",
        "n_slots_",
        "spec_",
        "weight_",
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
    _saved_if_there: ClassVar[tuple[str, ...]] = (CONTENT,)
    #: The tree model, which reads itself from a file.
    _model_type: ClassVar[Any]

    # Settings that every subclass has in its __init__; those with a value here need not be settings.
    n_components: int
    max_iter: int
    tol: float
    random_state: Any
    tol_per_node: float = 0.0
    init: str = "kmeans"
    n_init: int = 1
    warm_start: bool = False
    learning_decay: float = 0.7
    shared: bool = True
    shard_bytes: int = SHARD_BYTES
    checkpoint: str | os.PathLike[str] | None = None
    n_jobs: int | None = None
    verbose: int = 0

    spec_: Any  # the tree model
    history_: list[float]
    counts_: dict[str, Floats]
    seen_weight_: float
    n_batches_: int

    def _new_model(self, forest: Trees) -> tm.TreeModel:
        """The tree model of these trees, by the settings."""
        raise NotImplementedError

    def _check_params(self) -> Any:
        """Raise on impossible settings; the priors of the fit.  Call `_check_fitting` for those of every mixture."""
        raise NotImplementedError

    def _check_fitting(self) -> None:
        """Raise on impossible settings of the fit."""
        check_count("n_components", self.n_components)
        check_count("n_init", self.n_init, MOST_STARTS)
        check_count("max_iter", self.max_iter)
        check_choice("init", self.init, STARTS)
        check_number("tol", self.tol, 0.0, np.inf)
        check_number("tol_per_node", self.tol_per_node, 0.0, np.inf)
        check_number("learning_decay", self.learning_decay, 0.5, 1.0)
        check_count("shard_bytes", self.shard_bytes)
        n_threads(self.n_jobs)

    def _shaping(self) -> dict[str, tuple[Any, Any]]:
        """Settings that shape the model, each as it is now and as it was when the model was fitted."""
        return {"n_components": (self.n_components, len(self.weight_))}

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit by EM; y is ignored.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_trees(X)
        weight = check_weight(sample_weight, forest.n_trees)
        warm = self.warm_start and hasattr(self, "weight_")
        if warm:
            self._check_unchanged("warm_start")
            if self.checkpoint is not None:
                raise SettingError("checkpoint: a warm start continues from the model itself; set it to None")
            forest = self._in_training_terms(forest)
        model = self.spec_ if warm else self._new_model(forest)
        with self._batch(forest, model, weight) as batch:
            best = self._best_start(rng, batch, forest, priors, warm)
            self._keep(best, batch, forest)
            self.n_batches_ = 1
            self._warn(best, batch)
        return self

    def _best_start(
        self, rng: np.random.Generator, batch: Batch, forest: Trees, priors: Any, warm: bool
    ) -> EMResult[MixtureParams]:
        """The best of some runs of EM, or of those that a checkpoint still leaves to do."""
        least_gain = self._least_gain(batch, forest)
        saved = FitCheckpoint(self.checkpoint, self._fit_settings(forest, batch.sample_weight))
        n_done, best, now = saved.read(rng, batch.model.tables, self.n_components)
        for number in range(n_done, 1 if warm else self._n_starts()):
            if now is None:
                weight, model = batch.sample_weight, batch.model
                first = self._fitted_params() if warm else self._start(rng, forest, weight, model, priors)
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

    def _n_starts(self) -> int:
        """Runs of EM, of which the best is kept."""
        return self.n_init

    def _least_gain(self, batch: Batch, forest: Trees) -> float:
        """Nats that an iteration must gain for EM to go on; none with tol=0."""
        least = self.tol * batch.total_weight
        if not self.tol or self.init != "patterns" or self.n_components == 1:
            return least
        n_nodes = slot_hits(forest, batch.sample_weight, batch.model.n_slots)[1]
        return max(least, self.tol_per_node * n_nodes)

    def _fit_settings(self, forest: Trees, weight: Floats | None) -> dict[str, Any]:
        """What a checkpoint belongs to: the trees, their weights, and every setting that shapes the fit."""
        if self.checkpoint is None:
            return {}
        free = ("n_jobs", "verbose", "checkpoint", "encoding", "sparse_output", "warm_start", "learning_decay")
        mine = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
        if mine.get("content") == "auto":
            del mine["content"]  # the trees say what it means
        weights = None if weight is None else digest(weight)
        if isinstance(self.random_state, np.random.Generator | np.random.RandomState):
            mine["random_state"] = state_digest(self.random_state)
        return {"model": type(self).__name__, **mine, "trees": forest.sha256, "sample_weight": weights}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Stepwise EM: move the expected counts towards those of this batch, then re-estimate.

        It goes on from a fit, or from earlier batches.  The first batch fixes the vocabulary and the slots; labels and
        slots first met later are treated as at prediction: summed out, and pooled into the last slot.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_trees(X)
        weight = check_weight(sample_weight, forest.n_trees)
        first = not hasattr(self, "weight_")
        if not first:
            self._check_unchanged("partial_fit")
            forest = self._in_training_terms(forest)
        model = self._new_model(forest) if first else self.spec_
        with self._batch(forest, model, weight) as batch:
            params = self._start(rng, forest, weight, model, priors) if first else self._fitted_params()
            counts, _ = batch.expected_counts(params)
            if not first:
                old = MixtureCounts(self.counts_["weight"], tm.unnamed(counts.tree, self.counts_))
                counts = fitting.blend(old, self.seen_weight_, counts, batch.total_weight, self.learning_decay)
            params = fitting.m_step(model, counts, params, priors)
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
        self, rng: np.random.Generator, forest: Trees, weight: Floats | None, model: tm.TreeModel, priors: Any
    ) -> MixtureParams:
        """Where EM starts, by `init`."""
        drawn = fitting.random_start(rng, forest, weight, model, self.n_components)
        if self.init == "random" or self.n_components == 1:
            return drawn
        return fitting.clustered_start(rng, forest, weight, drawn, model, priors, self.init == "patterns")

    def _check_unchanged(self, what: str) -> None:
        """Raise if a parameter that shapes the model was changed since it was fitted."""
        for name, (wanted, fitted) in self._shaping().items():
            if wanted != fitted:
                raise SettingError(f"{what}: {name}={wanted!r}, but it was fitted with {fitted!r}; fit a new model")

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def _keep(
        self,
        result: EMResult[MixtureParams],
        batch: Batch,
        forest: Trees,
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
        self.counts_ = {"weight": kept.weight[order], **tm.named(tm.taken(kept.tree, order))}
        self.seen_weight_ = batch.total_weight
        self.spec_, self.n_slots_, self.vocabulary_ = batch.model, batch.model.n_slots, forest.vocabulary
        self._set_fitted_params(MixtureParams(params.weight[order], tm.taken(params.tree, order)))
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
        if not result.converged and not result.interrupted and self.tol > 0 and self._ends_with_em():
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations before gaining less than tol={self.tol} nats "
                f"per tree; raise max_iter",
                NotConvergedWarning,
                stacklevel=3,
            )

    def _ends_with_em(self) -> bool:
        """Whether the parameters are those of EM, and not of a sampler that EM started."""
        return True

    def _set_fitted_params(self, params: MixtureParams) -> None:
        """Store parameters with the component axis first and the axis that sums to one last."""
        self.weight_ = params.weight
        self.__dict__.pop(CONTENT, None)  # of another fit
        tm.mapped(lambda table, x: self._store(table.name, table.show(x)), self.spec_.tables, params.tree)

    def _fitted_params(self) -> MixtureParams:
        """Parameters in the layout of the kernels."""
        check_is_fitted(self, "weight_")
        tree = tm.mapped(lambda table: table.hide(self._by_component(table.name)), self.spec_.tables)
        return MixtureParams(self.weight_, tree)

    def _set_unfitted(self) -> None:
        """What a model has to say of its fit that was given its parameters."""
        self.history_, self.n_iter_, self.converged_, self.n_unexplained_ = [], 0, True, 0

    def _store(self, name: str, values: Floats) -> None:
        """Keep a fitted array that has the component axis first."""
        store_table(self, name, values)

    def _by_component(self, name: str) -> Floats:
        """A fitted array with the component axis first."""
        return stored_table(self, name)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        self.spec_ = self._model_type.from_header(self.spec_)
        self._check_params()
        self._check_fitted()
        check_losses(self, len(self.weight_))
        if self.counts_ is not None:
            self._check_counts()
        return self

    def _check_fitted(self) -> None:
        """Raise unless the sizes are sane and every parameter, component axis first, is what it should be."""
        model = self.spec_
        if any(now != fitted for now, fitted in self._shaping().values()):
            raise ValueError(f"the sizes of the model make no sense: {model}")
        if model.n_slots != self.n_slots_ or len(set(self.vocabulary_)) != model.n_labels:
            raise ValueError("vocabulary and slots do not fit the parameters; labels must differ")
        check_array("weight_", self.weight_, np.float64, (self.n_components,), 0.0, 1.0 + 1e-9)
        if not np.isclose(self.weight_.sum(), 1.0, atol=1e-6):
            raise ValueError("weight: the last axis must sum to one")
        for table in tm.named(model.tables).values():
            values = self._by_component(table.name)
            if values.dtype != np.float64:
                raise ValueError(f"{table.name} is of {values.dtype}; wanted float64")
            table.check(values, self.n_components)
        model.check(self._fitted_params().tree)

    def _check_counts(self) -> None:
        """Raise unless the counts of the fit are counts of this model."""
        n = len(self.weight_)
        wanted = {"weight": tm.Table("weight", (), most=1e300), **tm.named(self.spec_.count_tables)}
        if set(self.counts_) != set(wanted):
            raise ValueError("the counts of the fit are not those of its parameters")
        for name, table in wanted.items():
            check_array(f"counts_.{name}", self.counts_[name], np.float64, (*table.shape, n), table.least, table.most)

    # ---- trees ---------------------------------------------------------------------------------------------------

    def _batch(self, forest: Trees, model: tm.TreeModel, weight: Floats | None = None) -> Batch:
        """The trees of a forest (in training terms) as shards."""
        shards = shards_of(forest, model, self.shard_bytes // model.unit_bytes(self.n_components), self.shared)
        return Batch(model, shards, weight, n_threads(self.n_jobs))

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
        return float(self.score_samples(self._check_trees(X)).mean())

    def predict_proba(self, X: Any) -> Floats:
        """Posterior of the component of each tree; the mixing weights where no component can produce the tree."""
        return self._component_proba(X)

    def assign(self, X: Any) -> Assignments:
        """Component, probabilities and log-likelihood of each tree, by one pass through them."""
        joint = self._log_joint(X)
        proba = self._proba_of(joint)
        return Assignments(np.asarray(proba.argmax(axis=1)), proba, np.asarray(log_sum(joint)))

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
        """A component for each tree drawn from its posterior, as the papers assign clusters.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        random_state : int, Generator or None, default None
            Seed.

        Returns
        -------
        ndarray of int
            Group of each tree.
        """
        return draw_rows(resolve_seed(random_state), self.predict_proba(X))

    def n_parameters(self) -> int:
        """Free parameters of the fitted model, used or not."""
        check_is_fitted(self, "weight_")
        return len(self.weight_) * self.spec_.n_free_parameters() + len(self.weight_) - 1

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on these trees, lower is better."""
        forest = self._check_trees(X)
        return float(-2.0 * self.score_samples(forest).sum() + self.n_parameters() * np.log(forest.n_trees))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on these trees, lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.n_parameters())
