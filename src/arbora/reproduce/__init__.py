"""Tables of the papers, ours beside theirs, each by one command: ``python -m arbora.reproduce NAME``."""

from collections.abc import Callable

from .encoder import table2 as encoder_table2
from .encodings import encodings
from .hidden_trees import defaults, table1_finite, table2_finite
from .table import Table

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "000-table1-finite": table1_finite,
    "000-table2-finite": table2_finite,
    "001-table2": encoder_table2,
    "encodings": encodings,
    "defaults": defaults,
}

__all__ = ["EXPERIMENTS", "Table"]
