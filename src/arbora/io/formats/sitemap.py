"""Reader of sitemaps, XML or a line per address: every page that is listed is fetched, and is a tree, as in HTML."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from lxml import etree

from ...files.urls import is_url
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_items, shown
from .html import add_page
from .xml import MARKUP_OPTIONS, MAX_DEPTH, Markup, check_markup

logger = logging.getLogger(__name__)

MOST_PAGES = 50_000  # of one sitemap, by its protocol
_INDEX = ("index.html", "index.htm")


class Listed(NamedTuple):
    """A page of a sitemap: its address, and where it is read from."""

    address: str
    places: list[str]  # the first that exists


def read_sitemap(
    source: Source,
    *,
    mirror: str | None = None,
    attributes: bool = False,
    text: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_depth: int = MAX_DEPTH,
    max_pages: int = MOST_PAGES,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read the HTML pages that sitemaps list, one tree per page.

    A sitemap is XML (``urlset``, or ``sitemapindex``, which lists further ones) or plain text with an address per line.
    Pages come from a copy of the site in a folder (`mirror`), or from their own addresses, which needs
    ``arbora[remote]`` and aiohttp.  All addresses must be of one host; if the sitemap is a URL itself, of its host.  A
    tree is named by its address.

    Parameters
    ----------
    source : path or list of paths
        Sitemaps: files, globs, directories or URLs.
    mirror : str or None, default None
        Folder or URL with a copy of the site: ``https://host/a/b.html`` is ``a/b.html`` or ``host/a/b.html`` in it, and
        ``https://host/a/`` is ``a/index.html``.  Nothing is fetched from elsewhere then.  None fetches the addresses.
    attributes : bool, default False
        Whether each attribute becomes a child ``@name``, before all other children.
    text : {"kind"} or None, default None
        "kind" adds a child ``#text`` wherever there is text that is not blank.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes, as in `read_html`.  True reads all, None none.
    max_depth : int, default 256
        Deepest nesting that is read.  A deeper page is refused; raise it for files you trust.
    max_pages : int, default 50,000
        Most pages of one sitemap, with those of the sitemaps that it lists.
    max_bytes : int, default 100,000,000
        Longest sitemap or page that is read, in bytes after decompression.  A longer one is refused.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad pages and warns how many there were.
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
    >>> from arbora import read_sitemap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.html").write_text("<p>Hello")
    ...     path = pathlib.Path(folder, "sitemap.txt")
    ...     _ = path.write_text("https://example.org/a.html")
    ...     read_sitemap(path, mirror=folder)[0]
    {'label': 'html', 'children': [{'label': 'body', 'children': [{'label': 'p'}]}]}
    """
    markup = check_markup(Markup("keep", attributes, text, max_depth))
    huge, asked = max_depth > MAX_DEPTH or max_bytes > MAX_BYTES, Asked(content)

    def read_page(page: Listed, columns: Columns) -> None:
        try:
            place = next((place for place in page.places if is_url(place) or os.path.isfile(place)), page.places[0])
            add_page(read_bytes(place, max_bytes), None, markup, huge, columns, asked)
        except Fault as fault:
            raise Fault(f"the page {shown(page.address, 200)}: {fault.what}") from None
        columns.end_tree(page.address)

    items = partial(_pages, mirror, max_pages, max_bytes)
    return read_items(source, "sitemap", items, read_page, Policy(on_error, vocabulary, progress, max_bytes, asked))


def _pages(mirror: str | None, max_pages: int, max_bytes: int, path: str) -> Iterator[Listed]:
    """The pages of a sitemap, and of those that it lists, each once."""
    host = urlsplit(path).netloc if is_url(path) else ""
    waiting: list[tuple[str, list[str], bool]] = [(path, [path], True)]
    seen = set[str]()
    while waiting:
        name, places, may_list = waiting.pop(0)
        place = next((place for place in places if is_url(place) or os.path.isfile(place)), places[0])
        try:
            addresses, lists = _addresses(read_bytes(place, max_bytes))
        except Fault as fault:
            raise fault if name == path else Fault(f"the sitemap {shown(name, 200)}: {fault.what}") from None
        if lists and not may_list:
            raise Fault(f"the sitemap {shown(name, 200)} lists sitemaps itself, wanted pages there")
        for address in addresses:
            if address in seen:
                continue
            seen.add(address)
            host = _same_host(address, host)
            if len(seen) > max_pages:
                raise Fault(f"it lists more than {max_pages} pages; raise max_pages if you trust it")
            where = [address] if mirror is None else _in_mirror(address, mirror)
            if lists:
                waiting.append((address, where, False))
            else:
                yield Listed(address, where)


