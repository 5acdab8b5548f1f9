"""How far each way of matching two unordered trees stays below the best (Torsello and Hancock 2003, section 5)."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora.forest.kernels.tree_shape import Match, Shape, make_shape
from arbora.models.edit.kernels import tree_cliques, tree_repair
from arbora.models.unions.kernels import tree_alignment

from .runs import run_all
from .table import Table

SIZES = {7: 300, 11: 300, 15: 200, 20: 100, 30: 30}  # nodes of both trees -> pairs drawn
N_SAMPLES = 10  # trees behind each of the two unions that are matched

Match_ = Callable[[Shape, Shape, NDArray[np.float64]], Match]


class Outcome(NamedTuple):
    """One matching: its value, the CPU seconds it took, whether it has a tree union, and is said to be the best."""

    value: float
    seconds: float
    union: bool
    exact: bool


def matching(quick: bool = False) -> Table:
    """Achieved over greatest gain, share of pairs solved to the optimum, and time, by method and size."""
    table = Table(
        "Matching two unordered trees: how far below the optimum each method stays",
        [
            *("nodes", "pairs", "edit: branch and bound", "edit: greedy + swaps", "edit: replicator (the paper)"),
            *("union: alignment", "union: branch and bound, repaired", "union: greedy, repaired"),
            *("union: replicator, repaired", "best edit matchings without a union", "price of a union: mean, largest"),
        ],
    )
    n_unsure = 0
    tasks = [(n, n_pairs // 10 if quick else n_pairs) for n, n_pairs in SIZES.items()]
    for (n, _), runs in zip(tasks, run_all("matching", match_pairs, tasks), strict=True):
        n_unsure += sum(not outcome.exact for outcome in runs["alignment"])
        table.rows.append(_row(n, runs))
    table.remarks += [
        "Cells: mean of achieved / greatest gain, share of the pairs in which the greatest was achieved, CPU time per "
        "pair. Edit matchings keep ancestry both ways; union matchings must also fit into one tree, and are measured "
        "against the best of those.",
        f"Random recursive trees as unions of {N_SAMPLES} samples each: the root in all, other nodes in a random "
        "number of them; the gain of a pair is the saving of description length, Eq. (3).",
        "Branch and bound proved its result in every pair; the tests hold it to an integer programme. Alignment said "
        f"of {n_unsure} pairs that it may not have found the best.",
        "Price of a union: by how much the best union matching is worth less than the best edit matching.",
    ]
    return table


def match_pairs(task: tuple[int, int]) -> dict[str, list[Outcome]]:
    """Every method on the same pairs: so many of trees of so many nodes."""
    n, n_pairs = task
    rng = np.random.default_rng(n)
    methods: dict[str, Match_] = {
        "edit": tree_cliques.edit,
        "greedy": tree_cliques.greedy,
        "relaxation": tree_cliques.relaxation,
        "alignment": tree_alignment.align,
    }
    runs: dict[str, list[Outcome]] = {}
    for x in range(n_pairs + 1):
        a, b, gain = _random_union(rng, n), _random_union(rng, n), np.empty((n, n))
        gain[:] = saving(a[1][:, None], b[1])
        found: dict[str, Outcome] = {}
        for name, method in methods.items():
            found.update(_solve(name, method, a[0], b[0], gain))
        for name, outcome in found.items():
            if x:  # the first pair is for compiling
                runs.setdefault(name, []).append(outcome)
    return runs


def _solve(name: str, method: Match_, a: Shape, b: Shape, gain: NDArray[np.float64]) -> dict[str, Outcome]:
    """A method's matching, and what repair makes of it."""
    start = time.process_time()
    match = method(a, b, gain)
    seconds = time.process_time() - start
    if name == "edit" and not match.exact:
        raise RuntimeError("branch and bound used up its budget: the table would have no optimum to compare with")
    legal = bool(tree_repair.compatible(a, b, match.pairs))
    found = {name: Outcome(match.value, seconds, legal, match.exact)}
    if name != "alignment":
        start = time.process_time()
        mended = tree_cliques.repair(a, b, gain, match.pairs)
        found[f"{name}, repaired"] = Outcome(mended.value, seconds + time.process_time() - start, True, False)
    return found


def _row(n: int, runs: dict[str, list[Outcome]]) -> list[str]:
    best = {name: np.array([outcome.value for outcome in runs[name]]) for name in ("edit", "alignment")}
    # Alignment is exact for unions except at large degrees; there, a repaired matching may be better.
    for name, outcomes in runs.items():
        if name.endswith("repaired"):
            best["alignment"] = np.maximum(best["alignment"], [outcome.value for outcome in outcomes])
    row = [str(n), str(len(runs["edit"]))]
    row += [_cell(runs[name], best["edit"]) for name in ("edit", "greedy", "relaxation")]
    mended = ("alignment", "edit, repaired", "greedy, repaired", "relaxation, repaired")
    row += [_cell(runs[name], best["alignment"]) for name in mended]
    lost = np.maximum(1.0 - best["alignment"] / best["edit"], 0.0)
    broken = np.mean([not outcome.union for outcome in runs["edit"]])
    return [*row, f"{broken:.0%}", f"{lost.mean():.1%}, {lost.max():.1%}"]


def _cell(outcomes: list[Outcome], best: NDArray[np.float64]) -> str:
    quality = np.array([outcome.value for outcome in outcomes]) / best
    seconds = float(np.mean([outcome.seconds for outcome in outcomes]))
    return f"{quality.mean():.3f}, {np.mean(quality > 1 - 1e-9):.0%}, {1e3 * seconds:.{2 if seconds < 0.01 else 0}f} ms"


def _random_union(rng: np.random.Generator, n: int) -> tuple[Shape, NDArray[np.int64]]:
    """A random recursive tree, children before parents, and in how many samples each node is."""
    up = np.array([-1] + [int(rng.integers(u)) for u in range(1, n)])
    parent = np.where(up < 0, -1, n - 1 - up)[::-1].copy()
    count = rng.integers(1, N_SAMPLES + 1, n)
    count[-1] = N_SAMPLES
    return make_shape(parent), count


def saving(p: Any, q: Any, n_samples: int = 2 * N_SAMPLES) -> NDArray[np.float64]:
    """Gain in nats from making one node of two that p and q of n samples have, Eq. (3) with a node cost of 1."""

    def entropy(count: Any) -> NDArray[np.float64]:
        share = np.asarray(count) / n_samples
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.where((share > 0) & (share < 1), share * np.log(share) + (1 - share) * np.log1p(-share), 0.0)
        return -n_samples * bits

    return entropy(p) + entropy(q) - entropy(np.add(p, q)) + 1.0
