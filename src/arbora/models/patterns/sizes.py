"""Labels for trees that have none: how many leaves are below a node, on a scale of powers of two."""

import numpy as np

from ...forest.forest import Forest
from .kernels.leaves import count_leaves


def label_by_size(forest: Forest) -> Forest:
    """The same trees, each node labelled by round(log2(leaves below it)); labels of its own are dropped.

    Examples
    --------
    >>> from arbora import Forest
    >>> label_by_size(Forest.from_nested([(None, [None, (None, [None, None])])])).vocabulary
    ('1 leaf', '2 leaves', '3-5 leaves')
    """
    scale = np.round(np.log2(np.maximum(count_leaves(forest.parent), 1))).astype(np.int64)
    used, label = np.unique(scale, return_inverse=True)
    return Forest(
        parent=forest.parent,
        slot=forest.slot,
        label=label.astype(np.int32),
        tree_start=forest.tree_start,
        vocabulary=tuple(_called(int(s)) for s in used),
        target=forest.target,
        name=forest.name,
    )


def _called(scale: int) -> str:
    """The numbers of leaves that a step of the scale holds."""
    low, high = int(np.ceil(2.0 ** (scale - 0.5))), int(np.floor(2.0 ** (scale + 0.5)))
    if low == high:
        return "1 leaf" if low == 1 else f"{low} leaves"
    return f"{low}-{high} leaves"
