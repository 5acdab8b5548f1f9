"""Tables of the papers, ours beside theirs, each by one command: ``python -m arbora.reproduce NAME``."""

from collections.abc import Callable

from .bhmc import against_ward, animals, fashion
from .hidden_trees import defaults, table1_finite, table2_finite
from .nhcm import banana
from .table import Table

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "000-table1-finite": table1_finite,
    "000-table2-finite": table2_finite,
    "defaults": defaults,
    "003-animals": animals,
    "003-fashion": fashion,
    "003-defaults": against_ward,
    "004-banana": banana,
}

__all__ = ["EXPERIMENTS", "Table"]
