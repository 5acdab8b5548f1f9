"""Plain and accelerated EM on development corpora: passes, CPU time and the objective at the end.

    python -m benchmarks.corpora make FOLDER icons glycans expressions
    python benchmarks/accelerate.py FOLDER [--seeds 6] [--tol 1e-3 1e-5]
Mixtures of as many components as there are classes, four states, from clusters of slots; each pair of fits begins with
the same parameters.  A pass is one E-step.  Prints medians over all runs, and how often the other optimum is better.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from arbora import HiddenTreeMixture, load_forest
from arbora.models.hidden_tree.passes import Batch

CORPORA = {"icons": 7, "glycans": 10, "expressions": 10}
OTHER = 1e-4  # of the objective: optima further apart are others


def fitted(forest, n_components, seed, tol, acceleration):
    """Passes, CPU seconds and the objective of a fit; without what every fit does before and after EM."""
    told = []
    begun, passes = [], Batch.expected_counts

    def counted(batch, params, resp=None):
        if resp is None:
            begun.append(time.process_time())
        found = passes(batch, params, resp)
        if resp is None:
            told.append(time.process_time())
        return found

    Batch.expected_counts = counted
    try:
        model = HiddenTreeMixture(
            n_components,
            init="kmeans",
            max_iter=3000,
            tol=tol,
            tol_per_node=0.0,
            acceleration=acceleration,
            random_state=seed,
        ).fit(forest)
    finally:
        Batch.expected_counts = passes
    # The last pass is for the counts that a model keeps.
    return len(told) - 1, told[-2] - begun[0], model.history_[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--tol", type=float, nargs="*", default=(1e-3, 1e-5))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for tol in asked.tol:
        runs = []
        for name, n_components in CORPORA.items():
            forest = load_forest(asked.folder / f"{name}.forest")
            fitted(forest, n_components, 0, 1.0, None)  # compiles
            runs += [
                [fitted(forest, n_components, seed, tol, kind) for kind in (None, "squarem")]
                for seed in range(asked.seeds)
            ]
        plain, fast = np.array(runs).transpose(1, 2, 0)
        ratios = plain[:2] / fast[:2]
        better = fast[2] - plain[2] > OTHER * np.abs(plain[2])
        worse = plain[2] - fast[2] > OTHER * np.abs(plain[2])
        print(
            f"tol {tol:g}, {len(runs)} runs: {np.median(plain[0]):.0f} and {np.median(fast[0]):.0f} passes; plain / "
            f"accelerated, median {np.median(ratios[0]):.2f} passes, {np.median(ratios[1]):.2f} CPU time (least "
            f"{ratios[1].min():.2f}, most {ratios[1].max():.2f}), faster in {(ratios[1] > 1).sum()}; another "
            f"optimum in {better.sum() + worse.sum()}, better in {better.sum()}",
            flush=True,
        )


if __name__ == "__main__":
    main()
