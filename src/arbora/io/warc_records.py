"""Records of web archives (WARC, ISO 28500), one after another."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import IO, NamedTuple

from .builder import Fault
from .sources import CHUNK, shown

HEAD_BYTES = 1 << 20  # of the headers of a record
KEPT = ("response", "resource")  # types of records whose blocks are read
_VERSION = re.compile(rb"WARC/(0\.1[78]|1\.[01])\s*")
_DIGESTS = {"sha1": hashlib.sha1, "sha-1": hashlib.sha1, "sha256": hashlib.sha256, "sha-256": hashlib.sha256}


class Record(NamedTuple):
    """A record of an archive: its headers, and what was read of its block."""

    number: int  # from one
    headers: dict[str, str]  # by names in small letters
    block: bytes = b""
    fault: str = ""  # what is wrong with the block, though the next record can be found

    @property
    def kind(self) -> str:
        """Type of the record, such as "response"."""
        return self.headers.get("warc-type", "").strip().lower()

    @property
    def uri(self) -> str:
        """The address that the record is of; empty if it has none."""
        return self.headers.get("warc-target-uri", "").strip("<> ")

    @property
    def place(self) -> str:
        """How an error names this record."""
        return f"record {self.number}" + (f" ({shown(self.uri, 80)})" if self.uri else "")


def records(file: IO[bytes], max_bytes: int) -> Iterator[Record]:
    """The records of an archive; blocks of responses and resources are read, the others are passed over."""
    number = 0
    while (first := _first_line(file, max_bytes)) is not None:
        number += 1
        if not _VERSION.fullmatch(first):
            if first.startswith(b"\x1f\x8b"):
                raise Fault("it is packed by gzip, wanted a name that ends in .gz; rename it")
            start = shown(first.decode("latin-1"))
            raise Fault(f"record {number} begins with {start}, wanted WARC/1.0 or WARC/1.1; the archive is damaged")
        record = Record(number, _head(file, number, max_bytes))
        length = _length(record)
        if record.kind in KEPT:
            block = _exactly(file, record, min(length, max_bytes))
            _pass_over(file, record, length - len(block))
            yield record._replace(block=block, fault=_fault_of(record, block, length))
        else:
            _pass_over(file, record, length)
            yield record


def _first_line(file: IO[bytes], max_bytes: int) -> bytes | None:
    """The line that begins the next record, after empty ones; None at the end of the file."""
    while line := _line(file, max_bytes):
        if line.strip():
            return line
    return None


def _line(file: IO[bytes], max_bytes: int) -> bytes:
    line = file.readline(max_bytes + 1)
    if len(line) > max_bytes:
        raise Fault(f"the line holds more than {max_bytes} bytes; raise max_bytes if you trust it")
    return line


def _head(file: IO[bytes], number: int, max_bytes: int) -> dict[str, str]:
    """The headers of a record; of two with one name the first."""
    headers: dict[str, str] = {}
    last, left = "", HEAD_BYTES
    while (line := _line(file, max_bytes)).strip():
        left -= len(line)
        if left < 0:
            raise Fault(f"record {number}: its headers have more than {HEAD_BYTES} bytes; the archive is damaged")
        text = line.decode("utf-8", "replace")
        if text[0] in " \t" and last:  # a line that goes on
            headers[last] += " " + text.strip()
            continue
        name, colon, value = text.partition(":")
        if not colon:
            raise Fault(f"record {number}: {shown(text.strip())} stands among its headers, wanted NAME: VALUE")
        last = name.strip().lower()
        headers.setdefault(last, value.strip())
    if not line:
        raise Fault(f"record {number}: the file ends within its headers; fetch it again")
    return headers


def _length(record: Record) -> int:
    text = record.headers.get("content-length", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Fault(f"{record.place}: its Content-Length is {shown(text)}, wanted a whole number")
    return int(text)


def _exactly(file: IO[bytes], record: Record, length: int) -> bytes:
    pieces, left = [], length  # in pieces, because a damaged length may ask for more than the memory holds
    while left and (piece := file.read(min(left, CHUNK))):
        pieces.append(piece)
        left -= len(piece)
    if left:
        raise Fault(f"{record.place}: the file ends {left} bytes before the record does; fetch it again")
    return b"".join(pieces)


def _pass_over(file: IO[bytes], record: Record, length: int) -> None:
    while length:
        length -= len(_exactly(file, record, min(length, CHUNK)))


def _fault_of(record: Record, block: bytes, length: int) -> str:
    """What is wrong with a block: its length, its digest, or that it is a part; digests of unknown kinds are left."""
    if len(block) < length:
        return f"it holds {length} bytes, more than {len(block)}; raise max_bytes if you trust it"
    if "warc-segment-number" in record.headers:
        return "it is one of several segments, which are not put together; leave it out"
    kind, _, stated = record.headers.get("warc-block-digest", "").strip().partition(":")
    digest = _DIGESTS.get(kind.lower())
    if digest is None:
        return ""
    found = digest(block, usedforsecurity=False).digest()
    try:
        wanted = bytes.fromhex(stated) if len(stated) == 2 * len(found) else base64.b32decode(stated.upper())
    except (ValueError, binascii.Error):
        wanted = b""
    return "" if wanted == found else f"its block has not the digest {shown(stated)} that it states; fetch it again"
