"""Names of groups for tables, pages and the terminal; too many groups stay without."""

from typing import Any

import numpy as np

from ..models.patterns import GroupName, Namer

MAX_NAMED = 300  # groups; the time and memory grow with groups times patterns


def describe_groups(trees: Any, labels: Any) -> list[GroupName]:
    """What sets each of the groups 0, 1, ... apart; nothing where there are too many, or none.

    `trees` are trees, or a `Namer` of them.
    """
    label = np.asarray(labels, np.int64)
    if not len(label) or label.max() >= MAX_NAMED:
        return []
    return (trees if isinstance(trees, Namer) else Namer(trees)).name(label)
