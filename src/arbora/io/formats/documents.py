"""Reader of documents side by side: XML, HTML and JSON in one folder, each read as its own reader does."""

from collections.abc import Sequence

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import NOTHING
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..json_documents import SCALARS, add_document
from ..json_text import parse_json
from ..registry import DOCUMENTS
from ..sniffing import BEGINNING, format_of_name, sniff
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files
from .html import add_page
from .xml import MARKUP_OPTIONS, MAX_DEPTH, Documents, Markup, check_markup


def read_documents(
    source: Source,
    *,
    attributes: bool = False,
    text: str | None = None,
    scalars: str = "kind",
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read XML, HTML and JSON documents together, one tree per file.

    The ending of a name says what a file is, or else how the file begins.  Each is read as `read_xml`, `read_html` and
    `read_json` do.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    attributes : bool, default False
        Whether each attribute of XML and HTML becomes a child ``@name``, before all other children.
    text : {"kind"} or None, default None
        "kind" adds a child ``#text`` wherever XML and HTML have text that is not blank.
    scalars : {"kind", "value", "drop"}, default "kind"
        Label of a scalar of JSON: ``#string``, ``#number``, ``#boolean`` or ``#null``, or its JSON text.  "drop" leaves
        scalars out (except as a whole document).
    max_depth : int, default 256
        Deepest nesting of XML and HTML that is read.  A deeper document is refused; raise it for files you trust.
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
    >>> from arbora import read_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.json").write_text('{"b": 1}')
    ...     _ = pathlib.Path(folder, "c.xml").write_text("<d/>")
    ...     list(read_documents(folder))
    [{'label': '{}', 'children': [{'label': 'b', 'children': [{'label': '#number'}]}]}, {'label': 'd'}]
    """
    if scalars not in SCALARS:
        raise ReadError(f'scalars={scalars!r}; wanted "kind", "value" or "drop"')
    markup = check_markup(Markup("strip", attributes, text, max_depth))
    huge = max_depth > MAX_DEPTH or max_bytes > MAX_BYTES
    xml = Documents(markup, max_bytes, NOTHING)

    def read_file(path: str, columns: Columns) -> None:
        data = read_bytes(path, max_bytes)
        kind = format_of_name(path)
        if kind not in DOCUMENTS:
            kind, _ = sniff(data[:BEGINNING])
        if kind == "xml":
            xml.add(data, columns)
            xml.flush(columns)  # at once: a fault of a later file takes back all nodes since that file began
        elif kind == "html":
            add_page(data, None, markup._replace(namespaces="keep"), huge, columns, NOTHING)
            columns.end_tree()
        elif kind == "json":
            add_document(parse_json(decode(data), pairs=True), scalars, columns)
            columns.end_tree()
        else:
            raise Fault("neither name nor content shows XML, HTML or JSON; leave the file out")

    return read_files(source, "documents", read_file, Policy(on_error, vocabulary, progress, max_bytes))


FORMAT = Format(
    name="documents",
    suffixes=(".xml", ".html", ".htm", ".xhtml", ".json"),
    makes="one tree per file: XML, HTML and JSON side by side, each as its own format has it",
    manual="""\
For a folder that holds several of these kinds. The ending of a name says which one a file is, or else how it begins. A
folder of them is read so without `--format`, and Arbora says how many there are of each; `--format xml` reads one kind
alone.""",
    options=(
        *(option for option in MARKUP_OPTIONS if option.name != "content"),
        Option("scalars", SCALARS, "label #string and the like, the value itself, or no node"),
        MAX_BYTES_OPTION,
    ),
    reader=read_documents,
    asked=True,
)
