"""Reader of NEXUS files: the trees of their TREES blocks, with names by TRANSLATE and TAXLABELS."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked, checked_bins
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, position, read_bytes, read_files, shown
from .newick import Annotations, Naming, add_trees, without_comments

_END = re.compile(r"'[^']*(?:''[^']*)*'|(;)")  # of a command; a name in quotes may have a semicolon in it
_WORD = re.compile(r"\s*(?:'([^']*(?:''[^']*)*)'|([^\s',;=]+)|([,=]))")
_HEAD = re.compile(r"\s*([^\s=;]+)")
# What is taken stays taken (*+): blanks shared out between two of them in every way would take quadratic time.
_TREE = re.compile(r"\s*+u?tree\s*+(?:\*\s*+)?(?:'[^']*(?:''[^']*)*'|[^\s=']+)\s*+=", re.IGNORECASE)
_LIKE_TREE = re.compile(r"=\s*+(?:\[[^\[\]=]*+\]\s*+)*+\(")


def read_nexus(
    source: Source,
    *,
    unnamed: str | None = None,
    length_bins: Sequence[float] | None = None,
    burn_in: int = 0,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read the trees of NEXUS files, such as samples of a posterior.

    Labels are full names: TRANSLATE replaces short names, and a whole number that it does not name stands for the taxon
    of that number.  Other blocks are ignored.  Unrooted trees are read as they are written.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    unnamed : str or None, default None
        Label of nodes without a name.  None leaves it missing.
    length_bins : sequence of float or None, default None
        Increasing edges of bins; the bin of the branch length joins the label, as in `read_newick`.  None ignores
        branch lengths.
    burn_in : int, default 0
        Number of trees to leave out at the beginning of each file.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes, as for `read_newick`: "length", and names of annotations.  True reads
        all, None none.
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
    >>> from arbora import read_nexus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.nex")
    ...     _ = path.write_text("#NEXUS begin trees; tree t = (a,b)c; end;")
    ...     read_nexus(path)[0]
    {'label': 'c', 'children': [{'label': 'a'}, {'label': 'b'}]}
    """
    if burn_in < 0:
        raise ReadError(f"burn_in={burn_in}; wanted 0 or more")
    bins, asked = checked_bins(length_bins, "length_bins"), Asked(content)

    def read_file(path: str, columns: Columns) -> None:
        whole = decode(read_bytes(path, max_bytes))
        text, annotations = without_comments(whole), Annotations(whole, asked)
        if not text.lstrip()[:6].upper() == "#NEXUS":
            raise Fault(f"found {shown(text.lstrip()[:20])}, wanted #NEXUS at the beginning", 1)
        n_trees = 0
        for start, end, names in _trees(text):
            n_trees += 1
            if n_trees > burn_in:
                add_trees(text, start, end, Naming(unnamed, bins, names), columns, annotations)
        if n_trees <= burn_in:
            found = "there is no tree in it" if not n_trees else f"burn_in={burn_in} leaves none of its {n_trees} trees"
            raise Fault(f"{found}, wanted a TREES block with more; leave the file out, or lower burn_in")

    return read_files(source, "nexus", read_file, Policy(on_error, vocabulary, progress, max_bytes, asked))


class _Command(NamedTuple):
    """A command, from its first character to after its semicolon."""

    word: str
    start: int
    end: int


def _commands(text: str) -> Iterator[_Command]:
    at = len(text) - len(text.lstrip()) + len("#NEXUS")
    for found in _END.finditer(text, at):
        if found[1] is None:
            continue
        head = _HEAD.match(text, at, found.start())
        if head is not None:
            yield _Command(head[1].lower(), head.start(1), found.end())
        at = found.end()
    if text[at:].strip():
        raise Fault("the last command is not closed, wanted ';'", *position(text, len(text.rstrip()) - 1))


