"""Choosing the reader by the name of the file, or by how it begins."""

import inspect
import os
from collections.abc import Sequence
from typing import Any

from ..errors import ReadError
from ..forest.forest import Forest
from .finding import Source, find_files
from .option_words import parse_option
from .registry import FORMATS
from .sniffing import format_of, side_by_side, suited_options, tell_recognised, tell_side_by_side, tell_suited
from .sources import Position, Sink, streaming


def read(source: Source, format: str | None = None, **options: Any) -> Forest:
    """Read trees with the reader that suits the files.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.  All files must have the same format, except that XML,
        HTML and JSON may stand side by side.
    format : str or None, default None
        Format of the files, one of `arbora.io.FORMATS`.  None chooses it by the suffix of the names; where the suffix
        is unknown, some formats are recognised by how the file begins.  If given, files of a directory are read
        whatever their suffixes, unless they begin like files of another format.
    **options
        Options of the reader, such as ``on_error="skip"``; see `read_xml` and the others.

    Returns
    -------
    Forest
        The trees of all files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.xml").write_text("<a><b/></a>")
    ...     read(folder)
    Forest(1 trees, 2 nodes, 2 labels, 1 slots)
    """
    files: Source = source
    if format is None:
        files = find_files(source, tuple(FORMATS))
        kinds = [_known_format(path) for path in files]
        formats = set(side_by_side(kinds))
        if len(formats) > 1:
            found = ", ".join(sorted(set(kinds)))
            raise ReadError(f"{source}: it holds files of several formats ({found}); choose one by format=")
        format = str(formats.pop())
        tell_side_by_side(str(source), kinds)
        tell_recognised(files, format)
        if suited := suited_options(format, files, options):
            options |= {key: parse_option(format, key, text) for key, text in suited.items()}
            tell_suited(files, suited)
    elif format not in FORMATS:
        raise ReadError(f"format={format!r}; wanted one of {', '.join(FORMATS)}")
    else:
        files = find_files(source, (format,), every=True)
    reader = FORMATS[format].reader
    known = inspect.signature(reader).parameters
    for option in options:
        if option not in known:
            raise ReadError(f"{option}={options[option]!r}: the reader of {format} has no such option")
    return reader(files, **options)


def stream(files: Sequence[str], format: str, sink: Sink, **options: Any) -> None:
    """Read files of one format into a sink, part by part; a file of stored trees is one part, or several."""
    parts = FORMATS[format].parts
    if parts is None:
        with streaming(sink):
            FORMATS[format].reader(files, **options)
        return
    for number in range(sink.start.file, len(files)):
        skip = sink.lines_done() if number == sink.start.file else 0
        for done, part in enumerate(parts(files[number], **options), 1):
            if done > skip:
                sink.take(part, Position(number, done))
                sink.n_trees += part.n_trees


def _known_format(path: str) -> str:
    format = format_of(path)
    if format is None:
        known = ", ".join(FORMATS)
        raise ReadError(
            f"{os.fspath(path)}: neither name nor content shows the format; choose one by format= ({known})"
        )
    return format
