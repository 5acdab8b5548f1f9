"""Where EM starts by default: the groups that the search of `PatternMixture` finds (note.md, section 4)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..patterns import marginals, search
from ..patterns.transformer import TreePatterns
from .events import Ints
from .start import copies

Floats = NDArray[np.float64]

MOST_TREES = 2_000  # trees that are searched; others get their component from the first model
LEAST_TREES = 2  # trees that a pattern must be in
PRIOR = marginals.PartitionPrior("dp", 1.0)


class PatternStart:
    """Patterns of the distinct trees, found once for all numbers of groups; each tree counts as often as it occurs."""

    def __init__(self, forest: Any, tree_row: Ints, weight: Floats, rng: np.random.Generator):
        self.n_distinct = len(weight)
        self.some, self.copy = np.unique(copies(weight, rng, MOST_TREES), return_inverse=True)
        example = np.unique(tree_row, return_index=True)[1][self.some]
        patterns = TreePatterns(min_trees=1)
        rows = patterns.fit_transform(forest.take(example)).tocsr()[self.copy]
        kept = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]) >= LEAST_TREES)
        rows = rows[:, kept]
        rows.sort_indices()
        family = patterns.table.family_of_columns()[kept]
        self.corpus = marginals.twins_as_one(marginals.corpus_of(rows, family, len(patterns.families)))
        self.weighed = search.tfidf_rows(self.corpus)

    def clusters(self, n_clusters: int, rng: np.random.Generator) -> Ints:
        """A cluster of each distinct tree; -1 for those that have no weight or are too many."""
        label = np.full(self.n_distinct, -1, np.int64)
        with threadpool_limits(1):  # the order of sums must not depend on the machine
            found = search.search_given(rng, self.corpus, self.weighed, n_clusters, PRIOR, 1.0).label
        label[self.some[self.copy]] = search.alike_together(self.copy, found)
        return label
