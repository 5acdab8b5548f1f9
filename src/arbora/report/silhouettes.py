"""Silhouettes of trees in their groups, for the page."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluate.metrics import silhouette_samples, slot_label_counts
from . import columns as col
from .grouped import Grouped

MAX_SILHOUETTES = 3_000  # trees; the time grows with the square of their number
MAX_CURVE = 60  # bars of one cluster

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def gather_silhouettes(
    model: Any, grouped: Grouped, rank: Ints, n_groups: int
) -> tuple[Floats | None, dict[str, Any] | None]:
    """Silhouette of each tree (nan where not computed), and bars by group."""
    if n_groups < 2 or n_groups >= grouped.forest.n_trees or getattr(model, "labels", True) is False:
        return None, None
    own = grouped.training and "distances" in model.page_parts()
    chosen = col.spread(grouped.forest.n_trees, MAX_SILHOUETTES)
    label = rank[chosen]
    if not 2 <= len(np.unique(label)) < len(chosen):
        return None, None
    if own:
        from sklearn.metrics import silhouette_samples as by_distance

        score = by_distance(model.distances(chosen, chosen), label, metric="precomputed")
    else:
        score = silhouette_samples(slot_label_counts(grouped.forest.take(chosen)), label)
    values = np.full(grouped.forest.n_trees, np.nan)
    values[chosen] = score
    what = "the distances of the model" if own else "Ruzicka's distance of counts of labels by place"
    some = f" of {len(chosen):,} trees, evenly spread," if len(chosen) < len(values) else ""
    about = (
        f"How much nearer{some} a tree is to its own {grouped.noun} than to the next, by {what}: 1 is at home, 0 on "
        f"the border, below 0 nearer to others. The model does not look at this measure."
    )
    bars = [_bars(score[label == c]) for c in range(n_groups)]
    size = np.bincount(rank, minlength=n_groups).tolist()
    return values, {"mean": col.figure(float(score.mean()), 2), "bars": bars, "sizes": size, "about": about}


def _bars(score: Floats) -> list[Any]:
    """Sorted, best first; of many, those at even distances."""
    return col.rounded(np.sort(score)[::-1][col.spread(len(score), MAX_CURVE)] if len(score) else score, 2)
