"""What every estimator shares, whatever its data: saving to one file of arrays and JSON, and being read back."""

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numba
import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import ArboraError
from .file_checks import check_told
from .on_page import OnPage
from .settings import default_of

MODEL_VERSION = 1


class SavedEstimator(OnPage, BaseEstimator):
    """A scikit-learn estimator that can be written to a file; subclasses name what they save."""

    #: Fitted attributes written to a model file: arrays, numbers, text, or None.
    _saved: ClassVar[tuple[str, ...]] = ()
    #: The same, of those that not every model has; arrays, or dicts of arrays.
    _saved_if_there: ClassVar[tuple[str, ...]] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file of arrays and JSON; read it back with `arbora.load`.

        Parameters
        ----------
        path : path
            File to write.
        """
        from ..files.container import write_container

        check_is_fitted(self)
        header, arrays = self._pack()
        write_container(path, kind="model", version=MODEL_VERSION, header=header, arrays=arrays)

    def report(
        self,
        data: Any,
        path: str | os.PathLike[str],
        *,
        target: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        group_names: Mapping[int, str] | None = None,
    ) -> None:
        """Write one self-contained HTML page on the fitted model and these data; see `arbora.report.write_report`.

        Parameters
        ----------
        data : forest or table
            The data of the report.
        path : path
            File to write.
        target : array or None, default None
            Known class of each tree or row.
        names : sequence of str or None, default None
            Names of the data.
        columns : sequence or None, default None
            Names of the columns of a table.
        group_names : mapping of int to str or None, default None
            Names of groups by number.
        """
        from ..report import write_report

        check_is_fitted(self)
        write_report(self, data, path, target=target, names=names, columns=columns, group_names=group_names)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in shown and hasattr(self, "provenance_"):
            from .notebook_view import found_html

            shown["text/html"] = found_html(self) + shown["text/html"]
        return shown

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON can hold them; None for estimators, which are saved on their own."""
        params = self.get_params(deep=False)
        # Where it is the default, content="auto" is left out: files of trees with labels alone stay as they were.
        if params.get("content") == "auto" and default_of(type(self), "content") == "auto":
            del params["content"]
        return {key: None if hasattr(value, "get_params") else plain(value) for key, value in params.items()}

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted model as JSON and arrays; `_restore` undoes it."""
        header: dict[str, Any] = {"model": type(self).__name__, "params": self._plain_params(), "attributes": {}}
        arrays: dict[str, NDArray[Any]] = {}
        for name in (*self._saved, *(name for name in self._saved_if_there if name in vars(self))):
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
        heads = {key.split(".", 1)[0] for key in arrays}
        there = [name for name in self._saved_if_there if name in heads]
        for name in (*self._saved, *there):
            parts = {key.split(".", 1)[1]: x for key, x in arrays.items() if key.startswith(f"{name}.")}
            value = arrays[name] if name in arrays else parts or header["attributes"].get(name)
            setattr(self, name, value)
        check_told({name: getattr(self, name) for name in self._saved})
        return self


def settings_text(model: BaseEstimator, but: Collection[str]) -> str:
    """The settings of a model that are not None, in words, but for some."""
    given = model.get_params(deep=False).items()
    return ", ".join(f"{key}={plain(value)}" for key, value in given if key not in but and value is not None)


def versions() -> dict[str, str]:
    """What a fitted model was made with."""
    from .. import __version__

    return {
        "arbora": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "numba": numba.__version__,
    }


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
    if callable(getattr(value, "header", None)):
        return plain(value.header())  # a value that describes itself
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise ArboraError(f"cannot save a value of type {type(value).__name__}; only numbers, text, lists and arrays")
