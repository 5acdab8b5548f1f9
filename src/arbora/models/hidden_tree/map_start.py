"""Where a map starts from, and how well it keeps neighbours: places of labels, trustworthiness."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.metrics import euclidean_distances
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from ...evaluate.metrics import ruzicka_distance, slot_label_counts
from ...forest.content_rows import Wanted
from ...forest.forest import Forest
from .content_starts import with_content
from .distributions import draw_dirichlet
from .emissions.plane import PlaneLabels
from .starts import hellinger_features
from .switching_params import Params
from .switching_tree import SwitchingTree

Floats = NDArray[np.float64]

PLACES = ("random", "contexts")
NOISE = 0.05  # of a starting place, in sides of the square
FIRM_LEAF, FIRM_ROW = 5.0, 2.0  # Dirichlet parameters of the first leaf priors and transitions
N_NEIGHBOURS = 10  # whose keeping makes a map trustworthy
MOST_COMPARED = 1000  # trees that maps are compared on


def start(rng: np.random.Generator, model: SwitchingTree, forest: Forest, places: str) -> Params:
    """First parameters: labels on the plane by their contexts or at random, the rest nearly even."""
    emission: Any = model.emission
    frequency = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels) / max(forest.n_nodes, 1)
    if places == "contexts":
        place = label_places(rng, forest, model.n_slots)
    else:
        place = np.stack([_spread(rng.random(forest.n_labels)) for _ in range(2)], axis=1)
    place += rng.normal(0.0, NOISE, place.shape)
    if isinstance(emission, PlaneLabels):
        held = emission.placed(place, frequency)
    else:
        held = emission.placed(emission.start(rng, model.n_states, 1, forest), place, frequency)
    tables: Any = model.tables
    n_slots = model.n_slots
    return Params(
        leaf=draw_dirichlet(rng, np.full((*tables.leaf.shape, 1), FIRM_LEAF), 1),
        emission=held,
        switch=np.full((n_slots, 1), 1.0 / n_slots),
        transition=draw_dirichlet(rng, np.full((*tables.transition.shape, 1), FIRM_ROW), 2),
        branching=np.zeros((0, 1)),
    )


def label_places(rng: np.random.Generator, forest: Forest, n_slots: int) -> Floats:
    """Ranks of labels along the two main directions of their contexts, from -1 to 1, [label, 2].

    A context is the label above, a label below, or the slot; rows are square roots of frequencies, centred.
    """
    n, parent = forest.n_labels, forest.parent
    slot = np.minimum(forest.slot, n_slots - 1)
    mine, above = forest.label, np.where(parent < 0, -1, forest.label[parent])
    both = (mine >= 0) & (above >= 0)
    placed = (mine >= 0) & (slot >= 0)
    row = np.concatenate([mine[both], above[both], mine[placed]])
    column = np.concatenate([above[both], n + mine[both], 2 * n + slot[placed]])
    counts = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(n, 2 * n + n_slots))
    counts.sum_duplicates()
    total = np.asarray(counts.sum(axis=1)).ravel()
    roots = np.sqrt(sparse.diags_array(1.0 / np.maximum(total, 1.0)) @ counts)
    weight = np.sqrt(np.maximum(total, 1e-9) / max(total.sum(), 1.0))
    mean = np.asarray(roots.T @ weight**2) / max((weight**2).sum(), 1e-300)
    if n < 3:
        return np.stack([_spread(np.arange(n)), np.zeros(n)], axis=1)
    centred = (roots.toarray() - mean) * weight[:, None] if n * counts.shape[1] < 10**8 else roots * weight[:, None]
    with threadpool_limits(1):
        left, value, _ = randomized_svd(centred, 2, random_state=int(rng.integers(2**31 - 1)))
    by_label = left * value / np.maximum(weight, 1e-9)[:, None]
    return np.stack([_spread(by_label[:, c]) for c in range(2)], axis=1)


def _spread(values: Any) -> Floats:
    """Ranks, scaled to -1 to 1; a single one lies in the middle."""
    n = len(values)
    return np.zeros(n) if n < 2 else np.asarray(2.0 * (rankdata(values) - 1.0) / (n - 1) - 1.0)


def trustworthiness(
    forest: Forest, place: Floats, n_neighbours: int = N_NEIGHBOURS, wanted: tuple[Wanted, ...] = ()
) -> float:
    """How far neighbours on the plane are neighbours by what nodes hold too, from 0 to 1 (Venna and Kaski 2001).

    The distance of trees is that of their (slot, label) counts (Ruzicka); with columns of content that of rows of all
    columns (`content_starts`).  Nan of fewer than five trees.
    """
    from sklearn.manifold import trustworthiness as of_distances

    n = min(n_neighbours, (len(place) - 1) // 2)
    if n < 2:
        return float("nan")
    if wanted:
        rows = with_content(hellinger_features(forest, max(1, forest.n_slots)), forest, wanted)
        distance = euclidean_distances(rows)
    else:
        distance = np.maximum(ruzicka_distance(slot_label_counts(forest)), 0.0)
    np.fill_diagonal(distance, 0.0)
    return float(of_distances(distance, place, n_neighbors=n, metric="precomputed"))
