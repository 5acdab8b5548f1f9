"""Reader of glycans in condensed IUPAC notation: ``Neu5Ac(a2-3)Gal(b1-4)[Fuc(a1-3)]GlcNAc``, one per line."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..by_parent import add_rows, subtree_rows
from ..finding import Source
from ..format import MAX_LINE_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, read_lines, shown

LABELS = ("residue", "residue:linkage")

# A sugar with its linkage, which stays open at the end of the line; a bracket of a branch; or what cannot be there.
_TOKEN = re.compile(r"([^\s()\[\]{}]+)(?:\(([^\s()\[\]{}]+)(?:\)|$))?|([\[\]])|(\S)")


class Residue(NamedTuple):
    """A sugar, its linkage to the sugar on its right (empty at the root), and its place among the residues."""

    name: str
    linkage: str
    parent: int  # -1 at the root
    column: int


def read_glycans(
    source: Source,
    *,
    label: str = "residue",
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read glycans in condensed IUPAC notation, one per line.

    A sugar is a node below the one it is bound to, and the sugar on the right is the root.  Siblings keep the order in
    which they are written.  Parts of unknown place, in braces, are refused.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    label : {"residue", "residue:linkage"}, default "residue"
        "residue" labels a sugar ``Gal``, "residue:linkage" ``Gal:b1-4``.
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
        One tree per line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_glycans
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.iupac")
    ...     _ = path.write_text("Gal(b1-4)[Fuc(a1-3)]GlcNAc")
    ...     read_glycans(path)[0]
    {'label': 'GlcNAc', 'children': [{'label': 'Gal'}, {'label': 'Fuc'}]}
    """
    if label not in LABELS:
        raise ReadError(f'label={label!r}; wanted "residue" or "residue:linkage"')

    def read_line(text: str, name: str, columns: Columns) -> None:
        residues = _residues(text)
        words = [one.name if label == "residue" or not one.linkage else f"{one.name}:{one.linkage}" for one in residues]
        (rows,) = subtree_rows([one.parent for one in residues], [len(residues) - 1])
        add_rows(rows, [columns.words[word] for word in words], columns)
        columns.end_tree(name)

    return read_lines(source, "glycans", read_line, Policy(on_error, vocabulary, progress, max_bytes))


def _residues(text: str) -> list[Residue]:
    """The sugars of a glycan as they are written; parents come after their children."""
    tokens = list(_TOKEN.finditer(text))
    n = sum(token[1] is not None for token in tokens)
    found: list[Residue] = []
    parent, saved = -1, list[tuple[int, int]]()  # what the next sugar on the left is bound to; at each open bracket
    for token in reversed(tokens):
        name, linkage, bracket, other = token.groups()
        column = token.start() + 1
        if other is not None:
            hint = "; glycans with parts of unknown place are no trees" if other in "{}" else ""
            raise Fault(f"found {shown(other)}, wanted sugars, linkages in () and branches in []{hint}", None, column)
        if bracket == "]":
            if parent < 0:
                raise Fault("found ']', wanted the sugar that the branch is bound to on its right", None, column)
            saved.append((parent, len(found)))
        elif bracket == "[":
            if not saved:
                raise Fault("found '[' without ']', wanted pairs of brackets", None, column)
            parent, before = saved.pop()
            if before == len(found):
                raise Fault("the branch is empty, wanted a sugar in it", None, column)
        else:
            if not (name.isprintable() and (linkage or "").isprintable()):
                raise Fault(
                    f"found {shown(token[0])}, wanted the name of a sugar without control characters", None, column
                )
            if linkage is None and parent >= 0:
                raise Fault(f"no linkage after {shown(name)}, wanted one as in (b1-4)", None, column + len(name))
            found.append(Residue(name, (linkage or "").rstrip("-") if parent < 0 else linkage, parent, column))
            parent = n - len(found)  # its place once the list is turned around
    if saved:
        raise Fault("found ']' without '[', wanted pairs of brackets", None, text.index("]") + 1)
    return found[::-1]


FORMAT = Format(
    name="glycans",
    suffixes=(".iupac", ".glycans"),
    makes="one tree per line: glycans such as Gal(b1-4)[Fuc(a1-3)]GlcNAc; a sugar is a node and the label",
    manual="""\
One glycan per line, in condensed IUPAC notation: `Neu5Ac(a2-3)Gal(b1-4)[Fuc(a1-3)]GlcNAc` is `GlcNAc(Gal(Neu5Ac),
Fuc)`. The sugar on the right is the root; siblings keep the order in which they are written. With
`label=residue:linkage` labels are `Gal:b1-4`. Glycans with parts of unknown place, in braces, are refused.

```python
Path("core.iupac").write_text("Man(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-4)GlcNAc\\n")
ab.read_glycans("core.iupac", label="residue:linkage")
```""",
    options=(
        Option("label", LABELS, "labels Gal, or Gal:b1-4"),
        MAX_LINE_OPTION,
    ),
    reader=read_glycans,
    by_line=True,
)
