"""One file per model: mathematics first, a thin estimator last."""

import os
from typing import Any

from numpy.typing import NDArray

from ..errors import ModelFileError
from .base import ForestEstimator
from .bhmc import BHMC, RBHMC
from .classifier import TreeClassifier
from .content import check_settings
from .counts import SlotLabelCounts
from .dp_gaussian import DPGaussianMixture
from .edit_clustering import TreeEditClustering
from .generative import GenerativeTreeClassifier
from .hidden_tree import HiddenTree
from .infinite import InfiniteHiddenTreeMixture
from .mixture import HiddenTreeMixture
from .nhcm import NHCM
from .saved import MODEL_VERSION, SavedEstimator
from .tree_union import TreeUnion
from .union_embedding import UnionEmbedding
from .union_mixture import TreeUnionMixture

# Models that can be loaded from a file, by the name written there.
MODELS: dict[str, type[SavedEstimator]] = {
    model.__name__: model
    for model in (
        BHMC,
        DPGaussianMixture,
        GenerativeTreeClassifier,
        HiddenTree,
        HiddenTreeMixture,
        InfiniteHiddenTreeMixture,
        NHCM,
        RBHMC,
        SlotLabelCounts,
        TreeClassifier,
        TreeEditClustering,
        TreeUnionMixture,
        UnionEmbedding,
    )
}

__all__ = [
    "BHMC",
    "MODELS",
    "NHCM",
    "RBHMC",
    "DPGaussianMixture",
    "ForestEstimator",
    "GenerativeTreeClassifier",
    "HiddenTree",
    "HiddenTreeMixture",
    "InfiniteHiddenTreeMixture",
    "SlotLabelCounts",
    "TreeClassifier",
    "TreeEditClustering",
    "TreeUnion",
    "TreeUnionMixture",
    "UnionEmbedding",
    "load",
]


def load(path: str | os.PathLike[str]) -> SavedEstimator:
    """Read a fitted model that `save` wrote; nothing in the file is ever executed."""
    from ..io.container import read_container

    version, header, arrays = read_container(path, "model")
    if version != MODEL_VERSION:
        raise ModelFileError(f"{path}: model version {version}, wanted {MODEL_VERSION}; save it with this Arbora")
    if not isinstance(header.get("model"), str) or header["model"] not in MODELS:
        raise ModelFileError(f"{path}: it holds a {header.get('model')!r}, which this Arbora does not know; update it")
    try:
        return restore(header, arrays)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        what, why = f"its content does not make a {header['model']}", " ".join(str(error).split())[:200]
        raise ModelFileError(f"{path}: {what} ({why}); save it again") from None


def restore(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SavedEstimator:
    """The fitted model that `_pack` took apart."""
    kind = MODELS[header["model"]]
    check_settings(kind, header["params"])
    return kind(**header["params"])._restore(header, arrays)
