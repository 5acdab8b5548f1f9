"""Reader of XML files: an element is a node, its tag the label, its place among the children the slot.

A document goes from the parser straight to flat columns.  Comments and processing instructions are left out.

Safety: no DTD is loaded, no network or file is touched, no entity is expanded in the content.  A reference to an entity
that stands for plain text, or that an unread DTD would declare (``&eacute;``), counts as text; a reference to one that
holds markup, other entities or a file is refused.  The parser's own limits hold unless `max_depth` or `max_bytes` is
raised; with raised limits, documents that declare entities are refused altogether.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from ...errors import ReadError
from ...forest.forest import Forest
from ...forest.node_columns import MISSING
from ..builder import Columns, Fault
from ..contents import Asked, words_of
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..kernels import xml_scan
from ..sources import MAX_BYTES, Policy, read_bytes, read_files
from ..xml_deep import read_deep

MAX_DEPTH = 256  # what libxml2 allows by itself
BATCH_BYTES = 4_000_000  # of documents turned into columns at once
DEEPEST_LXML = 2048  # libxml2 goes no deeper, whatever it is told

_SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "remove_comments": True,
    "remove_pis": True,
}
# Drawn once a process: nobody can prepare names that collide in the table of names, and labels do not depend on it.
_SEED = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 2)
_DECLARATION = re.compile(
    rb"""<\?xml\s+version=["']1\.[01]["'](?:\s+encoding=["'](?i:utf-8|us-ascii)["'])?(?:\s+standalone=["'](?:yes|no)["'])?\s*\?>\s*"""
)
MOST_SAID = 200  # characters of what the parser says
_HAS_MARKUP = re.compile(r"<|&(?!#)")


class Markup(NamedTuple):
    """What of an XML or HTML document becomes a node."""

    namespaces: str
    attributes: bool
    text: str | None
    max_depth: int


def read_xml(
    source: Source,
    *,
    namespaces: str = "strip",
    attributes: bool = False,
    text: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read XML documents, one tree per file.

    An element is a node, and its tag is the label.  Its position among its sibling elements is the slot.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    namespaces : {"strip", "keep", "prefix"}, default "strip"
        How to label a tag in a namespace: ``tag``, ``{uri}tag``, or ``prefix:tag`` as in the file.
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
    >>> from arbora import read_xml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.xml")
    ...     _ = path.write_text('<a x="1"><b/></a>')
    ...     read_xml(path, attributes=True)[0]
    {'label': 'a', 'children': [{'label': '@x'}, {'label': 'b'}]}
    """
    if namespaces not in ("strip", "keep", "prefix"):
        raise ReadError(f'namespaces={namespaces!r}; wanted "strip", "keep" or "prefix"')
    markup = check_markup(Markup(namespaces, attributes, text, max_depth))
    asked = Asked(content)
    documents = Documents(markup, max_bytes, asked)

    def read_file(path: str, columns: Columns) -> None:
        documents.add(read_bytes(path, max_bytes), columns)

    policy = Policy(on_error, vocabulary, progress, max_bytes, asked)
    return read_files(source, "xml", read_file, policy, documents.flush)


class Documents:
    """What turns documents into columns; nodes come many documents at a time, with `flush` at the latest."""

    def __init__(self, markup: Markup, max_bytes: int, asked: Asked) -> None:
        self.markup, self.asked = markup, asked
        self.huge = markup.max_depth > MAX_DEPTH or max_bytes > MAX_BYTES
        self.parser = etree.XMLParser(huge_tree=self.huge, **_SAFE)
        self.parser_depth = DEEPEST_LXML if self.huge else MAX_DEPTH
        self.batch = _Batch(markup)

    def add(self, data: bytes, columns: Columns) -> None:
        """Append one document."""
        max_depth = self.markup.max_depth
        if self.huge:
            _refuse_entities(data)
        try:
            root = etree.fromstring(data, self.parser)
        except etree.XMLSyntaxError as error:
            if "Excessive depth" in str(error) and max_depth > DEEPEST_LXML and not self.asked:
                depth, label = read_deep(data, self.markup, columns.words)
                self.flush(columns)  # these documents come before
                columns.extend(depth, label)
                columns.end_tree()
                return
            raise _syntax_fault(error, max_depth) from None
        plain = plain_text(data, self.markup.text is not None)
        if plain is None:
            _settle_entities(root)
        if max_depth < self.parser_depth:
            check_depth(root, max_depth)
        if self.markup.namespaces == "keep" or self.asked:
            add_elements(root, self.markup, columns, self.asked)
        elif plain is None:
            self.batch.add(root, columns)
        else:
            self.batch.add_text(plain, columns)

    def flush(self, columns: Columns) -> None:
        """Append the nodes of the documents that were kept back."""
        self.batch.flush(columns)


