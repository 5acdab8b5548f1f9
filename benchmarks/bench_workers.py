"""One fit of a store on 1, 2 and 4 worker processes: time, results, and bytes on the way against the formula.

    python benchmarks/bench_workers.py [--quick] [--trees N] [--iterations I] [--repeat R] [--store STORE]
The runs take turns, and the best of each number of workers counts: other work on the machine hits all alike.  Fails
if two workers are not 1.6 times as fast as one, if results differ in a single bit, or if what a pass sends is not what
docs/scaling.md says, up to 4 kB for names and headers.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import pickle
import tempfile
import time
from pathlib import Path

import large_store
import numpy as np
from measure import finish, judge, second_core

from arbora import ForestStore
from arbora.forest.sharing import share
from arbora.inference.distribute import Cluster
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.lanes import Workspace, Workspaces
from arbora.models.hidden_tree.passes import Job, MixtureParams, ShardTrees, expected_sums

PARAMETERS = ("weight_", "leaf_prob_", "emission_prob_", "switch_prob_", "transition_prob_", "branching_prob_")
WANTED = {2: 1.6, 4: 2.5}  # times as fast as one worker


def formula(n_slots, n_labels, n_states, n_components):
    """Bytes of the parameters as they travel and of the sums: docs/scaling.md, for multiples of four components.

    Parameters go with the tables that kernels use, but the emissions, being the same in both, only once.
    """
    by_slot, pairs = (n_slots + 1) * n_states, n_slots * n_states**2
    absent = n_slots * n_states  # an absent child has a state of its own
    parameters = 3 * by_slot + n_labels * n_states + 2 * (pairs + absent) + 2 * n_slots + 1
    sums = 3 * by_slot + n_labels * n_states + pairs + 2 * n_slots + 1
    return 8 * n_components * parameters, 8 * n_components * sums


def messages(store):
    """What goes to a worker and what comes back in one pass, pickled, for two sizes of model."""
    some = store.part(0)[:200]
    for n_labels, n_states, n_components in ((store.n_labels, 4, 8), (1000, 8, 24)):
        forest = some.with_vocabulary([*some.vocabulary, *(f"w{m}" for m in range(n_labels - some.n_labels))])
        spec = tm.SwitchingTree.of_labels(forest.n_slots, n_labels, n_states, "bottom", "branching")
        params = spec.draw(np.random.default_rng(0), n_components)
        (shard,) = share(forest.arrays, spec.n_slots)
        job = Job(
            spec, MixtureParams(np.full(n_components, 1 / n_components), params), spec.prepare(params), Workspaces()
        )
        sums = expected_sums(job, shard, ShardTrees(None), Workspace())
        print(
            f"bytes of a pass, {forest.n_slots} slots, {n_labels} labels, {n_states} states, {n_components} components:"
        )
        by_formula = formula(spec.n_slots, n_labels, n_states, n_components)
        for what, value, wanted in zip(("parameters", "sums"), (job, sums), by_formula, strict=True):
            size = len(pickle.dumps(value, protocol=5))
            print(f"  {what}: {wanted:,} by the formula, {size:,} pickled")
            judge("pickled, less the formula, in kB", abs(size - wanted) / 1024, 4.0, at_least=False)


def tasks(quick):
    """What a pass costs the client and the scheduler, which is in this process: tasks that do nothing, added up."""
    from distributed import Client, LocalCluster

    n = 400 if quick else 3200
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, **options) as local, Client(local) as client:
        cluster = Cluster(client)
        job = cluster.keep(np.zeros(1656))
        found = []
        for _ in range(2):
            begun = time.process_time()
            cluster.sum(no_sums, range(n), np.add, job)
            found.append(time.process_time() - begun)
    print(f"a pass of {n} tasks that do nothing: {min(found):.2f} s of CPU in client and scheduler")
    judge("ms per task", 1e3 * min(found) / n, 2, at_least=False)


def no_sums(_run, _job):
    return np.zeros(1080)


def compare(path, n_iterations, repeat, wanted):
    """The same fit on one worker, on two and on four, in turn."""
    runs = {1: [], 2: [], 4: []}
    first = None
    for n in [*runs] * repeat:
        model, told = large_store.fit(path, n, n_iterations, 1024)
        runs[n].append(told)
        first = first or model
        same = all(np.array_equal(getattr(model, name), getattr(first, name)) for name in PARAMETERS)
        assert same, f"{n} workers changed the result"
        assert model.history_ == first.history_, f"{n} workers changed the objective"
    best = {n: min(told, key=lambda one: one["fit_seconds"]) for n, told in runs.items()}
    cores = len(os.sched_getaffinity(0))
    for n, told in best.items():
        every = ", ".join(str(one["fit_seconds"]) for one in runs[n])
        busy = " + ".join(map(str, told["worker_cpu_seconds"]))
        # Once, at the end, a number a tree and component comes home; the rest is passes, one more than iterations.
        sent, home = sum(told["sent_bytes"]) / 1024, model.labels_.size * 8 * 8 / 1024
        print(f"{n} worker{'s' * (n > 1)}: {told['fit_seconds']} s, the best of {every}")
        print(f"  CPU {busy} s on workers, {told['client_cpu_seconds']} s here")
        print(f"  {sent:,.0f} kB sent by workers, of which {home:,.0f}, if not compressed, at the end")
        if n > 1:
            ratio = best[1]["fit_seconds"] / told["fit_seconds"]
            busiest = [max(one["worker_cpu_seconds"]) + one["client_cpu_seconds"] for one in (best[1], told)]
            print(f"  one worker / {n} workers in CPU time of client and busiest worker: {busiest[0] / busiest[1]:.2f}")
            if n in wanted and cores >= n:
                judge(f"one worker / {n} workers", ratio, wanted[n])
            else:
                print(f"  one worker / {n} workers: {ratio:.2f} (no bound on {cores} cores)")
    print(f"two threads that only count, after all that: {second_core():.2f} times as fast as one")
    print(f"load of the machine in the last quarter of an hour: {os.getloadavg()[2]:.1f} on {cores} cores")
    print("objectives and parameters of all fits are equal to the last bit")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 trees, too few for a bound")
    parser.add_argument("--trees", type=int, default=300_000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--store", type=Path, help="one that large_store.py wrote, instead of a new one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.store
        if path is None:
            path = Path(folder) / "trees.store"
            large_store.write(path, 20_000 if asked.quick else asked.trees)
        store = ForestStore(path)
        print(
            f"{store.n_trees} trees, {store.n_nodes} nodes in {len(store.entries)} files, {asked.iterations} iterations"
        )
        messages(store)
        tasks(asked.quick)
        compare(path, asked.iterations, asked.repeat, {} if asked.quick else WANTED)
    finish()


if __name__ == "__main__":
    main()
