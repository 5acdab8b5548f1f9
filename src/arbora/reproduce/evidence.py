"""Which structure term and prior should be the default: evidence from six corpora."""

import logging
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from .. import datasets
from ..forest import Forest
from ..models import HiddenTreeMixture
from .table import Table

log = logging.getLogger(__name__)

N_ITER = 30


def defaults(quick: bool = False) -> Table:
    """Which structure term and prior should be the default: test trees of six corpora, true number of classes."""
    table = Table(
        "Defaults: the structure term and the prior",
        ["corpus", "classes", "states", "structure", *(f"prior {prior}" for prior in PRIORS)],
    )
    for name, (train, test) in _corpora(quick).items():
        n_classes = len(set(test.target))  # type: ignore[arg-type]
        for n_states in (2, 4):
            for structure in (None, "branching"):
                cells = []
                for prior in PRIORS:
                    runs = [
                        _fit_default(train, test, n_classes, n_states, structure, prior, seed)
                        for seed in range(1 if quick else 3)
                    ]
                    cells.append("{:.3f} / {:.2f}".format(*np.mean(runs, axis=0)))
                table.rows.append([name, str(n_classes), str(n_states), str(structure), *cells])
        log.info("defaults: %s done", name)
    table.remarks.append(
        "Cells: mean normalised mutual information with the classes / mean log-likelihood of a test tree (trees of "
        "probability zero left out), 3 runs of 30 iterations. Log-likelihoods compare within a structure only."
    )
    return table


PRIORS = (1.0, 1.01, 1.1, 1.5)


def _fit_default(
    train: Forest, test: Forest, n_components: int, n_states: int, structure: Any, prior: float, seed: int
) -> tuple[float, float]:
    model = HiddenTreeMixture(n_components, n_states, structure=structure, prior=prior, max_iter=N_ITER, tol=0.0)
    model.set_params(random_state=seed).fit(train)
    scores = model.score_samples(test)
    nmi = normalized_mutual_info_score(test.target, model.predict(test))
    return float(nmi), float(scores[np.isfinite(scores)].mean())


def _corpora(quick: bool) -> dict[str, tuple[Forest, Forest]]:
    generated = datasets.make_documents(100, noise=0.1, random_state=5)
    corpora = {"demo": _halves(datasets.load_demo()), "noisy documents": _halves(generated)}
    if not quick:
        corpora["synthetic (paper 000)"] = (datasets.load_synthetic("train"), datasets.load_synthetic("test"))
        corpora["shock trees"] = _halves(datasets.load_shock())
        corpora["INEX 2005"] = (datasets.load_inex2005("train"), datasets.load_inex2005("test"))
        corpora["INEX 2006"] = (datasets.load_inex2006("train"), datasets.load_inex2006("test"))
    return corpora


def _halves(forest: Forest) -> tuple[Forest, Forest]:
    order = np.random.default_rng(0).permutation(forest.n_trees)
    cut = forest.n_trees // 2
    return forest.take(np.sort(order[:cut])), forest.take(np.sort(order[cut:]))