def _addresses(data: bytes) -> tuple[list[str], bool]:
    """The addresses of a sitemap, and whether they are those of sitemaps."""
    text = decode(data).strip()
    if not text.startswith("<"):
        return [line.strip() for line in text.splitlines() if line.strip()], False
    root: Any
    try:
        root = etree.fromstring(data.strip(), etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        raise Fault(f"not well-formed XML ({error.msg}); correct the sitemap", error.lineno) from None
    kind = etree.QName(root).localname if isinstance(root.tag, str) else ""
    if kind not in ("urlset", "sitemapindex"):
        raise Fault(f"its element is {shown(kind)}, wanted urlset or sitemapindex", root.sourceline)
    found = []
    for entry in (one for one in root if isinstance(one.tag, str)):
        locations = [child.text for child in entry.iterchildren("{*}loc") if child.text and child.text.strip()]
        if len(locations) != 1:
            name = etree.QName(entry).localname
            raise Fault(f"an entry {shown(name)} has {len(locations)} elements loc, wanted one", entry.sourceline)
        found.append(locations[0].strip())
    return found, kind == "sitemapindex"


def _same_host(address: str, host: str) -> str:
    """The host of an address, which must be that of all others."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Fault(f"it lists {shown(address, 80)}, wanted an address that begins with http:// or https://")
    if host and parts.netloc != host:
        raise Fault(f"it lists {shown(address, 80)}, wanted addresses of {shown(host)} only")
    return parts.netloc


def _in_mirror(address: str, mirror: str) -> list[str]:
    """Where a copy of a site may hold a page: below its folder or that of the host, as a file or as an index."""
    parts = urlsplit(address)
    steps = [step for step in unquote(parts.path).split("/") if step]
    if any(step in (".", "..") or "\\" in step or "\0" in step for step in steps):
        raise Fault(f"it lists {shown(address, 80)}, whose path leads out of the mirror; correct it")
    join: Callable[..., str] = (lambda *names: "/".join(names)) if is_url(mirror) else os.path.join
    base = mirror.rstrip("/") if is_url(mirror) else mirror
    ends = [(name,) for name in _INDEX] if parts.path.endswith("/") or not steps else [(), *((x,) for x in _INDEX)]
    if is_url(mirror):  # one place only: asking for each would cost a request
        return [join(base, *steps, *ends[0])]
    return [join(base, *middle, *steps, *end) for middle in ((), (parts.netloc,)) for end in ends]


FORMAT = Format(
    name="sitemap",
    suffixes=("sitemap.xml", "sitemap.txt"),
    asked=True,
    makes="one tree per HTML page that a sitemap lists; an element is a node, its tag the label",
    manual="""\
Sitemaps, as XML or as plain text with an address per line. This format must be requested by `--format sitemap` or
`read_sitemap`. An index of sitemaps is followed. Pages are read as by the format html and named by their addresses.
With `mirror=FOLDER` the pages are files of a copy of the site, as `wget --mirror` makes it, and nothing is fetched.
Without it every page is fetched from its own address, one after another, which needs `arbora[remote]` and aiohttp. All
addresses must be of one host; redirects of that host are followed. Nothing else that a page names is fetched.

```text
arbora cluster site/sitemap.xml --format sitemap --read mirror=site/ --report pages.html
arbora cluster https://example.org/sitemap.xml --format sitemap --skip-bad
```""",
    options=(
        Option("mirror", str, "folder with a copy of the site, instead of fetching", of_trees=False),
        *MARKUP_OPTIONS,
        Option("max_pages", int, "most pages of one sitemap", of_trees=False),
        MAX_BYTES_OPTION,
    ),
    reader=read_sitemap,
)
