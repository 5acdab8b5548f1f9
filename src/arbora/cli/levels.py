"""The next coarser groupings, in sentences and as plain values."""

from collections.abc import Sequence
from typing import Any

from ..evaluate.summary import counted
from ..models.merging import Level

MOST_TOLD = 2  # steps


def lines(coarser: Sequence[Level]) -> list[str]:
    """The next two steps: which groups join, and what that costs."""
    told = []
    for level in coarser[:MOST_TOLD]:
        one, two = (" + ".join(map(str, part)) for part in level.joined)
        cost = f"costs {-level.gain:,.1f} nats" if level.gain < 0 else f"gains {level.gain:,.1f} nats"
        told.append(f"Coarser: {counted(level.n_groups, 'group')}, by joining {one} and {two} ({cost}).")
    return told


def facts(coarser: Sequence[Level]) -> list[dict[str, Any]]:
    """All coarser groupings, finest first."""
    return [
        {"n_groups": level.n_groups, "joined": [list(part) for part in level.joined], "gain": level.gain,
         "group": level.group.tolist()}
        for level in coarser
    ]  # fmt: skip
