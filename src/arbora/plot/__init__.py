"""Pictures drawn by matplotlib: each function draws on the axes given, or on new ones, and returns them.

No function touches pyplot or its state, and matplotlib is imported when the first picture is drawn.  Groups differ in
colour (Okabe and Ito's, safe for the colour-blind) and, where a mark is free, in mark too.
"""

from .base import COLOURS, INK, MARKERS, MAX_LISTED, new_figure, png_bytes
from .clusters import clusters_map, confusion, history, overview, silhouette, sizes
from .draws import co_occurrence, components_per_sweep, trace
from .forests import forest_shapes, parameters
from .hierarchies import groups_map, hierarchy, hierarchy_overview
from .trees import tree
from .unions import archetypes, layout_union, merges, modes, union_archetype, union_modes

__all__ = [
    "COLOURS",
    "INK",
    "MARKERS",
    "MAX_LISTED",
    "archetypes",
    "clusters_map",
    "co_occurrence",
    "components_per_sweep",
    "confusion",
    "forest_shapes",
    "groups_map",
    "hierarchy",
    "hierarchy_overview",
    "history",
    "layout_union",
    "merges",
    "modes",
    "new_figure",
    "overview",
    "parameters",
    "png_bytes",
    "silhouette",
    "sizes",
    "trace",
    "tree",
    "union_archetype",
    "union_modes",
]
