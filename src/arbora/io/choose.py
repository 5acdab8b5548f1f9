"""Choosing the reader by the name of the file."""

import inspect
import os
from collections.abc import Callable
from typing import Any

from ..errors import ReadError
from ..forest import Forest
from . import brackets, conllu, elastic, html, json, newick, store, syntax, xml
from .sources import Source, find_files, plain_name


def _load(source: Source, **options: Any) -> Forest:
    """Load stored forests, one file or several."""
    parts = [store.load_forest(path, **options) for path in find_files(source, store.SUFFIXES)]
    return parts[0] if len(parts) == 1 else Forest.concat(parts)


FORMATS: dict[str, tuple[Callable[..., Forest], tuple[str, ...]]] = {
    "xml": (xml.read_xml, xml.SUFFIXES),
    "html": (html.read_html, html.SUFFIXES),
    "json": (json.read_json, json.SUFFIXES),
    "jsonl": (json.read_jsonl, json.LINES_SUFFIXES),
    "elastic": (elastic.read_elastic, elastic.SUFFIXES),  # before newick, for .elastic.tree also ends in .tree
    "newick": (newick.read_newick, newick.SUFFIXES),
    "brackets": (brackets.read_brackets, brackets.SUFFIXES),
    "conllu": (conllu.read_conllu, conllu.SUFFIXES),
    "python": (syntax.read_python, syntax.SUFFIXES),
    "forest": (_load, (".forest",)),
    "parquet": (_load, (".parquet",)),
}


def read(source: Source, format: str | None = None, **options: Any) -> Forest:
    """Read trees with the reader that the file names call for, or that of `format`; options go to that reader.

    `source` is what every reader takes: a path, a list of paths, a glob, or a directory whose files share one format.
    """
    files: Source = source
    if format is None:
        every = [suffix for _, suffixes in FORMATS.values() for suffix in suffixes]
        files = find_files(source, every)
        formats = {_format_of(path) for path in files}
        if len(formats) > 1:
            found = ", ".join(sorted(formats))
            raise ReadError(f"{source}: it holds files of several formats ({found}); choose one by format=")
        format = formats.pop()
    elif format not in FORMATS:
        raise ReadError(f"format={format!r}; wanted one of {', '.join(FORMATS)}")
    reader = FORMATS[format][0]
    known = inspect.signature(store.load_forest if reader is _load else reader).parameters
    for option in options:
        if option not in known or option == "path":
            raise ReadError(f"{option}={options[option]!r}: the reader of {format} has no such option")
    return reader(files, **options)


def _format_of(path: str) -> str:
    name = plain_name(path)
    for format, (_, suffixes) in FORMATS.items():
        if name.endswith(suffixes):
            return format
    known = ", ".join(FORMATS)
    raise ReadError(f"{os.fspath(path)}: the format cannot be told from the name; choose one by format= ({known})")
