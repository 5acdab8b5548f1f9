"""Which format a file has: by the ending of its name, or by how it begins where the name says nothing."""

import gzip
import os
import re
import zlib
from typing import Any

from .own_outputs import MANIFEST

STORE = ".store"  # a folder of this ending, or with this file in it, is one thing, like a file

SUFFIXES: dict[str, tuple[str, ...]] = {
    "xml": (".xml",),
    "html": (".html", ".htm", ".xhtml"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "elastic": (".elastic", ".elastic.tree"),  # before newick, for .elastic.tree also ends in .tree
    "newick": (".nwk", ".newick", ".tre", ".tree", ".nhx"),
    "brackets": (".mrg", ".ptb", ".brackets", ".penn"),
    "conllu": (".conllu", ".conll"),
    "python": (".py",),
    "forest": (".forest",),
    "parquet": (".parquet",),
    "store": (STORE,),
}
SNIFFED = ("xml", "html", "json", "jsonl")  # formats that the first bytes of a file show
TEXTS = ("elastic", "newick", "brackets", "conllu", "python")  # formats that any text might have

BEGINNING = 1 << 16  # bytes of a file that are looked at
_CONTROL = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_PROLOGUE = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_MARKUP = re.compile(r"<(?:!DOCTYPE\s+|[A-Za-z_])[^<]*(?:[>/<]|$)")
_JSON = re.compile(r'\s*(?:\{\s*(?:"|\})|\[\s*(?:["\[{\]0-9-]|true\b|false\b|null\b))')
_ONE_LINE = re.compile(r"\s*\{.*\}[ \t\r]*\n\s*\{")  # an object that ends with its line, and another


def is_store(path: Any) -> bool:
    """Whether a path is that of a store, finished or not."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return False
    folder = os.fspath(path)
    return folder.rstrip(os.sep).endswith(STORE) or os.path.isfile(os.path.join(folder, MANIFEST))


def plain_name(path: str) -> str:
    """The lower-case name of a file without ``.gz``, to look at its suffix."""
    return os.path.basename(path).lower().removesuffix(".gz")


def format_of_name(path: str) -> str | None:
    """The format that the ending of a name stands for, if it is known."""
    name = plain_name(path)
    return next((format for format, suffixes in SUFFIXES.items() if name.endswith(suffixes)), None)


def format_of(path: str) -> str | None:
    """The format of a file by its name, of a store by its manifest, and else by how the file begins."""
    if is_store(path):
        return "store"
    return format_of_name(path) or sniffed(path)[0]


def sniffed(path: str) -> tuple[str | None, bool]:
    """The format that the first bytes of a file show, if any, and whether they are text at all."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
            data = file.read(BEGINNING)
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
    start = _PROLOGUE.match(text)
    rest = text[start.end() if start else 0 :]
    if _PAGE.match(rest) and not text.lstrip().startswith("<?xml"):
        return "html", True
    if _MARKUP.match(rest) or text.lstrip().startswith("<?xml"):
        return "xml", True
    if _JSON.match(text):
        return "jsonl" if _ONE_LINE.match(text) else "json", True
    return None, True
