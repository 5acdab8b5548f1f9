"""Arbora: probabilistic clustering of trees, and into trees.

Names are imported at their first use, so that ``import arbora`` and the command line's help are quick.
"""

from importlib import import_module

from .io.registry import READERS
from .models.registry import MODELS

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.2.0"

# Public name -> module that defines it.
_HOME = {
    "ArboraError": "errors",
    "ForestError": "errors",
    "ModelFileError": "errors",
    "ReadError": "errors",
    "Column": "forest.content",
    "Forest": "forest.forest",
    "MISSING": "forest.node_columns",
    "UNSEEN": "forest.node_columns",
    "ForestStore": "forest.store",
    "Hierarchy": "evaluate.hierarchy",
    "distributed": "inference.distribute",
    "edit_distance": "models.edit.distance",
    "edit_distances": "models.edit.distance",
    "edit_mapping": "models.edit.distance",
    "union_distances": "models.unions.union_costs",
    "Watcher": "watch.watcher",
    "describe_clusters": "artefacts",
    "load": "models",
    "TreeUnion": "models",
    **dict.fromkeys(MODELS, "models"),
    **dict.fromkeys(
        (
            *("from_networkx", "from_sklearn", "load_forest", "read", "to_networkx", "write_jsonl"),
            *(f"read_{format}" for format in READERS),
        ),
        "io",
    ),
}
# Public module -> the room it is in.
_MODULES = {
    **{name: name for name in ("datasets", "errors", "evaluate", "forest", "inference", "io", "models")},
    **{name: name for name in ("plot", "report")},
    **{name: f"evaluate.{name}" for name in ("hierarchy_metrics", "metrics", "summary")},
    "diagnostics": "inference.diagnostics",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from .artefacts import describe_clusters
    from .errors import ArboraError, ForestError, ModelFileError, ReadError
    from .evaluate.hierarchy import Hierarchy
    from .forest.content import Column
    from .forest.forest import Forest
    from .forest.node_columns import MISSING, UNSEEN
    from .forest.store import ForestStore
    from .inference.distribute import distributed
    from .io import from_networkx, from_sklearn, load_forest, read, to_networkx, write_jsonl
    from .io.formats import *
    from .models import *
    from .models.edit.distance import edit_distance, edit_distances, edit_mapping
    from .models.unions.union_costs import union_distances
    from .watch.watcher import Watcher


def __getattr__(name: str) -> "Any":
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
