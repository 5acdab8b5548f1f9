"""FittedMixture: what a fitted mixture of tree models gives for trees, and how its file is read."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ...forest.trees import Trees
from ...seeds import draw_rows, resolve_seed
from ..assignments import Assignments
from ..file_checks import check_array
from ..forest_estimator import ForestEstimator
from ..merging import MergedByLoss, check_losses
from ..patterns.constraints import check_kept
from ..settings import n_threads
from . import tree_model as tm
from .content_params import CONTENT, store_table, stored_table
from .passes import Batch, MixtureParams, log_joint, log_sum, shards_of

Floats = NDArray[np.float64]

# Working memory of a shard. Larger shards share more subtrees, smaller ones stay in cache and feed more threads.
SHARD_BYTES = 64 * 2**20
ROUNDING = 1e-6  # counts of earlier versions, differences of sums, may be this far below zero


class FittedMixture(MergedByLoss, ClusterMixin, ForestEstimator):
    """Assignments, likelihoods and files of a fitted mixture; subclasses fit it."""

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
    _saved_if_there: ClassVar[tuple[str, ...]] = (CONTENT, "constraints_")
    #: The tree model, which reads itself from a file.
    _model_type: ClassVar[Any]

    n_components: int
    shared: bool = True
    shard_bytes: int = SHARD_BYTES
    n_jobs: int | None = None

    spec_: Any  # the tree model
    counts_: dict[str, Floats]
    provenance_: dict[str, Any]

    def _check_params(self) -> Any:
        """Raise on impossible settings; the priors of the fit.  Call `_check_fitting` for those of every mixture."""
        raise NotImplementedError

    def _shaping(self) -> dict[str, tuple[Any, Any]]:
        """Settings that shape the model, each as it is now and as it was when the model was fitted."""
        return {"n_components": (self.n_components, len(self.weight_))}

    # ---- the fitted model ---------------------------------------------------------------------------------------

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
        if "constraints_" in vars(self):
            check_kept(vars(self)["constraints_"], self.provenance_.get("known_classes"), len(self.weight_))
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
            value, low = self.counts_[name], table.least - ROUNDING
            check_array(f"counts_.{name}", value, np.float64, (*table.shape, n), low, table.most)
            self.counts_[name] = np.maximum(value, table.least)

    # ---- trees ---------------------------------------------------------------------------------------------------

    def _batch(
        self, forest: Trees, model: tm.TreeModel, weight: Floats | None = None, many_passes: bool = False
    ) -> Batch:
        """The trees of a forest (in training terms) as shards; in the order of `in_layers` if that pays."""
        shards = shards_of(forest, model, self.shard_bytes // model.unit_bytes(self.n_components), self.shared)
        if many_passes and self.n_components == 1 and isinstance(shards, list):
            shards = [shard.in_layers() for shard in shards]
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
