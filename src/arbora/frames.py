"""Columns as a data frame of pandas or polars, where one is installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from .errors import ArboraError, MissingDependencyError

LIBRARIES = ("pandas", "polars")


def frame(columns: Mapping[str, Any], library: str = "pandas", index: Sequence[str] | None = None) -> Any:
    """A data frame of these columns; `index` names the rows: an index of pandas, a first column ``name`` of polars."""
    if library not in LIBRARIES:
        raise ArboraError(f'library={library!r}; wanted "pandas" or "polars"')
    try:
        module = import_module(library)
    except ImportError:
        raise MissingDependencyError(f"a data frame of {library} needs {library}; pip install {library}") from None
    named = {} if index is None else {"name": list(index)}
    if library == "polars":
        return module.DataFrame({**named, **columns})
    table = module.DataFrame({**named, **columns})
    return table if index is None else table.set_index("name")
