"""The command line: ``arbora --help`` lists its commands."""

import io
import os
import sys
from collections import namedtuple
from typing import Any

from .root import app

# They add their commands, in this order.
# isort: off
from . import trees, cluster, predict, watch, demo, train, classify, label_nodes  # noqa: F401
from . import describe, distances, hierarchy, report, warmup  # noqa: F401
# isort: on

__all__ = ["app", "main"]

PIPE_CLOSED = 141  # as a shell says of any command that writes to a closed pipe


def main() -> None:
    """Run the command that the arguments name."""
    for stream in (sys.stdout, sys.stderr):
        # Labels may hold what the terminal's encoding, or any, cannot: it is written with escapes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stdout = sys.stdout
    try:
        app(prog_name="arbora")
    except SystemExit:
        # After Ctrl-C in code from a string, Python ends by that signal instead, unless another string ran since: a
        # named tuple is made from one.
        namedtuple("Ran", ())
        # Typer wraps stdout, and ends with 1, once whoever reads it has had enough.
        if sys.stdout is not stdout or not _flushed(stdout):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise SystemExit(PIPE_CLOSED) from None
        raise
    except OSError as error:  # of what Typer itself prints
        raise SystemExit(f"arbora: {error.filename or 'stdout'}: {error.strerror or error}") from None


def _flushed(stream: Any) -> bool:
    """Whether what was printed has gone out; not if the pipe is closed."""
    try:
        stream.flush()
    except BrokenPipeError:
        return False
    return True
