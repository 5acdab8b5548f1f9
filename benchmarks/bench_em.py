"""EM on hidden trees: against hmmlearn on chains, shared against plain, growth, threads and memory.

Ratios of times measured in one run on one machine; the script fails when one misses its bound.
    python benchmarks/bench_em.py [--quick] [--only chains,sharing,growth,threads,memory]
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

import numpy as np

from arbora import HiddenTree
from arbora.datasets import load_inex2005, make_chains, make_random_trees
from arbora.errors import DataNotFoundError
from arbora.models import tree_model as tm
from arbora.models.batch import Batch, MixtureParams
from arbora.sharing import share

FAILED = []


def judge(what, value, bound, at_least=True):
    """Print a measured figure beside its bound."""
    good = value >= bound if at_least else value <= bound
    side = "at least" if at_least else "at most"
    print(f"  {what}: {value:.2f} (bound: {side} {bound}) {'ok' if good else 'MISSED'}")
    if not good:
        FAILED.append(what)


def cpu_seconds(action, repeat=3):
    """Least CPU time of several calls."""
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def chains(quick):
    """One EM iteration on chains, against hmmlearn in both its implementations."""
    from hmmlearn.hmm import CategoricalHMM

    n, length, states, symbols, iterations = 2000, 50, 8, 50, 4 if quick else 10
    forest = make_chains(n, length, symbols, random_state=0)
    flat = forest.label  # a chain's leaf comes first and its root last

    def ours(max_iter):
        HiddenTree(states, structure=None, prior=1.0, max_iter=max_iter, tol=0, random_state=0).fit(forest)

    def peer(implementation, max_iter):
        model = CategoricalHMM(states, n_iter=max_iter, tol=-np.inf, implementation=implementation, random_state=0)
        model.fit(flat[:, None], np.full(n, length))

    ours(1)  # compile
    times = {"arbora": (cpu_seconds(lambda: ours(1 + iterations)) - cpu_seconds(lambda: ours(1))) / iterations}
    for name in ("scaling", "log"):
        times[name] = cpu_seconds(lambda name=name: peer(name, 1 + iterations), 1)
        times[name] = (times[name] - cpu_seconds(lambda name=name: peer(name, 1), 1)) / iterations
    print(
        f"chains: {n} x {length} nodes, {states} states, {symbols} symbols; CPU ms an iteration:",
        {name: round(1e3 * value, 1) for name, value in times.items()},
    )
    judge("hmmlearn scaling / arbora", times["scaling"] / times["arbora"], 5)
    judge("hmmlearn log / arbora", times["log"] / times["arbora"], 40)


def one_iteration(batch, params, priors):
    counts, _ = batch.expected_counts(params)
    return MixtureParams(counts.weight / counts.weight.sum(), tm.m_step(batch.spec, counts.tree, params.tree, priors))


def iteration_seconds(forest, n_states, n_components, shared=True, max_units=None, repeat=3):
    """CPU time of one E and M step."""
    spec = tm.Spec(forest.n_slots, forest.n_labels, n_states)
    batch = Batch(spec, share(forest.arrays, forest.n_slots, max_units, shared), None, 1)
    start = tm.draw_params(np.random.default_rng(0), spec, n_components)
    params = MixtureParams(np.full(n_components, 1 / n_components), start)
    priors = tm.Priors(*[1.1] * 5)
    one_iteration(batch, params, priors)
    return cpu_seconds(lambda: one_iteration(batch, params, priors), repeat)


def sharing(quick):
    """Shared against plain on INEX 2005."""
    try:
        forest = load_inex2005("train")
    except DataNotFoundError as error:
        print(f"sharing: skipped, {error}")
        return
    for n_states, n_components in ((2, 6), (4, 11), (8, 22)):
        plain = iteration_seconds(forest, n_states, n_components, shared=False, max_units=20_000)
        shared = iteration_seconds(forest, n_states, n_components)
        print(
            f"sharing: INEX 2005 training set, {n_states} states, {n_components} components: "
            f"plain {1e3 * plain:.0f} ms, shared {1e3 * shared:.0f} ms CPU an iteration"
        )
        if (n_states, n_components) == (8, 22):
            judge("plain / shared", plain / shared, 5)


def growth(quick):
    """Cost is linear in nodes and in components: the exponent of a power law fitted to the times."""
    sizes = [10**4, 10**5, 10**6] if quick else [10**4, 10**5, 10**6, 10**7]
    times = []
    for size in sizes:
        forest = make_random_trees(size // 25, 20, 4, 49, random_state=0)
        times.append(
            iteration_seconds(forest, 4, 4, shared=False, max_units=50_000, repeat=1 if size > 10**6 else 3)
            / forest.n_nodes
        )
    print("growth in nodes: ns a node:", {s: round(1e9 * t) for s, t in zip(sizes, times, strict=True)})
    judge("exponent of cost in nodes", 1 + np.polyfit(np.log(sizes[1:]), np.log(times[1:]), 1)[0], 1.1, at_least=False)
    forest = make_random_trees(4_000, 20, 4, 49, random_state=0)
    counts = [4, 8, 16, 32, 64]
    times = [iteration_seconds(forest, 4, k, max_units=20_000) for k in counts]
    print("growth in components: ms:", {k: round(1e3 * t, 1) for k, t in zip(counts, times, strict=True)})
    judge("exponent of cost in components", np.polyfit(np.log(counts), np.log(times), 1)[0], 1.1, at_least=False)


def threads(quick):
    """Wall time of an EM iteration over many shards with one thread and with two."""
    forest = make_random_trees(20_000 if quick else 60_000, 20, 4, 49, random_state=0)
    spec = tm.Spec(forest.n_slots, forest.n_labels, 4)
    start = tm.draw_params(np.random.default_rng(0), spec, 8)
    params, priors = MixtureParams(np.full(8, 1 / 8), start), tm.Priors(*[1.1] * 5)
    shards = share(forest.arrays, forest.n_slots, 40_000)
    best, results = {}, {}
    for n_threads in (1, 2, 1, 2, 1, 2):  # in turns, so that a busy moment of the machine hits both
        with Batch(spec, shards, None, n_threads) as batch:
            one_iteration(batch, params, priors)
            begin = time.perf_counter()
            results[n_threads] = one_iteration(batch, params, priors)
            best[n_threads] = min(best.get(n_threads, np.inf), time.perf_counter() - begin)
    same = all(np.array_equal(a, b) for a, b in zip(results[1].tree, results[2].tree, strict=True))
    assert same, "threads changed the result"
    print(
        f"threads: {forest.n_nodes} nodes in {len(shards)} shards, 8 components, 4 states: "
        f"{best[1]:.2f} s an iteration with one, {best[2]:.2f} s with two"
    )
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
    """Peak memory of a fit beyond the interpreter, against the forest's own columns."""
    size = 10**6 if quick else 10**7
    done = subprocess.run([sys.executable, "-c", MEMORY, str(size)], capture_output=True, text=True, check=True)
    columns, with_forest, peak, bare = map(int, done.stdout.split())
    print(
        f"memory: {size} nodes, columns {columns >> 20} MB, interpreter {bare >> 20} MB, before the fit "
        f"{with_forest >> 20} MB, peak of the fit {peak >> 20} MB"
    )
    judge("(peak - interpreter) / columns", (peak - bare) / columns, 3, at_least=False)


PARTS = {"chains": chains, "sharing": sharing, "growth": growth, "threads": threads, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only.split(","):
        PARTS[name](options.quick)
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    if FAILED:
        sys.exit("missed: " + "; ".join(FAILED))


if __name__ == "__main__":
    main()
