"""How fast the exact sampler of infinite mixtures of hidden trees mixes: effective draws per CPU second.

    python benchmarks/bench_mixing.py [--corpora FOLDER] [--sweeps N] [--trees N]

``--corpora FOLDER`` has forests that ``python -m benchmarks.corpora make FOLDER glycans expressions`` wrote; INEX is
read from ARBORA_DATA.  Four chains by the defaults, all sweeps, the second half kept.  Chains that sit in different
modes have few effective draws, however fast they are: R-hat says so.  There are no bounds; run it with two versions.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from arbora import InfiniteHiddenTreeMixture, load_forest
from arbora.datasets import load_inex2005
from arbora.errors import DataNotFoundError
from arbora.inference.chain_agreement import check_chains
from arbora.inference.convergence import ess_bulk, rhat

N_PAIRS = 2000  # of trees, whose share together is a number of each draw


def corpora(folder, n_trees):
    """Names and some trees of each."""
    try:
        found = [("INEX 2005", load_inex2005("train"))]
    except DataNotFoundError as error:
        print(f"  {error}")
        found = []
    if folder is not None:
        found += [(path.stem, load_forest(path)) for path in sorted(Path(folder).glob("*.forest"))]
    rng = np.random.default_rng(0)
    for name, forest in found:
        some = np.sort(rng.choice(forest.n_trees, min(n_trees, forest.n_trees), replace=False))
        yield name, forest.take(some)


def measured(name, forest, n_sweeps):
    """One line: seconds, moves accepted, effective draws per second and R-hat of each number."""
    settings = {"n_chains": 4, "random_state": 0}
    InfiniteHiddenTreeMixture(n_iter=1, **settings).fit(forest)  # compiled before it is timed
    start = time.process_time()
    model = InfiniteHiddenTreeMixture(n_iter=n_sweeps, until="n_iter", **settings).fit(forest)
    seconds = time.process_time() - start
    labels = model.trace_.stack("label")
    joint = model.trace_.info["log_joint"][:, model.trace_.draw_sweep]
    a, b = np.random.default_rng(1).integers(0, forest.n_trees, (2, N_PAIRS))
    report = check_chains(labels, joint)
    together = (labels[..., a] == labels[..., b]).mean(axis=-1)
    told = []
    for what in ("n_groups", "entropy", "log_joint"):
        found = report.convergence[what]
        told.append(f"{what} {found.ess_bulk / seconds:.2f} ({found.rhat:.2f})")
    told.append(f"pairs {float(ess_bulk(together)) / seconds:.2f} ({float(rhat(together)):.2f})")
    info = model.trace_.info
    moves = f"{info['n_splits'].sum():.0f} splits, {info['n_merges'].sum():.0f} merges"
    groups = ", ".join(f"{x:.0f}" for x in info["n_groups"][:, -1])
    print(f"{name}: {forest.n_trees} trees, {seconds:.1f} s, {moves}; chains end with {groups} groups")
    print(f"  effective draws per second (R-hat): {', '.join(told)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", help="folder of development corpora")
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--trees", type=int, default=400)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, forest in corpora(options.corpora, options.trees):
        measured(name, forest, options.sweeps)


if __name__ == "__main__":
    main()
