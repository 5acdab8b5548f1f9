"""One file per model: mathematics first, a thin estimator last."""

import os
from typing import Any

from numpy.typing import NDArray

from ..errors import ModelFileError
from .bhmc.estimators import BHMC, RBHMC
from .classifiers.generative import GenerativeTreeClassifier
from .classifiers.slot_label_counts import SlotLabelCounts
from .classifiers.tree_classifier import TreeClassifier
from .edit.clustering import TreeEditClustering
from .file_checks import check_settings
from .forest_estimator import ForestEstimator
from .gaussian.dp_gaussian import DPGaussianMixture
from .gaussian.nhcm import NHCM
from .hidden_tree.infinite import InfiniteHiddenTreeMixture
from .hidden_tree.mixture import HiddenTreeMixture
from .hidden_tree.single import HiddenTree
from .model_file import MODEL_VERSION, SavedEstimator
from .unions.embedding import UnionEmbedding
from .unions.mixture import TreeUnionMixture
from .unions.tree_union import TreeUnion

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
    from ..files.container import read_container

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
