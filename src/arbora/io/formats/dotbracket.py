"""Reader of RNA secondary structures in dot-bracket notation: a base pair is a node around what it encloses."""

import re
from collections.abc import Sequence

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files, shown

LABELS = ("pairs", "bases")
KNOTS = ("refuse", "unpaired")
ROOT, PAIR, UNPAIRED = "root", "()", "."

# Places, of which one is a dot or a round bracket, and an energy; what is taken stays taken (+), in linear time.
_STRUCTURE = re.compile(r"(?=\S*?[.()])([.()\[\]{}<>,:_~A-Za-z-]++)(?:\s++(\S.*))?")
_SEQUENCE = re.compile(r"[A-Za-z.~_-]+")
_OTHERS = re.compile(r"[\[\]{}<>A-Za-z]")  # pairs that may cross others


def read_dotbracket(
    source: Source,
    *,
    label: str = "pairs",
    unpaired: bool = True,
    pseudoknots: str = "refuse",
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    r"""Read RNA secondary structures in dot-bracket notation, any number per file.

    Below a root, a base pair is a node and an unpaired base is a leaf, in their order.  A structure is a line of dots
    and brackets, after its sequence and a line ``>name`` if there are any.  The rest of the line, such as an energy, is
    ignored.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    label : {"pairs", "bases"}, default "pairs"
        "pairs" labels a pair ``()`` and an unpaired base ``.``; "bases" uses the bases, as in ``GC`` and ``A``.
    unpaired : bool, default True
        Whether unpaired bases become leaves.
    pseudoknots : {"refuse", "unpaired"}, default "refuse"
        What to do with brackets of other kinds and letters: raise an error, or treat them as unpaired.
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
        One tree per structure.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_dotbracket
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.dbn")
    ...     _ = path.write_text(">hairpin\nGAC\n(.)\n")
    ...     read_dotbracket(path)[0]
    {'label': 'root', 'children': [{'label': '()', 'children': [{'label': '.'}]}]}
    """
    if label not in LABELS:
        raise ReadError(f'label={label!r}; wanted "pairs" or "bases"')
    if pseudoknots not in KNOTS:
        raise ReadError(f'pseudoknots={pseudoknots!r}; wanted "refuse" or "unpaired"')

    def read_file(path: str, columns: Columns) -> None:
        name, sequence, since = None, None, 0  # of the next structure, and the line where it begins
        for number, raw in enumerate(decode(read_bytes(path, max_bytes)).split("\n"), 1):
            line = raw.strip()
            if line.startswith(">"):
                _check_whole(since)
                name, sequence, since = line[1:].strip() or None, None, number
            elif not line or line.startswith("#"):
                continue
            elif sequence is None and _SEQUENCE.fullmatch(line) and line.strip(".~_-"):
                sequence, since = line, since or number
            elif (found := _STRUCTURE.fullmatch(line)) is not None:
                bases = _bases(sequence, found[1], label == "bases", number)
                _add_structure(found[1], bases, unpaired, pseudoknots, number, columns)
                columns.end_tree(None if name is None else f"{path}#{name}")
                name, sequence, since = None, None, 0
            else:
                raise Fault(f"found {shown(line)}, wanted a sequence of bases, or dots and brackets", number)
        _check_whole(since)

    return read_files(source, "dotbracket", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _check_whole(since: int) -> None:
    if since:
        raise Fault("there is no structure for the name or sequence here, wanted a line of dots and brackets", since)


def _bases(sequence: str | None, structure: str, wanted: bool, line: int) -> str | None:
    """The bases if they are wanted; a sequence that is there must be as long as its structure in any case."""
    if sequence is None and wanted:
        raise Fault("there is no sequence before this structure, wanted one for label=bases", line)
    if sequence is None:
        return None
    if len(sequence) != len(structure):
        raise Fault(f"found {len(structure)} places, wanted {len(sequence)} as in the sequence before", line)
    return sequence.upper().replace("T", "U") if wanted else None


def _add_structure(
    structure: str, bases: str | None, unpaired: bool, pseudoknots: str, line: int, columns: Columns
) -> None:
    words, depth, label = columns.words, columns.depth, columns.label
    other = _OTHERS.search(structure) if pseudoknots == "refuse" else None
    if other is not None:
        what = f"found {other[0]!r}, a pair that may cross others, wanted dots and round brackets"
        raise Fault(f"{what}; pseudoknots=unpaired takes it for an unpaired base", line, other.start() + 1)
    depth.append(0)
    label.append(words[ROOT])
    opened: list[tuple[int, int]] = []  # the open pairs: their place in the structure, and among the nodes
    for at, sign in enumerate(structure):
        if sign == "(":
            opened.append((at, len(depth)))
            depth.append(len(opened))
            label.append(words[PAIR] if bases is None else -1)
        elif sign == ")":
            if not opened:
                raise Fault("found ')' without '(', wanted pairs of brackets", line, at + 1)
            first, node = opened.pop()
            if bases is not None:
                label[node] = words[bases[first] + bases[at]]
        elif unpaired:
            depth.append(len(opened) + 1)
            label.append(words[UNPAIRED if bases is None else bases[at]])
    if opened:
        raise Fault("this '(' is not closed, wanted ')'", line, opened[-1][0] + 1)


FORMAT = Format(
    name="dotbracket",
    suffixes=(".dbn", ".vienna", ".dotbracket"),
    makes="any number of trees per file: RNA structures ((..)); a base pair is a node, an unpaired base a leaf",
    manual="""\
Any number of RNA secondary structures per file, as ViennaRNA writes them: a line of dots and round brackets, after the
sequence and a line `>name` if there are any. `((..).)` is `root(()(()(., .), .))`. With `label=bases` labels are bases,
as in `GC` for a pair and `A` for an unpaired base. Energies at the end of a line are ignored. Brackets of other kinds
and letters mark pseudoknots, which a tree cannot represent. They are refused; with `pseudoknots=unpaired` they are read
as unpaired.

```python
Path("hairpin.dbn").write_text(">hairpin\\nGGAAACC\\n((...))\\n")
ab.read_dotbracket("hairpin.dbn", label="bases")  # root(GC(GC(A, A, A)))
```""",
    options=(
        Option("label", LABELS, "labels () and ., or the bases"),
        Option("unpaired", bool, "unpaired bases become leaves"),
        Option("pseudoknots", KNOTS, "pairs that may cross others: an error, or unpaired"),
        MAX_BYTES_OPTION,
    ),
    reader=read_dotbracket,
)
