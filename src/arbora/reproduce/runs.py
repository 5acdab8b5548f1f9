"""Runs of an experiment kept as they finish, so that a table can be interrupted and gone on with."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class Runs:
    """Results by setting in a file of JSON lines: ``$ARBORA_RUNS/NAME.jsonl``, or below ``.arbora-runs`` here."""

    def __init__(self, name: str) -> None:
        self.path = Path(os.environ.get("ARBORA_RUNS", ".arbora-runs")) / f"{name}.jsonl"
        self.done: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # a line cut short when the run was killed: it is run again
                self.done[_key(entry["setting"])] = entry["result"]

    def get(self, setting: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a setting: as it was kept, or computed now and kept."""
        key = _key(setting)
        if key not in self.done:
            self.done[key] = json.loads(json.dumps(compute()))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"setting": dict(setting), "result": self.done[key]}) + "\n")
        return self.done[key]


def _key(setting: Mapping[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True)
