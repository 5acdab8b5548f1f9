"""What structure term, prior, sampler and reading do on the corpora of the papers; no default was chosen here."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from arbora import datasets
from arbora.forest.forest import Forest
from arbora.models import HiddenTreeMixture, InfiniteHiddenTreeMixture

from .runs import quietly, run_all
from .table import Table

N_ITER = 30


def defaults(quick: bool = False) -> Table:
    """What the structure term and the prior change: test trees of six corpora, true number of classes."""
    table = Table(
        "The structure term and the prior on the papers' corpora",
        ["corpus", "classes", "states", "structure", *(f"prior {prior}" for prior in PRIORS)],
    )
    seeds = range(1 if quick else 3)
    for name, (train, test) in _corpora(quick).items():
        n_classes = len(set(test.target))  # type: ignore[arg-type]
        for n_states in (2, 4):
            for structure in (None, "branching"):
                tasks = [Fit(train, test, n_classes, n_states, structure, p, seed) for p in PRIORS for seed in seeds]
                found = np.array(run_all(f"defaults: {name}", _fit_default, tasks)).reshape(len(PRIORS), len(seeds), 2)
                cells = ["{:.3f} / {:.2f}".format(*mean) for mean in found.mean(axis=1)]
                table.rows.append([name, str(n_classes), str(n_states), str(structure), *cells])
    table.remarks.append(
        "Cells: mean normalised mutual information with the classes / mean log-likelihood of a test tree (trees of "
        f"probability zero left out), {len(seeds)} runs; other settings are the defaults. Log-likelihoods compare "
        f"within a structure only. The default is {_default()}."
    )
    return table


PRIORS = (1.0, 1.01, 1.1, 1.5)


def _default() -> str:
    """The setting of the library, as the columns name it."""
    model = HiddenTreeMixture()
    return f"structure={model.structure!r} and prior {model.prior}"


class Fit(NamedTuple):
    """One fit of a finite mixture."""

    train: Forest
    test: Forest
    n_components: int
    n_states: int
    structure: Any
    prior: float
    seed: int


def _fit_default(task: Fit) -> tuple[float, float]:
    model = HiddenTreeMixture(task.n_components, task.n_states, structure=task.structure, prior=task.prior)
    model.set_params(random_state=task.seed).fit(task.train)
    scores = model.score_samples(task.test)
    nmi = normalized_mutual_info_score(task.test.target, model.predict(task.test))
    return float(nmi), float(scores[np.isfinite(scores)].mean())


# Samplers and readings of the infinite mixture; the first is the default.
CANDIDATES: dict[str, dict[str, Any]] = {
    "gibbs, literal + branching": {"update": "gibbs", "absent": "literal", "structure": "branching"},
    "the same, prior 1.5": {"update": "gibbs", "absent": "literal", "structure": "branching", "prior": 1.5},
    "gibbs, slot": {"update": "gibbs", "absent": "slot", "structure": None},
    "gibbs, bottom + branching": {"update": "gibbs", "absent": "bottom", "structure": "branching"},
    "em, prior 1.5, bottom + branching": {"update": "em", "absent": "bottom", "structure": "branching", "prior": 1.5},
}


def readings(quick: bool = False) -> Table:
    """What sampler and reading of the infinite mixture change: test trees of six corpora."""
    seeds = range(1 if quick else 2)
    table = Table("The infinite mixture: sampler and reading", ["corpus", "classes", *CANDIDATES])
    for name, (train, test) in _corpora(quick).items():
        tasks = [(train, test, settings, seed) for settings in CANDIDATES.values() for seed in seeds]
        runs = iter(run_all(f"readings: {name}", _fit_reading, tasks))
        cells = []
        for _ in CANDIDATES:
            nmi, n_groups = zip(*(next(runs) for _ in seeds), strict=True)
            cells.append(f"{np.mean(nmi):.3f} ({', '.join(map(str, n_groups))})")
        table.rows.append([name, str(len(set(test.target))), *cells])  # type: ignore[arg-type]
    table.remarks.append(
        f"Cells: mean normalised mutual information with the classes of the test trees (groups found by each seed); "
        f"4 states, one chain of {N_ITER} sweeps, {len(seeds)} seeds; other settings are the defaults."
    )
    return table


def _fit_reading(task: tuple[Forest, Forest, dict[str, Any], int]) -> tuple[float, int]:
    train, test, settings, seed = task
    model = InfiniteHiddenTreeMixture(4, **settings, n_iter=N_ITER, until="n_iter", n_chains=1, random_state=seed)
    quietly(lambda: model.fit(train))
    return float(normalized_mutual_info_score(test.target, model.predict(test))), int(model.n_components_)


def _corpora(quick: bool) -> dict[str, tuple[Forest, Forest]]:
    generated = datasets.make_documents(100, noise=0.1, random_state=5)
    corpora = {"demo": _halves(datasets.load_demo()), "noisy documents": _halves(generated)}
    if not quick:
        corpora["synthetic"] = (datasets.load_synthetic("train"), datasets.load_synthetic("test"))
        corpora["shock trees"] = _halves(datasets.load_shock())
        corpora["INEX 2005"] = (datasets.load_inex2005("train"), datasets.load_inex2005("test"))
        corpora["INEX 2006"] = (datasets.load_inex2006("train"), datasets.load_inex2006("test"))
    return corpora


def _halves(forest: Forest) -> tuple[Forest, Forest]:
    order = np.random.default_rng(0).permutation(forest.n_trees)
    cut = forest.n_trees // 2
    return forest.take(np.sort(order[:cut])), forest.take(np.sort(order[cut:]))
