"""Reader of HTML files, as broken as they come: an element is a node, its tag the label."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from string import ascii_lowercase
from typing import Any

from lxml import etree

from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..charset import decoded_page, page_codec
from ..contents import Asked
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format
from ..sources import MAX_BYTES, Policy, read_bytes, read_files
from .xml import MARKUP_OPTIONS, MAX_DEPTH, Markup, after_prologue, check_markup, has_declaration, hold_element

# Control characters that no text has; more than this share of them makes a file binary. Real pages have a stray few.
_CONTROL = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))
_MOST_CONTROL = 0.02
_WIDE = ("utf-16", "utf-32")  # which have NULs
_LAST_TAGS = re.compile(r"(</)(?:html|body)(?=[\t\n\f\r />])", re.IGNORECASE)
_LONG_NAMES = re.compile(r"<([a-z]{8})")


def read_html(
    source: Source,
    *,
    attributes: bool = False,
    text: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read HTML documents, one tree per file.

    The parser repairs broken markup and adds ``html`` and ``body``.  Bytes are decoded as in a browser: by a byte order
    mark, by a declaration in the first 1024 bytes, or as UTF-8 or Windows-1252.  An undecodable byte becomes U+FFFD.
    Elements after ``</body>`` or ``</html>`` are read as if they came before.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    attributes : bool, default False
        Whether each attribute becomes a child ``@name``, before all other children.
    text : {"kind"} or None, default None
        "kind" adds a child ``#text`` wherever there is text that is not blank.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "@name" is the value of an attribute, and "words" are the words of the
        text directly below an element.  Values that all are numbers make numbers.  True reads all, None none.
    max_depth : int, default 256
        Deepest nesting that is read.  A deeper document is refused; raise it for files you trust.
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
        One tree per file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_html
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.html")
    ...     _ = path.write_text("<p>Hello")
    ...     read_html(path)[0]
    {'label': 'html', 'children': [{'label': 'body', 'children': [{'label': 'p'}]}]}
    """
    markup = check_markup(Markup("keep", attributes, text, max_depth))
    huge, asked = max_depth > MAX_DEPTH or max_bytes > MAX_BYTES, Asked(content)

    def read_file(path: str, columns: Columns) -> None:
        add_page(read_bytes(path, max_bytes), None, markup, huge, columns, asked)
        columns.end_tree()

    return read_files(source, "html", read_file, Policy(on_error, vocabulary, progress, max_bytes, asked))


def add_page(data: bytes, sent: str | None, markup: Markup, huge: bool, columns: Columns, asked: Asked) -> None:
    """Append the nodes of one page; `sent` is the encoding that its server named, if any."""
    _refuse_binary(data, sent)
    target: Any = _Page(markup, columns, asked)
    parser = etree.HTMLParser(
        target=target, encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=huge
    )
    page = _without_last_tags(decoded_page(data, sent)).encode("utf-8", "replace")
    try:
        n_elements = etree.fromstring(page, parser) if page.strip() else 0
    except (etree.LxmlError, AssertionError) as error:
        raise Fault(f"not readable as HTML ({error}); correct the file") from None
    _check_limits(parser)
    if not n_elements:
        raise Fault("there is no element in it, wanted an HTML document; leave the file out")


class _Page:
    """What receives the events of the parser: they become columns at once.

    No tree is built in between, which would take time as the square of the attributes of an element.
    """

    def __init__(self, markup: Markup, columns: Columns, asked: Asked) -> None:
        self.markup, self.columns, self.asked = markup, columns, asked
        self.open: list[tuple[int, list[str]]] = []  # elements that are not closed: their places, and their text
        self.level = self.n_elements = 0
        self.has_text = False  # since the last tag

    def _add(self, word: str) -> None:
        self.columns.depth.append(self.level)
        self.columns.label.append(self.columns.words[word])

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._end_text()
        self._add(tag)
        if self.asked:
            place = len(self.columns.depth) - 1
            hold_element(self.asked, attributes.items(), "", self.columns, place)
            self.open.append((place, []))
        self.n_elements += 1
        self.level += 1
        if self.level > self.markup.max_depth:
            raise Fault(
                f"elements are nested deeper than {self.markup.max_depth}; raise max_depth if you trust the file"
            )
        if self.markup.attributes:
            for name in attributes:
                self._add("@" + name)

    def data(self, text: str) -> None:
        self.has_text = self.has_text or bool(text.strip(" \t\n\v\f\r"))
        if self.open:
            self.open[-1][1].append(text)

    def end(self, tag: str) -> None:
        self._end_text()
        if self.open:
            place, said = self.open.pop()
            hold_element(self.asked, (), "".join(said), self.columns, place)
        self.level -= 1

    def _end_text(self) -> None:
        if self.has_text and self.markup.text and self.level:
            self._add("#text")
        self.has_text = False

    def close(self) -> int:
        return self.n_elements


def _without_last_tags(page: str) -> str:
    """The page with a name that nothing has in its ``</body>`` and ``</html>``, so that they close nothing.

    By the standard they close nothing either: elements that follow go where they would without.  The parser would
    begin another document.
    """
    if _LAST_TAGS.search(page) is None:
        return page
    taken = set(_LONG_NAMES.findall(page.lower()))
    name = next(word for word in map("".join, product(ascii_lowercase, repeat=8)) if word not in taken)
    return _LAST_TAGS.sub(r"\1" + name, page)


def _refuse_binary(data: bytes, sent: str | None) -> None:
    """Refuse what is no text at all; the parser would find a page in anything."""
    n_control = len(data) - len(data.translate(None, _CONTROL))
    if n_control > max(_MOST_CONTROL * len(data), 2) and not page_codec(data, sent)[0].startswith(_WIDE):
        share = n_control / len(data)
        raise Fault(f"{share:.0%} of its bytes are control characters, wanted text; it is not HTML, leave the file out")


def _check_limits(parser: etree.HTMLParser) -> None:
    """Refuse a document that the parser cut short at one of its own limits, which it does without a word."""
    for entry in parser.error_log.filter_from_fatals():
        if "limit" in entry.type_name.lower() or "huge" in entry.message.lower():
            raise Fault(f"{entry.message}; raise max_bytes above {MAX_BYTES} if you trust the file", entry.line)


_PAGE = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def looks_like_page(text: str) -> bool:
    """Whether a text begins as a page of HTML does."""
    return bool(_PAGE.match(after_prologue(text)) and not has_declaration(text))


def _sniff(text: str) -> int:
    return 2 * looks_like_page(text)


FORMAT = Format(
    name="html",
    suffixes=(".html", ".htm", ".xhtml"),
    makes="one tree per file, repaired; an element is a node, its tag the label; text and attributes are ignored",
    manual="""\
As XML, but the parser repairs broken markup and adds `html` and `body`. Binary files are refused.

Bytes are decoded as in a browser: by a byte order mark, else by a declaration in the first 1024 bytes, else as UTF-8 if
the bytes are valid UTF-8, else as Windows-1252. An undecodable byte becomes U+FFFD. Elements after `</body>` or
`</html>` are read as if they came before. Tests compare the trees with those of html5lib. The two parsers differ in
what they add: html5lib adds `head` and `tbody`, and reopens inline elements such as `b` after a block.""",
    options=(*MARKUP_OPTIONS, MAX_BYTES_OPTION),
    reader=read_html,
    sniff=_sniff,
)
