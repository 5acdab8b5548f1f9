"""Answers of web servers as archives keep them: status, headers, and a body to be put together and unpacked."""

import re
import zlib
from typing import NamedTuple

from .builder import Fault
from .sources import shown

HEAD_BYTES = 1 << 20  # of the headers of an answer
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})\b")
_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_CONTROL = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))


class Answer(NamedTuple):
    """What a server sent: status, headers by names in small letters, and the body as it was sent."""

    status: int
    headers: dict[str, str]
    body: bytes


def answer_of(block: bytes) -> Answer:
    """The answer of a server that a block of bytes holds."""
    ends = [(at, n) for end, n in ((b"\r\n\r\n", 4), (b"\n\n", 2)) if (at := block.find(end, 0, HEAD_BYTES)) >= 0]
    status = _STATUS.match(block)
    if status is None or (not ends and len(block) > HEAD_BYTES):
        start = shown(block[:40].decode("latin-1"))
        raise Fault(f"its block begins with {start}, wanted the headers of an HTTP response")
    at, n = min(ends, default=(len(block), 0))
    headers: dict[str, str] = {}
    for line in block[:at].decode("latin-1").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), value.strip())
    return Answer(int(status[1]), headers, block[at + n :])


def media_type(sent: str) -> str:
    """The media type of a Content-Type, without its parameters.

    >>> media_type("Text/HTML; charset=UTF-8"), charset_of("Text/HTML; charset=UTF-8")
    ('text/html', 'UTF-8')
    """
    return sent.partition(";")[0].strip().lower()


def charset_of(sent: str) -> str | None:
    """The encoding that a Content-Type names, if any."""
    found = _CHARSET.search(sent)
    return next(filter(None, found.groups()), None) if found else None


def body_of(answer: Answer, max_bytes: int) -> bytes:
    """The body of an answer, put together from its chunks and unpacked, as far as the crawler left that to do."""
    body = answer.body
    if "chunked" in answer.headers.get("transfer-encoding", "").lower():
        body = _joined(body)
    for packing in reversed(answer.headers.get("content-encoding", "").lower().split(",")):
        body = _unpacked(body, packing.strip(), max_bytes)
    return body


def _joined(body: bytes) -> bytes:
    """The chunks of a body in one; a body that does not begin with a chunk was put together by the crawler."""
    pieces: list[bytes] = []
    at = 0
    while (size := _CHUNK_SIZE.match(body, at)) is not None:
        length, at = int(size[1], 16), size.end()
        if length == 0:
            return b"".join(pieces)
        if at + length > len(body):
            break
        pieces.append(body[at : at + length])
        at += length
        at += 2 if body.startswith(b"\r\n", at) else int(body.startswith(b"\n", at))
    else:
        if not pieces:
            return body
    raise Fault("its body ends, or is damaged, within the chunks that it was sent in; fetch it again")


def _unpacked(body: bytes, packing: str, max_bytes: int) -> bytes:
    """A body unpacked; one that is not packed, whatever its headers say, was unpacked by the crawler."""
    if packing in ("", "identity", "none"):
        return body
    if packing not in ("gzip", "x-gzip", "deflate"):
        if _is_text(body):
            return body
        raise Fault(f"its body is packed by {shown(packing)}, wanted gzip or deflate; unpack it, or leave it out")
    if packing == "deflate" and body[:1] != b"\x78":
        bits = -zlib.MAX_WBITS  # as some servers send it, without a header
    else:
        bits = zlib.MAX_WBITS | 32
    packed = zlib.decompressobj(bits)
    try:
        data = packed.decompress(body, max_bytes + 1)
    except zlib.error:
        if _is_text(body):
            return body
        raise Fault("its packed body is damaged; fetch it again") from None
    if len(data) > max_bytes:
        raise Fault(f"its body unpacks to more than {max_bytes} bytes; raise max_bytes if you trust it")
    if not packed.eof:
        raise Fault("its packed body is cut short; fetch it again")
    return data


def _is_text(body: bytes) -> bool:
    return len(body[:64].translate(None, _CONTROL)) == len(body[:64])
