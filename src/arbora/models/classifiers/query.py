"""Active learning: which trees are most worth labelling next."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import entr


def most_telling(proba: NDArray[np.float64], codes: Any, n: int) -> NDArray[np.int64]:
    """Rows of largest entropy of their class, each further one discounted by its likeness to those before it.

    The entropy is what the answer tells, in nats.  A row that is like one that is asked already tells little more, so
    its entropy counts 1 - c, where c is the largest cosine of its codes with theirs; without codes it counts whole.
    """
    tells = entr(proba).sum(axis=1)
    if codes is None:
        return np.argsort(-tells, kind="stable")[:n]
    rows = sparse.csr_array(codes, dtype=np.float64)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = sparse.csr_array(sparse.diags_array(1.0 / np.maximum(length, 1e-300)) @ rows)
    like, chosen = np.zeros(len(tells)), np.empty(0, np.int64)
    for _ in range(min(n, len(tells))):
        value = tells * (1.0 - like)
        value[chosen] = -np.inf
        best = int(value.argmax())
        chosen = np.append(chosen, best)
        like = np.maximum(like, np.clip((rows @ rows[[best]].T).toarray().ravel(), 0.0, 1.0))
    return chosen
