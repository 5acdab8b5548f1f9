"""What a format declares: its name, the files that have it, its reader, and the options of the reader in words."""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..forest.forest import Forest


class Option(NamedTuple):
    """An option of a reader that fits into KEY=VALUE."""

    name: str
    values: type | tuple[str, ...]  # bool, int, float (several numbers) or str; or the words that are allowed
    meaning: str
    of_trees: bool = True  # whether it says what becomes a tree, and so belongs to a model of these trees


MAX_BYTES_OPTION = Option("max_bytes", int, "longest file that is read, unpacked", of_trees=False)
MAX_LINE_OPTION = Option("max_bytes", int, "longest line that is read, unpacked", of_trees=False)


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of trees: the only place that says what belongs to it.

    `ab.read`, the public ``read_*`` names, ``--format``, ``arbora formats``, recognition by content, the manual and the
    fuzz targets derive from the formats that `registry` lists.

    Attributes
    ----------
    name : name of the format, of its module, and of its reader after ``read_``.
    suffixes : endings of file names that call for it; of two that fit a name, the longer wins.
    makes : what becomes a tree, in one line.
    manual : what docs/reading.md says of it, in Markdown.
    options : options that the command line takes; each is an argument of the reader, with the same default.
    reader : function of a source and options that gives a Forest.
    sniff : function of how a text begins: 0 if it is not of this format, else the more specific the higher.  Without
        one, any text may be of this format.
    within : formats whose suffixes files of this format may have, too; there `surely` decides.
    surely : function of how a text begins: whether it is of this format, whatever the name says.
    suited : function of how a single file begins, and of what options are given: options, as typed, without which the
        file would be one tree.
    asked : whether files are read only by a call that names the format, and then only those of its suffixes.
    by_line : whether bad lines are left out one by one, and not whole files.
    parts : of a format that Arbora stores trees in: function of a path and options that gives forests one by one.
    """

    name: str
    suffixes: tuple[str, ...]
    makes: str
    manual: str
    options: tuple[Option, ...]
    reader: Callable[..., Forest]
    sniff: Callable[[str], int] | None = None
    within: tuple[str, ...] = ()
    surely: Callable[[str], bool] | None = None
    suited: Callable[[str, Container[str]], dict[str, str]] | None = None
    asked: bool = False
    by_line: bool = False
    parts: Callable[..., Iterator[Forest]] | None = None
