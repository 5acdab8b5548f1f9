"""Choosing the reader by the name of the file, or by how it begins."""

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ReadError
from ..files.kinds import STORE, SUFFIXES, format_of
from ..forest import files as store
from ..forest.forest import Forest
from . import brackets, conllu, elastic, html, json, newick, syntax, xml
from .finding import Source, find_files
from .sources import Position, Sink, streaming


def _load(source: Source, **options: Any) -> Forest:
    """Load stored forests, one file or several."""
    parts = [store.load_forest(path, **options) for path in find_files(source, store.SUFFIXES)]
    return parts[0] if len(parts) == 1 else Forest.concat(parts)


def _load_stores(source: Source, **options: Any) -> Forest:
    """Read stores into memory; models take a `ForestStore` as it is."""
    from ..forest.store import ForestStore  # which itself reads and writes files

    return Forest.concat(ForestStore(path, **options).to_forest() for path in find_files(source, (STORE,)))


class Format(NamedTuple):
    """A reader, and the endings of file names that call for it."""

    reader: Callable[..., Forest]
    suffixes: tuple[str, ...]


_READERS: dict[str, Callable[..., Forest]] = {
    "xml": xml.read_xml,
    "html": html.read_html,
    "json": json.read_json,
    "jsonl": json.read_jsonl,
    "elastic": elastic.read_elastic,
    "newick": newick.read_newick,
    "brackets": brackets.read_brackets,
    "conllu": conllu.read_conllu,
    "python": syntax.read_python,
    "forest": _load,
    "parquet": _load,
    "store": _load_stores,
}
FORMATS: dict[str, Format] = {format: Format(_READERS[format], suffixes) for format, suffixes in SUFFIXES.items()}


def signature_of(reader: Callable[..., Forest]) -> Callable[..., Forest]:
    """The function whose signature names the options of a reader."""
    return store.load_forest if reader in (_load, _load_stores) else reader


def read(source: Source, format: str | None = None, **options: Any) -> Forest:
    """Read trees with the reader that the file names call for, or that of `format`; options go to that reader.

    `source` is what every reader takes: a path, a list of paths, a glob, or a directory whose files share one format.
    Where the ending of a name is unknown, XML, HTML and JSON are recognised by how the file begins.  With `format`,
    files of a directory are read whatever their endings, unless they begin like those of another format.
    """
    files: Source = source
    if format is None:
        every = [suffix for _, suffixes in FORMATS.values() for suffix in suffixes]
        files = find_files(source, every)
        formats = {_known_format(path) for path in files}
        if len(formats) > 1:
            found = ", ".join(sorted(formats))
            raise ReadError(f"{source}: it holds files of several formats ({found}); choose one by format=")
        format = formats.pop()
    elif format not in FORMATS:
        raise ReadError(f"format={format!r}; wanted one of {', '.join(FORMATS)}")
    else:
        files = find_files(source, FORMATS[format].suffixes, every=True)
    reader = FORMATS[format].reader
    known = inspect.signature(signature_of(reader)).parameters
    for option in options:
        if option not in known or option == "path":
            raise ReadError(f"{option}={options[option]!r}: the reader of {format} has no such option")
    return reader(files, **options)


def stream(files: Sequence[str], format: str, sink: Sink, **options: Any) -> None:
    """Read files of one format into a sink, part by part; a file of stored trees is one part, or several."""
    reader = FORMATS[format].reader
    if reader not in (_load, _load_stores):
        with streaming(sink):
            reader(files, **options)
        return
    from ..forest.store import ForestStore

    for number in range(sink.start.file, len(files)):
        path = files[number]
        parts = ForestStore(path, **options).parts() if reader is _load_stores else iter([_load(path, **options)])
        skip = sink.lines_done() if number == sink.start.file else 0
        for done, part in enumerate(parts, 1):
            if done > skip:
                sink.take(part, Position(number, done))
                sink.n_trees += part.n_trees


def _known_format(path: str) -> str:
    format = format_of(path)
    if format is None:
        known = ", ".join(FORMATS)
        raise ReadError(f"{os.fspath(path)}: neither name nor content tell the format; choose one by format= ({known})")
    return format
