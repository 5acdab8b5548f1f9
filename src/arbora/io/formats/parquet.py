"""Stored trees for other tools: a row per tree."""

from ..format import MAX_BYTES_OPTION, Format
from .forest import load_parts, read_stored

FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    makes="trees that arbora convert wrote",
    manual="""\
The same trees for other tools, one row per tree. It needs pyarrow.""",
    options=(MAX_BYTES_OPTION,),
    reader=read_stored,
    parts=load_parts,
)
