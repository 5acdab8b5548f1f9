"""Reader and writer of JSON lines: a nested tree, or any document, per line."""

import contextlib
import gzip
import io
import json
import logging
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import ReadError
from ...files.container import written_whole
from ...forest.forest import Forest
from ...forest.node_columns import MISSING, UNSEEN
from ..builder import Columns, Fault, Target
from ..contents import Asked
from ..finding import Source
from ..format import MAX_LINE_OPTION, Format, Option
from ..json_documents import SCALARS, add_document
from ..json_text import json_kind, looks_like_json, parse_json
from ..sources import MAX_BYTES, Policy, nothing_found, read_lines, shown

logger = logging.getLogger(__name__)

LINES = ("auto", "trees", "documents")
TREE_KEYS = {"label", "children", "slot", "pos"}  # a first line with one of these is meant as a tree


def read_jsonl(
    source: Source,
    *,
    lines: str = "auto",
    scalars: str = "kind",
    split: str | None = None,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read JSON lines: one nested tree ``{"label":, "children": [...], "slot":}``, or any document, per line.

    A label is text, a number, or null if it is missing (``"unseen": true`` marks one outside the vocabulary).  A slot
    counts from 0.  ``"pos"`` may replace it and counts from 1.  Without either, the slot is one more than that of the
    previous sibling.  At the root, ``"class"`` becomes the target and ``"name"`` (or ``"id"``) the name.  If the name
    is null, the tree has none.

    Lines of any other kind are documents, which become trees as those of `read_json` do.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    lines : {"auto", "trees", "documents"}, default "auto"
        What lines hold.  "auto" looks at the first line: documents, if it is an object without the keys of a tree.
    scalars : {"kind", "value", "drop"}, default "kind"
        Labels of scalars in documents, as in `read_json`.
    split : str or None, default None
        Read only trees whose root has this ``"split"``.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: names in the member "content" of nodes, as `write_jsonl` writes them;
        of documents, as in `read_json`.  True reads all, None none.
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
    >>> from arbora import read_jsonl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.jsonl")
    ...     _ = path.write_text('{"label": "a", "children": [{"label": "b"}]}')
    ...     read_jsonl(path)[0]
    {'label': 'a', 'children': [{'label': 'b'}]}
    """
    for name, given, wanted in (("lines", lines, LINES), ("scalars", scalars, SCALARS)):
        if given not in wanted:
            raise ReadError(f"{name}={given!r}; wanted {', '.join(wanted[:-1])} or {wanted[-1]}")
    n_left_out, asked = 0, Asked(content)
    documents: bool | None = {"auto": None, "trees": False, "documents": True}[lines]

    def read_line(text: str, name: str, columns: Columns) -> None:
        nonlocal n_left_out, documents
        if documents is None:
            documents = scalars != "kind" or (split is None and _holds_document(text))
            if documents:
                logger.warning("%s: no tree with the key label, so each line is read as a document of JSON", name)
        if documents:
            add_document(parse_json(text, pairs=True), scalars, columns, asked)
            columns.end_tree(name)
            return
        root = parse_json(text, pairs=False)
        if not isinstance(root, dict):
            raise Fault(f'found {json_kind(root)}, wanted an object {{"label": ..., "children": [...]}}')
        if split is not None and root.get("split") != split:
            n_left_out += 1
            return
        _add_nested(root, columns, asked)
        given = root.get("name", root.get("id", name))
        if given is not None and not isinstance(given, (str, int, float)):
            raise Fault(f'"name" is {json_kind(given)}, wanted text')
        columns.end_tree(name if given is None else str(given), _class_of(root), nameless=given is None)

    forest = read_lines(source, "jsonl", read_line, Policy(on_error, vocabulary, progress, max_bytes, asked))
    if n_left_out and nothing_found(forest):
        raise ReadError(f'none of the {n_left_out} trees has "split": {json.dumps(split)}; check the value of split')
    return forest


def _holds_document(text: str) -> bool:
    value = parse_json(text, pairs=True)
    return isinstance(value, tuple) and TREE_KEYS.isdisjoint(key for key, _ in value)


def _class_of(root: dict[str, Any]) -> Target:
    target = root.get("class")
    if target is not None and not isinstance(target, (str, int, float)):
        raise Fault(f'"class" is {json_kind(target)}, wanted text or a number')
    if isinstance(target, float) and not math.isfinite(target):
        raise Fault(f'"class" is {target}, wanted text or a finite number')
    if isinstance(target, int) and not -(2**63) <= target < 2**63:
        raise Fault('"class" is a whole number of more than 64 bits, wanted text for it')
    return target


def _hold(node: Any, place: int, asked: Asked, columns: Columns) -> None:
    """Note the content of a node: an object of values by column."""
    held = node.get("content")
    if held is not None and not isinstance(held, dict):
        raise Fault(f'"content" is {json_kind(held)}, wanted an object')
    for name, value in (held or {}).items():
        if name in asked:
            columns.hold(place, name, value)


def _add_nested(root: dict[str, Any], columns: Columns, asked: Asked) -> None:
    """Append one nested tree; an explicit stack, because trees may be a million deep."""
    depth, label, slots, words = columns.depth, columns.label, columns.slot, columns.words
    stack: list[tuple[Any, int, int]] = [(root, 0, -1)]
    while stack:
        node, level, slot = stack.pop()
        try:
            word = node["label"]
            children = node.get("children")
        except (TypeError, KeyError, AttributeError):
            raise Fault(f'found {json_kind(node)} as a node, wanted an object with the key "label"') from None
        if asked:
            _hold(node, len(depth), asked, columns)
        depth.append(level)
        slots.append(slot)
        if type(word) is str:
            label.append(words[word])
        else:
            label.append(_odd_label(word, node, columns))
        if children is None and len(node) > 1:
            _check_no_other_children(node)
        if children is not None and not isinstance(children, list):
            raise Fault(f'"children" is {json_kind(children)}, wanted an array')
        if children:
            due, pushed = 0, []
            for child in children:
                if isinstance(child, dict) and ("slot" in child or "pos" in child):
                    due = _slot_of(child)
                pushed.append((child, level + 1, due))
                due += 1
            _check_slots(pushed)
            stack += reversed(pushed)


def _check_no_other_children(node: dict[str, Any]) -> None:
    """Raise if a node without "children" holds nodes under another key, which is likely misspelt."""
    for key, held in node.items():
        if isinstance(held, list) and held and isinstance(held[0], dict) and "label" in held[0]:
            raise Fault(f'the key {shown(key)} holds nodes, wanted them in "children"')


def _odd_label(word: Any, node: dict[str, Any], columns: Columns) -> int:
    """Number of a label that is not text: a number as it is printed, or null."""
    if word is None:
        unseen = node.get("unseen", False)
        if not isinstance(unseen, bool):
            raise Fault(f'"unseen" is {json_kind(unseen)}, wanted true or false')
        return UNSEEN if unseen else MISSING
    if isinstance(word, bool) or not isinstance(word, (int, float)):
        raise Fault(f'"label" is {json_kind(word)}, wanted text, a number or null')
    return columns.words[str(word)]


def _slot_of(child: dict[str, Any]) -> int:
    key, first = ("slot", 0) if "slot" in child else ("pos", 1)
    given = child[key]
    if type(given) is not int or not first <= given < 2**31:
        raise Fault(f'"{key}" is {shown(str(given))}, wanted an integer of {first} or more')
    return given - first


def _check_slots(siblings: list[tuple[Any, int, int]]) -> None:
    seen: set[int] = set()
    highest = -1
    for _, _, slot in siblings:
        if slot in seen:
            raise Fault(f"two children in slot {slot} (counted from 0) of one node, wanted slots that differ")
        seen.add(slot)
        highest = max(highest, slot)
    if highest >= 2**31 - 1:
        raise Fault(f"a child comes to slot {highest}, wanted less than {2**31 - 1}")


# ---- writing --------------------------------------------------------------------------------------------------------


def write_jsonl(forest: Forest, path: str | os.PathLike[str]) -> None:
    """Write one nested tree per line, such that `read_jsonl` gives an equal forest.

    The file is replaced atomically.

    Parameters
    ----------
    forest : Forest
        The trees.
    path : path
        File to write.  A name that ends in ``.gz`` gives a compressed file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import Forest, write_jsonl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.jsonl")
    ...     write_jsonl(Forest.from_nested([("a", ["b"])]), path)
    ...     print(path.read_text().strip())
    {"label":"a","name":null,"children":[{"label":"b"}]}
    """
    zipped = os.fspath(path).lower().endswith(".gz")
    with written_whole(path) as temporary, _text_file(temporary, zipped) as file:
        for t in range(forest.n_trees):
            file.writelines(_line_pieces(forest, t))


@contextlib.contextmanager
def _text_file(path: str, zipped: bool) -> Iterator[io.TextIOBase]:
    with open(path, "wb") as raw:
        # No name and no time go into the packed file: equal forests give equal bytes.
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if zipped else raw
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file:
            yield file


def _line_pieces(forest: Forest, t: int) -> Iterator[str]:
    """The text of one tree, piece by piece, in document order."""
    lo, hi = int(forest.tree_start[t]), int(forest.tree_start[t + 1])
    parent, slot, label = (column[lo:hi].tolist() for column in (forest.parent, forest.slot, forest.label))
    children: list[list[int]] = [[] for _ in parent]
    for u in range(hi - lo - 1):
        children[parent[u] - lo].append(u)
    held = {name: column.nested(lo, hi) for name, column in forest.content.items()}
    root = hi - lo - 1
    stack: list[int | str] = ["}\n", root]  # nodes to come, and the text between them
    due = {root: -1}  # slot that a reader would give each node without being told
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            yield top
            continue
        u = top
        yield '{"label":' + (json.dumps(forest.vocabulary[label[u]]) if label[u] >= 0 else "null")
        if label[u] == UNSEEN:
            yield ',"unseen":true'
        if slot[u] != due.pop(u):
            yield f',"slot":{slot[u]}'
        mine = {name: values[u] for name, values in held.items() if values[u] is not None}
        if mine:
            yield ',"content":' + json.dumps(mine, separators=(",", ":"))
        if u == root:
            yield _root_keys(forest, t)
        if children[u]:
            yield ',"children":['
            siblings = sorted(children[u], key=slot.__getitem__)
            due.update(zip(siblings, [0] + [slot[v] + 1 for v in siblings[:-1]], strict=True))
            pieces: list[int | str] = []
            for v in siblings:
                pieces += [",", v, "}"] if pieces else [v, "}"]
            stack.append("]")
            stack += reversed(pieces)


def _root_keys(forest: Forest, t: int) -> str:
    keys: dict[str, Any] = {"name": None if forest.name is None else forest.name[t]}
    if forest.target is not None:
        keys["class"] = forest.target[t].item()
    return "," + json.dumps(keys, separators=(",", ":"))[1:-1]


_ONE_LINE = re.compile(r"\s*\{.*\}[ \t\r]*\n\s*\{")  # an object that ends with its line, and another


def _sniff(text: str) -> int:
    return 2 * bool(looks_like_json(text) and _ONE_LINE.match(text))


FORMAT = Format(
    name="jsonl",
    suffixes=(".jsonl", ".ndjson"),
    makes='one tree per line: {"label": "a", "children": [...]}, or any document; "class" is its known class',
    manual="""\
One tree per line: `{"label": "a", "children": [{"label": "b", "slot": 2}], "class": "x", "name": "n"}`. A label of null
is missing. Slots count from 0; the default is one more than that of the previous sibling. `"class"` and `"name"` belong
to the root. `arbora convert` writes this format.

If the first line is an object without the keys of a tree, such as an event or a payload, each line is a document and
becomes a tree as in the format json. Arbora says so. `lines=trees` refuses such lines, `lines=documents` reads trees as
documents too.

```text
arbora cluster events.jsonl --read scalars=value
```""",
    options=(
        Option("lines", LINES, "what lines hold; auto decides by the first line"),
        Option("scalars", SCALARS, "in documents: label #string and the like, the value itself, or no node"),
        Option("content", str, "columns of content, or all"),
        Option("split", str, 'only trees whose root has this "split"', of_trees=False),
        MAX_LINE_OPTION,
    ),
    reader=read_jsonl,
    sniff=_sniff,
    by_line=True,
)
