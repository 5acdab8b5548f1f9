"""`set_output` of transformers whose rows are sparse: data frames with sparse columns."""

from importlib import import_module
from typing import Any, Literal, Self

from scipy import sparse

from ..errors import MissingDependencyError, SettingError
from ..frames import frame


class SparseFrames:
    """What `transform` returns by `set_output`; scikit-learn's own refuses sparse rows.

    The global setting of scikit-learn is not looked at, since models count patterns by these transformers themselves.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        above: Any = super()
        above.__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default None
            "default" is an array, sparse or dense.  "pandas" is a data frame whose columns have the names of
            `get_feature_names_out`, and are sparse if the rows are.  "polars", which has no sparse columns, takes dense
            rows only.  None changes nothing.

        Returns
        -------
        Self
            The transformer itself.
        """
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise SettingError(f'transform={transform!r}; wanted "default", "pandas" or "polars"')
            self._sklearn_output_config = {"transform": transform}  # as scikit-learn's clone copies it
        return self

    def _framed(self, rows: Any) -> Any:
        """Rows as `set_output` chose."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        if chosen == "default":
            return rows
        mine: Any = self
        names = [str(name) for name in mine.get_feature_names_out()]
        if not sparse.issparse(rows):
            return frame(dict(zip(names, rows.T, strict=True)), chosen)
        if chosen == "polars":
            raise SettingError('transform="polars": polars has no sparse columns; choose "pandas", or dense rows')
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingDependencyError('transform="pandas" needs pandas; pip install pandas') from None
        return pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(rows), columns=names)
