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

from ..forest_estimator import read_or_convert
from ..settings import n_threads
from .node_codes import make_code
from .packed import UnionStore
from .union_content import choose_content, content_code, content_values, value_moments
from .working_union import collect_samples, single

Floats = NDArray[np.float64]
SPREAD = 0.1  # as the default of TreeUnionMixture


def union_distances(X: Any, *, labels: bool = True, content: Any = None, n_jobs: int | None = None) -> Floats:
    """Edit distances of unordered trees, at costs taken from the entropies of unions.

    A pair of nodes costs by how unlike their labels, if these matter, and their content are.

    Parameters
    ----------
    X : Forest or trees
        The trees; they are compared with each other.
    labels : bool, default True
        Whether labels matter.
    content : dict, "auto" or None, default None
        Columns of content that matter, as in `TreeUnionMixture`.
    n_jobs : int or None, default None
        Threads; -1 uses all processors.  The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_trees, n_trees)
        The distances, in nats.

    See Also
    --------
    edit_distances : Distances at costs that you give, ordered or not.

    Examples
    --------
    >>> union_distances([("a", ["b"]), "a", ("a", ["b"])]).round(2)
    array([[0.  , 2.15, 0.  ],
           [2.15, 0.  , 2.15],
           [0.  , 2.15, 0.  ]])
    """
    forest = read_or_convert(X)
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
