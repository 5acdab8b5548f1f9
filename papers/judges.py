"""What each table says beside the papers: words for its verdict columns, and a verdict in a line.

A judge reads nothing but a table as printed.  So tables that were made long ago can be judged again when they are
shown, and a table that is judged twice says the same.
"""

from collections.abc import Callable

from . import judges_comparators as comparators
from . import judges_mixtures as mixtures
from . import judges_rows as rows
from . import judges_unions as unions
from .judging import fill
from .table import Table

OWN = "not in the papers: what settings of our own change"


def judge(name: str, table: Table) -> None:
    """Fill the verdicts of an experiment's tables in."""
    JUDGES.get(name, _of_our_own)(table)


def _of_our_own(table: Table) -> None:
    if not table.verdict or table.verdict.startswith("not in the papers"):
        table.verdict = OWN


JUDGES: dict[str, Callable[[Table], None]] = {
    "mixtures-table1": mixtures.table1,
    "mixtures-figures5-7": mixtures.figures5_to_7,
    "mixtures-tables2-3": mixtures.tables2_and_3,
    "mixtures-figure9": mixtures.figure9,
    "encoder-table1": mixtures.table1_of_2018,
    "encoder-table2": mixtures.encoder_table2,
    "encoder-causes": fill,
    "encoder-comparators": comparators.errors,
    "unions-figure4": unions.figure4,
    "unions-matching": unions.matching,
    "unions-shock": unions.shock,
    "unions-glyphs": unions.glyphs,
    "bhmc-animals": rows.bhmc,
    "bhmc-fashion": rows.bhmc,
    "bhmc-figures9-16": rows.figures9_and_16,
    "bhmc-defaults": rows.against_ward,
    "nhcm-banana": rows.banana,
    "nhcm-shapes": rows.nhcm_shapes,
}
