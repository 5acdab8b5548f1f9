"""Reader of Newick files: ``((a,b)c,d:0.1)root;``, any number of trees per file."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...forest.forest import Forest
from ...forest.node_columns import MISSING
from ..builder import Columns, Fault, label_code
from ..contents import Asked, checked_bins
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, position, read_bytes, read_files, shown

# What is said of a node, name and length, and the sign that ends it (or opens the next one).
_NAME = r"[^\s()\[\],:;']+"
_TOKEN = re.compile(rf"\s*(?:'([^']*(?:''[^']*)*)'|({_NAME}))?\s*(?::\s*({_NAME}))?\s*([(),;]|\S|$)")
_COMMENT_EDGE = re.compile(r"'[^']*(?:''[^']*)*'|[\[\]]")  # a name in quotes may have brackets in it,
_INNER_EDGE = re.compile(r"[\[\]]")  # and a comment an apostrophe
_ANNOTATION = re.compile(r"'[^']*(?:''[^']*)*'|\[&([^\[\]]*)\]|\[[^\[\]]*\]")  # of BEAST and NHX; not in quoted names
# Possessive, so that a text made to do harm takes no longer than another.
_PLAIN_LENGTH = re.compile(r":\s*+[+-]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?=\s*+[),;])")
_NO_SIGNS = bytes(sorted(set(range(256)) - set(b"(),;")))
_SPACE = re.compile(r"\s")
_ODD = re.compile(r"[\[\]:']")
_PAIR = re.compile(r"([^\s=,:&]+)=(\{[^}]*\}|\"[^\"]*\"|[^,:\[\]]+)")

EMPTY = -9  # no code of a label: there is no name
AT_ONCE = 400  # characters; arrays cost more than they save on a shorter text


class Naming(NamedTuple):
    """How the name and the branch length of a node make its label."""

    unnamed: str | None
    length_bins: list[float] | None
    full: Mapping[str, str] = {}  # names that short ones stand for


def read_newick(
    source: Source,
    *,
    unnamed: str | None = None,
    length_bins: Sequence[float] | None = None,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read Newick trees, any number per file.

    The name of a node is its label, and its position among the siblings is the slot.  Names may be quoted, and
    underscores stay.  Comments in square brackets are ignored.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    unnamed : str or None, default None
        Label of nodes without a name.  None leaves it missing.
    length_bins : sequence of float or None, default None
        Increasing edges of bins; the bin of the branch length joins the label.  With one edge of at most 0.3, a node
        ``a:0.3`` is labelled ``a|1``; nodes without a length keep their name.  None ignores branch lengths.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "length" is the branch length, and names of annotations such as
        ``[&rate=0.1]`` or ``[&&NHX:S=human]`` are columns, too.  True reads all, None none.
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
        The trees of all files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_newick
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.nwk")
    ...     _ = path.write_text("(a,(b,c)d)e;")
    ...     read_newick(path)[0]
    {'label': 'e', 'children': [{'label': 'a'}, {'label': 'd', 'children': [{'label': 'b'}, {'label': 'c'}]}]}
    """
    naming, asked = Naming(unnamed, checked_bins(length_bins, "length_bins")), Asked(content)

    def read_file(path: str, columns: Columns) -> None:
        whole = decode(read_bytes(path, max_bytes))
        text = without_comments(whole)
        add_trees(text, 0, len(text), naming, columns, Annotations(whole, asked))

    return read_files(source, "newick", read_file, Policy(on_error, vocabulary, progress, max_bytes, asked))


def without_comments(text: str) -> str:
    """The text with comments (which may nest) blanked out, so that positions stay true."""
    if "[" not in text and "]" not in text:
        return text
    pieces, kept, level, opened, at = [], 0, 0, 0, 0
    while (edge := (_INNER_EDGE if level else _COMMENT_EDGE).search(text, at)) is not None:
        at = edge.end()
        if edge[0] == "[":
            if level == 0:
                pieces.append(text[kept : edge.start()])
                opened = edge.start()
            level += 1
        elif edge[0] == "]":
            level -= 1
            if level < 0:
                raise Fault("found ']' without '[', wanted a comment in square brackets", *position(text, edge.start()))
            if level == 0:
                pieces.append(re.sub(r"[^\n]", " ", text[opened : edge.end()]))
                kept = edge.end()
    if level:
        raise Fault("the comment is not closed, wanted ']'", *position(text, opened))
    return "".join(pieces) + text[kept:]


class Annotations:
    """What a text says of nodes beside their names, by the place where it says so; nothing unless it is asked for."""

    def __init__(self, text: str, asked: Asked) -> None:
        self.asked, self.places = asked, list[int]()
        self.found: list[str] = []
        for comment in _ANNOTATION.finditer(text) if asked else ():
            if comment[1] is not None:
                self.places.append(comment.start())
                self.found.append(comment[1])

    def hold(self, token: re.Match[str], place: int, columns: Columns) -> None:
        """Note what is said of the node that a token ends."""
        if not self.asked:
            return
        if token[3] is not None and "length" in self.asked:
            columns.hold(place, "length", finite(token[3]))
        for x in range(bisect_left(self.places, token.start()), bisect_left(self.places, token.end())):
            for name, value in _PAIR.findall(self.found[x].removeprefix("&NHX")):
                if name in self.asked:
                    columns.hold(place, name, value.strip("\"'"))


def finite(text: str) -> float | None:
    """A branch length; None where a program wrote nan or inf."""
    value = float(text)
    return value if math.isfinite(value) else None


