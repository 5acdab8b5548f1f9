"""The command line: ``arbora info|formats|convert|cluster|predict|encode|demo``."""

from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
