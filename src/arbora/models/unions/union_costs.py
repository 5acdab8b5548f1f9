"""Edit distances whose costs are the entropies of unions: what describing two trees as one class costs beyond each.

Let L(s, t) be the length of the union of two trees with the best compatible matching.  The distance

    d(s, t) = L(s, t) - (L(s, s) + L(t, t)) / 2

is an edit distance: a node left out costs 2 log 2 + node_cost / 2 and what its label and content cost alone beyond half
of twice the same; a pair costs what telling the two together costs beyond the mean of telling each twice.  That is 0 or
more, as marginals are kernels (Cauchy and Schwarz), and 0 for equal ones.  Shares of labels and units of content are
learnt from the trees.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ..settings import n_threads
from .node_codes import make_code
from .packed import UnionStore
from .union_content import choose_content, content_code, content_values, value_moments
from .working_union import collect_samples, single

Floats = NDArray[np.float64]
SPREAD = 0.1  # as the default of TreeUnionMixture


def union_distances(forest: Forest, labels: bool, content: Any, n_jobs: int | None) -> Floats:
    """Distances of all trees among themselves, in nats."""
    columns = choose_content(content, SPREAD, forest)
    code = content_code(columns)
    samples = collect_samples(forest, labels, value_moments(code, content_values(columns, forest)))
    prior = None
    if labels:
        count = np.bincount(forest.label[forest.label >= 0], minlength=forest.n_labels) + 0.5
        prior = count / count.sum()
    store = UnionStore(make_code("ml", 2, 1.0, np.inf, prior, 1.0, code), n_threads=n_threads(n_jobs))
    once = samples._replace(weight=np.ones_like(samples.weight))
    n = len(samples.weight)
    for t in range(n):
        store.add(single(once, t, store.n_labels))
    first, second = np.triu_indices(n)
    gain = np.zeros((n, n))
    gain[first, second] = gain[second, first] = store.gains(np.column_stack([first, second]).astype(np.int64)).gain
    own = np.diag(gain)
    distance = np.maximum((own[:, None] + own) / 2.0 - gain, 0.0)
    np.fill_diagonal(distance, 0.0)
    return distance[np.ix_(samples.sample_id, samples.sample_id)]
