"""Huang et al. 2021: BHMC against RBHMC on Animals and 100 Fashion-MNIST images, and defaults against Ward linkage."""

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets

from arbora import datasets
from arbora.datasets.published import LabelledRows
from arbora.errors import ChainsDisagreeWarning
from arbora.evaluate.hierarchy import Hierarchy
from arbora.evaluate.hierarchy_metrics import level_f_measure, linkage_levels, separation, tree_purity
from arbora.inference import diagnostics
from arbora.inference.chains import Trace, run_chains
from arbora.models.bhmc.consensus import consensus
from arbora.models.bhmc.regularised import RBHMC

from . import bhmc_pictures as pictures
from .runs import run_all, run_one
from .table import Picture, Table

Floats = NDArray[np.float64]
N_CHAINS = 10
N_SEEDS, N_SEEDS_OF_MANY, MANY_ROWS = 10, 3, 200  # of the defaults against Ward
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
MARGINS = (0.1, 1.0, 10.0)
SLOW = "BHMC, nested, proposals of the prior"


class Study(NamedTuple):
    """One data set with the paper's settings."""

    data: LabelledRows
    depth: int
    branching: int
    n_projected: int
    concentrations: tuple[float, float, float]  # of paths, weights and the root
    strength: float  # the paper's choice of C
    margins: tuple[float, float]  # and of epsilon_0
    strengths: tuple[float, ...]  # of the grid
    n_sweeps: int


class Run(NamedTuple):
    """What one setting gave."""

    trace: Trace
    rows: Floats
    distance: Floats  # [chain, (inner, inner_shared, outer)], means over draws
    singular: float  # share of draws that are one path
    n_nodes: Floats  # [chain]
    f: Floats  # [chain, level], means over draws
    best_f: Floats  # [chain, level], of the draw of highest (R)CDLL
    consensus_f: Floats  # [level], of the consensus of all chains
    together: Floats  # [chain, level, datum, datum]
    rhat: float


def animals(quick: bool = False) -> Table:
    """Figures 6 to 12: Animals, 33 x 102 features, seven principal components, depth 3."""
    study = Study(
        datasets.load_animals(), 3, 5, 7, (0.4, 1.0, 0.85), 0.1, (0.1, 10.0), STRENGTHS, 200 if quick else 3000
    )
    return _table("Animals", "animals", study, quick)


def fashion(quick: bool = False) -> Table:
    """Figures 13 to 19: 100 Fashion-MNIST images, ten principal components, depth 4."""
    strengths = (0.0001, 0.001, 0.01, 0.1)
    study = Study(
        datasets.load_fashion(), 4, 4, 10, (0.2, 1.5, 0.85), 0.001, (1.0, 0.01), strengths, 100 if quick else 2000
    )
    return _table("100 Fashion-MNIST images", "fashion", study, quick)


def _table(title: str, stem: str, study: Study, quick: bool) -> Table:
    n_chains = 2 if quick else N_CHAINS
    c, (one, other) = study.strength, study.margins
    runs: dict[str, Run] = {}

    def run(name: str, settings: dict[str, Any], chains: int = n_chains, share: float = 1.0) -> Run:
        runs[name] = run_one(name, _sample, Chains(study, settings, chains, round(study.n_sweeps * share)))
        return runs[name]

    run("BHMC, nested", {"tree": "nested"})
    run(SLOW, _own(0.0, 1.0))
    for margin in (one, other):
        name = f"RBHMC, own, C={c:g}, eps={margin:g}"
        run(name, {"tree": "nested", "procedure": "own", "regularization": c, "margin": margin})
    run(f"RBHMC, own, C={10 * c:g}, eps=1", _own(10 * c, 1.0))
    paper = {"tree": "nested", "procedure": "paper", "regularization": c, "margin": 1.0}
    run(f"RBHMC, paper's Algorithm 2, C={c:g}, eps=1", paper)
    run(f"RBHMC, Eq. (11), C={c:g}, eps=1", {"tree": "nested", "regularization": c, "margin": 1.0})
    if c < 0.1:
        run("RBHMC, Eq. (11), C=0.1, eps=1", {"tree": "nested", "regularization": 0.1, "margin": 1.0})
    run("BHMC, finite", {})
    for strength, margin in ((c, one), (c, other), (0.1, 1.0), (0.3, 1.0)):
        name = f"RBHMC, finite, C={strength:g}, eps={margin:g}"
        if name not in runs:
            run(name, {"regularization": strength, "margin": margin})
    grid = _grid(study, quick)
    table = Table(f"Huang et al. 2021: {title}", HEADER)
    for name, found in runs.items():
        table.rows.append([name, *_cells(found, runs[_base(name)])])
    table.rows.append(_ward_row(study, runs["BHMC, nested"].rows))
    table.remarks += _remarks(study, n_chains)
    regularised = [name for name in runs if name.startswith("RBHMC, own")][:2]
    shown = {"BHMC": runs["BHMC, nested"], **{name: runs[name] for name in regularised}}
    finite = {"BHMC, finite": runs["BHMC, finite"], "RBHMC, finite, C=0.1": runs["RBHMC, finite, C=0.1, eps=1"]}
    drawn = {
        "convergence": pictures.convergence(shown | finite),
        "nodes": pictures.collapse(runs),
        "grid": pictures.grid(grid, study.strengths, MARGINS),
        "f": pictures.f_boxes(shown | finite),
        "cooccurrence": pictures.heat_maps(shown | finite, study.data.y),
        "trees": pictures.trees({n: _best_tree(r, study.data) for n, r in (shown | finite).items()}),
    }
    table.pictures = {f"bhmc-{stem}-{what}": Picture(png) for what, png in drawn.items()}
    return table


