"""Reader of distributed traces, OTLP as JSON, lines of it or protobuf, and Jaeger JSON: a trace is a tree of spans."""

import json
import logging
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..by_parent import add_rows, cycle_row, subtree_rows
from ..contents import Asked, checked_bins
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..json_text import looks_like_json, parse_json
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files, shown
from ..spans import Span, spans_of
from ..spans_protobuf import looks_like_protobuf, spans_of_protobuf

logger = logging.getLogger(__name__)

CONTENT: dict[str, Callable[[Span], Any]] = {
    "duration": lambda span: span.duration / 1e9,
    "log_duration": lambda span: math.log(span.duration / 1e9) if span.duration > 0 else None,
    "status": lambda span: span.status,
    "kind": lambda span: span.kind,
}
LABELS = ("service:operation", "operation", "service")
BROKEN = ("refuse", "split", "drop")


class Naming(NamedTuple):
    """What the label of a span is."""

    label: str
    status: bool
    bins: list[float] | None

    def label_of(self, span: Span) -> str:
        """The label of a span, with its end if it failed, and the bin of its duration."""
        if self.label == "operation" or (self.label == "service:operation" and not span.service):
            name = span.operation
        else:
            name = span.service if self.label == "service" else f"{span.service}:{span.operation}"
        if self.bins is not None:
            name += f"|{bisect_right(self.bins, span.duration / 1e9)}"
        return f"{name}|error" if self.status and span.status == "error" else name


