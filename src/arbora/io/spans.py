"""Spans of OpenTelemetry and Jaeger traces, from JSON values to one kind of record."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .builder import Fault
from .json_text import json_kind
from .sources import shown


class Span(NamedTuple):
    """An operation of a service: the numbers of a node, and what it is called."""

    trace: str
    id: str
    parent: str | None  # None at the root of a trace
    service: str
    operation: str
    start: int  # nanoseconds since 1970
    duration: int  # nanoseconds
    status: str | None = None  # such as "ok" or "error", where it is stated
    kind: str | None = None  # such as "server" or "client"


def spans_of(value: Any) -> Iterator[Span]:
    """The spans of a document of either kind."""
    if isinstance(value, dict) and "resourceSpans" in value:
        return _otlp_spans(value)
    if isinstance(value, dict) and "data" in value:
        return _jaeger_spans(value["data"], "data")
    if isinstance(value, dict) and "spans" in value and "processes" in value:
        return _jaeger_spans([value], "")
    raise Fault(
        f"found {json_kind(value)}, wanted OTLP with the key 'resourceSpans', or Jaeger with 'data', or 'spans' and "
        "'processes'"
    )


# ---- OpenTelemetry --------------------------------------------------------------------------------------------------


def _otlp_spans(value: dict[str, Any]) -> Iterator[Span]:
    for r, resource in _items(value, "resourceSpans", ""):
        place = f"resourceSpans[{r}]"
        service = _service(resource.get("resource"), place)
        key = "scopeSpans" if "scopeSpans" in resource else "instrumentationLibrarySpans"  # its name until 2022
        for s, scope in _items(resource, key, f"{place}."):
            for n, span in _items(scope, "spans", f"{place}.{key}[{s}]."):
                where = f"{place}.{key}[{s}].spans[{n}]"
                start = _whole(span, "startTimeUnixNano", where)
                end = _whole(span, "endTimeUnixNano", where, start)
                parent = _text(span, "parentSpanId", where, "")
                trace, own = _text(span, "traceId", where), _text(span, "spanId", where)
                name = _text(span, "name", where)
                state = span.get("status")
                status = _word(state.get("code") if isinstance(state, dict) else None, "STATUS_CODE_", _STATUS)
                kind = _word(span.get("kind"), "SPAN_KIND_", _KIND)
                above = (parent.strip("0") and parent) or None
                yield Span(trace, own, above, service, name, start, end - start, status, kind)


_STATUS = ("unset", "ok", "error")
_KIND = ("unspecified", "internal", "server", "client", "producer", "consumer")


def _word(value: Any, prefix: str, words: tuple[str, ...]) -> str | None:
    """A name of an enumeration, which JSON may have by its number; None where it is not stated, or unknown."""
    if type(value) is int and 0 <= value < len(words):
        return words[value]
    word = value.removeprefix(prefix).lower() if isinstance(value, str) else None
    return word if word in words else None


def _service(resource: Any, place: str) -> str:
    """The name of the service that a resource stands for; empty if it has none."""
    if resource is None:
        return ""
    if not isinstance(resource, dict):
        raise Fault(f"{place}.resource: found {json_kind(resource)}, wanted an object")
    for a, attribute in _items(resource, "attributes", f"{place}.resource."):
        if attribute.get("key") == "service.name":
            held = attribute.get("value")
            if not isinstance(held, dict) or not isinstance(held.get("stringValue"), str):
                raise Fault(f"{place}.resource.attributes[{a}]: the service.name is no text; wanted a stringValue")
            return str(held["stringValue"])
    return ""


# ---- Jaeger ---------------------------------------------------------------------------------------------------------


def _jaeger_spans(traces: Any, place: str) -> Iterator[Span]:
    for t, trace in _items({place: traces}, place, "") if place else enumerate(traces):
        at = f"{place}[{t}]." if place else ""
        processes = trace.get("processes")
        if not isinstance(processes, dict):
            raise Fault(f"{at}processes: found {json_kind(processes)}, wanted an object")
        for n, span in _items(trace, "spans", at):
            where = f"{at}spans[{n}]"
            number = _text(span, "traceID", where)
            process = span.get("process", processes.get(span.get("processID")) if _hashable(span) else None)
            if not isinstance(process, dict):
                raise Fault(f"{where}: its process {shown(str(span.get('processID')))} is not one of the processes")
            yield Span(
                number,
                _text(span, "spanID", where),
                _jaeger_parent(span, number, where),
                _text(process, "serviceName", f"{where}, its process"),
                _text(span, "operationName", where),
                1000 * _whole(span, "startTime", where),  # which Jaeger has in microseconds
                1000 * _whole(span, "duration", where, 0),
                *_jaeger_tags(span),
            )


def _hashable(span: dict[str, Any]) -> bool:
    return isinstance(span.get("processID"), str)


def _jaeger_tags(span: dict[str, Any]) -> tuple[str | None, str | None]:
    """Status and kind by the tags of a span."""
    tags = span.get("tags")
    told = {tag.get("key"): tag.get("value") for tag in tags if isinstance(tag, dict)} if isinstance(tags, list) else {}
    failed = told.get("error")
    status = _word(told.get("otel.status_code"), "", _STATUS) or ("error" if failed in (True, "true") else None)
    return status, _word(told.get("span.kind"), "", _KIND)


def _jaeger_parent(span: dict[str, Any], trace: str, where: str) -> str | None:
    """The span that waits for this one; or else that it follows from; references to other traces are no parents."""
    found: dict[str, str] = {}
    for n, reference in _items(span, "references", f"{where}."):
        at = f"{where}.references[{n}]"
        if _text(reference, "traceID", at, trace) == trace:
            found.setdefault(_text(reference, "refType", at, "CHILD_OF"), _text(reference, "spanID", at))
    old = _text(span, "parentSpanID", where, "")  # as Jaeger wrote until 2017
    return found.get("CHILD_OF") or found.get("FOLLOWS_FROM") or (old if old.strip("0") else None)


# ---- members --------------------------------------------------------------------------------------------------------


def _items(holder: dict[str, Any], key: str, place: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array, which may be left out, and their places."""
    array = holder.get(key)
    if array is None:
        return
    if not isinstance(array, list):
        raise Fault(f"{place}{key}: found {json_kind(array)}, wanted an array")
    for n, item in enumerate(array):
        if not isinstance(item, dict):
            raise Fault(f"{place}{key}[{n}]: found {json_kind(item)}, wanted an object")
        yield n, item


def _text(holder: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = holder.get(key, default)
    if not isinstance(value, str):
        raise Fault(f"{where}: {key!r} is {'not there' if value is None else json_kind(value)}, wanted text")
    return value


def _whole(holder: dict[str, Any], key: str, where: str, default: int | None = None) -> int:
    """A whole number of at most 64 bits, which OTLP may write as text."""
    value = holder.get(key, default)
    digits = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        found = "not there" if value is None else f"{json_kind(value)} {shown(str(value))}"
        raise Fault(f"{where}: {key!r} is {found}, wanted a whole number")
    return int(digits)
