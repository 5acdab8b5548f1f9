"""Read-outs: the learners that turn codes of trees into classes, how sure they are, and how they are saved.

A file holds their weights and settings as arrays and JSON; nothing is ever unpickled.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import LabelBinarizer

from ...errors import ArboraError, SettingError
from ..model_file import plain
from ..settings import check_count

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

READOUTS = ("mlp", "logistic")
KINDS = {"LogisticRegression": LogisticRegression, "MLPClassifier": MLPClassifier}  # those that files hold
N_FOLDS = 3  # of Bacciu and Castellana 2018's choice of hidden units, and of calibration
MOST_WEIGHT = 1e30  # products of the weights of some layers, and sums of them, are numbers still
HOLD_OUT_FROM = 1000  # with fewer trees a held-out tenth is too small a sample to stop by

UNIT_ROWS_C = 30.0  # of logistic regression on rows of length one; 100 has the same error to half a point
MOST_UNITS = 10**5  # of a hidden layer; each has a weight for every number of a code


def make_readout(
    kind: str, hidden_units: int | Sequence[int], y: NDArray[Any], seed: int, unit_rows: bool = False
) -> Any:
    """A neural network of one hidden layer, or logistic regression, with settings that suit the number of trees.

    Several numbers of hidden units: the best by 3-fold cross-validation, as in Bacciu and Castellana 2018.  Rows of
    length one need larger weights than counts, so logistic regression holds its weights back less.
    """
    if kind == "logistic" and unit_rows:
        return LogisticRegression(C=UNIT_ROWS_C, max_iter=300, tol=1e-3, random_state=seed)
    if kind == "logistic":
        return LogisticRegression(max_iter=100, tol=1e-3, random_state=seed)
    sizes = [hidden_units] if isinstance(hidden_units, (int, np.integer)) else list(hidden_units)
    for size in sizes:
        check_count("hidden_units", size, MOST_UNITS)
    if not sizes:
        raise SettingError("hidden_units is empty; wanted a number, or several to choose from")
    smallest = int(np.unique(y, return_counts=True)[1].min())
    network = MLPClassifier(
        hidden_layer_sizes=(int(sizes[0]),),
        # Adam needs a few thousand steps: small sets of trees get small batches and no held-out trees.
        batch_size=int(np.clip(len(y) // 20, 10, 200)),
        early_stopping=len(y) >= HOLD_OUT_FROM and smallest >= 2,
        n_iter_no_change=5,
        max_iter=200,
        random_state=seed,
    )
    if len(sizes) == 1:
        return network
    if smallest < N_FOLDS:
        raise SettingError(
            f"a class has {smallest} trees; to choose among hidden_units={tuple(sizes)} by {N_FOLDS}-fold "
            f"cross-validation wants {N_FOLDS} or more in each: give one number"
        )
    grid = {"hidden_layer_sizes": [(int(size),) for size in sizes]}
    return GridSearchCV(network, grid, cv=folds(seed), error_score="raise")


def folds(seed: int) -> StratifiedKFold:
    """The folds of every cross-validation in here."""
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)


def merge(y: NDArray[Any], tree: NDArray[np.int64], weight: Floats | None = None) -> tuple[NDArray[np.int64], Floats]:
    """One row for all trees of one code (numbered by `tree`) and class: which tree stands for them, and their weight.

    To fit the rows by their weight is exact for what minimises a sum over trees, and quicker where trees repeat.
    """
    _, index = np.unique(y, return_inverse=True)
    key, first, place = np.unique(tree * (index.max() + 1) + index, return_index=True, return_inverse=True)
    return first, np.bincount(place, weight, minlength=len(key)).astype(np.float64)


# ---- calibration ----------------------------------------------------------------------------------------------------


ACTIVATIONS = {"identity": np.asarray, "logistic": expit, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}


def log_proba_of(readout: Any, codes: Any) -> Floats:
    """Log-probabilities of the classes, from the scores before they are probabilities where the read-out has them.

    The logarithm of a probability loses what lies below 1e-308; so it is the last resort, and -inf there.
    """
    found = getattr(readout, "best_estimator_", readout)
    if type(found) is LogisticRegression and not (found.solver == "liblinear" and len(found.classes_) > 2):
        return _log_softmax(found.decision_function(codes))
    if type(found) is MLPClassifier and found.out_activation_ in ("softmax", "logistic"):
        values = codes
        for x, (coef, intercept) in enumerate(zip(found.coefs_, found.intercepts_, strict=True)):
            values = np.asarray(values @ coef) + intercept
            if x < len(found.coefs_) - 1:
                values = ACTIVATIONS[found.activation](values)
        return _log_softmax(values[:, 0] if values.shape[1] == 1 else values)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(readout.predict_proba(codes), np.float64)))


def _log_softmax(score: Any) -> Floats:
    """Log-probabilities of classes from their scores; of two classes, from the score of the second alone."""
    score = np.asarray(score, np.float64)
    if score.ndim == 1:
        return np.column_stack([log_expit(-score), log_expit(score)])
    return np.asarray(log_softmax(score, axis=1))


def fit_temperature(log_proba: Floats, true: NDArray[np.int64], weight: Floats | None) -> float:
    """The temperature at which held-out log-probabilities predict best: p ** (1 / temperature), normalised.

    Above one for a learner that is too sure of itself; the order of the classes never changes.
    """
    impossible = np.isneginf(log_proba)  # no temperature would help: it counts as less probable than all others
    log_proba = np.where(impossible, log_proba[~impossible].min(initial=-690.0), log_proba)
    each = np.ones(len(true)) if weight is None else weight
    rows = np.arange(len(true))

    def loss(log_temperature: float) -> float:
        return -float(np.dot(each, soften(log_proba, float(np.exp(log_temperature)))[rows, true]))

    return float(np.exp(minimize_scalar(loss, bounds=(-4.0, 8.0), method="bounded").x))


def soften(log_proba: Floats, temperature: float) -> Floats:
    """Log-probabilities at a temperature; each row is normalised."""
    scaled = log_proba / temperature
    return np.asarray(scaled - logsumexp(scaled, axis=1, keepdims=True))


# ---- files ----------------------------------------------------------------------------------------------------------


def pack(readout: Any) -> tuple[dict[str, Any], Arrays]:
    """A fitted read-out as JSON and arrays; of a search, the best it found."""
    readout = getattr(readout, "best_estimator_", readout)
    kind = type(readout)
    if kind is LogisticRegression:
        arrays = {"coef": readout.coef_, "intercept": readout.intercept_}
    elif kind is MLPClassifier:
        arrays = {f"coef.layer{x}": coef for x, coef in enumerate(readout.coefs_)}
        arrays |= {f"intercept.layer{x}": value for x, value in enumerate(readout.intercepts_)}
    else:
        raise ArboraError(
            f"the read-out is a {kind.__name__}; files hold an MLPClassifier or a LogisticRegression: use one of them, "
            f"or save the encoder alone (encoder_.save)"
        )
    return describe(readout), arrays


def describe(readout: Any) -> dict[str, Any]:
    """Kind and settings of a read-out."""
    return {"readout": type(readout).__name__, "params": plain(readout.get_params(deep=False))}


def blank(header: dict[str, Any]) -> Any:
    """A read-out of the kind and settings that `describe` returned, not fitted."""
    if header["readout"] not in KINDS:
        raise ValueError(f"read-out {header['readout']!r} is not known")
    params = dict(header["params"])
    if "hidden_layer_sizes" in params:
        params["hidden_layer_sizes"] = tuple(params["hidden_layer_sizes"])
    model = KINDS[header["readout"]](**params)
    model._validate_params()  # of scikit-learn: raises ValueError
    return model


def unpack(header: dict[str, Any], arrays: Arrays, classes: NDArray[Any], n_columns: int) -> Any:
    """The read-out that `pack` took apart; shapes are checked, nothing is executed."""
    model = blank(header)
    n_outputs = 1 if len(classes) == 2 else len(classes)
    if isinstance(model, LogisticRegression):
        model.coef_, model.intercept_ = arrays["coef"], arrays["intercept"]
        _check_layers([model.coef_.T], [model.intercept_], n_columns, n_outputs)
    else:
        n_layers = len(arrays) // 2
        model.coefs_ = [arrays[f"coef.layer{x}"] for x in range(n_layers)]
        model.intercepts_ = [arrays[f"intercept.layer{x}"] for x in range(n_layers)]
        _check_layers(model.coefs_, model.intercepts_, n_columns, n_outputs)
        model.n_layers_, model.n_outputs_ = n_layers + 1, n_outputs
        model.out_activation_ = "logistic" if n_outputs == 1 else "softmax"
        model._label_binarizer = LabelBinarizer().fit(classes)
    model.classes_, model.n_features_in_ = classes, n_columns
    return model


def _check_layers(coefs: list[Any], intercepts: list[Any], n_in: int, n_out: int) -> None:
    """Raise unless layer fits layer, from the columns of the codes to the classes, and every weight is a number."""
    width = n_in
    for coef, intercept in zip(coefs, intercepts, strict=True):
        if {coef.dtype, intercept.dtype} - {np.dtype(np.float32), np.dtype(np.float64)}:
            raise ValueError("the weights of the read-out are of another type than numbers with a fraction")
        if coef.ndim != 2 or coef.shape[0] != width or intercept.shape != (coef.shape[1],):
            raise ValueError("the layers of the read-out do not fit each other or the codes")
        if not ((np.abs(coef) < MOST_WEIGHT).all() and (np.abs(intercept) < MOST_WEIGHT).all()):
            raise ValueError("a weight of the read-out is not a number, or too large for one")
        width = coef.shape[1]
    if width != n_out:
        raise ValueError("the read-out and the classes do not fit")


def below(name: str, arrays: Arrays) -> Arrays:
    """The arrays of a part, under the names it gave them."""
    return {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}
