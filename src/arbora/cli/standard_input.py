"""Standard input as a file: ``-`` on the command line."""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ..errors import ReadError

NAME = "stdin"


def with_standard_input(paths: Sequence[Path]) -> list[Path]:
    """The paths, with ``-`` replaced by a file that holds what standard input holds; readers look at files twice."""
    if Path("-") not in paths:
        return list(paths)
    if len(paths) > 1:
        raise ReadError("- reads standard input alone; leave out the other paths")
    return [spooled()]


@cache
def spooled() -> Path:
    """Standard input in a file, which is removed at the end."""
    folder = tempfile.mkdtemp(prefix="arbora-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, NAME)
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if not path.stat().st_size:
        raise ReadError(f"{NAME}: it is empty; pipe trees into the command")
    return path


def is_spooled() -> bool:
    """Whether standard input was read."""
    return spooled.cache_info().currsize > 0


def plain(text: str) -> str:
    """A message or a name of a tree, without the folder of the file that stands for standard input."""
    return text.replace(str(spooled()), NAME) if is_spooled() else text
