"""Tables of the papers, ours beside theirs, each by one command: ``python -m arbora.reproduce NAME``."""

from collections.abc import Callable

from .hidden_trees import defaults, table1_finite, table2_finite
from .matching import matching
from .shock import shock
from .table import Table
from .unions import figure4

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "000-table1-finite": table1_finite,
    "000-table2-finite": table2_finite,
    "002-figure4": figure4,
    "002-matching": matching,
    "002-shock": shock,
    "defaults": defaults,
}

__all__ = ["EXPERIMENTS", "Table"]
