"""What the name of a file or folder says before it is opened."""

import os
from typing import Any

from .own_outputs import MANIFEST
from .urls import is_url

STORE = ".store"  # a folder of this ending, or with this file in it, is one thing, like a file


def is_store(path: Any) -> bool:
    """Whether a path is that of a store, finished or not; that of a URL says so by its ending."""
    if is_url(path):
        return path.rstrip("/").endswith(STORE)
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return False
    folder = os.fspath(path)
    return folder.rstrip(os.sep).endswith(STORE) or os.path.isfile(os.path.join(folder, MANIFEST))


def plain_name(path: str) -> str:
    """The lower-case name of a file without ``.gz``, to look at its suffix."""
    return os.path.basename(path).lower().removesuffix(".gz")