def check_markup(markup: Markup) -> Markup:
    """The same options, once they are known to make sense."""
    if markup.text not in (None, "kind"):
        raise ReadError(f'text={markup.text!r}; wanted "kind" or, for no text, None')
    if markup.max_depth < 1:
        raise ReadError(f"max_depth={markup.max_depth}; wanted 1 or more")
    return markup


# ---- elements to columns --------------------------------------------------------------------------------------------


class _Batch:
    """Documents as the plain text that the parser writes, turned into columns many at a time."""

    def __init__(self, markup: Markup) -> None:
        self.markup = markup
        self.texts: list[bytes] = []
        self.n_bytes = 0

    def add(self, root: Any, columns: Columns) -> None:
        """Keep one document; its nodes come with the next flush."""
        self.add_text(etree.tostring(root, encoding="utf-8", with_tail=False), columns)

    def add_text(self, text: bytes, columns: Columns) -> None:
        """Keep one document that is plain."""
        self.texts.append(text)
        self.n_bytes += len(text)
        columns.end_tree()
        if self.n_bytes > BATCH_BYTES:
            self.flush(columns)

    def flush(self, columns: Columns) -> None:
        """Append the nodes of the documents kept so far."""
        if not self.texts:
            return
        data = np.frombuffer(b"".join(self.texts), np.uint8)
        self.texts, self.n_bytes = [], 0
        depth, kind, span = xml_scan.scan(data, bool(self.markup.attributes), self.markup.text is not None)
        number, example = xml_scan.distinct_names(data, kind, span, _SEED)
        codes = [
            _code(k, data[lo:hi].tobytes().decode(), self.markup, columns)
            for k, (lo, hi) in zip(kind[example].tolist(), span[example].tolist(), strict=True)
        ]
        label = np.array(codes, np.int32)[number]
        if self.markup.attributes:  # declarations of namespaces look like attributes
            depth, label = depth[label != MISSING], label[label != MISSING]
        columns.extend(depth, label)


def plain_text(data: bytes, with_text: bool) -> bytes | None:
    """What the scan needs of a well-formed document: its bytes, if it would find in them what the parser finds."""
    declaration = _DECLARATION.match(data)
    text = data[declaration.end() :] if declaration else data
    if not text.startswith(b"<") or text[1] == 0:  # UTF-16 begins with a < and a zero
        return None
    if (b"!" in text and b"<!" in text) or (b"?" in text and b"<?" in text):  # one character is found faster than two
        return None
    return None if with_text and b"&" in text else text  # a reference may stand for a blank


def _code(kind: int, name: str, markup: Markup, columns: Columns) -> int:
    """Number of the label of a node; MISSING for a declaration of a namespace."""
    if kind == xml_scan.TEXT:
        return columns.words["#text"]
    if kind == xml_scan.ATTRIBUTE and (name + ":").startswith("xmlns:"):
        return MISSING
    word = name.rpartition(":")[2] if markup.namespaces == "strip" else name
    return columns.words["@" + word if kind == xml_scan.ATTRIBUTE else word]


def _name(markup: Markup, name: str, prefix: str | None) -> str:
    """A name in a namespace, as the markup has it."""
    if markup.namespaces == "keep" or not name.startswith("{"):
        return name
    local = name.rpartition("}")[2]
    return f"{prefix}:{local}" if markup.namespaces == "prefix" and prefix else local


def hold_element(asked: Asked, attributes: Any, said: str, columns: Columns, place: int) -> None:
    """Note attributes and words of one element."""
    for name, value in attributes:
        if f"@{name}" in asked:
            columns.hold(place, f"@{name}", value)
    if "words" in asked and (words := words_of(said)):
        columns.hold(place, "words", words)


def add_elements(root: Any, markup: Markup, columns: Columns, asked: Asked) -> None:
    """Append one document element by element: slower, and right for any tag a parser accepts."""
    words, depth, label = columns.words, columns.depth, columns.label
    level = 0

    def add(word: str) -> None:
        depth.append(level)
        label.append(words[word])

    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            add(_name(markup, element.tag, element.prefix))
            level += 1
            if asked:
                held = [(_name(markup, name, None), value) for name, value in element.items()]
                below = " ".join([element.text or "", *(child.tail or "" for child in element)])
                hold_element(asked, held, below, columns, len(depth) - 1)
            if markup.attributes:
                for attribute in element.keys():  # noqa: SIM118 (an element's own method)
                    add("@" + _name(markup, attribute, None))
            said = element.text
        else:
            level -= 1
            said = element.tail if level else None
        if markup.text and said and said.strip(" \t\n\v\f\r"):
            add("#text")
    columns.end_tree()


def check_depth(root: Any, max_depth: int) -> None:
    """Refuse a document with elements nested deeper than `max_depth`, and say where the first of them is."""
    level = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        level += 1 if event == "start" else -1
        if level > max_depth:
            what = f"elements are nested deeper than {max_depth}; raise max_depth if you trust the file"
            raise Fault(what, element.sourceline)


