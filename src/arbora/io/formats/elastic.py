"""Reader of the INEX structure files: one tree per line, ``class:label(child child ...)``, a leaf is ``label($)``."""

import re
from collections.abc import Sequence

from ...forest.forest import Forest
from ..builder import Columns, Fault, Target
from ..finding import Source
from ..format import MAX_LINE_OPTION, Format
from ..sources import MAX_BYTES, Policy, read_lines, shown

# One token a node, and one for each closing bracket: a leaf, an opened node, a bracket, or anything else.
_TOKEN = re.compile(r"\s*(?:([^\s():$]+)\((\$\))?|(\))|(\S))")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
_CLASS = re.compile(r"\s*([^\s():$]+)\s*:")


def read_elastic(
    source: Source,
    *,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read ``.elastic.tree`` files of INEX, one tree per line.

    The class before the colon becomes the target.  The position among the siblings is the slot.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    max_bytes : int, default 100,000,000
        Longest line that is read, in bytes after decompression.  A longer one is refused; raise it for files you trust.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad lines and warns how many there were.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        One tree per line, with classes as its target.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_elastic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.elastic")
    ...     _ = path.write_text("7:12(3($) 4($))")
    ...     read_elastic(path)[0]
    {'label': '12', 'children': [{'label': '3'}, {'label': '4'}]}
    """
    return read_lines(source, "elastic", _read_line, Policy(on_error, vocabulary, progress, max_bytes))


def _read_line(text: str, name: str, columns: Columns) -> None:
    head = _CLASS.match(text)
    if head is None:
        raise Fault(
            f"found {shown(text)}, wanted class:label(...); each line starts with the class of its tree", None, 1
        )
    depth, label, words = columns.depth, columns.label, columns.words
    level, started = 0, False  # depth of the next node; whether the root was met
    for word, leaf, close, other in _TOKEN.findall(text, head.end()):
        if word:
            if level == 0 and started:
                raise _broken(text, head.end())
            started = True
            depth.append(level)
            label.append(words[word])
            if not leaf:
                level += 1
        elif close and level > 0:
            level -= 1
        elif close or other:
            raise _broken(text, head.end())
    if level or not started:
        raise _broken(text, head.end())
    columns.end_tree(name, _number_or_text(head[1]))


def _number_or_text(word: str) -> Target:
    """The class as a number if it is written as one; 01 is not 1."""
    return int(word) if _WHOLE.fullmatch(word) else word


def _broken(text: str, start: int) -> Fault:
    """Say where a line that is known to be wrong goes wrong; the fast loop does not keep positions."""
    level, nodes = 0, 0
    for token in _TOKEN.finditer(text, start):
        word, leaf, close, other = token.groups()
        column = token.start(1 if word else token.lastindex or 0) + 1
        if other or (close and level == 0):
            return Fault(f"found {shown(other or close)}, wanted label(children) or label($)", None, column)
        if word and level == 0 and nodes:
            return Fault(f"found {shown(word)} after the end of the tree, wanted one tree per line", None, column)
        nodes += bool(word)
        level += bool(word and not leaf) - bool(close)
    if nodes == 0:
        return Fault("the tree is empty, wanted label(children) or label($)", None, start + 1)
    return Fault(f"{level} brackets are still open at the end of the line, wanted a ')' for each", None, len(text))


FORMAT = Format(
    name="elastic",
    suffixes=(".elastic", ".elastic.tree"),
    makes="one tree per line: class:label(child($) ...); the class is the known class",
    manual="""\
One tree per line, as in the INEX structure files: `class:label(child($) child($))`.""",
    options=(MAX_LINE_OPTION,),
    reader=read_elastic,
    by_line=True,
)
