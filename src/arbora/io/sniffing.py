"""Which format a file has: by the ending of its name, or by how it begins where the name says nothing."""

import gzip
import zlib
from functools import cache

from ..files.kinds import is_store, plain_name
from ..files.urls import is_url, open_url
from .registry import FORMATS

BEGINNING = 1 << 16  # bytes of a file that are looked at
_CONTROL = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@cache
def _by_suffix() -> tuple[tuple[str, str], ...]:
    """Suffixes and their formats, the longest first."""
    pairs = [(suffix, format.name) for format in FORMATS.values() if not format.asked for suffix in format.suffixes]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def format_of_name(path: str) -> str | None:
    """The format that the ending of a name stands for, if it is known."""
    name = plain_name(path)
    return next((format for suffix, format in _by_suffix() if name.endswith(suffix)), None)


def format_of(path: str) -> str | None:
    """The format of a file by its name, of a store by its manifest, and else by how the file begins."""
    if is_store(path):
        return "store"
    return format_of_name(path) or sniffed(path)[0]


def sniffed(path: str) -> tuple[str | None, bool]:
    """The format that the first bytes of a file show, if any, and whether they are text at all."""
    try:
        with open_url(path) if is_url(path) else open(path, "rb") as file:
            data = gzip.GzipFile(fileobj=file).read(BEGINNING) if path.lower().endswith(".gz") else file.read(BEGINNING)
    except (OSError, EOFError, ValueError, zlib.error):
        return None, False
    return sniff(data)


def sniff(data: bytes) -> tuple[str | None, bool]:
    """As `sniffed`, of bytes.

    >>> sniff(b"<?xml version='1.0'?><a/>"), sniff(b"some words"), sniff(b"PK\\3\\4\\0")
    (('xml', True), (None, True), (None, False))
    """
    codec = _WIDE.get(data[:2])
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1") if codec is None else data[2:].decode(codec, "replace")
    if not text or (len(data.translate(None, _CONTROL)) < len(data) and codec is None):
        return None, not data
    sure = {format.name: format.sniff(text) for format in FORMATS.values() if format.sniff is not None}
    best = max(sure, key=sure.__getitem__)
    return (best if sure[best] else None), True
