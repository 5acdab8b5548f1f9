"""The command line: ``arbora info|formats|convert|cluster|hierarchy|predict|encode|demo``."""

from . import hierarchy  # noqa: F401  registers its command
from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
