"""The command line: ``arbora --help`` lists its commands."""

from . import classify, distances, hierarchy, report, reproduce, warmup  # noqa: F401, they add their commands
from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
