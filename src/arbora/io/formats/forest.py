"""Stored trees: a forest per file."""

from collections.abc import Iterator

from ...files.container import MAX_BYTES
from ...forest.files import load_forest
from ...forest.forest import Forest
from ..finding import Source, find_files
from ..format import MAX_BYTES_OPTION, Format


def load_parts(path: str, *, max_bytes: int = MAX_BYTES) -> Iterator[Forest]:
    """The only part of a file."""
    yield load_forest(path, max_bytes=max_bytes)


def read_stored(source: Source, *, max_bytes: int = MAX_BYTES) -> Forest:
    """Load stored forests, one file or several."""
    parts = [load_forest(path, max_bytes=max_bytes) for path in find_files(source, ("forest", "parquet"))]
    return parts[0] if len(parts) == 1 else Forest.concat(parts)


FORMAT = Format(
    name="forest",
    suffixes=(".forest",),
    makes="trees that arbora convert wrote",
    manual="""\
Trees that `arbora convert` or `Forest.save` wrote: exact, and fast to read. They are not compressed with `.gz`.""",
    options=(MAX_BYTES_OPTION,),
    reader=read_stored,
    parts=load_parts,
)
