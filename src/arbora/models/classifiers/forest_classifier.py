"""What every classifier of trees shares: classes, probabilities at a temperature, and trees unlike any seen."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ...errors import ArboraError, ForestError, SettingError
from ...forest.classes import class_column
from ...forest.forest import Forest
from ...forest.trees import Trees
from ...seeds import resolve_seed
from ..forest_estimator import ForestEstimator, unseen_by_tree
from ..settings import check_choice, check_count, check_number, check_weight
from .query import most_telling
from .readout import N_FOLDS, soften

Floats = NDArray[np.float64]

N_QUANTILES = 1001  # of the surprise of the training trees: enough to resolve one in a thousand


class TrainingSet(NamedTuple):
    """What a classifier learns from."""

    forest: Any  # as `_given` returns it
    target: NDArray[Any]
    weight: Floats | None
    rng: np.random.Generator


class ForestClassifier(ClassifierMixin, ForestEstimator):
    """A classifier whose samples are trees; subclasses say how probable classes and trees are."""

    classes_: NDArray[Any]
    temperature_: float
    surprise_quantiles_: Floats
    n_nodes_seen_: int
    calibration: str | None
    novelty: float | None
    random_state: Any

    def _log_proba(self, forest: Any) -> Floats:
        """Log-probability of each class of each tree before calibration."""
        raise NotImplementedError

    def _log_likelihood(self, forest: Any) -> Floats | None:
        """Log-probability of each tree, whatever its class; None if the classifier has no opinion."""
        raise NotImplementedError

    def _given(self, X: Any, at_least: int = 0) -> Any:
        """Trees as the classifier takes them: a `Forest`, or of one that streams any `Trees`."""
        return self._check_forest(X, at_least)

    # ---- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to trees of known classes.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : array or None, default None
            Class of each tree; None takes the target of the forest.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        object
            The estimator itself.
        """
        known = self._check_known(X, y, sample_weight)
        self._learn(known)
        self._record_provenance(known.forest)
        return self

    def _learn(self, known: TrainingSet) -> None:
        """Fit to what `fit` was given."""
        raise NotImplementedError

    def _check_known(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> TrainingSet:
        """What `fit` is given and the settings that all classifiers have, checked."""
        forest = self._given(X, at_least=2)
        check_choice("calibration", self.calibration, (None, "temperature"))
        if self.novelty is not None:
            check_number("novelty", self.novelty, 0.0, 1.0)
        target = self._check_classes(forest, y)
        smallest = int(np.unique(target, return_counts=True)[1].min())
        if self.calibration is not None and smallest < N_FOLDS:
            raise SettingError(
                f"calibration={self.calibration!r} holds out trees of every class in turn, and a class has {smallest} "
                f"trees; wanted {N_FOLDS} or more: set calibration=None, or leave that class out"
            )
        return TrainingSet(forest, target, check_weight(sample_weight, forest.n_trees), resolve_seed(self.random_state))

    def _check_classes(self, forest: Trees, y: ArrayLike | None) -> NDArray[Any]:
        """The class of each tree: y, or the forest's own; two classes or more, none unknown."""
        name = type(self).__name__
        given = forest.target if y is None else class_column(y)
        if given is None:
            raise ForestError(f"{name}: the trees have no classes; give y, or a forest with a target")
        if given.shape != (forest.n_trees,):
            raise ForestError(f"{name}: y has shape {given.shape}; wanted one class per tree, ({forest.n_trees},)")
        if given.dtype.kind == "f" and not np.isfinite(given).all():
            raise ForestError(f"{name}: the class of a tree is not a number; leave out trees whose class is not known")
        if given.dtype.kind not in "biufU":
            raise ForestError(f"{name}: classes of dtype {given.dtype}; wanted numbers or text")
        if len(np.unique(given)) < 2:
            raise ForestError(f"{name}: {len(np.unique(given))} class; wanted two or more")
        return np.asarray(given)

    def _keep_surprise(self, forest: Trees, held_out: Floats | None) -> None:
        """Remember how surprising the training trees were to models that had not seen them."""
        self.n_nodes_seen_ = forest.n_nodes
        share = np.linspace(0.0, 1.0, N_QUANTILES)
        self.surprise_quantiles_ = np.zeros(0) if held_out is None else np.quantile(held_out, share)

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        classes, at = self.classes_, self.surprise_quantiles_
        if classes.dtype.kind not in "biufU" or not classes.dtype.isnative:
            raise ValueError(f"the classes are of {classes.dtype}; wanted numbers or text")
        if classes.dtype.kind == "f" and not np.isfinite(classes).all():
            raise ValueError("a class is not a number")
        if at.dtype != np.float64:
            raise ValueError(f"surprise_quantiles_ is of {at.dtype}; wanted float64")
        if classes.ndim != 1 or len(classes) < 2 or not np.array_equal(np.unique(classes), classes):
            raise ValueError("the classes must be two or more, in order")
        if at.shape not in ((0,), (N_QUANTILES,)) or not np.isfinite(at).all() or (np.diff(at) < 0).any():
            raise ValueError("the surprise of the training trees makes no sense")
        if not isinstance(self.temperature_, float) or not 1e-6 < self.temperature_ < 1e6:
            raise ValueError("the temperature must be a number above zero")
        if not isinstance(self.n_nodes_seen_, int) or self.n_nodes_seen_ < 1:
            raise ValueError("the number of nodes seen must be one or more")
        return self

    # ---- prediction ---------------------------------------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> Floats:
        """Log-probability of each class of each tree, columns as in `classes_`."""
        check_is_fitted(self, "classes_")
        forest = self._renumbered(self._given(X))
        if not forest.n_trees:
            return np.empty((0, len(self.classes_)))
        log_proba = soften(self._log_proba(forest), self.temperature_)
        if np.isnan(log_proba).any():
            raise ArboraError(f"{type(self).__name__}: its weights are so large that no class has a probability")
        return log_proba

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class of each tree, columns as in `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each tree."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def query(self, X: Any, n: int = 1) -> NDArray[np.int64]:
        """The trees most worth labelling next (active learning): uncertain ones that are unlike each other.

        With few known classes, a random choice can be better; the documentation has figures.

        Parameters
        ----------
        X : Forest, or what makes one
            Trees without classes.
        n : int, default 1
            How many to ask for.

        Returns
        -------
        ndarray of int
            Their numbers, the one to ask first in front.
        """
        check_count("n", n)
        codes = self.transform(X) if hasattr(self, "transform") else None
        return most_telling(self.predict_proba(X), codes, n)

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of trees whose class is found; y left out is the forest's own target.

        Parameters
        ----------
        X : Forest, or what makes one
            The trees.
        y : array or None, default None
            Class of each tree; None takes the target of the forest.
        sample_weight : array of shape (n_trees,) or None, default None
            Weight of each tree.

        Returns
        -------
        float
            The score.
        """
        forest = self._given(X, at_least=1)
        true = class_column(forest.target if y is None else y)
        if true.shape != (forest.n_trees,):
            raise ForestError(f"{type(self).__name__}: no class for each tree; give y, or a forest with a target")
        right = self.predict(forest) == true
        weight = check_weight(sample_weight, forest.n_trees)
        return float(np.average(right, weights=weight))

    # ---- trees unlike any seen ----------------------------------------------------------------------------------

    def surprise(self, X: Any) -> Floats:
        """How improbable each tree is, whatever its class, in nats per node, or per pattern where patterns are read.

        A label never seen in training counts as one of the nodes seen there: log(n_nodes_seen_) nats.  A pattern never
        seen counts as one of all those seen.
        """
        check_is_fitted(self, "classes_")
        forest = self._renumbered(self._given(X))
        found = self._surprise(forest)
        if found is None:
            raise ForestError(
                f"{type(self).__name__}: its encoder gives no probability to trees; use patterns or a mixture"
            )
        return found

    def is_novel(self, X: Any) -> NDArray[np.bool_]:
        """Whether a tree is more surprising than all but a share `novelty` of the training trees, when held out."""
        found = self.surprise(X)
        if self.novelty is None or not len(self.surprise_quantiles_):
            raise ForestError(
                f"{type(self).__name__}: no training tree was held out to compare with; set novelty to a share, have "
                f"{N_FOLDS} trees or more of each class, and fit again"
            )
        check_number("novelty", self.novelty, 0.0, 1.0)
        at = np.interp(1.0 - self.novelty, np.linspace(0.0, 1.0, N_QUANTILES), self.surprise_quantiles_)
        return np.asarray(found > at)

    def _surprise(self, forest: Forest) -> Floats | None:
        likelihood = self._log_likelihood(forest)
        return None if likelihood is None else surprise_of(likelihood, forest, self.n_nodes_seen_)


def surprise_of(log_likelihood: Floats, forest: Forest, n_nodes_seen: int) -> Floats:
    """Nats a node of each tree; an unseen label, summed out of the likelihood, costs log(n_nodes_seen)."""
    nats = unseen_by_tree(forest) * np.log(max(n_nodes_seen, 2)) - log_likelihood
    # A tree that cannot be: a number beyond all others, because an infinity has no quantile.
    return np.minimum(nats / np.maximum(forest.sizes, 1), 1e300)


def split_off(forest: Trees, train: NDArray[np.int64], test: NDArray[np.int64]) -> tuple[Forest, Forest]:
    """Two parts of a forest, with no more labels than the first has: what else the second holds is unseen."""
    part = forest.take(train)
    used = np.unique(part.label[part.label >= 0])
    words = [forest.vocabulary[m] for m in used]
    return part.with_vocabulary(words), forest.take(test).with_vocabulary(words)
