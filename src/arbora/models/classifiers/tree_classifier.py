"""TreeClassifier: patterns or codes of trees (Bacciu and Castellana 2018), and a read-out that separates classes."""

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ...errors import ForestError, NotConvergedWarning, SettingError
from ...forest.forest import Forest
from ...forest.sharing import share
from ...progress import Progress
from ..file_checks import check_array
from ..hidden_tree.mixture import HiddenTreeMixture
from ..on_page import OnPage
from ..patterns.transformer import TreePatterns
from . import pattern_surprise as ps
from . import readout as ro
from .encoders import has_patterns, make_encoder, pack_encoder, restore_encoder, seeded
from .forest_classifier import ForestClassifier, TrainingSet, split_off, surprise_of

Floats = NDArray[np.float64]


class TreeClassifier(ForestClassifier):
    """Classify trees by a linear read-out on their patterns, or by any read-out on other codes.

    Parameters
    ----------
    encoder : "mixture", transformer of forests or None, default None
        What turns trees into rows.  None is a `TreePatterns` with seven families, logarithms of counts, tf-idf weights
        and rows of length one.  "mixture" is a `HiddenTreeMixture` with two components per class, 4 states and
        ``encoding="score"``.  The encoder is fitted without the classes.
    readout : {"auto", "logistic", "mlp"} or classifier, default "auto"
        "auto" is "logistic" (logistic regression) on patterns and "mlp" on other codes.  "mlp" is a neural network of
        one hidden layer, as in Bacciu and Castellana, and much slower.  Any scikit-learn classifier will do.
    hidden_units : int or sequence of int, default 100
        Hidden units of the network.  Of several, 3-fold cross-validation on the codes takes the best.
    calibration : {"temperature"} or None, default None
        "temperature" makes probabilities as certain as held-out trees justify, at 3 more fits of the read-out.
    class_weight : "balanced", dict or None, default None
        Weights of the classes; None weighs all trees alike.
    novelty : float or None, default 0.01
        `is_novel` marks trees more surprising than all but this share of the training trees.  Each training tree is
        judged by the others: on patterns by leaving it out, which costs little; else by a mixture that has not seen it,
        at 3 more fits of the encoder.  None leaves it out.
    random_state : int, Generator or None, default None
        Seed for encoder and read-out where they have none.
    verbose : int, default 0
        Whether to show progress, part by part.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in order.
    encoder_, readout_ : estimators
        The fitted parts.
    columns_ : ndarray
        Columns of the codes that the read-out uses: those that are not zero in every training tree.
    class_count_ : ndarray of shape (n_classes, n_columns) or None
        Training trees of each class that have each pattern; None without patterns.
    temperature_ : float
        Divisor of log-probabilities.
    surprise_quantiles_ : ndarray
        Quantiles of the surprise of training trees; empty if `is_novel` is not available.

    References
    ----------
    Bacciu and Castellana (2018), Mixture of hidden Markov models as tree encoder.

    Examples
    --------
    >>> from arbora import TreeClassifier
    >>> trees = [("a", ["b"]), ("a", ["b", "b"]), ("c", ["d"]), ("c", ["d", "e"])]
    >>> model = TreeClassifier(random_state=0).fit(trees, ["x", "x", "y", "y"])
    >>> model.predict([("a", ["b", "b", "b"]), ("c", ["e"])]).tolist()
    ['x', 'y']
    """

    _saved: ClassVar[tuple[str, ...]] = (
        *("vocabulary_", "classes_", "columns_", "temperature_", "surprise_quantiles_", "n_nodes_seen_", "provenance_"),
        "class_count_",
    )

    encoder_: Any
    class_count_: NDArray[np.int64] | None

    def __init__(
        self,
        encoder: Any = None,
        readout: Any = "auto",
        *,
        hidden_units: int | Sequence[int] = 100,
        calibration: str | None = None,
        class_weight: Any = None,
        novelty: float | None = 0.01,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.encoder = encoder
        self.readout = readout
        self.hidden_units = hidden_units
        self.calibration = calibration
        self.class_weight = class_weight
        self.novelty = novelty
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ------------------------------------------------------------------------------------------------

    def _learn(self, known: TrainingSet) -> None:
        """Fit the encoder to the trees, then the read-out to their codes and classes."""
        forest, target, given, rng = known
        encoder_seed, readout_seed = (int(seed) for seed in rng.integers(2**31 - 1, size=2))
        classes = np.unique(target)
        encoder = make_encoder(self.encoder, len(classes), encoder_seed)
        if has_patterns(encoder):
            self._tell_of_content(forest, "labels and shapes, as its encoder does")
        readout = self._new_readout(encoder, target, readout_seed)
        weight = self._readout_weight(readout, target, classes, given)
        self.classes_ = classes
        with Progress("fitting the encoder", 3, bool(self.verbose)) as progress:
            codes = self._fit_encoder(encoder, forest, given)
            progress.advance("fitting the read-out")
            self._fit_readout(readout, forest, codes, target, weight, readout_seed)
            progress.advance("judging trees held out")
            self.class_count_ = None
            if has_patterns(self.encoder_):
                self._keep_surprise(forest, self._left_out_surprise(forest, target))
            else:
                self._keep_surprise(forest, self._held_out_surprise(forest, encoder_seed))
            progress.advance()

    def _fit_encoder(self, encoder: Any, forest: Forest, weight: Floats | None) -> Any:
        """Fit the encoder; the columns of the codes that the read-out will see."""
        takes_weight = weight is not None and has_fit_parameter(encoder, "sample_weight")
        with _patience(NotConvergedWarning, self.encoder is None or isinstance(self.encoder, str)):
            self.encoder_ = encoder.fit(forest, sample_weight=weight) if takes_weight else encoder.fit(forest)
        self.vocabulary_ = getattr(self.encoder_, "vocabulary_", forest.vocabulary)
        self.columns_ = np.zeros(0, np.int64)
        codes = self._codes(forest)
        self.columns_ = np.flatnonzero(np.bincount(codes.indices, minlength=codes.shape[1]))
        if not len(self.columns_):
            raise ForestError(
                "the codes of all trees are zero, so there is nothing to learn from; use patterns or a mixture"
            )
        return codes[:, self.columns_]

    def _fit_readout(
        self, readout: Any, forest: Forest, codes: Any, target: NDArray[Any], weight: Floats | None, seed: int
    ) -> None:
        self.temperature_ = 1.0
        if self.calibration == "temperature":
            self.temperature_ = self._fit_temperature(readout, forest, codes, target, weight, seed)
        with _patience(ConvergenceWarning, isinstance(self.readout, str)):
            if self._readout_name(self.encoder_) == "logistic":
                same = np.arange(forest.n_trees)
                if isinstance(self.encoder_, TreePatterns) or not forest.content_kinds:  # codes of labels alone
                    same = share(forest.arrays, max(1, forest.n_slots))[0].tree_id
                rows, total = ro.merge(target, same, weight)
                self.readout_ = readout.fit(codes[rows], target[rows], sample_weight=total)
            else:
                self.readout_ = readout.fit(codes, target, **_as_fit_params(weight))

    def _readout_name(self, encoder: Any) -> str | None:
        """Which read-out of ours is used with this encoder; None for one that was given."""
        if not isinstance(self.readout, str):
            return None
        if self.readout == "auto":
            return "logistic" if isinstance(encoder, TreePatterns) else "mlp"
        return self.readout

    def _new_readout(self, encoder: Any, target: NDArray[Any], seed: int) -> Any:
        name = self._readout_name(encoder)
        if name is not None:
            if name not in ro.READOUTS:
                names = ", ".join(map(repr, ("auto", *ro.READOUTS)))
                raise SettingError(f"readout={self.readout!r}; wanted {names}, or a classifier of scikit-learn's")
            return ro.make_readout(name, self.hidden_units, target, seed, getattr(encoder, "norm", None) == "l2")
        if not (hasattr(self.readout, "fit") and hasattr(self.readout, "predict_proba")):
            raise SettingError(f"readout={self.readout!r}; wanted a classifier with fit and predict_proba")
        return seeded(clone(self.readout), seed)

    def _readout_weight(
        self, readout: Any, target: NDArray[Any], classes: NDArray[Any], given: Floats | None
    ) -> Floats | None:
        """Weights of the trees for the read-out: the given ones times those of the classes."""
        if self.class_weight is None and given is None:
            return None
        inner = getattr(readout, "estimator", readout)  # of a search, what it searches
        if not has_fit_parameter(inner, "sample_weight"):
            raise SettingError(
                f"{type(inner).__name__} takes no weights of trees, so neither class_weight nor sample_weight can be "
                f"obeyed; leave them out, use another read-out, or a scikit-learn in which it does"
            )
        if not (self.class_weight in (None, "balanced") or isinstance(self.class_weight, dict)):
            raise SettingError(f"class_weight={self.class_weight!r}; wanted None, 'balanced', or weights by class")
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(classes.tolist()):
            unknown = sorted(map(str, set(self.class_weight) - set(classes.tolist())))
            raise SettingError(f"class_weight names {', '.join(unknown)}, which is no class of the trees")
        weight = np.asarray(compute_sample_weight(self.class_weight, target), np.float64)
        return weight if given is None else weight * given

    def _fit_temperature(
        self, readout: Any, forest: Forest, codes: Any, target: NDArray[Any], weight: Floats | None, seed: int
    ) -> float:
        true = np.searchsorted(self.classes_, target)
        with _patience(ConvergenceWarning, isinstance(self.readout, str)):
            if isinstance(self.encoder_, TreePatterns):
                return ro.fit_temperature(self._held_out_log_proba(readout, forest, target, weight, seed), true, weight)
            proba = cross_val_predict(
                clone(readout),
                codes,
                target,
                cv=ro.folds(seed),
                method="predict_proba",
                params=_as_fit_params(weight),
            )
        with np.errstate(divide="ignore"):
            return ro.fit_temperature(np.log(proba), true, weight)

    def _held_out_log_proba(
        self, readout: Any, forest: Forest, target: NDArray[Any], weight: Floats | None, seed: int
    ) -> Floats:
        """Log-probabilities of trees held out, by patterns that were found without them as those of new trees are.

        Patterns that only held-out trees have would make their rows longer, and all scores too small.
        """
        log_proba = np.empty((forest.n_trees, len(self.classes_)))
        for train, test in ro.folds(seed).split(np.zeros(len(target)), target):
            part, held = split_off(forest, train, test)
            encoder = clone(self.encoder_)
            rows = encoder.fit_transform(part)
            fitted = clone(readout).fit(
                rows, target[train], **_as_fit_params(None if weight is None else weight[train])
            )
            log_proba[test] = ro.log_proba_of(fitted, encoder.transform(held))
        return log_proba

    def _left_out_surprise(self, forest: Forest, target: NDArray[Any]) -> Floats | None:
        """Surprise of each training tree by the patterns of all the others."""
        rows, n_distinct = self._patterns(forest)
        true = np.searchsorted(self.classes_, target)
        self.class_count_ = ps.count_by_class(rows, true, len(self.classes_))
        if self.novelty is None:
            return None
        return ps.surprise_left_out(rows, n_distinct, self.class_count_, true, self.encoder_.min_trees)

    def _patterns(self, forest: Forest) -> tuple[Any, NDArray[np.int64]]:
        """Known patterns of each tree, and how many distinct ones it has in all."""
        (known,) = self.encoder_.known(forest.with_vocabulary(self.encoder_.vocabulary_))
        return known.counts, known.n_distinct

    def _held_out_surprise(self, forest: Forest, seed: int) -> Floats | None:
        """Surprise of each training tree by an encoder fitted to the others."""
        if self.novelty is None or not hasattr(self.encoder_, "score_samples"):
            return None
        surprise = np.empty(forest.n_trees)
        parts = KFold(min(ro.N_FOLDS, forest.n_trees), shuffle=True, random_state=seed)
        for train, test in parts.split(np.zeros(forest.n_trees)):
            part, held = split_off(forest, train, test)
            other = clone(self.encoder_)
            if "checkpoint" in other.get_params():
                other.set_params(checkpoint=None)  # it belongs to the fit to all trees
            with _patience(NotConvergedWarning, True):  # that fit has said so, if it is so
                likelihood = other.fit(part).score_samples(held)
            surprise[test] = surprise_of(likelihood, held, part.n_nodes)
        return surprise

    # ---- prediction ---------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """The codes of the trees, all columns of them, as the encoder gives them."""
        check_is_fitted(self, "encoder_")
        return self.encoder_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`."""
        check_is_fitted(self, "encoder_")
        return np.asarray(self.encoder_.get_feature_names_out())

    def tree_encoder(self) -> Any:
        """The fitted encoder, if its columns have names."""
        return self.encoder_ if hasattr(self.encoder_, "get_feature_names_out") else None

    def hidden_trees(self) -> Any:
        """The mixture of hidden trees that encodes, if one does."""
        return self.encoder_.hidden_trees() if isinstance(self.encoder_, OnPage) else None

    def page_parts(self) -> frozenset[str]:
        """As for every model; parameters only of hidden trees."""
        return super().page_parts() - (frozenset() if self.hidden_trees() is not None else {"parameters"})

    def _codes(self, forest: Forest) -> Any:
        from scipy import sparse

        codes = sparse.csr_array(self.encoder_.transform(forest))
        # Single precision is plenty for sums of probabilities, and twice as quick for the network.
        codes = codes.astype(np.float32) if self._readout_name(self.encoder_) == "mlp" else codes
        return codes[:, self.columns_] if len(self.columns_) else codes

    def _log_proba(self, forest: Forest) -> Floats:
        return ro.log_proba_of(self.readout_, self._codes(forest))

    def _log_likelihood(self, forest: Forest) -> Floats | None:
        if not hasattr(self.encoder_, "score_samples"):
            return None
        return np.asarray(self.encoder_.score_samples(forest))

    def _surprise(self, forest: Forest) -> Floats | None:
        if self.class_count_ is None:
            return super()._surprise(forest)
        return ps.surprise_of_patterns(*self._patterns(forest), self.class_count_)

    # ---- files --------------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._pack()
        arrays |= pack_encoder(self, header)
        header["readout"], more = ro.pack(self.readout_)
        # Of a search that was given, the file keeps what it found.
        own = type(self.readout).__name__ == header["readout"]["readout"]
        header["readout_given"] = ro.describe(self.readout) if own else header["readout"]
        return header, arrays | {f"readout.{name}": value for name, value in more.items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        super()._restore(header, arrays)
        n_columns = restore_encoder(self, header, arrays)
        check_array("columns_", self.columns_, np.int64, (None,), 0, n_columns - 1)
        if not len(self.columns_):
            raise ValueError("the read-out sees no column of the codes")
        self.readout_ = ro.unpack(header["readout"], ro.below("readout", arrays), self.classes_, len(self.columns_))
        self._check_class_count(n_columns)
        if self.encoder is None and isinstance(self.encoder_, HiddenTreeMixture):
            self.encoder = "mixture"  # of a file from when this was the default
        if isinstance(self.class_weight, dict):  # JSON has text for keys, whatever the classes are
            names = {str(name): name for name in self.classes_.tolist()}
            self.class_weight = {names[key]: value for key, value in self.class_weight.items()}
        if self.readout is None:
            self.readout = ro.blank(header["readout_given"])
        return self

    def _check_class_count(self, n_columns: int) -> None:
        """Raise unless the counts of patterns by class fit the encoder."""
        if (self.class_count_ is not None) != has_patterns(self.encoder_):
            raise ValueError("counts of patterns by class belong to an encoder of patterns, and to no other")
        if self.class_count_ is not None:
            check_array("class_count_", self.class_count_, np.int64, (len(self.classes_), n_columns), 0, 2**40)
            if not self.class_count_.any(axis=0).all():
                raise ValueError("no tree of any class has the pattern of a column")


def _as_fit_params(weight: Floats | None) -> dict[str, Floats]:
    return {} if weight is None else {"sample_weight": weight}


@contextlib.contextmanager
def _patience(warning: type[Warning], ours: bool) -> Iterator[None]:
    """Our own defaults end after a fixed number of steps at the latest, and need no warning about it."""
    with warnings.catch_warnings():
        if ours:
            warnings.simplefilter("ignore", warning)
        yield
