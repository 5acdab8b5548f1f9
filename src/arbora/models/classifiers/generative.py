"""GenerativeTreeClassifier: a hidden tree, or a mixture of them, for each class, and Bayes' rule."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...errors import NoveltyUnknownWarning, SettingError, warn
from ...forest.forest import Forest
from ...progress import Progress
from ..file_checks import check_array, check_settings
from ..hidden_tree.mixture import HiddenTreeMixture
from ..hidden_tree.passes import log_sum
from ..hidden_tree.single import HiddenTree
from . import readout as ro
from .forest_classifier import ForestClassifier, TrainingSet, split_off, surprise_of

Floats = NDArray[np.float64]


class GenerativeTreeClassifier(ForestClassifier):
    """Classify trees by the class whose own model makes a tree most probable.

    Parameters
    ----------
    model : HiddenTreeMixture, HiddenTree or None, default None
        Model of each class; None is a hidden tree of 4 states.  All classes share labels and slots.  With a prior above
        one, a label that only other classes have is improbable, not impossible.
    class_prior : "uniform", array or None, default None
        Prior of the classes: None uses their shares of the training trees, "uniform" equal shares, an array one
        probability for each of `classes_`.
    calibration : {"temperature"} or None, default None
        "temperature" makes probabilities as certain as held-out trees justify.
    novelty : float or None, default 0.01
        `is_novel` marks trees more surprising than all but this share of the training trees.  Each training tree is
        judged by models that have not seen it, which takes 3 more fits of every model; calibration uses the same fits.
        None leaves it out.
    random_state : int, Generator or None, default None
        Seed; it replaces that of the model.
    verbose : int, default 0
        Whether to show progress, model by model.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    models_ : list
        The fitted model of each class.
    class_prior_ : ndarray
        Prior probability of each class.
    temperature_ : float
        Divisor of log-probabilities.
    surprise_quantiles_ : ndarray
        Quantiles of the surprise of training trees; empty if `is_novel` is not available.

    Examples
    --------
    >>> from arbora import GenerativeTreeClassifier
    >>> trees = [("a", ["b"]), ("a", ["b", "b"]), ("c", ["d"]), ("c", ["d", "e"])]
    >>> model = GenerativeTreeClassifier(novelty=None, random_state=0).fit(trees, ["x", "x", "y", "y"])
    >>> model.predict([("a", ["b"]), ("c", ["e"])]).tolist()
    ['x', 'y']
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "classes_", "class_prior_", "temperature_", "surprise_quantiles_", "n_nodes_seen_"),
        "provenance_",
    )

    def __init__(
        self,
        model: Any = None,
        *,
        class_prior: Any = None,
        calibration: str | None = None,
        novelty: float | None = 0.01,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.model = model
        self.class_prior = class_prior
        self.calibration = calibration
        self.novelty = novelty
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, known: TrainingSet) -> None:
        """Fit a model to the trees of each class."""
        forest, target, weight, rng = known
        self.classes_, true = np.unique(target, return_inverse=True)
        self.vocabulary_ = forest.vocabulary
        self.class_prior_ = self._new_prior(np.bincount(true, weight).astype(np.float64))
        self.temperature_, surprise = 1.0, None
        if self.calibration is not None or self._can_judge_novelty(np.bincount(true)):
            log_proba, surprise = self._held_out(forest, true, weight, rng)
            if self.calibration is not None:
                self.temperature_ = ro.fit_temperature(log_proba, true, weight)
        self.models_ = self._fit_models(forest, true, weight, rng)
        self._keep_surprise(forest, None if self.novelty is None else surprise)

    def _can_judge_novelty(self, n_trees: NDArray[np.int64]) -> bool:
        """Whether novelty is asked for and every class has trees enough to hold some out; a warning if it has not."""
        smallest = int(n_trees.argmin())
        if self.novelty is None or n_trees[smallest] >= ro.N_FOLDS:
            return self.novelty is not None
        warn(
            f"{n_trees[smallest]} trees of the class {self.classes_[smallest]}: too few to hold some out of every "
            f"class in turn, so novel trees cannot be detected; have {ro.N_FOLDS} or more of each",
            NoveltyUnknownWarning,
        )
        return False

    def _new_prior(self, count: Floats) -> Floats:
        if self.class_prior is None:
            return np.asarray(count / count.sum())
        if isinstance(self.class_prior, str) and self.class_prior == "uniform":
            return np.full(len(count), 1.0 / len(count))
        try:
            prior = np.asarray(self.class_prior, np.float64)
        except (TypeError, ValueError):
            prior = np.zeros(0)
        if prior.shape != count.shape or not (prior > 0).all() or not np.isclose(prior.sum(), 1.0):
            raise SettingError(
                f"class_prior={self.class_prior!r}; wanted None, 'uniform', or {len(count)} probabilities above zero "
                f"that sum to one, in the order of the classes"
            )
        return prior

    def _fit_models(
        self, forest: Forest, true: NDArray[np.int64], weight: Floats | None, rng: np.random.Generator
    ) -> list[Any]:
        """One model a class, over the labels and slots of all of them."""
        prototype = HiddenTree(4, tol=0.01) if self.model is None else self.model
        if not isinstance(prototype, HiddenTreeMixture):  # a HiddenTree is one
            raise SettingError(f"model={self.model!r}; wanted a HiddenTree, a HiddenTreeMixture, or None")
        n_slots = max(1, forest.n_slots) if prototype.n_slots is None else prototype.n_slots
        models = []
        with Progress("fitting a model of each class", len(self.classes_), bool(self.verbose)) as progress:
            for c in range(len(self.classes_)):
                mine = np.flatnonzero(true == c)
                seed = int(rng.integers(2**31 - 1))
                model = clone(prototype).set_params(n_slots=n_slots, random_state=seed)
                own = None if weight is None else weight[mine]
                if own is not None and own.sum() <= 0:
                    raise SettingError(f"all trees of the class {self.classes_[c]} weigh nothing; leave them out")
                models.append(model.fit_among(forest, mine, own))
                progress.advance()
        return models

    def _held_out(
        self, forest: Forest, true: NDArray[np.int64], weight: Floats | None, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Log-probabilities of the classes, and surprise, of each tree by models that have not seen it."""
        log_proba = np.empty((forest.n_trees, len(self.classes_)))
        surprise = np.empty(forest.n_trees)
        folds = ro.folds(int(rng.integers(2**31 - 1)))
        for train, test in folds.split(np.zeros(len(true)), true):
            part, held = split_off(forest, train, test)
            self.models_ = self._fit_models(part, true[train], None if weight is None else weight[train], rng)
            log_proba[test] = self._log_proba(held)
            surprise[test] = surprise_of(self._log_likelihood(held), held, part.n_nodes)
        return log_proba, surprise

    def _log_joint(self, forest: Forest) -> Floats:
        columns = np.column_stack([model.score_samples(forest) for model in self.models_])
        return np.asarray(columns + np.log(self.class_prior_))

    def _log_proba(self, forest: Forest) -> Floats:
        joint = self._log_joint(forest)
        impossible = ~np.isfinite(joint.max(axis=1))
        joint[impossible] = np.log(self.class_prior_)  # no class can produce the tree
        return np.asarray(joint - log_sum(joint)[:, None])

    def _log_likelihood(self, forest: Forest) -> Floats:
        return np.asarray(log_sum(self._log_joint(forest)))

    # ---- files --------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        header["model_params"] = None if self.model is None else self.model._plain_params()
        header["models"] = []
        for c, model in enumerate(self.models_):
            head, more = model._pack()
            header["models"].append(head)
            arrays |= {f"model{c}.{name}": value for name, value in more.items()}
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        from .. import restore

        super()._restore(header, arrays)
        check_array("class_prior_", self.class_prior_, np.float64, self.classes_.shape, 1e-300, 1.0)
        if len(header["models"]) != len(self.classes_) or not np.isclose(self.class_prior_.sum(), 1.0):
            raise ValueError("classes and models do not fit")
        self.models_ = [restore(head, ro.below(f"model{c}", arrays)) for c, head in enumerate(header["models"])]
        if not all(isinstance(model, HiddenTreeMixture) for model in self.models_):
            raise ValueError("the model of a class is no hidden tree, nor a mixture of them")
        if any(model.vocabulary_ != self.vocabulary_ for model in self.models_):
            raise ValueError("the models of the classes have different labels")
        if header["model_params"] is not None:
            check_settings(type(self.models_[0]), header["model_params"])
            self.model = type(self.models_[0])(**header["model_params"])
        return self
