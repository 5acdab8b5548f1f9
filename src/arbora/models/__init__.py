"""Models of trees and of rows: a room for each family; `registry` lists them."""

import os
from importlib import import_module

from ..errors import ModelFileError
from .registry import MODELS, OTHERS

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .bhmc.estimator import BHMC as BHMC
    from .bhmc.regularised import RBHMC as RBHMC
    from .classifiers.generative import GenerativeTreeClassifier as GenerativeTreeClassifier
    from .classifiers.slot_label_counts import SlotLabelCounts as SlotLabelCounts
    from .classifiers.transducer import TransducerClassifier as TransducerClassifier
    from .classifiers.tree_classifier import TreeClassifier as TreeClassifier
    from .edit.clustering import TreeEditClustering as TreeEditClustering
    from .forest_estimator import ForestEstimator as ForestEstimator
    from .gaussian.dp_gaussian import DPGaussianMixture as DPGaussianMixture
    from .gaussian.nhcm import NHCM as NHCM
    from .grammar.mixture import TreeGrammarMixture as TreeGrammarMixture
    from .hidden_tree.infinite import InfiniteHiddenTreeMixture as InfiniteHiddenTreeMixture
    from .hidden_tree.mixture import HiddenTreeMixture as HiddenTreeMixture
    from .hidden_tree.single import HiddenTree as HiddenTree
    from .hidden_tree.topographic import TopographicMap as TopographicMap
    from .model_file import SavedEstimator
    from .patterns.mixture import PatternMixture as PatternMixture
    from .patterns.transformer import TreePatterns as TreePatterns
    from .transducer.transducer import TreeTransducer as TreeTransducer
    from .translation.translator import TreeTranslator as TreeTranslator
    from .unions.embedding import UnionEmbedding as UnionEmbedding
    from .unions.mixture import TreeUnionMixture as TreeUnionMixture
    from .unions.tree_union import TreeUnion as TreeUnion


def __getattr__(name: str) -> "Any":
    home = MODELS[name].module if name in MODELS else OTHERS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *MODELS, *OTHERS})


def load(path: str | os.PathLike[str]) -> "SavedEstimator":
    """Read a fitted model from a file that `save` wrote.  Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        The fitted model.

    Examples
    --------
    >>> import os, tempfile
    >>> import arbora as ab
    >>> path = os.path.join(tempfile.mkdtemp(), "model.arbora")
    >>> ab.PatternMixture(random_state=0).fit([("a", ["b"])] * 5 + [("c", ["d"])] * 5).save(path)
    >>> ab.load(path).n_components_
    2
    """
    from ..files.container import read_container
    from .model_file import MODEL_VERSION

    version, header, arrays = read_container(path, "model")
    if version != MODEL_VERSION:
        raise ModelFileError(f"{path}: model version {version}, wanted {MODEL_VERSION}; save it with this Arbora")
    if not isinstance(header.get("model"), str) or header["model"] not in MODELS:
        raise ModelFileError(
            f"{path}: it holds a {header.get('model')!r}, which this version of Arbora does not support; update it"
        )
    try:
        return restore(header, arrays)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        what, why = f"its content does not make a {header['model']}", " ".join(str(error).split())[:200]
        raise ModelFileError(f"{path}: {what} ({why}); save it again") from None


def restore(header: "dict[str, Any]", arrays: "dict[str, NDArray[Any]]") -> "SavedEstimator":
    """The fitted model that `_pack` took apart."""
    from .file_checks import check_settings
    from .retired_settings import current_settings

    if header["model"] not in MODELS:
        raise ValueError(f"no model is called {header['model']!r}")
    kind = __getattr__(header["model"])
    settings = current_settings(header["model"], header["params"])
    check_settings(kind, settings)
    restored: SavedEstimator = kind(**settings)._restore(header, arrays)
    return restored
