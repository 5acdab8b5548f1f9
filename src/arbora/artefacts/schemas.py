"""A JSON Schema of the documents of a group, and whether a document meets it, from trees as `read_json` has them."""

import json
from collections.abc import Iterable
from typing import Any

from ..forest.forest import Forest
from .queries import KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REQUIRED = 0.95  # share of the objects at a place that have a key, from which on it is required
LISTED = 0.05  # share from which on a key is listed among the properties
MOST_KEYS = 60  # listed at one place
OPEN_KEYS = 8  # different keys, none of them frequent, from which on an object is taken for a map
MOST_DEPTH = 12

Value = tuple[str, Any]  # kind of value, and what is inside: members, items, or None


class _Seen:
    """All values that stand at one place of the documents."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.members: dict[str, _Seen] = {}
        self.times: dict[str, int] = {}  # objects that have a key
        self.items: _Seen | None = None

    def add(self, value: Value, depth: int = 0) -> None:
        """Count one value more."""
        kind, inside = value
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if depth >= MOST_DEPTH:
            return
        if kind == "object":
            for key, one in inside.items():
                self.times[key] = self.times.get(key, 0) + 1
                if one is not None:
                    self.members.setdefault(key, _Seen()).add(one, depth + 1)
        elif kind == "array":
            self.items = self.items or _Seen()
            for one in inside:
                self.items.add(one, depth + 1)

    def join(self, other: "_Seen") -> None:
        """Take over what was seen at another place."""
        for kind, n in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + n
        for key, n in other.times.items():
            self.times[key] = self.times.get(key, 0) + n
        for key, seen in other.members.items():
            self.members.setdefault(key, _Seen()).join(seen)
        if other.items is not None:
            self.items = self.items or _Seen()
            self.items.join(other.items)


def schema_of(documents: Iterable[Value]) -> dict[str, Any]:
    """The schema of some documents.

    A key is required if 95% of the objects at its place have it, and every type that occurs is allowed.  Objects may
    have keys that the schema does not list.  An object with many keys, none of them frequent, is a map.
    """
    seen = _Seen()
    for document in documents:
        seen.add(document)
    return {"$schema": DIALECT, **_schema(seen)}


def _schema(seen: _Seen) -> dict[str, Any]:
    kinds = sorted(seen.kinds)
    if not kinds:
        return {}
    out: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if "object" in kinds:
        out |= _of_objects(seen)
    if "array" in kinds and seen.items is not None and seen.items.kinds:
        out["items"] = _schema(seen.items)
    return out


def _of_objects(seen: _Seen) -> dict[str, Any]:
    n = seen.kinds["object"]
    if len(seen.times) >= OPEN_KEYS and max(seen.times.values()) < 0.5 * n:
        every = _Seen()
        for one in seen.members.values():
            every.join(one)
        return {"additionalProperties": _schema(every)}
    frequent = sorted(seen.times, key=lambda key: -seen.times[key])[:MOST_KEYS]
    listed = {key: _schema(seen.members.get(key, _Seen())) for key in seen.times
              if seen.times[key] >= LISTED * n and key in frequent}  # fmt: skip
    required = [key for key in listed if seen.times[key] >= REQUIRED * n]
    return {**({"properties": listed} if listed else {}), **({"required": required} if required else {})}


def meets(value: Value, schema: dict[str, Any]) -> bool:
    """Whether a document meets a schema that `schema_of` made."""
    kind, inside = value
    allowed = schema.get("type")
    if allowed is not None and kind not in (allowed if isinstance(allowed, list) else [allowed]):
        return False
    if kind == "array":
        return all(meets(one, schema.get("items", {})) for one in inside)
    if kind != "object":
        return True
    listed, rest = schema.get("properties", {}), schema.get("additionalProperties", {})
    if any(key not in inside for key in schema.get("required", ())):
        return False
    return all(one is None or meets(one, listed.get(key, rest)) for key, one in inside.items())


# ---- trees as documents ---------------------------------------------------------------------------------------------


def documents_of(forest: Forest) -> list[Value]:
    """The document of each tree, with kinds in place of scalars; members of a key without a value are None."""
    words = [KINDS.get(word) or _kind_of_text(word) for word in forest.vocabulary]
    labels, parents = forest.label.tolist(), forest.parent.tolist()
    below: list[list[int]] = [[] for _ in labels]
    for u, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(u)
    slots = forest.slot.tolist()
    for children in below:
        children.sort(key=slots.__getitem__)
    made: dict[int, Value] = {}
    keys = _keys(forest, labels, parents)
    for u in range(len(labels)):  # children come before parents
        if keys[u]:
            continue
        kind = words[labels[u]] if labels[u] >= 0 else "unseen"
        inside: Any = None
        if kind == "object":
            inside = {}
            for member in below[u]:
                name = forest.vocabulary[labels[member]] if labels[member] >= 0 else "\ufffd"
                inside[name] = made.pop(below[member][0]) if below[member] else None
        elif kind == "array":
            inside = [made.pop(item) for item in below[u]]
        made[u] = kind, inside
    return [made[root] for root in (forest.tree_start[1:] - 1).tolist()]


def _keys(forest: Forest, labels: list[int], parents: list[int]) -> list[bool]:
    """Whether each node is a key: a child of an object, itself no key."""
    braces = forest.vocabulary.index("{}") if "{}" in forest.vocabulary else -3
    keys = [False] * len(labels)
    for u in range(len(labels) - 1, -1, -1):  # parents first
        above = parents[u]
        keys[u] = above >= 0 and not keys[above] and labels[above] == braces
    return keys


def _kind_of_text(word: str) -> str:
    """The kind of a scalar that is labelled by its JSON text; a key gets some kind, which nobody reads."""
    try:
        value = json.loads(word)
    except ValueError:
        return "string"
    if value is None:
        return "null"
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"
