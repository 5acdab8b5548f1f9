"""The infinite mixture: a chain of 30 sweeps against 30 iterations of the finite one of as many components, and memory.

Ratios of CPU times measured in one run on one machine; the script fails when one misses its bound.
    python benchmarks/bench_infinite.py [--quick]
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import argparse
import resource
import subprocess
import sys
import time
import warnings

from measure import finish, judge

from arbora import HiddenTreeMixture, InfiniteHiddenTreeMixture
from arbora.datasets import load_inex2005, make_asymmetric_trees
from arbora.errors import DataNotFoundError

N_STATES, N_ITER = 4, 30


def fit_seconds(model, forest):
    """CPU time of a fit."""
    start = time.process_time()
    model.fit(forest)
    return time.process_time() - start


def against_finite(quick):
    """Sweeps of both samplers on INEX 2005, or on generated trees where it is absent."""
    try:
        forest = load_inex2005("train")
    except DataNotFoundError as error:
        print(f"  {error}\n  generated trees instead")
        forest = make_asymmetric_trees(400, random_state=0)
    n_iter = 5 if quick else N_ITER
    for update, bound in (("em", 1.5), ("gibbs", 4.0)):
        model = InfiniteHiddenTreeMixture(N_STATES, update=update, n_iter=n_iter, n_chains=1, random_state=0)
        model.set_params(n_iter=1).fit(forest)  # compiled before it is timed
        infinite = fit_seconds(model.set_params(n_iter=n_iter), forest)
        settings = {"absent": model.absent, "structure": model.structure, "max_iter": n_iter, "tol": 0.0}
        finite = HiddenTreeMixture(model.n_components_, N_STATES, **settings, random_state=0)
        finite.set_params(max_iter=1).fit(forest)
        other = fit_seconds(finite.set_params(max_iter=n_iter), forest)
        groups = model.trace_.info["n_groups"][0]
        print(f"  {update}: {infinite:.2f} s, {groups[0]:.0f} to {groups[-1]:.0f} groups; finite: {other:.2f} s")
        judge(f"{update} / finite", infinite / other, bound, at_least=False)


def memory(quick):
    """Peak memory of 200,000 generated trees under the exact sampler, in a process of its own."""
    n = 7_000 if quick else 66_667
    done = subprocess.run([sys.executable, __file__, "--fit", str(n)], capture_output=True, text=True, check=True)
    print("  " + done.stdout.strip())
    judge("GB at most", float(done.stdout.split()[-2]), 4.0, at_least=False)


def fit_large(n_by_kind):
    """A few sweeps on many trees."""
    forest = make_asymmetric_trees(n_by_kind, random_state=0)
    seconds = fit_seconds(InfiniteHiddenTreeMixture(N_STATES, n_iter=5, random_state=0), forest)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(forest)} trees, {forest.n_nodes} nodes, 5 sweeps: {seconds:.0f} s of CPU, peak {peak:.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.fit:
        fit_large(options.fit)
        return
    for part in (against_finite, memory):
        print(part.__doc__.splitlines()[0])
        part(options.quick)
    finish()


if __name__ == "__main__":
    main()
