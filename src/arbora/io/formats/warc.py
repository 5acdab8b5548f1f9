"""Reader of web archives (WARC), plain or gzip: a page that was answered is a tree, as in HTML."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked
from ..finding import Source
from ..format import Format, Option
from ..http_answers import answer_of, body_of, charset_of, media_type
from ..sources import MAX_BYTES, Opened, Policy, read_items
from ..warc_records import KEPT, Record, records
from .html import add_page, looks_like_page
from .xml import MARKUP_OPTIONS, MAX_DEPTH, Markup, check_markup

logger = logging.getLogger(__name__)

_PAGES = ("text/html", "application/xhtml+xml")
_NO_DOCUMENT = ("warcinfo", "request", "metadata")  # records that are about others
_MOST_TOLD = 8


def read_warc(
    source: Source,
    *,
    errors: bool = False,
    attributes: bool = False,
    text: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read the HTML pages of web archives (WARC 1.0 and 1.1), one tree per page.

    A record of type response or resource whose media type is HTML is a page; other records are left out, and their
    number is logged.  Chunks are joined and gzip or deflate bodies unpacked.  Bytes are decoded as in a browser: by a
    byte order mark, else by the charset of the HTTP header, else as `read_html` does.  Digests of blocks are checked.
    A tree is named by its address.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    errors : bool, default False
        Whether pages with an HTTP status other than 200 are read.
    attributes : bool, default False
        Whether each attribute becomes a child ``@name``, before all other children.
    text : {"kind"} or None, default None
        "kind" adds a child ``#text`` wherever there is text that is not blank.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes, as in `read_html`.  True reads all, None none.
    max_depth : int, default 256
        Deepest nesting that is read.  A deeper page is refused; raise it for files you trust.
    max_bytes : int, default 100,000,000
        Longest record that is read, in bytes after decompression.  A longer page is refused; raise it for files you
        trust.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad records and warns how many there were.  Behind a record whose length is damaged nothing
        can be found; the records before it are kept.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        One tree per page.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_warc
    >>> answer = "HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n\\r\\n<p>Hello"
    >>> head = f"WARC/1.0\\r\\nWARC-Type: response\\r\\nContent-Length: {len(answer)}\\r\\n\\r\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.warc")
    ...     _ = path.write_bytes(f"{head}{answer}\\r\\n\\r\\n".encode())
    ...     read_warc(path)[0]
    {'label': 'html', 'children': [{'label': 'body', 'children': [{'label': 'p'}]}]}
    """
    markup = check_markup(Markup("keep", attributes, text, max_depth))
    huge, asked = max_depth > MAX_DEPTH or max_bytes > MAX_BYTES, Asked(content)
    left_out: Counter[str] = Counter()

    def read_record(item: tuple[str, Record | Fault], columns: Columns) -> None:
        path, record = item
        if isinstance(record, Fault):
            raise record
        try:
            found = _page(record, errors, max_bytes, left_out)
            if found is not None:
                add_page(*found, markup, huge, columns, asked)
                columns.end_tree(record.uri or f"{path}:{record.number}")
        except Fault as fault:
            raise Fault(f"{record.place}: {fault.what}") from None

    forest = read_items(
        source, "warc", _items(max_bytes), read_record, Policy(on_error, vocabulary, progress, max_bytes, asked)
    )
    if left_out:
        told = ", ".join(f"{n} {what}" for what, n in left_out.most_common(_MOST_TOLD))
        rest = left_out.total() - sum(n for _, n in left_out.most_common(_MOST_TOLD))
        more = f", {rest} others" if rest else ""
        logger.warning("left out %d records that are no pages or not wanted (%s%s)", left_out.total(), told, more)
    return forest


def _items(max_bytes: int) -> Callable[[str], Iterator[tuple[str, Record | Fault]]]:
    """What gives the records of a file; a fault behind which no record can be found is the last item."""

    def items(path: str) -> Iterator[tuple[str, Record | Fault]]:
        begun = False
        try:
            with Opened(path) as file:
                for record in records(file, max_bytes):
                    yield path, record
                    begun = True
        except Fault as fault:
            if not begun:
                raise
            yield path, Fault(f"{fault.what}; what follows in this file cannot be read")

    return items


def _page(record: Record, errors: bool, max_bytes: int, left_out: Counter[str]) -> tuple[bytes, str | None] | None:
    """The bytes of a page and the encoding that its server named; None if the record is no page that is wanted."""
    if record.kind not in KEPT:
        if record.kind not in _NO_DOCUMENT:
            left_out[record.kind or "of no type"] += 1
        return None
    if record.kind == "resource":
        sent, status, answer = record.headers.get("content-type", ""), 200, None
    else:
        answer = answer_of(record.block)
        sent, status = answer.headers.get("content-type", ""), answer.status
    media = media_type(sent) or media_type(record.headers.get("warc-identified-payload-type", ""))
    if status != 200 and not errors:
        left_out[f"of status {status}"] += 1
        return None
    if media and media not in _PAGES:
        left_out[media] += 1
        return None
    if record.fault:
        raise Fault(record.fault)
    body = record.block if answer is None else body_of(answer, max_bytes)
    if not media and not looks_like_page(body[:4096].decode("latin-1")):
        left_out["of no media type"] += 1
        return None
    if not body.strip():
        left_out["empty"] += 1
        return None
    return body, charset_of(sent)


def _sniff(text: str) -> int:
    return 4 * text.startswith(("WARC/0.", "WARC/1."))


FORMAT = Format(
    name="warc",
    suffixes=(".warc",),
    makes="one tree per HTML page of a web archive; an element is a node, its tag the label",
    manual="""\
Web archives (WARC 1.0 and 1.1) as crawlers write them, plain or `.warc.gz`. Every response or resource that is HTML is
a tree, read as by the format html and named by its address. Responses of a status other than 200 are left out, unless
`errors=true`; so are images, scripts and revisits. Arbora reports how many, by kind. Chunked and gzip or deflate bodies
are unpacked; bodies packed by other means are refused. A charset in the HTTP header comes before one in the page. A
block that does not have the digest it states is refused. `max_bytes` bounds a record, not the file, so archives larger
than memory can be converted to a store.

```text
arbora convert crawl/*.warc.gz crawl.store --skip-bad
arbora cluster crawl.store --report pages.html
```""",
    options=(
        Option("errors", bool, "pages of a status other than 200 are read, too"),
        *MARKUP_OPTIONS,
        Option("max_bytes", int, "longest record that is read, unpacked", of_trees=False),
    ),
    reader=read_warc,
    sniff=_sniff,
    by_line=True,
)
