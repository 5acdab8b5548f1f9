"""Outputs that people gave to nodes: a table with a row per node, beside the trees."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ReadError
from ..evaluate.summary import tree_names
from ..forest.forest import Forest
from ..io.builder import Fault
from ..io.json_deep import distinct_members
from ..io.sources import decode, read_bytes
from ..io.tables import MAX_BYTES, csv_rows
from .nodes import label_columns
from .terminal import Teller

SUFFIXES = (".csv", ".json", ".jsonl", ".parquet")
WANTED = ("tree", "node", "output")
_WHOLE = re.compile("[0-9]{1,15}")

Rows = Iterator[tuple[str, dict[str, Any]]]  # where a row is, and its cells by column


def read_annotations(path: Path, forest: Forest, teller: Teller) -> list[str | None]:
    """Output of every node of the trees, None where the table has none.

    A row names a tree and the number of a node.  A label that is there must be that of the node, so that a table of
    other trees is not taken for one of these.
    """
    names = tree_names(forest)
    places = {name: t for t, name in enumerate(names)}
    start = forest.tree_start.tolist()
    labels, times = label_columns(forest)["label"], Counter(names)
    out: list[str | None] = [None] * forest.n_nodes
    idle: set[str] = set()
    for where, row in _rows(path):
        missing = [name for name in WANTED if name not in row]
        if missing:
            raise ReadError(f"{where}: no column {missing[0]}; wanted tree, node and output in every row")
        output = row["output"]
        if output is None or output == "" or output != output:
            continue
        if isinstance(output, (dict, list)):
            raise ReadError(f"{where}: the output is {output!r:.40}; wanted text or a number")
        tree = str(row["tree"])
        if tree not in places:
            idle.add(tree)
            continue
        if times[tree] > 1:
            raise ReadError(f"{where}: several trees are called {tree}, wanted names that differ; name the trees")
        node, lo = _number(row["node"], where), start[places[tree]]
        if not 0 <= node < start[places[tree] + 1] - lo:
            size = start[places[tree] + 1] - lo
            raise ReadError(f"{where}: node {node} of {tree}, which has {size}; wanted 0 to {size - 1}")
        if row.get("label") not in (None, "", labels[lo + node]):
            found = f"the label {row['label']!s:.40} for node {node} of {tree}, which has {labels[lo + node]!s:.40}"
            raise ReadError(f"{where}: {found}; the table is of other trees, or of other options of the reader")
        if out[lo + node] not in (None, str(output)):
            raise ReadError(f"{where}: a second output for node {node} of {tree}; wanted one")
        out[lo + node] = str(output)
    if idle:
        more = f" and {len(idle) - 1} others" if len(idle) > 1 else ""
        teller.say(f"{path} has rows for trees that are not here, {min(idle)}{more}; they are not used")
    if not any(output is not None for output in out):
        raise ReadError(f"{path}: no row gives an output to a node of these trees; fill in the column output")
    return out


def _number(value: Any, where: str) -> int:
    """A whole number, as CSV, JSON or parquet has it."""
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    if not whole and not (isinstance(value, str) and _WHOLE.fullmatch(value)):
        raise ReadError(f"{where}: the node is {value!r:.40}; wanted its number, from 0")
    return int(value)


def _rows(path: Path) -> Rows:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path)
    try:
        text = decode(read_bytes(str(path), MAX_BYTES, "give a smaller table"))
    except Fault as fault:
        raise ReadError(fault.at(str(path))) from None
    return _csv(text, path) if suffix == ".csv" else _json(text, path, suffix)


def _csv(text: str, path: Path) -> Rows:
    rows = csv_rows(text, str(path))
    _, title = next(rows, (1, []))
    missing = [name for name in WANTED if name not in title]
    if missing:
        raise ReadError(f"{path}: no column {missing[0]}; wanted the columns tree, node and output, or a --template")
    for line, cells in rows:
        if len(cells) != len(title):
            raise ReadError(f"{path}, line {line}: {len(cells)} cells; wanted {len(title)} as in the first line")
        yield f"{path}, line {line}", dict(zip(title, cells, strict=True))


def _json(text: str, path: Path, suffix: str) -> Rows:
    """A list of objects, or an object per line."""
    parts = [(0, text)] if suffix == ".json" else list(enumerate(text.split("\n"), 1))
    for line, part in parts:
        if not part.strip():
            continue
        where = f"{path}, line {line}" if line else str(path)
        try:
            found = json.loads(part, object_pairs_hook=distinct_members)
        except Fault as fault:
            raise ReadError(fault.at(where)) from None
        except (ValueError, RecursionError) as error:
            raise ReadError(f"{where}: this is no JSON ({str(error)[:80]}); mend it") from None
        for number, row in enumerate(found if suffix == ".json" and isinstance(found, list) else [found]):
            if not isinstance(row, dict):
                raise ReadError(f"{where}: found a {type(row).__name__}, wanted an object with tree, node and output")
            yield where if line else f"{path}, row {number}", row


def _parquet(path: Path) -> Rows:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise ReadError(f"{path}: this is no parquet file ({str(error).splitlines()[0][:80]}); check it") from None
    for number, row in enumerate(table.to_pylist()):
        yield f"{path}, row {number}", row
