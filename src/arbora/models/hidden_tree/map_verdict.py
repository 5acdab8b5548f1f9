"""How far to trust a map: whether its neighbours are neighbours, and whether trees spread over it."""

import numpy as np
from numpy.typing import NDArray

from ...inference.verdict import Verdict

Floats = NDArray[np.float64]

GOOD_TRUST, FAIR_TRUST = 0.9, 0.7  # trustworthiness, of which chance has one half
MOST_IN_ONE_PLACE = 0.5  # share of the trees beyond which a map is not called sound


def judge_map(trust: float, embedding: Floats) -> Verdict:
    """The verdict on a map of this trustworthiness, with these places of the training trees."""
    told = f"the trustworthiness of the map is {trust:.2f}"
    if np.isnan(trust):
        return Verdict("look again", "there are too few trees to say whether the map keeps neighbours", "")
    better = "raise n_init, or use the neighbour map of a report: roots may say too little about these trees"
    if trust < FAIR_TRUST:
        return Verdict("do not trust", f"{told}, and 0.5 is chance: the map says little about the trees", better)
    if trust < GOOD_TRUST:
        return Verdict("look again", f"{told}: some neighbours on it are strangers", better)
    crowd = largest_crowd(embedding)
    if crowd > MOST_IN_ONE_PLACE:
        return Verdict(
            "look again",
            f"{crowd:.0%} of the trees lie in one place of the map, which does not show how these differ",
            "raise n_init, or use the neighbour map of a report; copies of one tree belong in one place",
        )
    return Verdict("sound", f"{told}: neighbours on it are neighbours by labels and places")


def largest_crowd(embedding: Floats) -> float:
    """Largest share of trees that lie in one place, to a hundredth of half the side of the map."""
    _, n_there = np.unique(np.round(embedding, 2), axis=0, return_counts=True)
    return float(n_there.max(initial=0) / max(len(embedding), 1))
