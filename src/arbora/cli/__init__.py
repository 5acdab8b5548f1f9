"""The command line: ``arbora info|formats|convert|cluster|hierarchy|predict|encode|report|...``; see ``arbora -h``."""

from . import classify, hierarchy, report  # noqa: F401, they add their commands
from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
