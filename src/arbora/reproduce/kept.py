"""Runs of an experiment kept as they finish, so that a table can be interrupted and gone on with."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any


class Runs:
    """Results by setting in a file of JSON lines: ``$ARBORA_RUNS/NAME.jsonl``, or below ``.arbora-runs`` here."""

    def __init__(self, name: str) -> None:
        self.path = Path(os.environ.get("ARBORA_RUNS", ".arbora-runs")) / f"{name}.jsonl"
        self.done: dict[str, dict[str, Any]] = {}
        self.torn = ""  # what ends a line that was cut short
        if self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            self.torn = "" if text.endswith("\n") or not text else "\n"
            for line in text.splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # a line cut short when the run was killed: it is run again
                self.done[_key(entry["setting"])] = entry["result"]

    def kept(self, setting: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result of a setting, if there is one."""
        return self.done.get(_key(setting))

    def get(self, setting: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a setting: as it was kept, or computed now and kept.

        A run during which Ctrl-C came is not kept: fits end early by it, and do not say so.
        """
        key = _key(setting)
        if key not in self.done:
            with _listening() as heard:
                result = json.loads(json.dumps(compute()))
            if heard:
                raise KeyboardInterrupt
            self.done[key] = result
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self.torn + json.dumps({"setting": dict(setting), "result": result}) + "\n")
            self.torn = ""
        return self.done[key]


@contextlib.contextmanager
def _listening() -> Iterator[list[bool]]:
    """Note Ctrl-C, and raise it, while the block lasts."""
    heard: list[bool] = []

    def note(number: int, frame: Any) -> None:
        heard.append(True)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    old = signal.signal(signal.SIGINT, note)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, old)


def _key(setting: Mapping[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True)
