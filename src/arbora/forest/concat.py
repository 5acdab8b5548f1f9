"""One forest of the trees of several."""

import numpy as np

from ..errors import ForestError
from .content import concat_content
from .forest import Forest
from .node_columns import concat_optional


def concatenated(parts: list[Forest]) -> Forest:
    """One forest of all the trees, over the union of the vocabularies (the first one's order comes first)."""
    if not parts:
        raise ForestError("nothing to concatenate; give at least one forest")
    words = list(dict.fromkeys(word for part in parts for word in part.vocabulary))
    parts = [part.with_vocabulary(words) for part in parts]
    node_shift = np.cumsum([0] + [part.n_nodes for part in parts])
    shifted = list(zip(parts, node_shift, strict=False))
    return Forest._trusted(
        parent=np.concatenate([np.where(p.parent < 0, -1, p.parent + shift) for p, shift in shifted]),
        slot=np.concatenate([p.slot for p in parts]),
        label=np.concatenate([p.label for p in parts]),
        tree_start=np.concatenate([np.zeros(1, np.int64)] + [p.tree_start[1:] + shift for p, shift in shifted]),
        vocabulary=tuple(words),
        target=concat_optional([p.target for p in parts], "target"),
        name=concat_optional([p.name for p in parts], "name"),
        content=concat_content([p.content for p in parts], [p.n_nodes for p in parts]),
    )