def _base(name: str) -> str:
    """The BHMC to compare with: of the same tree, sampled by the same proposals."""
    if "finite" in name:
        return "BHMC, finite"
    return "BHMC, nested" if name == "BHMC, nested" or "Eq. (11)" in name else SLOW


def _own(strength: float, margin: float) -> dict[str, Any]:
    return {"tree": "nested", "procedure": "own", "regularization": strength, "margin": margin}


def _grid(study: Study, quick: bool) -> Floats:
    """Improvement of AID, AID without singletons and AOD over BHMC in percent, [kind, measure, strength, margin]."""
    gain = np.zeros((2, 3, len(study.strengths), len(MARGINS)))
    size = 2 if quick else 3, study.n_sweeps // 2
    for i, kind in enumerate(("finite", "own")):
        base = run_one("grid", _sample, Chains(study, {} if kind == "finite" else _own(0.0, 1.0), *size))
        for a, strength in enumerate(study.strengths if not quick else study.strengths[:1]):
            for b, margin in enumerate(MARGINS):
                settings = _own(strength, margin) if kind == "own" else {"regularization": strength, "margin": margin}
                gain[i, :, a, b] = _improvement(run_one("grid", _sample, Chains(study, settings, *size)), base)
    return gain


def _improvement(found: Run, base: Run) -> Floats:
    """Percent by which AID and AID without singletons fall and AOD rises."""
    mine, theirs = np.nanmean(found.distance, axis=0), np.nanmean(base.distance, axis=0)
    return np.asarray(100.0 * (mine / theirs - 1.0) * [-1.0, -1.0, 1.0])


def _model(study: Study, settings: dict[str, Any]) -> RBHMC:
    """The paper's model: unit variances, raw principal components, boundaries through the mean."""
    alpha, gamma, gamma0 = study.concentrations
    fixed = {"regularization": 0.0, "intercept": False, "scaling": None, "start": "prior"}
    return RBHMC(
        study.depth,
        branching=study.branching,
        path_concentration=alpha,
        weight_concentration=gamma,
        root_concentration=gamma0,
        component_variance=1.0,
        mean_variance=1.0,
        n_projected=study.n_projected,
    ).set_params(**{**fixed, **settings})


class Chains(NamedTuple):
    """What one run is given."""

    study: Study
    settings: dict[str, Any]
    n_chains: int
    n_sweeps: int


def _sample(task: Chains) -> Run:
    return _run(*task)


