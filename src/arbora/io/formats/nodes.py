"""Reader of node tables in Parquet, whoever wrote them: a row is a node, with its id and that of its parent."""

import os
import stat
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...errors import MissingDependencyError, ReadError
from ...files.urls import is_url
from ...forest.classes import is_missing
from ...forest.forest import Forest
from ..builder import Columns, Fault, label_code
from ..by_parent import add_rows, cycle_row, subtree_rows
from ..contents import Asked
from ..finding import Source
from ..format import Format, Option
from ..sources import MAX_BYTES, Opened, Policy, read_bytes, read_items, shown

_BATCH = 1 << 16  # rows read at a time
_MOST_SAID = 200  # characters of what pyarrow says
_MOST_EXACT = 2.0**53  # whole numbers from here on share a double with their neighbours


class _Names(NamedTuple):
    """The columns of a table, by what they hold."""

    node: str
    parent: str
    label: str
    tree: str | None
    order: str | None


class _Tree(NamedTuple):
    """The rows of one tree, or of a whole table; `values` has them by column."""

    path: str
    first: int  # its first row in the file
    name: Any
    values: dict[str, list[Any]]


def read_nodes(
    source: Source,
    *,
    node: str = "id",
    parent: str = "parent",
    label: str = "label",
    tree: str | None = None,
    order: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read tables with a row per node from Parquet files of any schema.

    A node without a parent is a root.  Ids may be of any type, and rows of one tree in any order.  With `tree`, the
    rows of one tree must be adjacent, and tables larger than memory can be read part by part.

    Parameters
    ----------
    source : path or list of paths
        Files, globs, directories or URLs.
    node : str, default "id"
        Column with the id of a node, which no other row of its tree has.
    parent : str, default "parent"
        Column with the id of the parent; missing at roots.
    label : str, default "label"
        Column with the label; a missing one is a missing label.
    tree : str or None, default None
        Column with the tree of a row, which then has one root and is named so.  None makes every root a tree.
    order : str or None, default None
        Column by which siblings are sorted.  None keeps the order of the rows.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes.  True reads all others, None none.
    max_bytes : int, default 100,000,000
        Most bytes that the rows of a tree, or without `tree` of a table, take in memory.  More are refused.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad trees and warns how many there were.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        The trees.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from arbora import read_nodes
    >>> table = pa.table({"span": [7, 9, 8], "above": [None, 7, 7], "name": ["GET", "query", "parse"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "spans.parquet")
    ...     parquet.write_table(table, path)
    ...     read_nodes(path, node="span", parent="above", label="name", order="span")[0]
    {'label': 'GET', 'children': [{'label': 'parse'}, {'label': 'query'}]}
    """
    names, asked = _Names(node, parent, label, tree, order), Asked(content)
    given = [name for name in names if name is not None]
    if not all(given):
        raise ReadError(f"{', '.join(names._fields)}: found an empty name, wanted the name of a column")
    items: Callable[[str], Iterator[_Tree]] = partial(_trees, names, asked, max_bytes)
    policy = Policy(on_error, vocabulary, progress, max_bytes)
    return read_items(source, "nodes", items, partial(_add_tree, names, asked), policy)


def _add_tree(names: _Names, asked: Asked, tree: _Tree, columns: Columns) -> None:
    """Append the tree of some rows, or the trees."""
    where = f"row {tree.first}" if names.tree is None else f"tree {shown(str(tree.name))}"
    ids, parents, labels = (tree.values[name] for name in (names.node, names.parent, names.label))
    place = list(range(len(ids)))
    if names.order is not None:
        orders = tree.values[names.order]
        lost = next((row for row in place if is_missing(orders[row])), None)
        if lost is not None:
            raise Fault(f"{where}: no value in {names.order!r}, which orders siblings, in row {tree.first + lost}")
        try:
            place.sort(key=orders.__getitem__)
        except TypeError as error:
            raise Fault(f"{where}: the values of {names.order!r} have no order ({error})") from None
    at: dict[Any, int] = {}
    for n, row in enumerate(place):
        for name, value in ((names.node, ids[row]), (names.parent, parents[row])):
            _check_id(tree.first + row, name, value, may_miss=name == names.parent)
        if at.setdefault(ids[row], n) != n:
            raise Fault(f"{where}: two nodes have the id {shown(str(ids[row]))}, wanted ids that differ")
    above = [-1 if is_missing(parents[row]) else at.get(parents[row], -2) for row in place]
    if -2 in above:
        row = place[above.index(-2)]
        told = f"the parent {shown(str(parents[row]))} of node {shown(str(ids[row]))} is no node"
        sort = ", sort the rows by tree" if names.tree is not None else ""
        raise Fault(f"{where}: {told} of its tree; add it{sort}, or leave the parent of a root empty")
    if (loop := cycle_row(above)) is not None:
        raise Fault(f"{where}: the parents of node {shown(str(ids[place[loop]]))} form a cycle, wanted a tree")
    roots = [n for n, parent in enumerate(above) if parent < 0]
    if names.tree is not None and len(roots) != 1:
        raise Fault(f"{where}: {len(roots)} of its nodes have no parent, wanted one root")
    words = [None if is_missing(labels[row]) else str(labels[row]) for row in place]
    codes = [label_code(columns.words, word) for word in words]
    held = {
        name: partial(_held, values, place)
        for name, values in tree.values.items()
        if name not in names and name in asked
    }
    for rows in subtree_rows(above, roots):
        add_rows(rows, codes, columns, held)
        columns.end_tree(None if names.tree is None else str(tree.name))


def _check_id(row: int, name: str, value: Any, may_miss: bool) -> None:
    """Raise unless a value can be compared with other ids, and has all its digits."""
    if is_missing(value) and not may_miss:
        raise Fault(f"row {row}: there is no {name!r}, wanted an id")
    if not isinstance(value, Hashable):
        raise Fault(f"row {row}: {name!r} is a {type(value).__name__}, wanted an id that can be compared")
    if isinstance(value, float) and abs(value) >= _MOST_EXACT:
        raise Fault(f"row {row}: {name!r} is {value!r}, a double in which whole numbers of this size lose digits")


def _held(values: list[Any], place: list[int], n: int) -> Any:
    value = values[place[n]]
    return None if is_missing(value) else value


# ---- rows -----------------------------------------------------------------------------------------------------------


def _trees(names: _Names, asked: Asked, max_bytes: int, path: str) -> Iterator[_Tree]:
    """The rows of each tree of a file, or all of them if no column says which tree they are of."""
    found: _Tree | None = None
    row, n_bytes = 0, 0
    seen: set[Any] = set()
    for batch in _batches(names, asked, max_bytes, path):
        values = _values(batch, row)
        trees = [None] * len(batch) if names.tree is None else values[names.tree]
        start = 0
        for end in range(1, len(batch) + 1):
            if end < len(batch) and trees[end] == trees[start]:
                continue
            if found is None or found.name != trees[start]:
                if found is not None:
                    yield found
                found, n_bytes = _Tree(path, row + start, trees[start], {name: [] for name in values}), 0
                _check_new(found, seen)
            n_bytes += (end - start) * batch.nbytes // len(batch)
            if n_bytes > max_bytes:
                raise Fault(
                    f"the rows from {found.first} on hold more than {max_bytes} bytes; raise max_bytes if you trust it"
                )
            for name, column in values.items():
                found.values[name] += column[start:end]
            start = end
        row += len(batch)
    if found is not None:
        yield found


def _values(batch: Any, row: int) -> dict[str, list[Any]]:
    """The values of some rows, by column."""
    try:
        return {name: column.to_pylist() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    except ValueError as error:  # text that is not UTF-8, dates that are none
        raise Fault(f"the rows from {row} on hold a value that is damaged ({str(error)[:_MOST_SAID]})") from None


def _check_new(tree: _Tree, seen: set[Any]) -> None:
    """Raise if the rows of a tree are not adjacent."""
    if not isinstance(tree.name, Hashable):
        raise Fault(f"row {tree.first}: its tree is a {type(tree.name).__name__}, wanted an id that can be compared")
    if tree.name in seen:
        raise Fault(f"row {tree.first}: tree {shown(str(tree.name))} continues after another; sort the table by tree")
    seen.add(tree.name)


def _batches(names: _Names, asked: Asked, max_bytes: int, path: str) -> Iterator[Any]:
    """The columns that are needed, some rows at a time."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError(".parquet files need pyarrow; install arbora[parquet]") from None

    def of_file(file: Any) -> Iterator[Any]:
        try:
            yield from _of_table(parquet.ParquetFile(file), names, asked)
        except (pa.ArrowException, OSError, RecursionError, ValueError) as error:
            said = str(error).partition("\n")[0][:_MOST_SAID]
            todo = "save the table as .parquet, or pass it to Forest.from_table"
            raise Fault(f"it is damaged or not parquet ({said}); {todo}") from None

    if path.lower().endswith(".gz") or not (is_url(path) or _is_regular(path)):  # which cannot be read from any place
        yield from of_file(pa.BufferReader(read_bytes(path, max_bytes)))
        return
    with Opened(path) as file:
        yield from of_file(file)


def _is_regular(path: str) -> bool:
    return os.path.exists(path) and stat.S_ISREG(os.stat(path).st_mode)


def _of_table(table: Any, names: _Names, asked: Asked) -> Iterator[Any]:
    there = table.schema_arrow.names
    for what, name in zip(names._fields, names, strict=True):
        if name is not None and name not in there:
            raise Fault(f"there is no column {shown(name)} for {what}=; it has {', '.join(map(shown, there[:20]))}")
    wanted = [name for name in there if name in names or name in asked]
    lost = sorted(asked.names - set(there))
    if lost:
        raise Fault(f"there is no column {shown(lost[0])} for content=; it has {', '.join(map(shown, there[:20]))}")
    return iter(table.iter_batches(_BATCH, columns=wanted))


FORMAT = Format(
    name="nodes",
    suffixes=(".parquet",),
    asked=True,
    by_line=False,
    makes="tables with a row per node, of any schema: columns with ids of nodes and of their parents, and labels",
    manual="""\
Tables of other tools with a row per node. This format must be requested by `--format nodes` or `read_nodes`, with the
names of the columns. Ids may be of any type; a node without a parent is a root. With `tree=COLUMN` a tree is what has
one value there. The rows of a tree must be adjacent then, and tables larger than memory can be converted to a store
part by part, from URLs too. Without it every root is a tree, and the whole table is in memory.

```text
arbora convert s3://bucket/spans.parquet spans.store --format nodes --read node=span_id --read parent=parent_id \\
    --read label=name --read tree=trace_id --read order=start
```""",
    options=(
        Option("node", str, "column with the id of a node"),
        Option("parent", str, "column with the id of its parent"),
        Option("label", str, "column with its label"),
        Option("tree", str, "column with its tree"),
        Option("order", str, "column by which siblings are sorted"),
        Option("content", str, "columns of content, or all others"),
        Option("max_bytes", int, "most bytes of the rows of a tree, in memory", of_trees=False),
    ),
    reader=read_nodes,
)
