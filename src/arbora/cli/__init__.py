"""The command line: ``arbora --help`` lists its commands."""

import io
import sys

from .root import app

# They add their commands, in this order.
# isort: off
from . import trees, cluster, predict, demo, train, classify  # noqa: F401
from . import distances, hierarchy, report, warmup  # noqa: F401
# isort: on

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    for stream in (sys.stdout, sys.stderr):
        # Labels may hold what the terminal's encoding, or any, cannot: it is told in escapes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="arbora")