def _run(study: Study, settings: dict[str, Any], n_chains: int, n_sweeps: int) -> Run:
    model = _model(study, settings)
    model._check_settings()
    rows = model._take(study.data.X)
    sampler = model._sampler(rows)
    thin = _thin(n_sweeps)
    trace = run_chains(
        sampler, n_chains=n_chains, n_sweeps=n_sweeps, burn_in=n_sweeps // 3, thin=thin, seed=0, progress=False
    )
    levels = trace.stack("levels")
    joint = trace.info["log_joint"][:, trace.draw_sweep]
    distance, f, best = [], [], []
    for chain, draws in enumerate(levels):
        distance.append([separation(rows, draw)[:3] for draw in draws])
        f.append([level_f_measure(study.data.y, draw) for draw in draws])
        best.append(f[-1][int(joint[chain].argmax())])
    apart = np.array(distance)
    nodes = trace.info["n_nodes"][:, trace.draw_sweep]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a chain whose draws are all singular has no outer distance
        means = np.nanmean(apart, axis=1)
    together = [
        [diagnostics.co_clustering_matrix(np.ascontiguousarray(draws[:, l])) for l in range(study.depth)]
        for draws in levels
    ]
    return Run(
        trace,
        rows,
        means,
        float(np.isnan(apart[:, :, 2]).mean()),
        nodes.mean(axis=1),
        np.array(f).mean(axis=1),
        np.array(best),
        level_f_measure(study.data.y, consensus(levels.reshape(-1, *levels.shape[2:]))),
        np.array(together),
        diagnostics.convergence({"n_nodes": nodes})["n_nodes"].rhat,
    )


def _thin(n_sweeps: int) -> int:
    """Sweeps from one kept draw to the next: judging a draw costs more than making it."""
    return max(5, n_sweeps // 200)


HEADER = [
    "model",
    "AID",
    "AOD",
    "improvement AID / AOD",
    "AID>1 (improvement)",
    "nodes",
    "F by level, mean over draws",
    "F of best (R)CDLL",
    "F of consensus",
    "uncertainty by level",
    "singular",
    "R-hat of nodes",
]


def _cells(found: Run, base: Run) -> list[str]:
    mean, n = np.nanmean(found.distance, axis=0), len(found.distance)
    error = np.nanstd(found.distance, axis=0, ddof=1) / np.sqrt(n)
    aid, shared, aod = _improvement(found, base)
    uncertain = (4.0 * found.together.mean(axis=0) * (1.0 - found.together.mean(axis=0))).mean(axis=(1, 2))
    same = found is base
    return [
        f"{mean[0]:.2f} ± {error[0]:.2f}",
        f"{mean[2]:.2f} ± {error[2]:.2f}",
        "-" if same else f"{aid:+.1f}% / {aod:+.1f}%",
        f"{mean[1]:.2f}" + ("" if same else f" ({shared:+.1f}%)"),
        f"{found.n_nodes.mean():.1f}",
        _levels(found.f.mean(axis=0)),
        _levels(found.best_f.mean(axis=0)),
        _levels(found.consensus_f),
        _levels(uncertain),
        f"{found.singular:.0%}",
        f"{found.rhat:.2f}",
    ]


def _levels(values: Sequence[float] | Floats) -> str:
    return " / ".join(f"{x:.2f}" for x in values)


def _ward_row(study: Study, rows: Floats) -> list[str]:
    """Ward linkage of the same rows, cut at half the number of classes, at it and beyond."""
    n_classes = len(np.unique(study.data.y))
    cuts = [round(n_classes * share) for share in np.linspace(0.5, 1.375, study.depth)]
    levels = linkage_levels(rows, cuts)
    apart = separation(rows, levels)
    f = _levels(level_f_measure(study.data.y, levels))
    told = ", ".join(map(str, cuts))
    cells = [f"{apart.inner:.2f}", f"{apart.outer:.2f}", "", f"{apart.inner_shared:.2f}", str(apart.n_nodes), f]
    return [f"Ward linkage, cut at {told}", *cells, "", "", "", "", ""]


def _best_tree(found: Run, data: LabelledRows) -> Hierarchy:
    """The draw of highest (regularised) complete-data log-likelihood of the first chain, as the paper shows it."""
    joint = found.trace.info["log_joint"][0, found.trace.draw_sweep]
    return Hierarchy.from_levels(found.trace.draws[0]["levels"][int(joint.argmax())], names=list(data.names)).merged()


def _remarks(study: Study, n_chains: int) -> list[str]:
    alpha, gamma, gamma0 = study.concentrations
    return [
        f"{n_chains} chains of {study.n_sweeps} sweeps from the prior, the first third left out, one draw in "
        f"{_thin(study.n_sweeps)} kept (the paper: 30 x 75,000 or 50,000); alpha={alpha:g}, gamma={gamma:g}, "
        f"gamma_0={gamma0:g}, nu_0=1, depth {study.depth}, {study.n_projected} raw principal components; finite trees "
        f"have {study.branching} children per node. The grid has 3 chains of half that length, and so has the BHMC it "
        "is compared with.",
        "AID and AOD: means over draws ± standard error over chains; improvement over the BHMC of the same tree "
        "and the same proposals (own and paper propose paths from the prior, Eq. (11) by Gibbs steps), + is better. "
        "AID>1 leaves nodes of one datum out. Uncertainty is the mean of 4p(1-p) over pairs of data, p the share of "
        "draws that put them together. Singular: draws that are a single path, without siblings.",
        '"own" accepts a path by the hinge of the datum alone (Appendix A) with a correct step for the directions; '
        '"finite" is a valid sampler of the regularised posterior; "Eq. (11)" is a valid sampler of the literal one.',
    ]


# ---- the defaults against linkage -----------------------------------------------------------------------------------


@cache
def _corpora() -> dict[str, tuple[Floats, Any]]:
    found: dict[str, tuple[Floats, Any]] = {}
    for name, data in (("Animals", datasets.load_animals()), ("Fashion-100", datasets.load_fashion())):
        found[name] = (data.X, data.y)
    for name in ("iris", "wine", "breast_cancer"):
        bunch = getattr(sklearn_datasets, f"load_{name}")()
        found[name.replace("_", " ")] = (bunch.data, bunch.target)
    return found


def against_ward(quick: bool = False) -> Table:
    """`RBHMC().fit(X)` on raw columns beside Ward linkage: defaults only, several seeds, five data sets."""
    table = Table("RBHMC with its defaults against Ward linkage", WARD_HEADER)
    corpora = _corpora()
    for data in list(corpora)[: 1 if quick else None]:
        n_seeds = 2 if quick else N_SEEDS if len(corpora[data][0]) <= MANY_ROWS else N_SEEDS_OF_MANY
        found: dict[str, list[list[float]]] = {}
        tasks = [Fit(data, seed, quick) for seed in range(n_seeds)]
        for result in run_all(f"against Ward: {data}", _beside_ward, tasks):
            for name, row in result.items():
                found.setdefault(name, []).append(row)
        for name, listed in found.items():
            rows = np.array(listed)
            gain = (rows[:, 3:6] - rows[:, 6:9]).mean(axis=1)
            told = f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(n_seeds):.3f}"
            mean = rows.mean(axis=0)
            nodes = " / ".join(f"{x:.1f}" for x in mean[:3])
            f, raw, scaled = (_levels(mean[i : i + 3]) for i in (3, 6, 9))
            pure = [f"{mean[i]:.3f}" for i in (12, 13, 14)]
            inner = [f"{mean[i]:.2f}" for i in (15, 16)]
            table.rows.append([data, name, str(n_seeds), nodes, f, raw, told, scaled, *pure, *inner])
    table.remarks += [
        'Means over seeds. Ward is cut at as many nodes on each level; "raw" links the columns as they are, "scaled" '
        "the rows the model sees. The gain is the mean over levels of F minus that of Ward on raw columns, ± standard "
        "error over seeds. Purity is that of the tree of these levels. All estimates are of the same chains; the "
        "consensus is the default.",
    ]
    return table


