"""Tables of the papers, ours beside theirs, each by one command: ``python -m arbora.reproduce NAME``."""

from collections.abc import Callable

from .hidden_trees import defaults, table1_finite, table2_finite
from .nhcm import banana
from .table import Table

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "000-table1-finite": table1_finite,
    "000-table2-finite": table2_finite,
    "defaults": defaults,
    "004-banana": banana,
}

__all__ = ["EXPERIMENTS", "Table"]