# ---- faults and entities --------------------------------------------------------------------------------------------


def _syntax_fault(error: etree.XMLSyntaxError, max_depth: int) -> Fault:
    line, column = error.position if error.position else (None, None)
    said = re.sub(r",? line \d+, column \d+.*$", "", error.msg or "not well-formed XML", flags=re.DOTALL)
    said = " ".join(said.split())  # one sentence has no line breaks,
    said = said if len(said) <= MOST_SAID else f"{said[: MOST_SAID - 3]}..."  # nor a name of a million letters
    if "Excessive depth" in said:
        said = f"elements are nested deeper than {max_depth}; raise max_depth if you trust the file"
    elif "amplification" in said:
        said = (
            "its entities would expand to an enormous text; it is refused, expand them yourself if you trust the file"
        )
    elif "external entity" in said:
        said = f"{said}; other files are never read, expand the entity yourself if you trust the file"
    elif "huge" in said.lower():
        said = f"{said}; raise max_bytes above {MAX_BYTES} if you trust the file"
    else:
        said = f"not well-formed XML ({said}); correct the file, or read HTML with read_html"
    return Fault(said, line or None, column or None)


def _refuse_entities(data: bytes) -> None:
    """Refuse a document that declares entities, since raised limits lift the parser's guard against their growth."""
    prologue = etree.XMLPullParser(events=("start",), **_SAFE)
    with contextlib.suppress(etree.XMLSyntaxError):  # deeper than this parser goes, or broken: the real parse will tell
        prologue.feed(data[: 1 << 20])
    root: Any
    _, root = next(iter(prologue.read_events()), (None, None))
    if root is None:  # no element in sight, so no proof that there are no entities
        declares = b"\0" in data or b"<!ENTITY" in data
    else:
        dtd = root.getroottree().docinfo.internalDTD
        declares = dtd is not None and bool(dtd.entities())
    if declares:
        raise Fault("it declares entities, which is refused with raised limits; expand them, or leave the limits alone")


def _settle_entities(root: Any) -> None:
    """Turn references to entities into text, or refuse those that hold more than text."""
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is None:
        return  # without a DTD every unknown entity is already a syntax error
    declared = {entity.name: entity for entity in dtd.iterentities()}
    for reference in list(root.iter(etree.Entity)):
        entity = declared.get(reference.name)
        if entity is not None and (not entity.content or _HAS_MARKUP.search(entity.content)):
            kind = "another file" if entity.content is None else "markup or other entities"
            what = f"the entity {reference.text} stands for {kind}, which is not read, for safety; expand it yourself"
            raise Fault(what, reference.sourceline)
        said = reference.text + (reference.tail or "")
        parent, before = reference.getparent(), reference.getprevious()
        if before is None:
            parent.text = (parent.text or "") + said
        else:
            before.tail = (before.tail or "") + said
        reference.tail = None
        parent.remove(reference)


# ---- the format -----------------------------------------------------------------------------------------------------

MARKUP_OPTIONS = (
    Option("attributes", bool, "each attribute becomes a child @name"),
    Option("text", ("kind",), "kind: a child #text wherever there is text"),
    Option("content", str, "columns of content: @attribute and words, or all"),
    Option("max_depth", int, "deepest nesting that is read", of_trees=False),
)
_PROLOGUE = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_MARKUP = re.compile(r"<(?:!DOCTYPE\s+|[A-Za-z_])[^<]*(?:[>/<]|$)")


def has_declaration(text: str) -> bool:
    """Whether a text begins with an XML declaration."""
    return text.lstrip().startswith("<?xml")


def after_prologue(text: str) -> str:
    """The text after comments and processing instructions."""
    start = _PROLOGUE.match(text)
    return text[start.end() if start else 0 :]


def _sniff(text: str) -> int:
    return int(has_declaration(text) or _MARKUP.match(after_prologue(text)) is not None)


FORMAT = Format(
    name="xml",
    suffixes=(".xml",),
    makes="one tree per file; an element is a node, its tag the label; text and attributes are ignored",
    manual="""\
One tree per file. An element is a node, and its tag is the label. Its position among its sibling elements is the slot.
By default only tags are used: text, attributes, comments and processing instructions are ignored, and namespaces are
stripped. `<a x="1">text<b/></a>` is `a(b)`; with `attributes=true` and `text=kind` it is `a(@x, #text, b)`.""",
    options=(
        Option("namespaces", ("strip", "keep", "prefix"), "label tag, {uri}tag or prefix:tag for a tag in a namespace"),
        *MARKUP_OPTIONS,
        MAX_BYTES_OPTION,
    ),
    reader=read_xml,
    sniff=_sniff,
)
