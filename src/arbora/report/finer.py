"""Finer groupings of a page: groups parted in two where the model offers splits, the cheapest split first.

The first part of a group keeps its place, and so its colour; the second gets the next place that is free.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate.agreement import agree
from ..models.patterns import Namer
from .grouped import Grouped, confusion
from .levels import MAX_LOOKED_AT, costs, other_cards

MAX_FINER = 6

Ints = NDArray[np.int64]


def gather_finer(
    model: Any, grouped: Grouped, page: dict[str, Any], namer: Namer, shown: Ints, report: str
) -> dict[str, Any]:
    """Levels, coarsest first, and the part that each tree shown is in; cards of the parts are added to the page.

    There are none for other trees than those of the fit, since only they have parts.
    """
    splits = model.splits() if grouped.training and "splits" in model.page_parts() else None
    if splits is None or not np.array_equal(grouped.label, model.labels_):
        return {}
    n = len(splits.gain)
    most = min(MAX_FINER, max(1, MAX_LOOKED_AT // max(grouped.forest.n_trees, 1)))
    both = [len(np.unique(splits.side[grouped.label == k])) == 2 for k in range(n)]
    parted = [k for k in np.argsort(-splits.gain, kind="stable").tolist() if both[k]][:most]
    cards = {one["index"]: at for at, one in enumerate(page["groups"])}  # of each place; -1, -2, ... added ones
    names = [grouped.name(k) for k in range(n)]
    heads = [str(k) for k in range(n)]
    label = grouped.label.copy()
    levels = []
    for number, k in enumerate(parted):
        inside = grouped.label == k
        called = [f"{k}a", f"{k}b"]
        parts = np.where(inside, 1 + splits.side, 0)
        for place, one in zip((k, n + number), other_cards(grouped, parts, called, namer, report), strict=True):
            page["joined"].append({"index": place, **one})
            cards[place] = -len(page["joined"])
            names[place : place + 1] = [one["name"]]
        heads[k : k + 1], heads[n + number :] = called[:1], called[1:]
        label[inside & (splits.side == 1)] = n + number
        levels.append(
            {
                "n": n + number + 1,
                "parted": parted[: number + 1],
                "names": list(names),
                "cards": [cards[c] for c in sorted(cards)],
                "about": f"parts {k} into {called[0]} and {called[1]}, which {costs(float(splits.gain[k]))}",
                "confusion": _confusion(grouped, label, heads),
            }
        )
    return {"finer": levels, "side": splits.side[shown].tolist()} if levels else {}


def _confusion(grouped: Grouped, label: Ints, heads: list[str]) -> dict[str, Any] | None:
    """Trees by known class and group, as `joinedConfusion` of the page makes it for coarser levels."""
    if grouped.forest.target is None:
        return None
    found = confusion(agree(grouped.forest.target, label), grouped)
    assert found is not None  # noqa: S101 (for mypy)
    return {**found, "columns": [heads[place] for place in found["places"]]}