WARD_HEADER = [
    "data",
    "estimate",
    "seeds",
    "nodes by level",
    "F by level",
    "Ward, raw: F",
    "gain in F",
    "Ward, scaled: F",
    "purity",
    "Ward, raw: purity",
    "Ward, scaled: purity",
    "AID>1",
    "Ward, scaled: AID>1",
]


class Fit(NamedTuple):
    """One fit of the defaults to a data set."""

    data: str
    seed: int
    quick: bool


def _beside_ward(task: Fit) -> dict[str, list[float]]:
    """Nodes by level, F of the model, of Ward on raw and on scaled rows, purities and AID>1, by estimate."""
    X, y = _corpora()[task.data]
    model = RBHMC(random_state=task.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        model.set_params(**({"n_iter": 60} if task.quick else {})).fit(X)
    draws = model.draws()
    trees = {"consensus": model.level_labels_}
    trees["least squares"] = draws[model._choose_draw("least_squares")]
    trees["best RCDLL"] = draws[model._choose_draw("best")]
    result = {}
    for name, levels in trees.items():
        n_groups = [len(np.unique(row)) for row in levels]
        tables = [levels, linkage_levels(X, n_groups), linkage_levels(model.rows_, n_groups)]
        f = [x for table in tables for x in level_f_measure(y, table)]
        purity = [tree_purity(y, Hierarchy.from_levels(table)) for table in tables]
        inner = [separation(model.rows_, table).inner_shared for table in (tables[0], tables[2])]
        result[name] = [*n_groups, *f, *purity, *inner]
    return result
