"""FiniteMixture: a mixture of a given number of components of any tree model, fitted by EM.

A subclass names its settings and gives a `TreeModel` of the training trees; what the model learns, the mixture shows as
fitted attributes, one for each table, component axis first.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ArboraError, SettingError, UnexplainedTreesWarning, warn
from ...files.container import digest
from ...forest.trees import Trees
from ...inference.em import EMResult, warn_unless_converged
from ...seeds import resolve_seed
from ..merging import expected_losses
from ..model_file import plain
from ..patterns.constraints import Given, read_constraints
from ..patterns.constraints import check_number as check_classes
from ..settings import MOST_STARTS, check_choice, check_count, check_number, check_weight, n_threads
from . import fitting
from . import tree_model as tm
from .conditions import ConditionedBatch, conditions_of
from .fit_checkpoint import FitCheckpoint, Progress, state_digest
from .fitted_mixture import FittedMixture
from .known_classes import KnownClasses
from .passes import Batch, MixtureCounts, MixtureParams, log_joint
from .slot_rates import slot_hits
from .starts import STARTS

log = logging.getLogger(__name__)
ACCELERATIONS = (None, "squarem")
Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """What a fit ends with."""

    result: EMResult[MixtureParams]
    batch: Batch
    forest: Trees
    counts: MixtureCounts | None = None  # expected counts to go on from; None takes those of the result
    reorder: bool = True  # whether components may get other numbers


class FiniteMixture(KnownClasses, FittedMixture):
    """A mixture of tree models with EM, stepwise EM, checkpoints, files and merges; subclasses choose the model."""

    # Settings that every subclass has in its __init__; those with a value here need not be settings.
    max_iter: int
    tol: float
    random_state: Any
    tol_per_node: float = 0.0
    init: str = "kmeans"
    n_init: int = 1
    warm_start: bool = False
    learning_decay: float = 0.7
    acceleration: str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    verbose: int = 0

    history_: list[float]
    seen_weight_: float
    n_batches_: int

    def _new_model(self, forest: Trees) -> tm.TreeModel:
        """The tree model of these trees, by the settings."""
        raise NotImplementedError

    def _check_fitting(self) -> None:
        """Raise on impossible settings of the fit."""
        check_count("n_components", self.n_components)
        check_count("n_init", self.n_init, MOST_STARTS)
        check_count("max_iter", self.max_iter)
        check_choice("init", self.init, STARTS)
        check_choice("acceleration", self.acceleration, ACCELERATIONS)
        check_number("tol", self.tol, 0.0, np.inf)
        check_number("tol_per_node", self.tol_per_node, 0.0, np.inf)
        check_number("learning_decay", self.learning_decay, 0.5, 1.0)
        check_count("shard_bytes", self.shard_bytes)
        n_threads(self.n_jobs)

    def _check_fit_options(self, sample_weight: Any, known: Any, constraints: Any) -> None:
        """Raise on options of `fit` that this mixture does not take."""

    def _check_stepwise(self) -> None:
        """Raise if this mixture has no stepwise EM."""

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        known: Any = None,
        constraints: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit by EM, given what is known; y is ignored.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : None
            Ignored.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.
        known : sequence or None, default None
            Known classes of some trees, one entry per tree; None (or NaN) where the class is not known.  Each class has
            a component of its own.
        constraints : mapping or None, default None
            ``{"must_link": [(0, 5), ...], "cannot_link": [(1, 2), ...]}``: pairs of trees that share a component, and
            pairs that do not.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_fit_options(sample_weight, known, constraints)
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_trees(X)
        weight = check_weight(sample_weight, forest.n_trees)
        given = self._read_constraints(known, constraints, forest.n_trees, weight)
        warm = self.warm_start and hasattr(self, "weight_")
        if warm:
            self._check_unchanged("warm_start")
            if self.checkpoint is not None:
                raise SettingError("checkpoint: a warm start continues from the model itself; set it to None")
            forest = self._in_training_terms(forest)
        model = self.spec_ if warm else self._new_model(forest)
        trees = self._batch(forest, model, weight, many_passes=True)
        conditions = None if given is None else conditions_of(given, forest.n_trees, self.n_components)
        with trees if conditions is None else ConditionedBatch.of(trees, conditions) as batch:
            best = self._best_start(rng, batch, forest, priors, warm, given)
            self._keep(Outcome(best, batch, forest))
            self._keep_constraints(given, forest.n_trees)
            self.n_batches_ = 1
            self._warn(best, batch)
        return self

    def _best_start(
        self,
        rng: np.random.Generator,
        batch: Batch,
        forest: Trees,
        priors: Any,
        warm: bool,
        given: Given | None = None,
    ) -> EMResult[MixtureParams]:
        """The best of some runs of EM, or of those that a checkpoint still leaves to do."""
        least_gain = self._least_gain(batch, forest)
        saved = FitCheckpoint(self.checkpoint, self._fit_settings(forest, batch.sample_weight, given))
        n_done, best, now = saved.read(rng, batch.model.tables, self.n_components)
        for number in range(n_done, 1 if warm else self._n_starts()):
            if now is None:
                weight = batch.sample_weight
                first = self._fitted_params() if warm else self._start(rng, forest, weight, batch, priors)
                now = EMResult(first, [], converged=False, interrupted=False)

            def keep(state: EMResult[MixtureParams], number: int = number, best: Any = best) -> None:
                saved.write(Progress(number, best, state), rng, at_once=False)

            result = fitting.run(
                batch, now, priors, self.max_iter, least_gain, bool(self.verbose), keep, self.acceleration
            )
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

    def _fit_settings(self, forest: Trees, weight: Floats | None, given: Given | None = None) -> dict[str, Any]:
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
        known = {} if given is None else {"constraints": [plain(part) for part in given]}
        return {"model": type(self).__name__, **mine, "trees": forest.sha256, "sample_weight": weights, **known}

    # ---- what is known ------------------------------------------------------------------------------------------

    def _read_constraints(self, known: Any, constraints: Any, n_trees: int, weight: Floats | None) -> Given | None:
        """Constraints as they are given to `fit`; raises where EM cannot take them."""
        given = read_constraints(known, constraints, n_trees)
        check_classes(given, self.n_components)
        if given is not None and weight is not None:
            raise SettingError("sample_weight: not with known classes or constraints; leave one of them out")
        return given

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Stepwise EM: move the expected counts towards those of this batch, then re-estimate.

        It continues a fit, or earlier batches.  Labels, and words of content, that are new are learnt: they say nothing
        of the states in the batch that brings them, as at prediction, and are counted from there on.  The first batch
        fixes the slots; later ones are pooled into the last.

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
        self._check_stepwise()
        priors = self._check_params()
        rng = resolve_seed(self.random_state)
        forest = self._check_trees(X)
        weight = check_weight(sample_weight, forest.n_trees)
        first = not hasattr(self, "weight_")
        if not first:
            self._check_unchanged("partial_fit")
            forest = forest.with_vocabulary(tuple(dict.fromkeys([*self.vocabulary_, *forest.vocabulary])))
        model = self._new_model(forest) if first else self._grown(forest)
        with self._batch(forest, model, weight) as batch:
            params = self._start(rng, forest, weight, batch, priors) if first else self._fitted_params()
            # What is new is as probable in all states.
            counts, _ = batch.expected_counts(params if first else self._with_room(params, model, 1.0))
            if not first:
                old = MixtureCounts(self.counts_["weight"], tm.unnamed(self.spec_.count_tables, self.counts_))
                old = old._replace(tree=tm.padded(old.tree, model.count_tables, 0.0))
                counts = fitting.blend(old, self.seen_weight_, counts, batch.total_weight, self.learning_decay)
                params = self._with_room(params, model, 0.0)
            params = fitting.m_step(model, counts, params, priors)
            history = [] if first else self.history_
            history = [*history, fitting.objective_of(batch, params, priors)]
            n_batches = 0 if first else self.n_batches_
            seen = 0.0 if first else self.seen_weight_
            result = EMResult(params, history, converged=False, interrupted=True)
            self._keep(Outcome(result, batch, forest, counts, reorder=first))
            self.n_batches_, self.seen_weight_ = n_batches + 1, seen + batch.total_weight
            self._warn(result, batch)
        return self

    def _grown(self, forest: Trees) -> tm.TreeModel:
        """The fitted model with the labels and words of more trees."""
        model: tm.TreeModel = self.spec_.grown(forest)
        return model

    def _with_room(self, params: MixtureParams, model: tm.TreeModel, fill: float) -> MixtureParams:
        """Fitted parameters in the shapes of the model, which may have grown."""
        return params._replace(tree=tm.padded(params.tree, model.tables, fill))

    def _start(
        self, rng: np.random.Generator, forest: Trees, weight: Floats | None, batch: Batch, priors: Any
    ) -> MixtureParams:
        """Where EM starts, by `init`."""
        model = batch.model
        drawn = fitting.random_start(rng, forest, weight, model, self.n_components)
        if self.init == "random" or self.n_components == 1:
            return drawn
        by_patterns = self.init == "patterns"
        return fitting.clustered_start(rng, forest, weight, drawn, model, priors, by_patterns, batch.start_labels)

    def _check_unchanged(self, what: str) -> None:
        """Raise if a parameter that shapes the model was changed since it was fitted."""
        for name, (wanted, fitted) in self._shaping().items():
            if wanted != fitted:
                raise SettingError(f"{what}: {name}={wanted!r}, but it was fitted with {fitted!r}; fit a new model")

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        self._check_unchanged("save")  # the file could not be read
        return super()._pack()

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def _keep(self, found: Outcome) -> None:
        """Store the result with components in canonical order: decreasing weight, ties by first tree."""
        result, batch, forest, counts, reorder = found
        params = result.params
        n = len(params.weight)
        joint = log_joint(batch.log_likelihood(params.tree), params.weight)
        label = batch.labels_of(joint)
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
        """Warn of what is wrong with the fit."""
        if self.n_unexplained_:
            warn(
                f"{self.n_unexplained_} of {batch.n_trees} trees have probability zero under every component and "
                f"were left out of the fit; use a prior above one",
                UnexplainedTreesWarning,
            )
        if self._ends_with_em():
            warn_unless_converged(result, self.max_iter, self.tol)

    def _ends_with_em(self) -> bool:
        """Whether the parameters are those of EM, and not of a sampler that EM started."""
        return True
