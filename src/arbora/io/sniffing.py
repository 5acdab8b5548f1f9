"""Which format a file has: by the ending of its name, or by how it begins where the name does not show it."""

import gzip
import logging
import zlib
from collections import Counter
from collections.abc import Container, Sequence
from functools import cache

from ..files.kinds import is_store, plain_name
from ..files.urls import is_url, open_url
from .format import Format
from .registry import DOCUMENTS, FORMATS

logger = logging.getLogger(__name__)

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
    """The format of a file by its name, of a store by its manifest, and else by how the file begins.

    Where a name may stand for several formats, as .json does, the beginning decides.  Files behind URLs are not opened
    for that.
    """
    if is_store(path):
        return "store"
    name = format_of_name(path)
    if name is None:
        return sniffed(path)[0]
    if is_url(path) or not _inside(name):
        return name
    return more_special(name, text_of(beginning(path)))


def sniffed(path: str) -> tuple[str | None, bool]:
    """The format that the first bytes of a file show, if any, and whether they are text at all."""
    data = beginning(path)
    return (None, False) if data is None else sniff(data)


def beginning(path: str) -> bytes | None:
    """The first bytes of a file, unpacked; None if it cannot be read."""
    try:
        with open_url(path) if is_url(path) else open(path, "rb") as file:
            return gzip.GzipFile(fileobj=file).read(BEGINNING) if path.lower().endswith(".gz") else file.read(BEGINNING)
    except (OSError, EOFError, ValueError, zlib.error):
        return None


@cache
def _inside(name: str) -> tuple[Format, ...]:
    """The formats whose files may be named like those of a format."""
    return tuple(format for format in FORMATS.values() if name in format.within)


def more_special(name: str, text: str) -> str:
    """The format that a text shows, of those whose files may be named like this one; else this one."""
    return next((format.name for format in _inside(name) if format.surely and format.surely(text[:BEGINNING])), name)


def suited_options(name: str, files: Sequence[str], given: Container[str]) -> dict[str, str]:
    """Options, as typed, without which a single file would be read as one tree, and does not seem to be one."""
    suited = FORMATS[name].suited
    if suited is None or len(files) != 1 or is_url(files[0]):
        return {}
    return suited(text_of(beginning(files[0])), given)


def side_by_side(kinds: Sequence[str | None], otherwise: str | None = None) -> list[str | None]:
    """The formats of files, with "documents" in place of XML, HTML and JSON where several of these are there.

    Not if one of them is the format `otherwise`, in which trees were read before; always if "documents" is.
    """
    together = set(kinds).intersection(DOCUMENTS)
    if otherwise != "documents" and (len(together) < 2 or otherwise in together):
        return list(kinds)
    return ["documents" if kind in together else kind for kind in kinds]


def tell_side_by_side(where: str, kinds: Sequence[str | None]) -> None:
    """Log how many documents there are of each format."""
    counts = Counter(kind for kind in kinds if kind in DOCUMENTS).most_common()
    if len(counts) > 1:
        told = ", ".join(f"{n} {kind}" for kind, n in counts)
        logger.warning("%s: reading %s files side by side; format %s reads those alone", where, told, counts[0][0])


def tell_recognised(files: Sequence[str], format: str) -> None:
    """Log that the beginning of a file overruled its name."""
    name = format_of_name(files[0])
    if name not in (None, format) and format != "documents":
        logger.warning("%s: it begins like the format %s, and is read so and not as %s", files[0], format, name)


def tell_suited(files: Sequence[str], options: dict[str, str]) -> None:
    """Log that a file seems to hold several trees, and is read so."""
    told = ", ".join(f"{key}={text}" for key, text in options.items())
    logger.warning("%s: it seems to hold several trees, so it is read with %s", files[0], told)


def text_of(data: bytes | None) -> str:
    """The beginning of a file as text, whatever it is, in which ASCII is as it was."""
    codec = _WIDE.get((data or b"")[:2])
    if codec is not None:
        return (data or b"")[2:].decode(codec, "replace")
    return (data or b"").removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def sniff(data: bytes) -> tuple[str | None, bool]:
    """As `sniffed`, of bytes.

    >>> sniff(b"<?xml version='1.0'?><a/>"), sniff(b"some words"), sniff(b"PK\\3\\4\\0")
    (('xml', True), (None, True), (None, False))
    """
    text = text_of(data)
    if not text or (len(data.translate(None, _CONTROL)) < len(data) and data[:2] not in _WIDE):
        return None, not data
    sure = {format.name: format.sniff(text) for format in FORMATS.values() if format.sniff is not None}
    best = max(sure, key=sure.__getitem__)
    return (best if sure[best] else None), True
