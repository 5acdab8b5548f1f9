"""Spans of OpenTelemetry traces in protobuf: the few fields that are read, in the shape that OTLP has in JSON.

A file is one message ``TracesData``, or any number of them, each after its length in four bytes (big-endian), as the
collector's file exporter writes them.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .builder import Fault
from .sources import shown
from .spans import Span, spans_of

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # how a field is written
_FIRST = 0x0A  # the byte that begins a TracesData with spans; as a length's first byte it would mean 160 MB

_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r"))


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Fault(f"{where}: {shown(data.decode('latin-1'))} is not UTF-8; the file is damaged") from None


def _hex(data: bytes, _where: str) -> str:
    return data.hex()


# By message: number of a field -> its name in JSON, how it is written, and what it holds: a message, by its name, in
# an array or alone, or a function of bytes, or a number.
_Field = tuple[str, int, str | Callable[[bytes, str], Any] | None]
_FIELDS: dict[str, dict[int, _Field]] = {
    "traces": {1: ("resourceSpans", _BYTES, "resourceSpans")},
    "resourceSpans": {1: ("resource", _BYTES, "resource"), 2: ("scopeSpans", _BYTES, "scopeSpans")},
    "resource": {1: ("attributes", _BYTES, "attribute")},
    "attribute": {1: ("key", _BYTES, _text), 2: ("value", _BYTES, "value")},
    "value": {1: ("stringValue", _BYTES, _text)},
    "scopeSpans": {2: ("spans", _BYTES, "span")},
    "span": {
        1: ("traceId", _BYTES, _hex),
        2: ("spanId", _BYTES, _hex),
        4: ("parentSpanId", _BYTES, _hex),
        5: ("name", _BYTES, _text),
        6: ("kind", _VARINT, None),
        7: ("startTimeUnixNano", _FIXED64, None),
        8: ("endTimeUnixNano", _FIXED64, None),
        15: ("status", _BYTES, "status"),
    },
    "status": {3: ("code", _VARINT, None)},
}
_ARRAYS = {"resourceSpans", "scopeSpans", "spans", "attributes"}
# What is not written has this value.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "span": {"name": "", "kind": 0, "startTimeUnixNano": 0},
    "status": {"code": 0},
}


def looks_like_protobuf(data: bytes) -> bool:
    """Whether bytes begin as these messages do, and have control characters, which no JSON has.

    >>> looks_like_protobuf(b'\\n{\\n"resourceSpans": []}'), looks_like_protobuf(b"\\n{\\n\\2\\x12\\0")
    (False, True)
    """
    return data[:1] in (b"\0", b"\n") and len(data.translate(None, _CONTROL)) < len(data)


def spans_of_protobuf(data: bytes) -> Iterator[Span]:
    """The spans of all messages of a file."""
    for number, (lo, hi) in enumerate(_messages(data), 1):
        try:
            yield from spans_of({"resourceSpans": [], **_message(data, lo, hi, "traces", "")})
        except Fault as fault:
            raise Fault(f"message {number}: {fault.what}") from None


def _messages(data: bytes) -> Iterator[tuple[int, int]]:
    """Where messages begin and end."""
    if data[0] == _FIRST:
        yield 0, len(data)
        return
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            raise Fault(f"the message that begins at byte {at} is said to end at {end}, the file ends at {len(data)}")
        yield at + 4, end
        at = end


def _message(data: bytes, at: int, end: int, kind: str, where: str) -> dict[str, Any]:
    """The known fields of one message, by their names in JSON."""
    fields, found = _FIELDS[kind], dict(_DEFAULTS.get(kind, {}))
    while at < end:
        key, at = _varint(data, at, end, where)
        number, written = key >> 3, key & 7
        name, wanted, holds = fields.get(number, ("", written, None))
        if written != wanted or not number:
            raise Fault(
                f"{where or 'the message'}: field {number} at byte {at} is of a wrong kind; the file is damaged"
            )
        lo, value, at = _value(data, at, end, written, where)
        if not name:
            continue
        place = f"{where}.{name}".lstrip(".")
        if isinstance(holds, str):
            if name in _ARRAYS:
                array = found.setdefault(name, [])
                array.append(_message(data, lo, at, holds, f"{place}[{len(array)}]"))
            else:
                found[name] = _message(data, lo, at, holds, place)
        else:
            found[name] = value if holds is None else holds(data[lo:at], place)
    return found


def _value(data: bytes, at: int, end: int, written: int, where: str) -> tuple[int, int, int]:
    """Where the value of a field begins, the value if it is a number, and where it ends."""
    if written == _VARINT:
        value, after = _varint(data, at, end, where)
        return at, value, after
    lo, value = at, 0
    if written == _BYTES:
        length, lo = _varint(data, at, end, where)
        after = lo + length
    elif written in (_FIXED64, _FIXED32):
        after = at + (8 if written == _FIXED64 else 4)
        value = int.from_bytes(data[at:after], "little")
    else:
        raise Fault(f"{where or 'the message'}: no field begins at byte {at}; the file is damaged")
    if after > end:
        raise Fault(f"{where or 'the message'}: a field at byte {at} continues behind its message; the file is damaged")
    return lo, value, after


def _varint(data: bytes, at: int, end: int, where: str) -> tuple[int, int]:
    """A number of seven bits per byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise Fault(f"{where or 'the message'}: the number before byte {at} has no end; the file is damaged")
