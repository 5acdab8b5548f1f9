"""Matching the nodes of two unordered trees so that ancestry is kept both ways: one interface, several algorithms.

A *matcher* is a function ``match(a: Shape, b: Shape, gain) -> Match``:

- `a`, `b` are `kernels.tree_shape.Shape`s: flat forests, children before parents, node n the virtual root;
- ``gain[u, v]`` is what the pair (node u of a, node v of b) is worth, float64, C-contiguous; pairs of gain <= 0 are
  never matched;
- the `Match` returned holds pairs (ascending in u, each node at most once), the sum of their gains, and `exact`: True
  only if no legal matching is worth more.

Two notions of *legal*: hierarchy-preserving (u above u' exactly if v above v'), the mappings of the unordered edit
distance, and, stricter, *compatible*: some tree order extends both trees (models/tree_union.md).  Unions need the
stricter one, so every matcher chosen by `choose_matcher` returns compatible pairs:

- "alignment": `kernels.tree_alignment.align`, the optimum among compatible matchings; exact unless degrees are large;
- "edit": `kernels.tree_cliques.edit`, optimum among hierarchy-preserving matchings by branch and bound within a node
  budget, made compatible by `kernels.tree_cliques.repair`; never better for a union than "alignment";
- "relaxation": `kernels.tree_cliques.relaxation`, the paper's propagation with replicator dynamics, then `repair`;
- "auto": "alignment", which says by `exact` when it was not exact.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...forest.kernels.tree_shape import Match, Shape
from ..settings import check_choice

Matching = Literal["auto", "alignment", "edit", "relaxation"]
Matcher = Callable[[Shape, Shape, NDArray[np.float64]], Match]

MATCHINGS = ("auto", "alignment", "edit", "relaxation")


def choose_matcher(matching: str) -> Matcher:
    """The function behind a name; what it returns always has a union."""
    check_choice("matching", matching, MATCHINGS)
    if matching in ("auto", "alignment"):
        from .kernels import tree_alignment

        return tree_alignment.align
    from ..edit.kernels import tree_cliques  # only comparisons need it

    def match(a: Shape, b: Shape, gain: NDArray[np.float64]) -> Match:
        found = getattr(tree_cliques, matching)(a, b, gain)
        repaired = tree_cliques.repair(a, b, gain, found.pairs)
        return Match(repaired.pairs, repaired.value, False)

    return match
