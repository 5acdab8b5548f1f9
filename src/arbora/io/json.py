"""Readers of JSON: any document as a tree (`read_json`), and lines of nested trees (`read_jsonl`, `write_jsonl`)."""

import contextlib
import gzip
import io
import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import ReadError
from ..files import kinds
from ..files.container import written_whole
from ..forest.forest import MISSING, UNSEEN, Forest
from .builder import Columns, Fault, Target
from .finding import Source
from .json_deep import Number, distinct_members, parse_deep
from .sources import MAX_BYTES, Policy, decode, nothing_found, read_bytes, read_files, read_lines, shown

SUFFIXES = kinds.SUFFIXES["json"]
LINES_SUFFIXES = kinds.SUFFIXES["jsonl"]
SCALARS = ("kind", "value", "drop")


# ---- documents ------------------------------------------------------------------------------------------------------


def read_json(
    source: Source,
    *,
    scalars: str = "kind",
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read JSON documents, one tree a file.

    An object is a node ``{}`` with a child for each member, labelled by its key, whose only child is the value; an
    array is a node ``[]`` with its items as children.  `scalars`: "kind" labels a scalar ``#string``, ``#number``,
    ``#boolean`` or ``#null``, "value" by its JSON text, and "drop" leaves it out (except as a whole document).  A file
    that holds more than `max_bytes` (100 million) once unpacked is refused.
    """
    if scalars not in SCALARS:
        raise ReadError(f'scalars={scalars!r}; wanted "kind", "value" or "drop"')

    def read_file(path: str, columns: Columns) -> None:
        _add_document(_parse(decode(read_bytes(path, max_bytes)), pairs=True), scalars, columns)
        columns.end_tree()

    return read_files(source, SUFFIXES, read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _parse(text: str, pairs: bool) -> Any:
    """The value of a JSON text; with `pairs`, objects become tuples of members and numbers keep their text."""
    hooks: dict[str, Any] = {"object_pairs_hook": distinct_members}
    if pairs:
        hooks = {"object_pairs_hook": tuple, "parse_int": Number, "parse_float": Number}
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        return parse_deep(text, pairs)
    except json.JSONDecodeError as error:
        said = error.msg[:1].lower() + error.msg[1:]
        raise Fault(f"not JSON ({said}); mend the file", error.lineno, error.colno) from None
    except ValueError:  # Python refuses to convert integers of thousands of digits
        raise Fault("it holds an integer too long to read; shorten it or make it text") from None


def _add_document(value: Any, scalars: str, columns: Columns) -> None:
    words, depth, label = columns.words, columns.depth, columns.label
    stack: list[tuple[str | None, Any, int]] = [(None, value, 0)]  # key of a member (None elsewhere), value, depth
    while stack:
        key, value, level = stack.pop()
        if key is not None:  # the member first, and its value one level below
            depth.append(level)
            label.append(words[key])
            level += 1
        if isinstance(value, tuple):
            depth.append(level)
            label.append(words["{}"])
            stack += [(name, inner, level + 1) for name, inner in reversed(value)]
        elif isinstance(value, list):
            depth.append(level)
            label.append(words["[]"])
            stack += [(None, inner, level + 1) for inner in reversed(value)]
        elif scalars != "drop" or level == 0:
            depth.append(level)
            label.append(words[_scalar_label(value, scalars)])


def _scalar_label(value: Any, scalars: str) -> str:
    if scalars == "value":
        return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "#boolean"
    if value is None:
        return "#null"
    return "#number" if isinstance(value, (Number, float)) else "#string"


# ---- lines of nested trees ------------------------------------------------------------------------------------------


def read_jsonl(
    source: Source,
    *,
    split: str | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read JSON lines, one nested tree ``{"label":, "children": [...], "slot":}`` a line.

    A label is text, a number, or null for a missing one (``"unseen": true`` marks one outside the vocabulary).  A slot
    counts from 0; ``"pos"`` may stand for it and counts from 1; without either, a child takes the slot after its
    sibling.  Of the root, ``"class"`` becomes the target and ``"name"`` (or ``"id"``) the name; a name of null says
    that the tree has none.  With `split`, only trees whose root has that ``"split"`` are kept.  A line of more than
    `max_bytes` (100 million) is refused, and the file with it.
    """
    n_left_out = 0

    def read_line(text: str, name: str, columns: Columns) -> None:
        nonlocal n_left_out
        root = _parse(text, pairs=False)
        if not isinstance(root, dict):
            raise Fault(f'found {_kind(root)}, wanted an object {{"label": ..., "children": [...]}}')
        if split is not None and root.get("split") != split:
            n_left_out += 1
            return
        _add_nested(root, columns)
        given = root.get("name", root.get("id", name))
        if given is not None and not isinstance(given, (str, int, float)):
            raise Fault(f'"name" is {_kind(given)}, wanted text')
        columns.end_tree(name if given is None else str(given), _class_of(root), nameless=given is None)

    forest = read_lines(source, LINES_SUFFIXES, read_line, Policy(on_error, vocabulary, progress, max_bytes))
    if n_left_out and nothing_found(forest):
        raise ReadError(f'none of the {n_left_out} trees has "split": {json.dumps(split)}; check the value of split')
    return forest


def _class_of(root: dict[str, Any]) -> Target:
    target = root.get("class")
    if target is not None and not isinstance(target, (str, int, float)):
        raise Fault(f'"class" is {_kind(target)}, wanted text or a number')
    if isinstance(target, float) and not math.isfinite(target):
        raise Fault(f'"class" is {target}, wanted text or a finite number')
    if isinstance(target, int) and not -(2**63) <= target < 2**63:
        raise Fault('"class" is a whole number of more than 64 bits, wanted text for it')
    return target


def _add_nested(root: dict[str, Any], columns: Columns) -> None:
    """Append one nested tree; an explicit stack, because trees may be a million deep."""
    depth, label, slots, words = columns.depth, columns.label, columns.slot, columns.words
    stack: list[tuple[Any, int, int]] = [(root, 0, -1)]
    while stack:
        node, level, slot = stack.pop()
        try:
            word = node["label"]
            children = node.get("children")
        except (TypeError, KeyError, AttributeError):
            raise Fault(f'found {_kind(node)} as a node, wanted an object with the key "label"') from None
        depth.append(level)
        slots.append(slot)
        if type(word) is str:
            label.append(words[word])
        else:
            label.append(_odd_label(word, node, columns))
        if children is not None and not isinstance(children, list):
            raise Fault(f'"children" is {_kind(children)}, wanted an array')
        if children:
            due, pushed = 0, []
            for child in children:
                if isinstance(child, dict) and ("slot" in child or "pos" in child):
                    due = _slot_of(child)
                pushed.append((child, level + 1, due))
                due += 1
            _check_slots(pushed)
            stack += reversed(pushed)


def _odd_label(word: Any, node: dict[str, Any], columns: Columns) -> int:
    """Number of a label that is not text: a number as it is printed, or null."""
    if word is None:
        unseen = node.get("unseen", False)
        if not isinstance(unseen, bool):
            raise Fault(f'"unseen" is {_kind(unseen)}, wanted true or false')
        return UNSEEN if unseen else MISSING
    if isinstance(word, bool) or not isinstance(word, (int, float)):
        raise Fault(f'"label" is {_kind(word)}, wanted text, a number or null')
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


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {
        list: "an array",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    if isinstance(value, dict):
        return f"an object with the keys {shown(', '.join(map(str, value)))}"
    return names.get(type(value), type(value).__name__)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_jsonl(forest: Forest, path: str | os.PathLike[str]) -> None:
    """Write one nested tree a line, such that `read_jsonl` gives an equal forest; at once or not at all.

    A name that ends in ``.gz`` gives a packed file.
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
