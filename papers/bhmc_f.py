"""Huang et al. 2021, Figures 9 and 16: F by level, with a Gaussian-to-Gaussian tree and a search for data beside it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora import datasets
from arbora.evaluate.hierarchy_metrics import level_f_measure, linkage_levels, separation

from . import bhmc
from .bhmc import STRENGTHS, Study
from .diffusion_tree import Sampler, cut
from .runs import run_all, run_one
from .search_value import looks_saved
from .table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_CHAINS = 10
STRENGTH, MARGIN = 0.1, 1.0  # of the paper's figures
DIFFUSION = "Dirichlet diffusion tree, cut at {}"
WARD = "Ward linkage, cut at {}"


class Found(NamedTuple):
    """Trees of highest joint density, one per chain: F by level, distances, and how a search for the data goes."""

    f: Floats  # [chain, level]
    distance: Floats  # [chain, (AID, AOD)]
    search: Floats  # [chain, (share found, things looked at, looks saved)]


def figures9_and_16(quick: bool = False) -> Table:
    """F of the trees of highest density, ten chains each, C = 0.1 and epsilon_0 = 1, beside other trees."""
    table = Table("Huang et al. 2021, Figures 9 and 16: F by level of the trees of highest (R)CDLL", HEADER)
    sweeps = []
    for name, study in _studies(quick).items():
        sweeps.append(f"{name} {study.n_sweeps}")
        n_chains = 2 if quick else N_CHAINS
        for model, settings in MODELS.items():
            run = run_one(f"{name}: {model}", _sample, Chains(study, settings, n_chains))
            table.rows.append([name, model, *_cells(run)])
        cuts = _cuts(study)
        rows = _rows(study)
        told = ", ".join(map(str, cuts))
        chains = [Diffusion(rows, study.data.y, cuts, study.n_sweeps, seed) for seed in range(n_chains)]
        found = run_all(f"{name}: diffusion trees", _diffuse, chains)
        joined = Found(*(np.concatenate([getattr(x, field) for x in found]) for field in Found._fields))
        table.rows.append([name, DIFFUSION.format(told), *_cells(joined)])
        ward = _judge(rows, study.data.y, [linkage_levels(rows, cuts)])
        table.rows.append([name, WARD.format(told), *_cells(ward)])
    table.remarks += [
        f"{'2' if quick else N_CHAINS} chains per row, sweeps of each: {', '.join(sweeps)}; the paper has 10 or 15 "
        "chains of 75,000. The tree of a chain is that of its highest complete-data log-likelihood, regularised where "
        "the model is. F: mean over the chains (least to greatest), level by level from the top.",
        "AID and AOD as in the other tables, of these trees, means over the chains.",
        "Found: share of the data that a searcher reaches who goes from the root to the child with the nearest "
        "centroid on every level. Looked at: centroids on the way and data at its end, per datum.",
        "Saved: share of the looks of a plain search that a searcher saves who goes to a child with a probability "
        "proportional to the density of the datum under a Gaussian of variance 1 about its centroid, the variance of "
        "the model, and stops to look through the data of a node where that is best on average. A datum that is not "
        "there is looked for among all others. It follows the measure HQS in words, a decision process that weighs "
        "how hard the path is to find against the time it saves; the paper names HQS as its motive and prints neither "
        "its equations nor a figure.",
        "The diffusion tree passes from Gaussian to Gaussian (Neal 2003); it has no levels and is cut, like Ward "
        "linkage, at half the number of classes, at it, and beyond.",
    ]
    return table


HEADER = ["data", "model", "F by level", "AID", "AOD", "found", "looked at", "saved"]
# The paper's BHMC proposes paths from the prior, as its RBHMC does.
MODELS: dict[str, dict[str, Any]] = {
    "BHMC": bhmc._own(0.0, MARGIN),
    "RBHMC, own-datum rule": bhmc._own(STRENGTH, MARGIN),
    "RBHMC, paper's Algorithm 2": {
        "tree": "nested",
        "procedure": "paper",
        "regularization": STRENGTH,
        "margin": MARGIN,
    },
    "BHMC, finite": {},
    "RBHMC, finite": {"regularization": STRENGTH, "margin": MARGIN},
}


def _studies(quick: bool) -> dict[str, Study]:
    """Both data sets with the paper's settings."""
    found = {
        "Animals": Study(
            datasets.load_animals(), 3, 5, 7, (0.4, 1.0, 0.85), 0.1, (0.1, 10.0), STRENGTHS, 60 if quick else 3000
        )
    }
    if not quick:
        data = datasets.load_fashion()
        found["Fashion-MNIST"] = Study(data, 4, 4, 10, (0.2, 1.5, 0.85), 0.001, (1.0, 0.01), STRENGTHS, 1000)
    return found