def _trees(text: str) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Where each tree starts and ends, and the names of its nodes in full."""
    block, opened = "", 0
    taxa: dict[str, str] = {}
    names: dict[str, str] = {}
    for command in _commands(text):
        word, start, end = command
        if word == "begin":
            if block:
                raise Fault(f"the block {block!r} is not closed, wanted END before this", *position(text, start))
            block, opened, names = " ".join(text[start + 5 : end - 1].split()).lower(), start, dict(taxa)
        elif word in ("end", "endblock"):
            if block == "taxa" and not taxa:
                raise Fault("the block 'taxa' that starts here has no names, wanted TAXLABELS", *position(text, opened))
            block = ""
        elif block == "taxa" and word == "taxlabels":
            taxa = _numbered(text, command)
        elif block == "trees" and word == "translate":
            names |= _translated(text, command)
        elif block == "trees" and word.rstrip("*") in ("tree", "utree"):
            head = _TREE.match(text, start, end)
            if head is None:
                raise Fault("found a tree without name, wanted TREE name = (...);", *position(text, start))
            yield head.end(), end, names
        elif block == "trees" and _is_damaged(text, start, end):
            what = "what looks like a tree or names, wanted TREE or TRANSLATE"
            raise Fault(f"found {shown(word)} before {what}", *position(text, start))
    if block:
        raise Fault(f"the block {block!r} that starts here is not closed, wanted END;", *position(text, opened))


def _is_damaged(text: str, start: int, end: int) -> bool:
    """Whether a command of another name holds a tree, or a list of names: its first word is damaged."""
    names = text.find(",", start, end) >= 0 and text.find("=", start, end) < 0
    return names or _LIKE_TREE.search(text, start, end) is not None


def _words(text: str, command: _Command) -> list[tuple[str, bool, int]]:
    """The words after the first of a command, whether each is a sign, and where it is."""
    found, at = [], command.start + len(command.word)
    last = at + len(text[at : command.end - 1].rstrip())
    while at < last:
        word = _WORD.match(text, at, last)
        if word is None:
            raise Fault("a quote is not closed, wanted another '", *position(text, at))
        quoted, plain, sign = word.groups()
        name = quoted.replace("''", "'") if quoted is not None else plain or sign
        found.append((name, sign is not None, word.end() - len(word[0].lstrip())))
        at = word.end()
    return found


def _numbered(text: str, command: _Command) -> dict[str, str]:
    """Taxa by their number, except where the number is itself the name of a taxon."""
    labels = [word for word, is_sign, _ in _words(text, command) if not is_sign]
    names = set(labels)
    return {str(n): label for n, label in enumerate(labels, 1) if str(n) not in names}


def _translated(text: str, command: _Command) -> dict[str, str]:
    """Full names by short ones."""
    names: dict[str, str] = {}
    pair: list[str] = []
    for word, is_sign, at in [*_words(text, command), (",", True, command.end - 1)]:
        if not (is_sign and word == ","):
            pair.append(word)
            continue
        if not pair and at == command.end - 1:
            break  # a comma before the semicolon
        if len(pair) != 2:
            raise Fault(f"found {len(pair)} words, wanted a short name and a full one", *position(text, at))
        if pair[0] in names:
            raise Fault(f"{shown(pair[0])} is translated twice, wanted once", *position(text, at))
        names[pair[0]] = pair[1]
        pair = []
    return names


def _sniff(text: str) -> int:
    return 3 * (text.lstrip()[:6].upper() == "#NEXUS")


FORMAT = Format(
    name="nexus",
    suffixes=(".nex", ".nexus", ".nxs", ".trees"),
    makes="any number of trees per file: the TREES blocks of NEXUS; full names are labels, branch lengths are ignored",
    manual="""\
Any number of trees per file, such as the samples of MrBayes or BEAST. Labels are full names: TRANSLATE replaces short
names, and a whole number that it does not name stands for the taxon of that number. `burn_in=1000` leaves out the first
1000 trees of each file. Comments, other blocks and, by default, branch lengths are ignored. Underscores stay. Unrooted
trees are read as they are written. `content=length` reads branch lengths, and `content=all` annotations as well.

```python
Path("samples.nex").write_text("#NEXUS begin trees; translate 1 ape, 2 man; tree a = (1,2); tree b = (2,1); end;")
ab.read_nexus("samples.nex", burn_in=1)[0]  # a node without label above man and ape
```""",
    options=(
        Option("unnamed", str, "label of nodes without a name"),
        Option("length_bins", float, "edges of bins; the bin of the branch length joins the label"),
        Option("content", str, "columns of content: length and names of annotations, or all"),
        Option("burn_in", int, "trees at the beginning of each file that are left out", of_trees=False),
        MAX_BYTES_OPTION,
    ),
    reader=read_nexus,
    sniff=_sniff,
)
