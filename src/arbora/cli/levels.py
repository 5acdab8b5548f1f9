"""The next coarser and finer groupings, in sentences and as plain values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluate.wording import counted, enumerated
from ..models.merging import Level

MOST_TOLD = 2  # steps
ODD_SIZE, ODD_SHARE = 2, 0.1  # trees of a group that is odd rather than a kind, and the most such trees of all
LITTLE, MUCH = 1.0, 5.0  # nats that are hardly worth a mention, and more than strong evidence


def lines(coarser: Sequence[Level]) -> list[str]:
    """The next two steps: which groups join, and what that costs."""
    told = []
    for level in coarser[:MOST_TOLD]:
        one, two = (" + ".join(map(str, part)) for part in level.joined)
        told.append(
            f"Coarser: {counted(level.n_groups, 'group')}, by joining {one} and {two}: {supported(level.gain)}."
        )
    return told


def supported(gain: float) -> str:
    """A gain in log posterior, in nats, in words; the steps are those of Kass and Raftery (1995)."""
    if gain > LITTLE:
        return "better supported by the trees"
    if gain >= -LITTLE:
        return "as well supported by the trees"
    return "less well supported" if gain >= -MUCH else "much less well supported"


def finer_lines(model: Any) -> list[str]:
    """The next finer grouping, of a model that has some."""
    found = finer(model)
    if found is None:
        return []
    one, two = found["sizes"]
    parted = f"by parting {found['parted']} into {one:,} and {two:,} trees"
    return [f"Finer: {counted(found['n_groups'], 'group')}, {parted}: {supported(found['gain'])}."]


def finer(model: Any) -> dict[str, Any] | None:
    """The split that costs least: which group, and the sizes of its parts."""
    splits = model.splits() if "splits" in model.page_parts() else None
    if splits is None or not np.isfinite(splits.gain).any():
        return None
    k = int(np.argmax(splits.gain))
    size = np.bincount(splits.side[model.labels_ == k], minlength=2)
    sizes = sorted(size.tolist(), reverse=True)
    return {"n_groups": model.n_components_ + 1, "parted": k, "sizes": sizes, "gain": float(splits.gain[k])}


def odd_lines(labels: Sequence[int]) -> list[str]:
    """Groups so small that they are odd trees and no kind of tree, if they are few; labels are 0, 1, ... by size."""
    size = np.bincount(labels)
    odd = np.flatnonzero((size > 0) & (size <= ODD_SIZE))
    if not len(odd) or size[odd].sum() > ODD_SHARE * len(labels):
        return []
    many = {(1,): "one odd tree", (2,): "two odd trees", (1, 2): "one or two odd trees"}
    trees = many[tuple(np.unique(size[odd]).tolist())]
    names = enumerated(odd.astype(str).tolist())
    if len(odd) == 1:
        return [f"Group {names} is {trees} rather than a kind of tree."]
    return [f"Groups {names} are {trees} each rather than kinds of trees."]


def facts(coarser: Sequence[Level]) -> list[dict[str, Any]]:
    """All coarser groupings, finest first."""
    return [
        {"n_groups": level.n_groups, "joined": [list(part) for part in level.joined], "gain": level.gain,
         "group": level.group.tolist()}
        for level in coarser
    ]  # fmt: skip
