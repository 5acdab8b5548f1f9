"""Tables of the papers, ours beside theirs, each by one command: ``python -m papers NAME``."""

from collections.abc import Callable

from .bhmc import against_ward, animals, fashion
from .encoder import table2 as encoder_table2
from .encodings import encodings
from .evidence import defaults, readings
from .figures import figures5_to_7
from .inex import figure9, tables2_and_3
from .matching import matching
from .nhcm import banana
from .shock import shock
from .synthetic import table1
from .table import Table
from .unions import figure4

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "000-table1": table1,
    "000-figures5-7": figures5_to_7,
    "000-tables2-3": tables2_and_3,
    "000-figure9": figure9,
    "001-table2": encoder_table2,
    "encodings": encodings,
    "002-figure4": figure4,
    "002-matching": matching,
    "002-shock": shock,
    "defaults": defaults,
    "readings": readings,
    "003-animals": animals,
    "003-fashion": fashion,
    "003-defaults": against_ward,
    "004-banana": banana,
}

__all__ = ["EXPERIMENTS", "Table"]
