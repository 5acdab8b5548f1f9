"""Edit costs by label, learnt from the trees themselves.

Take the cheapest edit at unit costs between each tree and the one nearest to it, and count what becomes of each label:
kept, renamed, or left out.  What happens often between near trees says little and should be cheap.  A cost is how much
less probable the change is than leaving the label alone, in nats, both ways averaged,

    gap(a) = log P(a | a) - log P(gone | a),     rename(a, b) = mean over both ways of log P(a | a) - log P(b | a),

scaled so that an average node costs 1 to leave out, and closed under detours, so that the distance stays a metric.
Once is enough: with the new costs, edits take the changes that became cheap still more often, and doing it again and
again ends with labels that cost nothing at all.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from ...errors import SettingError
from ...forest.forest import Forest
from .costs import Costs
from .distance import all_distances
from .kernels import tree_cliques, tree_edit
from .trees import kind_first, kinds_of_trees, list_trees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STRENGTH = 10.0  # pseudo-counts of each label, spread as all labels together behave
MOST_LABELS = 1_000
LEAST = 1e-3  # cost of a change, so that two different trees are never at distance zero


def learn_costs(forest: Forest, ordered: bool, budget: int, n_jobs: int | None, progress: bool | None) -> Costs:
    """Symmetric costs for the labels of these trees; unit costs where there is nothing to compare."""
    if forest.n_labels > MOST_LABELS:
        raise SettingError(
            f'costs="learnt": {forest.n_labels} labels; at most {MOST_LABELS} can be learnt; use costs="unit"'
        )
    n = forest.n_labels + 2
    costs = Costs(np.ones(n), np.ones(n), 1.0 - np.eye(n))
    distinct = forest.take(kind_first(kinds_of_trees(forest, ordered))).in_post_order()
    if distinct.n_trees < 2:
        return costs
    apart = all_distances(distinct, None, costs, ordered, budget, n_jobs, progress)
    np.fill_diagonal(apart, np.inf)
    return _costs_from_counts(*_count_edits(distinct, apart.argmin(axis=1), costs, ordered, budget))


def _count_edits(forest: Forest, near: Ints, costs: Costs, ordered: bool, budget: int) -> tuple[Floats, Floats]:
    """How often each label (+ 2) met each other, and was left out, in edits between each tree and its neighbour."""
    n = forest.n_labels + 2
    met, gone = np.zeros((n, n)), np.zeros(n)
    trees = list_trees(forest, costs)
    for s, t in enumerate(near.tolist()):
        if ordered:
            pairs = tree_edit.mapping(forest.arrays, s, forest.arrays, t, costs)[0]
        else:
            pairs = tree_cliques.map_trees(trees, s, trees, t, costs.rename, budget)[0]
        one = forest.label[forest.tree_start[s] : forest.tree_start[s + 1]] + 2
        two = forest.label[forest.tree_start[t] : forest.tree_start[t + 1]] + 2
        np.add.at(met, (one[pairs[:, 0]], two[pairs[:, 1]]), 1.0)
        np.add.at(gone, np.delete(one, pairs[:, 0]), 1.0)
        np.add.at(gone, np.delete(two, pairs[:, 1]), 1.0)
    return met + met.T, gone


def _costs_from_counts(met: Floats, gone: Floats) -> Costs:
    """Costs from how often labels met and were left out."""
    n = len(gone)
    seen = met.sum(axis=1) + gone
    share = (seen + 1e-9) / (seen.sum() + 1e-9 * n)
    total = max(float(seen.sum()), 1.0)
    # What an average label does: it stays, is renamed into one of the others, or goes; each at least now and then.
    stays, leaves = (np.trace(met) + 1.0) / (total + 3.0), (gone.sum() + 1.0) / (total + 3.0)
    changes = max(1.0 - stays - leaves, 1.0 / (total + 3.0))
    prior = changes * np.tile(share, (n, 1))
    np.fill_diagonal(prior, stays)
    chance = (met + STRENGTH * prior) / (seen + STRENGTH)[:, None]
    gap_chance = (gone + STRENGTH * leaves) / (seen + STRENGTH)
    alone = np.log(np.diag(chance))
    gap = np.maximum(alone - np.log(gap_chance), LEAST)
    far = alone[:, None] - np.log(chance)
    rename = np.maximum((far + far.T) / 2.0, LEAST)
    scale = float(share @ gap)
    return _close(gap / scale, rename / scale)


def _close(gap: Floats, rename: Floats) -> Costs:
    """The costs of the cheapest detours: over other labels, or leaving out and putting in."""
    n = len(gap)
    table = np.empty((n + 1, n + 1))
    table[:n, :n], table[n, :n], table[:n, n] = rename, gap, gap
    np.fill_diagonal(table, 0.0)
    table = shortest_path(table, method="FW", directed=False)
    return Costs(table[n, :n].copy(), table[n, :n].copy(), np.ascontiguousarray(table[:n, :n]))
