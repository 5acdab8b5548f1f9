"""The command line: ``arbora COMMAND``; each module adds the commands it is named after."""

from . import classify, distances, hierarchy  # noqa: F401, they add their commands
from .commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
