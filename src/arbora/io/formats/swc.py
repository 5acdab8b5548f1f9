"""Reader of neuron morphologies (.swc): a neurite is a tree of samples, or of the sections between its branchings."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..by_parent import add_rows, cycle_row, subtree_rows
from ..contents import Asked
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files, shown

NODES = ("sections", "samples")
ROOTS = ("refuse", "split")
CONTENT = ("radius", "x", "y", "z", "length", "distance")
KINDS = {0: "undefined", 1: "soma", 2: "axon", 3: "basal dendrite", 4: "apical dendrite"}


class Sample(NamedTuple):
    """A point of a neurite: the numbers of a node, and how it hangs together."""

    id: int
    kind: str
    x: float
    y: float
    z: float
    radius: float
    parent: int  # -1 at a root
    line: int


def read_swc(
    source: Source,
    *,
    nodes: str = "sections",
    roots: str = "refuse",
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    r"""Read morphologies of neurons in SWC, one tree per file.

    The label is the type of neurite: soma, axon, basal dendrite and so on.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    nodes : {"sections", "samples"}, default "sections"
        "sections" makes a node of the root, every branching, every tip, and every sample before a change of type.
        "samples" makes a node of every sample.
    roots : {"refuse", "split"}, default "refuse"
        What to do with a file that has several roots: raise an error, or make a tree of each.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "radius", "x", "y", "z", "length" (along the neurite, from the node
        above) and "distance" (straight, from the root).  True reads all, None none.
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
    >>> from arbora import read_swc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.swc")
    ...     _ = path.write_text("1 1 0 0 0 5 -1\n2 3 1 0 0 1 1\n")
    ...     read_swc(path)[0]
    {'label': 'soma', 'children': [{'label': 'basal dendrite'}]}
    """
    if nodes not in NODES:
        raise ReadError(f'nodes={nodes!r}; wanted "sections" or "samples"')
    if roots not in ROOTS:
        raise ReadError(f'roots={roots!r}; wanted "refuse" or "split"')
    asked = Asked(content, CONTENT)

    def read_file(path: str, columns: Columns) -> None:
        samples = _samples(decode(read_bytes(path, max_bytes)))
        above = _parents(samples)
        tops = [row for row, parent in enumerate(above) if parent < 0]
        if len(tops) > 1 and roots == "refuse":
            what = f"a second root, after that of line {samples[tops[0]].line}, wanted one; roots=split reads all"
            raise Fault(what, samples[tops[1]].line)
        codes = [columns.words[sample.kind] for sample in samples]
        for rows in subtree_rows(above, tops):
            kept = rows if nodes == "samples" else _sections(rows, above, codes)
            add_rows(kept, codes, columns, _content(samples, above, kept, asked) if asked else None)
            columns.end_tree()

    return read_files(source, "swc", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _content(
    samples: list[Sample], above: list[int], kept: list[tuple[int, int]], asked: Asked
) -> dict[str, Callable[[int], float | None]]:
    """What rows hold, by the columns that are asked for."""
    root, ends = kept[0][0], {row for row, _ in kept}

    def between(a: int, b: int) -> float:
        return math.dist(samples[a][2:5], samples[b][2:5])

    def length(row: int) -> float | None:
        if row == root:
            return None
        total, at = 0.0, row
        while at == row or at not in ends:
            total += between(at, above[at])
            at = above[at]
        return total

    every: dict[str, Callable[[int], float | None]] = {
        "radius": lambda row: samples[row].radius,
        "x": lambda row: samples[row].x,
        "y": lambda row: samples[row].y,
        "z": lambda row: samples[row].z,
        "length": length,
        "distance": lambda row: None if row == root else between(row, root),
    }
    return {name: value for name, value in every.items() if name in asked}


def _samples(text: str) -> list[Sample]:
    samples = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        if len(fields) != 7:
            raise Fault(f"found {len(fields)} columns, wanted 7: id, type, x, y, z, radius, parent", number)
        own, kind, parent = (_whole(fields[n], ("id", "type", "parent")[k], number) for k, n in enumerate((0, 1, 6)))
        x, y, z, radius = (_number(field, number) for field in fields[2:6])
        if own < 0 or kind < 0:
            raise Fault(f"found id {own} and type {kind}, wanted 0 or more", number)
        samples.append(Sample(own, KINDS.get(kind, f"type {kind}"), x, y, z, radius, parent, number))
    if not samples:
        raise Fault("there is no sample in it, wanted lines of 7 numbers; leave the file out")
    return samples


def _whole(text: str, what: str, line: int) -> int:
    """A whole number, which some programs write as 1.0."""
    plain = text[:-2] if text.endswith(".0") else text
    digits = plain.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise Fault(f"found the {what} {shown(text)}, wanted a whole number", line)
    return int(plain)


def _number(text: str, line: int) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Fault(f"found {shown(text)}, wanted a number", line)
    return value


def _parents(samples: list[Sample]) -> list[int]:
    """Row of the parent of each sample; -1 at roots."""
    row: dict[int, int] = {}
    for n, sample in enumerate(samples):
        if row.setdefault(sample.id, n) != n:
            first = samples[row[sample.id]].line
            raise Fault(f"the id {sample.id} is that of line {first} already, wanted ids that differ", sample.line)
    above = []
    for sample in samples:
        if sample.parent != -1 and sample.parent not in row:
            raise Fault(f"the parent {sample.parent} is not there, wanted an id of the file, or -1", sample.line)
        above.append(row.get(sample.parent, -1))
    if (at := cycle_row(above)) is not None:
        raise Fault("the parents of this sample form a cycle, wanted a tree", samples[at].line)
    return above


def _sections(rows: list[tuple[int, int]], above: list[int], codes: list[int]) -> list[tuple[int, int]]:
    """Rows that end a section, with their depth among themselves."""
    below: dict[int, list[int]] = {}
    for row, _ in rows[1:]:
        below.setdefault(above[row], []).append(row)
    depth, kept = {rows[0][0]: 0}, [(rows[0][0], 0)]
    for row, _ in rows[1:]:
        children = below.get(row, ())
        ends = len(children) != 1 or codes[children[0]] != codes[row]
        depth[row] = depth[above[row]] + ends  # of a row inside a section: that of the end before it
        if ends:
            kept.append((row, depth[row]))
    return kept


FORMAT = Format(
    name="swc",
    suffixes=(".swc",),
    makes="one tree per file: a neuron; a section is a node, its kind of neurite the label",
    manual="""\
One tree per file: the morphology of a neuron, as in the files of NeuroMorpho.org. By default a node is the end of a
section: a branching, a tip, or the last sample before the type of neurite changes. With `nodes=samples` every sample is
a node. Labels are soma, axon, basal dendrite, apical dendrite, undefined, or the number of another type. Coordinates
and radii are checked; `content=radius,length` makes numbers of the nodes of them. The length is that of the neurite
from the node above, `distance` the straight way from the root, and `x`, `y` and `z` are the coordinates.

```python
Path("neuron.swc").write_text("1 1 0 0 0 5 -1\\n2 3 1 0 0 1 1\\n3 3 2 1 0 1 2\\n4 3 2 -1 0 1 2\\n")
ab.read_swc("neuron.swc")  # a soma, a dendrite and its two branches
```""",
    options=(
        Option("nodes", NODES, "what is a node: the end of a section, or every sample"),
        Option("roots", ROOTS, "files with several roots: an error, or a tree for each"),
        Option("content", str, "columns of content: radius, x, y, z, length, distance, or all"),
        MAX_BYTES_OPTION,
    ),
    reader=read_swc,
)
