"""Mohamad et al. 2015: the banana experiment of Figure 4, over seeds and scales of the data."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import BayesianGaussianMixture

from arbora import datasets
from arbora.errors import ChainsDisagreeWarning
from arbora.models import NHCM, DPGaussianMixture

from .runs import run_all
from .table import Picture, Table, mean_std

N_SWEEPS = 10  # the paper's
N_LONG = 200


class Setting(NamedTuple):
    """How large the bananas are; what the paper says of it is noise = 0.3, and nothing of the radius."""

    name: str
    radius: float
    noise: float


SETTINGS = [
    Setting("radius 5, noise 0.3", 5.0, 0.3),
    Setting("radius 5, noise 1", 5.0, 1.0),
    Setting("radius 1, noise 0.06", 1.0, 0.06),
]
# The paper's prior, in the units of the data.
PAPER: dict[str, Any] = {"scale0": 1.0, "kappa0": 1.0, "dof0": 5.0, "scaling": None, "init": "sequential"}
SKLEARN = "scikit-learn BayesianGaussianMixture, 30 components"
LAST: dict[str, Any] = {"n_chains": 1, "n_jobs": 1, "estimate": "best"}


class Outcome(NamedTuple):
    """One fit: groups on top, groups below, agreement of the top with the two bananas."""

    n_clusters: int
    n_subclusters: int
    ari: float
    purity: float


def _judge(truth: Any, top: Any, fine: Any) -> Outcome:
    table = contingency_matrix(truth, top)
    purity = float(table.max(axis=0).sum() / table.sum())
    return Outcome(len(np.unique(top)), len(np.unique(fine)), float(adjusted_rand_score(truth, top)), purity)


def last_draw(model: Any, X: Any) -> Any:
    """Levels of the last sweep: what the paper shows."""
    model.set_params(burn_in=model.n_iter - 1).fit(X)
    return model.level_labels_


def _methods() -> dict[str, Callable[[int], Any]]:
    """Name -> function(seed) that gives an estimator."""
    return {
        "NHCM paper, 10 sweeps": lambda seed: NHCM(
            variant="paper", n_iter=N_SWEEPS, random_state=seed, **PAPER, **LAST
        ),
        "NHCM exact flat, 10 sweeps, Gibbs only": lambda seed: NHCM(
            n_iter=N_SWEEPS, n_split_merge=0, random_state=seed, **PAPER, **LAST
        ),
        f"NHCM exact flat, {N_LONG} sweeps": lambda seed: NHCM(n_iter=N_LONG, random_state=seed, **PAPER, **LAST),
        f"NHCM exact nested, {N_LONG} sweeps": lambda seed: NHCM(
            prior="nested", n_iter=N_LONG, random_state=seed, **PAPER, **LAST
        ),
        "DPGMM, 10 sweeps, Gibbs only": lambda seed: DPGaussianMixture(
            n_iter=N_SWEEPS, n_split_merge=0, random_state=seed, **PAPER, **LAST
        ),
        f"DPGMM, {N_LONG} sweeps": lambda seed: DPGaussianMixture(n_iter=N_LONG, random_state=seed, **PAPER, **LAST),
        f"NHCM, our defaults, {N_LONG} sweeps": lambda seed: NHCM(n_iter=N_LONG, random_state=seed, **LAST),
        f"DPGMM, our defaults, {N_LONG} sweeps": lambda seed: DPGaussianMixture(
            n_iter=N_LONG, random_state=seed, **LAST
        ),
    }


class Task(NamedTuple):
    """One fit."""

    setting: Setting
    method: str
    seed: int


def _fit(task: Task) -> tuple[Outcome, float | None]:
    """What a method found, and the joint density of its last draw."""
    data = datasets.make_bananas(200, task.setting.radius, task.setting.noise, random_state=task.seed)
    if task.method == SKLEARN:
        levels, joint = _sklearn(data.X, task.seed), None
    else:
        model = _methods()[task.method](task.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChainsDisagreeWarning)
            levels = last_draw(model, data.X)
        joint = float(model.log_joint_)
    return _judge(data.y, levels[0], levels[-1]), joint


def _sklearn(X: Any, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge is no news
        model = BayesianGaussianMixture(n_components=30, max_iter=1000, random_state=seed)
        return model.fit_predict(X)[None]


def banana(quick: bool = False) -> Table:
    """Mohamad et al. 2015, Figure 4: clusters and sub-clusters of two bananas of 200 points."""
    n_seeds = 2 if quick else 20
    table = Table(
        "Mohamad et al. 2015, Figure 4: two bananas of 200 points",
        ["data", "method", "clusters", "sub-clusters", "ARI", "purity", "log joint"],
    )
    for setting in SETTINGS[:1] if quick else SETTINGS:
        for name in (*_methods(), SKLEARN):
            if "our defaults" in name and setting.radius == 1.0:
                continue  # columns are scaled: what it would see is the first setting again
            tasks = [Task(setting, name, seed) for seed in range(n_seeds)]
            found = run_all(f"{setting.name}: {name}", _fit, tasks)
            outcomes, joints = [outcome for outcome, _ in found], [joint for _, joint in found if joint is not None]
            below = mean_std([o.n_subclusters for o in outcomes], 1) if "NHCM" in name else "-"
            table.rows.append(
                [
                    *(setting.name, name, mean_std([o.n_clusters for o in outcomes], 1), below),
                    *(mean_std([o.ari for o in outcomes]), f"{np.mean([o.purity for o in outcomes]):.2f}"),
                    f"{np.mean(joints):.0f}" if joints else "-",
                ]
            )
    table.remarks += [
        f"Mean and, in brackets, standard deviation over {n_seeds} seeds (of data and chain); last sweep of one chain.",
        "ARI and purity compare the top level with the two bananas. Concentrations 1, spread 3, degrees of freedom 5, "
        "kappa0 1, scale0 the identity and a sequential start, as in the paper; 'our defaults' scale the columns and "
        "learn scale0 and kappa0, so that radius 1 is the first setting again.",
        "The paper shows one run and no numbers: few clusters, several sub-clusters, and more groups for DPGMM than "
        "clusters for NHCM.",
    ]
    table.pictures["nhcm-banana"] = Picture(_picture())
    return table


def _picture() -> bytes:
    """Figure 4 again: sub-clusters, clusters and DPGMM, by the paper's procedure and by the exact sampler."""
    from arbora.plot import groups_map, new_figure, png_bytes

    data = datasets.make_bananas(random_state=0)
    figure = new_figure(11.0, 7.0)
    methods = _methods()
    rows = [
        ("paper's procedure, 10 sweeps", "NHCM paper, 10 sweeps", "DPGMM, 10 sweeps, Gibbs only"),
        (f"exact, {N_LONG} sweeps", f"NHCM exact flat, {N_LONG} sweeps", f"DPGMM, {N_LONG} sweeps"),
    ]
    for row, (told, ours, dp) in enumerate(rows):
        levels = last_draw(methods[ours](0), data.X)
        single = last_draw(methods[dp](0), data.X)
        panels = [("sub-clusters", levels[1:]), ("clusters", levels[:1]), ("DPGMM", single)]
        for column, (what, shown) in enumerate(panels):
            ax = figure.add_subplot(2, 3, 3 * row + column + 1)
            groups_map(data.X, shown, ax, ellipses=True)
            ax.set_title(f"{what}: {len(np.unique(shown[-1]))} ({told})", fontsize=9)
            ax.set_aspect("equal")
            ax.set_xlabel("")
            ax.set_ylabel("")
    return png_bytes(figure, dpi=80)
