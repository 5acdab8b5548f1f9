"""A progress bar on stderr for anything that may take more than a second."""

import sys
import time
from typing import Any, Self

QUIET_SECONDS = 1.0  # what takes less shows no bar


def in_words(seconds: float) -> str:
    """A time in the unit one would say it in."""
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(1.0, seconds):.0f} s"


class Progress:
    """A bar that is always shown, never, or (None) on a terminal once the work has lasted a second.

    The time left that it shows is said to be an upper bound if the work may end before `total`, `at_most`.
    """

    def __init__(self, what: str, total: int, wanted: bool | None, at_most: bool = False) -> None:
        self.what, self.total, self.done, self.at_most = what, total, 0, at_most
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.start = time.monotonic() if wanted is None else 0.0
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        return self

    def advance(self, what: str | None = None) -> None:
        """One step done; `what` replaces the words beside the bar."""
        self.done += 1
        self.what = what or self.what
        self.show()

    def show(self) -> None:
        """Draw the bar if it is due."""
        if not self.wanted or time.monotonic() - self.start < QUIET_SECONDS:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar
            from rich.progress import TextColumn

            columns = list(Bar.get_default_columns())
            if self.at_most:
                columns.insert(-1, TextColumn("at most"))
            self.bar = Bar(*columns, console=Console(file=sys.stderr), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=self.total)
        self.bar.update(self.task, completed=self.done, description=self.what)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
