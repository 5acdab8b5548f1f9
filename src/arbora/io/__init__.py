"""Readers and writers of trees; each reader gives a `Forest`, and `read` chooses one by the name of the file.

Names are imported at their first use; those of readers derive from `registry`.
"""

from importlib import import_module

from .registry import FORMATS as FORMATS
from .registry import READERS

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

    from ..forest.files import load_forest as load_forest
    from ..forest.files import save_forest as save_forest
    from .choose_reader import read as read
    from .decision_trees import from_sklearn as from_sklearn
    from .formats import *
    from .formats.jsonl import write_jsonl as write_jsonl
    from .graphs import from_networkx as from_networkx
    from .graphs import to_networkx as to_networkx

# Public name -> module that defines it.
_HOME = {
    "from_networkx": ".graphs",
    "from_sklearn": ".decision_trees",
    "load_forest": "..forest.files",
    "read": ".choose_reader",
    "save_forest": "..forest.files",
    "to_networkx": ".graphs",
    "write_jsonl": ".formats.jsonl",
    **{f"read_{format}": f".formats.{format}" for format in READERS},
}

__all__ = sorted(["FORMATS", *_HOME])


def __getattr__(name: str) -> "Any":
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
