"""Paths that select the trees of a group: an XPath expression, or JSONPaths for documents in JSON."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .paths import LabelPaths

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CONDITIONS = 4
MOST_TRIED = 300  # paths that part the group best, from which conditions are taken
LEAST_GAIN = 0.005  # of F1, for a condition more

#: Kinds of JSON values by the labels that the reader gives them.
KINDS = {
    "{}": "object",
    "[]": "array",
    "#string": "string",
    "#number": "number",
    "#boolean": "boolean",
    "#null": "null",
}
_NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)


class Condition(NamedTuple):
    """A path that trees of a group have, or lack.

    Attributes
    ----------
    path : the path, in XPath or JSONPath.
    present : whether the trees have it, or lack it.
    kind : of a JSON document, the kind of value that stands there; empty if any does.
    """

    path: str
    present: bool
    kind: str = ""

    def __str__(self) -> str:
        return f"{'has' if self.present else 'lacks'} {self.path}{f' ({self.kind})' if self.kind else ''}"


class PathSet(NamedTuple):
    """Conditions that trees of a group meet and others do not.

    Attributes
    ----------
    notation : "XPath" or "JSONPath".
    conditions : all of them hold for a tree that is selected.
    precision : share of the selected trees, of those the set was made from, that are of the group.
    recall : share of the group's trees that are selected, likewise.
    """

    notation: str
    conditions: tuple[Condition, ...]
    precision: float
    recall: float

    @property
    def expression(self) -> str:
        """One XPath 1.0 expression, true of the trees selected; for JSON, a condition per line."""
        if self.notation == "JSONPath":
            return "\n".join(map(str, self.conditions))
        if not self.conditions:
            return "true()"
        parts = [one.path if one.present else f"not({one.path})" for one in self.conditions]
        return f"boolean({parts[0]})" if len(parts) == 1 and self.conditions[0].present else " and ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "notation": self.notation,
            "expression": self.expression,
            "conditions": [one._asdict() for one in self.conditions],
        }


class Chosen(NamedTuple):
    """Conditions as numbers of paths."""

    path: tuple[int, ...]
    present: tuple[bool, ...]
    precision: float
    recall: float


def choose(paths: LabelPaths, own: Bools, others: Bools, json: bool | None = None) -> Chosen:
    """Conditions, one after the other the one with the best F1, until none is worth its place.

    Of equally good conditions the shortest path is taken, and a path that is there before one that is not.  Where
    documents of JSON and others are side by side, `json` says which of them the paths are of: no notation has both.
    """
    columns = _candidates(paths, own, others)
    if json is not None:
        columns = columns[[(paths.labels(path)[0] in KINDS) == json for path in columns.tolist()]]
    has = np.asarray(paths.has[:, columns].todense()).astype(bool)
    looks = np.concatenate([has[own], has[others]])
    mine = np.repeat([True, False], [int(own.sum()), int(others.sum())])
    selected = np.ones(len(mine), bool)
    picked: list[tuple[int, bool]] = []
    best = _f1(selected, mine)
    while len(picked) < MOST_CONDITIONS and len(columns):
        scores = np.stack([_scores(looks, selected, mine), _scores(~looks, selected, mine)])
        at = int(np.argmax(np.round(scores, 6).ravel()))
        lacks, j = divmod(at, len(columns))
        gain = float(scores[lacks, j]) - best
        if gain < LEAST_GAIN and picked:
            break
        picked.append((int(columns[j]), not lacks))
        selected &= looks[:, j] != bool(lacks)
        best = _f1(selected, mine)
        if gain < LEAST_GAIN:
            break
    n_selected = int(selected.sum())
    right = int((selected & mine).sum())
    precision = right / n_selected if n_selected else 1.0
    path, present = tuple(p for p, _ in picked), tuple(there for _, there in picked)
    return Chosen(path, present, precision, right / max(int(mine.sum()), 1))


def selected(paths: LabelPaths, chosen: Chosen, trees: Bools) -> float | None:
    """Share of these trees that meet all conditions; None without trees."""
    if not trees.any():
        return None
    meets = np.ones(int(trees.sum()), bool)
    has = paths.has[trees]
    for path, present in zip(chosen.path, chosen.present, strict=True):
        meets &= (np.asarray(has[:, [path]].todense()).ravel() > 0) == present
    return float(meets.mean())


def written(paths: LabelPaths, chosen: Chosen, is_json: bool) -> PathSet:
    """The conditions in the notation of the documents."""
    conditions = []
    for path, present in zip(chosen.path, chosen.present, strict=True):
        labels = paths.labels(path)
        text, kind = json_path(labels) if is_json else (xpath(labels), "")
        conditions.append(Condition(text, present, kind))
    return PathSet("JSONPath" if is_json else "XPath", tuple(conditions), chosen.precision, chosen.recall)


def _candidates(paths: LabelPaths, own: Bools, others: Bools) -> Ints:
    """Paths whose frequencies differ most between the group and the others, short ones first."""
    has = paths.has
    inside = np.asarray(own.astype(np.float64) @ has).ravel() / max(int(own.sum()), 1)
    outside = np.asarray(others.astype(np.float64) @ has).ravel() / max(int(others.sum()), 1)
    gap = np.abs(inside - outside)
    best = np.argsort(-np.round(gap, 6), kind="stable")[:MOST_TRIED]
    return np.sort(best[(gap[best] > 0) | (best == 0)])


def _scores(looks: Bools, selected: Bools, mine: Bools) -> Floats:
    """F1 of each condition beside those that hold already."""
    right = (looks & (selected & mine)[:, None]).sum(axis=0)
    chosen = (looks & selected[:, None]).sum(axis=0)
    return np.asarray(2.0 * right / np.maximum(chosen + mine.sum(), 1))


def _f1(selected: Bools, mine: Bools) -> float:
    return float(2.0 * (selected & mine).sum() / max(int(selected.sum() + mine.sum()), 1))


# ---- notations ------------------------------------------------------------------------------------------------------


def xpath(labels: tuple[str, ...]) -> str:
    """A path of elements in XPath 1.0; attributes and texts, as readers label them, by their own tests.

    >>> xpath(("html", "body", "{urn:x}p", "@id")), xpath(("a", "#text"))
    ("/html/body/*[namespace-uri()='urn:x' and local-name()='p']/@id", '/a/text()')
    """
    return "".join(f"/{_step(label)}" for label in labels)


def _step(label: str) -> str:
    if label == "#text":
        return "text()"
    if label == "#comment":
        return "comment()"
    if _NAME.fullmatch(label) or (label.startswith("@") and _NAME.fullmatch(label[1:])):
        return label
    space, brace, local = label[1:].partition("}") if label.startswith("{") else ("", "", "")
    if brace and space and local:
        return f"*[namespace-uri()={_quoted(space)} and local-name()={_quoted(local)}]"
    if label.startswith("@") and len(label) > 1:
        return f"@*[name()={_quoted(label[1:])}]"
    return f"*[name()={_quoted(label)}]"


def _quoted(text: str) -> str:
    """A literal of XPath 1.0, which has no escapes."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    parts = ', "\'", '.join(f"'{part}'" for part in text.split("'"))
    return f"concat({parts})"


def json_path(labels: tuple[str, ...]) -> tuple[str, str]:
    """A path of a JSON document, as `read_json` labels it, in JSONPath (RFC 9535), and the kind of value that is there.

    The kind is empty where the path ends at a key, and is the value itself where scalars were read by their value.

    >>> json_path(("{}", "items", "[]", "{}", "a b", "#string")), json_path(("[]",))
    (('$.items[*]["a b"]', 'string'), ('$', 'array'))
    """
    path, kind, is_key = "$", "", False
    for label in labels:
        if kind == "array":
            path += "[*]"
        if is_key:
            path += f".{label}" if _NAME.fullmatch(label) else f"[{json.dumps(label, ensure_ascii=False)}]"
            kind, is_key = "", False
        else:
            kind = KINDS.get(label, label)
            is_key = label == "{}"
    return path, kind
