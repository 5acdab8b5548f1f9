"""NHCM on more than bananas, where Mohamad et al. 2015 expect it to beat flat clustering: shapes and real tables."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as shapes
from sklearn.cluster import HDBSCAN, SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from arbora.errors import ChainsDisagreeWarning
from arbora.models import NHCM, DPGaussianMixture

from .runs import run_all
from .table import Table

N_POINTS = 300
N_SEEDS = 3
N_SWEEPS = 200
N_DIGITS = 300


def _anisotropic(seed: int) -> tuple[Any, Any]:
    X, y = shapes.make_blobs(N_POINTS, random_state=170 + seed)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def _varied(seed: int) -> tuple[Any, Any]:
    return shapes.make_blobs(N_POINTS, cluster_std=[1.0, 2.5, 0.5], random_state=170 + seed)[:2]


def _digits(seed: int) -> tuple[Any, Any]:
    bunch = shapes.load_digits()
    some = np.sort(np.random.default_rng(seed).permutation(len(bunch.target))[:N_DIGITS])
    centred = bunch.data[some] - bunch.data[some].mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:8].T, bunch.target[some]


def _table(name: str) -> Callable[[int], tuple[Any, Any]]:
    return lambda seed: getattr(shapes, f"load_{name}")(return_X_y=True)


# Name -> function(seed) that gives rows and classes: the shapes of scikit-learn's page on clustering, and its tables.
DATA: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "circles": lambda seed: shapes.make_circles(N_POINTS, factor=0.5, noise=0.05, random_state=seed),
    "moons": lambda seed: shapes.make_moons(N_POINTS, noise=0.05, random_state=seed),
    "blobs of varied variance": _varied,
    "stretched blobs": _anisotropic,
    "blobs": lambda seed: shapes.make_blobs(N_POINTS, random_state=seed)[:2],
    "iris": _table("iris"),
    "wine": _table("wine"),
    "breast cancer": _table("breast_cancer"),
    "digits, 8 components": _digits,
}

LAST: dict[str, Any] = {"n_iter": N_SWEEPS, "n_chains": 1, "n_jobs": 1}
# Name -> function(classes, seed) that gives a clusterer.
METHODS: dict[str, Callable[[int, int], Any]] = {
    "NHCM": lambda n, seed: NHCM(random_state=seed, **LAST),
    "NHCM, sub-clusters": lambda n, seed: NHCM(random_state=seed, **LAST),
    "DPGMM": lambda n, seed: DPGaussianMixture(random_state=seed, **LAST),
    "HDBSCAN": lambda n, seed: HDBSCAN(min_cluster_size=10, copy=True),
    "spectral, number given": lambda n, seed: SpectralClustering(
        n, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
    ),
}
OWN_SCALES = ("NHCM", "NHCM, sub-clusters", "DPGMM")  # they scale the columns themselves


class Task(NamedTuple):
    """One fit."""

    data: str
    method: str
    seed: int


class Outcome(NamedTuple):
    """Agreement with the classes, and groups found."""

    ari: float
    nmi: float
    n_groups: int


def nhcm_shapes(quick: bool = False) -> Table:
    """NHCM on other shapes and on real tables, beside DPGMM, HDBSCAN and spectral clustering."""
    n_seeds = 1 if quick else N_SEEDS
    table = Table("NHCM beyond bananas: shapes and real tables", ["data", "classes", *METHODS])
    for data in list(DATA)[: 2 if quick else None]:
        tasks = [Task(data, method, seed) for method in METHODS for seed in range(n_seeds)]
        found = iter(run_all(data, fit, tasks))
        cells = [_cell([next(found) for _ in range(n_seeds)]) for _ in METHODS]
        table.rows.append([data, str(len(np.unique(DATA[data](0)[1]))), *cells])
    table.remarks += [
        f"Cells: adjusted Rand index / normalised mutual information (groups found); means over {n_seeds} seeds of the "
        "data, or of the method where the data are a table. NHCM and DPGMM are the library's defaults, one chain of "
        f"{N_SWEEPS} sweeps; NHCM has two levels. The others get scaled columns; noise of HDBSCAN is "
        "one group, and spectral clustering is given the number.",
        f"Shapes have {N_POINTS} points and the settings of scikit-learn's page on clustering.",
    ]
    return table


def fit(task: Task) -> Outcome:
    """What a method finds."""
    X, y = DATA[task.data](task.seed)
    model = METHODS[task.method](len(np.unique(y)), task.seed)
    rows = X if task.method in OWN_SCALES else StandardScaler().fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        warnings.simplefilter("ignore", UserWarning)  # a graph of neighbours in several parts
        model.fit(rows)
    level = -1 if "sub-clusters" in task.method else 0
    labels = model.level_labels_[level] if task.method in OWN_SCALES else model.labels_
    scores = adjusted_rand_score(y, labels), normalized_mutual_info_score(y, labels)
    return Outcome(float(scores[0]), float(scores[1]), len(np.unique(labels)))


def _cell(found: list[Outcome]) -> str:
    ari, nmi, n_groups = np.mean(found, axis=0)
    return f"{ari:.2f} / {nmi:.2f} ({n_groups:.1f})"
