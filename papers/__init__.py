"""Tables of the papers, ours beside theirs, each by one command: ``python -m papers NAME``."""

from collections.abc import Callable

from .bhmc import against_ward, animals, fashion
from .bhmc_f import figures9_and_16
from .comparators import comparators
from .encoder import table2 as encoder_table2
from .encoder_causes import causes
from .encodings import encodings
from .evidence import defaults, readings
from .figures import figures5_to_7
from .inex import figure9, tables2_and_3
from .matching import matching
from .nhcm import banana
from .nhcm_shapes import nhcm_shapes
from .shock import shock
from .synthetic import table1
from .synthetic_labels import table1_of_2018
from .table import Table
from .unions import figure4
from .unions_glyphs import glyphs

# Name of an experiment -> function(quick) that runs it.
EXPERIMENTS: dict[str, Callable[[bool], Table]] = {
    "mixtures-table1": table1,
    "mixtures-figures5-7": figures5_to_7,
    "mixtures-tables2-3": tables2_and_3,
    "mixtures-figure9": figure9,
    "encoder-table1": table1_of_2018,
    "encoder-table2": encoder_table2,
    "encoder-causes": causes,
    "encoder-comparators": comparators,
    "encodings": encodings,
    "unions-figure4": figure4,
    "unions-matching": matching,
    "unions-shock": shock,
    "unions-glyphs": glyphs,
    "defaults": defaults,
    "readings": readings,
    "bhmc-animals": animals,
    "bhmc-fashion": fashion,
    "bhmc-figures9-16": figures9_and_16,
    "bhmc-defaults": against_ward,
    "nhcm-banana": banana,
    "nhcm-shapes": nhcm_shapes,
}

__all__ = ["EXPERIMENTS", "Table"]
