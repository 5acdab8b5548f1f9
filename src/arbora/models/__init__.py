"""One file per model: mathematics first, a thin estimator last."""

import os

from ..errors import ModelFileError
from .base import MODEL_VERSION, ForestEstimator
from .edit_clustering import TreeEditClustering
from .hidden_tree import HiddenTree
from .infinite import InfiniteHiddenTreeMixture
from .mixture import HiddenTreeMixture
from .tree_union import TreeUnion
from .union_embedding import UnionEmbedding
from .union_mixture import TreeUnionMixture

# Models that can be loaded from a file, by the name written there.
MODELS: dict[str, type[ForestEstimator]] = {
    model.__name__: model
    for model in (
        HiddenTree,
        HiddenTreeMixture,
        InfiniteHiddenTreeMixture,
        TreeEditClustering,
        TreeUnionMixture,
        UnionEmbedding,
    )
}

__all__ = [
    "MODELS",
    "ForestEstimator",
    "HiddenTree",
    "HiddenTreeMixture",
    "InfiniteHiddenTreeMixture",
    "TreeEditClustering",
    "TreeUnion",
    "TreeUnionMixture",
    "UnionEmbedding",
    "load",
]


def load(path: str | os.PathLike[str]) -> ForestEstimator:
    """Read a fitted model that `save` wrote; nothing in the file is ever executed."""
    from ..io.container import read_container

    version, header, arrays = read_container(path, "model")
    if version != MODEL_VERSION:
        raise ModelFileError(f"{path}: model version {version}, wanted {MODEL_VERSION}; save it with this Arbora")
    if not isinstance(header.get("model"), str) or header["model"] not in MODELS:
        raise ModelFileError(f"{path}: it holds a {header.get('model')!r}, which this Arbora does not know; update it")
    try:
        return MODELS[header["model"]](**header["params"])._restore(header, arrays)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
        what = f"its content does not make a {header['model']}"
        raise ModelFileError(f"{path}: {what} ({error}); save it again") from None
