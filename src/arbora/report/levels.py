"""Coarser groupings of a page: which groups are one on each level, what the joined ones are, and how sure trees are.

A joined group takes the place, and so the colour, of the first of its groups; all others stay as they were.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate.agreement import agree
from ..evaluate.summary import common_folder, summarise, tree_names
from ..models.merging import Level, coarser_levels
from ..models.patterns import Namer
from . import columns as col
from .clusters import card
from .grouped import Grouped, border

MAX_LEVELS = 12
MAX_LOOKED_AT = 200_000  # trees times levels

Ints = NDArray[np.int64]


def gather_levels(model: Any, grouped: Grouped, page: dict[str, Any], namer: Namer, report: str) -> dict[str, Any]:
    """Levels, finest first, down to two groups; cards of the groups that merges made are added to the page."""
    n_trees = grouped.forest.n_trees
    most = min(MAX_LEVELS, max(1, MAX_LOOKED_AT // max(n_trees, 1)))
    numbers = np.unique(grouped.label)
    levels = []
    joined = page["joined"]
    shown = {one["index"]: at for at, one in enumerate(page["groups"])}  # card of each place; -1, -2, ... joined ones
    names = {c: grouped.name(int(number)) for c, number in enumerate(numbers)}
    for level in coarser_levels(model, grouped.label)[:-1][:most]:
        place = _places(level, numbers)
        first = int(np.searchsorted(numbers, level.joined[0][0]))
        inside = np.isin(grouped.label, level.joined[0] + level.joined[1])
        (one,) = other_cards(grouped, inside.astype(np.int64), [_called(level)], namer, report)
        joined.append({"index": first, **one})
        names[first] = one["name"]
        shown = {c: at for c, at in shown.items() if c in place}
        shown[first] = -len(joined)
        levels.append(
            {
                "n": len(set(place)),
                "place": place,
                "names": [names[c] if c in place else "" for c in range(len(numbers))],
                "cards": [shown[c] for c in sorted(shown)],
                "about": _about(level),
                "agreement": _agreement(grouped, level),
                "border": _border(grouped, level),
            }
        )
    return {"levels": levels} if levels else {}


def _places(level: Level, numbers: Ints) -> list[int]:
    """For each group of the page the place of the first group it is one with."""
    group = [int(level.group[n]) if n >= 0 else -1 for n in numbers]
    return [group.index(g) for g in group]


def _called(level: Level) -> str:
    return " + ".join(str(k) for k in sorted(level.joined[0] + level.joined[1]))


def other_cards(grouped: Grouped, label: Ints, called: list[str], namer: Namer, report: str) -> list[dict[str, Any]]:
    """Cards of groups 1, 2, ... that are not those of the fit; 0 are all other trees."""
    named = namer.name(label, skip=0)
    summary = summarise(grouped.forest, label, n_traits=6, named=named)
    cards = []
    for cluster, short in zip(summary.clusters[-len(called) :], called, strict=True):
        name = f"{short} \u00b7 {cluster.name}" if cluster.name else short
        main = None if cluster.main_class is None else col.shortened(cluster.main_class)
        about = {"name": col.shortened(name), "main": main, "silhouette": None}
        cards.append({**about, **card(cluster, summary.folder, report)})
    return cards


def _about(level: Level) -> str:
    one, two = (" + ".join(map(str, part)) for part in level.joined)
    return f"joins {one} and {two}, which {costs(level.gain)}"


def costs(gain: float) -> str:
    """A gain or a loss in words."""
    return f"costs {-gain:,.1f} nats" if gain < 0 else f"gains {gain:,.1f} nats"


def _labels(grouped: Grouped, level: Level) -> Ints:
    return np.where(grouped.label >= 0, level.group[grouped.label], -1)


def _agreement(grouped: Grouped, level: Level) -> str | None:
    if grouped.forest.target is None:
        return None
    found = agree(grouped.forest.target, _labels(grouped, level))
    scores = f"Adjusted Rand index {found.ari:.3f}, normalised mutual information {found.nmi:.3f}."
    return f"{scores} Shade: share of the class."


def _border(grouped: Grouped, level: Level) -> dict[str, Any] | None:
    """Trees between two groups of the level: probabilities of joined groups add up."""
    if grouped.proba is None:
        return None
    n = len(level.group)
    n_groups = int(level.group.max()) + 1
    into = np.append(level.group, np.arange(n_groups, n_groups + grouped.proba.shape[1] - n))  # a group never seen
    proba = np.zeros((len(grouped.proba), int(into.max()) + 1))
    for k in range(grouped.proba.shape[1]):
        proba[:, into[k]] += grouped.proba[:, k]
    called = {g: " + ".join(map(str, np.flatnonzero(level.group == g))) for g in range(n_groups)}
    names = tree_names(grouped.forest)
    coarse = grouped._replace(proba=proba, called={**called, **dict.fromkeys(range(n_groups, proba.shape[1]), "new")})
    return border(coarse, names, common_folder(names))
