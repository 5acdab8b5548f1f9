"""What every estimator over forests shares: checking of input, saving and loading, provenance."""

import hashlib
import logging
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numba
import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import ArboraError, ForestError
from ..forest import UNSEEN, Forest, as_forest

log = logging.getLogger(__name__)


class ForestEstimator(BaseEstimator):
    """A scikit-learn estimator whose samples are trees; subclasses name what they save."""

    #: Fitted attributes written to a model file: arrays, numbers, text, or None.
    _saved: ClassVar[tuple[str, ...]] = ()
    vocabulary_: Any

    def _check_forest(self, X: Any, at_least: int = 1) -> Forest:
        """X as a Forest: one as it is, nested trees converted, file names read."""
        forest = read_or_convert(X)
        if forest.n_trees < at_least:
            raise ForestError(
                f"{type(self).__name__}: {forest.n_trees} trees; wanted at least {at_least}: check what was read"
            )
        return forest

    def _in_training_terms(self, X: Any) -> Forest:
        """X with labels numbered as in training; labels never seen there are reported and summed out."""
        check_is_fitted(self, "vocabulary_")
        forest = self._check_forest(X, at_least=0)
        known = forest.with_vocabulary(self.vocabulary_)
        n_unseen = int((known.label == UNSEEN).sum())
        if n_unseen:
            log.warning("%d of %d nodes have labels never seen in training; summed out", n_unseen, forest.n_nodes)
        return known

    def _record_provenance(self, forest: Forest) -> None:
        from .. import __version__

        self.provenance_: dict[str, Any] = {
            "arbora": __version__,
            "model": type(self).__name__,
            "params": self._plain_params(),
            "n_trees": forest.n_trees,
            "n_nodes": forest.n_nodes,
            "data_sha256": fingerprint(forest),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "sklearn": sklearn.__version__,
            "numba": numba.__version__,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file of arrays and JSON; read it back with `arbora.load`."""
        from ..io.container import write_container

        check_is_fitted(self)
        header, arrays = self._pack()
        write_container(path, kind="model", version=MODEL_VERSION, header=header, arrays=arrays)

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON can hold them."""
        return {key: plain(value) for key, value in self.get_params(deep=False).items()}

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted model as JSON and arrays; `_restore` undoes it."""
        header: dict[str, Any] = {"model": type(self).__name__, "params": self._plain_params(), "attributes": {}}
        arrays: dict[str, NDArray[Any]] = {}
        for name in self._saved:
            value = getattr(self, name, None)
            if isinstance(value, np.ndarray):
                arrays[name] = value
            elif isinstance(value, dict) and value and all(isinstance(x, np.ndarray) for x in value.values()):
                arrays.update({f"{name}.{key}": x for key, x in value.items()})
            else:
                header["attributes"][name] = plain(value)
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Put saved attributes back."""
        for name in self._saved:
            parts = {key.split(".", 1)[1]: x for key, x in arrays.items() if key.startswith(f"{name}.")}
            value = arrays[name] if name in arrays else parts or header["attributes"].get(name)
            setattr(self, name, value)
        if not isinstance(self.vocabulary_, list) or not all(isinstance(word, str) for word in self.vocabulary_):
            raise ValueError("the vocabulary must be a list of labels")
        self.vocabulary_ = tuple(self.vocabulary_)
        return self


MODEL_VERSION = 1


def read_or_convert(X: Any) -> Forest:
    """A Forest from a Forest, from a list of nested trees, or from files."""
    if isinstance(X, Forest):
        return X
    if isinstance(X, Path) or (isinstance(X, str) and (os.path.exists(X) or any(c in X for c in "*?["))):
        from ..io import read

        return read(X)
    if _all_files(X):
        from ..io import read

        return read(list(X))
    return as_forest(X)


def _all_files(X: Any) -> bool:
    """Whether X is a list of names of existing files, rather than of one-node trees."""
    if not isinstance(X, Sequence) or isinstance(X, (str, bytes)) or not len(X):
        return False
    return all(isinstance(x, Path) or (isinstance(x, str) and os.path.isfile(x)) for x in X)


def fingerprint(forest: Forest) -> str:
    """SHA-256 of the trees and the vocabulary."""
    digest = hashlib.sha256("\0".join(forest.vocabulary).encode("utf-8", "surrogatepass"))
    for column in forest.arrays:
        digest.update(column.data)
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """A value as JSON can hold it; refuses what it cannot."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # the state of a generator is not part of a model
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise ArboraError(f"cannot save a value of type {type(value).__name__}; only numbers, text, lists and arrays")
