"""Fitted parameters of tables: an attribute each, and those of columns of content together in one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .emissions.columns import CONTENT, Columns
from .tree_model import named

Floats = NDArray[np.float64]

__all__ = ["CONTENT", "by_column", "store_table", "stored_table"]


def store_table(model: Any, name: str, values: Floats) -> None:
    """Keep a fitted array; "content_.c0.mean" is an entry of `content_`."""
    attribute, _, key = name.partition(".")
    setattr(model, attribute, {**(getattr(model, attribute, None) or {}), key: values} if key else values)


def stored_table(model: Any, name: str) -> Floats:
    """A fitted array."""
    attribute, _, key = name.partition(".")
    held = getattr(model, attribute, None)
    if key:
        held = held.get(key) if isinstance(held, dict) else None
    if held is None:
        raise ValueError(f"there is no {name}")
    return np.asarray(held)


def by_column(model: Any, emission: Any) -> dict[str, dict[str, Floats]]:
    """Parameters of each column of content, component axis first."""
    if not isinstance(emission, Columns):
        return {}
    tables = emission.tables(1)
    found: dict[str, dict[str, Floats]] = {}
    for x, (column, _) in enumerate(emission.families):
        every = named(tables[f"c{x}"]).values()
        found[column] = {table.name.rpartition(".")[2].strip("_"): stored_table(model, table.name) for table in every}
    return found