def add_trees(
    text: str, start: int, end: int, naming: Naming, columns: Columns, annotations: Annotations | None = None
) -> None:
    """Append the trees of a part of a text without comments."""
    plain = naming.length_bins is None and (annotations is None or not annotations.asked)
    if plain and end - start >= AT_ONCE and add_plain_trees(text[start:end], naming, columns):
        return
    depth, label = columns.depth, columns.label
    stack: list[int] = []  # the open inner nodes, by their place in the columns
    closed = -1  # the inner node whose name comes next; -1 where a new node must start
    for token in _TOKEN.finditer(text, start, end):
        quoted, name, length, sign = token.groups()
        bare = quoted is None and name is None and length is None
        if sign == "(" and bare and closed < 0:
            stack.append(len(depth))
            depth.append(len(stack) - 1)
            label.append(MISSING)
            continue
        if bare and closed < 0 and not stack and sign in ("", ";"):
            if sign == ";":
                raise _fault(text, token, "a tree before it")
            return  # the end of the text, between trees
        code = _label(token, name if quoted is None else quoted.replace("''", "'"), naming, columns)
        if closed < 0:
            depth.append(len(stack))
            label.append(code)
        else:
            label[closed] = code
        if annotations is not None:
            annotations.hold(token, len(depth) - 1 if closed < 0 else closed, columns)
        closed = -1
        if sign == ")" and stack:
            closed = stack.pop()
        elif sign == ";" and not stack:
            columns.end_tree()
        elif sign != "," or not stack:
            raise _fault(text, token, _wanted(sign, len(stack)))


def add_plain_trees(text: str, naming: Naming, columns: Columns) -> bool:
    """Append trees without quoted names all at once; False, and nothing appended, where a text needs a closer look."""
    text = _PLAIN_LENGTH.sub("", text)
    if _ODD.search(text):
        return False
    sign = np.frombuffer(text.encode(errors="replace").translate(None, _NO_SIGNS), np.uint8)
    names = text.replace("(", ",").replace(")", ",").replace(";", ",").split(",")  # before each sign, and at the end
    bare = {name: name.strip() for name in set(names)}
    if bare[names.pop()] or not len(sign) or any(map(_SPACE.search, bare.values())):
        return False
    code_of = dict.fromkeys(bare, EMPTY)
    code_of.update((name, columns.words[naming.full.get(word, word)]) for name, word in bare.items() if word)
    code = np.fromiter(map(code_of.__getitem__, names), np.int64, len(names))
    named = code != EMPTY
    code[~named] = label_code(columns.words, naming.unnamed)
    opening, closing, ending = sign == ord("("), sign == ord(")"), sign == ord(";")
    after_end, after_closing = np.append(True, ending[:-1]), np.append(False, closing[:-1])
    level = np.cumsum(opening.astype(np.int32) - closing)  # brackets that are open after each sign
    depth = np.append(0, level[:-1])
    legal = np.where(opening, ~named & ~after_closing, np.where(ending, depth == 0, depth > 0))
    if not (legal.all() and ending[-1] and (named | ~after_end | ~ending).all()):
        return False
    node = np.flatnonzero(opening | ~after_closing)
    # The brackets of one depth open and close in turns, so sorted by depth they meet; a name is after its bracket.
    first, last = np.flatnonzero(opening), np.flatnonzero(closing)
    code[first[np.argsort(depth[first], kind="stable")]] = code[last[np.argsort(level[last], kind="stable")] + 1]
    columns.depth += depth[node].tolist()
    columns.label += code[node].tolist()
    for _ in range(int(ending.sum())):
        columns.end_tree()
    return True


def _label(token: re.Match[str], name: str | None, naming: Naming, columns: Columns) -> int:
    """Number of the label that the name, and the length if it counts, make."""
    name = naming.full.get(name, name) if name else naming.unnamed
    if token[3] is not None:
        length = _length(token[3])
        if length is None or (naming.length_bins is not None and not math.isfinite(length)):
            what = f"found the branch length {shown(token[3])}, wanted a number"
            raise Fault(what, *position(token.string, token.start(3)))
        if naming.length_bins is not None:
            name = f"{name or ''}|{bisect_right(naming.length_bins, length)}"
    return label_code(columns.words, name)


def _length(text: str) -> float | None:
    """A branch length, which some programs write as nan; None for what Python takes besides, such as 1_000."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _wanted(sign: str, n_open: int) -> str:
    if sign == ":":
        return "one number after ':'"
    if n_open:
        return f"',' or ')', with {n_open} '(' still open"
    return "';' after the root"


def _fault(text: str, token: re.Match[str], wanted: str) -> Fault:
    found = shown(token[4]) if token[4] else "the end of the file"
    return Fault(f"found {found}, wanted {wanted}", *position(text, token.start(4)))


FORMAT = Format(
    name="newick",
    suffixes=(".nwk", ".newick", ".tre", ".tree", ".nhx"),
    makes="any number of trees per file: ((a,b)c,d)root; names are labels, branch lengths are ignored",
    manual="""\
Any number of trees per file, each ended by a semicolon: `((a,b)c,d:0.1)root;`. The name of a node is its label; without
a name, the label is missing. Branch lengths and comments are ignored by default. With `length_bins=0.3`, `a:0.1` has
the label `a|0` and `a:0.5` the label `a|1`. With `content=length` the branch length is a number of the node; names of
annotations (`[&rate=0.1]`, `[&&NHX:S=human]`) are columns as well, and `content=all` reads all of them.""",
    options=(
        Option("unnamed", str, "label of nodes without a name"),
        Option("length_bins", float, "edges of bins; the bin of the branch length joins the label"),
        Option("content", str, "columns of content: length and names of annotations, or all"),
        MAX_BYTES_OPTION,
    ),
    reader=read_newick,
)
