"""Runs of an experiment kept as they finish, so that a table can be interrupted and gone on with."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import arbora

from .codec import decode, encode, key_of


class Timed(NamedTuple):
    """A result and the processor time it took."""

    result: Any
    seconds: float


class Kept:
    """Results by function and task in a file of JSON lines; those of other code are not found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, tuple[Any, float]] = {}
        self.torn = ""  # what ends a line that was cut short
        if path.exists():
            text = path.read_text(encoding="utf-8")
            self.torn = "" if text.endswith("\n") or not text else "\n"
            for line in text.splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            entry = json.loads(line)
            if entry["code"] == code_digest():
                self.done[entry["key"]] = entry["result"], float(entry["seconds"])
        except (ValueError, KeyError, TypeError):
            pass  # a line cut short when the run was killed: it is run again

    def find(self, function: Callable[[Any], Any], task: Any) -> Timed | None:
        """What function(task) gave, if it is there."""
        found = self.done.get(key_of(function, task))
        if found is None:
            return None
        return Timed(decode(found[0], get_type_hints(function)["return"]), found[1])

    def add(self, function: Callable[[Any], Any], task: Any, timed: Timed) -> None:
        """Keep what function(task) gave."""
        entry = {"key": key_of(function, task), "code": code_digest(), "seconds": round(timed.seconds, 3)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self.torn + json.dumps({**entry, "result": encode(timed.result)}) + "\n")
        self.torn = ""

    def forget(self) -> None:
        """Remove the file: the table is whole."""
        self.path.unlink(missing_ok=True)


@cache
def code_digest() -> str:
    """SHA-256 of the package's modules: what other code gave must not end up in a table of this one."""
    digest = hashlib.sha256()
    for package in (Path(arbora.__file__).parent, Path(__file__).parent):
        for path in sorted(package.rglob("*.py")):
            digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
