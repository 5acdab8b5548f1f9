"""The command line: ``arbora info|formats|convert|cluster|predict|encode|train-classifier|classify|demo``."""

from . import classify  # noqa: F401, it adds its commands
from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
