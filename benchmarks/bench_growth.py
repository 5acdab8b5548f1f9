"""How the cost of EM grows: nodes, components, states, labels, shards, threads, memory, stores, and the first call.

    python benchmarks/bench_growth.py [--quick] [--only NAME,NAME]
CPU time of one iteration at growing sizes, and the ratio of neighbouring ones; fails where one misses its bound.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from bench_em import iteration_seconds, one_iteration
from measure import finish, judge, second_core

from arbora import ForestStore
from arbora.datasets import make_random_trees
from arbora.forest.sharing import share
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.passes import Batch, MixtureParams


def curve(what, sizes, times, bound):
    """Print times at growing sizes, and judge the largest ratio of neighbours."""
    ratios = [b / a for a, b in pairwise(times)]
    print(f"{what}: ms per iteration", {size: round(1e3 * t, 2) for size, t in zip(sizes, times, strict=True)})
    print("  from one size to the next, times", [round(ratio, 2) for ratio in ratios])
    judge("largest of them", max(ratios), bound, at_least=False)


def trees(n_nodes, n_labels=20):
    return make_random_trees(n_nodes // 25, n_labels, 4, 49, random_state=0)


def nodes(quick):
    """Ten times the nodes, ten times the time; 15 where the smaller size fits into a cache and the larger does not."""
    sizes = [10**4, 10**5, 10**6] if quick else [10**4, 10**5, 10**6, 10**7]
    times = []
    for size in sizes:
        forest = trees(size)
        seconds = iteration_seconds(forest, 4, 4, shared=False, max_units=50_000, repeat=1 if size > 10**6 else 3)
        times.append(seconds * size / forest.n_nodes)
    curve("nodes, 4 states, 4 components", sizes, times, 15)


def components(quick):
    """Twice the components, twice the time."""
    forest, sizes = trees(10**5), [4, 8, 16, 32, 64]
    times = [iteration_seconds(forest, 4, k, max_units=20_000) for k in sizes]
    curve("components, 10^5 nodes, 4 states", sizes, times, 2.5)


def states(quick):
    """Twice the states, at most four times the time: pairs of states are what is computed."""
    forest, sizes = trees(10**5), [2, 4, 8, 16, 32]
    times = [iteration_seconds(forest, c, 8, max_units=20_000) for c in sizes]
    curve("states, 10^5 nodes, 8 components", sizes, times, 5)


def labels(quick):
    """Labels cost their table, read and normalised once an iteration, however large the forest."""
    sizes = [10, 100, 1000, 10_000, 100_000]
    times = [iteration_seconds(trees(10**5, m), 4, 8, shared=False) for m in sizes]
    curve("labels, 10^5 nodes, 4 states, 8 components", sizes, times, 10)
    judge("a hundred times the labels, times", times[2] / times[0], 3, at_least=False)


def shards(quick):
    """The same nodes in more shards: what a shard costs by itself."""
    forest, sizes = trees(10**6), [400_000, 100_000, 25_000, 6_000]
    times = [iteration_seconds(forest, 4, 8, shared=False, max_units=size) for size in sizes]
    curve("shards of so many units, 10^6 nodes, 4 states, 8 components", sizes, times, 1.3)


def threads(quick):
    """Wall time of an EM iteration over many shards with one thread and with two."""
    forest = make_random_trees(20_000 if quick else 60_000, 20, 4, 49, random_state=0)
    spec = tm.SwitchingTree.of_labels(forest.n_slots, forest.n_labels, 4)
    start = spec.draw(np.random.default_rng(0), 8)
    params, priors = MixtureParams(np.full(8, 1 / 8), start), tm.Priors(*[1.1] * 5)
    shards = share(forest.arrays, forest.n_slots, 40_000)
    best, busy, results = {}, {}, {}
    for n_threads in (1, 2) * 8:  # in turns, so that a busy moment of the machine hits both
        with Batch(spec, shards, None, n_threads) as batch:
            one_iteration(batch, params, priors)
            begin, cpu = time.perf_counter(), time.process_time()
            results[n_threads] = one_iteration(batch, params, priors)
            best[n_threads] = min(best.get(n_threads, np.inf), time.perf_counter() - begin)
            busy[n_threads] = min(busy.get(n_threads, np.inf), time.process_time() - cpu)
    same = all(np.array_equal(a, b) for a, b in zip(results[1].tree, results[2].tree, strict=True))
    assert same, "threads changed the result"
    print(
        f"threads: {forest.n_nodes} nodes in {len(shards)} shards, 8 components, 4 states: {best[1]:.2f} s per pass "
        f"with one, {best[2]:.2f} s with two; CPU {busy[1]:.2f} and {busy[2]:.2f} s; load {os.getloadavg()[0]:.1f}"
    )
    print(f"  the same for two threads that only count, which shows what was free: {second_core():.2f}")
    judge("one thread / two threads", best[1] / best[2], 1.6)


MEMORY = """
import resource, sys, numpy as np
from arbora import HiddenTreeMixture
from arbora.datasets import make_random_trees
def high():
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmHWM"))
HiddenTreeMixture(4, 4, max_iter=2, tol=0, random_state=0).fit(make_random_trees(500, 20, 4, 49, random_state=1))
bare = high()
forest = make_random_trees(int(sys.argv[1]) // 25, 20, 4, 49, random_state=0)
open("/proc/self/clear_refs", "w").write("5")
with_forest = high()
model = HiddenTreeMixture(4, 4, max_iter=3, tol=0, random_state=0, shard_bytes=2**24)
model.fit(forest)
print(forest.nbytes, with_forest, high(), bare)
"""


def memory(quick):
    """Peak memory of a fit: what it grows by, against what the forest's own columns grow by."""
    sizes = (10**6, 3 * 10**6) if quick else (10**6, 10**7)
    found = []
    for size in sizes:
        done = subprocess.run([sys.executable, "-c", MEMORY, str(size)], capture_output=True, text=True, check=True)
        columns, with_forest, peak, bare = map(int, done.stdout.split())
        found.append((columns, peak))
        print(
            f"memory: {size} nodes, columns {columns >> 20} MB, interpreter {bare >> 20} MB, before the fit "
            f"{with_forest >> 20} MB, peak of the fit {peak >> 20} MB"
        )
    (small, low), (large, high) = found
    judge("growth of the peak / growth of the columns", (high - low) / (large - small), 3, at_least=False)


def stores(quick):
    """Peak memory of the command line on stores, with little kept between passes: what it grows by, as before."""
    sizes = (10**6, 3 * 10**6) if quick else (10**6, 10**7)
    found = {"cluster": [], "predict": [], "convert": []}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path, model = Path(folder) / "trees.store", Path(folder) / "model.arbora"
            parts = (make_random_trees(size // 1000, 20, 4, 49, random_state=seed) for seed in range(40))
            store = ForestStore.write(parts, path, shard_nodes=2**18)
            columns = 16 * store.n_nodes
            fit = ["-k", "4", "--states", "4", "--max-iter", "3", "--memory", "64", "--save", model, "--seed", "0"]
            peaks = {
                "cluster": peak_of("cluster", path, *fit),
                "predict": peak_of("predict", model, path, "--memory", "64", "--output", Path(folder) / "clusters.csv"),
                "convert": peak_of("convert", path, Path(folder) / "again.store"),
            }
        for what, peak in peaks.items():
            found[what].append((columns, peak))
        told = ", ".join(f"{what} {peak >> 20} MB" for what, peak in peaks.items())
        print(f"store: {store.n_nodes} nodes, columns {columns >> 20} MB; peaks of arbora, --memory 64: {told}")
    for what, ((small, low), (large, high)) in found.items():
        growth = (high - low) / (large - small)
        if quick:  # what is kept between passes has not reached its limit yet
            print(f"  {what}: growth of the peak / growth of the columns: {growth:.2f}")
        else:
            judge(f"{what}: growth of the peak / growth of the columns", growth, 1, at_least=False)


PEAK = """
import atexit, sys
from arbora.cli import main
@atexit.register
def tell():
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
main()
"""


def peak_of(*arguments):
    """Peak resident bytes of a command of arbora, which prints them itself: the system counts ours as its own."""
    command = [sys.executable, "-W", "ignore", "-c", PEAK, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stderr.splitlines()[-1]) * 1024


def cold(quick):
    """CPU seconds of the first import and the first fit, with kernels compiled before and not."""
    fit = """
from arbora import HiddenTreeMixture
from arbora.datasets import make_random_trees
HiddenTreeMixture(4, 4, max_iter=5, tol=0, random_state=0).fit(make_random_trees(500, 20, 4, 49, random_state=1))
"""
    with tempfile.TemporaryDirectory() as cache:
        new = {**os.environ, "NUMBA_CACHE_DIR": cache}
        bare = cpu_of("import numpy, scipy.sparse, scipy.special, sklearn.base, sklearn.cluster, numba", new)
        imported = cpu_of("import arbora", new)
        compiled = cpu_of(fit, new)
        again = min(cpu_of(fit, new) for _ in range(2))
    print(
        f"cold start, CPU seconds of a process: import of numpy, scipy, scikit-learn and numba {bare:.1f}, of arbora "
        f"{imported:.1f}; with a first fit {again:.1f}, and {compiled:.1f} if nothing was compiled before"
    )
    judge("import of arbora / import of what it stands on", imported / bare, 1.5, at_least=False)
    judge("first fit, compiled before / that import", again / bare, 3, at_least=False)
    judge("first fit, nothing compiled / that import", compiled / bare, 20, at_least=False)


def cpu_of(code, environ):
    """CPU seconds of a Python of its own."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, env=environ)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


PARTS = {f.__name__: f for f in (nodes, components, states, labels, shards, threads, memory, stores, cold)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only.split(","):
        PARTS[name](options.quick)
    finish()


if __name__ == "__main__":
    main()