def read_traces(
    source: Source,
    *,
    label: str = "service:operation",
    status: bool = False,
    duration_bins: Sequence[float] | None = None,
    broken: str = "refuse",
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read traces of OpenTelemetry (OTLP as JSON or protobuf) or Jaeger, one tree per trace.

    A span is a node below its parent, and siblings are ordered by start time.  The spans of one trace must be in one
    file, in any order.  A tree is named ``file#trace``.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    label : {"service:operation", "operation", "service"}, default "service:operation"
        Label of a span.
    status : bool, default False
        Whether the label of a span that failed ends in ``|error``.
    duration_bins : sequence of float or None, default None
        Increasing edges of bins, in seconds; the bin of the duration joins the label.  With 0.1 and 1, a span GET of
        half a second is labelled ``GET|1``.  None ignores durations.
    broken : {"refuse", "split", "drop"}, default "refuse"
        What to do with a trace that has several roots, or spans whose parent is absent.  "refuse" raises an error.
        "split" makes a tree of every root and of every span without its parent.  "drop" leaves the trace out.  The last
        two log how many traces were broken.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "duration" in seconds, "log_duration", its natural logarithm, missing
        where the duration is 0, "status" and "kind" as the span states them.  True reads all, None none.
    max_bytes : int, default 100,000,000
        Longest file that is read, in bytes after decompression.  A longer one is refused; raise it for files you trust.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad files and warns how many there were.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        One tree per trace.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_traces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.otlp.json")
    ...     _ = path.write_text(
    ...         '{"resourceSpans": [{"scopeSpans": [{"spans": ['
    ...         '{"traceId": "t", "spanId": "s", "name": "GET", "startTimeUnixNano": "1"}]}]}]}'
    ...     )
    ...     read_traces(path)[0]
    {'label': 'GET'}
    """
    if label not in LABELS:
        raise ReadError(f"label={label!r}; wanted {', '.join(LABELS)}")
    if broken not in BROKEN:
        raise ReadError(f'broken={broken!r}; wanted "refuse", "split" or "drop"')
    n_broken, asked = 0, Asked(content, tuple(CONTENT))
    naming = Naming(label, status, checked_bins(duration_bins, "duration_bins"))

    def read_file(path: str, columns: Columns) -> None:
        nonlocal n_broken
        traces: dict[str, list[Span]] = {}
        data = read_bytes(path, max_bytes)
        for span in spans_of_protobuf(data) if looks_like_protobuf(data) else _spans(decode(data)):
            traces.setdefault(span.trace, []).append(span)
        if not traces:
            raise Fault("there is no span in it, wanted one at least; leave the file out")
        found = [
            _add_trace(spans, f"{path}#{trace}", naming, broken, columns, asked) for trace, spans in traces.items()
        ]
        n_broken += sum(found)  # at the end, because a fault takes the whole file back

    forest = read_files(source, "traces", read_file, Policy(on_error, vocabulary, progress, max_bytes))
    if n_broken:
        done = "split into their parts" if broken == "split" else "left out"
        logger.warning("%d traces with several roots or spans without their parent were %s", n_broken, done)
    return forest


def _spans(text: str) -> Iterator[Span]:
    """The spans of a document, or of a document per line."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if _is_document(first):
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield from spans_of(parse_json(line, pairs=False))
                except Fault as fault:
                    fault.line = number
                    raise
    else:
        yield from spans_of(parse_json(text, pairs=False))


def _is_document(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _add_trace(spans: list[Span], name: str, naming: Naming, broken: str, columns: Columns, asked: Asked) -> bool:
    """Append the tree, or trees, of one trace; whether the trace is broken."""
    spans = list(dict.fromkeys(spans))  # exporters that retry send a span again
    spans.sort(key=lambda span: span.start)  # stable, so that ties keep the order of the file
    trace = shown(spans[0].trace)
    row = {span.id: n for n, span in enumerate(spans)}
    if len(row) < len(spans):
        twice = next(span.id for n, span in enumerate(spans) if row[span.id] != n)
        raise Fault(f"trace {trace}: two spans have the id {shown(twice)}, wanted ids that differ")
    above = [-1 if span.parent is None else row.get(span.parent, -1) for span in spans]
    if (at := cycle_row(above)) is not None:
        raise Fault(f"trace {trace}, span {shown(spans[at].id)}: the parents form a cycle, wanted a tree")
    roots = [n for n, parent in enumerate(above) if parent < 0]
    if (why := _why_broken(spans, roots)) and broken == "refuse":
        advice = "broken=split reads its parts, broken=drop leaves such traces out"
        raise Fault(f"trace {trace}: {why}; {advice}")
    if why and broken == "drop":
        return True
    codes = [columns.words[naming.label_of(span)] for span in spans]
    held = {name: partial(_held, spans, value) for name, value in CONTENT.items() if name in asked}
    for number, rows in enumerate(subtree_rows(above, roots), 1):
        add_rows(rows, codes, columns, held)
        columns.end_tree(f"{name}#{number}" if why else name)
    return bool(why)


def _held(spans: list[Span], value: Callable[[Span], Any], row: int) -> Any:
    return value(spans[row])


def _why_broken(spans: list[Span], roots: list[int]) -> str:
    orphan = next((spans[n] for n in roots if spans[n].parent is not None), None)
    if orphan is not None:
        return f"the parent {shown(str(orphan.parent))} of span {shown(orphan.id)} is not there"
    return f"{len(roots)} spans have no parent, wanted one root" if len(roots) > 1 else ""


_OTLP = re.compile(r'\s*\{\s*"resourceSpans"\s*:\s*\[')
_JAEGER = tuple(re.compile(rf'"{key}"\s*:\s*[\["]') for key in ("spans", "traceID", "spanID", "operationName"))


def _surely(text: str) -> bool:
    """Other documents mention traces and spans, too."""
    return bool(_OTLP.match(text) or (looks_like_json(text) and all(key.search(text) for key in _JAEGER)))


_KEYS = re.compile(r'"(?:resourceSpans"\s*:\s*\[|operationName"\s*:\s*"|traceID"\s*:\s*")')


def _sniff(text: str) -> int:
    return 3 * bool(looks_like_json(text) and _KEYS.search(text[:4096]))


FORMAT = Format(
    name="traces",
    suffixes=(".otlp.json", ".otlp.jsonl", ".jaeger.json", ".otlp.pb", ".otlp.binpb"),
    makes="one tree per trace of OpenTelemetry (OTLP) or Jaeger; a span is a node, service and operation the label",
    manual="""\
Distributed traces: OTLP as JSON or protobuf, both also as the collector's file exporter writes them (a document per
line, or messages after their lengths in four bytes), or JSON of Jaeger's API. A span is a node below its parent;
siblings are ordered by start time. Files of other names, as `traces.json`, are recognised by how they begin. Spans of
one trace must be in one file, and a tree is named `file#trace`.

A trace with several roots, or with spans whose parent is absent, is refused by default. With `broken=split` every root,
and every span without its parent, becomes the root of a tree. With `broken=drop` such traces are left out. Either way
Arbora reports how many there were.

With `status=true` the label of a span that failed ends in `|error`, and with `duration_bins=0.001,0.01,0.1,1,10` labels
tell decades of the duration, as in `GET|3`; patterns see both then. `content=log_duration,status` reads the logarithm
of the duration in seconds and the status of each span as content; `kind` and `duration` are there as well.

```text
arbora cluster traces.json --read broken=drop
```

```python
spans = [
    '{"traceId": "t", "spanId": "a", "name": "GET /", "startTimeUnixNano": "1"}',
    '{"traceId": "t", "spanId": "b", "parentSpanId": "a", "name": "query", "startTimeUnixNano": "2"}',
]
Path("shop.otlp.json").write_text('{"resourceSpans": [{"scopeSpans": [{"spans": [' + ",".join(spans) + "]}]}]}")
ab.read_traces("shop.otlp.json")[0]  # {'label': 'GET /', 'children': [{'label': 'query'}]}
```""",
    options=(
        Option("label", LABELS, "what the label of a span is"),
        Option("status", bool, "the label of a span that failed ends in |error"),
        Option("duration_bins", float, "edges of bins in seconds; the bin of the duration joins the label"),
        Option("broken", BROKEN, "traces with several roots or lost parents: an error, a tree per part, or left out"),
        Option("content", str, "columns of content: duration, log_duration, status, kind, or all"),
        MAX_BYTES_OPTION,
    ),
    reader=read_traces,
    sniff=_sniff,
    within=("json", "jsonl"),
    surely=_surely,
)
