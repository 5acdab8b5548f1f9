"""Two coordinates for every tree or row, to put them on a plane: principal components, and what they leave out."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def principal_plane(encoding: Any) -> tuple[Floats, Floats]:
    """First two principal components of the rows, each of length one, and the share of variance they explain."""
    return principal_components(encoding, 2)


def principal_components(encoding: Any, most: int) -> tuple[Floats, Floats]:
    """Principal components of the rows, each of length one, and the share of variance each explains; at least two.

    A sparse encoding is never made dense.  The sign is such that the entry of largest size is positive.
    """
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    rows = normalize(encoding if sp.issparse(encoding) else np.asarray(encoding, float))
    n, d = rows.shape
    place, explained = np.zeros((n, 2)), np.zeros(2)
    spread = (rows * rows).sum() / n - float((np.asarray(rows.mean(axis=0)) ** 2).sum())
    if spread < 1e-12:  # all trees are alike
        return place, explained
    if min(n, d) < 4:  # too small for an iterative solver
        rows = rows.toarray() if sp.issparse(rows) else rows
        left, scale, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        k = min(2, len(scale))
        place[:, :k] = left[:, :k] * scale[:k]
        explained[:k] = scale[:k] ** 2 / (scale**2).sum()
    else:
        pca = PCA(min(most, min(n, d) - 1), svd_solver="arpack", random_state=0)
        place, explained = pca.fit_transform(rows), pca.explained_variance_ratio_
    largest = place[np.abs(place).argmax(axis=0), np.arange(place.shape[1])]
    return place * np.where(largest < 0, -1.0, 1.0), explained


def discriminant_plane(components: Floats, label: NDArray[np.int64]) -> Floats | None:
    """The two directions that part the groups best, for their spread within; None of fewer than three groups."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    kinds, count = np.unique(label, return_counts=True)
    if len(kinds) < 3 or len(label) <= len(kinds) + 1 or (count > 1).sum() < 2 or components.shape[1] < 2:
        return None
    steady = components[:, components.std(axis=0) > 1e-9]
    if steady.shape[1] < 2:
        return None
    place = np.asarray(LinearDiscriminantAnalysis(solver="svd", n_components=2).fit_transform(steady, label))
    if place.shape[1] < 2 or not np.isfinite(place).all():
        return None
    largest = place[np.abs(place).argmax(axis=0), [0, 1]]
    return place * np.where(largest < 0, -1.0, 1.0)


def plane(X: ArrayLike) -> tuple[Floats, list[str]]:
    """Two coordinates for each row: the columns themselves, if there are two, else principal components."""
    rows = np.asarray(X, np.float64)
    if rows.shape[1] == 2:
        return rows, ["column 1", "column 2"]
    centred = rows - rows.mean(axis=0)
    scale = centred.std(axis=0)
    centred = centred / np.where(scale > 0, scale, 1.0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    place = np.zeros((len(rows), 2))
    k = min(2, len(size))
    place[:, :k] = left[:, :k] * size[:k]
    share = size**2 / max(float((size**2).sum()), 1e-300)
    share = np.append(share, np.zeros(2))
    return place, [f"principal component {c + 1}, {share[c]:.0%}" for c in range(2)]