class Chains(NamedTuple):
    """What one run is given."""

    study: Study
    settings: dict[str, Any]
    n_chains: int


def _sample(task: Chains) -> Found:
    study = task.study
    run = bhmc._run(study, task.settings, task.n_chains, study.n_sweeps)
    joint = run.trace.info["log_joint"][:, run.trace.draw_sweep]
    best = [draws[int(scores.argmax())] for draws, scores in zip(run.trace.stack("levels"), joint, strict=True)]
    return _judge(run.rows, study.data.y, best)


def _rows(study: Study) -> Floats:
    model = bhmc._model(study, {})
    model._check_settings()
    return np.asarray(model._take(study.data.X))


def _cuts(study: Study) -> list[int]:
    n_classes = len(np.unique(study.data.y))
    return [round(n_classes * share) for share in np.linspace(0.5, 1.375, study.depth)]


class Diffusion(NamedTuple):
    """One chain of diffusion trees."""

    rows: Floats
    target: Any
    cuts: list[int]
    n_sweeps: int
    seed: int


def _diffuse(task: Diffusion) -> Found:
    """The tree of highest joint density in the last two thirds of a chain, cut into levels."""
    sampler, rng = Sampler(task.rows - task.rows.mean(axis=0)), np.random.default_rng(task.seed)
    state = sampler.start(rng)
    best, highest = state, -np.inf
    for k in range(task.n_sweeps):
        state = sampler.step(rng, state)
        joint = sampler.log_joint(state) if 3 * k >= task.n_sweeps else -np.inf
        if joint > highest:
            best, highest = state, joint
    return _judge(task.rows, task.target, [cut(best.tree, task.cuts)])


def _judge(rows: Floats, target: Any, trees: list[Ints]) -> Found:
    apart = [separation(rows, levels) for levels in trees]
    return Found(
        np.array([level_f_measure(target, levels) for levels in trees]),
        np.array([[x.inner, x.outer] for x in apart]),
        np.array([[*search(rows, levels), looks_saved(rows, levels)] for levels in trees]),
    )


def search(rows: Any, levels: Any) -> tuple[float, float]:
    """Share of data that are found by going to the nearest centroid, and things looked at per datum."""
    rows, levels = np.asarray(rows, np.float64), np.asarray(levels)
    n = len(rows)
    right, looked = np.ones(n, bool), np.zeros(n)
    above = np.zeros(n, np.int64)
    for level in levels:
        _, first, group = np.unique(level, return_index=True, return_inverse=True)
        centre = np.zeros((len(first), rows.shape[1]))
        np.add.at(centre, group, rows)
        centre /= np.bincount(group)[:, None]
        siblings = above[first][None, :] == above[:, None]  # [datum, node]
        gap = np.where(siblings, ((rows[:, None] - centre[None]) ** 2).sum(axis=2), np.inf)
        right &= gap.argmin(axis=1) == group
        looked += siblings.sum(axis=1)
        above = group
    return float(right.mean()), float((looked + np.bincount(above)[above]).mean())


def _cells(found: Found) -> list[str]:
    f = found.f
    levels = " / ".join(
        f"{column.mean():.2f}" + (f" ({column.min():.2f} to {column.max():.2f})" if len(column) > 1 else "")
        for column in f.T
    )
    aid, aod = np.nanmean(found.distance, axis=0)
    share, looked, saved = found.search.mean(axis=0)
    return [levels, f"{aid:.2f}", f"{aod:.2f}", f"{share:.2f}", f"{looked:.1f}", f"{saved:.2f}"]
