"""Reader of JSON: any document as a tree."""

import logging
import re
from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..json_documents import CONTENT, SCALARS, add_document
from ..json_nodes import add_nodes, without_comments
from ..json_text import json_kind, looks_like_json, parse_json
from ..sniffing import more_special
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files

logger = logging.getLogger(__name__)

UNITS = ("file", "item")


def read_json(
    source: Source,
    *,
    scalars: str = "kind",
    label: str | None = None,
    children: str | Sequence[str] | None = None,
    unit: str = "file",
    comments: bool = False,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read JSON documents, each as one tree or as the trees of labelled objects that it holds.

    Without `label`, an object is a node ``{}`` with a child for each member.  The child is labelled by its key, and its
    only child is the value.  An array is a node ``[]`` with its items as children.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    scalars : {"kind", "value", "drop"}, default "kind"
        Label of a scalar: ``#string``, ``#number``, ``#boolean`` or ``#null``, or its JSON text.  "drop" leaves scalars
        out (except as a whole document).
    label : str or None, default None
        Key of the label in documents that already are trees, such as query plans and syntax trees.  A node is an object
        with this key.  Objects around the outermost nodes are left out, and a file may hold several trees.
    children : str, sequence of str or None, default None
        Key of the children, or several keys (separated by commas in one str).  None takes the nearest nodes below,
        whatever holds them.
    unit : {"file", "item"}, default "file"
        What becomes a tree: the whole file, or each item of the array that the file holds.
    comments : bool, default False
        Whether to allow comments, and commas before closing brackets, as in configuration files.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes.  With `label`, keys of the objects that hold scalars.  Else a scalar is
        "number", "truth", "string" (a code) or "words" (of a string).  True reads all, None none.
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
        One tree per file, or the trees that the files hold.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_json
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.json")
    ...     _ = path.write_text('{"type": "Sort", "input": {"type": "Scan"}}')
    ...     read_json(path, label="type")[0]
    {'label': 'Sort', 'children': [{'label': 'Scan'}]}
    """
    if scalars not in SCALARS:
        raise ReadError(f'scalars={scalars!r}; wanted "kind", "value" or "drop"')
    if unit not in UNITS:
        raise ReadError(f'unit={unit!r}; wanted "file" or "item"')
    if label is not None and unit != "file":
        raise ReadError(
            f"unit={unit!r} with label=: labelled objects are trees wherever they are; leave one of them out"
        )
    if label is None and children is not None:
        raise ReadError(f"children={children!r} without label=; wanted both, or none of them")
    if label is not None and scalars != "kind":
        raise ReadError(f"scalars={scalars!r} with label=: only objects with a label are nodes; leave one of them out")
    keys = tuple((children.split(",") if isinstance(children, str) else children) or ())

    others = Counter[str]()
    asked = Asked(content, CONTENT if label is None else None)
    held = label is None or not keys  # whether some node has a key of children, so that they are not misspelt

    def read_file(path: str, columns: Columns) -> None:
        nonlocal held
        text = decode(read_bytes(path, max_bytes))
        others[more_special("json", text)] += 1
        text = without_comments(text) if comments else text
        if label is not None:
            held |= add_nodes(parse_json(text, pairs=False), label, keys, columns, asked)
            return
        value = parse_json(text, pairs=True)
        for document in [value] if unit == "file" else _items(value):
            add_document(document, scalars, columns, asked)
            columns.end_tree()

    forest = read_files(source, "json", read_file, Policy(on_error, vocabulary, progress, max_bytes))
    others.pop("json", None)
    for format, n in others.items() if label is None else ():
        logger.warning(
            "%d of the files read as documents of JSON seem to be %s; format=%s reads them so", n, format, format
        )
    if not held:
        raise ReadError(f"no node has the key {' or '.join(map(repr, keys))}; check children=, or leave it out")
    return forest


_RECORDS = re.compile(r"\s*\[\s*\{")


def _suited(text: str, given: Container[str]) -> dict[str, str]:
    return {"unit": "item"} if _RECORDS.match(text) and "unit" not in given and "label" not in given else {}


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        kind = "an object" if isinstance(value, tuple) else json_kind(value)
        raise Fault(f"the file holds {kind}, wanted an array; leave unit=item out")
    return value


FORMAT = Format(
    name="json",
    suffixes=(".json",),
    makes="one tree per file or item; objects, members, arrays and scalars are nodes",
    manual="""\
One tree per file. An object is a node `{}` with a child for each member, labelled by its key, whose only child is the
value; an array is a node `[]`. By default, a scalar is a leaf `#string`, `#number`, `#boolean` or `#null`, so values
are ignored. If a file is an array of records, `unit=item` makes each of them a tree. Commands and `ab.read` choose this
for a single file that begins as such an array, and say so; with a trained model, they read as in training.

Use `label` for documents that already are trees, such as query plans and syntax trees. A node is an object with this
key. Its children are the nodes under the key `children` (an array, one node or null; separate several keys by commas).
If `children` is left out, they are the nearest nodes below, whatever holds them. A file may hold several trees.

```text
arbora cluster plans/ --read "label=Node Type" --read children=Plans      # EXPLAIN (FORMAT JSON) of PostgreSQL
arbora cluster scripts/ --read label=type                                # syntax trees of ESTree (esprima, acorn)
arbora cluster orders.json --read unit=item                              # an array of records
arbora cluster configs/ --read comments=true                             # tsconfig.json and the like
```""",
    options=(
        Option("scalars", SCALARS, "label #string and the like, the value itself, or no node"),
        Option("label", str, "key that holds the label; only objects with it are nodes"),
        Option("children", str, "key that holds the children of a node, or several separated by commas"),
        Option("unit", UNITS, "what becomes a tree"),
        Option("content", str, "columns of content: keys of nodes, or number, truth, string, words of scalars; or all"),
        Option("comments", bool, "comments, and commas before closing brackets, are allowed", of_trees=False),
        MAX_BYTES_OPTION,
    ),
    reader=read_json,
    sniff=looks_like_json,
    suited=_suited,
)
