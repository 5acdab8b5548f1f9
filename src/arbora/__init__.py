"""Arbora: probabilistic clustering of trees, and into trees.

Names are imported at their first use, so that ``import arbora`` and the command line's help are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module that defines it.
_HOME = {
    "ArboraError": "errors",
    "DPGaussianMixture": "models",
    "Forest": "forest",
    "ForestStore": "store",
    "ForestError": "errors",
    "GenerativeTreeClassifier": "models",
    "HiddenTree": "models",
    "HiddenTreeMixture": "models",
    "InfiniteHiddenTreeMixture": "models",
    "Hierarchy": "hierarchy",
    "MISSING": "forest",
    "BHMC": "models",
    "NHCM": "models",
    "RBHMC": "models",
    "ModelFileError": "errors",
    "ReadError": "errors",
    "SlotLabelCounts": "models",
    "TreeClassifier": "models",
    "TreeEditClustering": "models",
    "TreeUnion": "models",
    "TreeUnionMixture": "models",
    "UNSEEN": "forest",
    "UnionEmbedding": "models",
    "distributed": "distribute",
    "edit_distance": "models.edit_distance",
    "edit_distances": "models.edit_distance",
    "edit_mapping": "models.edit_distance",
    "from_networkx": "io",
    "load": "models",
    "load_forest": "io",
    "read": "io",
    "read_brackets": "io",
    "read_conllu": "io",
    "read_elastic": "io",
    "read_html": "io",
    "read_json": "io",
    "read_jsonl": "io",
    "read_newick": "io",
    "read_python": "io",
    "read_xml": "io",
    "to_networkx": "io",
    "write_jsonl": "io",
}
_MODULES = (
    *("chain", "datasets", "diagnostics", "errors", "forest", "hierarchy", "io"),
    *("metrics", "models", "plot", "report", "reproduce", "sharing", "store", "summary"),
)

__all__ = [
    "BHMC",
    "MISSING",
    "NHCM",
    "RBHMC",
    "UNSEEN",
    "ArboraError",
    "DPGaussianMixture",
    "Forest",
    "ForestError",
    "ForestStore",
    "GenerativeTreeClassifier",
    "HiddenTree",
    "HiddenTreeMixture",
    "Hierarchy",
    "InfiniteHiddenTreeMixture",
    "ModelFileError",
    "ReadError",
    "SlotLabelCounts",
    "TreeClassifier",
    "TreeEditClustering",
    "TreeUnion",
    "TreeUnionMixture",
    "UnionEmbedding",
    "distributed",
    "edit_distance",
    "edit_distances",
    "edit_mapping",
    "from_networkx",
    "load",
    "load_forest",
    "read",
    "read_brackets",
    "read_conllu",
    "read_elastic",
    "read_html",
    "read_json",
    "read_jsonl",
    "read_newick",
    "read_python",
    "read_xml",
    "to_networkx",
    "write_jsonl",
]

if TYPE_CHECKING:
    from .errors import ArboraError, ForestError, ModelFileError, ReadError
    from .evaluate.hierarchy import Hierarchy
    from .forest.forest import MISSING, UNSEEN, Forest
    from .forest.store import ForestStore
    from .inference.distribute import distributed
    from .io import (
        from_networkx,
        load_forest,
        read,
        read_brackets,
        read_conllu,
        read_elastic,
        read_html,
        read_json,
        read_jsonl,
        read_newick,
        read_python,
        read_xml,
        to_networkx,
        write_jsonl,
    )
    from .models import (
        BHMC,
        NHCM,
        RBHMC,
        DPGaussianMixture,
        GenerativeTreeClassifier,
        HiddenTree,
        HiddenTreeMixture,
        InfiniteHiddenTreeMixture,
        SlotLabelCounts,
        TreeClassifier,
        TreeUnion,
        TreeUnionMixture,
        load,
    )
    from .models.edit.clustering import TreeEditClustering
    from .models.edit.distance import edit_distance, edit_distances, edit_mapping
    from .models.unions.embedding import UnionEmbedding


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
