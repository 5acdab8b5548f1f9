"""The command line: ``arbora --help`` lists its commands."""

from .root import app

# They add their commands, in this order.
# isort: off
from . import trees, cluster, predict, demo, train, classify  # noqa: F401
from . import distances, hierarchy, report, reproduce, warmup  # noqa: F401
# isort: on

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app(prog_name="arbora")
