"""What a TreeClassifier turns trees into rows with: patterns, the codes of a mixture, or what it is given."""

from typing import Any

from sklearn.base import clone

from ...errors import ArboraError, SettingError
from ...forest.content import empty_column
from ...forest.content_rows import LABEL
from ...forest.forest import Forest
from ..file_checks import check_settings
from ..forest_estimator import ForestEstimator
from ..hidden_tree.mixture import HiddenTreeMixture
from ..patterns.transformer import TreePatterns
from .readout import Arrays, below

# Chosen on eight corpora of different kinds, none of them in the papers (docs/classification.md has the table).
FAMILIES = ("pairs", "slots", "paths", "rules", "rules2", "rules3", "bigrams")
MOST_PATTERNS = 500_000  # columns; the read-out has a weight for each of them and each class


def make_encoder(given: Any, n_classes: int, seed: int) -> Any:
    """The encoder that was asked for, not fitted: None for patterns, ``"mixture"``, or a transformer of forests."""
    if given is None:
        return TreePatterns(
            FAMILIES, values="log", weighting="tfidf", norm="l2", min_trees=1, max_patterns=MOST_PATTERNS
        )
    if isinstance(given, str) and given == "mixture":
        # Start and prior as in the tables of docs/classification.md; the mixture's own are chosen for clustering.
        settings = {"encoding": "score", "tol": 0.01, "sparse_output": True, "random_state": seed}
        return HiddenTreeMixture(2 * n_classes, 4, init="kmeans", prior=1.1).set_params(**settings)
    if not (hasattr(given, "fit") and hasattr(given, "transform")):
        raise SettingError(f"encoder={given!r}; wanted None for patterns, 'mixture', or a transformer of forests")
    encoder = seeded(clone(given), seed)
    return encoder.set_params(sparse_output=True) if "sparse_output" in encoder.get_params() else encoder


def seeded(estimator: Any, seed: int) -> Any:
    """The estimator with a seed, if it takes one and has none."""
    unset = "random_state" in estimator.get_params() and estimator.get_params()["random_state"] is None
    return estimator.set_params(random_state=seed) if unset else estimator


def has_patterns(encoder: Any) -> bool:
    """Whether every column of the encoder is one pattern, so that patterns never seen can be counted."""
    return isinstance(encoder, TreePatterns) and encoder.n_hashed is None


def pack_encoder(model: Any, header: dict[str, Any]) -> Arrays:
    """The arrays of a file that hold the encoder of a model; what else it holds goes into the header."""
    if not isinstance(model.encoder_, ForestEstimator):
        name = type(model.encoder_).__name__
        raise ArboraError(f"the encoder is a {name}; files hold encoders of Arbora only: use one of them")
    given = model.encoder if hasattr(model.encoder, "get_params") else None
    header["encoder_params"] = None if given is None else given._plain_params()
    header["encoder"], arrays = model.encoder_._pack()
    return {f"encoder.{name}": value for name, value in arrays.items()}


def restore_encoder(model: Any, header: dict[str, Any], arrays: Arrays) -> int:
    """Put the encoder of a file back; the number of columns of its codes."""
    from .. import restore

    model.encoder_ = restore(header["encoder"], below("encoder", arrays))
    if not isinstance(model.encoder_, ForestEstimator) or not hasattr(model.encoder_, "transform"):
        raise ValueError(f"a {type(model.encoder_).__name__} encodes no trees")
    if model.encoder_.vocabulary_ != model.vocabulary_:
        raise ValueError("the encoder has other labels")
    if header["encoder_params"] is not None:
        check_settings(type(model.encoder_), header["encoder_params"])
        model.encoder = type(model.encoder_)(**header["encoder_params"])
    return int(model.encoder_.transform(_no_trees(model.encoder_)).shape[1])


def _no_trees(encoder: Any) -> Forest:
    """An empty forest with the columns that an encoder takes."""
    emission: Any = getattr(getattr(encoder, "spec_", None), "emission", None)
    wanted = () if emission is None else emission.wanted
    content = {one.name: empty_column(one.kind, 0) for one in wanted if one.name != LABEL}
    return Forest.from_nested([]).with_content(content)
